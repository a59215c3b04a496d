//! What must not depend on the disk's queue, nor on whether anybody verifies.

use imbrex::layers::{Field, LayerInfo};
use imbrex::plan::Why;
use imbrex::replay::{Outcome, ReplayOptions, Scheduler};
use libtest_mimic::Failed;
use proptest::prelude::*;

use crate::fixture::random::{Choices, Drawn, any_choices, any_options, any_request, configured, trace_over};
use crate::fixture::{Listed, simulate};
use crate::for_any;

const CASES: u32 = 25;
const REORDERING: [Scheduler; 2] = [Scheduler::CLook, Scheduler::Sptf];

/// What replays are made of: a trace, options, the size of a buffer and the choice of a configuration.
type Input = (Vec<Drawn>, ReplayOptions, u32, Choices);

fn any_input(requests: usize) -> impl Strategy<Value = Input> {
    (prop::collection::vec(any_request(), 1..requests), any_options(), 1u32..60, any_choices())
}

/// A layer in a configuration, and what is replayed on it.
struct Case<'a> {
    info: &'static LayerInfo,
    config: String,
    buffer_blocks: u32,
    requests: &'a [Drawn],
}

impl Case<'_> {
    fn outcome(&self, options: &ReplayOptions) -> Result<Outcome, TestCaseError> {
        let run = || {
            let simulation = simulate(self.info, &self.config, self.buffer_blocks, options)?;
            let trace = trace_over(simulation.capacity(), self.requests);
            simulation.run(&mut Listed::new(trace), &mut ())
        };
        run().map_err(|error| TestCaseError::fail(format!("{:?} {options:?}: {error}", self.config)))
    }
}

/// A queue of one operation is no queue: the outcome is that of serving in order, to the nanosecond. Not so where a
/// growth is asked for: an idle step may come before a request behind it that would come after it without a queue.
pub fn sees_no_queue_of_one(info: &'static LayerInfo) -> Result<(), Failed> {
    for_any(CASES, any_input(200), |(requests, options, buffer_blocks, choices)| {
        let options = ReplayOptions { extend: Vec::new(), ..options };
        let (config, options) = configured(info, choices.each(), buffer_blocks, &options);
        let case = Case { info, config, buffer_blocks, requests: &requests };
        let run = |scheduler| case.outcome(&ReplayOptions { scheduler, scheduler_depth: 1, ..options.clone() });
        let in_order = run(Scheduler::Fcfs)?;
        for scheduler in REORDERING {
            prop_assert_eq!(&run(scheduler)?, &in_order, "{:?} {:?}", case.config, scheduler);
        }
        Ok(())
    })
}

/// The order in which writes are planned does not depend on the scheduler, and so no count of theirs does, as long as
/// no idle time is offered, reads change nothing — those that overtake a blocked write are planned at other moments —
/// and no cleaning looks at what waits.
pub fn counts_the_same_under_any_scheduler(info: &'static LayerInfo) -> Result<(), Failed> {
    for_any(CASES, any_input(200), |(requests, options, buffer_blocks, choices)| {
        let options = ReplayOptions { idle: false, extend: Vec::new(), ..options };
        let (config, options) = configured(info, whatever_the_time(&choices), buffer_blocks, &options);
        let case = Case { info, config, buffer_blocks, requests: &requests };
        let run = |scheduler| Ok(counts(&case.outcome(&ReplayOptions { scheduler, ..options.clone() })?));
        let in_order = run(Scheduler::Fcfs)?;
        for scheduler in REORDERING {
            let counted: Result<_, TestCaseError> = run(scheduler);
            prop_assert_eq!(counted?, in_order, "{:?} {:?}", case.config, scheduler);
        }
        Ok(())
    })
}

/// Fields with which counts depend on time if they are true: on when reads are planned, or on what waits.
const BY_TIME: [&str; 2] = ["reads_count", "checkpoints"];

/// The choice without what makes counts depend on time.
fn whatever_the_time<'f>(choices: &Choices) -> impl FnMut(&'f Field) -> Option<&'f str> {
    let mut each = choices.each();
    move |field| {
        let chosen = each(field);
        if BY_TIME.contains(&field.key) { Some("false") } else { chosen }
    }
}

/// What plans add up to, apart from reads of the host, which are served from where the block lies when they are
/// planned.
fn counts(outcome: &Outcome) -> [u64; 13] {
    let (written, read) = (&outcome.media_write_blocks, &outcome.media_read_blocks);
    [
        written.total(),
        written.get(Why::Host),
        written.get(Why::Destage),
        written.get(Why::Metadata),
        read.get(Why::Collect),
        outcome.rmw,
        outcome.rmw_free,
        outcome.evicted_blocks,
        outcome.direct_blocks,
        outcome.padding_blocks,
        outcome.resets,
        outcome.blocked_cleaning.episodes,
        outcome.blocked_cleaning.steps,
    ]
}

/// Verifying changes nothing but what is known.
pub fn takes_no_longer_when_verified(info: &'static LayerInfo) -> Result<(), Failed> {
    for_any(CASES, any_input(100), |(requests, options, buffer_blocks, choices)| {
        let (config, options) = configured(info, choices.each(), buffer_blocks, &options);
        let case = Case { info, config, buffer_blocks, requests: &requests };
        let run = |verify| case.outcome(&ReplayOptions { verify, ..options.clone() });
        prop_assert_eq!(run(true)?, run(false)?, "{:?}", case.config);
        Ok(())
    })
}
