//! How many streams there are, which octaves of what is left of lives those of the host divide, and how far compaction
//! looks ahead: several ways, of which one is in use.

/// The most streams.
pub(in super::super) const MOST_STREAMS: u8 = 20;
/// Those of moved blocks. What is left to be moved differs less in how long it will live than what the host writes.
const MOST_OF_MOVED: u8 = 2;

/// What counts for a victim beside the blocks that it gains and moves: that the rest of it may die by itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Foresight {
    /// Nothing: the least is moved now.
    None,
    /// Half as much, as an exponent.
    Half,
    /// All of it.
    Full,
}

/// How blocks are divided into streams, and bands chosen to be compacted.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(in super::super) struct Strategy {
    /// How many streams there are for one that there would be by the room on the disk.
    streams: f64,
    /// Octaves of what is left of lives, seen from the capacity: where the first stream of the host begins and the last
    /// one ends.
    pub(super) of_host: (f64, f64),
    pub(super) foresight: Foresight,
}

/// The strategies to choose from. Without a choice it is the first.
pub(in super::super) const STRATEGIES: [Strategy; 4] = [
    Strategy { streams: 1.0, of_host: (-6.0, 3.0), foresight: Foresight::Full },
    Strategy { streams: 1.4, of_host: (-9.0, 3.0), foresight: Foresight::None },
    Strategy { streams: 1.4, of_host: (-9.0, 3.0), foresight: Foresight::Full },
    Strategy { streams: 0.5, of_host: (-6.0, 3.0), foresight: Foresight::Half },
];

/// The number of the one that is in use until there is a reason for another: a workload that hardly rewrites is over
/// before foresight pays.
pub(in super::super) const FIRST_STRATEGY: usize = 1;

/// How many streams the host and compaction have where `spare` bands are to spare: more, the more these are, since each
/// open band takes half of one.
pub(super) fn streams(spare: f64, strategy: Strategy) -> (u8, u8) {
    let by_room = (1.3 * spare.sqrt()).min(2.0 + spare / 5.0).round().max(2.0);
    let all = (by_room * strategy.streams).round().min(MOST_STREAMS.into()) as u8;
    let moved = (all / 2).min(MOST_OF_MOVED);
    (all - moved, moved)
}

/// The most streams of any strategy on `bands` bands of `band_blocks` blocks, of which the host has `capacity`.
pub(in super::super) fn most_streams(bands: u32, band_blocks: u32, capacity: u64) -> u8 {
    let spare = spare(bands, band_blocks, capacity) as f64 / f64::from(band_blocks);
    let all = STRATEGIES.map(|strategy| streams(spare, strategy)).map(|(host, moved)| host + moved);
    all.into_iter().fold(1, u8::max)
}

/// Blocks that the host does not get.
pub(super) fn spare(bands: u32, band_blocks: u32, capacity: u64) -> u64 {
    (u64::from(bands) * u64::from(band_blocks)).saturating_sub(capacity)
}
