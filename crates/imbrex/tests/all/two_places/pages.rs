//! The map of [`super::TwoPlaces`] in pages.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::TwoPlaces;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layer::{CachedMap, Corrupt, HomePage, MAP_PAGE_HEADER, TooManyLost, Touch, Violation};
use imbrex::plan::{Plan, Record};

/// Bytes of an entry, all the same: as many as the library's have, so that there are as many pages.
const ENTRY: usize = 5;
/// Pages whose use a note states.
const OF_A_NOTE: u64 = 4;

/// Where a block lies.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum State {
    #[default]
    Nowhere,
    /// At the second of its places, or at the first.
    At(bool),
}

/// What is cached of the map, and what waits for pages.
pub struct Pages {
    pub capacity: u64,
    /// Blocks of a page.
    entries: u64,
    cached: BTreeMap<u64, Vec<State>>,
    used: Vec<bool>,
    /// Notes that have changed since the last commit began.
    changed: Vec<bool>,
    /// What records say of blocks, and under which number, until their pages come.
    late: BTreeMap<u64, (State, u64)>,
    /// The number that records are folded under; nothing once requests are served.
    folds_at: Option<u64>,
    touched: Vec<(u64, Touch)>,
    missed: Cell<bool>,
}

impl Pages {
    pub fn new(capacity: u64, page_bytes: u32) -> Self {
        let entries = u64::from(page_bytes - MAP_PAGE_HEADER) / ENTRY as u64;
        let pages = capacity.div_ceil(entries);
        Self {
            capacity,
            entries,
            cached: BTreeMap::new(),
            used: vec![false; pages as usize],
            changed: vec![false; pages.div_ceil(OF_A_NOTE) as usize],
            late: BTreeMap::new(),
            folds_at: Some(0),
            touched: Vec::new(),
            missed: Cell::new(false),
        }
    }

    pub fn count(&self) -> u64 {
        self.used.len() as u64
    }

    pub fn is_cached(&self, at: u64) -> bool {
        self.cached.contains_key(&(at / self.entries))
    }

    pub fn get(&self, at: u64) -> State {
        let page = at / self.entries;
        let found = self.cached.get(&page).map(|states| states[(at % self.entries) as usize]);
        self.missed.set(self.missed.get() || (found.is_none() && self.used[page as usize]));
        found.unwrap_or_default()
    }

    pub fn set(&mut self, at: u64, state: State) {
        let page = at / self.entries;
        if let Some(number) = self.folds_at {
            self.late.insert(at, (state, number));
            return;
        }
        match self.cached.get_mut(&page) {
            Some(states) => states[(at % self.entries) as usize] = state,
            None => self.missed.set(true),
        }
        if !std::mem::replace(&mut self.used[page as usize], true) {
            self.changed[(page / OF_A_NOTE) as usize] = true;
        }
        self.touched.push((page, Touch::Change));
    }

    /// Requests are served from now on.
    pub fn serve(&mut self) {
        self.folds_at = None;
    }

    pub fn notes(&self) -> u32 {
        self.changed.len() as u32
    }

    pub fn note(&self, key: u32) -> Record {
        let pages = (u64::from(key) * OF_A_NOTE..).zip(0..OF_A_NOTE);
        let used = pages.filter(|(page, _)| self.used.get(*page as usize) == Some(&true));
        Record::Note { key, value: used.map(|(_, bit)| 1 << bit).sum() }
    }

    pub fn set_used(&mut self, key: u32, value: u64) {
        for bit in (0..OF_A_NOTE).filter(|bit| value >> bit & 1 == 1) {
            self.used[(u64::from(key) * OF_A_NOTE + bit) as usize] = true;
        }
    }

    pub fn check(&self, is_lost: impl Fn(u64) -> bool) -> Result<(), Violation> {
        let entries = self.cached.iter().flat_map(|(page, states)| (page * self.entries..).zip(states));
        for (at, state) in entries {
            if matches!(state, State::At(_)) && (is_lost(at) || at >= self.capacity) {
                return Err(Violation(format!("block {at} is lost, or beyond the end, and lies at {state:?}")));
            }
        }
        Ok(())
    }
}

impl CachedMap for TwoPlaces {
    fn count(&self) -> u64 {
        self.pages.count()
    }
    fn cached(&self) -> usize {
        self.pages.cached.len()
    }
    fn has(&self, page: u64) -> bool {
        self.pages.cached.contains_key(&page)
    }
    fn is_blank(&self, page: u64) -> bool {
        !self.pages.used[page as usize]
    }

    fn put(&mut self, page: u64, home: Option<HomePage<'_>>) -> Result<bool, Corrupt> {
        let pages = &mut self.pages;
        let state = |byte: &u8| if *byte == 0 { State::Nowhere } else { State::At(*byte == 2) };
        let version = home.map_or(0, |home| home.version);
        let bytes = home.into_iter().flat_map(|home| home.content.iter().rev().step_by(ENTRY));
        let mut states: Vec<State> = bytes.map(state).collect();
        states.resize(pages.entries as usize, State::Nowhere);
        let range = page * pages.entries..(page + 1) * pages.entries;
        let late: Vec<(u64, (State, u64))> = pages.late.range(range).map(|(at, late)| (*at, *late)).collect();
        let mut differs = false;
        for (at, (state, number)) in late {
            pages.late.remove(&at);
            if number >= version {
                states[(at % pages.entries) as usize] = state;
                differs = true;
            }
        }
        pages.cached.insert(page, states);
        Ok(differs)
    }

    fn content(&self, page: u64, out: &mut Vec<u8>) {
        let bytes = |state: &State| match state {
            State::Nowhere => [0; ENTRY],
            State::At(which) => [1 + u8::from(*which); ENTRY],
        };
        // From the last to the first: of a long page the ones that there are lie in another sector than its header.
        out.extend(self.pages.cached.get(&page).into_iter().flatten().rev().flat_map(bytes));
    }

    fn evict(&mut self, page: u64) {
        self.pages.cached.remove(&page);
    }

    fn of_read(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        let pages = at.start.0 / self.pages.entries..at.end().0.div_ceil(self.pages.entries);
        pages.filter(|page| self.pages.used[*page as usize]).for_each(each);
    }

    fn of_write(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        (at.start.0 / self.pages.entries..at.end().0.div_ceil(self.pages.entries)).for_each(each);
    }

    fn of_cleaning(&self, _: &mut dyn FnMut(u64)) {}

    fn of_place(&self, place: Pba, each: &mut dyn FnMut(u64)) {
        if place >= self.first {
            self.of_read(Extent::new(self.owner(place).0, 1), each);
        }
    }

    fn lose(&mut self, place: Pba, plan: &mut Plan) -> Result<(), TooManyLost> {
        if place < self.first {
            return Ok(());
        }
        let (lba, which) = self.owner(place);
        if self.pages.get(lba.0) == State::At(which) {
            plan.record(Record::Lost(Extent::new(lba, 1)));
            self.unmap(lba, plan);
            self.set(lba, State::Nowhere);
            self.lost.insert(Extent::new(lba, 1));
        }
        Ok(())
    }

    fn touched(&mut self, each: &mut dyn FnMut(u64, Touch)) {
        self.pages.touched.drain(..).for_each(|(page, touch)| each(page, touch));
    }

    fn fold_at(&mut self, number: u64) {
        self.pages.folds_at = Some(number);
    }

    fn awaited(&self, each: &mut dyn FnMut(u64)) {
        self.pages.late.keys().map(|at| at / self.pages.entries).for_each(each);
    }

    fn sum_up(&mut self, plan: &mut Plan) {
        for key in 0..self.pages.notes() {
            if std::mem::take(&mut self.pages.changed[key as usize]) {
                plan.record(self.pages.note(key));
            }
        }
    }

    fn missed(&self) -> bool {
        self.pages.missed.get()
    }

    fn consistent(&self) -> Result<(), Corrupt> {
        Ok(())
    }
}
