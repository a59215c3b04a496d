//! A layer for testing the live engine: writes wait in RAM, and idle time swaps blocks in place.
//!
//! No redo move of a layer of the library changes the map, and none exchanges two blocks that may never have been
//! written.

use std::sync::Arc;

use imbrex::block::{Address, Extent, Lba, Pba, Request};
use imbrex::explore::{Candidate, Subject};
use imbrex::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, Step, TranslationLayer, UnitReport, Unwritten, Violation, Write,
};
use imbrex::perform::rules::Rule;
use imbrex::plan::{Place, Plan, Record, Why};
use imbrex::recording::Recording;
use imbrex::space::Space;

/// Blocks of the host's data that wait in RAM; two more are for swapping.
const WAITING: u64 = 5;

/// What a swapper does that no layer may do.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Breaks {
    /// It does not keep a rule that binds layers.
    Rule(Rule),
    /// It says that a blocked write fits, and takes none of it.
    Promise,
    /// It exchanges the places of blocks that it takes for unwritten since they were not written in this life, and
    /// leaves what lies there where it is.
    Unwritten,
    /// It says that what was never written reads as zeros.
    Zeros,
    /// It says that what it trims stays zeros, and keeps that in RAM only.
    Trims,
}

struct Swapper {
    first: Pba,
    place: Vec<Pba>,
    lost: Vec<bool>,
    /// The block that waits in each RAM block.
    waiting: [Option<Lba>; WAITING as usize],
    swaps: u64,
    /// The blocks that were written in this life.
    written: Vec<bool>,
    /// The blocks that it takes for zeros.
    trimmed: Vec<bool>,
    breaks: Option<Breaks>,
}

/// The swapper as a subject of the explorer.
pub fn subject(breaks: Option<Breaks>) -> Subject {
    Subject::in_memory(Candidate {
        map_pages: None,
        name: "swapper".to_owned(),
        recording: Recording::Conventional,
        fields: &[],
        build: Arc::new(move |space: &Space, _: &toml::Table| {
            let place: Vec<Pba> = (0..space.conventional_blocks).map(|i| space.conventional.plus(i)).collect();
            let none = vec![false; place.len()];
            let (lost, written, trimmed) = (none.clone(), none.clone(), none);
            let first = space.conventional;
            let waiting = [None; WAITING as usize];
            Ok(Box::new(Swapper { first, place, lost, waiting, swaps: 0, written, trimmed, breaks }))
        }),
    })
}

impl Swapper {
    fn identity(&self, lba: Lba) -> Pba {
        self.first.plus(lba.0)
    }

    fn slot(&self, lba: Lba) -> Option<u64> {
        self.waiting.iter().position(|waiting| *waiting == Some(lba)).map(|slot| slot as u64)
    }

    /// Plans that the first waiting block lands on its place.
    fn land(&mut self, plan: &mut Plan) -> bool {
        let Some(slot) = self.waiting.iter().position(Option::is_some) else { return false };
        if let Some(lba) = self.waiting[slot].take() {
            let to = self.place[lba.0 as usize];
            plan.copy(Place::At(Pba::ram(slot as u64)), Place::At(to), 1, Why::Destage);
            if std::mem::take(&mut self.lost[lba.0 as usize]) {
                plan.record(Record::Map { at: Extent::new(lba, 1), to });
            }
        }
        true
    }

    fn swap(&mut self, plan: &mut Plan) {
        self.swaps += 1;
        let blocks = self.place.len() as u64;
        let (a, b) = (self.swaps * 7 % blocks, self.swaps * 13 % blocks);
        if a == b || self.lost[a as usize] || self.lost[b as usize] {
            return;
        }
        let (pa, pb) = (self.place[a as usize], self.place[b as usize]);
        if self.breaks == Some(Breaks::Unwritten) && !self.written[a as usize] && !self.written[b as usize] {
            (self.place[a as usize], self.place[b as usize]) = (pb, pa);
            let exchanged = [(a, pb), (b, pa)].map(|(lba, to)| Record::Map { at: Extent::new(Lba(lba), 1), to });
            exchanged.into_iter().for_each(|record| plan.record(record));
            return;
        }
        let staged = [Place::At(Pba::ram(WAITING)), Place::At(Pba::ram(WAITING + 1))];
        plan.copy(Place::At(pa), staged[0], 1, Why::Swap);
        plan.copy(Place::At(pb), staged[1], 1, Why::Swap);
        let records = [(a, pb), (b, pa)].map(|(lba, to)| Record::Map { at: Extent::new(Lba(lba), 1), to });
        for ((from, to), record) in staged.into_iter().zip([pb, pa]).zip(records) {
            if self.breaks == Some(Breaks::Rule(Rule::NoOverwrite)) {
                plan.copy(from, Place::At(to), 1, Why::Swap);
                plan.record(record);
            } else {
                plan.redo_copy(from, Place::At(to), 1, Why::Swap);
                plan.redo_record(record);
            }
        }
        (self.place[a as usize], self.place[b as usize]) = (pb, pa);
    }
}

impl Swapper {
    fn trims_to_zeros(&self) -> bool {
        self.breaks == Some(Breaks::Trims)
    }
}

impl TranslationLayer for Swapper {
    fn facts(&self) -> Facts {
        Facts {
            ram_blocks: WAITING as u32 + 2,
            unwritten: if self.breaks == Some(Breaks::Zeros) { Unwritten::Zeros } else { Unwritten::OldContent },
            trims_to_zeros: self.trims_to_zeros(),
            journal: JournalFacts { redo_blocks: 2, records: 2 * self.capacity() + 1, ..JournalFacts::default() },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.place.len() as u64
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        for (host, lba) in (0..).zip(at.iter()) {
            let index = lba.0 as usize;
            let place = match self.slot(lba) {
                _ if self.trimmed[index] => Place::Zero,
                Some(slot) => Place::At(Pba::ram(slot)),
                None if self.lost[index] => Place::Lost,
                None => Place::At(self.place[index]),
            };
            plan.copy(place, Place::Host(host), 1, Why::Host);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        for (host, lba) in (0..).zip(at.iter()) {
            let free = self.waiting.iter().position(Option::is_none).map(|slot| slot as u64);
            let Some(slot) = self.slot(lba).or(free) else { return host };
            self.waiting[slot as usize] = Some(lba);
            self.written[lba.0 as usize] = true;
            self.trimmed[lba.0 as usize] = false;
            plan.copy(Place::Host(host), Place::At(Pba::ram(slot)), 1, Why::Host);
            if self.breaks == Some(Breaks::Rule(Rule::NoRecordOfRam)) {
                plan.record(Record::Map { at: Extent::new(lba, 1), to: Pba::ram(slot) });
                self.place[lba.0 as usize] = Pba::ram(slot);
            }
        }
        at.blocks
    }

    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        if self.trims_to_zeros() {
            at.iter().for_each(|lba| self.trimmed[lba.0 as usize] = true);
        }
        at.blocks
    }

    fn flush(&mut self, plan: &mut Plan) -> Step {
        if self.land(plan) { Step::More } else { Step::Done }
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match why {
            Pressure::Blocked(_) if self.breaks == Some(Breaks::Promise) => return Step::Done,
            // Swapping here as well keeps redo plans coming without a pause.
            Pressure::Blocked(_) => {
                self.land(plan);
                self.swap(plan);
            }
            Pressure::Idle { .. } => self.swap(plan),
            Pressure::Asked | Pressure::Ahead { .. } => return Step::Nothing,
        }
        Step::More
    }

    fn freed(&mut self, _space: Extent<Pba>, _why: Freed) {}

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, to } => {
                self.place[at.start.0 as usize] = to;
                self.lost[at.start.0 as usize] = false;
            }
            Record::Unmap(at) => at.iter().for_each(|lba| {
                self.place[lba.0 as usize] = self.identity(lba);
                self.lost[lba.0 as usize] = false;
            }),
            Record::Lost(at) => at.iter().for_each(|lba| self.lost[lba.0 as usize] = true),
            other => return Err(Corrupt(format!("{other:?}"))),
        }
        Ok(())
    }

    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        Ok(())
    }

    fn checkpoint(&self, _from: u64, plan: &mut Plan) -> Option<u64> {
        plan.record(Record::Unmap(Extent::new(Lba(0), self.place.len() as u32)));
        for (lba, place) in (0..).map(Lba).zip(&self.place) {
            if *place != self.identity(lba) {
                plan.record(Record::Map { at: Extent::new(lba, 1), to: *place });
            }
            if self.lost[lba.0 as usize] {
                plan.record(Record::Lost(Extent::new(lba, 1)));
            }
        }
        None
    }

    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}
