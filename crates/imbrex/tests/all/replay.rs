//! The simulating runner: times worked out by hand, and proof that verification can fail.

use std::ops::ControlFlow;

use crate::fixture::{Listed, SECTOR_NS, SEEK_NS, disk, request, simulate, zoned};
use imbrex::block::{Access, Extent, Lba, Pba, Request};
use imbrex::drive::DrivePreset;
use imbrex::layer::{Corrupt, Facts, Freed, Pressure, Step, TranslationLayer, UnitReport, Unwritten, Violation, Write};
use imbrex::layers::find;
use imbrex::media::Conventional;
use imbrex::plan::{Place, Plan, Record, Why};
use imbrex::replay::{
    Beyond, BufferSize, Fault, Moment, Observer, Outcome, ReplayError, ReplayOptions, Scheduler, Setup, Simulation,
    WarmUp, Window, WindowOutcome,
};
use imbrex::trace::{TraceRequest, Workload};

const READ: Access = Access::Read;
const WRITE: Access = Access::Write;
/// What a block takes that the head has to seek, or that follows the last one.
const FAR: u64 = SEEK_NS + NEAR;
const NEAR: u64 = 8 * SECTOR_NS;

fn conventional(options: &ReplayOptions, trace: Vec<TraceRequest>) -> Result<Outcome, ReplayError> {
    simulate(find("conventional").unwrap(), "", 0, options)?.run(&mut Listed::new(trace), &mut ())
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[test]
fn an_open_loop_queues_and_a_closed_loop_does_not_overrun() {
    let trace = || vec![request(0, WRITE, 9, 1), request(0, READ, 10, 1), request(10 * FAR, READ, 9, 1)];
    let open = conventional(&ReplayOptions::default(), trace()).unwrap();
    assert_eq!(open.latency_ms.write.mean, ms(FAR));
    assert_eq!(open.latency_ms.read.max, ms(FAR + NEAR), "the first read waits for the write");
    assert_eq!(open.latency_ms.read.mean, ms(FAR + NEAR + FAR) / 2.0);
    assert_eq!(open.simulated_seconds, 11.0 * FAR as f64 / 1e9);
    assert_eq!(open.disk_busy_ratio, (2 * FAR + NEAR) as f64 / (11 * FAR) as f64);

    let one = ReplayOptions { queue_depth: Some(1), ..ReplayOptions::default() };
    let closed = conventional(&one, trace()).unwrap();
    assert_eq!(closed.latency_ms.all.max, ms(FAR));
    assert_eq!(closed.disk_busy_ratio, 1.0);
    let two = ReplayOptions { queue_depth: Some(2), ..ReplayOptions::default() };
    let closed = conventional(&two, trace()).unwrap();
    assert_eq!(closed.latency_ms.read.max, ms(FAR + NEAR), "the third arrives when the first completes");
    let deep = ReplayOptions { queue_depth: Some(1000), ..ReplayOptions::default() };
    assert_eq!(conventional(&deep, trace()).unwrap().latency_ms.all.max, ms(2 * FAR + NEAR));
}

#[test]
fn a_paced_loop_keeps_the_pauses_of_the_trace() {
    let trace = || vec![request(0, WRITE, 9, 1), request(0, READ, 10, 1), request(10 * FAR, READ, 9, 1)];
    let paced = |depth| ReplayOptions { queue_depth: Some(depth), paced: true, ..ReplayOptions::default() };
    for depth in [2, 1000] {
        let outcome = conventional(&paced(depth), trace()).unwrap();
        assert_eq!(outcome.simulated_seconds, 11.0 * FAR as f64 / 1e9, "as in the trace, where it is never late");
        assert_eq!(outcome.latency_ms.read.max, ms(FAR + NEAR));
    }
    // One at a time, the second begins when the first is done, and all behind it are as late.
    let one = conventional(&paced(1), trace()).unwrap();
    assert_eq!(one.simulated_seconds, 12.0 * FAR as f64 / 1e9);
    assert_eq!((one.latency_ms.read.max, one.latency_ms.all.max), (ms(FAR), ms(FAR)));
    // The disk's queue sees the same.
    let queued = ReplayOptions { scheduler: Scheduler::CLook, scheduler_depth: 1, ..paced(1) };
    assert_eq!(conventional(&queued, trace()).unwrap().simulated_seconds, one.simulated_seconds);
}

#[test]
fn requests_over_the_limit_are_counted() {
    let trace = || vec![request(0, WRITE, 9, 1), request(0, READ, 10, 1), request(0, READ, 11, 1)];
    let over = |limit_ns| {
        let options = ReplayOptions { limit_ns, ..ReplayOptions::default() };
        conventional(&options, trace()).unwrap().requests_over_limit
    };
    assert_eq!([FAR - 1, FAR, FAR + NEAR, FAR + 2 * NEAR].map(over), [3, 2, 1, 0]);
    let warm = ReplayOptions { limit_ns: FAR, warm_up: Some(WarmUp::Requests(2)), ..ReplayOptions::default() };
    assert_eq!(conventional(&warm, trace()).unwrap().requests_over_limit, 1, "those of the warm-up are left out");
}

#[test]
fn the_outcome_counts_blocks_and_bytes() {
    let odd = TraceRequest { arrival_ns: 0, access: WRITE, offset_bytes: 4095, bytes: 2 };
    let trace = vec![odd, request(0, READ, 4, 3), request(0, Access::Trim, 1, 1)];
    let outcome = conventional(&ReplayOptions::default(), trace).unwrap();
    assert_eq!((outcome.host_write_bytes, outcome.host_write_blocks), (2, 2));
    assert_eq!((outcome.host_read_bytes, outcome.host_read_blocks), (12288, 3));
    assert_eq!((outcome.requests, outcome.trim_requests), (3, 1));
    assert_eq!((outcome.media_write_blocks.get(Why::Host), outcome.media_write_blocks.total()), (2, 2));
    assert_eq!(outcome.write_amplification, 1.0, "what filled the disk does not count");
}

#[test]
fn requests_beyond_the_disk_are_refused_or_wrapped() {
    let trace = || vec![request(0, WRITE, 3, 1), request(0, WRITE, 511, 2)];
    let error = conventional(&ReplayOptions::default(), trace()).unwrap_err();
    assert!(matches!(error, ReplayError::Beyond { request: 2, offset_bytes: 2093056, bytes: 8192, .. }), "{error}");
    let wrap = ReplayOptions { beyond: Beyond::Wrap, verify: true, ..ReplayOptions::default() };
    assert_eq!(conventional(&wrap, trace()).unwrap().host_write_blocks, 3);
    assert!(conventional(&wrap, vec![request(0, WRITE, 0, 513)]).is_err(), "no place to wrap to");
}

#[test]
fn addresses_are_stretched_over_the_disk() {
    let trace = || vec![request(0, WRITE, 9, 1), request(0, READ, 10, 1), request(0, WRITE, 62, 2)];
    let range = |blocks: u64| Some(blocks * 4096);
    let stretched = |blocks| ReplayOptions { stretch_bytes: range(blocks), verify: true, ..ReplayOptions::default() };
    let seconds = |options| conventional(&options, trace()).unwrap().simulated_seconds;
    let shown = |ns: u64| ns as f64 / 1e9;
    assert_eq!(seconds(stretched(512)), shown(2 * FAR + 2 * NEAR), "block 10 follows block 9");
    // Of 64 blocks over 512 each lies eight blocks from the next, and the last two end with the disk.
    assert_eq!(seconds(stretched(64)), shown(3 * FAR + NEAR));
    let error = conventional(&stretched(32), trace()).unwrap_err();
    assert!(matches!(error, ReplayError::Beyond { request: 3, .. }), "{error}");
    let error = conventional(&stretched(1024), vec![request(0, READ, 511, 2)]).unwrap_err();
    assert!(matches!(error, ReplayError::Beyond { request: 1, .. }), "what is larger than the disk: {error}");
}

#[test]
fn options_without_meaning_are_refused() {
    let refused = |options: ReplayOptions| {
        assert!(matches!(conventional(&options, vec![]), Err(ReplayError::Option { .. })), "{options:?}");
    };
    refused(ReplayOptions { prefill: 1.5, ..ReplayOptions::default() });
    refused(ReplayOptions { prefill: f64::NAN, ..ReplayOptions::default() });
    refused(ReplayOptions { trimmed: -0.5, ..ReplayOptions::default() });
    refused(ReplayOptions { paced: true, ..ReplayOptions::default() });
    refused(ReplayOptions { queue_depth: Some(0), ..ReplayOptions::default() });
    refused(ReplayOptions { as_live: true, journal_blocks: Some(256), ..ReplayOptions::default() });
}

#[derive(Default)]
struct Watch {
    rows: Vec<WindowOutcome>,
    stop: bool,
}

impl Observer for Watch {
    fn progress(&mut self, _requests: u64) -> ControlFlow<()> {
        if self.stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn row(&mut self, row: &WindowOutcome) {
        self.rows.push(row.clone());
    }
}

#[test]
fn the_series_has_a_row_for_each_window_with_requests() {
    let trace = || vec![request(0, WRITE, 9, 1), request(2, WRITE, 10, 1), request(9_000_000, READ, 0, 1)];
    let rows = |window| {
        let options = ReplayOptions { window: Some(window), ..ReplayOptions::default() };
        let mut watch = Watch::default();
        let simulation = simulate(find("conventional").unwrap(), "", 0, &options).unwrap();
        simulation.run(&mut Listed::new(trace()), &mut watch).unwrap();
        watch.rows.iter().map(|row| (row.start_s, row.requests, row.media_write_blocks.total())).collect::<Vec<_>>()
    };
    assert_eq!(rows(Window::Ns(2_000_000)), [(0.0, 2, 2), (0.01, 1, 0)]);
    assert_eq!(rows(Window::Requests(2)), [(0.0, 2, 2), ((FAR + NEAR) as f64 / 1e9, 1, 0)]);
    assert_eq!(rows(Window::Requests(1)).len(), 3);
}

#[test]
fn an_observer_can_stop_a_replay() {
    let trace = (0..70_000).map(|i| request(0, READ, i % 512, 1)).collect();
    let simulation = simulate(find("conventional").unwrap(), "", 0, &ReplayOptions::default()).unwrap();
    let stopped = simulation.run(&mut Listed::new(trace), &mut Watch { stop: true, ..Watch::default() });
    assert!(matches!(stopped, Err(ReplayError::Stopped { requests: 4096 })));
    // One that looks at windows need not wait so long.
    let options = ReplayOptions { window: Some(Window::Requests(64)), ..ReplayOptions::default() };
    let trace = (0..200).map(|i| request(0, READ, i % 512, 1)).collect();
    let simulation = simulate(find("conventional").unwrap(), "", 0, &options).unwrap();
    let stopped = simulation.run(&mut Listed::new(trace), &mut Watch { stop: true, ..Watch::default() });
    assert!(matches!(stopped, Err(ReplayError::Stopped { requests: 65 })), "{stopped:?}");
}

/// What a wrong layer does wrong.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Wrong {
    Nothing,
    /// Writes one block of each request to a wrong place.
    Misplaces,
    /// Reads half of each request.
    ReadsHalf,
    /// Reads from behind the disk.
    ReadsBeyond,
    /// Plans a write for a read.
    Confuses,
    /// Says it took more than was offered.
    TakesTooMuch,
    /// Cleans without end.
    CleansForever,
    /// Cleans, says it is done, and still takes nothing.
    DoneAndNothing,
    /// Waits for space that it never freed.
    Waits,
    /// Says that it is full.
    Full,
    /// Frees a block that it still reads.
    GivesUpItsSpace,
    /// Says that what was never written reads as zeros, and reads it from its place.
    ShowsOldContent,
}

/// A layer that leaves every block where it is, but for one fault.
struct Faulty(Wrong);

impl TranslationLayer for Faulty {
    fn facts(&self) -> Facts {
        Facts {
            unwritten: if self.0 == Wrong::ShowsOldContent { Unwritten::Zeros } else { Unwritten::OldContent },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        256
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let blocks = if self.0 == Wrong::ReadsHalf { at.blocks.div_ceil(2) } else { at.blocks };
        let start = if self.0 == Wrong::ReadsBeyond { 512 } else { at.start.0 };
        match self.0 {
            Wrong::Confuses => plan.copy(Place::Host(0), Place::At(Pba::disk(start)), blocks, Why::Host),
            _ => plan.copy(Place::At(Pba::disk(start)), Place::Host(0), blocks, Why::Host),
        }
    }
    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        match self.0 {
            Wrong::TakesTooMuch => return at.blocks + 1,
            Wrong::CleansForever | Wrong::DoneAndNothing | Wrong::Waits | Wrong::Full => return 0,
            Wrong::Misplaces => {
                plan.copy(Place::Host(0), Place::At(Pba::disk(at.start.0 ^ 1)), 1, Why::Host);
                plan.copy(Place::Host(1), Place::At(Pba::disk(at.start.0 + 1)), at.blocks - 1, Why::Host);
            }
            _ => plan.copy(Place::Host(0), Place::At(Pba::disk(at.start.0)), at.blocks, Why::Host),
        }
        if self.0 == Wrong::GivesUpItsSpace {
            plan.free(Extent::new(Pba::disk(at.start.0), 1));
        }
        at.blocks
    }
    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }
    fn clean(&mut self, _why: Pressure, _waiting: &[Request], _plan: &mut Plan) -> Step {
        match self.0 {
            Wrong::CleansForever => Step::More,
            Wrong::DoneAndNothing => Step::Done,
            Wrong::Waits => Step::Wait,
            _ => Step::Nothing,
        }
    }
    fn freed(&mut self, _space: Extent<Pba>, _why: Freed) {}
    fn apply(&mut self, _record: &Record) -> Result<(), Corrupt> {
        Ok(())
    }
    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        Ok(())
    }
    fn checkpoint(&self, _from: u64, _plan: &mut Plan) -> Option<u64> {
        None
    }
    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}

/// The fault with which a trace of a write and a read of four blocks ends.
fn fault(wrong: Wrong) -> Result<(), Fault> {
    let options = ReplayOptions { prefill: 0.0, verify: true, ..ReplayOptions::default() };
    let media = disk(Conventional::new(Pba::DISK, 256));
    let simulation = Simulation::new("faulty", &|| Ok(Box::new(Faulty(wrong))), media, &options).unwrap();
    let trace = vec![request(0, WRITE, 20, 4), request(0, READ, 20, 4)];
    match simulation.run(&mut Listed::new(trace), &mut ()) {
        Ok(_) => Ok(()),
        Err(ReplayError::Layer { fault, moment: Moment::Request(1 | 2) | Moment::ReadBack, .. }) => Err(*fault),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn verification_tells_right_from_wrong() {
    assert_eq!(fault(Wrong::Nothing), Ok(()));
    // What the trace has not written is read back too.
    assert!(matches!(fault(Wrong::ShowsOldContent), Err(Fault::Mismatch { lba: Lba(0), .. })));
    assert!(matches!(fault(Wrong::Misplaces), Err(Fault::Mismatch { lba: Lba(20), .. })));
    assert!(matches!(fault(Wrong::GivesUpItsSpace), Err(Fault::Mismatch { lba: Lba(20), .. })));
    assert!(matches!(fault(Wrong::ReadsHalf), Err(Fault::Undelivered { block: 2, .. })));
    assert!(matches!(fault(Wrong::ReadsBeyond), Err(Fault::Illegal(_))));
    assert!(matches!(fault(Wrong::Confuses), Err(Fault::Meaningless { .. })));
}

#[test]
fn a_layer_that_gets_nowhere_is_an_error() {
    assert!(matches!(fault(Wrong::TakesTooMuch), Err(Fault::Took { took: 5, .. })));
    assert!(matches!(fault(Wrong::CleansForever), Err(Fault::Endless { .. })));
    assert!(matches!(fault(Wrong::DoneAndNothing), Err(Fault::Endless { .. })));
    assert!(matches!(fault(Wrong::Waits), Err(Fault::Stuck)));
    assert!(matches!(fault(Wrong::Full), Err(Fault::Full { .. })));
}

#[test]
fn an_illegal_write_is_an_error() {
    let options = ReplayOptions { prefill: 0.0, ..ReplayOptions::default() };
    let simulation =
        Simulation::new("faulty", &|| Ok(Box::new(Faulty(Wrong::Nothing))), disk(zoned()), &options).unwrap();
    let trace = vec![request(0, WRITE, 0, 1), request(0, WRITE, 129, 1)];
    let error = simulation.run(&mut Listed::new(trace), &mut ()).unwrap_err();
    assert!(error.to_string().starts_with("layer faulty, request 2: write of"), "{error}");
}

#[test]
fn a_drive_of_18_tb_is_filled_and_verified_at_once() {
    let drive = DrivePreset::named("exos-x18z").unwrap();
    let workload = Workload::named("default").unwrap();
    let options = ReplayOptions { verify: true, ..ReplayOptions::default() };
    let (config, buffer) = (toml::Table::new(), BufferSize::Bytes(1 << 30));
    let setup = Setup { drive: &drive, layer: find("fifo-log").unwrap(), config: &config, buffer, workload: &workload };
    let trace = vec![request(0, WRITE, 4_000_000_000, 9), request(0, READ, 3_999_999_999, 9)];
    let outcome = setup.simulation(&options).unwrap().run(&mut Listed::new(trace), &mut ()).unwrap();
    assert_eq!(outcome.requests, 2);
}
