//! Blocks that compaction moves in a log that knows when each block is written next.

mod bands;

use crate::accesses::{Accesses, NONE};
use bands::Bands;

/// A log over bands of one length.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Log {
    /// How many bands there are.
    pub bands: u32,
    /// Blocks of a band.
    pub band_blocks: u32,
    /// Blocks of the host. All of them have been written when the first request comes.
    pub capacity: u64,
    /// Bands that are open at a time.
    pub open_bands: u32,
}

/// How blocks are put together in bands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Grouping {
    /// By how long they are going to live: each class is for lives twice as long as those of the one before.
    Lifetime,
    /// By when they are going to die: blocks that die in the same stretch of time lie together.
    Death,
}

/// Parts of the spare blocks, in written blocks, that the first class spans.
const SPANS: [(u64, u64); 3] = [(1, 4), (1, 1), (4, 1)];
/// Parts of a band that a victim may have more in live blocks than another one: none, and a 32nd.
const ABOUT: [u32; 2] = [u32::MAX, 32];

/// The blocks that compaction moves in the best of some schedules that serve `writes` and know all of them: **no bound**.
/// Nothing is, but 0: nobody knows a better one for every row of requests.
///
/// What is written, and what is moved, goes to the open band for blocks that live as long, or that die in the same
/// stretch of time, as these are going to. When no band is left for that, the closed band is compacted that has the most
/// dead blocks, and of those that have about as many, the one whose live blocks live longest: the others need not be
/// moved for much longer. One band is kept empty to compact into. Both ways of grouping are tried with several spans, also
/// with victims that have the most dead blocks and nothing else, and the best counts.
///
/// Returns nothing if the bands do not hold the blocks and a band more.
#[must_use]
pub fn moved(writes: &Accesses, log: &Log) -> Option<u64> {
    let room = u64::from(log.bands) * u64::from(log.band_blocks);
    let spare = room.checked_sub(log.capacity).filter(|spare| *spare > log.band_blocks.into())?;
    let next = writes.next();
    let spans = SPANS.map(|(times, of)| (spare * times / of / u64::from(log.open_bands)).max(1));
    let ways = [Grouping::Lifetime, Grouping::Death].into_iter().flat_map(|way| spans.map(|span| (way, span)));
    // With one open band there is nothing to choose.
    let ways = ways.take(if log.open_bands == 1 { 1 } else { usize::MAX });
    let ways = ways.flat_map(|(grouping, span)| ABOUT.map(|about| (grouping, span, log.band_blocks / about)));
    let moved = |(grouping, span, about)| {
        Schedule { log, grouping, span, about, bands: Bands::new(writes, log) }.run(writes, &next)
    };
    ways.map(moved).min()
}

struct Schedule<'a> {
    log: &'a Log,
    grouping: Grouping,
    span: u64,
    about: u32,
    bands: Bands,
}

impl Schedule<'_> {
    /// How many blocks are moved.
    fn run(mut self, writes: &Accesses, next: &[u32]) -> u64 {
        for (now, &block) in writes.order().iter().enumerate() {
            self.bands.kill(block);
            let dies = next[now];
            let class = self.class(dies, now as u64);
            if !self.bands.has_room(class) {
                self.make_room(class, now as u64);
            }
            self.bands.append(block, dies, class);
        }
        self.bands.moved
    }

    /// The class of a block that dies then. The last one is for those that live longest.
    fn class(&self, dies: u32, now: u64) -> u32 {
        let last = self.log.open_bands - 1;
        if dies == NONE {
            return last;
        }
        let dies = u64::from(dies);
        let class = match self.grouping {
            Grouping::Lifetime => u64::from((dies.saturating_sub(now) / self.span + 1).ilog2()),
            // A stretch of time keeps its class until it is over.
            Grouping::Death => match dies / self.span - (now / self.span).min(dies / self.span) {
                ahead if ahead < u64::from(last) => (dies / self.span) % u64::from(last.max(1)),
                _ => last.into(),
            },
        };
        class.min(last.into()) as u32
    }

    /// Finds a band with room for a class: an empty one while another stays empty, or one that comes of compaction.
    fn make_room(&mut self, class: u32, now: u64) {
        while !self.bands.has_room(class) {
            if self.bands.empty() > 1 {
                self.bands.open(class);
            } else if let Some(victim) = self.bands.victim(now, self.about) {
                self.compact(victim, now);
            } else {
                // All dead blocks lie in open bands.
                self.bands.share(class);
            }
        }
    }

    /// Moves what lives in a band to others.
    fn compact(&mut self, victim: u32, now: u64) {
        let (live, still) = self.bands.take(victim);
        for (block, dies) in live {
            let class = self.class(dies, now);
            self.find_room(class);
            self.bands.append(block, dies, class);
            self.bands.moved += 1;
        }
        let last = self.log.open_bands - 1;
        for _ in 0..still {
            self.find_room(last);
            self.bands.append_still(last);
            self.bands.moved += 1;
        }
        self.bands.emptied(victim);
    }

    /// Finds room for a moved block, which is there.
    fn find_room(&mut self, class: u32) {
        if self.bands.has_room(class) {
            return;
        }
        if self.bands.empty() > 0 {
            self.bands.open(class);
        } else {
            self.bands.share(class);
        }
    }
}
