//! A buffer before zones that knows when each block is written next.

use crate::accesses::{Accesses, NONE, Units};
use crate::ranking::Ranking;

/// How far schedules look ahead, as parts of the buffer in written blocks; 0 is not at all, and the last one is to the
/// end.
const HORIZONS: [Option<(u64, u64)>; 7] =
    [Some((0, 1)), Some((1, 4)), Some((1, 1)), Some((2, 1)), Some((4, 1)), Some((16, 1)), None];
/// Zones that are weighed at an eviction: those with the most buffered blocks.
const MOST_WEIGHED: usize = 2048;

/// The rewrites of the best of some schedules that serve `writes` through a buffer of `buffer` blocks, all zones being
/// full. Blocks that `zones` leaves out are no part of it. A buffer of no blocks rewrites the zones of each request.
///
/// **No bound**: somebody who knows the future reaches this, and perhaps less. The buffer takes every block, and when a
/// block finds none free, one zone is rewritten with all that is buffered of it, as the layers do. Which one is chosen by
/// a weight: the sum over its buffered blocks of how far the next write of each lies ahead, but no farther than a
/// horizon. With a horizon of 0 each block weighs the same, and the zone with the most blocks leaves; without one a zone
/// leaves whose blocks are not needed for long. A horizon between the two is what a buffer needs: space that nobody asks
/// for again before it is free anyway is worth no more. Several horizons are tried.
#[must_use]
pub fn rewrites(writes: &Accesses, zones: &Units, buffer: u64) -> u64 {
    if buffer == 0 {
        return zones_of_requests(writes, zones);
    }
    let next = writes.next();
    let end = writes.len() as u64;
    let horizons = HORIZONS.map(|part| part.map_or(end, |(times, of)| (buffer * times / of).min(end)));
    horizons.into_iter().map(|horizon| Schedule::new(writes, zones, &next, horizon).run(buffer)).min().unwrap_or(0)
}

/// How many zones each request touches, in all.
fn zones_of_requests(writes: &Accesses, zones: &Units) -> u64 {
    let mut touched: Vec<u32> = Vec::new();
    let each = |blocks: &[u32]| {
        touched.clear();
        touched.extend(blocks.iter().map(|block| zones.of(*block)).filter(|zone| *zone != NONE));
        touched.sort_unstable();
        touched.dedup();
        touched.len() as u64
    };
    writes.requests().map(each).sum()
}

struct Schedule<'a> {
    writes: &'a Accesses,
    zones: &'a Units,
    /// The place of the next write of the block of each write.
    next: &'a [u32],
    horizon: u64,
    /// Buffered blocks by zone, and how many.
    ranking: Ranking,
    buffered: u64,
    /// The blocks of each zone that may be buffered, and the place of the next write of each block that is.
    members: Vec<Vec<u32>>,
    next_of: Vec<u32>,
    is_buffered: Vec<bool>,
    /// Of the blocks of each zone that are written again within the horizon: how many, and the sum of these places.
    near: Vec<(u64, u64)>,
}

impl<'a> Schedule<'a> {
    fn new(writes: &'a Accesses, zones: &'a Units, next: &'a [u32], horizon: u64) -> Self {
        let (blocks, units) = (writes.blocks() as usize, zones.count() as usize);
        Self {
            writes,
            zones,
            next,
            horizon,
            ranking: Ranking::new(zones.count()),
            buffered: 0,
            members: vec![Vec::new(); units],
            next_of: vec![NONE; blocks],
            is_buffered: vec![false; blocks],
            near: vec![(0, 0); units],
        }
    }

    /// How many zones are rewritten.
    fn run(mut self, buffer: u64) -> u64 {
        let mut rewrites = 0;
        for (now, &block) in self.writes.order().iter().enumerate() {
            self.come_near(now as u64);
            let zone = self.zones.of(block);
            if zone == NONE {
                continue;
            }
            if self.is_buffered[block as usize] {
                self.forget(block, zone, now as u64);
            } else {
                if self.buffered == buffer {
                    self.rewrite(now as u64);
                    rewrites += 1;
                }
                self.is_buffered[block as usize] = true;
                self.members[zone as usize].push(block);
                self.ranking.add(zone);
                self.buffered += 1;
            }
            self.next_of[block as usize] = self.next[now];
            if self.is_near(self.next[now], now as u64) {
                self.note(zone, self.next[now]);
            }
        }
        rewrites
    }

    /// Whether a write at `place` lies within the horizon. At the end nothing does.
    fn is_near(&self, place: u32, now: u64) -> bool {
        place != NONE && u64::from(place) < now + self.horizon
    }

    /// The write that the horizon reaches now is near, if its block is buffered and waits for it.
    fn come_near(&mut self, now: u64) {
        let Some(place) = (now + self.horizon).checked_sub(1).filter(|place| *place > now) else { return };
        let Some(&block) = self.writes.order().get(place as usize) else { return };
        // What was near when it came has been noted then.
        if self.is_buffered[block as usize] && u64::from(self.next_of[block as usize]) == place {
            self.note(self.zones.of(block), place as u32);
        }
    }

    fn note(&mut self, zone: u32, place: u32) {
        let (count, sum) = &mut self.near[zone as usize];
        *count += 1;
        *sum += u64::from(place);
    }

    /// A buffered block is written: its next write was this one, which was near if there is a horizon.
    fn forget(&mut self, block: u32, zone: u32, now: u64) {
        debug_assert_eq!(u64::from(self.next_of[block as usize]), now);
        if self.horizon > 1 {
            let (count, sum) = &mut self.near[zone as usize];
            *count -= 1;
            *sum -= now;
        }
    }

    /// Rewrites the zone of the most weight.
    fn rewrite(&mut self, now: u64) {
        let (mut most, mut chosen) = (0, NONE);
        for (zone, count) in self.ranking.ranked().take(MOST_WEIGHED) {
            let horizon = self.horizon.max(1);
            if u64::from(count) * horizon <= most {
                break;
            }
            let (near, sum) = self.near[zone as usize];
            let weight = (u64::from(count) - near) * horizon + sum - near * now;
            if chosen == NONE || weight > most {
                (most, chosen) = (weight, zone);
            }
        }
        for block in std::mem::take(&mut self.members[chosen as usize]) {
            self.is_buffered[block as usize] = false;
            self.ranking.remove(chosen);
            self.buffered -= 1;
        }
        self.near[chosen as usize] = (0, 0);
    }
}
