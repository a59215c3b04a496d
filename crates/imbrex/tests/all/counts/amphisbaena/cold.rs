//! The cold buffer: chunks of zones, which zone is collected next, and how much of it.

use std::collections::BTreeSet;

use super::{Amphisbaena, Chunk};

impl Amphisbaena {
    /// Puts a block into the cold buffer, if its chunk is there or can be.
    pub(super) fn put_cold(&mut self, block: u64) -> bool {
        let chunk = self.chunk_of(block);
        if !self.at.contains_key(&chunk) {
            let Some(free) = self.free_chunk() else { return false };
            self.chunks[free] = Chunk::Cold(Some(chunk));
            self.clock += 1;
            let zone = self.zone_of_chunk(chunk);
            if !self.at.keys().any(|&other| self.zone_of_chunk(other) == zone) {
                self.since.insert(zone, self.clock);
            }
            self.at.insert(chunk, (free, self.clock));
        }
        self.cold.insert(block);
        true
    }

    fn take_cold(&mut self, block: u64) {
        self.cold.remove(&block);
        let chunk = self.chunk_of(block);
        let zone = block / self.zone_blocks * self.zone_blocks..(block / self.zone_blocks + 1) * self.zone_blocks;
        if !self.cold.range(zone).any(|&other| self.chunk_of(other) == chunk) {
            let (at, _) = self.at.remove(&chunk).expect("the chunk is there");
            self.chunks[at] = Chunk::Cold(None);
        }
    }

    /// The request under way has taken a block out of the cold buffer.
    pub(super) fn outdate_cold(&mut self, block: u64) {
        let at = self.at[&self.chunk_of(block)].0;
        self.take_cold(block);
        if matches!(self.chunks[at], Chunk::Cold(None)) {
            self.emptied.insert(at);
        }
    }

    /// The victim's chunks x density as a fraction, whether it is appended, and when it came.
    fn weight(&self, zone: u64) -> (u128, u128, bool, u64) {
        let range = zone * self.zone_blocks..(zone + 1) * self.zone_blocks;
        let offsets: Vec<u64> = self.cold.range(range.clone()).map(|block| block - range.start).collect();
        let (pointer, last) = (self.pointer[zone as usize], offsets[offsets.len() - 1]);
        let printed = self.readings.is("density", "printed");
        let by_chunks = self.readings.is("density", "none");
        let has = |offset: u64| offset < pointer && !self.padding.contains(&(range.start + offset));
        let native = pointer - self.padding.range(range.clone()).count() as u64;
        let appends = offsets[0] >= pointer;
        let (dense, span) = if by_chunks {
            (1, 1)
        } else if appends {
            (offsets.len() as u64, (last - pointer + u64::from(!printed)).max(1))
        } else if printed {
            (native + offsets.len() as u64, pointer)
        } else {
            let new = offsets.iter().filter(|&&offset| !has(offset)).count() as u64;
            (native + new, pointer.max(last + 1))
        };
        let chunks = self.at.keys().filter(|&&chunk| self.zone_of_chunk(chunk) == zone).count() as u64;
        (u128::from(chunks * dense), u128::from(span), appends, self.since[&zone])
    }

    fn victim(&self) -> u64 {
        if self.readings.is("victims", "fifo") {
            let (&oldest, _) = self.at.iter().min_by_key(|(_, (_, came))| *came).expect("a chunk");
            return self.zone_of_chunk(oldest);
        }
        let lightest = self.readings.is("victims", "lightest");
        let zones: BTreeSet<u64> = self.at.keys().map(|&chunk| self.zone_of_chunk(chunk)).collect();
        let weights = zones.into_iter().map(|zone| (zone, self.weight(zone)));
        let best = weights.max_by(|(_, a), (_, b)| {
            let order = (a.0 * b.1).cmp(&(b.0 * a.1));
            let order = if lightest { order.reverse() } else { order };
            order.then(a.2.cmp(&b.2)).then(b.3.cmp(&a.3))
        });
        best.expect("a zone").0
    }

    /// Counts cold chunks, and those that were there before three fillings of the cold buffer came.
    fn look(&mut self) {
        let cold = (self.chunks.len() - self.count_hot()) as u64;
        if self.clock >= self.looked + (cold / 4).max(1) {
            self.looked = self.clock;
            self.counts.hot_cold[6] += self.at.len() as u64;
            self.counts.hot_cold[7] +=
                self.at.values().filter(|(_, came)| came + 3 * cold <= self.clock).count() as u64;
        }
    }

    /// Whether what waits ends the collection of a zone, of which the chunks from `next` on are left.
    fn is_stopped(&self, zone: u64, collected: usize, next: &[u64]) -> bool {
        let least = self.readings.number("least_collected", 1.0) as usize;
        if !self.readings.switch("checkpoints", true) || collected < least {
            return false;
        }
        let rest = self.readings.is("checkpoint_for", "rest");
        self.waiting.iter().any(|&(first, blocks)| {
            (first..first + blocks)
                .any(|block| if rest { next.contains(&self.chunk_of(block)) } else { block / self.zone_blocks == zone })
        })
    }

    /// The blocks of a victim that are collected.
    fn collected(&mut self, zone: u64) -> Vec<u64> {
        let range = zone * self.zone_blocks..(zone + 1) * self.zone_blocks;
        let all: Vec<u64> = self.cold.range(range).copied().collect();
        let chunks: BTreeSet<u64> = all.iter().map(|&block| self.chunk_of(block)).collect();
        let chunks: Vec<u64> = chunks.into_iter().collect();
        let stop = (1..chunks.len()).find(|&at| self.is_stopped(zone, at, &chunks[at..]));
        self.counts.hot_cold[3] += u64::from(stop.is_some());
        let taken = &chunks[..stop.unwrap_or(chunks.len())];
        self.counts.hot_cold[2] += taken.len() as u64;
        all.into_iter().filter(|&block| taken.contains(&self.chunk_of(block))).collect()
    }

    pub(super) fn clean_cold(&mut self) {
        self.look();
        let zone = self.victim();
        let range = zone * self.zone_blocks..(zone + 1) * self.zone_blocks;
        let blocks = self.collected(zone);
        blocks.iter().for_each(|&block| self.take_cold(block));
        let pointer = self.pointer[zone as usize];
        let end = pointer.max(blocks[blocks.len() - 1] - range.start + 1);
        if blocks[0] - range.start >= pointer {
            self.counts.rmw_free += 1;
        } else {
            self.counts.rmw += 1;
            let again = self.padding.range(range.clone()).filter(|block| !blocks.contains(block));
            self.counts.padding_again += again.count() as u64;
        }
        self.counts.evicted += blocks.len() as u64;
        for block in range.start + pointer..range.start + end {
            self.padding.insert(block);
        }
        self.counts.padding += end - pointer;
        for block in blocks {
            self.padding.remove(&block);
            self.counts.padding -= u64::from(block - range.start >= pointer);
        }
        self.pointer[zone as usize] = end;
    }
}
