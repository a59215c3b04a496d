//! The beginning of a replay left out of its figures, worked out by hand.

use crate::fixture::{Listed, SECTOR_NS, SEEK_NS, request, simulate};
use imbrex::block::Access;
use imbrex::layers::find;
use imbrex::replay::{Observer, Outcome, ReplayError, ReplayOptions, Scheduler, WarmUp, Window, WindowOutcome};
use imbrex::trace::TraceRequest;

const READ: Access = Access::Read;
const WRITE: Access = Access::Write;
/// What a block takes that the head has to seek, or that follows the last one.
const FAR: u64 = SEEK_NS + NEAR;
const NEAR: u64 = 8 * SECTOR_NS;

fn warming(warm_up: WarmUp) -> ReplayOptions {
    ReplayOptions { warm_up: Some(warm_up), ..ReplayOptions::default() }
}

fn conventional(options: &ReplayOptions, trace: Vec<TraceRequest>) -> Result<Outcome, ReplayError> {
    simulate(find("conventional").unwrap(), "", 0, options)?.run(&mut Listed::new(trace), &mut ())
}

fn three() -> Vec<TraceRequest> {
    vec![request(0, WRITE, 9, 1), request(0, READ, 10, 1), request(10 * FAR, READ, 9, 1)]
}

#[test]
fn what_comes_after_so_many_requests_counts() {
    let outcome = conventional(&warming(WarmUp::Requests(1)), three()).unwrap();
    assert_eq!((outcome.requests, outcome.read_requests, outcome.write_requests), (2, 2, 0));
    assert_eq!((outcome.host_write_blocks, outcome.media_write_blocks.total()), (0, 0));
    assert_eq!(outcome.latency_ms.read.max, (FAR + NEAR) as f64 / 1e6, "it waited for the warm-up");
    assert_eq!(outcome.latency_ms.write.max, 0.0);
    assert_eq!(outcome.simulated_seconds, (10 * FAR) as f64 / 1e9, "from the end of the write");
    assert_eq!(outcome.disk_busy_ratio, (FAR + NEAR) as f64 / (10 * FAR) as f64);
}

#[test]
fn what_the_trace_has_after_a_time_counts() {
    for queue_depth in [None, Some(1)] {
        let options = ReplayOptions { queue_depth, ..warming(WarmUp::Ns(1)) };
        let outcome = conventional(&options, three()).unwrap();
        assert_eq!((outcome.requests, outcome.media_read_blocks.total()), (1, 1));
        assert_eq!((outcome.latency_ms.all.max, outcome.latency_ms.all.mean), (FAR as f64 / 1e6, FAR as f64 / 1e6));
        assert_eq!((outcome.simulated_seconds, outcome.disk_busy_ratio), (FAR as f64 / 1e9, 1.0));
    }
}

#[test]
fn something_is_left_to_measure() {
    for (warm_up, left) in [
        (WarmUp::Requests(2), Some(1)),
        (WarmUp::Requests(3), None),
        (WarmUp::Ns(10 * FAR), Some(1)),
        (WarmUp::Ns(10 * FAR + 1), None),
    ] {
        match conventional(&warming(warm_up), three()) {
            Ok(outcome) => assert_eq!(Some(outcome.requests), left),
            Err(error) => {
                assert_eq!(left, None);
                assert!(error.to_string().contains("covers the whole trace of 3 requests"), "{error}");
            }
        }
    }
}

#[test]
fn what_is_in_the_queue_when_the_warm_up_ends_counts() {
    let trace = || vec![request(0, WRITE, 9, 1), request(0, WRITE, 99, 1), request(0, WRITE, 199, 1)];
    let queued = ReplayOptions { scheduler: Scheduler::CLook, ..warming(WarmUp::Requests(1)) };
    assert_eq!(conventional(&queued, trace()).unwrap().requests, 3, "none was complete");
    let one = ReplayOptions { scheduler_depth: 1, ..queued };
    assert_eq!(conventional(&one, trace()).unwrap().requests, 2);
}

#[derive(Default)]
struct Watch {
    rows: Vec<WindowOutcome>,
    warmed_up: usize,
}

impl Observer for Watch {
    fn warmed_up(&mut self) {
        assert!(self.rows.iter().all(|row| row.warm_up));
        self.warmed_up += 1;
    }

    fn row(&mut self, row: &WindowOutcome) {
        self.rows.push(row.clone());
    }
}

/// Start, length and kind of each row, and the outcome.
fn series(window: Window, warm_up: WarmUp) -> (Vec<(f64, u64, bool)>, Outcome) {
    let options = ReplayOptions { window: Some(window), ..warming(warm_up) };
    let trace = (0..5).map(|i| request(i * 2 * FAR, WRITE, 20 * i, 1)).collect();
    let mut watch = Watch::default();
    let simulation = simulate(find("conventional").unwrap(), "", 0, &options).unwrap();
    let outcome = simulation.run(&mut Listed::new(trace), &mut watch).unwrap();
    assert_eq!(watch.warmed_up, 1);
    assert!(watch.rows.iter().all(|row| row.write_amplification == 1.0));
    let measured = watch.rows.iter().filter(|row| !row.warm_up);
    let sum = measured.fold((0, 0), |sum, row| (sum.0 + row.requests, sum.1 + row.media_write_blocks.total()));
    assert_eq!(sum, (outcome.requests, outcome.media_write_blocks.total()), "the rows add up to the outcome");
    (watch.rows.iter().map(|row| (row.start_s, row.requests, row.warm_up)).collect(), outcome)
}

#[test]
fn the_series_says_which_windows_are_warm_up() {
    let s = |ns: u64| ns as f64 / 1e9;
    let (rows, outcome) = series(Window::Requests(2), WarmUp::Requests(3));
    assert_eq!(rows, [(0.0, 2, true), (s(3 * FAR), 1, true), (s(6 * FAR), 2, false)]);
    assert_eq!(outcome.requests, 2);
    let (rows, _) = series(Window::Ns(8 * FAR), WarmUp::Requests(1));
    assert_eq!(rows, [(0.0, 1, true), (s(2 * FAR), 3, false), (s(8 * FAR), 1, false)]);
}
