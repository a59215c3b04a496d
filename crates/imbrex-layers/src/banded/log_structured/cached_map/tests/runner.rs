//! A runner in memory for logs of whose map some pages are in memory: it loads pages, puts them out, writes them home,
//! commits records and loses its power, all at random.

mod case;
mod heat;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

pub use case::{Case, Content};
use heat::Heat;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::{CachedMap, Condition, Freed, HomePage, Touch, TranslationLayer, UnitReport, UnitState};
use imbrex_core::plan::{Op, Place, Plan, Record, Unit};
use imbrex_core::random::Random;

/// The power has failed.
pub struct Cut;

/// A page at home.
struct Home {
    content: Vec<u8>,
    version: u64,
    epoch: u32,
}

pub struct Runner {
    pub case: Case,
    random: Random,
    layer: Box<dyn TranslationLayer>,
    epoch: u32,
    slots: Vec<Content>,
    pointers: Vec<u32>,
    ram: BTreeMap<u64, Content>,
    home: BTreeMap<u64, Home>,
    /// Pages that are not at home as they are: since which commit, and the last one that changed them.
    dirty: BTreeMap<u64, (u64, u64)>,
    journal: Vec<(u64, Record)>,
    pending: Vec<Record>,
    resets: Vec<Unit>,
    /// The number of the next commit.
    number: u64,
    /// Records from this number on are folded.
    tail: u64,
    /// Where the checkpoint is, and the number at which it began.
    checkpoint: Option<(u64, u64)>,
    pub model: Vec<Content>,
    durable: Vec<Content>,
    tags: u64,
    heat: Heat,
    /// Compactions that an epoch went on with.
    pub settled_on: u32,
}

impl Runner {
    pub fn new(case: Case) -> Self {
        let layer = case.make();
        let (slots, capacity) = ((case.bands * case.band) as usize, layer.capacity() as usize);
        let mut runner = Self {
            random: Random::new(case.seed),
            layer,
            epoch: 0,
            slots: vec![Content::Lost; slots],
            pointers: vec![0; case.bands as usize],
            ram: BTreeMap::new(),
            home: BTreeMap::new(),
            dirty: BTreeMap::new(),
            journal: Vec::new(),
            pending: Vec::new(),
            resets: Vec::new(),
            number: 1,
            tail: 0,
            checkpoint: None,
            model: vec![Content::Zero; capacity],
            durable: vec![Content::Zero; capacity],
            tags: 0,
            heat: Heat::new(capacity, case.fields),
            settled_on: 0,
            case,
        };
        runner.begin();
        runner
    }

    fn map(&self) -> &dyn CachedMap {
        self.layer.cached_map().unwrap()
    }

    fn map_mut(&mut self) -> &mut dyn CachedMap {
        self.layer.cached_map_mut().unwrap()
    }

    pub fn chance(&mut self, one_of: u64) -> bool {
        self.random.below(one_of) == 0
    }

    fn report(&self) -> UnitReport {
        let unit = |&pointer| UnitState { condition: Condition::Sequential, pointer };
        UnitReport { devices: vec![Vec::new(), self.pointers.iter().map(unit).collect()] }
    }

    /// An epoch begins: what is durable is folded.
    fn begin(&mut self) {
        self.layer = self.case.make();
        self.epoch += 1;
        (self.ram, self.dirty, self.checkpoint) = (BTreeMap::new(), BTreeMap::new(), None);
        (self.pending, self.resets) = (Vec::new(), Vec::new());
        self.model.clone_from(&self.durable);
        // An epoch finds all blocks cold.
        self.heat.blocks.fill(0);
        for (number, record) in self.journal.clone() {
            if number >= self.tail {
                self.map_mut().fold_at(number);
                self.layer.apply(&record).unwrap();
            }
        }
        // Pages are put before the report is there, or when they are needed.
        let mut awaited = self.awaited();
        awaited.truncate(self.random.below(self.case.pages.into()) as usize);
        awaited.into_iter().for_each(|page| self.load(page));
        let (report, mut plan) = (self.report(), Plan::new());
        let is_settling = self.is_settling();
        self.layer.recovered(&report, &mut plan).unwrap();
        self.settled_on += u32::from(is_settling);
        self.perform(&plan, None);
        self.after();
    }

    fn is_settling(&self) -> bool {
        let mut plan = Plan::new();
        self.layer.checkpoint(0, &mut plan);
        let is = |op: &Op| matches!(op, Op::Record { record: Record::Unit { is: u32::MAX, .. }, .. });
        plan.ops().iter().any(is)
    }

    fn awaited(&self) -> Vec<u64> {
        let mut pages = BTreeSet::new();
        self.map().awaited(&mut |page| {
            pages.insert(page);
        });
        pages.into_iter().collect()
    }

    /// What is not durable is gone.
    pub fn crash(&mut self) {
        self.begin();
    }

    fn load(&mut self, page: u64) {
        let (number, epoch, tail) = (self.number, self.epoch, self.tail);
        let home = if self.map().is_blank(page) { None } else { self.home.remove(&page) };
        let put = home.as_ref().map(|home| HomePage {
            content: &home.content,
            version: home.version,
            is_of_epoch: home.epoch == epoch,
        });
        let is_changed = self.map_mut().put(page, put).unwrap();
        if let Some(home) = home {
            self.home.insert(page, home);
        }
        if is_changed {
            // What was folded is durable.
            self.dirty.insert(page, (tail, number - 1));
        }
    }

    /// Writes a page home whose records are durable.
    fn write_home(&mut self, page: u64) {
        let mut content = Vec::new();
        self.map().content(page, &mut content);
        assert!(content.len() as u32 <= 5 * self.case.entries, "{} bytes", content.len());
        // Who reads a block gets more than the page.
        content.extend([7; 3]);
        self.home.insert(page, Home { content, version: self.number, epoch: self.epoch });
        self.dirty.remove(&page);
    }

    fn is_durable(&self, page: u64) -> bool {
        self.dirty.get(&page).is_none_or(|&(_, last)| last < self.number)
    }

    fn cached_pages(&self) -> Vec<u64> {
        (0..self.map().count()).filter(|&page| self.map().has(page)).collect()
    }

    /// Puts out some page that is not among those `kept`.
    fn put_out(&mut self, kept: &BTreeSet<u64>) {
        let others: Vec<u64> = self.cached_pages().into_iter().filter(|page| !kept.contains(page)).collect();
        let page = others[self.random.below(others.len() as u64) as usize];
        if !self.is_durable(page) {
            self.commit();
        }
        if self.dirty.contains_key(&page) {
            self.write_home(page);
        }
        self.map_mut().evict(page);
    }

    /// Brings what `of` asks for.
    fn bring(&mut self, of: impl Fn(&dyn CachedMap, &mut dyn FnMut(u64))) {
        loop {
            let mut needed = BTreeSet::new();
            of(self.map(), &mut |page| {
                needed.insert(page);
            });
            assert!(needed.len() <= self.case.pages as usize, "{} pages are needed together", needed.len());
            let Some(&page) = needed.iter().find(|page| !self.map().has(**page)) else { return };
            while self.map().cached() >= self.case.pages as usize {
                self.put_out(&needed);
            }
            self.load(page);
        }
    }

    /// What comes after each plan.
    fn after(&mut self) {
        let mut touched = Vec::new();
        self.map_mut().touched(&mut |page, touch| touched.push((page, touch)));
        for (page, touch) in touched {
            assert!(matches!(touch, Touch::Change | Touch::Renew) && self.map().has(page), "{page} {touch:?}");
            let number = self.number;
            self.dirty.entry(page).or_insert((number, number)).1 = number;
        }
        assert!(!self.map().missed(), "a page was looked at that was not there");
        self.map().consistent().unwrap();
        self.layer.check().unwrap();
        while self.map().cached() > self.case.pages as usize {
            self.put_out(&BTreeSet::new());
        }
        let cached = self.cached_pages();
        if self.chance(3) && !cached.is_empty() {
            self.put_out(&BTreeSet::new());
        }
    }

    fn content_of(&self, place: Place, i: u32, host: Option<&[Content]>) -> Content {
        match place.continued(i) {
            Place::Host(at) => host.unwrap()[at as usize],
            Place::At(at) if at.is_ram() => self.ram[&at.block()],
            Place::At(at) => {
                let (band, offset) = (at.block() / u64::from(self.case.band), at.block() % u64::from(self.case.band));
                assert!(offset < self.pointers[band as usize].into(), "{at:?} is not written");
                self.slots[at.block() as usize]
            }
            Place::Zero => Content::Zero,
            Place::Lost => Content::Lost,
        }
    }

    /// Carries out a plan, and gives what the host reads.
    fn perform(&mut self, plan: &Plan, host: Option<&[Content]>) -> BTreeMap<u32, Content> {
        let mut read = BTreeMap::new();
        for op in plan.ops() {
            match *op {
                Op::Move { from, to, blocks, .. } => {
                    for i in 0..blocks {
                        let content = self.content_of(from, i, host);
                        match to.continued(i) {
                            Place::Host(at) => {
                                read.insert(at, content);
                            }
                            Place::At(at) if at.is_ram() => {
                                self.ram.insert(at.block(), content);
                            }
                            Place::At(at) => self.append(at.block(), content),
                            Place::Zero | Place::Lost => panic!("{op:?}"),
                        }
                    }
                }
                Op::Record { record, .. } => self.pending.push(record),
                Op::Reset(unit) => self.resets.push(unit),
                Op::Free(_) => panic!("{op:?}"),
                Op::Count(..) => {}
            }
        }
        read
    }

    fn append(&mut self, block: u64, content: Content) {
        let (band, offset) = (block / u64::from(self.case.band), block % u64::from(self.case.band));
        let pointer = &mut self.pointers[band as usize];
        assert_eq!(u64::from(*pointer), offset, "band {band} is written elsewhere");
        *pointer += 1;
        self.slots[block as usize] = content;
    }

    /// What was planned becomes durable, and resets take effect.
    pub fn commit(&mut self) {
        let mut plan = Plan::new();
        self.map_mut().sum_up(&mut plan);
        self.perform(&plan, None);
        let number = self.number;
        self.journal.extend(self.pending.drain(..).map(|record| (number, record)));
        self.number += 1;
        self.durable.clone_from(&self.model);
        if let Some((u64::MAX, began)) = self.checkpoint {
            self.checkpoint = None;
            self.move_tail(began);
        }
        for unit in std::mem::take(&mut self.resets) {
            let first = u64::from(unit.index) * u64::from(self.case.band);
            self.pointers[unit.index as usize] = 0;
            self.slots[first as usize..][..self.case.band as usize].fill(Content::Lost);
            self.layer.freed(Extent::new(Pba::disk(first), self.case.band), Freed::GivenUp);
        }
    }

    /// The tail passes what is in the checkpoint that began at a number, and in pages at home.
    fn move_tail(&mut self, began: u64) {
        if !self.awaited().is_empty() {
            return;
        }
        let since = self.dirty.values().map(|&(since, _)| since).min().unwrap_or(u64::MAX);
        self.tail = self.tail.max(began.min(since));
        self.journal.retain(|(number, _)| *number >= self.tail);
    }

    /// States a region again.
    pub fn checkpoint(&mut self) {
        let (from, began) = self.checkpoint.unwrap_or((0, self.number));
        if from == u64::MAX {
            return self.commit();
        }
        let mut plan = Plan::new();
        let next = self.layer.checkpoint(from, &mut plan);
        self.perform(&plan, None);
        self.checkpoint = Some((next.unwrap_or(u64::MAX), began));
    }

    /// Pages go home, as far as they may, and what waits for pages finds them.
    pub fn tidy(&mut self) {
        for page in self.awaited() {
            self.bring(|_, each| each(page));
        }
        let dirty: Vec<u64> = self.dirty.keys().copied().filter(|&page| self.is_durable(page)).collect();
        for page in dirty {
            if self.random.below(4) > 0 {
                self.write_home(page);
            }
        }
    }

    /// Anything that may happen between two plans.
    fn meanwhile(&mut self) -> Result<(), Cut> {
        if self.case.is_quiet {
            self.commit();
            return Ok(());
        }
        match self.random.below(40) {
            0..6 => self.commit(),
            6..12 => self.tidy(),
            12..18 => self.checkpoint(),
            18 if self.case.is_fragile => {
                self.crash();
                return Err(Cut);
            }
            _ => {}
        }
        Ok(())
    }
}
