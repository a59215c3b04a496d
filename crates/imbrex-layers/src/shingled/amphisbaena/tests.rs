//! The layer as a whole: stopped collections, crashes, and what a wrong state says.

use super::counters;
use super::*;
use imbrex_core::block::{Access, Pba};
use imbrex_core::layer::{Condition, Freed, Pressure, TranslationLayer, UnitReport, UnitState};
use imbrex_core::plan::{Event, Op, Record, Unit};
use imbrex_core::samples::ample_space;
use imbrex_core::space::Zones;

/// Sequential zones behind as many conventional blocks as one of them has.
const ZONES: Zones = Zones { first: Unit::disk(1), count: 9, zone_blocks: 64 };

struct Run {
    layer: ZoneBuffer<Amphisbaena>,
    records: Vec<Record>,
    counts: Vec<(Event, u32)>,
}

impl Run {
    fn new(slots: u32, config: &str) -> Self {
        let space = Space {
            conventional: Pba::disk(0),
            conventional_blocks: u64::from(ZONES.zone_blocks),
            zones: Some(ZONES),
            bands: None,
            tracks: None,
            realms: None,
            home: None,
            buffer_blocks: slots,
            spares_ram: false,
            map_cache: None,
        };
        let layer = build(&space, &config.parse().unwrap()).unwrap();
        Self { layer, records: Vec::new(), counts: Vec::new() }
    }

    fn begun(slots: u32, config: &str) -> Self {
        let mut run = Self::new(slots, config);
        run.recover(&[], &run.report()).unwrap();
        run
    }

    /// What the drive would report.
    fn report(&self) -> UnitReport {
        let conventional = UnitState { condition: Condition::Conventional, pointer: ZONES.zone_blocks };
        let zone = |z| UnitState { condition: Condition::Sequential, pointer: self.layer.zones.pointer(z) };
        let disk = std::iter::once(conventional).chain((0..ZONES.count).map(zone)).collect();
        UnitReport { devices: vec![Vec::new(), disk] }
    }

    fn recover(&mut self, records: &[Record], report: &UnitReport) -> Result<(), Corrupt> {
        records.iter().try_for_each(|record| self.layer.apply(record))?;
        let mut plan = Plan::new();
        self.layer.recovered(report, &mut plan)?;
        self.perform(&plan);
        Ok(())
    }

    fn perform(&mut self, plan: &Plan) {
        for op in plan.ops() {
            match *op {
                Op::Record { record, .. } => self.records.push(record),
                Op::Count(event, times) => self.counts.push((event, times)),
                Op::Free(space) => self.layer.freed(space, Freed::GivenUp),
                Op::Reset(unit) => self.layer.freed(ZONES.extent(ZONES.index(unit).unwrap()), Freed::GivenUp),
                Op::Move { .. } => {}
            }
        }
        self.layer.check().unwrap();
    }

    fn counted(&self, event: Event) -> u32 {
        self.counts.iter().filter(|(counted, _)| *counted == event).map(|(_, times)| times).sum()
    }

    fn write(&mut self, at: u64, blocks: u32, waiting: &[Request]) {
        let mut rest = Extent::new(Lba(at), blocks);
        while !rest.is_empty() {
            let mut plan = Plan::new();
            let took = self.layer.write(rest.into(), &mut plan);
            self.perform(&plan);
            rest = rest.skip(took);
            if took == 0 {
                self.make_room(rest, waiting);
            }
        }
    }

    fn make_room(&mut self, rest: Extent<Lba>, waiting: &[Request]) {
        loop {
            let mut plan = Plan::new();
            let step = self.layer.clean(Pressure::Blocked(rest), waiting, &mut plan);
            self.perform(&plan);
            match step {
                Step::Done => return,
                Step::More => {}
                other => panic!("{other:?} with every Free performed"),
            }
        }
    }

    /// Writes of one to four blocks, half of them to a few places.
    fn write_mix(&mut self, writes: u64) {
        (1..=writes).for_each(|number| self.write_of_mix(number));
    }

    fn write_of_mix(&mut self, number: u64) {
        let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let range = if random >> 63 == 0 { 40 } else { 500 };
        self.write((random >> 20) % range, 1 + (random >> 8) as u32 % 4, &[]);
    }

    /// The loans of the first chunks as the records have them.
    fn recorded_loans(&self) -> u64 {
        let loans = self.records.iter().rev().find_map(|record| match *record {
            Record::Note { key: 0, value } => Some(value),
            _ => None,
        });
        loans.unwrap_or(0)
    }
}

fn waiting_at(at: u64, access: Access) -> Request {
    Request { access, at: Extent::new(Lba(at), 1) }
}

#[test]
fn a_waiting_write_to_the_zone_stops_its_collection() {
    let evicted = |config: &str, waiting: &[Request]| {
        let mut run = Run::begun(16, config);
        // The first request is hot, those after it are larger than the mean: six chunks of zone 1, and one too many.
        run.write(0, 1, &[]);
        (0..7).for_each(|chunk| run.write(64 + 4 * chunk, 2, waiting));
        let stopped = run.counted(counters::COLLECTION_STOPPED);
        (run.counted(counters::CHUNK_EVICTED), run.counted(Event::Evicted), stopped, run.counted(Event::RmwFree))
    };
    let config = "chunk_blocks = 2";
    assert_eq!(evicted(config, &[]), (6, 12, 0, 1));
    let to_zone = [waiting_at(10, Access::Write), waiting_at(100, Access::Write)];
    assert_eq!(evicted(config, &to_zone), (1, 2, 1, 1));
    assert_eq!(evicted(config, &[waiting_at(100, Access::Read), waiting_at(10, Access::Write)]), (6, 12, 0, 1));
    assert_eq!(evicted("chunk_blocks = 2\nleast_collected = 4", &to_zone), (4, 8, 1, 1));
    assert_eq!(evicted("chunk_blocks = 2\ncheckpoints = false", &to_zone), (6, 12, 0, 1));
}

#[test]
fn after_a_crash_loans_stay_and_roles_begin_anew() {
    let config = "chunk_blocks = 2\nperiod = 20\nlambda = 0.3";
    let mut before = Run::begun(40, config);
    before.write_mix(3000);
    assert!(before.counted(counters::CHUNK_TO_HOT) > 10 && before.counted(counters::CHUNK_TO_COLD) > 10);
    let (hot, first) = (before.layer.policy.chunks.hot(), before.layer.policy.chunks.split().first_hot);
    assert!(hot > first, "something is borrowed");

    let mut checkpoint = Plan::new();
    let mut from = Some(0);
    while let Some(cursor) = from {
        from = before.layer.checkpoint(cursor, &mut checkpoint);
    }
    let checkpoint = checkpoint.ops().iter().filter_map(|op| match op {
        Op::Record { record, .. } => Some(*record),
        _ => None,
    });
    for records in [before.records.clone(), checkpoint.collect()] {
        let mut after = Run::new(40, config);
        after.recover(&records, &before.report()).unwrap();
        after.layer.check().unwrap();
        let (was, is) = (&before.layer.policy, &after.layer.policy);
        assert_eq!(is.chunks.hot(), was.chunks.hot());
        let owners = |policy: &Amphisbaena| (0..40).map(|slot| policy.table().owner(slot)).collect::<Vec<_>>();
        assert_eq!(owners(is), owners(was));
        let held: Vec<u32> =
            (0..40).filter(|&slot| !is.chunks.is_cold(slot) && is.table().owner(slot).is_some()).collect();
        let most_sup = 2 * hot - (0.3 * f64::from(2 * hot)).round() as u32;
        let lup: Vec<u32> = held.iter().copied().filter(|&slot| is.roles.may_leave(slot)).collect();
        assert_eq!(lup, held[held.len().min(most_sup as usize)..], "SUP as long as there may be, by slot");
        after.write_mix(100);
    }
}

#[test]
fn every_loan_and_every_return_is_recorded() {
    let mut run = Run::begun(40, "chunk_blocks = 2\nperiod = 20\nlambda = 0.3");
    for number in 1..=3000 {
        run.write_of_mix(number);
        assert_eq!(run.recorded_loans(), run.layer.policy.chunks.loans(0).unwrap_or(0), "after write {number}");
    }
    assert!(run.counted(counters::CHUNK_TO_HOT) > 10 && run.counted(counters::CHUNK_TO_COLD) > 10);
}

#[test]
fn a_block_where_it_cannot_lie_is_refused() {
    let map = |at: u64, to: u64| Record::Map { at: Extent::new(Lba(at), 1), to: Pba::disk(to) };
    let refused = |records: &[Record]| {
        let mut run = Run::new(40, "chunk_blocks = 10");
        run.recover(records, &Run::new(40, "").report()).map_err(|error| error.0)
    };
    assert_eq!(refused(&[map(7, 3), map(11, 31), map(18, 38)]), Ok(()));
    assert!(refused(&[map(11, 32)]).unwrap_err().starts_with("slot 32 holds L11"));
    assert!(refused(&[map(11, 31), map(22, 32)]).unwrap_err().starts_with("slot 32 holds L22"));
    assert!(refused(&[map(11, 21), map(12, 32)]).unwrap_err().starts_with("slot 32 holds L12"));
    let note = |key, value| Record::Note { key, value };
    assert_eq!(refused(&[note(0, 0b1000), map(11, 32)]), Ok(()), "the chunk is borrowed");
    assert!(
        refused(&[note(0, 0b1_0000)]).is_err() && refused(&[note(0, 1)]).is_err() && refused(&[note(1, 0)]).is_err()
    );
}

#[test]
fn a_limit_above_all_that_can_be_listed_is_none() {
    for most in ["99999999999.0", "1e300", "inf"] {
        let config = format!("most_remembered = {most}").parse().unwrap();
        assert!(INFO.build(&ample_space(), &config).is_ok(), "{most}");
    }
}
