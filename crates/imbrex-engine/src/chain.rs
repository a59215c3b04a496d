//! What the blocks found in the journal ring amount to.
//!
//! Every block says how far the journal was durable when it was written. All entries from the tail to there must be
//! whole; what is missing is damage. Commits after it count as long as all their entries are whole, follow each other
//! and do not go back to an earlier epoch: they were being written when the power failed. Of a commit that is not whole
//! nothing counts, since nothing was answered for it: so power that fails again and again does not fill the ring.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::fatal::Fatal;
use super::journal::{Block, Encoded, Header};

/// The journal from its tail to its head.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The entries, oldest first, each of which can be decoded: all records of a large map at a time take much memory.
    pub entries: Vec<Encoded>,
    /// For each entry its first block's number, its epoch and its blocks.
    pub at: Vec<(u64, u32, u32)>,
    /// Where the next entry goes.
    pub head: u64,
    /// Where recovery began.
    pub tail: u64,
    /// The epoch after the last one seen.
    pub epoch: u32,
    /// The entries, by number, whose redo images must be written again.
    pub redo_from: usize,
}

/// Entries of which every block is there, by their first block's number; of two with one number the later epoch.
fn whole_entries(blocks: Vec<Block>) -> BTreeMap<u64, (Header, Vec<Bytes>)> {
    let mut parts: BTreeMap<(u64, u32, u32), BTreeMap<u32, Block>> = BTreeMap::new();
    for block in blocks {
        let Header { start, epoch, count, index, .. } = block.header;
        parts.entry((start, epoch, count)).or_default().insert(index, block);
    }
    let whole = parts.into_iter().filter(|((_, _, count), blocks)| blocks.len() == *count as usize);
    whole
        .filter_map(|((start, _, _), blocks)| {
            let header = blocks.first_key_value()?.1.header;
            Some((start, (header, blocks.into_values().map(|block| block.payload).collect())))
        })
        .collect()
}

/// The whole entries, as they follow each other.
struct Entries {
    whole: BTreeMap<u64, (Header, Vec<Bytes>)>,
    /// By where the entry before ended; of several the one of the latest epoch, which knew of the others.
    after: BTreeMap<u64, u64>,
}

impl Entries {
    fn new(blocks: Vec<Block>) -> Self {
        let whole = whole_entries(blocks);
        let mut after: BTreeMap<u64, u64> = BTreeMap::new();
        for (start, (header, _)) in &whole {
            let other = after.get(&header.follows()).map(|other| whole[other].0.epoch);
            if other.is_none_or(|other| header.epoch > other) {
                after.insert(header.follows(), *start);
            }
        }
        Self { whole, after }
    }

    /// The entry that follows the one that ended at `end`.
    fn after(&self, end: u64) -> Option<&(Header, Vec<Bytes>)> {
        self.whole.get(self.after.get(&end)?)
    }

    /// The last entry of the commit that follows `last`, if all of the commit is there.
    fn next_commit(&self, last: Option<&Header>) -> Option<&Header> {
        let (end, at_least) = last.map_or((0, 0), |header| (header.end(), header.epoch));
        let mut header = &self.after(end)?.0;
        let epoch = header.epoch;
        while !header.closes {
            header = &self.after(header.end()).filter(|(next, _)| next.epoch == epoch)?.0;
        }
        (epoch >= at_least).then_some(header)
    }
}

/// Finds the chain in the blocks of the ring.
///
/// # Errors
/// What is missing or harmed.
pub(super) fn find(blocks: Vec<Block>, block_bytes: usize) -> Result<Chain, Fatal> {
    let durable = blocks.iter().map(|block| block.header.durable).max().ok_or(Fatal::NoJournal)?;
    let epoch = blocks.iter().map(|block| block.header.epoch).max().unwrap_or(0).saturating_add(1);
    let entries = Entries::new(blocks);
    let mut last = entries.whole.values().map(|(header, _)| header).find(|header| header.end() == durable);
    if last.is_none() && durable > 0 {
        return Err(Fatal::JournalDamaged(format!("the journal entry that ends before block {durable} is damaged")));
    }
    while let Some(next) = entries.next_commit(last) {
        last = Some(next);
    }
    let last = last.ok_or(Fatal::JournalNeverBegun)?;
    if last.tail >= last.end() {
        let Header { start, tail, .. } = last;
        return Err(Fatal::JournalDamaged(format!(
            "the journal entry that begins with block {start} is damaged: it names block {tail} as the first"
        )));
    }
    let mut chain = Chain { head: last.end(), tail: last.tail, epoch, ..Chain::default() };
    let mut at = last.tail;
    let mut next = entries.whole.get(&at);
    while at < chain.head {
        let damaged = || Fatal::JournalDamaged(format!("the journal entry that begins with block {at} is damaged"));
        let (header, payloads) = next.ok_or_else(damaged)?;
        if header.start < last.redone {
            chain.redo_from = chain.entries.len() + 1;
        }
        chain.at.push((header.start, header.epoch, header.count));
        let entry = Encoded::new(header, payloads.clone(), block_bytes);
        entry.records(drop).ok_or_else(damaged)?;
        chain.entries.push(entry);
        at = header.end();
        next = entries.after(at);
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{self, Coding, Entry};
    use imbrex_core::block::{Extent, Lba};
    use imbrex_core::plan::Record;

    /// An entry of `records` records.
    fn entry(start: u64, records: u32, epoch: u32, tail: u64, durable: u64) -> Vec<Block> {
        let records = (0..records).map(|i| Record::Unmap(Extent::new(Lba(start), i + 1))).collect();
        let coding = Coding::Plain;
        let header = Header {
            identity: 1,
            start,
            epoch,
            tail,
            durable,
            redone: durable,
            closes: true,
            coding,
            ..Header::default()
        };
        let blocks = journal::encode(&Entry { records, images: Vec::new() }, header, 512);
        blocks.iter().map(|block| journal::decode_block(block, Some(1)).unwrap()).collect()
    }

    fn head(blocks: &[Vec<Block>]) -> Result<(u64, usize), Fatal> {
        find(blocks.concat(), 512).map(|chain| (chain.head, chain.entries.len()))
    }

    #[test]
    fn a_torn_last_entry_is_as_if_never_written() {
        let (a, b, mut c) = (entry(0, 1, 1, 0, 0), entry(1, 60, 1, 0, 1), entry(4, 60, 1, 0, 4));
        assert_eq!(b.len(), 3);
        assert_eq!(head(&[a.clone(), b.clone(), c.clone()]), Ok((7, 3)));
        c.remove(1);
        assert_eq!(head(&[a, b, c]), Ok((4, 2)));
    }

    #[test]
    fn a_hole_before_what_was_durable_is_damage() {
        let (a, b, c) = (entry(0, 1, 1, 0, 0), entry(1, 1, 1, 0, 1), entry(2, 1, 1, 0, 2));
        assert!(head(&[a.clone(), c.clone()]).unwrap_err().to_string().contains("block 2"));
        assert!(head(&[b, c]).unwrap_err().to_string().contains("block 0"));
        assert!(head(&[]).unwrap_err().to_string().contains("format"));
        assert_eq!(head(&[a]), Ok((1, 1)));
    }

    #[test]
    fn an_entry_of_an_earlier_epoch_does_not_follow_a_later_one() {
        // In epoch 1 entries 1 and 2 were under way and only 2 arrived; epoch 2 then wrote another entry 1.
        let (a, stale, b) = (entry(0, 1, 1, 0, 0), entry(2, 1, 1, 0, 1), entry(1, 1, 2, 0, 1));
        assert_eq!(head(&[a.clone(), stale.clone()]), Ok((1, 1)));
        assert_eq!(head(&[a, stale, b]), Ok((2, 2)));
    }

    fn changed(blocks: Vec<Block>, change: impl Fn(&mut Header)) -> Vec<Block> {
        let change = |mut block: Block| {
            change(&mut block.header);
            block
        };
        blocks.into_iter().map(change).collect()
    }

    #[test]
    fn a_commit_counts_whole_or_not_at_all() {
        let (a, b, c) = (entry(0, 1, 1, 0, 0), entry(1, 1, 1, 0, 1), entry(2, 1, 1, 0, 1));
        let b = changed(b, |header| header.closes = false);
        assert_eq!(head(&[a.clone(), b.clone()]), Ok((1, 1)));
        assert_eq!(head(&[a.clone(), b.clone(), c.clone()]), Ok((3, 3)));
        // The end of a commit of another epoch, which wrote another entry 1 that did not arrive.
        let other = changed(c, |header| header.epoch = 2);
        assert_eq!(head(&[a, b, other]), Ok((1, 1)));
    }

    #[test]
    fn blocks_may_be_left_out_before_a_new_epoch() {
        let (a, stale, b) = (entry(0, 1, 1, 0, 0), entry(1, 1, 1, 0, 1), entry(8, 1, 2, 0, 1));
        let b = changed(b, |header| header.gap = 7);
        let c = entry(9, 1, 2, 0, 9);
        assert_eq!(head(&[a.clone(), b.clone(), c.clone()]), Ok((10, 3)));
        assert_eq!(
            head(&[a.clone(), stale, b.clone(), c.clone()]),
            Ok((10, 3)),
            "the later epoch knew where the other ended"
        );
        assert!(head(&[a.clone(), c]).unwrap_err().to_string().contains("block 9"));
        assert_eq!(head(&[a, b]), Ok((9, 2)));
    }

    #[test]
    fn a_journal_does_not_begin_after_its_end() {
        let begins_at = |tail| head(&[entry(0, 1, 1, 0, 0), entry(1, 1, 1, tail, 1)]);
        assert_eq!((begins_at(0), begins_at(1)), (Ok((2, 2)), Ok((2, 1))));
        for tail in [2, 3] {
            assert!(begins_at(tail).unwrap_err().to_string().contains("begins with block 1 is damaged"));
        }
    }
}
