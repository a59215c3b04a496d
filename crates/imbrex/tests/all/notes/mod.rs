//! A layer for testing the live engine: idle time changes more notes than a journal block holds, all to one
//! number.
//!
//! With redo records they are durable together, and a recovery never finds two numbers. `page-ftl` relies on that when
//! it switches a collected erase block, where a part of the records would do harm only now and then.

use std::sync::Arc;

use imbrex::block::{Address, Extent, Lba, Pba, Request};
use imbrex::explore::{Candidate, Subject};
use imbrex::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, Step, TranslationLayer, UnitReport, Unwritten, Violation, Write,
};
use imbrex::parts::lost::LostBlocks;
use imbrex::plan::{Place, Plan, Record, Why};
use imbrex::recording::Recording;
use imbrex::space::Space;

const NOTES: usize = 60;

struct Notes {
    first: Pba,
    blocks: u64,
    lost: LostBlocks,
    values: [u64; NOTES],
    together: bool,
}

/// The layer as a subject of the explorer; its records are redo records or not.
pub fn subject(together: bool) -> Subject {
    Subject::in_memory(Candidate {
        map_pages: None,
        name: "notes".to_owned(),
        recording: Recording::Conventional,
        fields: &[],
        build: Arc::new(move |space: &Space, _: &toml::Table| {
            let (first, blocks) = (space.conventional, space.conventional_blocks);
            Ok(Box::new(Notes { first, blocks, lost: LostBlocks::default(), values: [0; NOTES], together }))
        }),
    })
}

impl Notes {
    fn place(&self, lba: Lba) -> Place {
        Place::At(self.first.plus(lba.0))
    }

    fn differ(&self) -> Option<String> {
        let differ = self.values.iter().any(|value| *value != self.values[0]);
        differ.then(|| format!("the notes differ: {:?}", self.values))
    }
}

impl TranslationLayer for Notes {
    fn facts(&self) -> Facts {
        Facts {
            unwritten: Unwritten::OldContent,
            journal: JournalFacts { records: self.blocks + 1 + NOTES as u64, ..JournalFacts::default() },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.blocks
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.lost.runs(at, |run, lost| {
            let from = if lost { Place::Lost } else { self.place(run.start) };
            plan.copy(from, Place::Host(run.start.since(at.start) as u32), run.blocks, Why::Host);
        });
    }
    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        plan.copy(Place::Host(0), self.place(at.start), at.blocks, Why::Host);
        if self.lost.any(at) {
            plan.record(Record::Unmap(at));
            self.lost.remove(at);
        }
        at.blocks
    }
    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }
    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        if why == Pressure::Asked {
            return Step::Nothing;
        }
        for (key, value) in (0..).zip(&mut self.values) {
            *value += 1;
            let record = Record::Note { key, value: *value };
            if self.together { plan.redo_record(record) } else { plan.record(record) }
        }
        Step::Done
    }
    fn freed(&mut self, _space: Extent<Pba>, _why: Freed) {}
    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Note { key, value } => self.values[key as usize] = value,
            Record::Unmap(at) => self.lost.remove(at),
            Record::Lost(at) => self.lost.insert(at),
            other => return Err(Corrupt(format!("{other:?}"))),
        }
        Ok(())
    }
    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        self.differ().map_or(Ok(()), |why| Err(Corrupt(why)))
    }
    fn checkpoint(&self, _from: u64, plan: &mut Plan) -> Option<u64> {
        self.lost.checkpoint(Extent::new(Lba(0), self.blocks as u32), plan);
        for (key, &value) in (0..).zip(&self.values) {
            plan.record(Record::Note { key, value });
        }
        None
    }
    fn check(&self) -> Result<(), Violation> {
        self.differ().map_or(Ok(()), |why| Err(Violation(why)))
    }
}
