//! What lies where on a device, for who wants to look: a layer says it of each band or of each track.

use crate::tracks::Side;

/// What the parts of a device hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contents {
    /// Of the bands of a log, in their order.
    Bands(Vec<BandContent>),
    /// Of interlaced tracks, from the outside inwards.
    Tracks(Vec<TrackContent>),
}

impl Contents {
    /// The bands, if that is what they are.
    #[must_use]
    pub fn bands(&self) -> &[BandContent] {
        match self {
            Self::Bands(bands) => bands,
            Self::Tracks(_) => &[],
        }
    }

    /// The tracks, if that is what they are.
    #[must_use]
    pub fn tracks(&self) -> &[TrackContent] {
        match self {
            Self::Bands(_) => &[],
            Self::Tracks(tracks) => tracks,
        }
    }
}

/// What a track of an interlaced disk holds, in blocks. The rest of it is not allocated, and nothing is kept there.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TrackContent {
    /// Which kind of track it is.
    pub side: Side,
    /// Blocks of it.
    pub blocks: u32,
    /// Logical blocks that are at home there.
    pub home: u32,
    /// Homes whose logical block lies elsewhere, is lost or was trimmed: what is there is needed no more.
    pub stale: u32,
    /// Logical blocks of bottom tracks that are buffered there.
    pub buffered: u32,
    /// Logical blocks that were exchanged with others and lie there now.
    pub swapped: u32,
}

impl TrackContent {
    /// Blocks that nothing has a claim on.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.blocks - self.home - self.stale - self.buffered - self.swapped
    }
}

/// What a band of a layer that appends to bands is, at a moment.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BandState {
    /// Nothing is written on it.
    Empty,
    /// Blocks are appended to it.
    Open,
    /// It is written as far as it will be.
    Closed,
    /// Its live blocks are being copied to another one.
    Victim,
    /// It holds copies of live blocks of victims, which do not count yet.
    Copying,
    /// Its reset has not taken effect.
    Emptying,
    /// The drive lets nobody write or reset it.
    Unusable,
}

impl BandState {
    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Victim => "victim",
            Self::Copying => "copying",
            Self::Emptying => "emptying",
            Self::Unusable => "unusable",
        }
    }
}

/// What a band of a layer that appends to bands holds, in blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct BandContent {
    /// What the band is.
    pub state: BandState,
    /// Never written since the band was last reset.
    pub unwritten: u32,
    /// Written, and no logical block lies there: superseded, forgotten, or a copy that does not count yet.
    pub dead: u32,
    /// Logical blocks that lie there.
    pub live: u32,
    /// Of these, the ones that were overwritten since they were last moved; none is known where no heat is kept.
    pub hot: Option<u32>,
}

impl BandContent {
    /// Blocks that hold nothing of worth.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.unwritten + self.dead
    }

    /// Live blocks that are not hot, where heat is kept.
    #[must_use]
    pub fn cold(&self) -> Option<u32> {
        self.hot.map(|hot| self.live - hot)
    }

    /// Whether it has at least one hot, one cold and one free block: the mixed band of Jones et al., ACM TOS 12(1),
    /// 2016, §5.2.
    #[must_use]
    pub fn is_mixed(&self) -> Option<bool> {
        self.hot.map(|hot| hot > 0 && hot < self.live && self.free() > 0)
    }
}
