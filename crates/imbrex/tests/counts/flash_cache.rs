//! Caches on flash in front of a disk: hits, evictions and the blocks read and written on each of the two devices,
//! against lists and sets that take requests block by block.
//!
//! The models know no frame, no plan and no record, only which blocks are in the cache and which of them are dirty.

use std::collections::{BTreeSet, HashMap, VecDeque};

use imbrex::block::{Access, Extent, Lba};
use imbrex::layers::{LayerInfo, lru_cache, static_sets};
use imbrex::parts::replacement::{Kind, Shares};
use imbrex::trace::Workload;
use test_material::beside;

use crate::fixture::policies::{Plain, plain};
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

/// A cache that writes home when it has to, in the order of a replacement policy.
struct Replaced {
    free: u64,
    cached: BTreeSet<u64>,
    dirty: BTreeSet<u64>,
    order: Box<dyn Plain>,
    evict_blocks: u64,
    step_blocks: u64,
    reserve: u64,
    reads_count: bool,
    allocates: bool,
    counts: Counts,
}

impl Replaced {
    fn coldest(&mut self) -> Option<(u64, bool)> {
        let block = self.order.coldest(&|_| true)?;
        Some((block, self.dirty.contains(&block)))
    }

    fn drop(&mut self, block: u64) {
        if self.dirty.remove(&block) {
            write_back(&mut self.counts);
        }
        self.order.evict(block, &|_| true);
        self.cached.remove(&block);
        self.free += 1;
    }

    /// The coldest leave until so many have, a clean one alone and some from a dirty one on, at most a step.
    fn evict(&mut self, wanted: u64) {
        let mut left = 0;
        while let Some((_, dirty)) = self.coldest().filter(|_| left < wanted) {
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
                self.order.touch(block);
            } else {
                while !self.finds_frame(block) {
                    self.evict(self.uncached(block, end));
                }
                self.insert(block);
            }
            self.dirty.insert(block);
            self.counts.written[0] += 1;
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

fn order(config: &toml::Table, size: usize) -> Box<dyn Plain> {
    let share = |key, default| config.get(key).and_then(toml::Value::as_float).unwrap_or(default);
    let Shares { s3_small, lirs_hir, lirs_ghosts } = Shares::default();
    let shares = Shares {
        s3_small: share("s3_small", s3_small),
        lirs_hir: share("lirs_hir", lirs_hir),
        lirs_ghosts: share("lirs_ghosts", lirs_ghosts),
    };
    let kind = config.get("replacement").map(|kind| kind.clone().try_into().expect("a policy"));
    plain(kind.unwrap_or(Kind::Lru), size, shares)
}

fn model(info: &LayerInfo, config: &toml::Table, frames: u64) -> Box<dyn Model> {
    let number = |key, default| config.get(key).and_then(toml::Value::as_integer).map_or(default, |n| n as u64);
    let flag = |key| config.get(key).is_none_or(|value| value.as_bool() == Some(true));
    let (allocates, counts) = (flag("read_allocate"), Counts::default());
    if info.name == "lru-cache" {
        let reserve = number("read_reserve", 64).min(frames / 2);
        let size = if allocates { frames - reserve } else { frames };
        let step_blocks = number("step_blocks", 4096);
        return Box::new(Replaced {
            free: frames,
            cached: BTreeSet::new(),
            dirty: BTreeSet::new(),
            order: order(config, size as usize),
            evict_blocks: number("evict_blocks", 1).min(step_blocks),
            step_blocks,
            reserve,
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
            "replacement = 'clock'",
            "replacement = 'clock'\nstep_blocks = 5\nevict_blocks = 3\nread_reserve = 3",
            "replacement = 'lirs'",
            "replacement = 'lirs'\nlirs_hir = 0.3\nlirs_ghosts = 0.25\nevict_blocks = 7",
            "replacement = 'lirs'\nlirs_ghosts = 0.0\nread_allocate = false",
            "replacement = 'arc'",
            "replacement = 'arc'\nread_reserve = 0\nreads_count = false\nevict_blocks = 5",
            "replacement = 's3-fifo'",
            "replacement = 's3-fifo'\ns3_small = 0.5\nread_allocate = false\nevict_blocks = 16",
            "replacement = 'sieve'",
            "replacement = 'sieve'\nread_reserve = 1000\nstep_blocks = 7\nevict_blocks = 2",
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
    for policy in ["clock", "lirs", "arc", "s3-fifo", "sieve"] {
        let counts = compare(&lru_cache::INFO, &workload, 800, &format!("replacement = '{policy}'"));
        println!("{policy} with 800 frames: {counts:?}");
    }
}
