//! What lies where on a device, to be looked at: a layer says it of each band or erase block, of each track, or of
//! each zone, also where a buffer keeps newer blocks of it.

use crate::tracks::Side;

/// What the parts of a device hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contents {
    /// The bands of a log, or the erase blocks of flash, in their order.
    Bands(Vec<BandContent>),
    /// Interlaced tracks, from the outside inwards.
    Tracks(Vec<TrackContent>),
    /// The zones, or bands, in which blocks are at home, in the order of these blocks.
    Zones(Vec<ZoneContent>),
}

impl Contents {
    /// The bands, if that is what they are.
    #[must_use]
    pub fn bands(&self) -> &[BandContent] {
        match self {
            Self::Bands(bands) => bands,
            Self::Tracks(_) | Self::Zones(_) => &[],
        }
    }

    /// The tracks, if that is what they are.
    #[must_use]
    pub fn tracks(&self) -> &[TrackContent] {
        match self {
            Self::Bands(_) | Self::Zones(_) => &[],
            Self::Tracks(tracks) => tracks,
        }
    }

    /// The zones, if that is what they are.
    #[must_use]
    pub fn zones(&self) -> &[ZoneContent] {
        match self {
            Self::Bands(_) | Self::Tracks(_) => &[],
            Self::Zones(zones) => zones,
        }
    }
}

/// What the parts of a device hold in as many bars as a picture has room for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bars {
    /// What the parts are called.
    pub kind: &'static str,
    /// Parts in a bar.
    pub each: usize,
    /// What the bars are made of, from below, in blocks.
    pub made_of: Vec<(&'static str, Vec<u64>)>,
}

impl Contents {
    /// At most `most` bars, each the sum of as many neighbours as that takes.
    #[must_use]
    pub fn bars(&self, most: usize) -> Bars {
        match self {
            Self::Bands(bands) if bands.iter().all(|band| band.hot.is_some()) => {
                let row =
                    |band: &BandContent| [band.dead, band.cold().unwrap_or(0), band.hot.unwrap_or(0), band.unwritten];
                Bars::new("bands", ["dead", "cold", "hot", "unwritten"], bands.iter().map(row).collect(), most)
            }
            Self::Bands(bands) => {
                let rows = bands.iter().map(|band| [band.dead, band.live, band.unwritten]);
                Bars::new("bands", ["dead", "live", "unwritten"], rows.collect(), most)
            }
            Self::Tracks(tracks) => {
                let row = |track: &TrackContent| [track.home, track.stale, track.buffered, track.swapped, track.free()];
                let parts = ["home", "stale", "buffered", "swapped", "free"];
                Bars::new("tracks", parts, tracks.iter().map(row).collect(), most)
            }
            Self::Zones(zones) => {
                let rows = zones.iter().map(|zone| [zone.home, zone.buffered, zone.unwritten()]);
                Bars::new("zones", ["home", "buffered", "unwritten"], rows.collect(), most)
            }
        }
    }
}

impl Bars {
    fn new<const N: usize>(kind: &'static str, names: [&'static str; N], rows: Vec<[u32; N]>, most: usize) -> Self {
        let each = rows.len().div_ceil(most).max(1);
        let column = |at: usize| {
            let sums = rows.chunks(each).map(|some| some.iter().map(|row| u64::from(row[at])).sum());
            (names[at], sums.collect())
        };
        Self { kind, each, made_of: (0..N).map(column).collect() }
    }
}

/// Where the blocks lie whose home is in a zone, in blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ZoneContent {
    /// Blocks that are at home there.
    pub blocks: u32,
    /// Blocks whose newest content lies in a buffer.
    pub buffered: u32,
    /// Blocks at home, padding included: they lie before the write pointer and are not buffered.
    pub home: u32,
}

impl ZoneContent {
    /// Blocks that were never written.
    #[must_use]
    pub fn unwritten(&self) -> u32 {
        self.blocks - self.buffered - self.home
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
    /// The drive allows no writes and no resets of it.
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
    /// How many of these were overwritten since they were last moved. `None` where no heat is kept.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_zones_than_bars_are_summed() {
        let zone = ZoneContent { blocks: 10, buffered: 1, home: 7 };
        let bars = Contents::Zones(vec![zone; 801]).bars(400);
        assert_eq!((bars.kind, bars.each), ("zones", 3));
        let [(_, home), _, (_, unwritten)] = &bars.made_of[..] else { panic!("{bars:?}") };
        assert_eq!((home.len(), home[0], unwritten[266]), (267, 21, 6));
    }

    #[test]
    fn heat_takes_the_place_of_life() {
        let band = |hot| BandContent { state: BandState::Closed, unwritten: 0, dead: 2, live: 8, hot };
        let names =
            |hot| Contents::Bands(vec![band(hot)]).bars(9).made_of.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(Some(3)), ["dead", "cold", "hot", "unwritten"]);
        assert_eq!(names(None), ["dead", "live", "unwritten"]);
    }
}
