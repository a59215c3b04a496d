//! A small log that has a cache of pages of its map: what volumes do for such layers is tested with it.
//!
//! It appends to the sequential zones, and has no cleaning. A page says where [`PER_PAGE`] blocks lie.

use std::collections::{BTreeMap, BTreeSet};

use imbrex::block::{Address, Extent, Lba, Pba, Request};
use imbrex::layer::{
    CachedMap, Corrupt, Facts, Freed, HomePage, JournalFacts, MapCache, Pressure, Step, TooManyLost, Touch,
    TranslationLayer, UnitReport, Violation, Write,
};
use imbrex::layers::{ConfigError, LayerInfo};
use imbrex::memory::Memory;
use imbrex::plan::{Place, Plan, Record, Why};
use imbrex::recording::Recording;
use imbrex::space::{Space, Zones};

/// Blocks of a page.
pub const PER_PAGE: u64 = 64;

/// The layer.
pub static INFO: LayerInfo = LayerInfo {
    name: "paged-log",
    family: None,
    source: "a test",
    summary: "Appends, and has a cache of its map.",
    recording: Recording::Zoned,
    buffered: false,
    fields: &[],
    make: &|space, _| Ok(Box::new(PagedLog::new(space)?)),
};

/// Where the blocks of a page lie, as raw places; 0 for nowhere.
type Page = [u64; PER_PAGE as usize];

struct PagedLog {
    zones: Zones,
    next: u64,
    map: Pages,
}

#[derive(Default)]
struct Pages {
    cache: Option<MapCache>,
    count: u64,
    cached: BTreeMap<u64, Page>,
    /// Pages that ever held anything.
    known: BTreeSet<u64>,
    /// Blocks and places that wait for a page, with the numbers of their records.
    waiting: BTreeMap<u64, Vec<(u64, u64, u64)>>,
    number: u64,
    touched: Vec<(u64, Touch)>,
    missed: bool,
}

impl PagedLog {
    fn new(space: &Space) -> Result<Self, ConfigError> {
        let lacks = |reason: &str| ConfigError::Space { layer: INFO.name, reason: reason.to_owned() };
        let zones = space.zones.ok_or_else(|| lacks("it needs zones"))?;
        let cache = Some(space.map_cache.ok_or_else(|| lacks("it needs a cache of its map"))?);
        let count = (u64::from(zones.count) * u64::from(zones.zone_blocks)).div_ceil(PER_PAGE);
        Ok(Self { zones, next: 0, map: Pages { cache, count, ..Pages::default() } })
    }

    fn all(&self) -> u64 {
        u64::from(self.zones.count) * u64::from(self.zones.zone_blocks)
    }
}

impl Pages {
    fn set(&mut self, lba: u64, place: u64) {
        let (page, at) = (lba / PER_PAGE, lba % PER_PAGE);
        self.known.insert(page);
        match self.cached.get_mut(&page) {
            Some(cached) => cached[at as usize] = place,
            None => self.waiting.entry(page).or_default().push((self.number, at, place)),
        }
    }

    fn missing(at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        (at.start.0 / PER_PAGE..=(at.end().0 - 1) / PER_PAGE).for_each(each);
    }
}

impl TranslationLayer for PagedLog {
    fn facts(&self) -> Facts {
        let pages = self.map.cache.map_or(0, |cache| u64::from(cache.pages) * u64::from(cache.page_bytes));
        let journal = JournalFacts { records: self.map.count, ..JournalFacts::default() };
        Facts { journal, memory: Memory { empty: 0, most: pages }, ..Facts::default() }
    }

    fn capacity(&self) -> u64 {
        self.all() / 2
    }

    fn cached_map(&self) -> Option<&dyn CachedMap> {
        Some(&self.map)
    }

    fn cached_map_mut(&mut self) -> Option<&mut dyn CachedMap> {
        Some(&mut self.map)
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        for (host, lba) in (0..).zip(at.iter()) {
            let page = self.map.cached.get(&(lba.0 / PER_PAGE));
            assert!(page.is_some() || !self.map.known.contains(&(lba.0 / PER_PAGE)), "the page of {lba:?} is missing");
            let from = match page.map_or(0, |page| page[(lba.0 % PER_PAGE) as usize]) {
                0 => Place::Zero,
                place => Place::At(Pba::from_raw(place)),
            };
            plan.copy(from, Place::Host(host), 1, Why::Host);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        if self.next == self.all() {
            return 0;
        }
        let page = at.start.0 / PER_PAGE;
        if !self.map.cached.contains_key(&page) {
            self.map.missed |= self.map.known.contains(&page);
            self.map.cached.insert(page, [0; PER_PAGE as usize]);
            plan.record(Record::Note { key: page as u32, value: 1 });
        }
        self.map.touched.push((page, Touch::Change));
        let to = self.zones.block(0, 0).plus(self.next);
        self.next += 1;
        plan.copy(Place::Host(0), Place::At(to), 1, Why::Host);
        let record = Record::Map { at: at.first(1), to };
        plan.record(record);
        self.map.set(at.start.0, to.to_raw());
        1
    }

    fn trim(&mut self, at: Extent<Lba>, _: &mut Plan) -> u32 {
        at.blocks
    }

    fn clean(&mut self, _: Pressure, _: &[Request], _: &mut Plan) -> Step {
        Step::Nothing
    }

    fn freed(&mut self, _: Extent<Pba>, _: Freed) {}

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, to } => {
                at.iter().zip(0..).for_each(|(lba, block)| self.map.set(lba.0, to.plus(block).to_raw()));
            }
            Record::Note { key, .. } => drop(self.map.known.insert(key.into())),
            _ => return Err(Corrupt(format!("a log has no {record:?}"))),
        }
        Ok(())
    }

    fn recovered(&mut self, units: &UnitReport, _: &mut Plan) -> Result<(), Corrupt> {
        let first = self.zones.first.index as usize;
        let zones = &units.devices[1][first..first + self.zones.count as usize];
        let used = zones.iter().rposition(|zone| zone.pointer > 0);
        let blocks = u64::from(self.zones.zone_blocks);
        self.next = used.map_or(0, |zone| zone as u64 * blocks + u64::from(zones[zone].pointer));
        Ok(())
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let notes = self.map.known.range(from..).take(100);
        notes.clone().for_each(|page| plan.record(Record::Note { key: *page as u32, value: 1 }));
        notes.last().map(|page| page + 1)
    }

    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}

impl CachedMap for Pages {
    fn count(&self) -> u64 {
        self.count
    }

    fn cached(&self) -> usize {
        self.cached.len()
    }

    fn has(&self, page: u64) -> bool {
        self.cached.contains_key(&page)
    }

    fn is_blank(&self, page: u64) -> bool {
        !self.known.contains(&page)
    }

    fn put(&mut self, page: u64, home: Option<HomePage<'_>>) -> Result<bool, Corrupt> {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let mut put: Page = [0; PER_PAGE as usize];
        let version = home.map_or(0, |home| {
            put.iter_mut().zip(home.content.chunks(8)).for_each(|(place, bytes)| *place = number(bytes));
            home.version
        });
        let waiting = self.waiting.remove(&page).unwrap_or_default().into_iter();
        let newer: Vec<_> = waiting.filter(|(number, ..)| *number >= version).collect();
        newer.iter().for_each(|(_, at, place)| put[*at as usize] = *place);
        assert!(self.cached.insert(page, put).is_none(), "page {page} is there already");
        let most = self.cache.map_or(0, |cache| cache.pages as usize);
        assert!(self.cached.len() <= most, "more than {most} pages are in memory");
        Ok(!newer.is_empty())
    }

    fn content(&self, page: u64, out: &mut Vec<u8>) {
        self.cached[&page].iter().for_each(|place| out.extend(place.to_le_bytes()));
    }

    fn evict(&mut self, page: u64) {
        assert!(self.cached.remove(&page).is_some(), "page {page} is not there");
    }

    fn of_read(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        Self::missing(at, each);
    }

    fn of_write(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        Self::missing(at.first(1), each);
    }

    fn of_cleaning(&self, _: &mut dyn FnMut(u64)) {}

    fn of_place(&self, _: Pba, _: &mut dyn FnMut(u64)) {}

    fn lose(&mut self, _: Pba, _: &mut Plan) -> Result<(), TooManyLost> {
        Ok(())
    }

    fn touched(&mut self, each: &mut dyn FnMut(u64, Touch)) {
        self.touched.drain(..).for_each(|(page, touch)| each(page, touch));
    }

    fn fold_at(&mut self, number: u64) {
        self.number = number;
    }

    fn awaited(&self, each: &mut dyn FnMut(u64)) {
        self.waiting.keys().copied().for_each(each);
    }

    fn sum_up(&mut self, _: &mut Plan) {}

    fn missed(&self) -> bool {
        self.missed
    }

    fn consistent(&self) -> Result<(), Corrupt> {
        Ok(())
    }
}
