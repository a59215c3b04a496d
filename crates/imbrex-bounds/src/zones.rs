//! The fewest rewrites of zones behind a buffer.

use crate::accesses::{Accesses, NONE, Units};
use crate::pieces::{Seen, pieces};
use crate::prices;
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
/// Two arguments give a bound each, and the larger one counts.
///
/// **Proof by sets.** Take a stretch of requests that write D different blocks. When it is over, at most C of them lie in
/// a buffer of C blocks. Each of the others was written in the stretch, and what was written then is in its zone now: so
/// the zone was rewritten after that write and before the end of the stretch. All rewrites of one zone in the stretch
/// take out no more of these blocks than the stretch writes in that zone. So at least as many zones are rewritten as it
/// takes, beginning with the zone that has the most of the D blocks, until their numbers come to D − C. What the buffer
/// held before the stretch is not in this count and helps nobody. Rewrites in stretches that do not overlap are
/// different ones, and add up. Every choice of stretches gives a bound; this one takes stretches of up to 64 pieces, each
/// of a fixed number of different blocks, and finds the best sum by dynamic programming. ∎
///
/// **Proof by prices.** Let each block that lies in the buffer at some moments pay a price, p at each of them. There are
/// never more than C, so all that is paid in M moments is at most p·C·M. Now let every zone choose by itself when it is
/// rewritten, such that its rewrites and what its blocks pay cost least: zones share nothing any more, so that is found
/// exactly, by dynamic programming over the moments after which it is rewritten. Whatever a layer does, it costs each
/// zone no less. So rewrites + p·C·M is at least the sum of these costs, and the rewrites are at least that sum less
/// p·C·M. Every price gives a bound. Moments are the ends of pieces; each 128 of them are bounded by themselves, with a
/// price of their own that is searched for. What the buffer holds when they begin is left out, which makes no zone's
/// cost larger; and a zone that is rewritten between two moments may as well be rewritten just before the second, when
/// it takes out more. ∎
#[must_use]
pub fn least_rewrites(writes: &Accesses, zones: &Units, buffer: u64) -> u64 {
    // A piece that is a request already is not made shorter.
    let mut lengths: Vec<u64> = PIECES.iter().map(|(part, of)| (buffer * part / of).max(1)).collect();
    lengths.dedup();
    let bound = |length: u64| {
        let ends = pieces(writes, zones, length);
        best_sum(writes, zones, buffer, &ends).max(prices::least_rewrites(writes, zones, buffer, &ends))
    };
    lengths.into_iter().map(bound).max().unwrap_or(0)
}

/// The best sum over stretches of pieces that end there.
fn best_sum(writes: &Accesses, zones: &Units, buffer: u64, ends: &[usize]) -> u64 {
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
