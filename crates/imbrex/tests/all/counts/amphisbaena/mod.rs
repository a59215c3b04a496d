//! Amphisbaena as ordered maps of blocks: two lists by time, chunks, and a write pointer for each zone.

mod cold;
mod lending;
mod readings;
mod roles;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::counts::model::{Counts, Model};
use lending::HotSlot;
pub use readings::Readings;
use roles::Roles;

/// A chunk of the buffer.
enum Chunk {
    Hot(Vec<Option<u64>>),
    Cold(Option<u64>),
}

pub struct Amphisbaena {
    readings: Readings,
    zone_blocks: u64,
    pointer: Vec<u64>,
    padding: BTreeSet<u64>,
    length: u64,
    chunks: Vec<Chunk>,
    first_hot: usize,
    most_hot: usize,
    retired: Option<usize>,
    /// Chunks and slots that the request under way has emptied: free for the next, not for itself.
    emptied: BTreeSet<usize>,
    vacated: BTreeSet<HotSlot>,
    /// Which loaned slots were written in this period.
    written: BTreeSet<HotSlot>,
    hot: HashMap<u64, HotSlot>,
    cold: BTreeSet<u64>,
    /// Chunk of a zone → chunk of the buffer, and when it came.
    at: BTreeMap<u64, (usize, u64)>,
    /// When the first of a zone's chunks came.
    since: HashMap<u64, u64>,
    clock: u64,
    roles: Roles,
    sizes: Vec<u64>,
    /// What waits behind the request that is served.
    waiting: Vec<(u64, u64)>,
    /// The clock when chunks were looked at last.
    looked: u64,
    requests: u64,
    ghosts: u64,
    counts: Counts,
}

impl Amphisbaena {
    pub fn new(zones: u64, zone_blocks: u64, slots: u64, readings: Readings) -> Self {
        let length = (readings.number("chunk_blocks", 16.0) as u64).min(slots / 4).max(1);
        let count = (slots / length) as usize;
        let share = |key, default| readings.number(key, default) * count as f64;
        let first_hot = (share("hot_start", 0.25).round() as usize).clamp(1, count - 1);
        let most = share("hot_most", 0.75);
        let is_nearest = readings.is("hot_most_is", "nearest");
        // The largest whole number that is not above the share; or the one next to it, if that is as near.
        let below = (0..=count).rev().find(|&chunks| chunks as f64 <= most * (1.0 + 1e-12)).unwrap_or(0);
        let above = is_nearest && most - below as f64 >= 0.5;
        let most_hot = (below + usize::from(above)).clamp(first_hot, count - 1);
        let hot = |chunk| if chunk < first_hot { Chunk::Hot(vec![None; length as usize]) } else { Chunk::Cold(None) };
        let roles = Roles::new(&readings);
        let mut model = Self {
            readings,
            zone_blocks,
            pointer: vec![0; zones as usize],
            padding: BTreeSet::new(),
            length,
            chunks: (0..count).map(hot).collect(),
            first_hot,
            most_hot,
            retired: None,
            emptied: BTreeSet::new(),
            vacated: BTreeSet::new(),
            written: BTreeSet::new(),
            hot: HashMap::new(),
            cold: BTreeSet::new(),
            at: BTreeMap::new(),
            since: HashMap::new(),
            clock: 0,
            roles,
            sizes: Vec::new(),
            waiting: Vec::new(),
            looked: 0,
            requests: 0,
            ghosts: 0,
            counts: Counts::default(),
        };
        model.resize();
        model
    }

    /// Writes the first `blocks` blocks, so many at a time, and counts from then on.
    pub fn fill(&mut self, blocks: u64, at_a_time: u64) {
        let mut first = 0;
        while first < blocks {
            let run = (blocks - first).min(at_a_time);
            self.write(first, run);
            first += run;
        }
        self.counts = Counts::default();
    }

    fn count_hot(&self) -> usize {
        let is_hot = |&(at, chunk): &(usize, &Chunk)| matches!(chunk, Chunk::Hot(_)) && self.retired != Some(at);
        self.chunks.iter().enumerate().filter(is_hot).count()
    }

    fn resize(&mut self) {
        let slots = self.count_hot() as u64 * self.length;
        let (lambda, most) = (self.readings.number("lambda", 0.1), self.readings.number("most_remembered", 2.0));
        self.roles.resize(slots, lambda, most);
    }

    /// Chunks do not cross zones; the last of a zone may be short.
    fn chunk_of(&self, block: u64) -> u64 {
        let in_zone = self.zone_blocks.div_ceil(self.length);
        block / self.zone_blocks * in_zone + block % self.zone_blocks / self.length
    }

    fn zone_of_chunk(&self, chunk: u64) -> u64 {
        chunk / self.zone_blocks.div_ceil(self.length)
    }

    fn free_slot(&self) -> Option<HotSlot> {
        self.chunks.iter().enumerate().filter(|(at, _)| self.retired != Some(*at)).find_map(|(at, chunk)| match chunk {
            Chunk::Hot(slots) => {
                let mut free =
                    (0..slots.len()).filter(|&slot| slots[slot].is_none()).map(|slot| HotSlot { chunk: at, slot });
                free.find(|slot| !self.vacated.contains(slot))
            }
            Chunk::Cold(_) => None,
        })
    }

    fn free_chunk(&self) -> Option<usize> {
        let is_free = |&at: &usize| matches!(self.chunks[at], Chunk::Cold(None)) && !self.emptied.contains(&at);
        (0..self.chunks.len()).find(is_free)
    }

    /// What has been planned of a request is done. Says whether a chunk is free because of that.
    fn planned(&mut self) -> bool {
        self.vacated.clear();
        !std::mem::take(&mut self.emptied).is_empty()
    }

    fn put_hot(&mut self, block: u64, free: HotSlot) {
        let Chunk::Hot(slots) = &mut self.chunks[free.chunk] else { panic!("a hot chunk") };
        slots[free.slot] = Some(block);
        self.hot.insert(block, free);
    }

    fn take_hot(&mut self, block: u64) {
        let HotSlot { chunk, slot } = self.hot.remove(&block).expect("the block is hot");
        let Chunk::Hot(slots) = &mut self.chunks[chunk] else { panic!("a hot chunk") };
        slots[slot] = None;
    }

    /// Moves blocks to the cold buffer, or cleans that first.
    fn clean_hot(&mut self) {
        if self.roles.q.is_empty() {
            self.roles.demote();
        }
        let (_, &first) = self.roles.q.first_key_value().expect("a block that may leave");
        let chunk = self.chunk_of(first);
        let mut leaving = vec![first];
        if !self.at.contains_key(&chunk) {
            if self.free_chunk().is_none() {
                return self.clean_cold();
            }
            leaving = self.roles.q.values().copied().filter(|&block| self.chunk_of(block) == chunk).collect();
            leaving.sort_unstable();
        }
        for block in leaving {
            self.roles.leave(block);
            self.take_hot(block);
            assert!(self.put_cold(block));
            self.counts.requeued += 1;
        }
        self.counts.hot_cold[1] += 1;
    }

    fn begin_request(&mut self, size: u64) -> bool {
        if self.requests == self.readings.number("period", 10_000.0) as u64 {
            self.reallocate();
        }
        self.requests += 1;
        let window = self.readings.number("window", 1024.0) as usize;
        let last = &self.sizes[self.sizes.len().saturating_sub(window)..];
        let (sum, seen) = (last.iter().sum::<u64>(), last.len() as u64);
        let below = self.readings.switch("hot_below", false);
        let hot = seen == 0 || if below { size * seen < sum } else { size * seen <= sum };
        self.sizes.push(size);
        hot
    }

    /// Writes a block, or cleans once. While room is made, what is known may be forgotten, a block in the cold buffer
    /// be evicted, and a write pointer come to the block.
    fn write_block(&mut self, block: u64, hot: bool) -> bool {
        let was_cold = self.cold.contains(&block);
        if let Some(&place) = self.hot.get(&block) {
            self.counts.hits += 1;
            self.counts.hot_cold[0] += 1;
            self.written.insert(place);
            if hot || self.readings.switch("cold_hits", true) {
                self.roles.hit(block);
            }
        } else if hot || (self.readings.switch("cold_known", true) && self.roles.known(block)) {
            let Some(free) = self.free_slot() else {
                self.planned();
                if self.free_slot().is_none() {
                    self.clean_hot();
                }
                return false;
            };
            if was_cold {
                self.outdate_cold(block);
            }
            self.counts.hits += u64::from(was_cold);
            self.put_hot(block, free);
            if !self.readings.is("used_by", "hit") {
                self.written.insert(free);
            }
            self.ghosts += u64::from(self.roles.admit(block));
        } else {
            if !self.put_cold(block) {
                if !self.planned() {
                    self.clean_cold();
                }
                return false;
            }
            self.counts.hits += u64::from(was_cold);
            self.roles.refuse(block);
        }
        true
    }

    /// Blocks from `block` on that go past the buffer.
    fn past(&mut self, block: u64, blocks: u64) -> u64 {
        let (zone, offset) = (block / self.zone_blocks, block % self.zone_blocks);
        let fills = offset == 0 && blocks >= self.zone_blocks;
        if self.pointer[zone as usize] != offset || !(fills || self.readings.is("bypass", "pointer")) {
            return 0;
        }
        let run = blocks.min(self.zone_blocks - offset);
        let held: Vec<u64> = self.cold.range(block..block + run).copied().collect();
        held.into_iter().for_each(|block| self.outdate_cold(block));
        let hot: Vec<u64> = self.hot.keys().copied().filter(|held| (block..block + run).contains(held)).collect();
        for block in hot {
            self.vacated.insert(self.hot[&block]);
            self.take_hot(block);
            self.roles.forget(block);
        }
        self.pointer[zone as usize] += run;
        self.counts.direct += run;
        run
    }
}

impl Amphisbaena {
    fn write_sized(&mut self, first: u64, blocks: u64, size: u64) {
        let (mut block, end, mut label) = (first, first + blocks, None);
        while block < end {
            let past = self.past(block, end - block);
            block += past;
            if past == 0 {
                let hot = match label {
                    Some(hot) => hot,
                    None => self.begin_request(size),
                };
                label = Some(hot);
                block += u64::from(self.write_block(block, hot));
            }
        }
        self.planned();
    }
}

impl Model for Amphisbaena {
    /// Whole blocks of 4 KiB.
    fn write(&mut self, first: u64, blocks: u64) {
        self.write_of(first, blocks, blocks * 4096, &[]);
    }

    fn write_of(&mut self, first: u64, blocks: u64, bytes: u64, waiting: &[(u64, u64)]) {
        self.waiting = waiting.to_vec();
        let size = if self.readings.is("sizes", "blocks") { blocks } else { bytes };
        self.write_sized(first, blocks, size);
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }
}
