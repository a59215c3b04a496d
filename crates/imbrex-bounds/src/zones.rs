//! The fewest rewrites of zones behind a buffer.

use crate::accesses::{Accesses, NONE, Units};
use crate::ranking::Ranking;

/// The lengths of the pieces that stretches are made of, as different blocks in each: parts of the buffer.
const PIECES: [(u64, u64); 3] = [(1, 8), (1, 2), (1, 1)];
/// A stretch is no longer than this many pieces,
const MOST_PIECES: usize = 64;
/// nor does it go on once it has this many times the buffer in different blocks.
const MOST_BUFFERS: u64 = 4;

/// The fewest zones that are rewritten while `writes` are served through a buffer of `buffer` blocks, whatever the layer
/// does, if every zone is full when the first write comes. Blocks that `zones` leaves out do not count.
///
/// **Claim.** Whatever is kept in the buffer, whichever zones are rewritten and when, also by somebody who knows all
/// writes beforehand: no fewer zones are rewritten than this. A write of a block that lies in a full zone goes to the
/// buffer or is merged into a rewrite of its zone, and the buffer never holds more than `buffer` blocks between two
/// requests.
///
/// **Proof.** Take a stretch of requests that write D different blocks. When it is over, at most C of them lie in a
/// buffer of C blocks. Each of the others was written in the stretch, and what was written then is in its zone now: so
/// the zone was rewritten after that write and before the end of the stretch. All rewrites of one zone in the stretch
/// take out no more of these blocks than the stretch writes in that zone. So at least as many zones are rewritten as it
/// takes, beginning with the zone that has the most of the D blocks, until their numbers come to D − C. What the buffer
/// held before the stretch is not in this count and helps nobody. Rewrites in stretches that do not overlap are
/// different ones, and add up. ∎
///
/// Every choice of stretches gives a bound. This one cuts the requests into pieces with a fixed number of different
/// blocks each, takes stretches of up to 64 pieces, and finds the best sum by dynamic programming; of three lengths of a
/// piece it takes the best.
#[must_use]
pub fn least_rewrites(writes: &Accesses, zones: &Units, buffer: u64) -> u64 {
    // A piece that is a request already is not made shorter.
    let mut lengths: Vec<u64> = PIECES.iter().map(|(part, of)| (buffer * part / of).max(1)).collect();
    lengths.dedup();
    lengths.into_iter().map(|length| best_sum(writes, zones, buffer, length)).max().unwrap_or(0)
}

/// Marks blocks as seen, and forgets all of them at once.
struct Seen {
    when: Vec<u32>,
    now: u32,
}

impl Seen {
    fn new(blocks: u32) -> Self {
        Self { when: vec![0; blocks as usize], now: 1 }
    }

    /// Whether a block is seen for the first time.
    fn is_new(&mut self, block: u32) -> bool {
        std::mem::replace(&mut self.when[block as usize], self.now) != self.now
    }

    fn forget(&mut self) {
        self.now += 1;
    }
}

/// The best sum over stretches of pieces in which `length` different blocks are written, or a few more.
fn best_sum(writes: &Accesses, zones: &Units, buffer: u64, length: u64) -> u64 {
    let ends = pieces(writes, zones, length);
    let (mut seen, mut ranking) = (Seen::new(writes.blocks()), Ranking::new(zones.count()));
    // The best sum over stretches that end before each piece, and behind the last.
    let mut best = vec![0; ends.len() + 1];
    for first in 0..ends.len() {
        best[first + 1] = best[first + 1].max(best[first]);
        let (mut at, mut different) = (if first == 0 { 0 } else { ends[first - 1] }, 0);
        for last in first..ends.len().min(first + MOST_PIECES) {
            for &block in &writes.order()[at..ends[last]] {
                let zone = zones.of(block);
                if zone != NONE && seen.is_new(block) {
                    ranking.add(zone);
                    different += 1;
                }
            }
            at = ends[last];
            let sum = best[first] + fewest(&ranking, different, buffer);
            best[last + 1] = best[last + 1].max(sum);
            if different >= MOST_BUFFERS * buffer {
                break;
            }
        }
        seen.forget();
        ranking.clear();
    }
    best[ends.len()]
}

/// The fewest zones that have all but `buffer` of `different` blocks.
fn fewest(ranking: &Ranking, different: u64, buffer: u64) -> u64 {
    let (mut left, mut zones) = (different.saturating_sub(buffer), 0);
    for (_, count) in ranking.ranked() {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(count.into());
        zones += 1;
    }
    zones
}

/// Where pieces end: at the request with which `length` different blocks that count have been written in the piece.
fn pieces(writes: &Accesses, zones: &Units, length: u64) -> Vec<usize> {
    let mut seen = Seen::new(writes.blocks());
    let (mut ends, mut at, mut different) = (Vec::new(), 0, 0);
    for blocks in writes.requests() {
        at += blocks.len();
        different += blocks.iter().filter(|block| zones.of(**block) != NONE && seen.is_new(**block)).count() as u64;
        if different >= length {
            ends.push(at);
            different = 0;
            seen.forget();
        }
    }
    if different > 0 {
        ends.push(at);
    }
    ends
}
