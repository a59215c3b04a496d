//! Whether blocks hold what was written to them, also while they are being written.

use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Pba};

use super::table::{Sum, sum};
use super::{Checked, PART};
use crate::store::{StoreError, SumCounts, Summed};

/// How long to wait before blocks that are being written are looked at again.
const AGAIN: Duration = Duration::from_millis(1);
/// How often that is done.
const TRIES: u32 = 2000;

impl Checked {
    /// What blocks should sum up to, and which of them are being written.
    fn expected(&self, at: Extent<Pba>) -> Result<(Vec<Sum>, Vec<bool>), StoreError> {
        let intents = self.intents();
        let changing = at.iter().map(|block| intents.is_changing(Extent::new(block, 1)));
        let changing = if intents.is_changing(at) { changing.collect() } else { vec![false; at.blocks as usize] };
        drop(intents);
        let mut sums = self.table().get(self.below.as_ref(), at)?;
        if !self.is_settled.load(Ordering::Acquire) {
            let (unsettled, intents) = (self.unsettled(), self.intents());
            for (sum, block) in sums.iter_mut().zip(at.iter()) {
                if unsettled.contains(intents.regions(Extent::new(block, 1)).start()) {
                    *sum = None;
                }
            }
        }
        Ok((sums, changing))
    }

    /// Reads blocks: what they hold, how many of them have a sum, and those that do not match it.
    pub(super) fn examine(&self, at: Extent<Pba>) -> Result<(Bytes, u64, Vec<Pba>), StoreError> {
        let size = self.below.block_bytes() as usize;
        let mut tries = 0;
        loop {
            let (before, was_changing) = self.expected(at)?;
            let content = self.below.read(at)?;
            let is_bad = |(i, bytes): (usize, &[u8])| {
                let block = at.start.plus(i as u64);
                (before[i].is_some() && before[i] != sum(block, bytes)).then_some(i)
            };
            let bad: Vec<usize> = content.chunks(size).enumerate().filter_map(is_bad).collect();
            let verified = before.iter().flatten().count() as u64;
            if bad.is_empty() {
                return Ok((content, verified, Vec::new()));
            }
            // The blocks may have changed meanwhile.
            let (after, is_changing) = self.expected(at)?;
            let is_sure = |i: &usize| before[*i] == after[*i] && !was_changing[*i] && !is_changing[*i];
            tries += 1;
            if bad.iter().all(is_sure) || tries == TRIES {
                let sure = bad.into_iter().filter(is_sure).map(|i| at.start.plus(i as u64)).collect();
                return Ok((content, verified, sure));
            }
            thread::sleep(AGAIN);
        }
    }
}

/// The error that blocks do not hold what was written to them.
pub(super) fn mismatch(at: Extent<Pba>, blocks: &[Pba]) -> StoreError {
    let numbers: Vec<String> = blocks.iter().take(4).map(|block| block.block().to_string()).collect();
    let more = if blocks.len() > numbers.len() {
        format!(" and {} more", blocks.len() - numbers.len())
    } else {
        String::new()
    };
    let text = format!("the checksum of block {}{more} does not match", numbers.join(", "));
    StoreError::of("reading", at)(io::Error::new(io::ErrorKind::InvalidData, text))
}

impl Summed for Checked {
    fn verify(&self, at: Extent<Pba>) -> (u64, Vec<Pba>) {
        let sums = match self.expected(at) {
            Ok((sums, _)) if sums.iter().any(Option::is_some) => sums,
            Ok(_) => return (0, Vec::new()),
            Err(error) => {
                tracing::warn!(%error, "checksums cannot be looked up");
                return (0, Vec::new());
            }
        };
        match self.examine(at) {
            Ok((_, verified, damaged)) => (verified, damaged),
            Err(_) if at.blocks > 1 => {
                let mut all = (0, Vec::new());
                for block in at.iter().zip(sums).filter(|(_, sum)| sum.is_some()).map(|(block, _)| block) {
                    let (verified, damaged) = self.verify(Extent::new(block, 1));
                    all.0 += verified;
                    all.1.extend(damaged);
                }
                all
            }
            // Its zone has been emptied meanwhile.
            Err(StoreError::Illegal(_)) => (0, Vec::new()),
            Err(_) => (1, vec![at.start]),
        }
    }

    fn is_unsettled(&self, block: Pba) -> bool {
        let (unsettled, intents) = (self.unsettled(), self.intents());
        unsettled.contains(intents.regions(Extent::new(block, 1)).start())
    }

    fn counts(&self) -> SumCounts {
        let (regions_dirty, unsettled_blocks) = {
            let (unsettled, intents) = (self.unsettled(), self.intents());
            let blocks = unsettled.iter().map(|region| u64::from(intents.extent(*region, self.blocks).blocks));
            (intents.dirty() as u64, blocks.sum())
        };
        let sums_lost = self.table().damaged;
        SumCounts {
            verified: self.verified.load(Ordering::Relaxed),
            damaged: self.damaged.load(Ordering::Relaxed),
            resummed: self.resummed.load(Ordering::Relaxed),
            regions_dirty,
            unsettled_blocks,
            sums_lost,
        }
    }

    fn step(&self) -> u32 {
        PART
    }
}
