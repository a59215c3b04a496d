//! A layer for testing the live engine's pages: each block has two places, which it is written to in turn, and a map in
//! pages says which of them counts.
//!
//! Its cache is an implementation of its own, as plain as can be, so that it does not have the faults of the library's.

mod pages;

use std::collections::BTreeSet;
use std::sync::Arc;

use imbrex::block::{Address, Extent, Lba, Pba, Request};
use imbrex::explore::{Candidate, Subject};
use imbrex::layer::{
    CachedMap, Corrupt, Facts, Freed, JournalFacts, Pressure, Step, TranslationLayer, UnitReport, Violation, Write,
};
use imbrex::parts::lost::LostBlocks;
use imbrex::plan::{Place, Plan, Record, Why};
use imbrex::recording::Recording;
use imbrex::space::Space;
use pages::{Pages, State};

/// Blocks that lost ones are stated again for at a time.
const REGION: u64 = 64;

struct TwoPlaces {
    first: Pba,
    lost: LostBlocks,
    pages: Pages,
    /// Places that were given up, until that has taken effect.
    leaving: BTreeSet<Pba>,
}

/// The layer as a subject of the explorer, with that many pages in memory.
pub fn subject(map_pages: u32) -> Subject {
    Subject::in_memory(Candidate {
        name: "two-places".to_owned(),
        recording: Recording::Conventional,
        fields: &[],
        build: Arc::new(move |space: &Space, _: &toml::Table| {
            let page_bytes = space.map_cache.map_or(100, |cache| cache.page_bytes);
            let pages = Pages::new(space.conventional_blocks / 2, page_bytes);
            let leaving = BTreeSet::new();
            Ok(Box::new(TwoPlaces { first: space.conventional, lost: LostBlocks::default(), pages, leaving }))
        }),
        map_pages: Some(map_pages),
    })
}

impl TwoPlaces {
    fn place(&self, lba: Lba, which: bool) -> Pba {
        self.first.plus(2 * lba.0 + u64::from(which))
    }

    /// Which block has a place, and which of its two it is.
    fn owner(&self, place: Pba) -> (Lba, bool) {
        let offset = place.since(self.first);
        (Lba(offset / 2), offset % 2 == 1)
    }

    fn set(&mut self, lba: Lba, state: State) {
        self.pages.set(lba.0, state);
        self.lost.remove(Extent::new(lba, 1));
    }

    fn unmap(&mut self, lba: Lba, plan: &mut Plan) {
        if let State::At(which) = self.pages.get(lba.0) {
            let old = self.place(lba, which);
            plan.free(Extent::new(old, 1));
            self.leaving.insert(old);
        }
    }
}

impl TranslationLayer for TwoPlaces {
    fn facts(&self) -> Facts {
        let records = self.pages.count() + 2 * self.pages.capacity;
        Facts { trims_to_zeros: true, journal: JournalFacts { records, ..JournalFacts::default() }, ..Facts::default() }
    }

    fn capacity(&self) -> u64 {
        self.pages.capacity
    }

    fn cached_map(&self) -> Option<&dyn CachedMap> {
        Some(self)
    }

    fn cached_map_mut(&mut self) -> Option<&mut dyn CachedMap> {
        Some(self)
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        for (host, lba) in (0..).zip(at.iter()) {
            let from = match self.pages.get(lba.0) {
                State::At(which) => Place::At(self.place(lba, which)),
                State::Nowhere if self.lost.any(Extent::new(lba, 1)) => Place::Lost,
                State::Nowhere => Place::Zero,
            };
            plan.copy(from, Place::Host(host), 1, Why::Host);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        for (host, lba) in (0..).zip(at.iter()) {
            if !self.pages.is_cached(lba.0) {
                return host;
            }
            let which = self.pages.get(lba.0) == State::At(false);
            let to = self.place(lba, which);
            if self.leaving.contains(&to) {
                return host;
            }
            plan.copy(Place::Host(host), Place::At(to), 1, Why::Host);
            plan.record(Record::Map { at: Extent::new(lba, 1), to });
            self.unmap(lba, plan);
            self.set(lba, State::At(which));
        }
        at.blocks
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let lba = at.start;
        plan.record(Record::Unmap(Extent::new(lba, 1)));
        self.unmap(lba, plan);
        self.set(lba, State::Nowhere);
        1
    }

    fn clean(&mut self, why: Pressure, _: &[Request], _: &mut Plan) -> Step {
        if matches!(why, Pressure::Blocked(_)) { Step::Wait } else { Step::Nothing }
    }

    fn freed(&mut self, space: Extent<Pba>, _: Freed) {
        self.leaving.remove(&space.start);
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, to } => {
                let (lba, which) = self.owner(to);
                if lba != at.start || at.blocks != 1 {
                    return Err(Corrupt(format!("{at:?} cannot lie at {to:?}")));
                }
                self.set(lba, State::At(which));
            }
            Record::Unmap(at) => at.iter().for_each(|lba| self.set(lba, State::Nowhere)),
            Record::Lost(at) => {
                at.iter().for_each(|lba| self.set(lba, State::Nowhere));
                self.lost.insert(at);
            }
            Record::Note { key, value } => self.pages.set_used(key, value),
            Record::Copy { .. } | Record::Unit { .. } => {
                return Err(Corrupt(format!("no record of this layer: {record:?}")));
            }
        }
        Ok(())
    }

    fn recovered(&mut self, _: &UnitReport, _: &mut Plan) -> Result<(), Corrupt> {
        self.pages.serve();
        Ok(())
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let notes = u64::from(self.pages.notes());
        if from < notes {
            plan.record(self.pages.note(from as u32));
            return Some(from + 1);
        }
        // Of a block that is not lost the pages say where it is: only the lost ones are in memory.
        let start = (from - notes) * REGION;
        let end = (start + REGION).min(self.capacity());
        for lba in (start..end).map(Lba).filter(|lba| self.lost.any(Extent::new(*lba, 1))) {
            plan.record(Record::Lost(Extent::new(lba, 1)));
        }
        (end < self.capacity()).then_some(from + 1)
    }

    fn check(&self) -> Result<(), Violation> {
        self.pages.check(|lba| self.lost.any(Extent::new(Lba(lba), 1)))
    }
}
