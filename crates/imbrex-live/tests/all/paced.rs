//! A store at its drive's pace takes as long as the simulator says, in the order in which it is asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use imbrex::block::{Access, Address, Extent, Pba};
use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::explore::Dice;
use imbrex::layers;
use imbrex::plan::Unit;
use imbrex::replay::{Observer, ReplayOptions, ServedRequest, Setup, disk, replay};
use imbrex::trace::Workload;
use imbrex_live::image::Image;
use imbrex_live::paced::{Arm, Clock, Paced, Task};
use imbrex_live::service::{Pace, Service, ServiceOptions};
use imbrex_live::store::{Store, StoreError};
use imbrex_live::store_path;
use imbrex_live::volume::{self, FormatOptions};

const NAMES: [&str; 6] = ["small-zoned", "small-banded", "small-hybrid", "tiny-interlaced", "tiny-flash", "zonealloy"];

fn preset(name: &str) -> DrivePreset {
    DrivePreset::named(name).unwrap()
}

#[test]
fn every_operation_takes_as_long_as_in_the_simulator() {
    for name in NAMES {
        let drive = preset(name);
        let mut device = disk(&drive, drive.recording()).unwrap();
        let mut arm = Arm::of(&drive).unwrap();
        let (mut dice, mut now_ns, mut done) = (Dice::new(5), 0, [0; 3]);
        for _ in 0..20_000 {
            let unit = device.media().unit_of(Pba::disk(dice.below(drive.blocks())));
            let realms = device.media().realms();
            let unit = match realms.filter(|_| dice.below(8) == 0) {
                Some(realms) if dice.below(2) == 0 => realms.to_sequential(dice.below(realms.count.into()) as u32),
                Some(realms) => realms.to_conventional(dice.below(realms.count.into()) as u32),
                None => unit,
            };
            let space = device.media().extent_of(unit);
            let pointer = device.media().report().get(unit.index as usize).map_or(0, |state| state.pointer);
            let next = Extent::new(space.start.plus(u64::from(pointer)), 1 + dice.below(40) as u32);
            let any = Extent::new(space.start.plus(dice.below(space.blocks.into())), 1);
            let at = if dice.below(2) == 0 { next } else { any };
            // What the drive refuses is asked of neither.
            let (kind, task, expected) = match dice.below(8) {
                0 => (0, Task::Reset(unit), device.reset(unit, now_ns).ok()),
                1..5 => (1, Task::Write(at), device.write(at, now_ns).ok()),
                _ => (2, Task::Read(at), device.read(at, now_ns).ok()),
            };
            let Some(expected) = expected else { continue };
            done[kind] += 1;
            assert_eq!(arm.done_ns(task, now_ns), expected, "{name}: {task:?} at {now_ns} ns");
            now_ns = expected + dice.below(3) * 1_234_567;
        }
        assert!(done[1].min(done[2]) > 100, "{name} did {done:?}");
    }
}

/// What the simulator did, request by request.
#[derive(Default)]
struct Seen(Vec<ServedRequest>);

impl Observer for Seen {
    fn request(&mut self, request: &ServedRequest) {
        self.0.push(*request);
    }
}

#[test]
fn requests_wait_for_the_arm_as_in_the_simulator() {
    let mut workload = Workload::named("uniform").unwrap();
    workload.set_requests(3000);
    let drive = preset("conventional-7200");
    let config = toml::Table::new();
    let layer = layers::find("conventional").unwrap();
    let buffer = BufferSize::Bytes(0);
    let setup = Setup { drive: &drive, layer, config: &config, buffer, workload: &workload };
    let mut seen = Seen::default();
    let options = ReplayOptions { each_request: true, ..ReplayOptions::default() };
    replay(&setup, &options, &mut seen).unwrap();

    let mut arm = Arm::of(&drive).unwrap();
    let mut requests = Vec::new();
    workload.open().unwrap().fill(&mut requests, 3000).unwrap();
    assert_eq!(requests.len(), seen.0.len());
    let (mut waited, mut free_ns) = (0, 0);
    for (served, request) in seen.0.iter().zip(&requests) {
        let first = request.offset_bytes / u64::from(drive.block_bytes);
        let end = request.end_bytes().div_ceil(u64::from(drive.block_bytes));
        let at = Extent::new(Pba::disk(first), (end - first) as u32);
        let task = if served.access == Access::Read { Task::Read(at) } else { Task::Write(at) };
        waited += u32::from(served.arrival_ns < free_ns);
        free_ns = arm.done_ns(task, served.arrival_ns);
        assert_eq!(free_ns - served.arrival_ns, served.latency_ns, "{served:?}");
    }
    assert!(waited > 100, "only {waited} requests had to wait");
}

/// A clock that goes on when somebody waits, and remembers until when.
#[derive(Default)]
struct Told {
    now_ns: AtomicU64,
    waits: Mutex<Vec<u64>>,
}

impl Clock for &'static Told {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    fn wait_until(&self, ns: u64) {
        self.waits.lock().unwrap().push(ns);
    }
}

fn image(name: &str) -> (DrivePreset, Arc<dyn Store>) {
    let drive = preset(name);
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<std::fs::File>::len(&drive).unwrap()).unwrap();
    let image = Image::create(file, &drive).unwrap();
    (drive, Arc::new(image))
}

#[test]
fn operations_queue_on_the_arm_and_a_refused_one_answers_at_once() {
    let (drive, below) = image("small-zoned");
    let told: &'static Told = Box::leak(Box::default());
    let paced = Paced::new(below, &drive, told).unwrap();
    let mut arm = Arm::of(&drive).unwrap();
    let content = Bytes::from(vec![7; 4096]);
    let zone = paced.media().extent_of(Unit::disk(20));
    let conventional = Extent::new(Pba::disk(9), 1);
    // None of them waits for another, so all come at the same time.
    paced.write(conventional, &content).unwrap();
    paced.write(zone.first(1), &content).unwrap();
    assert_eq!(paced.read(conventional).unwrap(), content);
    paced.flush().unwrap();
    let tasks = [Task::Write(conventional), Task::Write(zone.first(1)), Task::Read(conventional), Task::Flush];
    let expected = tasks.map(|task| arm.done_ns(task, 0));
    assert!(expected.is_sorted() && expected[0] > 0 && expected[1] < expected[2] && expected[2] == expected[3]);
    assert_eq!(*told.waits.lock().unwrap(), expected);
    // Later, when the arm has been free.
    told.now_ns.store(expected[3] + 1_000_000, Ordering::Relaxed);
    let last = zone.skip(zone.blocks - 1);
    assert!(matches!(paced.write(last, &content), Err(StoreError::Illegal(_))));
    let beyond = Extent::new(Pba::disk(drive.blocks()), 1);
    assert!(paced.read(beyond).is_err());
    assert_eq!(told.waits.lock().unwrap().len(), 4, "what was refused waited");
    assert_eq!(format!("{:?}", paced.report().unwrap()), format!("{:?}", paced.media().unit_report()));
}

#[test]
fn a_served_volume_takes_at_least_its_drives_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.img");
    let drive = preset("tiny-conventional").with_capacity(64 << 20).unwrap();
    let mut prepared = store_path::prepare(&path, Some(&drive), false).unwrap();
    let layer = layers::find("conventional").unwrap();
    let config = toml::Table::new();
    let options = FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None };
    prepared.make().unwrap();
    volume::format(vec![prepared.store()], &options).unwrap();
    prepared.keep();
    let mut options = ServiceOptions { pace: Pace::Drive, ..ServiceOptions::default() };
    options.stores.push(path);
    for read_only in [false, true] {
        options.read_only = read_only;
        let service = Service::start(&options).unwrap();
        let begun = Instant::now();
        let mut bytes = [0; 4096];
        for turn in 0..16_u64 {
            // From one end to the other: each takes a seek of a ms or more beside the rotation.
            let block = if turn % 2 == 0 { 0 } else { service.engine().capacity() - 1 };
            service.engine().read_bytes(0, block * 4096, &mut bytes).unwrap();
        }
        assert!(begun.elapsed() > Duration::from_millis(16), "{:?}", begun.elapsed());
        service.stop().unwrap();
    }
}
