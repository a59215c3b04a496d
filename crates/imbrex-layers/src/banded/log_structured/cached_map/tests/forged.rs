//! Pages that are whole and say what cannot be, and counts that contradict them.

use super::runner::Case;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::contents::Contents;
use imbrex_core::layer::{CachedMap, Condition, Freed, HomePage, Pressure, Step};
use imbrex_core::layer::{TooManyLost, TranslationLayer, UnitReport, UnitState, Write};
use imbrex_core::plan::{Op, Plan, Record};

const BANDS: u32 = 12;
const BAND: u32 = 8;
/// Entries of a page.
const ENTRIES: u64 = 4;
/// What is not set.
const NOT: u64 = (1 << 40) - 1;

fn case(layer: &'static str) -> Case {
    Case {
        layer,
        bands: BANDS,
        band: BAND,
        spare_bands: 1,
        compact_bands: 1,
        step_blocks: 4,
        // Those of blocks have a time too where that counts.
        entries: ENTRIES as u32 * if layer == "sepbit" { 2 } else { 1 },
        pages: 40,
        spares_ram: false,
        seed: 1,
        is_fragile: false,
        is_quiet: true,
        fields: "",
    }
}

fn made(layer: &'static str) -> Box<dyn TranslationLayer> {
    case(layer).make()
}

/// A log whose bands are written so far, of which as many blocks are counted, and all of whose pages were used.
fn log(layer: &'static str, written: &[(u32, u32)]) -> Box<dyn TranslationLayer> {
    let mut log = made(layer);
    for &(band, live) in written {
        log.apply(&Record::Note { key: band, value: live.into() }).unwrap();
    }
    let pages = pages(log.as_mut()).count();
    for number in 0..pages.div_ceil(64) {
        let used = (pages - 64 * number).min(64);
        let value = if used == 64 { u64::MAX } else { (1 << used) - 1 };
        log.apply(&Record::Note { key: BANDS + number as u32, value }).unwrap();
    }
    log
}

fn begin(log: &mut dyn TranslationLayer, pointers: &[u32]) -> Result<(), String> {
    let unit = |band: usize| {
        let pointer = pointers.get(band).copied().unwrap_or_default();
        UnitState { condition: Condition::Sequential, pointer }
    };
    let report = UnitReport { devices: vec![Vec::new(), (0..BANDS as usize).map(unit).collect()] };
    log.recovered(&report, &mut Plan::new()).map_err(|corrupt| corrupt.0)
}

fn pages(log: &mut dyn TranslationLayer) -> &mut dyn CachedMap {
    log.cached_map_mut().unwrap()
}

fn put(log: &mut dyn TranslationLayer, page: u64, values: &[u64]) -> Result<bool, String> {
    let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()[..5].to_owned()).collect();
    let home = HomePage { content: &content, version: 9, is_of_epoch: true };
    pages(log).put(page, Some(home)).map_err(|corrupt| corrupt.0)
}

/// Puts all pages: blocks from 0 on lie at the places, and places are held by `holders`, from the first on.
fn put_all(log: &mut dyn TranslationLayer, places: &[u64], holders: &[u64]) {
    let of_blocks = log.capacity().div_ceil(ENTRIES);
    let part = |values: &[u64], page: u64| -> Vec<u64> {
        let at = |entry: u64| values.get((page * ENTRIES + entry) as usize).copied().unwrap_or(NOT);
        (0..ENTRIES).map(at).collect()
    };
    for page in 0..pages(log).count() {
        let values = page.checked_sub(of_blocks).map_or_else(|| part(places, page), |page| part(holders, page));
        put(log, page, &values).unwrap();
    }
}

#[test]
fn a_page_that_says_what_cannot_be_is_refused() {
    let mut log = log("log-greedy", &[(0, 2), (1, 8)]);
    begin(log.as_mut(), &[5, 8]).unwrap();
    let (capacity, places) = (log.capacity(), u64::from(BANDS * BAND));
    let of_slots = capacity.div_ceil(ENTRIES);
    put(log.as_mut(), 1, &[4, 15, NOT, 14]).unwrap();
    put(log.as_mut(), of_slots, &[capacity - 1, 0, NOT, NOT]).unwrap();
    for (page, values, named) in [
        (0, [4, 5, NOT, NOT], "page 0 of the map puts block 1 at place 5 of the bands, where nothing is written"),
        (2, [NOT, NOT, NOT, 16], "page 2 of the map puts block 11 at place 16 of the bands, where nothing is"),
        (0, [places, NOT, NOT, NOT], "page 0 of the map puts block 0 at place 96 of the bands, where no band is"),
        (0, [NOT, NOT, NOT - 1, NOT], "block 2 at place 1099511627774 of the bands, where no band is"),
    ] {
        let why = put(log.as_mut(), page, &values).unwrap_err();
        assert!(why.contains(named) && !pages(log.as_mut()).has(page), "{why}");
    }
    let why = put(log.as_mut(), of_slots + 1, &[NOT, capacity, NOT, NOT]).unwrap_err();
    assert!(why.contains(&format!("place 5 of the bands was written with block {capacity}, beyond")), "{why}");
    assert!(!pages(log.as_mut()).has(of_slots + 1));
    let why = put(log.as_mut(), 0, &[4, NOT, NOT]).unwrap_err();
    assert!(why.contains("page 0 of the map has 15 bytes, and its entries take 20"), "{why}");
    // What is behind the last entry of the last page is nobody's.
    let last = of_slots - 1;
    let mut values = [NOT; ENTRIES as usize];
    values[(capacity - last * ENTRIES) as usize..].fill(places);
    assert!(capacity % ENTRIES > 0 && put(log.as_mut(), last, &values).is_ok());
    pages(log.as_mut()).put(0, None).unwrap();
    log.check().unwrap();
}

#[test]
fn a_page_that_is_put_before_the_drive_has_reported_is_verified_then() {
    let mut log = log("log-greedy", &[(0, 1)]);
    put(log.as_mut(), 0, &[5, NOT, NOT, NOT]).unwrap();
    assert!(put(log.as_mut(), 1, &[u64::from(BANDS * BAND), NOT, NOT, NOT]).is_err());
    assert!(begin(log.as_mut(), &[5]).unwrap_err().contains("contradict the drive"));
}

/// Writes block after block until the log says that it contradicts itself; whether it does.
fn contradicts(log: &mut dyn TranslationLayer, lbas: impl IntoIterator<Item = u64>) -> bool {
    let mut plan = Plan::new();
    for lba in lbas {
        let at = Extent::new(Lba(lba), 1);
        for _ in 0..1000 {
            plan.clear();
            let is_done = log.write(Write::from(at), &mut plan) > 0;
            if !is_done {
                assert_ne!(log.clean(Pressure::Blocked(at), &[], &mut plan), Step::Nothing);
            }
            let resets = plan.ops().iter().filter_map(|op| if let Op::Reset(unit) = op { Some(*unit) } else { None });
            for unit in resets {
                let first = Pba::disk(u64::from(unit.index * BAND));
                log.freed(Extent::new(first, BAND), Freed::GivenUp);
            }
            let Some(Contents::Bands(bands)) = log.contents() else { panic!("it is a log") };
            assert!(bands.iter().all(|band| band.live <= BAND && band.dead <= BAND));
            if pages(log).consistent().is_err() {
                return true;
            }
            if is_done {
                break;
            }
        }
    }
    false
}

#[test]
fn more_blocks_than_are_counted_are_told() {
    for layer in ["log-greedy", "log-fifo", "log-choices"] {
        let begun = |live| {
            let mut log = log(layer, &[(0, live)]);
            begin(log.as_mut(), &[BAND]).unwrap();
            put_all(log.as_mut(), &[0, 1, 2], &[0, 1, 2]);
            log
        };
        assert!(!contradicts(begun(3).as_mut(), 0..3), "{layer}");
        let mut log = begun(2);
        assert!(contradicts(log.as_mut(), 0..3), "{layer}");
        let why = pages(log.as_mut()).consistent().unwrap_err().0;
        assert!(why.contains("band 0 contradicts the map"), "{why}");
    }
}

/// Every block lies at the place of its number, and as many of band 3 are counted.
fn filled(layer: &'static str, counted: u32) -> (Box<dyn TranslationLayer>, u64) {
    let capacity = made(layer).capacity();
    let written: Vec<u32> =
        (0..BANDS).map(|band| (capacity.saturating_sub(u64::from(band * BAND)) as u32).min(BAND)).collect();
    let count = |(band, live): (u32, &u32)| (band, if band == 3 { counted } else { *live });
    let counts: Vec<(u32, u32)> = (0..BANDS).zip(&written).map(count).collect();
    let mut log = log(layer, &counts);
    begin(log.as_mut(), &written).unwrap();
    let all: Vec<u64> = (0..capacity).collect();
    put_all(log.as_mut(), &all, &all);
    (log, capacity)
}

/// All blocks but those of band 3, over and over, in an order that leaves some of each band.
fn others(capacity: u64) -> impl Iterator<Item = u64> {
    (0..4000u64).map(move |turn| turn * 7 % capacity).filter(|lba| !(24..32).contains(lba))
}

#[test]
fn blocks_that_compaction_finds_beside_those_that_are_counted_are_told() {
    for layer in ["log-fifo", "log-choices"] {
        let (mut log, capacity) = filled(layer, BAND);
        assert!(!contradicts(log.as_mut(), others(capacity)), "{layer}");
        let (mut log, capacity) = filled(layer, BAND - 2);
        assert!(contradicts(log.as_mut(), others(capacity)), "{layer} counts too few");
    }
}

#[test]
fn blocks_that_are_counted_and_that_compaction_does_not_find_are_told() {
    let (mut log, capacity) = filled("log-fifo", BAND);
    let page = log.capacity().div_ceil(ENTRIES) + u64::from(3 * BAND) / ENTRIES;
    // Somebody else is said to hold two of its places.
    pages(log.as_mut()).evict(page);
    put(log.as_mut(), page, &[24, 25, 0, 1]).unwrap();
    assert!(contradicts(log.as_mut(), others(capacity)));
}

#[test]
fn times_that_are_still_to_come_count_as_none() {
    let mut log = log("sepbit", &[(0, 2)]);
    begin(log.as_mut(), &[4]).unwrap();
    let of_slots = log.capacity().div_ceil(ENTRIES);
    put(log.as_mut(), 0, &[0, 1, NOT, NOT, 77, 1 << 39, 0, 0]).unwrap();
    for page in 1..pages(log.as_mut()).count() {
        if page < of_slots {
            pages(log.as_mut()).put(page, None).unwrap();
        } else {
            put(log.as_mut(), page, &[NOT; 2 * ENTRIES as usize]).unwrap();
        }
    }
    assert!(!contradicts(log.as_mut(), [0, 1, 2]));
}

#[test]
fn no_more_blocks_are_lost_than_a_journal_has_room_for() {
    const MOST: u32 = 4096;
    let entries = 2048;
    let case = Case { band: 1024, entries, ..case("log-greedy") };
    let mut log = case.make();
    let (last, of_slots) = (Lba(log.capacity() - 1), log.capacity().div_ceil(entries.into()));
    assert!(last.0 > MOST.into());
    let page = last.0 / u64::from(entries);
    for record in [
        Record::Note { key: 0, value: 1 },
        Record::Note { key: BANDS, value: 1 << page | 1 << of_slots },
        Record::Lost(Extent::new(Lba(0), MOST)),
    ] {
        log.apply(&record).unwrap();
    }
    begin(log.as_mut(), &[1024]).unwrap();
    let one = |at: u64, value: u64| {
        let mut values = vec![NOT; entries as usize];
        values[at as usize] = value;
        values
    };
    put(log.as_mut(), page, &one(last.0 - page * u64::from(entries), 0)).unwrap();
    put(log.as_mut(), of_slots, &one(0, last.0)).unwrap();
    pages(log.as_mut()).put(0, None).unwrap();
    let mut plan = Plan::new();
    let mut lost = |log: &mut dyn TranslationLayer| {
        plan.clear();
        let lost = pages(log).lose(Pba::disk(0), &mut plan);
        (lost, plan.ops().len())
    };
    assert_eq!(lost(log.as_mut()), (Err(TooManyLost(MOST.into())), 0));
    assert_eq!(log.trim(Extent::new(Lba(7), 1), &mut Plan::new()), 1);
    assert_eq!(lost(log.as_mut()), (Ok(()), 1));
    let (mut records, mut from) = (Plan::new(), Some(0));
    while let Some(region) = from {
        from = log.checkpoint(region, &mut records);
    }
    assert!(records.ops().len() as u64 <= log.facts().journal.records);
}
