//! The journal ring as the runner knows it: where it begins, where it ends, and how full it is.
//!
//! The block numbered `s` lies in slot `s mod length` of every copy. Where a copy is a run of sequential zones, a zone
//! is reset before its first block is written. What it held must lie before the durable tail, so one zone's length less
//! can be used. After a power cut it is not known how far the last writes came, and how far they came in one copy is not
//! how far they came in the other: unless all copies can be written on where the last whole commit ends, the ring goes
//! on with the next zone.

use std::collections::VecDeque;

use bytes::Bytes;

use super::chain::Chain;
use super::fatal::Fatal;
use super::journal::{Draft, Header};
use super::scan::Scan;
use super::{IoKind, Setup};
use imbrex_core::block::{Address, Extent, Pba};
use imbrex_core::layer::UnitReport;
use imbrex_core::media::Media;
use imbrex_core::plan::Unit;

/// When one in so many of the records of the map that may lie behind the tail do, it is time for a checkpoint: it takes
/// a while to bring pages home, and after a start there is room for as many more.
const CHECKPOINT_AT: u64 = 4;
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
    /// The slots of `copies` on that media.
    pub fn new(copies: &[Extent<Pba>], media: &dyn Media) -> Self {
        let unit = copies.first().map(|copy| media.unit_of(copy.start)).filter(|unit| media.has_pointer(*unit));
        Self { copies: copies.to_vec(), zone_blocks: unit.map(|unit| media.extent_of(unit).blocks) }
    }

    fn length(&self) -> u64 {
        self.copies.first().map_or(0, |copy| copy.blocks.into())
    }

    /// Blocks that may lie between tail and head.
    fn capacity(&self) -> u64 {
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

    /// How many copies there are.
    pub fn copies(&self) -> u32 {
        self.copies.len() as u32
    }

    /// How many blocks from the one numbered `seq` on lie side by side and can be read or written at once.
    pub fn run(&self, seq: u64) -> usize {
        let run = self.zone_blocks.map_or(self.length(), u64::from);
        (run - seq % run) as usize
    }

    /// How far the block numbered `seq` lies from the beginning of every copy.
    pub fn offset(&self, seq: u64) -> u64 {
        seq % self.length()
    }

    /// Where the block numbered `seq` lies in every copy.
    fn places(&self, seq: u64) -> impl Iterator<Item = Pba> {
        let offset = self.offset(seq);
        self.copies.iter().map(move |copy| copy.start.plus(offset))
    }

    /// Where it lies in one of them; behind the last one comes the first.
    pub fn place(&self, seq: u64, copy: u32) -> Pba {
        self.copies[(copy % self.copies()) as usize].start.plus(self.offset(seq))
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

/// A checkpoint under way.
#[derive(Copy, Clone, Debug)]
pub(super) struct Checkpoint {
    /// Where it began.
    pub start: u64,
    /// The number of the commit that it began with.
    pub commit: u64,
    /// The region that comes next; nothing when pages that were changed before are still to go home.
    pub region: Option<u64>,
}

/// How much of a checkpoint the next commit is to carry.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Nothing,
    /// The room that its records ask for.
    Part,
    /// All the room that there is, since a request waits for it.
    Share,
    /// All that is left.
    Rest,
}

/// A checkpoint that was asked for.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Asked {
    /// In as many commits as it takes.
    Soon,
    /// In the next one.
    AtOnce,
}

/// The journal ring as the runner knows it. Sequence numbers count blocks.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    slots: Slots,
    epoch: u32,
    /// Where the next entry goes.
    head: u64,
    /// Where the last entry ended.
    end: u64,
    /// Where recovery is to begin, as the next entry says.
    tail: u64,
    /// Where recovery begins as long as no further entry is durable.
    durable_tail: u64,
    /// Blocks that must be free when a commit begins that completes no checkpoint.
    reserve: u64,
    /// Blocks that the last checkpoint took, and what was committed meanwhile.
    last_checkpoint: u64,
    checkpoint: Option<Checkpoint>,
    /// Whether a checkpoint was asked for.
    asked: Option<Asked>,
    /// Where the commit began that has been added in part.
    begun: Option<u64>,
    /// Whether a durable redo entry has not been marked as done.
    is_unmarked: bool,
    /// Records that would wait for pages of the map, if there are any.
    late: Option<Late>,
}

/// Records of the map behind the tail, which recovery keeps in memory until their pages come.
#[derive(Copy, Clone, Debug)]
struct Late {
    /// How many there may be.
    most: u64,
    /// How many there are, with those that are planned.
    records: u64,
    /// How many of them came since the checkpoint under way began.
    since_checkpoint: u64,
}

impl Ring {
    /// The ring that recovery found.
    pub fn new(slots: Slots, reserve: u64, chain: &Chain, media: &dyn Media, units: &UnitReport) -> Self {
        let Chain { head: end, tail, epoch, .. } = *chain;
        Self {
            epoch,
            head: slots.resume(end, media, units),
            slots,
            end,
            tail,
            durable_tail: tail,
            reserve,
            last_checkpoint: 0,
            checkpoint: None,
            asked: None,
            begun: None,
            is_unmarked: false,
            late: None,
        }
    }

    /// From now on at most `most` records of the map lie behind the tail; there are `records`.
    pub fn bound_records(&mut self, most: u64, records: u64) {
        self.late = Some(Late { most, records, since_checkpoint: 0 });
    }

    /// A record of the map has been planned.
    pub fn record_planned(&mut self) {
        if let Some(late) = &mut self.late {
            late.records += 1;
            late.since_checkpoint += 1;
        }
    }

    /// Whether one in `part` of the records that there may be lie behind the tail.
    fn has_late(&self, part: u64) -> bool {
        self.late.is_some_and(|late| late.records >= late.most / part)
    }

    /// How often the store has been started.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Where the next entry goes.
    pub fn head(&self) -> u64 {
        self.head
    }

    pub fn used(&self) -> u64 {
        self.head - self.durable_tail
    }

    /// Whether the next entry has to mark redo moves as done.
    pub fn is_unmarked(&self) -> bool {
        self.is_unmarked
    }

    /// The next commits are to complete a checkpoint, however full the ring is.
    pub fn ask_for_checkpoint(&mut self) {
        self.asked = self.asked.max(Some(Asked::Soon));
    }

    /// The next commit is to hold all of a checkpoint.
    pub fn ask_for_whole_checkpoint(&mut self) {
        self.asked = Some(Asked::AtOnce);
    }

    /// What the next commit is to carry. A checkpoint should be under way when half of what may be in use is, or so
    /// much more than a checkpoint takes that recovery would read little else.
    pub fn due(&self) -> Due {
        let worthwhile = (OF_CHECKPOINTS * self.last_checkpoint).max(WORTHWHILE);
        if self.needs_checkpoint() || self.asked == Some(Asked::AtOnce) {
            Due::Rest
        } else if self.asked.is_some() || self.has_late(CHECKPOINT_AT) {
            Due::Share
        } else if self.used() * 2 >= self.slots.room().saturating_sub(self.reserve) || self.used() >= worthwhile {
            Due::Part
        } else {
            Due::Nothing
        }
    }

    /// Whether the ring is so full that the checkpoint must be completed by the next commit.
    pub fn needs_checkpoint(&self) -> bool {
        self.used() + self.reserve >= self.slots.room() || self.has_late(1)
    }

    /// Whether there is room for `blocks` blocks, and for all that the ring must have room for.
    pub fn has_room(&self, blocks: u64) -> bool {
        self.used() + self.reserve + blocks < self.slots.room()
    }

    /// The checkpoint under way.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        self.checkpoint
    }

    /// The checkpoint to go on with, or a new one that begins with the commit of that number.
    pub fn resume_checkpoint(&mut self, commit: u64) -> Checkpoint {
        if self.checkpoint.is_none() {
            self.late.iter_mut().for_each(|late| late.since_checkpoint = 0);
        }
        self.checkpoint.take().unwrap_or(Checkpoint { start: self.head, commit, region: Some(0) })
    }

    /// Keeps a checkpoint for the next commit to go on with.
    pub fn keep_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.checkpoint = Some(checkpoint);
    }

    /// What a checkpoint is made of is planned.
    pub fn checkpoint_planned(&mut self) {
        self.checkpoint = None;
        self.asked = None;
    }

    /// The checkpoint under way is durable.
    pub fn checkpointed(&mut self) {
        self.last_checkpoint = self.used();
        self.late.iter_mut().for_each(|late| late.records = late.since_checkpoint);
    }

    /// Every entry that was added is durable.
    pub fn entries_durable(&mut self) {
        self.durable_tail = self.tail;
    }

    /// Adds the entries of a commit, all of them unless it stays `open` for more; `completes` is where a checkpoint began
    /// of which it holds the last region. The writes, step by step: the operations of a step may be under way together.
    ///
    /// # Errors
    /// The reason when the ring has no room left.
    pub fn add(
        &mut self,
        setup: &Setup,
        entries: &[Draft],
        completes: Option<u64>,
        open: bool,
    ) -> Result<VecDeque<Vec<IoKind>>, Fatal> {
        let durable = self.begun.unwrap_or(self.end);
        self.begun = open.then_some(durable);
        if !entries.is_empty() {
            self.is_unmarked = entries.iter().any(Draft::has_images);
        }
        let mut steps = VecDeque::new();
        for (i, entry) in entries.iter().enumerate() {
            let closes = !open && i + 1 == entries.len();
            // Recovery accepts a commit only whole, so the checkpoint's last entry may say that it is.
            if closes {
                self.tail = completes.unwrap_or(self.tail);
            }
            let header = Header {
                identity: setup.identity,
                start: self.head,
                epoch: self.epoch,
                tail: self.tail,
                durable,
                redone: durable,
                gap: (self.head - self.end) as u32,
                closes,
                ..Header::default()
            };
            let blocks = entry.encode(header, setup.block_bytes);
            if self.used() + blocks.len() as u64 > self.slots.capacity() {
                return Err(Fatal::JournalFull);
            }
            self.write(setup.media.as_ref(), &blocks, &mut steps);
        }
        Ok(steps)
    }

    /// Adds the writes of an entry's blocks to `steps`: the operations of a step may be under way together.
    fn write(&mut self, media: &dyn Media, mut blocks: &[Bytes], steps: &mut VecDeque<Vec<IoKind>>) {
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
