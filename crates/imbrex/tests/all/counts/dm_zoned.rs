//! dm-zoned as sets of blocks in chunks and lists of chunks. It knows how many zones are free, and not which.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Counts, Model};

/// A chunk's blocks: all in a conventional zone, or in a sequential one with perhaps a buffer.
#[derive(Default)]
struct Chunk {
    data: BTreeSet<u64>,
    /// The write pointer of a sequential data zone, and whether the zone is a reserved one.
    sequential: Option<(u64, bool)>,
    buffer: Option<BTreeSet<u64>>,
}

impl Chunk {
    fn has_conventional(&self) -> bool {
        self.sequential.is_none() || self.buffer.is_some()
    }
}

#[derive(PartialEq)]
enum Way {
    ToSequential { reserved: bool, pointer: u64 },
    Append,
    IntoBuffer,
}

struct Job {
    chunk: u64,
    way: Way,
    next: u64,
    interrupted: bool,
}

pub struct Settings {
    pub step: u64,
    pub low: u64,
    pub stop: u64,
    pub throttle: u64,
    pub give_up: bool,
    pub reads_count: bool,
}

pub struct DmZoned {
    zone_blocks: u64,
    conventional: u64,
    free_conventional: u64,
    /// Free sequential zones: ordinary and reserved ones.
    free: [u64; 2],
    chunks: BTreeMap<u64, Chunk>,
    /// Chunks with a conventional and with a sequential zone, oldest use first.
    recent: [Vec<u64>; 2],
    job: Option<Job>,
    reclaiming: bool,
    credit: u64,
    settings: Settings,
    counts: Counts,
}

impl DmZoned {
    pub fn new(zone_blocks: u64, conventional: u64, sequential: u64, reserved: u64, settings: Settings) -> Self {
        Self {
            zone_blocks,
            conventional,
            free_conventional: conventional,
            free: [sequential - reserved, reserved],
            chunks: BTreeMap::new(),
            recent: [Vec::new(), Vec::new()],
            job: None,
            reclaiming: false,
            credit: 0,
            settings,
            counts: Counts::default(),
        }
    }

    /// Writes the first blocks in pieces and counts none of it.
    pub fn fill(&mut self, blocks: u64, piece: u64) {
        for first in (0..blocks).step_by(piece as usize) {
            self.write(first, piece.min(blocks - first));
        }
        self.forget();
    }

    /// It begins again with what lies where: nothing is under way, and zones are as old as the numbers of their chunks.
    fn forget(&mut self) {
        if let Some(Job { way: Way::ToSequential { reserved, .. }, .. }) = self.job.take() {
            self.free[usize::from(reserved)] += 1;
        }
        (self.reclaiming, self.credit, self.counts) = (false, 0, Counts::default());
        self.recent.iter_mut().for_each(|list| list.sort_unstable());
    }

    fn percent_free(&self) -> u64 {
        if self.free_conventional <= 1 { 0 } else { self.free_conventional * 100 / self.conventional }
    }

    fn busy(&self) -> bool {
        self.reclaiming || self.job.is_some()
    }

    fn leave(&mut self, list: usize, chunk: u64) {
        self.recent[list].retain(|&other| other != chunk);
    }

    fn enter(&mut self, list: usize, chunk: u64) {
        self.leave(list, chunk);
        self.recent[list].push(chunk);
    }

    fn used(&mut self, chunk: u64) {
        let (conventional, sequential) = match self.chunks.get(&chunk) {
            Some(held) => (held.has_conventional(), held.sequential.is_some()),
            None => return,
        };
        if conventional {
            self.enter(0, chunk);
        }
        if sequential {
            self.enter(1, chunk);
        }
        if let Some(job) = self.job.as_mut().filter(|job| job.chunk == chunk) {
            job.interrupted |= self.settings.give_up;
        }
    }

    fn victim(&self) -> Option<u64> {
        let buffered = |chunk: &&u64| self.chunks[chunk].buffer.is_some();
        if self.free[1] == 0
            && let Some(&chunk) = self.recent[1].iter().find(buffered)
        {
            return Some(chunk);
        }
        if let Some(&chunk) = self.recent[0].iter().find(|chunk| self.chunks[chunk].sequential.is_none()) {
            return Some(chunk);
        }
        let most = self.recent[0].iter().map(|chunk| self.chunks[chunk].data.len()).max()?;
        self.recent[0].iter().copied().find(|chunk| self.chunks[chunk].data.len() == most)
    }

    /// One step; the blocks it wrote, or nothing when there is nothing to do.
    fn step(&mut self) -> Option<u64> {
        if let Some(job) = self.job.take_if(|job| job.interrupted) {
            if let Way::ToSequential { reserved, .. } = job.way {
                self.free[usize::from(reserved)] += 1;
            }
            return Some(0);
        }
        if self.job.is_none() {
            let Some(chunk) = self.victim() else {
                self.reclaiming = false;
                return None;
            };
            let held = &self.chunks[&chunk];
            let way = match (held.sequential, held.buffer.as_ref().map(|buffer| buffer.first().copied())) {
                (None, _) => {
                    let reserved = self.free[0] == 0;
                    self.free[usize::from(reserved)] = self.free[usize::from(reserved)].checked_sub(1)?;
                    Way::ToSequential { reserved, pointer: 0 }
                }
                (Some((pointer, _)), Some(first)) if first.is_none_or(|first| first >= pointer) => Way::Append,
                (Some(_), _) => Way::IntoBuffer,
            };
            self.job = Some(Job { chunk, way, next: 0, interrupted: false });
        }
        let mut job = self.job.take()?;
        let moved = self.copy(&mut job);
        Some(moved)
    }

    fn copy(&mut self, job: &mut Job) -> u64 {
        let Chunk { data, sequential, buffer } = self.chunks.get_mut(&job.chunk).expect("the chunk is mapped");
        let source = if job.way == Way::Append { buffer.as_ref().expect("a buffer to append") } else { data };
        let mut no_pointer = u64::MAX;
        let pointer = match (&mut job.way, sequential) {
            (Way::ToSequential { pointer, .. }, _) | (Way::Append, Some((pointer, _))) => pointer,
            _ => &mut no_pointer,
        };
        let mut moved = 0;
        for &block in source.range(job.next..) {
            while *pointer < block && moved < self.settings.step {
                *pointer += 1;
                self.counts.padding += 1;
                moved += 1;
            }
            if moved == self.settings.step {
                break;
            }
            *pointer = pointer.saturating_add(1);
            self.counts.requeued += 1;
            moved += 1;
            job.next = block + 1;
        }
        let weight = source.len() as u64;
        if source.range(job.next..).next().is_none() {
            self.switch(job, weight);
        } else {
            let way = std::mem::replace(&mut job.way, Way::Append);
            self.job = Some(Job { chunk: job.chunk, way, next: job.next, interrupted: false });
        }
        moved
    }

    fn switch(&mut self, job: &Job, weight: u64) {
        let held = self.chunks.get_mut(&job.chunk).expect("the chunk is mapped");
        match job.way {
            Way::ToSequential { reserved, pointer } => {
                held.sequential = Some((pointer, reserved));
                self.leave(0, job.chunk);
                self.enter(1, job.chunk);
                self.free_conventional += 1;
                self.counts.rmw += 1;
                self.counts.evicted += weight;
            }
            Way::Append => {
                let mut buffer = held.buffer.take().expect("a buffer to append");
                held.data.append(&mut buffer);
                self.leave(0, job.chunk);
                self.free_conventional += 1;
                self.counts.rmw_free += 1;
                self.counts.evicted += weight;
            }
            Way::IntoBuffer => {
                let mut buffer = held.buffer.take().expect("a buffer to merge into");
                held.data.append(&mut buffer);
                let (_, reserved) = held.sequential.take().expect("a sequential zone");
                self.free[usize::from(reserved)] += 1;
                self.enter(0, job.chunk);
                self.leave(1, job.chunk);
                self.counts.rmw += 1;
            }
        }
        self.reclaiming = self.percent_free() <= self.settings.stop;
    }

    /// Whether the chunk has no zone yet for a write at this offset.
    fn wants_zone(&self, chunk: u64, offset: u64) -> bool {
        match self.chunks.get(&chunk) {
            None => true,
            Some(Chunk { sequential: Some((pointer, _)), buffer: None, .. }) => *pointer != offset,
            Some(_) => false,
        }
    }

    fn make_way(&mut self, chunk: u64, offset: u64) {
        loop {
            if self.busy() && self.credit >= 100 * self.settings.step {
                self.credit = self.step().map_or(0, |moved| self.credit.saturating_sub(100 * moved));
            } else if !self.settings.give_up && self.job.as_ref().is_some_and(|job| job.chunk == chunk)
                || self.wants_zone(chunk, offset) && self.free_conventional == 0
            {
                self.step().expect("reclaim goes on");
            } else {
                return;
            }
        }
    }

    fn write_piece(&mut self, chunk: u64, offset: u64, blocks: u64) {
        self.make_way(chunk, offset);
        if self.wants_zone(chunk, offset) {
            self.reclaiming |= self.percent_free() <= self.settings.low;
            self.free_conventional -= 1;
            let held = self.chunks.entry(chunk).or_default();
            if held.sequential.is_some() {
                held.buffer = Some(BTreeSet::new());
            }
        }
        let held = self.chunks.get_mut(&chunk).expect("the chunk is mapped");
        let at_pointer = held.sequential.as_mut().filter(|(pointer, _)| *pointer == offset);
        let run = offset..offset + blocks;
        if let Some((pointer, _)) = at_pointer {
            *pointer += blocks;
            self.counts.direct += blocks;
            held.data.extend(run.clone());
            if let Some(buffer) = &mut held.buffer {
                buffer.retain(|block| !run.contains(block));
            }
        } else {
            let (here, there) = match &mut held.buffer {
                Some(buffer) => (buffer, Some(&mut held.data)),
                None => (&mut held.data, None),
            };
            self.counts.hits += run.clone().filter(|block| !here.insert(*block)).count() as u64;
            if let Some(there) = there {
                there.retain(|block| !run.contains(block));
            }
        }
        self.used(chunk);
        self.drop_empty_buffer(chunk);
        let percent = if self.percent_free() < self.settings.low / 2 { 100 } else { self.settings.throttle };
        self.credit = if self.busy() { self.credit + blocks * percent } else { 0 };
    }

    fn drop_empty_buffer(&mut self, chunk: u64) {
        let held = self.chunks.get_mut(&chunk).expect("the chunk is mapped");
        if held.buffer.take_if(|buffer| buffer.is_empty()).is_some() {
            self.free_conventional += 1;
            self.leave(0, chunk);
        }
    }
}

impl Model for DmZoned {
    fn write(&mut self, first: u64, blocks: u64) {
        let mut at = first;
        while at < first + blocks {
            let (chunk, offset) = (at / self.zone_blocks, at % self.zone_blocks);
            let piece = (first + blocks - at).min(self.zone_blocks - offset);
            self.write_piece(chunk, offset, piece);
            at += piece;
        }
    }

    fn read(&mut self, first: u64, blocks: u64) {
        if self.settings.reads_count {
            (first / self.zone_blocks..=(first + blocks - 1) / self.zone_blocks).for_each(|chunk| self.used(chunk));
        }
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }
}
