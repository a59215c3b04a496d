//! The chain of a journal, entry by entry.

use std::collections::BTreeMap;

use crate::fatal::Fatal;
use crate::journal::Header;

/// The journal from its tail to its head.
#[derive(Debug)]
pub struct Model {
    /// Numbers and epochs of its blocks.
    pub blocks: Vec<(u64, u32)>,
    pub head: u64,
    pub tail: u64,
    pub epoch: u32,
    pub redone: u64,
}

/// Entries of which every block is there, by their first block's number; of two with one number the later epoch.
fn whole_entries(blocks: Vec<Header>) -> BTreeMap<u64, Header> {
    let mut parts: BTreeMap<(u64, u32, u32), BTreeMap<u32, Header>> = BTreeMap::new();
    for header in blocks {
        let Header { start, epoch, count, index, .. } = header;
        parts.entry((start, epoch, count)).or_default().insert(index, header);
    }
    let whole = parts.into_iter().filter(|((_, _, count), blocks)| blocks.len() == *count as usize);
    whole.map(|((start, _, _), blocks)| (start, blocks[&0])).collect()
}

/// The whole entries, as they follow each other.
struct Entries {
    whole: BTreeMap<u64, Header>,
    /// By where the entry before ended; of several the one of the latest epoch, which knew of the others.
    after: BTreeMap<u64, Header>,
}

impl Entries {
    fn new(blocks: Vec<Header>) -> Self {
        let whole = whole_entries(blocks);
        let mut after: BTreeMap<u64, Header> = BTreeMap::new();
        for header in whole.values() {
            if after.get(&header.follows()).is_none_or(|other| header.epoch > other.epoch) {
                after.insert(header.follows(), *header);
            }
        }
        Self { whole, after }
    }

    /// The last entry of the commit that follows `last`, if all of the commit is there.
    fn next_commit(&self, last: Option<&Header>) -> Option<&Header> {
        let (end, at_least) = last.map_or((0, 0), |header| (header.end(), header.epoch));
        let mut header = self.after.get(&end)?;
        let epoch = header.epoch;
        while !header.closes {
            header = self.after.get(&header.end()).filter(|next| next.epoch == epoch)?;
        }
        (epoch >= at_least).then_some(header)
    }
}

/// Finds the chain in blocks.
pub fn find(blocks: Vec<Header>) -> Result<Model, Fatal> {
    let damaged = || Fatal::JournalDamaged(String::new());
    let durable = blocks.iter().map(|header| header.durable).max().ok_or(Fatal::NoJournal)?;
    let epoch = blocks.iter().map(|header| header.epoch).max().unwrap_or(0) + 1;
    let entries = Entries::new(blocks);
    let mut last = entries.whole.values().find(|header| header.end() == durable);
    if last.is_none() && durable > 0 {
        return Err(damaged());
    }
    while let Some(next) = entries.next_commit(last) {
        last = Some(next);
    }
    let last = last.ok_or(Fatal::JournalNeverBegun)?;
    let mut model = Model { blocks: Vec::new(), head: last.end(), tail: last.tail, epoch, redone: last.redone };
    let mut next = entries.whole.get(&last.tail);
    let mut at = last.tail;
    while at < model.head {
        let header = next.ok_or_else(damaged)?;
        model.blocks.extend((header.start..header.end()).map(|number| (number, header.epoch)));
        at = header.end();
        next = entries.after.get(&at);
    }
    Ok(model)
}
