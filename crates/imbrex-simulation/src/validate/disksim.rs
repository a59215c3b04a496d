//! The mechanics against DiskSim, request by request.
//!
//! DiskSim (Bucy, Schindler, Schlosser, Ganger; version 4.0) is the reference simulator of disk mechanics, itself
//! validated against real drives. The measurements were made with caches, read-ahead and bus time off.

use std::path::Path;

use super::disk_folder::{DiskFolder, Run, Served};
use super::{Comparison, Numbers, ValidateError, Verdict, queue_replay};
use crate::replay::{Access, Scheduler};

/// A request's time may deviate by less than this.
const REQUEST_LIMIT_NS: u64 = 10_000;
/// Or by exactly one turn, for at most this many of a thousand requests: where the head reaches a sector's start to
/// within the rounding of DiskSim's fixed-point angles, this turn is as right as the next.
const FLIPS_PER_MILLE: usize = 4;
/// Largest deviation of a sector's angle, in turns.
const ANGLE_LIMIT: f64 = 1e-6;
/// How many of a thousand picks from a queue may differ: they are equally good to within rounding.
const PICKS_PER_MILLE: usize = 1;
/// Largest relative deviation of the mean response of a queue.
const RESPONSE_LIMIT: f64 = 0.01;

/// Checks the mechanics against every disk measured under `dir`.
///
/// # Errors
/// When the measurements cannot be read. A wrong simulator is no error but a row that fails.
pub fn disksim(dir: &Path) -> Result<Vec<Comparison>, ValidateError> {
    let mut rows = Vec::new();
    for disk in DiskFolder::read_all(dir)? {
        rows.extend(check_disk(&disk)?);
    }
    Ok(rows)
}

fn check_disk(disk: &DiskFolder) -> Result<Vec<Comparison>, ValidateError> {
    let count = |check, expected: u64, measured: u64, unit| {
        let numbers = Numbers { expected: expected as f64, measured: measured as f64 };
        Comparison::close(&disk.name, check, numbers, 0.0, unit)
    };
    let mut rows = vec![
        count("capacity", disk.params.capacity_sectors, disk.mechanics.sectors(), "sectors"),
        count("cylinders", disk.params.cylinders.into(), disk.mechanics.cylinders().into(), "cylinders"),
    ];
    rows.extend(check_map(disk));
    for run in &disk.runs {
        match run.scheduler.as_deref() {
            None => rows.push(check_closed(disk, run)),
            Some(scheduler) => rows.extend(check_open(disk, run, scheduler)?),
        }
    }
    rows.extend(disk.unmeasured.iter().map(|trace| {
        Comparison::skipped(&disk.name, trace.clone(), None, "ms", "there is no result for this trace".into())
    }));
    Ok(rows)
}

/// Where sectors lie, exactly, and at which angle they begin.
fn check_map(disk: &DiskFolder) -> [Comparison; 2] {
    let mut alike = 0;
    let mut worst: f64 = 0.0;
    for sample in &disk.samples {
        let here = disk.mechanics.locate(sample.lbn);
        let place = (here.cylinder, here.head, here.sector, here.sectors_per_track);
        alike += u32::from(place == (sample.cyl, sample.head, sample.sector, sample.sectors_per_track));
        let off = (here.angle as f64 / 2f64.powi(64) - sample.start_angle_rev).abs();
        // The other way round, if that is nearer.
        worst = worst.max(off.min((1.0 - off).abs()));
    }
    let all = disk.samples.len() as f64;
    [
        Comparison::close(
            &disk.name,
            "map: cylinder, head, sector",
            Numbers { expected: all, measured: alike.into() },
            0.0,
            "sectors",
        ),
        Comparison::close(&disk.name, "map: angle", Numbers { expected: 0.0, measured: worst }, ANGLE_LIMIT, "turns"),
    ]
}

/// The service time of each request of a closed trace.
///
/// DiskSim's angles drift by some ns per request, so each request must start with the platter where DiskSim had it:
/// at the end of the previous request's last sector. Our own completion is that moment on our own clock, and so service
/// times are compared, not completions. A turn more or less in one request does not reach the next.
fn check_closed(disk: &DiskFolder, run: &Run) -> Comparison {
    let mut mechanics = disk.mechanics.clone();
    let turn_ns = (disk.params.rotation_ms * 1e6 + 0.5) as u64;
    let (mut now_ns, mut total_ns, mut expected_ns, mut flips) = (0, 0, 0, 0);
    let mut errors = Vec::with_capacity(run.requests.len());
    for request in &run.requests {
        let begin_ns = now_ns + request.time_ns;
        now_ns = mechanics.access(begin_ns, request.lbn, request.sectors, request.write);
        let taken_ns = now_ns - begin_ns;
        total_ns += taken_ns;
        expected_ns += request.taken_ns;
        let error_ns = taken_ns.abs_diff(request.taken_ns);
        if error_ns.abs_diff(turn_ns) < REQUEST_LIMIT_NS {
            flips += 1;
        } else {
            errors.push(error_ns);
        }
    }
    errors.sort_unstable();
    let requests = run.requests.len();
    let worst = errors.last().copied().unwrap_or(0);
    let micros = |ns: u64| ns as f64 / 1e3;
    let percentile = |p: usize| micros(errors.get(errors.len() * p / 100).copied().unwrap_or(0));
    let (p50, p99) = (percentile(50), percentile(99));
    Comparison {
        disk: disk.name.clone(),
        check: format!("{}: service time", run.name),
        expected: Some(micros(expected_ns) / requests as f64),
        measured: Some(micros(total_ns) / requests as f64),
        error: Some(micros(worst)),
        unit: "µs",
        verdict: Verdict::of(worst < REQUEST_LIMIT_NS && flips * 1000 <= FLIPS_PER_MILLE * requests),
        note: format!(
            "means of {requests}; error p50 {p50:.3}, p99 {p99:.3}, worst below 10; {flips} off by one turn, at most 0.4 %"
        ),
    }
}

/// An open trace under a scheduler: its mean response, and each pick.
fn check_open(disk: &DiskFolder, run: &Run, name: &str) -> Result<Vec<Comparison>, ValidateError> {
    // DiskSim's name for C-LOOK says what it sorts by.
    let scheduler = match name {
        "fcfs" => Scheduler::Fcfs,
        "clook_lbn" => Scheduler::CLook,
        "sptf" => Scheduler::Sptf,
        other => {
            let check = format!("{}: mean response, {other}", run.name);
            let why = format!("the {other} scheduler is not modelled");
            return Ok(vec![Comparison::skipped(&disk.name, check, Some(mean_ms(run)), "ms", why)]);
        }
    };
    Ok(vec![check_response(disk, run, scheduler)?, check_picks(disk, run, scheduler)])
}

/// The mean response, and how far the order of service agrees.
fn check_response(disk: &DiskFolder, run: &Run, scheduler: Scheduler) -> Result<Comparison, ValidateError> {
    let (measured, accesses) = queue_replay::replay(disk, run, scheduler).map_err(|source| {
        let (disk, run) = (disk.name.clone(), run.name.clone());
        ValidateError::Replay { disk, run, source: Box::new(source) }
    })?;
    let (expected, check) = (mean_ms(run), format!("{}: mean response, {}", run.name, scheduler.name()));
    let row = Comparison::close(&disk.name, &check, Numbers { expected, measured }, expected * RESPONSE_LIMIT, "ms");
    let (alike, requests) = (alike(run, &accesses), run.requests.len());
    Ok(Comparison {
        note: format!("within 1 %, our clock running free; {alike} of {requests} served in the same place"),
        ..row
    })
}

/// Each pick, after those before were DiskSim's, with the platter where our own clock has it and the requests waiting
/// that DiskSim had waiting.
fn check_picks(disk: &DiskFolder, run: &Run, scheduler: Scheduler) -> Comparison {
    let mut mechanics = disk.mechanics.clone();
    let (mut theirs_ns, mut ours_ns, mut position, mut alike) = (0, 0, 0, 0);
    let mut waiting: Vec<&Served> = run.requests.iter().collect();
    for served in in_order(run) {
        let first_ns = waiting.first().map_or(0, |first| first.time_ns);
        let idle_ns = first_ns.saturating_sub(theirs_ns);
        (theirs_ns, ours_ns) = (theirs_ns + idle_ns, ours_ns + idle_ns);
        let arrived = waiting.iter().take_while(|request| request.time_ns <= theirs_ns).enumerate();
        let accesses = arrived.map(|(number, request)| (number, Access::of(request)));
        let positioning_ns = |a: &Access| mechanics.positioning_ns(ours_ns, a.at.start.block(), a.write);
        let picked = scheduler.pick(accesses, position, positioning_ns).map(|number| waiting[number]);
        alike += usize::from(picked.is_some_and(|picked| std::ptr::eq(picked, served)));
        ours_ns = mechanics.access(ours_ns, served.lbn, served.sectors, served.write);
        (theirs_ns, position) = (served.time_ns + served.taken_ns, served.lbn);
        if let Some(number) = waiting.iter().position(|request| std::ptr::eq(*request, served)) {
            waiting.remove(number);
        }
    }
    let requests = run.requests.len();
    let check = format!("{}: picks, {}", run.name, scheduler.name());
    let allowed = (requests * PICKS_PER_MILLE / 1000) as f64;
    let numbers = Numbers { expected: requests as f64, measured: alike as f64 };
    let row = Comparison::close(&disk.name, &check, numbers, allowed, "requests");
    Comparison {
        note: "each after DiskSim's before it; at most 0.1 % differ, where two are equally good".into(),
        ..row
    }
}

/// The requests in the order in which DiskSim served them.
fn in_order(run: &Run) -> Vec<&Served> {
    let mut order: Vec<_> = run.requests.iter().collect();
    order.sort_by_key(|request| request.time_ns + request.taken_ns);
    order
}

/// How many accesses have the place in the order of service that DiskSim gave them.
fn alike(run: &Run, accesses: &[Access]) -> usize {
    in_order(run).into_iter().zip(accesses).filter(|(theirs, ours)| Access::of(theirs) == **ours).count()
}

/// Mean response in the reference.
fn mean_ms(run: &Run) -> f64 {
    let total: u64 = run.requests.iter().map(|request| request.taken_ns).sum();
    total as f64 / run.requests.len() as f64 / 1e6
}
