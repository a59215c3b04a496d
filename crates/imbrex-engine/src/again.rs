//! Reading blocks of the journal again, of which the scan has kept no content, and putting them together to entries.
//!
//! So much is read at a time that the drive is kept busy, and it is given away before more is read: however long the
//! journal is, a few MiB of it are in memory. A block that one copy does not give may come from another. Where a copy
//! lacks one it is not asked for it: that may lie above the write pointer of a zone.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::chain::{Segment, damaged};
use super::copies::Lacking;
use super::fatal::Fatal;
use super::journal::{self, Block, Encoded, Header};
use super::ring::Slots;
use super::scan::{PART_BLOCKS, PARTS, TRIES};
use imbrex_core::block::{Extent, Pba};

/// Blocks to be read together.
#[derive(Copy, Clone)]
struct Part {
    of: Segment,
    /// How often they could not be read, or were not what they were.
    failures: u32,
}

/// Blocks of a journal that are read again, in order.
pub(super) struct Again {
    slots: Slots,
    /// What copies lack.
    lacking: Vec<Lacking>,
    left: VecDeque<Segment>,
    /// What is to be tried again.
    todo: VecDeque<Part>,
    /// By place.
    under_way: BTreeMap<Pba, Part>,
    /// What has come, by number: the content, and what it says.
    arrived: BTreeMap<u64, (Bytes, Block)>,
    /// The place of a block that no copy gives.
    unreadable: Option<u64>,
}

impl Again {
    /// Reads these segments, of which copies lack what is `lacking`.
    pub fn new(slots: Slots, segments: &[Segment], lacking: &[Lacking]) -> Self {
        let (left, lacking) = (segments.iter().copied().collect(), lacking.to_vec());
        let (todo, under_way, arrived) = Default::default();
        Self { slots, lacking, left, todo, under_way, arrived, unreadable: None }
    }

    /// What to read next; nothing when all has been read, or cannot be.
    pub fn next(&mut self) -> Vec<Extent<Pba>> {
        if self.unreadable.is_some() {
            return Vec::new();
        }
        if self.todo.is_empty() {
            self.todo = std::iter::from_fn(|| self.next_part()).take(PARTS).collect();
        }
        let mut asked = Vec::new();
        while asked.len() < PARTS
            && let Some(mut part) = self.todo.pop_front()
        {
            let place = self.slots.place(part.of.start, part.failures);
            let (is_there, end) = self.is_there(place, part.of);
            if end < part.of.end {
                self.todo.push_front(Part { of: Segment { start: end, ..part.of }, ..part });
                part.of.end = end;
            }
            if is_there {
                asked.push(Extent::new(place, (end - part.of.start) as u32));
                self.under_way.insert(place, part);
            } else {
                self.try_again(part.of, part.failures + 1);
            }
        }
        asked
    }

    /// Whether the copy with that place has the first block of a segment, and where that ends to be so.
    fn is_there(&self, place: Pba, Segment { start, end, .. }: Segment) -> (bool, u64) {
        let of_copy = self.lacking.iter().find(|lacking| lacking.copy.contains(place));
        let lacking = of_copy.map_or(&[][..], |lacking| &lacking.segments);
        match lacking.get(lacking.partition_point(|lacking| lacking.end <= start)) {
            Some(next) if next.start <= start => (false, next.end.min(end)),
            Some(next) => (true, next.start.min(end)),
            None => (true, end),
        }
    }

    /// The next blocks that lie side by side.
    fn next_part(&mut self) -> Option<Part> {
        let left = self.left.front_mut()?;
        let Segment { start, epoch, .. } = *left;
        let most = self.slots.run(start).min(PART_BLOCKS as usize) as u64;
        let end = left.end.min(start + most);
        left.start = end;
        if left.start == left.end {
            self.left.pop_front();
        }
        Some(Part { of: Segment { start, end, epoch }, failures: 0 })
    }

    /// The blocks from `start` on have been read.
    pub fn read(&mut self, start: Pba, data: &Bytes, identity: u64, block_bytes: usize) {
        let Some(Part { of: Segment { start, end, epoch }, failures }) = self.under_way.remove(&start) else { return };
        for (number, i) in (start..end).zip(0..) {
            let raw = data.slice(i * block_bytes..(i + 1) * block_bytes);
            let block = journal::decode_block(&raw, Some(identity));
            match block.filter(|block| (block.header.number(), block.header.epoch) == (number, epoch)) {
                Some(block) => _ = self.arrived.insert(number, (raw, block)),
                None => self.try_again(Segment { start: number, end: number + 1, epoch }, failures + 1),
            }
        }
    }

    /// The blocks from `start` on could not be read: when no copy gives them together, they are tried one by one.
    pub fn failed(&mut self, start: Pba) {
        let Some(Part { of, failures }) = self.under_way.remove(&start) else { return };
        if failures + 1 < self.slots.copies() {
            return self.try_again(of, failures + 1);
        }
        for number in of.start..of.end {
            self.try_again(Segment { start: number, end: number + 1, epoch: of.epoch }, failures + 1);
        }
    }

    fn try_again(&mut self, of: Segment, failures: u32) {
        if failures < TRIES * self.slots.copies() {
            self.todo.push_back(Part { of, failures });
        } else {
            self.unreadable = Some(self.slots.offset(of.start));
        }
    }

    /// The blocks that have come, in order, as soon as they are all that were asked for.
    ///
    /// # Errors
    /// The block that no copy gives.
    pub fn take(&mut self) -> Result<BTreeMap<u64, (Bytes, Block)>, Fatal> {
        if let Some(place) = self.unreadable {
            return Err(Fatal::JournalUnreadable(place));
        }
        let is_waited_for = !self.todo.is_empty() || !self.under_way.is_empty();
        Ok(if is_waited_for { BTreeMap::new() } else { std::mem::take(&mut self.arrived) })
    }
}

/// An entry while its blocks come, one after another.
pub(super) struct Assembly {
    header: Option<Header>,
    payloads: Vec<Bytes>,
    block_bytes: usize,
}

impl Assembly {
    pub fn new(block_bytes: usize) -> Self {
        Self { header: None, payloads: Vec::new(), block_bytes }
    }

    /// Adds the next block. The entry, if it is the last one of it.
    ///
    /// # Errors
    /// The block does not follow the one before.
    pub fn add(&mut self, Block { header, payload }: Block) -> Result<Option<(Header, Encoded)>, Fatal> {
        let of = |header: &Header| (header.start, header.epoch, header.count, header.coding);
        let first = *self.header.get_or_insert(header);
        if header.index as usize != self.payloads.len() || of(&header) != of(&first) {
            return Err(damaged(if self.payloads.is_empty() { header.number() } else { first.start }));
        }
        self.payloads.push(payload);
        if self.payloads.len() < header.count as usize {
            return Ok(None);
        }
        self.header = None;
        let entry = Encoded::new(&header, std::mem::take(&mut self.payloads), self.block_bytes);
        Ok(Some((header, entry)))
    }

    /// No more blocks come.
    ///
    /// # Errors
    /// An entry is not whole.
    pub fn end(&self) -> Result<(), Fatal> {
        self.header.map_or(Ok(()), |header| Err(damaged(header.start)))
    }
}
