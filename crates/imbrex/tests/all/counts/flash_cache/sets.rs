//! A cache in sets that are written home whole.

use std::collections::{BTreeSet, VecDeque};

use super::{Model, Settings, write_back};
use crate::fixture::two_devices::Counts;

#[derive(Default)]
struct Set {
    clean: VecDeque<u64>,
    dirty: BTreeSet<u64>,
}

pub struct Sets {
    length: usize,
    band_blocks: u64,
    sets: Vec<Set>,
    allocates: bool,
    counts: Counts,
}

impl Sets {
    pub fn new(settings: &Settings, frames: u64) -> Self {
        let sets = settings.number("sets", 16);
        Self {
            length: (frames / sets) as usize,
            band_blocks: settings.number("band_blocks", 7680),
            sets: (0..sets).map(|_| Set::default()).collect(),
            allocates: settings.flag("read_allocate"),
            counts: Counts::default(),
        }
    }

    /// The set of a block, and where the block is in it: dirty, or clean at a place in the order.
    fn look(&mut self, block: u64) -> (&mut Set, bool, Option<usize>) {
        let number = block / self.band_blocks % self.sets.len() as u64;
        let set = &mut self.sets[number as usize];
        let (dirty, clean) = (set.dirty.contains(&block), set.clean.iter().position(|&b| b == block));
        (set, dirty, clean)
    }
}

impl Model for Sets {
    fn write(&mut self, first: u64, blocks: u64) {
        for block in first..first + blocks {
            let length = self.length;
            let (set, dirty, clean) = self.look(block);
            let mut homewards = 0;
            if let Some(place) = clean {
                set.clean.remove(place);
            } else if !dirty && set.clean.len() + set.dirty.len() == length && set.clean.pop_front().is_none() {
                homewards = set.dirty.len();
                set.dirty.clear();
            }
            set.dirty.insert(block);
            (0..homewards).for_each(|_| write_back(&mut self.counts));
            self.counts.write_hits += u64::from(dirty || clean.is_some());
            self.counts.written[0] += 1;
        }
    }

    fn read(&mut self, first: u64, blocks: u64) {
        for block in first..first + blocks {
            let (length, allocates) = (self.length, self.allocates);
            let (set, dirty, clean) = self.look(block);
            if dirty || clean.is_some() {
                self.counts.read_hits += 1;
                self.counts.read[0] += 1;
                continue;
            }
            let promotes = allocates && set.dirty.len() < length;
            if promotes {
                if set.clean.len() + set.dirty.len() == length {
                    set.clean.pop_front();
                }
                set.clean.push_back(block);
            }
            self.counts.read[1] += 1;
            self.counts.written[0] += u64::from(promotes);
        }
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn dirty(&self) -> BTreeSet<u64> {
        self.sets.iter().flat_map(|set| &set.dirty).copied().collect()
    }
}
