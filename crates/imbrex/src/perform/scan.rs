//! Reading the journal's blocks back, whatever can be read of them in any copy.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::journal::{self, Block};
use crate::block::{Address, Extent, Pba};

/// Journal blocks of one read.
const PART_BLOCKS: u32 = 16;
/// Reads under way at a time.
const PARTS: usize = 64;
/// How often a block is tried before it counts as unreadable.
const TRIES: u32 = 5;

/// The journal as far as it has been read.
#[derive(Default)]
pub(super) struct Scan {
    todo: VecDeque<Extent<Pba>>,
    under_way: BTreeMap<Pba, u32>,
    /// How often single blocks could not be read.
    failures: BTreeMap<Pba, u32>,
    blocks: Vec<Block>,
}

impl Scan {
    /// Of what can be read of the copies of a journal.
    pub fn new(runs: &[Extent<Pba>]) -> Self {
        let parts = |run: &Extent<Pba>| {
            let run = *run;
            (0..run.blocks).step_by(PART_BLOCKS as usize).map(move |done| run.skip(done).first(PART_BLOCKS))
        };
        Self { todo: runs.iter().flat_map(parts).collect(), ..Self::default() }
    }

    /// What to read next; nothing when all has been read.
    pub fn next(&mut self) -> Vec<Extent<Pba>> {
        let parts: Vec<_> = self.todo.drain(..self.todo.len().min(PARTS)).collect();
        self.under_way.extend(parts.iter().map(|part| (part.start, part.blocks)));
        parts
    }

    /// The blocks from `start` on have been read; those of the store `identity` are kept.
    pub fn read(&mut self, start: Pba, data: &Bytes, (identity, block_bytes): (u64, usize)) {
        self.under_way.remove(&start);
        let blocks = (0..data.len() / block_bytes).map(|i| data.slice(i * block_bytes..(i + 1) * block_bytes));
        self.blocks.extend(blocks.filter_map(|block| journal::decode_block(&block, Some(identity))));
    }

    /// The blocks from `start` on could not be read: they are tried one by one.
    pub fn failed(&mut self, start: Pba) {
        let Some(blocks) = self.under_way.remove(&start) else { return };
        for block in Extent::new(start, blocks).iter() {
            if blocks == 1 {
                *self.failures.entry(block).or_insert(0) += 1;
            }
            if self.failures.get(&block).is_none_or(|failures| *failures < TRIES) {
                self.todo.push_back(Extent::new(block, 1));
            }
        }
    }

    /// The blocks found.
    ///
    /// # Errors
    /// The first block that cannot be read in any of the `copies`: nobody knows whether something durable was in it.
    pub fn finish(self, copies: &[Extent<Pba>]) -> Result<Vec<Block>, String> {
        let unreadable = |block: Pba| self.failures.get(&block).is_some_and(|failures| *failures >= TRIES);
        let blocks = copies.first().map_or(0, |copy| copy.blocks);
        let lost = (0..u64::from(blocks)).find(|at| copies.iter().all(|copy| unreadable(copy.start.plus(*at))));
        match lost.filter(|_| !self.failures.is_empty()) {
            Some(at) => Err(format!("block {at} of the journal cannot be read in any copy")),
            None => Ok(self.blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPIES: [Extent<Pba>; 2] = [Extent::new(Pba::disk(10), 20), Extent::new(Pba::disk(50), 20)];

    /// Reads everything but `bad`.
    fn scan(bad: &[u64]) -> (u32, Result<Vec<Block>, String>) {
        let (mut scan, mut read) = (Scan::new(&COPIES), 0);
        loop {
            let parts = scan.next();
            if parts.is_empty() {
                return (read, scan.finish(&COPIES));
            }
            for part in parts {
                if bad.iter().any(|block| part.contains(Pba::disk(*block))) {
                    scan.failed(part.start);
                } else {
                    read += part.blocks;
                    scan.read(part.start, &vec![0; part.blocks as usize * 512].into(), (1, 512));
                }
            }
        }
    }

    #[test]
    fn what_one_copy_does_not_give_another_one_may() {
        assert_eq!(scan(&[]).0, 40);
        let (read, blocks) = scan(&[10, 29, 51]);
        assert_eq!((read, blocks.unwrap().len()), (37, 0));
        assert!(scan(&[11, 51]).1.unwrap_err().contains("block 1 "));
    }
}
