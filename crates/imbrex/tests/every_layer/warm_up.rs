//! The beginning of a replay left out of its figures: a difference of two replays.

use std::iter::zip;

use imbrex::layers::LayerInfo;
use imbrex::plan::Why;
use imbrex::replay::{ByReason, CleaningTime, Outcome, ReplayOptions, Scheduler, WarmUp};
use libtest_mimic::Failed;
use proptest::prelude::*;

use crate::fixture::random::{any_choices, any_options, any_request, configured, trace_over};
use crate::fixture::{Listed, simulate};
use crate::for_any;

const CASES: u32 = 50;

/// What a replay counts, at every level.
fn counts(outcome: &Outcome, with_resets: bool) -> Vec<u64> {
    let by_reason = |blocks: &ByReason| Why::ALL.map(|why| blocks.get(why));
    let cleaning = |time: &CleaningTime| [time.episodes, time.steps, time.total_ns];
    let mut all = vec![
        outcome.requests,
        outcome.read_requests,
        outcome.write_requests,
        outcome.trim_requests,
        outcome.host_read_blocks,
        outcome.host_write_blocks,
        outcome.host_read_bytes,
        outcome.host_write_bytes,
        outcome.write_hit_blocks,
        (outcome.write_hit_ratio_requests * outcome.write_requests as f64).round() as u64,
        outcome.read_hit_blocks,
        outcome.rmw,
        outcome.rmw_free,
        outcome.evicted_blocks,
        outcome.direct_blocks,
        outcome.padding_blocks,
        outcome.padding_again_blocks,
        if with_resets { outcome.resets } else { 0 },
    ];
    all.extend(outcome.counters.iter().map(|(_, times)| times));
    all.extend(by_reason(&outcome.media_read_blocks).into_iter().chain(by_reason(&outcome.media_write_blocks)));
    all.extend(cleaning(&outcome.blocked_cleaning).into_iter().chain(cleaning(&outcome.idle_cleaning)));
    all.extend(outcome.devices.iter().flat_map(|device| counts(&device.outcome, with_resets)));
    all
}

/// Of two traces, one after the other, a replay that warms up with the first counts what a replay of both counts and
/// one of the first does not. With one request at a time, none is under way when the warm-up ends.
pub fn leaves_a_warm_up_out(info: &'static LayerInfo) -> Result<(), Failed> {
    let requests = prop::collection::vec(any_request(), 2..200);
    let input = (requests, 0.0..1.0, any_options(), 1u32..60, any_choices());
    for_any(CASES, input, |(requests, share, options, buffer_blocks, choices)| {
        let first = 1 + ((requests.len() - 1) as f64 * share) as usize;
        // A growth under way at the end of the shorter replay would be completed there.
        let options = ReplayOptions { queue_depth: Some(1), check_every: 0, extend: Vec::new(), ..options };
        let (config, options) = configured(info, choices.each(), buffer_blocks, &options);
        let run = |length: usize, warm_up| {
            let options = ReplayOptions { warm_up, ..options.clone() };
            let simulation = simulate(info, &config, buffer_blocks, &options).unwrap();
            let trace = trace_over(simulation.capacity(), &requests[..length]);
            let outcome = simulation.run(&mut Listed::new(trace), &mut ()).unwrap();
            // Nobody waits for a reset in the disk's queue.
            (counts(&outcome, options.scheduler == Scheduler::Fcfs), outcome)
        };
        let ((both, whole), (begun, part)) = (run(requests.len(), None), run(first, None));
        let (measured, outcome) = run(requests.len(), Some(WarmUp::Requests(first as u64)));
        let expected: Vec<_> = zip(both, begun).map(|(both, begun)| both - begun).collect();
        prop_assert_eq!(measured, expected, "{:?} {:?}", config, options);
        if outcome.devices.is_empty() && options.scheduler == Scheduler::Fcfs {
            let seconds = whole.simulated_seconds - part.simulated_seconds;
            prop_assert!((outcome.simulated_seconds - seconds).abs() < 1e-6);
        }
        prop_assert!(outcome.disk_busy_ratio <= 1.0);
        Ok(())
    })
}
