//! A layer for testing stacks: a block lies on the first device or at the same place of the second, and changes sides.
//!
//! A write goes to the other side unless the journal may still need what lies there, and so do blocks in idle time. So
//! every record speaks of data on one device and gives up space on the other.

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

pub struct Sides {
    starts: [Pba; 2],
    /// Which side each block lies on.
    side: Vec<usize>,
    /// Whether the other side may not be written yet.
    pending: Vec<bool>,
    lost: LostBlocks,
    /// The next block to change sides in idle time.
    cursor: usize,
}

impl Sides {
    pub fn new(space: &Space) -> Self {
        let home = space.home.unwrap();
        let blocks = space.conventional_blocks.min(home.blocks).min(u64::from(space.buffer_blocks)) as usize;
        Self {
            starts: [space.conventional, home.start],
            side: vec![0; blocks],
            pending: vec![false; blocks],
            lost: LostBlocks::default(),
            cursor: 0,
        }
    }

    fn place(&self, block: usize, side: usize) -> Pba {
        self.starts[side].plus(block as u64)
    }

    /// Brings a block to the other side, from the host or from where it lies.
    fn change(&mut self, block: usize, from: Option<u32>, plan: &mut Plan) {
        let (old, new) = (self.place(block, self.side[block]), self.place(block, 1 - self.side[block]));
        let (source, why) = from.map_or((Place::At(old), Why::Migrate), |host| (Place::Host(host), Why::Host));
        plan.copy(source, Place::At(new), 1, why);
        let record = Record::Map { at: Extent::new(Lba(block as u64), 1), to: new };
        self.apply(&record).unwrap();
        plan.record(record);
        plan.free(Extent::new(old, 1));
        self.pending[block] = true;
    }
}

impl TranslationLayer for Sides {
    fn facts(&self) -> Facts {
        Facts {
            unwritten: Unwritten::OldContent,
            journal: JournalFacts { records: 2 * self.side.len() as u64 + 1, ..JournalFacts::default() },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.side.len() as u64
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        for (i, lba) in (0..).zip(at.iter()) {
            let block = lba.0 as usize;
            let lost = self.lost.any(Extent::new(lba, 1));
            let from = if lost { Place::Lost } else { Place::At(self.place(block, self.side[block])) };
            plan.copy(from, Place::Host(i), 1, Why::Host);
        }
    }
    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        for (i, lba) in (0..).zip(at.iter()) {
            let block = lba.0 as usize;
            if self.pending[block] {
                let place = self.place(block, self.side[block]);
                plan.copy(Place::Host(i), Place::At(place), 1, Why::Host);
                if self.lost.any(Extent::new(lba, 1)) {
                    let record = Record::Map { at: Extent::new(lba, 1), to: place };
                    self.apply(&record).unwrap();
                    plan.record(record);
                }
            } else {
                self.change(block, Some(i), plan);
            }
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
        for _ in 0..3 {
            let block = self.cursor;
            self.cursor = (block + 1) % self.side.len();
            if !self.pending[block] && !self.lost.any(Extent::new(Lba(block as u64), 1)) {
                self.change(block, None, plan);
            }
        }
        Step::Done
    }
    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        let side = usize::from(space.start.device() - Pba::DISK);
        let first = space.start.since(self.starts[side]) as usize;
        self.pending[first..first + space.blocks as usize].fill(false);
    }
    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, to } => {
                for (i, lba) in (0..).zip(at.iter()) {
                    self.side[lba.0 as usize] = usize::from(to.plus(i).device() - Pba::DISK);
                }
                self.lost.remove(at);
            }
            Record::Unmap(_) => {}
            Record::Lost(at) => self.lost.insert(at),
            other => return Err(Corrupt(format!("{other:?}"))),
        }
        Ok(())
    }
    fn recovered(&mut self, units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        if units.devices.len() == 3 { Ok(()) } else { Err(Corrupt("there are two devices".to_owned())) }
    }
    fn checkpoint(&self, _from: u64, plan: &mut Plan) -> Option<u64> {
        plan.record(Record::Unmap(Extent::new(Lba(0), self.side.len() as u32)));
        for (block, &side) in self.side.iter().enumerate() {
            let at = Extent::new(Lba(block as u64), 1);
            plan.record(Record::Map { at, to: self.place(block, side) });
        }
        self.lost.checkpoint(Extent::new(Lba(0), self.side.len() as u32), plan);
        None
    }
    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}

/// The layer as a subject of the explorer.
pub fn subject() -> Subject {
    Subject::in_memory(Candidate {
        map_pages: None,
        name: "sides".to_owned(),
        recording: Recording::Cached,
        fields: &[],
        build: Arc::new(|space: &Space, _: &toml::Table| Ok(Box::new(Sides::new(space)))),
    })
}
