//! The journal ring as the runner knows it: where it begins, where it ends, and how full it is.
//!
//! The block numbered `s` lies in slot `s mod length` of every copy. Where a copy is a run of sequential zones, a zone
//! is reset before its first block is written. What it held must lie before the durable tail, so one zone's length less
//! can be used. After a power cut nobody knows how far the last writes came, and how far they came in one copy is not
//! how far they came in the other: unless all copies can be written on where the last whole commit ends, the ring goes
//! on with the next zone.

use std::collections::VecDeque;

use bytes::Bytes;

use super::IoKind;
use super::chain::Chain;
use super::scan::Scan;
use crate::block::{Address, Extent, Pba};
use crate::layer::UnitReport;
use crate::media::Media;
use crate::plan::Unit;

/// Blocks in use below which no checkpoint is worth its while, unless the ring is short.
const WORTHWHILE: u64 = 2048;
/// How many times as long as a checkpoint the part of the ring in use becomes.
const OF_CHECKPOINTS: u64 = 4;

/// Where the copies of a journal lie.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    copies: Vec<Extent<Pba>>,
    /// The zones' length, where they are sequential.
    zone_blocks: Option<u32>,
}

impl Slots {
    /// Those of `copies` on that media.
    pub fn new(copies: &[Extent<Pba>], media: &dyn Media) -> Self {
        let unit = copies.first().map(|copy| media.unit_of(copy.start)).filter(|unit| media.has_pointer(*unit));
        Self { copies: copies.to_vec(), zone_blocks: unit.map(|unit| media.extent_of(unit).blocks) }
    }

    fn length(&self) -> u64 {
        self.copies.first().map_or(0, |copy| copy.blocks.into())
    }

    /// Blocks that may lie between tail and head.
    pub fn capacity(&self) -> u64 {
        self.length().saturating_sub(self.zone_blocks.unwrap_or(0).into())
    }

    /// Blocks that a map and its changes may count on: a zone more may be left out after a power cut.
    pub fn room(&self) -> u64 {
        self.capacity().saturating_sub(self.zone_blocks.unwrap_or(0).into())
    }

    /// Whether blocks must be written in order, after a reset of their zone.
    pub fn are_sequential(&self) -> bool {
        self.zone_blocks.is_some()
    }

    /// How many blocks from the one numbered `seq` on lie side by side and can be written at once.
    fn run(&self, seq: u64) -> usize {
        let run = self.zone_blocks.map_or(self.length(), u64::from);
        (run - seq % run) as usize
    }

    /// Where the block numbered `seq` lies in every copy.
    fn places(&self, seq: u64) -> impl Iterator<Item = Pba> {
        let offset = seq % self.length();
        self.copies.iter().map(move |copy| copy.start.plus(offset))
    }

    /// What a scan of them has to know, with the drive's report.
    pub fn scan(&self, media: &dyn Media, units: &UnitReport) -> Scan {
        let Some(zone_blocks) = self.zone_blocks else { return Scan::new(&self.copies) };
        let written = |at: Pba| units.unit(media.unit_of(at)).map_or(0, |state| state.pointer);
        Scan::of_zones(&self.copies, zone_blocks, written)
    }

    /// Where writing goes on after a chain that ended at `end`.
    fn resume(&self, end: u64, media: &dyn Media, units: &UnitReport) -> u64 {
        let Some(zone_blocks) = self.zone_blocks.map(u64::from) else { return end };
        let offset = end % zone_blocks;
        let goes_on = |unit: Unit| units.unit(unit).is_some_and(|state| u64::from(state.pointer) == offset);
        if offset == 0 || self.places(end).all(|place| goes_on(media.unit_of(place))) {
            end
        } else {
            end - offset + zone_blocks
        }
    }
}

/// The journal ring as the runner knows it. Sequence numbers count blocks.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    slots: Slots,
    pub epoch: u32,
    /// Where the next entry goes.
    pub head: u64,
    /// Where the last entry ended.
    pub end: u64,
    /// Where recovery is to begin, as the next entry says.
    pub tail: u64,
    /// Where recovery begins as long as no further entry is durable.
    pub durable_tail: u64,
    /// Blocks that must be free when a commit begins that completes no checkpoint.
    reserve: u64,
    /// Blocks that the last checkpoint took, and what was committed meanwhile.
    last_checkpoint: u64,
    /// Where the checkpoint under way began, and the region it has come to.
    pub checkpoint: Option<(u64, u64)>,
    /// Whether a durable redo entry has not been marked as done.
    pub unmarked: bool,
}

impl Ring {
    /// The ring that recovery found.
    pub fn new(slots: Slots, reserve: u64, chain: &Chain, (media, units): (&dyn Media, &UnitReport)) -> Self {
        let Chain { head: end, tail, epoch, .. } = *chain;
        let head = slots.resume(end, media, units);
        let (durable_tail, last_checkpoint, checkpoint) = (tail, 0, None);
        Self { slots, reserve, epoch, head, end, tail, durable_tail, last_checkpoint, checkpoint, unmarked: false }
    }

    pub fn used(&self) -> u64 {
        self.head - self.durable_tail
    }

    pub fn capacity(&self) -> u64 {
        self.slots.capacity()
    }

    /// Whether a checkpoint should be under way: half of what may be in use is, or so much more than a checkpoint takes
    /// that whoever recovers would read little else.
    pub fn wants_checkpoint(&self) -> bool {
        let worthwhile = (OF_CHECKPOINTS * self.last_checkpoint).max(WORTHWHILE);
        self.used() * 2 >= self.slots.room().saturating_sub(self.reserve) || self.used() >= worthwhile
    }

    /// The checkpoint under way is durable.
    pub fn checkpointed(&mut self) {
        self.last_checkpoint = self.used();
    }

    /// Whether the checkpoint must be completed by the next commit.
    pub fn needs_checkpoint(&self) -> bool {
        self.used() + self.reserve >= self.slots.room()
    }

    /// Adds the writes of an entry's blocks to `steps`: the operations of a step may be under way together.
    pub fn write(&mut self, media: &dyn Media, mut blocks: &[Bytes], steps: &mut VecDeque<Vec<IoKind>>) {
        while !blocks.is_empty() {
            let (piece, rest) = blocks.split_at(self.slots.run(self.head).min(blocks.len()));
            let content = Bytes::from(piece.concat());
            let write = |start| IoKind::Write(Extent::new(start, piece.len() as u32), content.clone());
            let writes = self.slots.places(self.head).map(write);
            match (self.slots.zone_blocks, steps.front_mut()) {
                (None, Some(step)) => step.extend(writes),
                (Some(zone_blocks), _) if self.head.is_multiple_of(zone_blocks.into()) => {
                    steps.push_back(self.slots.places(self.head).map(|at| IoKind::Reset(media.unit_of(at))).collect());
                    steps.push_back(writes.collect());
                }
                _ => steps.push_back(writes.collect()),
            }
            self.head += piece.len() as u64;
            self.end = self.head;
            blocks = rest;
        }
    }
}
