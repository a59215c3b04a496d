use std::sync::{Arc, Mutex};

use super::*;
use crate::replay::lookahead::Pending;
use crate::replay::{ReplayOptions, Scheduler, Timing, disk, space};
use imbrex_core::block::{Access, Address, Request};
use imbrex_core::drive::DrivePreset;
use imbrex_core::layer::{Condition, Unwritten};
use imbrex_core::media::Conventional;
use imbrex_core::plan::Record;
use imbrex_core::recording::Recording;
use imbrex_core::space::{Realms, Space};
use imbrex_layers::find;

/// Takes a nanosecond for an access and notes it: first block, blocks, whether it writes.
struct Noted(Arc<Mutex<Vec<(u64, u64, bool)>>>);

impl Timing for Noted {
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64 {
        self.0.lock().unwrap().push((first_sector / 8, sectors / 8, write));
        now_ns + 1
    }

    fn positioning_ns(&self, _: u64, _: u64, _: bool) -> u64 {
        0
    }
}

/// The accesses of a plan that exchanges blocks 50 and 60.
fn swap(journal: Option<Journal>, scheduler: Scheduler) -> Vec<(u64, u64, bool)> {
    let accesses = Arc::new(Mutex::new(Vec::new()));
    let media = Box::new(Conventional::new(Pba::DISK, 100));
    let disk = Device::new(media, Box::new(Noted(Arc::clone(&accesses))), 4096);
    let space = space(&disk, 0, &ReplayOptions::default()).unwrap();
    let mut layer = find("conventional").unwrap().build(&space, &toml::Table::new()).unwrap();
    let mut machine = Machine::new(disk, 1, journal, Some(Content::new(Pba::DISK, Unwritten::Zeros)));
    machine.scheduled = QueueState::new(scheduler, 32);
    let mut plan = Plan::new();
    let (a, b, ram) = (Place::At(Pba::disk(50)), Place::At(Pba::disk(60)), Place::At(Pba::ram(0)));
    plan.copy(a, ram, 1, Why::Swap);
    plan.redo_copy(b, a, 1, Why::Swap);
    plan.redo_copy(ram, b, 1, Why::Swap);
    plan.redo_record(Record::Map { at: Extent::new(Lba(0), 1), to: Pba::disk(50) });
    machine.perform(&mut *layer, &plan, Host::Nobody).unwrap();
    machine.drain().unwrap();
    assert_eq!((machine.counters.read[Why::Swap as usize], machine.counters.written[Why::Swap as usize]), (2, 2));
    let accesses = accesses.lock().unwrap().clone();
    assert_eq!(machine.now_ns, accesses.len() as u64);
    accesses
}

#[test]
fn a_redo_plan_is_journaled_between_its_reads_and_its_writes() {
    for scheduler in [Scheduler::Fcfs, Scheduler::CLook, Scheduler::Sptf] {
        let exchanged = [(50, 1, false), (60, 1, false), (50, 1, true), (60, 1, true)];
        assert_eq!(swap(None, scheduler), exchanged);
        // Two images and a record take three blocks.
        let journal = Journal::new(Pba::disk(0), 16, 1000, 4096, 191);
        let journaled = [(50, 1, false), (60, 1, false), (0, 3, true), (50, 1, true), (60, 1, true)];
        assert_eq!(swap(Some(journal), scheduler), journaled);
    }
}

/// A machine on the tiny hybrid disk, and its realms.
fn hybrid(scheduler: Scheduler) -> (Machine, Realms) {
    let disk = disk(&DrivePreset::named("tiny-hybrid").unwrap(), Recording::Hybrid).unwrap();
    let realms = disk.media().realms().unwrap();
    let mut machine = Machine::new(disk, 1, None, Some(Content::new(Pba::DISK, Unwritten::Zeros)));
    machine.scheduled = QueueState::new(scheduler, 32);
    (machine, realms)
}

/// Performs what `plan` adds to a plan, to its end.
fn done(machine: &mut Machine, host: Host, plan: impl FnOnce(&mut Plan)) -> Result<(), Box<Fault>> {
    let elsewhere = Space::of(&Conventional::new(Pba::DISK, 100), 0);
    let mut layer = find("conventional").unwrap().build(&elsewhere, &toml::Table::new()).unwrap();
    let mut made = Plan::new();
    plan(&mut made);
    let at = Extent::new(Lba(7), 1);
    let request = Request { access: Access::Read, at };
    let outer = machine.open(Pending { request, arrival_ns: 0, number: 1, bytes: 4096 });
    if matches!(host, Host::Reads(_)) {
        machine.expect(at);
    }
    machine.perform(&mut *layer, &made, host)?;
    outer.map_or(Ok(()), |outer| machine.close(outer))?;
    machine.drain()
}

#[test]
fn an_activation_takes_its_time_and_its_turn() {
    for scheduler in [Scheduler::Fcfs, Scheduler::CLook, Scheduler::Sptf] {
        let (mut machine, realms) = hybrid(scheduler);
        let [wide, narrow] = [realms.conventional(3).start, realms.sequential(3).start].map(Place::At);
        done(&mut machine, Host::Nobody, |plan| {
            plan.copy(Place::Zero, wide, 1, Why::Migrate);
            plan.copy(wide, Place::At(Pba::ram(0)), 1, Why::Migrate);
            plan.reset(realms.to_sequential(3));
            plan.copy(Place::At(Pba::ram(0)), narrow, 1, Why::Migrate);
        })
        .unwrap();
        let times = realms.times;
        assert_eq!((machine.counters.resets, times.activation_ns), (1, 50_000_000));
        let longest = times.activation_ns + 3 * (times.positioning_ns + times.block_ns);
        assert!((times.activation_ns..longest).contains(&machine.now_ns), "{scheduler:?}: {} ns", machine.now_ns);
        assert!(machine.disk.busy_ns() >= times.activation_ns);
        let before = machine.now_ns;
        done(&mut machine, Host::Nobody, |plan| plan.reset(realms.zones().unit(realms.sequential_of(3).start)))
            .unwrap();
        assert_eq!(machine.now_ns, before, "the reset of a zone moves its pointer");
    }
}

#[test]
fn what_an_activation_destroyed_is_not_read_again() {
    for scheduler in [Scheduler::Fcfs, Scheduler::Sptf] {
        // The host writes a block; spans are activated; it reads the place again.
        let read_after = |activated: fn(&Realms, &mut Plan)| {
            let (mut machine, realms) = hybrid(scheduler);
            let (lba, wide) = (Extent::new(Lba(7), 1), Place::At(realms.conventional(0).start.plus(9)));
            let content = machine.content.as_mut().unwrap();
            let version = content.next_version();
            content.written(lba, version);
            let write = Host::Writes(lba, version);
            done(&mut machine, write, |plan| plan.copy(Place::Host(0), wide, 1, Why::Host)).unwrap();
            done(&mut machine, Host::Nobody, |plan| activated(&realms, plan)).unwrap();
            done(&mut machine, Host::Reads(lba), |plan| plan.copy(wide, Place::Host(0), 1, Why::Host))
        };
        assert_eq!(read_after(|realms, plan| plan.reset(realms.to_sequential(1))), Ok(()), "another realm");
        let inactive = Illegal::Bad { unit: Unit::disk(2), condition: Condition::Inactive };
        assert_eq!(read_after(|realms, plan| plan.reset(realms.to_sequential(0))), Err(inactive.into()));
        let destroyed = read_after(|realms, plan| {
            plan.reset(realms.to_sequential(0));
            plan.reset(realms.to_conventional(0));
        });
        let fault = destroyed.unwrap_err();
        assert!(matches!(*fault, Fault::Mismatch { lba: Lba(7), .. }), "{scheduler:?}: {fault}");
    }
}
