//! Caches on flash in front of a disk: hits, evictions and the blocks read and written on each of the two devices,
//! against lists and sets that take requests block by block.
//!
//! The models know no frame, no plan and no record, only which blocks are in the cache and which of them are dirty.

use std::collections::{BTreeSet, HashMap, VecDeque};

use imbrex::block::{Access, Extent, Lba};
use imbrex::layers::{LayerInfo, lru_cache, static_sets};
use imbrex::trace::Workload;
use test_material::beside;

use crate::buffers::Recency;
use crate::fixture::two_devices::{Counts, Journal, TwoDevices};
use crate::{mixed, requests, sample};

trait Model {
    fn write(&mut self, first: u64, blocks: u64);
    fn read(&mut self, first: u64, blocks: u64);
    fn counts(&self) -> &Counts;
}

/// A dirty block goes home.
fn write_back(counts: &mut Counts) {
    counts.evicted += 1;
    counts.read[0] += 1;
    counts.written[1] += 1;
}

struct Lru {
    free: u64,
    cached: BTreeSet<u64>,
    dirty: BTreeSet<u64>,
    recency: Recency,
    evict_blocks: u64,
    reserve: u64,
    reads_count: bool,
    allocates: bool,
    counts: Counts,
}

impl Lru {
    fn coldest_is_dirty(&self) -> bool {
        self.recency.in_order().next().is_some_and(|block| self.dirty.contains(&block))
    }

    fn drop_coldest(&mut self) {
        let block = self.recency.in_order().next().expect("a block");
        if self.dirty.remove(&block) {
            write_back(&mut self.counts);
        }
        self.recency.remove(block);
        self.cached.remove(&block);
        self.free += 1;
    }

    fn evict(&mut self) {
        let together = if self.coldest_is_dirty() { self.evict_blocks } else { 1 };
        for _ in 0..together.min(self.cached.len() as u64) {
            self.drop_coldest();
        }
    }

    fn insert(&mut self, block: u64) {
        self.free -= 1;
        self.cached.insert(block);
        self.recency.used(block);
    }
}

impl Model for Lru {
    fn write(&mut self, first: u64, blocks: u64) {
        for block in first..first + blocks {
            if self.cached.contains(&block) {
                self.counts.write_hits += 1;
                self.recency.used(block);
            } else {
                if self.free == 0 {
                    self.evict();
                }
                self.insert(block);
            }
            self.dirty.insert(block);
            self.counts.written[0] += 1;
        }
    }

    fn read(&mut self, first: u64, blocks: u64) {
        let mut missed = false;
        for block in first..first + blocks {
            if self.cached.contains(&block) {
                self.counts.read_hits += 1;
                self.counts.read[0] += 1;
                if self.reads_count {
                    self.recency.used(block);
                }
                continue;
            }
            missed = true;
            self.counts.read[1] += 1;
            if self.allocates && self.free == 0 && !self.coldest_is_dirty() {
                self.drop_coldest();
            }
            if self.allocates && self.free > 0 {
                self.insert(block);
                self.counts.written[0] += 1;
            }
        }
        while missed && self.allocates && self.free < self.reserve {
            self.evict();
        }
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }
}

#[derive(Default)]
struct Set {
    clean: VecDeque<u64>,
    dirty: BTreeSet<u64>,
}

struct Sets {
    length: usize,
    band_blocks: u64,
    sets: Vec<Set>,
    allocates: bool,
    counts: Counts,
}

impl Sets {
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
}

fn model(info: &LayerInfo, config: &toml::Table, frames: u64) -> Box<dyn Model> {
    let number = |key, default| config.get(key).and_then(toml::Value::as_integer).map_or(default, |n| n as u64);
    let flag = |key| config.get(key).is_none_or(|value| value.as_bool() == Some(true));
    let (allocates, counts) = (flag("read_allocate"), Counts::default());
    if info.name == "lru-cache" {
        return Box::new(Lru {
            free: frames,
            cached: BTreeSet::new(),
            dirty: BTreeSet::new(),
            recency: Recency::default(),
            evict_blocks: number("evict_blocks", 1).min(number("step_blocks", 4096)),
            reserve: number("read_reserve", 64).min(frames / 2),
            reads_count: flag("reads_count"),
            allocates,
            counts,
        });
    }
    let sets = number("sets", 16);
    Box::new(Sets {
        length: (frames / sets) as usize,
        band_blocks: number("band_blocks", 7680),
        sets: (0..sets).map(|_| Set::default()).collect(),
        allocates,
        counts,
    })
}

/// The readings that move a count, beside the defaults.
const READINGS: [(&LayerInfo, &[&str]); 2] = [
    (
        &lru_cache::INFO,
        &[
            "evict_blocks = 16",
            "read_allocate = false",
            "reads_count = false\nread_reserve = 0",
            "read_reserve = 3\nstep_blocks = 7\nevict_blocks = 2",
            "interruptible = false\nread_reserve = 1000",
        ],
    ),
    (
        &static_sets::INFO,
        &[
            "sets = 1",
            "sets = 7\nband_blocks = 100",
            "read_allocate = false",
            "step_blocks = 7\ninterruptible = false\nband_blocks = 1000",
        ],
    ),
];

fn compare(info: &'static LayerInfo, workload: &Workload, frames: u32, config: &str) -> Counts {
    let block_bytes = 4096;
    let requests = requests(workload);
    let extents = requests.iter().map(|request| (request.access, request.blocks(block_bytes)));
    // Blocks are numbered anew by MiB in order of appearance, so that a large address range makes no large disk.
    let mut places = HashMap::new();
    let mut place = |block: u64| {
        let next = places.len() as u64;
        *places.entry(block / 256).or_insert(next) * 256 + block % 256
    };
    let mut small = Vec::new();
    for (access, at) in extents {
        let mut rest = at;
        while !rest.is_empty() {
            let part = rest.first(256 - (rest.start.0 % 256) as u32);
            small.push((access, Extent::new(Lba(place(part.start.0)), part.blocks)));
            rest = rest.skip(part.blocks);
        }
    }
    let mut model = model(info, &config.parse().expect("a TOML table"), u64::from(frames));
    let mut devices = TwoDevices::new(info, config, frames, places.len() as u64 * 256, Journal::AtOnce);
    devices.checks = false;
    for (access, at) in small {
        match access {
            Access::Write => {
                devices.write(at);
                model.write(at.start.0, u64::from(at.blocks));
            }
            Access::Read => {
                devices.read(at);
                model.read(at.start.0, u64::from(at.blocks));
            }
            Access::Trim => {}
        }
    }
    devices.check();
    assert_eq!(&devices.counts, model.counts(), "{} with {frames} frames, {config:?}", info.name);
    devices.counts
}

#[test]
fn counts_of_flash_caches_agree() {
    let mut workload = mixed();
    if let Workload::Synthetic(spec) = &mut workload {
        spec.write_ratio = 0.6;
    }
    for (info, readings) in READINGS {
        for config in std::iter::once(&"").chain(readings) {
            for frames in [300, 2500] {
                let counts = compare(info, &workload, frames, config);
                println!("{} with {frames} frames, {config:?}: {counts:?}", info.name);
                let Counts { write_hits, read_hits, evicted, read, written } = counts;
                assert!([write_hits, read_hits, evicted, read[1], written[1]].into_iter().all(|n| n > 100));
            }
        }
    }
}

#[test]
fn counts_of_flash_caches_agree_on_a_sample() {
    let workload = Workload::File(sample("vscsi2", 8000).into());
    for (info, _) in READINGS {
        let Counts { write_hits, read_hits, evicted, .. } = compare(info, &workload, 5000, "");
        assert!([write_hits, read_hits, evicted].into_iter().all(|n| n > 1000));
    }
}

#[test]
fn counts_of_flash_caches_agree_on_a_real_trace() {
    let Some(folder) = beside("the counts of flash caches on a real trace", "traces") else { return };
    let workload = Workload::File(folder.join("cloudphysics.vscsi.zst").into());
    for (info, _) in READINGS {
        let counts = compare(info, &workload, 5000, "");
        println!("{} with 5000 frames: {counts:?}", info.name);
    }
}
