//! What clients, the drive and idle time ask of the log, and whether it is as it should be.

use super::{Content, Cut, Runner};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::contents::Contents;
use imbrex_core::layer::{Pressure, REGION_RECORDS, Step, Write};
use imbrex_core::plan::{Op, Place, Plan, Record};

impl Runner {
    pub fn write(&mut self, at: Extent<Lba>) -> Result<(), Cut> {
        let mut rest = at;
        for _ in 0..10_000 {
            if rest.is_empty() {
                return Ok(());
            }
            let here = rest;
            self.bring(|map, each| map.of_write(here, each));
            let mut plan = Plan::new();
            let taken = self.layer.write(Write::from(rest), &mut plan);
            let tags: Vec<Content> = (0..u64::from(taken)).map(|i| Content::Tag(self.tags + i)).collect();
            self.tags += u64::from(taken);
            self.perform(&plan, Some(&tags));
            for (lba, tag) in rest.iter().zip(&tags) {
                let before = std::mem::replace(&mut self.model[lba.0 as usize], *tag);
                if matches!(before, Content::Tag(_)) {
                    self.heat.overwritten(lba);
                }
            }
            self.after();
            rest = rest.skip(taken);
            if taken == 0 {
                while self.clean(Pressure::Blocked(rest))? != Step::Done {}
            }
            self.meanwhile()?;
        }
        panic!("a write takes for ever");
    }

    pub fn clean(&mut self, why: Pressure) -> Result<Step, Cut> {
        self.bring(|map, each| map.of_cleaning(each));
        let mut plan = Plan::new();
        let step = self.layer.clean(why, &[], &mut plan);
        self.cool(&plan);
        self.perform(&plan, None);
        self.after();
        if step == Step::Wait {
            self.commit();
        }
        if matches!(why, Pressure::Blocked(_)) {
            assert!(step != Step::Nothing, "the disk is full: {:?}", self.layer.contents());
        }
        self.meanwhile()?;
        Ok(step)
    }

    /// What compaction puts elsewhere gets cooler.
    fn cool(&mut self, plan: &Plan) {
        for op in plan.ops() {
            if let Op::Record { record: Record::Map { at, .. }, .. } = *op {
                self.heat.compacted(at);
            }
        }
    }

    pub fn trim(&mut self, at: Extent<Lba>) {
        let mut rest = at;
        while !rest.is_empty() {
            let here = rest;
            self.bring(|map, each| map.of_write(here.first(1), each));
            let mut plan = Plan::new();
            let taken = self.layer.trim(rest, &mut plan);
            assert!(taken > 0);
            self.perform(&plan, None);
            self.model[rest.start.0 as usize..][..taken as usize].fill(Content::Zero);
            self.heat.forgotten(rest.first(taken));
            self.after();
            rest = rest.skip(taken);
        }
    }

    /// Where a block lies, if it lies somewhere, and what it reads as.
    pub fn read_one(&mut self, lba: Lba) -> (Option<Pba>, Content) {
        let at = Extent::new(lba, 1);
        self.bring(|map, each| map.of_read(at, each));
        let mut plan = Plan::new();
        self.layer.read(at, &mut plan);
        let read = self.perform(&plan, None);
        let place = plan.ops().iter().find_map(|op| match op {
            Op::Move { from: Place::At(place), .. } => Some(*place),
            _ => None,
        });
        (place, read[&0])
    }

    /// A place cannot be read any more. What it holds is lost, unless that is an older state or a copy.
    pub fn lose(&mut self, part: f64) {
        self.commit();
        let slot = (part * self.slots.len() as f64) as usize;
        if slot as u32 % self.case.band >= self.pointers[slot / self.case.band as usize] {
            return;
        }
        let held = std::mem::replace(&mut self.slots[slot], Content::Lost);
        let place = Pba::disk(slot as u64);
        self.bring(|map, each| map.of_place(place, each));
        let mut plan = Plan::new();
        self.map_mut().lose(place, &mut plan).unwrap();
        for op in plan.ops() {
            let Op::Record { record, .. } = op else { panic!("{op:?}") };
            if let Record::Lost(at) = record {
                let is = &mut self.model[at.start.0 as usize];
                assert_eq!((*is, at.blocks), (held, 1));
                *is = Content::Lost;
                self.heat.forgotten(*at);
            }
        }
        self.cool(&plan);
        self.perform(&plan, None);
        self.after();
        self.commit();
    }

    /// Every block reads as what it should, and each band has as many live blocks, and hot ones, as are counted.
    pub fn verify(&mut self) {
        let mut live = vec![0; self.case.bands as usize];
        let mut hot = live.clone();
        for lba in 0..self.layer.capacity() {
            let (place, content) = self.read_one(Lba(lba));
            assert_eq!(content, self.model[lba as usize], "block {lba}");
            if let Some(place) = place {
                let band = (place.block() / u64::from(self.case.band)) as usize;
                live[band] += 1;
                hot[band] += u32::from(self.heat.is_hot(lba as usize));
            }
        }
        assert!(!self.map().missed());
        let Some(Contents::Bands(bands)) = self.layer.contents() else { panic!("it is a log") };
        let counted: Vec<u32> = bands.iter().map(|band| band.live).collect();
        assert_eq!(counted, live, "live blocks of the bands");
        let counted: Option<Vec<u32>> = bands.iter().map(|band| band.hot).collect();
        assert!(
            counted.as_ref().is_none_or(|counted| *counted == hot),
            "hot blocks of the bands: {counted:?}, {hot:?}"
        );
        assert_eq!(counted.is_some(), self.case.layer.ends_with("-weight"));
    }

    /// The records of a whole checkpoint are as many as a journal has room for.
    pub fn check_records(&self) {
        let (mut plan, mut from) = (Plan::new(), Some(0));
        while let Some(region) = from {
            let before = plan.ops().len();
            from = self.layer.checkpoint(region, &mut plan);
            assert!(plan.ops().len() - before <= REGION_RECORDS);
        }
        assert!(plan.ops().len() as u64 <= self.layer.facts().journal.records);
    }
}
