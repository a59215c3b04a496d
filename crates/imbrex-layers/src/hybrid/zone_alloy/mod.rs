//! `zone-alloy`: a hybrid disk that turns from conventional to shingled while it is used.
//!
//! Source: ZoneAlloy (HotStorage 2019). The host sees a linear space of zones that grows when it is asked to. Its zones
//! lie in conventional zones first; when those are used up, realms are converted from the inner edge outwards, in
//! quanta that delay no request by more than was agreed (`grow`, `relocate`, `quantum`). Blocks that would break the
//! sequential rule of a converted zone wait in the H-Buffer, a zone buffer with one of three policies (`zone_buffer/`),
//! and sequential zones that fill it change places with conventional ones that are not written (`swap`).
//!
//! # State
//! - durable: that of every zone buffer; how many zones the host is to see ([`Record::Note`]); which realms are
//!   sequential is the drive's;
//! - soft: the zone that moves and how far, where requests leave the head, the candidates of Zone-Swap.
//!
//! # Invariants
//! - those of every zone buffer;
//! - no native zone lies in an inactive zone, but for those of realms that are being activated for the first time;
//! - while no zone moves and none is evicted, a realm's worth of empty sequential zones is left or on its way.
//!
//! # Decisions where the paper is silent
//! - *Spare copy* (§3.2). The paper copies the first two zones of a conversion to reserved space and back at its end.
//!   Here a realm's worth of sequential zones is always empty: zones move there once, for good, and the realm that they
//!   leave becomes the next reserve.
//! - *Writes to a zone that moves*: in place where it has not been read yet; where it has, they are buffered, as updates
//!   of the sequential zone that there will be. So nothing is copied twice.
//! - *The quantum* (`bound_ms`; the sum is in `quantum`): one access of the migration. What is read goes to RAM, up to
//!   `batch_blocks` of it, so that few quanta begin with a long seek.
//! - *An activation* comes when the head is where the last request left it; otherwise it is brought there (`head`).
//! - *The space grows* zone by zone, as each realm is converted.
//! - *The H-Buffer* keeps its size (`--buffer`), in conventional zones that are never converted.
//! - *Zone-Swap's threshold* (`swap_above`) and *the partner* (`partner`): the least recently written, or the nearest.
//!   A candidate with a partner leaves the buffer even if its zone is hot; one without is a zone like all others. No
//!   zones are swapped while the space grows.
//! - *How long a zone is listed* (`first_epoch`, `keep_partners`, `keep_candidates`): the paper says only when zones are.
//! - Beyond the paper: zones that are read are not swapped (`veto_reads`), off by default.

mod config;
pub mod counters;
mod grow;
mod head;
mod quantum;
mod relocate;
mod swap;
#[cfg(test)]
mod tests;

use crate::parts::step_size::StepSize;
use crate::zone_buffer::{Policy, ZoneBuffer};
use crate::{Family, LayerInfo};
use grow::Elastic;
use head::Head;
use imbrex_core::block::{Extent, Lba, Pba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    CannotGrow, Corrupt, Facts, Freed, Grow, JournalFacts, Pressure, Standing, Step, TranslationLayer, UnitReport,
    Unwritten, Violation, Write,
};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use imbrex_core::space::Realms;
use quantum::Quantum;
use relocate::Relocation;
use swap::Swap;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "zone-alloy",
    family: Some(Family::Hybrid),
    source: "ZoneAlloy (HotStorage 2019)",
    summary: "A disk that is conventional at first and becomes shingled, realm by realm, as more space is wanted.",
    recording: Recording::Hybrid,
    buffered: true,
    fields: config::ZoneAlloyConfig::FIELDS,
    make: &config::build,
};

/// The cursor of the region that says how many zones there are to be.
const ELASTIC_REGION: u64 = u64::MAX;

struct ZoneAlloy<P> {
    buffer: ZoneBuffer<P>,
    realms: Realms,
    elastic: Elastic,
    quantum: Quantum,
    head: Head,
    /// By how much a quantum delays a request at most, if it is bounded.
    bound_ns: Option<u64>,
    /// A quantum, and less while a runner says so.
    step: StepSize,
    /// Blocks that are read of a zone that moves before they are written, into the RAM behind that of the buffer.
    batch_blocks: u32,
    buffer_ram: u32,
    relocation: Option<Relocation>,
    swap: Swap,
}

impl<P: Policy> ZoneAlloy<P> {
    /// What a step of a conversion says.
    fn between_quanta(&self) -> Step {
        if self.quantum == Quantum::Whole { Step::Hold } else { Step::More }
    }

    /// Plans that the host writes a run of blocks in place, where they lie in a conventional zone.
    fn write_in_place(&mut self, native: u32, offset: u32, run: Extent<Lba>, plan: &mut Plan) {
        let physical = self.buffer.zones.physical(native);
        plan.copy(Place::Host(0), Place::At(self.buffer.zones.block(physical, offset)), run.blocks, Why::Host);
        self.buffer.blocks.forget(run, &mut self.buffer.policy, plan);
        plan.count(Event::Direct, run.blocks);
    }

    /// The blocks from the front of `at` that lie in one native zone and are written alike, and whether that is in
    /// place.
    fn front(&self, at: Extent<Lba>) -> (Extent<Lba>, bool) {
        let zones = &self.buffer.zones;
        let (native, offset) = zones.native_of(at.start);
        let rest = at.blocks.min(zones.zone_blocks() - offset);
        let physical = zones.physical(native);
        let (blocks, in_place) = match zones.is_conventional(physical) && zones.is_writable(physical) {
            true => self.alike(native, offset, rest),
            false => (rest, false),
        };
        (at.first(blocks), in_place)
    }

    /// One step of cleaning under pressure.
    fn clean_buffer(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        let is_swapping = self.relocation.as_ref().is_some_and(|moving| moving.for_swap);
        if is_swapping || self.swap.exchanging.is_some() {
            return self.swap_on(plan);
        }
        let is_moving = |native: u32| self.relocation.as_ref().is_some_and(|moving| moving.native == native);
        // Once its turn has come a zone moves to the end, and no other leaves before.
        if !self.buffer.due.is_some_and(is_moving) {
            self.buffer.due = None;
            let step = self.buffer.clean(why, waiting, plan);
            match self.buffer.due {
                None => return step,
                Some(native) if !is_moving(native) => return self.begin_swap(native, plan),
                Some(_) => {}
            }
        }
        self.convert(plan)
    }

    /// No zone is empty to rewrite into, and the space grows: a vacant one is taken, even if it is about to be
    /// converted, or else the growth goes on until there is one.
    fn clean_while_growing(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        if self.buffer.zones.has_vacant() {
            self.buffer.takes_vacant = true;
            return self.clean_buffer(why, waiting, plan);
        }
        match self.convert(plan) {
            Step::Wait if !self.buffer.zones.spare_is_coming() => Step::Nothing,
            step => step,
        }
    }
}

impl<P: Policy> Grow for ZoneAlloy<P> {
    fn grow(&mut self, blocks: u64, plan: &mut Plan) -> Result<(), CannotGrow> {
        self.begin_growth(blocks, plan)
    }
}

impl<P: Policy> TranslationLayer for ZoneAlloy<P> {
    fn facts(&self) -> Facts {
        let buffer = self.buffer.facts();
        Facts {
            memory: buffer.memory + self.elastic.memory() + self.swap.memory(),
            ram_blocks: self.buffer_ram + self.batch_blocks,
            // A conventional zone that was never written holds what was there before.
            unwritten: Unwritten::OldContent,
            step_blocks: buffer.step_blocks.map(|blocks| blocks.max(self.step.most())),
            journal: JournalFacts { records: buffer.journal.records + 1, ..JournalFacts::default() },
            counters: counters::ALL,
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.buffer.capacity()
    }

    /// While the space grows its zones are needed for that, and it says how long a request waits.
    fn standing(&self) -> Standing {
        let Standing { occupancy, outlook, .. } = self.buffer.standing();
        let (growth, outlook) = (self.growth_left(), outlook.filter(|_| !self.is_growing()));
        Standing { growth, occupancy, outlook, ..Standing::default() }
    }

    fn growing(&mut self) -> Option<&mut dyn Grow> {
        Some(self)
    }

    fn prefetch(&self, ahead: &[Request], below: &mut dyn FnMut(u8, Request)) -> u64 {
        self.buffer.prefetch(ahead, below)
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.buffer.locate(at, plan);
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        self.note_read(at);
        self.buffer.read(at, plan);
        self.head.follow(plan);
    }

    /// Takes blocks of one native zone at most, and of those only such as are written alike.
    fn write(&mut self, Write { at, request_bytes }: Write, plan: &mut Plan) -> u32 {
        let (run, in_place) = self.front(at);
        let (native, offset) = self.buffer.zones.native_of(at.start);
        let taken = if in_place {
            self.write_in_place(native, offset, run, plan);
            run.blocks
        } else {
            self.buffer.write(Write { at: run, request_bytes }, plan)
        };
        self.head.follow(plan);
        if taken > 0 {
            self.swap.written(native, taken);
        }
        self.note_epoch();
        taken
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        self.buffer.trim(at, plan)
    }

    fn clean(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        // A vacant zone may be one that is about to be converted.
        self.buffer.takes_vacant = !self.is_growing();
        match why {
            Pressure::Idle { .. } if self.is_growing() => match self.convert(plan) {
                Step::Wait if self.buffer.evicted().is_some() => {
                    self.head.leave();
                    self.buffer.clean(why, waiting, plan)
                }
                // No realm is left that can be converted.
                Step::Nothing => self.clean_buffer(why, waiting, plan),
                step => step,
            },
            Pressure::Blocked(at) => {
                self.head.leave();
                let why = Pressure::Blocked(self.front(at).0);
                match self.clean_buffer(why, waiting, plan) {
                    Step::Nothing if self.is_growing() => self.clean_while_growing(why, waiting, plan),
                    step => step,
                }
            }
            _ => {
                self.head.leave();
                self.clean_buffer(why, waiting, plan)
            }
        }
    }

    fn bound_step(&mut self, blocks: u32) {
        self.buffer.bound_step(blocks);
        self.step.bound(blocks);
    }

    fn freed(&mut self, space: Extent<Pba>, why: Freed) {
        if !self.activated(space) {
            self.buffer.freed(space, why);
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Note { key, value } if self.elastic.apply(key, value, self.buffer.zones.most_natives()) => Ok(()),
            _ => self.buffer.apply(record),
        }
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.swap.recovered();
        self.head = Head::default();
        self.buffer.recovered(units, plan)?;
        self.begin_again(units, plan);
        Ok(())
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        if from == ELASTIC_REGION {
            self.elastic.checkpoint(plan);
            return None;
        }
        Some(self.buffer.checkpoint(from, plan).unwrap_or(ELASTIC_REGION))
    }

    fn contents(&self) -> Option<Contents> {
        self.buffer.contents()
    }

    fn check(&self) -> Result<(), Violation> {
        self.buffer.check()?;
        self.check_realms()
    }
}
