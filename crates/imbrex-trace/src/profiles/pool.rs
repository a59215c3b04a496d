//! Extents that may be touched again, zone by zone, and which one is.

use super::Model;
use super::ranks::{Ranks, scattering_step};
use super::recent::Recent;
use crate::synthetic::random::Random;

/// An extent in blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct CompactExtent {
    pub block: u32,
    pub blocks: u16,
}

/// The extents of a kind.
pub(super) struct Pool {
    /// By rank.
    zones: Vec<ZonePool>,
    /// All extents.
    extents: usize,
    /// The zone that the last one came to.
    latest: u32,
}

/// Extents that follow each other in order of first use.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
struct Run {
    first: u32,
    extents: u32,
}

/// The extents of a zone in order of first use, and the runs of them that were touched last.
struct ZonePool {
    extents: Vec<CompactExtent>,
    recent: Recent<Run>,
    scanned: u32,
    /// The run that is being touched, its step, and how many of its extents have been touched.
    run: Run,
    step: u32,
    touched: u32,
    /// The run that new extents make, and how many will.
    coming: Run,
    wanted: u32,
}

impl Pool {
    /// A pool in which near means within about the last `window` extents touched.
    pub(super) fn new(window: f64, ranks: &Ranks, model: &Model) -> Self {
        let zone = |share: f64| ZonePool::new((window * share / model.rewrite_run) as usize);
        Self { zones: ranks.shares().map(zone).collect(), extents: 0, latest: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.extents
    }

    /// The extents of a zone.
    #[inline]
    pub(super) fn extents_in(&self, zone: u32) -> u64 {
        self.zones[zone as usize].extents.len() as u64
    }

    /// The zone after `zone` that has extents, round and round.
    pub(super) fn next_zone(&self, zone: u32) -> Option<u32> {
        let zones = self.zones.len() as u32;
        (1..=zones).map(|on| (zone + on) % zones).find(|zone| self.extents_in(*zone) > 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.extents == 0
    }

    pub(super) fn add(&mut self, zone: u32, extent: CompactExtent, model: &Model, random: &mut Random) {
        self.zones[zone as usize].add(extent, model, random);
        self.extents += 1;
        self.latest = zone;
    }

    /// `zone` if it has extents, else one that has. The pool has some.
    #[inline]
    pub(super) fn zone_like(&self, zone: u32) -> u32 {
        if self.zones[zone as usize].extents.is_empty() { self.latest } else { zone }
    }

    /// Touches an extent of a zone that has some.
    #[inline]
    pub(super) fn touch(&mut self, zone: u32, model: &Model, random: &mut Random) -> CompactExtent {
        self.zones[zone as usize].touch(model, random)
    }
}

impl ZonePool {
    fn new(window: usize) -> Self {
        let (run, coming) = (Run::default(), Run::default());
        let (extents, recent) = (Vec::new(), Recent::new(window));
        Self { extents, recent, scanned: 0, run, step: 1, touched: 0, coming, wanted: 0 }
    }

    fn add(&mut self, extent: CompactExtent, model: &Model, random: &mut Random) {
        if self.coming.extents == self.wanted {
            self.coming = Run { first: self.extents.len() as u32, extents: 0 };
            self.wanted = run_length(model, random);
        }
        self.extents.push(extent);
        self.coming.extents += 1;
        if self.coming.extents == self.wanted {
            self.recent.add(self.coming);
        }
    }

    #[inline]
    fn touch(&mut self, model: &Model, random: &mut Random) -> CompactExtent {
        if self.touched == self.run.extents {
            self.run = self.next_run(model, random);
            (self.step, self.touched) = (scattering_step(self.run.extents), 0);
            self.recent.add(self.run);
        }
        let at = u64::from(self.touched) * u64::from(self.step) % u64::from(self.run.extents);
        self.touched += 1;
        self.extents[self.run.first as usize + at as usize]
    }

    #[inline]
    fn next_run(&mut self, model: &Model, random: &mut Random) -> Run {
        if !random.chance(model.distant)
            && let Some(near) = self.recent.near(random)
        {
            return near;
        }
        let (extents, all) = (run_length(model, random), self.extents.len() as u32);
        if random.chance(model.scan) {
            let first = if self.scanned < all { self.scanned } else { 0 };
            let extents = extents.min(all - first);
            self.scanned = first + extents;
            return Run { first, extents };
        }
        let first = random.below(u64::from(all)) as u32;
        Run { first, extents: extents.min(all - first) }
    }
}

/// How many extents a run has.
#[inline]
fn run_length(model: &Model, random: &mut Random) -> u32 {
    if model.rewrite_run > 1.0 { random.geometric(model.rewrite_run).min(1 << 20) as u32 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Model = Model {
        new_length_ratio: 1.0,
        written_zones: 1.0,
        fill: 1.0,
        rewritten: 1.0,
        run_extents: 1.0,
        growth: 1.0,
        new_read_share: None,
        reads_of_written: 0.0,
        distant: 0.0,
        scan: 1.0,
        zone_skew: 0.0,
        zone_persistence: 0.0,
        excursions: 0.0,
        rewrite_run: 1.0,
    };

    fn pool(extents: u32, window: usize) -> ZonePool {
        let (mut pool, mut random) = (ZonePool::new(window), Random::new(1));
        (0..extents).for_each(|block| pool.add(CompactExtent { block, blocks: 1 }, &MODEL, &mut random));
        pool
    }

    #[test]
    fn near_stays_within_the_window_and_reaches_all_of_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 100];
        for _ in 0..10_000 {
            // A fresh pool each time: touching moves the window.
            let extent = pool(100, 16).touch(&MODEL, &mut random);
            seen[extent.block as usize] = true;
        }
        assert!(seen[..84].iter().all(|seen| !seen));
        assert!(seen[85..].iter().all(|seen| *seen), "{seen:?}");
    }

    #[test]
    fn a_scan_goes_round_in_order_of_first_use() {
        let mut random = Random::new(1);
        let mut pool = pool(3, 2);
        let model = Model { distant: 1.0, ..MODEL };
        let blocks: Vec<_> = (0..5).map(|_| pool.touch(&model, &mut random).block).collect();
        assert_eq!(blocks, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_run_touches_neighbours_each_once_and_near_ones_again_as_a_whole() {
        let mut random = Random::new(1);
        let mut pool = pool(10_000, 1);
        let far = Model { distant: 1.0, scan: 0.0, rewrite_run: 50.0, ..MODEL };
        let mut touch = |model: &Model| {
            let first = pool.touch(model, &mut random).block;
            let blocks = (1..pool.run.extents).map(|_| pool.touch(model, &mut random).block);
            let mut blocks: Vec<_> = std::iter::once(first).chain(blocks).collect();
            blocks.sort_unstable();
            blocks
        };
        let mut lengths = 0;
        for _ in 0..100 {
            let blocks = touch(&far);
            assert!(blocks.windows(2).all(|pair| pair[1] == pair[0] + 1), "{blocks:?}");
            assert_eq!(touch(&MODEL), blocks);
            lengths += blocks.len();
        }
        assert!((3_500..6_500).contains(&lengths), "{lengths}");
    }
}
