//! Recovery: from the journal, the redo images and the drive's report to a layer that serves.
//!
//! It runs at the start and, by rule 10, whenever a layer's life ends. Blocks that a clean could not read are probed
//! one by one; what is still unreadable becomes `Lost` under the logical blocks that lie there. The first commit of the
//! new life records that, marks the redo images as done, and is durable before anything is planned.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::chain::{self, Chain};
use super::commit::What;
use super::copies;
use super::reading::fold;
use super::ring::{Ring, Slots};
use super::room;
use super::rules::Rule;
use super::running::Running;
use super::scan::Scan;
use super::{Core, IoKind, IoResult, Purpose, Queue, Setup, State};
use crate::block::{Address, Extent, Lba, Pba};
use crate::layer::{TranslationLayer, UnitReport};
use crate::plan::{Op, Place, Plan, Record};

/// How often what failed in recovery is tried before the store is given up.
const TRIES: u32 = 5;

#[derive(Copy, Clone, PartialEq, Eq)]
enum Stage {
    /// What is about to be read must be durable: after a failed write without a power cut, an entry may be in the
    /// drive's cache only, and its redo images must not be written before it is safe (rule 5).
    Settle,
    /// Where the journal lies in sequential zones, nothing can be read above their write pointers.
    Look,
    Scan,
    /// What a copy of the journal lacks is written again.
    Mend,
    Probe,
    Replay,
    Flush,
    Report,
    Done,
}

impl Stage {
    /// What the drive has to do then.
    fn duty(self) -> &'static str {
        match self {
            Self::Look | Self::Report => "to say how its zones stand",
            Self::Replay => "to write what the journal holds of updates that were under way",
            _ => "to make durable what was written",
        }
    }
}

pub(super) struct Recovery {
    stage: Stage,
    /// Operations under way.
    pending: BTreeMap<u64, IoKind>,
    tries: u32,
    /// Whether an operation of this stage has failed, so that it is to be tried again when the others have ended.
    failed: bool,
    scan: Scan,
    chain: Chain,
    suspects: BTreeSet<Pba>,
    /// Those of them that have not been read since.
    unreadable: BTreeSet<Pba>,
    /// How often they were tried.
    probes: u32,
    /// Whether a device has ended a life of its own meanwhile: what it failed to read it may be able to read.
    restarted: bool,
    /// Whether a copy of the journal lacks what cannot be written where it belongs: a checkpoint then makes up for it.
    is_thin: bool,
    /// Redo images that have not been written again.
    images: BTreeMap<Pba, Bytes>,
    report: UnitReport,
    error: Option<String>,
    pub queue: Queue,
}

impl Recovery {
    /// For a store that holds nothing.
    pub fn format() -> Self {
        Self::at(Stage::Replay, BTreeSet::new(), Queue::new(), Chain { epoch: 1, ..Chain::default() })
    }

    /// For a store that was formatted. `suspects` are blocks that a clean could not read.
    pub fn open(suspects: BTreeSet<Pba>, queue: Queue) -> Self {
        let mut recovery = Self::at(Stage::Settle, suspects, queue, Chain::default());
        recovery.pending.insert(0, IoKind::Flush);
        recovery
    }

    fn at(stage: Stage, suspects: BTreeSet<Pba>, queue: Queue, chain: Chain) -> Self {
        Self {
            stage,
            pending: BTreeMap::new(),
            tries: 0,
            failed: false,
            scan: Scan::new(&[]),
            chain,
            suspects,
            unreadable: BTreeSet::new(),
            probes: 0,
            restarted: false,
            is_thin: false,
            images: BTreeMap::new(),
            report: UnitReport::default(),
            error: None,
            queue,
        }
    }

    /// Goes on as far as possible without the edge. The next state when recovery has ended.
    pub fn advance(&mut self, core: &mut Core) -> Option<State> {
        loop {
            if let Some(why) = self.error.take() {
                let mut queue = std::mem::take(&mut self.queue);
                return Some(core.die(why, &mut queue));
            }
            for (tag, kind) in std::mem::take(&mut self.pending) {
                core.issue(Purpose::Recovery(tag), kind);
            }
            if !core.purposes.is_empty() || !core.taken.is_empty() {
                return None;
            }
            if self.stage == Stage::Done {
                return Some(self.build(core));
            }
            self.next_stage(core);
        }
    }

    fn next_stage(&mut self, core: &Core) {
        if std::mem::take(&mut self.failed) {
            return self.try_again(core);
        }
        let issue = |recovery: &mut Self, tag, kind| {
            recovery.pending.insert(tag, kind);
        };
        self.stage = match self.stage {
            Stage::Settle if Slots::new(&core.setup.journal, core.setup.media.as_ref()).are_sequential() => {
                issue(self, 0, IoKind::Report);
                Stage::Look
            }
            Stage::Settle | Stage::Look => {
                let media = core.setup.media.as_ref();
                self.scan = Slots::new(&core.setup.journal, media).scan(media, &self.report);
                self.read_journal();
                Stage::Scan
            }
            Stage::Scan => {
                if self.read_journal() {
                    return;
                }
                self.follow_chain(&core.setup);
                Stage::Mend
            }
            Stage::Mend => {
                self.unreadable = self.suspects.clone();
                self.probe();
                Stage::Probe
            }
            Stage::Probe if std::mem::take(&mut self.restarted) => {
                self.unreadable = self.suspects.clone();
                self.probes = 0;
                self.probe();
                Stage::Probe
            }
            Stage::Probe if !self.unreadable.is_empty() && self.probes < TRIES => {
                self.probe();
                Stage::Probe
            }
            Stage::Probe => {
                self.choose_images(core);
                Stage::Replay
            }
            Stage::Replay if !self.images.is_empty() => {
                for (target, image) in self.next_images(core) {
                    issue(self, target.to_raw(), IoKind::Write(Extent::new(target, 1), image));
                }
                Stage::Replay
            }
            Stage::Replay => {
                issue(self, 0, IoKind::Flush);
                Stage::Flush
            }
            Stage::Flush => {
                issue(self, 0, IoKind::Report);
                Stage::Report
            }
            Stage::Report | Stage::Done => Stage::Done,
        };
    }

    /// Reads more of the journal; false when all has been read.
    fn read_journal(&mut self) -> bool {
        let parts = self.scan.next();
        self.pending.extend(parts.iter().map(|part| (part.start.to_raw(), IoKind::Read(*part))));
        !parts.is_empty()
    }

    /// Makes of what was read what the journal says, and has the rest of its copies written again.
    fn follow_chain(&mut self, setup: &Setup) {
        let found = std::mem::replace(&mut self.scan, Scan::new(&[])).finish();
        let found = found.and_then(|found| {
            let blocks = found.iter().map(|found| found.block.clone()).collect();
            Ok((chain::find(blocks, setup.block_bytes)?, found))
        });
        match found {
            Ok((chain, found)) => {
                let lacking = copies::lacking(&found, &chain, &setup.journal);
                self.is_thin = !lacking.is_empty();
                if !Slots::new(&setup.journal, setup.media.as_ref()).are_sequential() {
                    // A block that cannot be written is as it was: the other copy holds it.
                    let write = |(at, raw): (Pba, Bytes)| (at.to_raw(), IoKind::Write(Extent::new(at, 1), raw));
                    self.pending.extend(lacking.into_iter().map(write));
                    self.is_thin = false;
                }
                self.chain = chain;
            }
            Err(why) => self.error = Some(why),
        }
    }

    /// Reads every suspect that nobody has read.
    fn probe(&mut self) {
        self.probes += 1;
        let probes = self.unreadable.iter().map(|block| (block.to_raw(), IoKind::Read(Extent::new(*block, 1))));
        self.pending.extend(probes);
    }

    /// A device has failed operations without anything being wrong with them.
    pub fn device_restarted(&mut self) {
        self.restarted |= self.stage == Stage::Probe;
    }

    /// Takes every image in hand that may have to be written again.
    fn choose_images(&mut self, core: &Core) {
        if core.setup.rules.keeps(Rule::RedoFirst) {
            // Only the last image of a place matters.
            let entries = self.chain.entries.iter().skip(self.chain.redo_from);
            self.images = entries.flat_map(|e| e.images.clone()).collect();
        }
    }

    /// Takes the images that no other image's write destroys any more: they need no order among themselves.
    fn next_images(&mut self, core: &Core) -> BTreeMap<Pba, Bytes> {
        let mut destroyed = BTreeSet::new();
        for target in self.images.keys() {
            core.setup.media.destroys(Extent::new(*target, 1), &mut |at| destroyed.extend(at.iter()));
        }
        let images = std::mem::take(&mut self.images).into_iter();
        let (later, next) = images.partition(|(target, _)| destroyed.contains(target));
        self.images = later;
        next
    }

    /// Takes the result of a device operation.
    pub fn completed(&mut self, core: &mut Core, purpose: Purpose, result: IoResult) {
        let Purpose::Recovery(tag) = purpose else { return };
        match (self.stage, result) {
            (Stage::Scan, IoResult::Data(data)) => {
                self.scan.read(Pba::from_raw(tag), &data, (core.setup.identity, core.setup.block_bytes));
            }
            (Stage::Scan, IoResult::Failed) => self.scan.failed(Pba::from_raw(tag)),
            (Stage::Probe, IoResult::Data(_)) => {
                self.unreadable.remove(&Pba::from_raw(tag));
            }
            (Stage::Replay, IoResult::Done) => {
                core.counts.replayed += 1;
                // Whatever it was before, it can be read now.
                self.unreadable.remove(&Pba::from_raw(tag));
            }
            (Stage::Look | Stage::Report, IoResult::Report(report)) => self.report = report,
            // Of a write that mends a copy too: the block is as it was, and the other copy holds it.
            (Stage::Scan | Stage::Probe | Stage::Mend, _) => {}
            (_, IoResult::Failed) => self.failed = true,
            _ => {}
        }
    }

    /// Something that this stage did has failed.
    fn try_again(&mut self, core: &Core) {
        self.tries += 1;
        if self.tries == TRIES {
            let duty = self.stage.duty();
            self.error =
                Some(format!("recovery ended: the drive failed {duty}, {TRIES} times; mend it and serve it again"));
            return;
        }
        match self.stage {
            Stage::Settle => self.pending.insert(0, IoKind::Flush),
            Stage::Look | Stage::Report => self.pending.insert(0, IoKind::Report),
            // Images that were written need not be durable either.
            _ => {
                self.choose_images(core);
                self.stage = Stage::Replay;
                None
            }
        };
    }

    /// Makes the layer and begins its life.
    fn build(&mut self, core: &mut Core) -> State {
        let mut queue = std::mem::take(&mut self.queue);
        core.counts.entries_read += self.chain.entries.len() as u64;
        match self.try_build(core) {
            Ok((mut layer, plan, lost, history)) => {
                if let Some(blocks) = core.step_bound {
                    layer.bound_step(blocks);
                }
                if layer.most_records() > 0 {
                    core.blank.append(&mut self.unreadable);
                }
                let media = core.setup.media.as_ref();
                let reserve = room::reserve(&core.setup, layer.as_ref());
                let slots = Slots::new(&core.setup.journal, media);
                let ring = Ring::new(slots, reserve, &self.chain, (media, &self.report));
                let mut running = Running::new(layer, &core.setup, ring, queue, history);
                for record in lost {
                    running.push_item(What::Record(record));
                }
                running.closing = self.is_thin;
                running.begin(core, plan);
                State::Running(Box::new(running))
            }
            Err(why) => core.die(why, &mut queue),
        }
    }

    #[expect(clippy::type_complexity, reason = "the parts of a new life, used once")]
    fn try_build(&self, core: &Core) -> Result<(Box<dyn TranslationLayer>, Plan, Vec<Record>, Vec<Record>), String> {
        let mut records: Vec<Record> = self.chain.entries.iter().flat_map(|e| &e.records).copied().collect();
        let mut plan = Plan::new();
        let mut layer = fold(&core.setup, &records)?;
        let mut lost = Vec::new();
        // A layer without records reads a block from its one place, and there the drive has to say that it cannot be
        // read.
        if !self.unreadable.is_empty() && layer.most_records() > 0 {
            layer.recovered(&self.report, &mut plan).map_err(|e| e.to_string())?;
            lost = lost_blocks(layer.as_mut(), &self.unreadable);
            records.extend(&lost);
            plan.clear();
            layer = fold(&core.setup, &records)?;
        }
        layer.recovered(&self.report, &mut plan).map_err(|e| e.to_string())?;
        Ok((layer, plan, lost, records))
    }
}

/// The logical blocks that lie at unreadable places, as records. Asks the layer where everything is, which is slow and
/// needs no reverse map; it happens after a disk error only. A layer may move blocks to read them; nobody carries that
/// out, so what is unreadable is followed to where it would lie.
fn lost_blocks(layer: &mut dyn TranslationLayer, unreadable: &BTreeSet<Pba>) -> Vec<Record> {
    let mut lost: Vec<Record> = Vec::new();
    let mut unreadable = unreadable.clone();
    let mut plan = Plan::new();
    let mut from = 0;
    while from < layer.capacity() {
        let chunk = Extent::new(Lba(from), (layer.capacity() - from).min(1 << 16) as u32);
        plan.clear();
        layer.read(chunk, &mut plan);
        for op in plan.ops() {
            let Op::Move { from: Place::At(place), to, blocks, .. } = *op else { continue };
            let bad = unreadable.range(place..place.plus(u64::from(blocks))).map(|bad| bad.since(place));
            let bad: Vec<u64> = bad.collect();
            match to {
                Place::Host(host) => bad.iter().for_each(|i| add(&mut lost, chunk.start.plus(u64::from(host) + i))),
                Place::At(to) => {
                    unreadable.retain(|place| !Extent::new(to, blocks).contains(*place));
                    unreadable.extend(bad.iter().map(|i| to.plus(*i)));
                }
                Place::Zero | Place::Lost => {}
            }
        }
        from += u64::from(chunk.blocks);
    }
    lost
}

/// Adds a block to lost ones, which come in no order.
fn add(lost: &mut Vec<Record>, lba: Lba) {
    match lost.last_mut() {
        Some(Record::Lost(run)) if run.end() == lba => run.blocks += 1,
        _ => lost.push(Record::Lost(Extent::new(lba, 1))),
    }
}
