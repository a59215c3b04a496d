//! Which blocks are written to bands of their own: the streams, each of which has an open band.
//!
//! # By temperature
//! A block of the host is hot if it overwrites one that lies on a band, even if compaction has just cooled that, or if
//! it is known to be; what leaves a write buffer is as hot as it is then. A moved block goes by what compaction leaves
//! of its heat, which is all of it if it is known. If nothing is left of some, it was hot once.
//!
//! # Room
//! - A band is opened for a stream when a block is to be written there. It counts as that stream's as long as it holds
//!   data, even if other streams write to it too.
//! - Compaction goes on with the open bands of all streams. It writes one stream after another, the lowest first, and
//!   of each the hottest blocks first, where they are sorted, or as they lay. A stream whose band is full goes on in an
//!   empty one and, if there is none, in that of the first stream that has room.
//! - While the host's next block has no room in its stream, bands are compacted, one lot after another. Compaction may
//!   change what its stream is, or which blocks leave the write buffer, so that is asked again after each. When no
//!   closed band has a dead block the stream takes the open band of the first stream that has one.
//! - Bands that compaction fills are closed when it ends, in the order in which it began to write to them. Without
//!   spare bands each is closed when its stream goes on with another, and the last ones at the end, stream by stream.
//! - `log-lifetimes` has streams in order: the nearest one counts where others take the first, and a stream may go on
//!   in another's band before empty ones have run out (`sharing`).
//! - No band is taken as a victim unless one of those closed has a dead block, or a victim does and there are no spare
//!   bands.

use super::{lifetimes, lives};

/// The stream of cold blocks, or of all.
pub(super) const COLD: u8 = 0;

/// The stream of hot blocks.
const HOT: u8 = 1;

/// The stream of blocks that were hot until they were compacted.
const ONCE_HOT: u8 = 2;

/// The most streams.
pub(super) const MOST_STREAMS: usize = lifetimes::MOST_STREAMS as usize;

/// What tells streams apart.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Separation {
    /// Nothing: there is one.
    Nothing,
    /// Whether a block is hot, and perhaps whether it has been until now. Source: Jones et al., §6, future work.
    Temperature {
        /// Whether blocks that compaction has made cold are apart from those that it found cold.
        once_hot: bool,
    },
    /// How long blocks live: SepBIT.
    Life,
    /// How much is left of their lives, in so many streams.
    Lifetimes(u8),
}

impl Separation {
    /// The separation by heat for `open_bands` open bands.
    pub fn by_heat(open_bands: u8) -> Self {
        match open_bands {
            0 | 1 => Self::Nothing,
            bands => Self::Temperature { once_hot: bands > 2 },
        }
    }

    /// How many streams there are.
    pub fn streams(self) -> u8 {
        match self {
            Self::Nothing => 1,
            Self::Temperature { once_hot } => 2 + u8::from(once_hot),
            Self::Life => lives::STREAMS,
            Self::Lifetimes(streams) => streams,
        }
    }

    /// The stream of a block that the host writes, which is hot or will not live long, or neither.
    #[inline]
    pub fn of_host(self, is_hot: bool) -> u8 {
        match (self, is_hot) {
            (Self::Nothing | Self::Lifetimes(_), _) | (Self::Temperature { .. }, false) => COLD,
            (Self::Temperature { .. }, true) => HOT,
            (Self::Life, true) => lives::SHORT,
            (Self::Life, false) => lives::LONG,
        }
    }

    /// The stream of a block of this heat, `left` of which compaction leaves, and which is of that one by its life.
    pub fn of_moved(self, heat: u32, left: u32, by_life: impl FnOnce() -> u8) -> u8 {
        match self {
            Self::Temperature { once_hot: true } if heat > 0 && left == 0 => ONCE_HOT,
            Self::Temperature { .. } if left > 0 => HOT,
            Self::Nothing | Self::Temperature { .. } => COLD,
            Self::Life | Self::Lifetimes(_) => by_life(),
        }
    }
}
