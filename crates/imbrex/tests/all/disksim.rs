//! The mechanics against DiskSim's numbers, the first of them and, where they are at hand, all, and against a second
//! computation in floating point. The latter also proves that every check can fail.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use imbrex::validate::{Verdict, disksim};
use tempfile::TempDir;
use test_material::beside;

/// The checks that fail; at least one must have been made.
fn failed(dir: &Path) -> Vec<String> {
    let rows = disksim(dir).unwrap();
    assert!(rows.iter().any(|row| row.verdict == Verdict::Pass));
    rows.into_iter().filter(|row| row.verdict == Verdict::Fail).map(|row| row.check).collect()
}

/// The checks of the measurements at `dir`, none of which may fail or be skipped.
fn all_pass(dir: &Path) -> Vec<String> {
    let rows = disksim(dir).unwrap();
    let others = rows.iter().filter(|row| row.verdict != Verdict::Pass);
    assert_eq!(others.map(|row| &row.check).collect::<Vec<_>>(), [""; 0]);
    rows.into_iter().map(|row| row.check).collect()
}

#[test]
fn the_first_requests_agree() {
    let checks = all_pass(&test_material::disksim());
    let of = |what: &str| checks.iter().filter(|check| check.contains(what)).count();
    assert_eq!([of("service time"), of("mean response"), of("picks"), of("map: ")], [5, 3, 3, 4]);
}

#[test]
fn all_requests_agree() {
    if let Some(dir) = beside("DiskSim's whole measurements", "facts/disksim") {
        all_pass(&dir);
    }
}

const ROTATION_MS: f64 = 8.0;
const HEADS: u64 = 3;
const HEAD_SWITCH_MS: f64 = 0.9;
const SETTLE_MS: f64 = 0.4;
const TRACK_SKEW: u64 = 9;
const CYLINDER_SKEW: u64 = 15;
/// First sector, first cylinder, sectors per track: twice 40 cylinders, and an unused one between.
const ZONES: [(u64, u64, u64); 2] = [(0, 0, 60), (7200, 41, 40)];
const SECTORS: u64 = 12_000;

/// A second computation, in ms and turns: cylinder, head, sector, sectors per track, angle.
fn place(lbn: u64) -> (u64, u64, u64, u64, f64) {
    let (first_lbn, first_cylinder, per_track) = ZONES[usize::from(lbn >= ZONES[1].0)];
    let (track, sector) = ((lbn - first_lbn) / per_track, (lbn - first_lbn) % per_track);
    let (cylinder, head) = (track / HEADS, track % HEADS);
    let skew = (head + (HEADS - 1) * cylinder) * TRACK_SKEW + cylinder * CYLINDER_SKEW;
    let angle = ((skew + sector) % per_track) as f64 / per_track as f64;
    (first_cylinder + cylinder, head, sector, per_track, angle)
}

fn seek_ms(distance: u64) -> f64 {
    if distance == 0 { 0.0 } else { 1.0 + (distance - 1) as f64 * 0.05 }
}

/// How long after `now` a transfer from `lbn` on begins. `at` is the head's cylinder and number.
fn positioning(now: f64, at: (u64, u64), lbn: u64, write: bool) -> f64 {
    let (cylinder, head, _, _, angle) = place(lbn);
    let switch = if head == at.1 { 0.0 } else { HEAD_SWITCH_MS };
    let moved = seek_ms(cylinder.abs_diff(at.0)).max(switch);
    let ready = if write && moved > 0.0 { moved + SETTLE_MS } else { moved };
    let wait = (angle - (now + ready) / ROTATION_MS).rem_euclid(1.0);
    // A sector that begins this very moment, but for rounding.
    ready + if wait > 1.0 - 1e-6 { 0.0 } else { wait * ROTATION_MS }
}

/// When a request that begins at `now` is done.
fn complete(now: f64, at: &mut (u64, u64), lbn: u64, sectors: u64, write: bool) -> f64 {
    let (mut now, mut next) = (now, lbn);
    while next < lbn + sectors {
        let (cylinder, head, sector, per_track, _) = place(next);
        let piece = (per_track - sector).min(lbn + sectors - next);
        now += positioning(now, *at, next, write);
        now += piece as f64 / per_track as f64 * ROTATION_MS;
        *at = (cylinder, head);
        next += piece;
    }
    now
}

/// A request of an open trace: when it arrives, where, how long, and whether it writes.
type Arrival = (f64, u64, u64, bool);

/// When each request is done if the disk always serves the waiting one with the least `cost`, given the time, the head
/// and the first sector of the request before.
fn serve_by(requests: &[Arrival], cost: impl Fn(&Arrival, f64, (u64, u64), u64) -> f64) -> Vec<f64> {
    let (mut now, mut at, mut last) = (0.0, (0, 0), 0);
    let mut done = vec![0.0; requests.len()];
    let mut waiting: Vec<usize> = (0..requests.len()).collect();
    while let Some(&first) = waiting.first() {
        now = f64::max(now, requests[first].0);
        let costs = waiting.iter().take_while(|&&i| requests[i].0 <= now).map(|&i| cost(&requests[i], now, at, last));
        let (next, _) = costs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let index = waiting.remove(next);
        let (_, lbn, sectors, write) = requests[index];
        now = complete(now, &mut at, lbn, sectors, write);
        (done[index], last) = (now, lbn);
    }
    done
}

/// An open trace of random requests with its results under the schedulers that reorder.
fn run_queue(dir: &Path) {
    let mut seed = 7u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut now = 0.0;
    let mut next = |_| {
        now += random(20_000) as f64 / 1000.0;
        (now, random(SECTORS - 20), 1 + random(16), random(3) == 0)
    };
    let requests: Vec<Arrival> = (0..3000).map(&mut next).collect();
    let op = |write| if write { 'W' } else { 'R' };
    let traced = requests.iter().map(|&(time, lbn, sectors, w)| format!("{time:.6},{lbn},{sectors},{}\n", op(w)));
    fs::write(dir.join("trace_busy.csv"), traced.collect::<String>()).unwrap();
    let sweep = |r: &Arrival, _, _, last| if r.1 < last { (r.1 + SECTORS) as f64 } else { r.1 as f64 };
    // Sectors at one angle of two tracks are equally near, but for rounding.
    let near = |r: &Arrival, now, at, _| (positioning(now, at, r.1, r.3) * 1e6).round();
    for (name, done) in [("clook_lbn", serve_by(&requests, sweep)), ("sptf", serve_by(&requests, near))] {
        let mut result = String::from("lbn,sectors,op,response_ms\n");
        for (&(time, lbn, sectors, write), done) in requests.iter().zip(done) {
            writeln!(result, "{lbn},{sectors},{},{:.6}", op(write), done - time).unwrap();
        }
        fs::write(dir.join(format!("result_busy_{name}.csv")), result).unwrap();
    }
}

/// A trace of random reads and writes between sequential runs, with its result.
fn run(dir: &Path, open: bool) {
    let (mut trace, mut result) = (String::new(), String::from("index,lbn,sectors,op,service_ms\n"));
    if open {
        result = result.replace("service", "response");
    }
    let (mut now, mut at, mut lbn, mut seed) = (0.0, (0, 0), 0, 1u64);
    for i in 0..2000u64 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let sectors = 1 + (seed >> 33) % 30;
        lbn = if i % 4 == 0 { (seed >> 40) % (SECTORS - 150) } else { lbn };
        let write = i % 8 < 4;
        let time = if open { i as f64 * 9.0 } else { (i % 3) as f64 * 0.7 };
        let (arrival, begin) = if open { (time, f64::max(now, time)) } else { (now + time, now + time) };
        now = complete(begin, &mut at, lbn, sectors, write);
        let op = if write { 'W' } else { 'R' };
        writeln!(trace, "{time:.6},{lbn},{sectors},{op}").unwrap();
        writeln!(result, "{i},{lbn},{sectors},{op},{:.6}", now - arrival).unwrap();
        lbn += sectors;
    }
    let (trace_name, result_name) =
        if open { ("trace_open.csv", "result_open_fcfs.csv") } else { ("trace_mix.csv", "result_mix.csv") };
    fs::write(dir.join(trace_name), trace).unwrap();
    fs::write(dir.join(result_name), result).unwrap();
}

/// A folder of measurements that the second computation made, and the folder of its disk.
fn computed() -> (TempDir, PathBuf) {
    let root = TempDir::new().unwrap();
    let disk = root.path().join("computed");
    fs::create_dir(&disk).unwrap();
    let params = format!(
        "rotation_ms = {ROTATION_MS:.1}\ncylinders = 81\nheads = {HEADS}\ncapacity_sectors = {SECTORS}\n\
         head_switch_ms = {HEAD_SWITCH_MS:.1}\nwrite_settle_ms = {SETTLE_MS:.1}\nlayout = \"cylinder-major\"\n"
    );
    fs::write(disk.join("params.toml"), params).unwrap();
    let zones = format!(
        "first_lbn,end_lbn_exclusive,first_cyl,last_cyl,sectors_per_track,track_skew_sectors,cylinder_skew_sectors\n\
         0,7200,0,39,60,{TRACK_SKEW},{CYLINDER_SKEW}\n7200,12000,41,80,40,{TRACK_SKEW},{CYLINDER_SKEW}\n"
    );
    fs::write(disk.join("zones.csv"), zones).unwrap();
    fs::write(disk.join("seek.csv"), "distance_cyl,time_ms\n1,1.0\n21,2.0\n31,2.5\n").unwrap();
    let mut samples = String::from("lbn,cyl,head,sector,sectors_per_track,start_angle_rev\n");
    for lbn in (0..SECTORS).step_by(7) {
        let (cylinder, head, sector, per_track, angle) = place(lbn);
        writeln!(samples, "{lbn},{cylinder},{head},{sector},{per_track},{angle:.9}").unwrap();
    }
    fs::write(disk.join("map_sample.csv"), samples).unwrap();
    run(&disk, false);
    run(&disk, true);
    run_queue(&disk);
    (root, disk)
}

#[test]
fn two_computations_agree() {
    let (root, _disk) = computed();
    let rows = disksim(root.path()).unwrap();
    let queues: Vec<_> = rows.iter().filter(|row| row.check.starts_with("busy")).collect();
    assert_eq!(queues.len(), 4, "mean response and picks of two schedulers");
    assert_eq!(failed(root.path()), [""; 0]);
}

/// Replaces the first `from` in a file of a computed folder by `to` and returns what `disksim` then says.
fn after_change<T>(file: &str, from: &str, to: &str, then: impl FnOnce(&Path) -> T) -> T {
    let (root, disk) = computed();
    let text = fs::read_to_string(disk.join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(disk.join(file), text.replacen(from, to, 1)).unwrap();
    then(root.path())
}

#[test]
fn every_check_can_fail() {
    let (map, angle) = ("map: cylinder, head, sector", "map: angle");
    let (closed, queue) = ("mix: service time", "open: mean response, fcfs");
    let (sweep, near) = ("busy: mean response, c-look", "busy: mean response, sptf");
    let changes: [(&str, &str, &str, &[&str]); 11] = [
        ("params.toml", "rotation_ms = 8.0", "rotation_ms = 8.01", &[closed]),
        ("params.toml", "rotation_ms = 8.0", "rotation_ms = 9.0", &[closed, queue, sweep, near]),
        ("params.toml", "head_switch_ms = 0.9", "head_switch_ms = 1.3", &[closed, queue]),
        ("params.toml", "write_settle_ms = 0.4", "write_settle_ms = 1.0", &[closed, queue]),
        ("params.toml", "capacity_sectors = 12000", "capacity_sectors = 12001", &["capacity"]),
        ("params.toml", "cylinders = 81", "cylinders = 80", &["cylinders"]),
        ("zones.csv", "60,9,15", "60,8,15", &[angle, closed]),
        ("zones.csv", "40,9,15", "40,9,16", &[angle, closed]),
        ("map_sample.csv", "7,0,0,7,60", "7,0,1,7,60", &[map]),
        ("map_sample.csv", "0.11666", "0.11667", &[angle]),
        ("seek.csv", "31,2.5", "31,4.5", &[closed, queue]),
    ];
    for (file, from, to, expected) in changes {
        let failed = after_change(file, from, to, failed);
        for check in expected {
            assert!(failed.iter().any(|name| name == check), "{to} leaves {check} passing; failing: {failed:?}");
        }
    }
}

#[test]
fn a_wrong_scheduler_fails() {
    let (root, disk) = computed();
    let file = |name| disk.join(format!("result_busy_{name}.csv"));
    let swapped = [fs::read_to_string(file("sptf")).unwrap(), fs::read_to_string(file("clook_lbn")).unwrap()];
    fs::write(file("clook_lbn"), &swapped[0]).unwrap();
    fs::write(file("sptf"), &swapped[1]).unwrap();
    let checks =
        ["busy: mean response, c-look", "busy: picks, c-look", "busy: mean response, sptf", "busy: picks, sptf"];
    assert_eq!(failed(root.path()), checks);
    fs::rename(file("sptf"), file("vscan")).unwrap();
    let rows = disksim(root.path()).unwrap();
    assert!(rows.iter().any(|row| row.check.ends_with("vscan") && matches!(row.verdict, Verdict::Skipped(_))));
}

#[test]
fn bad_measurements_are_named_by_file_and_line() {
    let error =
        |file: &str, from: &str, to: &str| after_change(file, from, to, |root| disksim(root).unwrap_err().to_string());
    let mentions = |text: String, words: &[&str]| {
        for word in words {
            assert!(text.contains(word), "{text}");
        }
    };
    mentions(error("seek.csv", "21,2.0", "21,fast"), &["seek.csv:3:"]);
    mentions(error("seek.csv", "21,2.0", "1,2.0"), &["computed", "seek.rows"]);
    mentions(error("zones.csv", "7200,12000", "7100,12000"), &["zones.csv:3:", "first_lbn"]);
    mentions(error("zones.csv", "41,80", "41,81"), &["zones.csv:3:", "last_cyl"]);
    mentions(error("map_sample.csv", "7,0,0,7", "70000,0,0,7"), &["map_sample.csv:3:", "beyond"]);
    mentions(error("trace_mix.csv", ",W\n", ",X\n"), &["trace_mix.csv:1:"]);
    mentions(error("trace_mix.csv", ",W\n", ",R\n"), &["result_mix.csv:2:", "another request"]);
    mentions(error("result_mix.csv", "\n1,", "\n1,1,"), &["result_mix.csv:3:"]);
    mentions(error("result_mix.csv", "service_ms", "served_ms"), &["result_mix.csv:2:", "service_ms"]);
    mentions(error("params.toml", "heads = 3", "heads = 0"), &["computed"]);
    mentions(error("params.toml", "cylinder-major", "spiral"), &["params.toml", "spiral"]);
    mentions(error("params.toml", "layout", "bus_and_controller_overhead_ms = 0.1\nlayout"), &["params.toml", "bus"]);
}

#[test]
fn missing_measurements_are_named() {
    let (root, disk) = computed();
    let remove = |file: &str| fs::remove_file(disk.join(file)).unwrap();
    remove("result_open_fcfs.csv");
    let rows = disksim(root.path()).unwrap();
    assert!(rows.iter().any(|row| row.check == "open" && matches!(row.verdict, Verdict::Skipped(_))));
    remove("trace_mix.csv");
    assert!(disksim(root.path()).unwrap_err().to_string().contains("result_mix.csv"));
    remove("seek.csv");
    assert!(disksim(root.path()).unwrap_err().to_string().contains("seek.csv"));
    assert!(disksim(&root.path().join("nowhere")).unwrap_err().to_string().contains("nowhere"));
    assert!(disksim(TempDir::new().unwrap().path()).is_err());
}
