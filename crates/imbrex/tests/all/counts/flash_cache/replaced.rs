//! A cache whose blocks leave in the order of a replacement policy, as far as regions let them.

use std::collections::BTreeSet;

use imbrex::parts::replacement::Shares;

use super::regions::Regions;
use super::{Model, Settings, write_back};
use crate::fixture::policies::{Plain, plain};
use crate::fixture::two_devices::Counts;

fn order(settings: &Settings, size: u64) -> Box<dyn Plain> {
    let Shares { s3_small, lirs_hir, lirs_ghosts } = Shares::default();
    let shares = Shares {
        s3_small: settings.part("s3_small", s3_small),
        lirs_hir: settings.part("lirs_hir", lirs_hir),
        lirs_ghosts: settings.part("lirs_ghosts", lirs_ghosts),
    };
    let kind = toml::Value::from(settings.text("replacement", "lru")).try_into().expect("a policy");
    plain(kind, size as usize, shares)
}

/// A cache that writes home when it has to, in the order of a replacement policy.
pub struct Replaced {
    free: u64,
    cached: BTreeSet<u64>,
    dirty: BTreeSet<u64>,
    order: Box<dyn Plain>,
    evict_blocks: u64,
    step_blocks: u64,
    reserve: u64,
    reads_count: bool,
    allocates: bool,
    /// Nothing where any block may leave.
    regions: Option<Regions>,
    counts: Counts,
}

/// Whether a block may leave.
fn may_leave<'a>(dirty: &'a BTreeSet<u64>, regions: Option<&'a Regions>) -> impl Fn(u64) -> bool + 'a {
    move |block| !dirty.contains(&block) || regions.is_none_or(|regions| regions.is_open(block))
}

impl Replaced {
    pub fn new(settings: &Settings, frames: u64, divides: bool) -> Self {
        let regions = divides.then(|| Regions::new(settings, frames));
        let flushes = regions.as_ref().is_some_and(|regions| regions.are_flushed_whole);
        let allocates = settings.flag("read_allocate");
        let reserve = if flushes || !allocates { 0 } else { settings.number("read_reserve", 64).min(frames / 2) };
        let step_blocks = settings.number("step_blocks", 4096);
        Self {
            free: frames,
            cached: BTreeSet::new(),
            dirty: BTreeSet::new(),
            order: order(settings, frames - reserve),
            evict_blocks: settings.number("evict_blocks", 1).min(step_blocks),
            step_blocks,
            reserve,
            reads_count: settings.flag("reads_count"),
            allocates,
            regions,
            counts: Counts::default(),
        }
    }

    fn coldest(&mut self) -> Option<(u64, bool)> {
        if self.regions.as_ref().is_some_and(|regions| regions.is_over) {
            self.divide();
        }
        let mut coldest = self.order.coldest(&may_leave(&self.dirty, self.regions.as_ref()));
        if coldest.is_none() && self.regions.is_some() && !self.cached.is_empty() {
            self.divide();
            coldest = self.order.coldest(&may_leave(&self.dirty, self.regions.as_ref()));
        }
        coldest.map(|block| (block, self.dirty.contains(&block)))
    }

    fn divide(&mut self) {
        if let Some(regions) = &mut self.regions {
            regions.divide(&self.dirty);
        }
        self.order.sorted(&may_leave(&self.dirty, self.regions.as_ref()));
    }

    fn drop(&mut self, block: u64) {
        self.order.evict(block, &may_leave(&self.dirty, self.regions.as_ref()));
        if self.dirty.remove(&block) {
            write_back(&mut self.counts);
            if let Some(regions) = &mut self.regions {
                regions.left();
            }
        }
        self.cached.remove(&block);
        self.free += 1;
    }

    /// All dirty blocks of the open region leave.
    fn flush(&mut self) {
        let may_leave = may_leave(&self.dirty, self.regions.as_ref());
        let open: Vec<u64> = self.dirty.iter().copied().filter(|&block| may_leave(block)).collect();
        drop(may_leave);
        open.into_iter().for_each(|block| self.drop(block));
        if let Some(regions) = &mut self.regions {
            regions.is_over = true;
        }
    }

    fn make_room(&mut self, wanted: u64) {
        if self.regions.as_ref().is_some_and(|regions| regions.are_flushed_whole) {
            self.flush();
        } else {
            self.evict(wanted);
        }
    }

    fn used(&mut self, block: u64, is_new: bool) {
        if let Some(regions) = &mut self.regions {
            regions.used(block, is_new);
        }
    }

    /// The coldest leave until so many have, a clean one alone and some from a dirty one on, at most a step.
    fn evict(&mut self, wanted: u64) {
        let mut left = 0;
        while left < wanted {
            let Some((_, dirty)) = self.coldest() else { break };
            let together = if dirty { self.evict_blocks } else { 1 };
            if left + together > self.step_blocks {
                break;
            }
            for _ in 0..together {
                if let Some((block, _)) = self.coldest() {
                    self.drop(block);
                    left += 1;
                }
            }
        }
    }

    /// Whether there is a frame for `block`, perhaps that of a clean block.
    fn finds_frame(&mut self, block: u64) -> bool {
        if self.free == 0 {
            self.order.wanted(block);
            if let Some((coldest, false)) = self.coldest() {
                self.drop(coldest);
            }
        }
        self.free > 0
    }

    fn insert(&mut self, block: u64) {
        self.free -= 1;
        self.cached.insert(block);
        self.order.insert(block);
        self.used(block, true);
    }

    fn make_dirty(&mut self, block: u64) {
        let was_clean = self.dirty.insert(block);
        let may_leave = may_leave(&self.dirty, self.regions.as_ref());
        if was_clean && !may_leave(block) {
            self.order.hold(block, &may_leave);
        }
    }

    /// How many blocks from `first` on are not cached, before `end`.
    fn uncached(&self, first: u64, end: u64) -> u64 {
        (first..end).take_while(|block| !self.cached.contains(block)).count() as u64
    }

    /// Reads blocks that are not cached. The first that finds no frame ends the search for them.
    fn read_uncached(&mut self, first: u64, blocks: u64) {
        self.counts.read[1] += blocks;
        for block in first..first + blocks {
            if !self.allocates || !self.finds_frame(block) {
                if let Some(regions) = self.regions.as_mut().filter(|_| self.reads_count) {
                    (block..first + blocks).for_each(|block| regions.accessed(block));
                }
                return;
            }
            self.insert(block);
            self.counts.written[0] += 1;
        }
    }
}

impl Model for Replaced {
    fn write(&mut self, first: u64, blocks: u64) {
        let end = first + blocks;
        for block in first..end {
            if self.cached.contains(&block) {
                self.counts.write_hits += 1;
                self.make_dirty(block);
                self.order.touch(block);
                self.used(block, false);
            } else {
                while !self.finds_frame(block) {
                    self.make_room(self.uncached(block, end));
                }
                self.insert(block);
                self.make_dirty(block);
            }
            self.counts.written[0] += 1;
            if let Some(regions) = &mut self.regions {
                regions.written();
            }
        }
    }

    fn read(&mut self, first: u64, blocks: u64) {
        let (mut block, end, mut missed) = (first, first + blocks, false);
        while block < end {
            if self.cached.contains(&block) {
                self.counts.read_hits += 1;
                self.counts.read[0] += 1;
                if self.reads_count {
                    self.order.touch(block);
                    self.used(block, false);
                }
                block += 1;
            } else {
                let run = self.uncached(block, end);
                let run = if self.allocates { run.min(self.step_blocks) } else { run };
                self.read_uncached(block, run);
                (block, missed) = (block + run, true);
            }
        }
        if missed && self.allocates && self.free < self.reserve {
            self.evict(self.reserve - self.free);
        }
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn dirty(&self) -> BTreeSet<u64> {
        self.dirty.clone()
    }
}
