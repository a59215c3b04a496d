//! Steps of cleaning: they keep the bound that they are given, and who waits for one waits for that one only.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod bounded;
#[path = "../fixture/mod.rs"]
mod fixture;
mod waiting;

use bounded::Bounded;
use fixture::random::{any_options, any_request, configs, survives, trace_over};
use fixture::{Listed, disk_for, suited};
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::JournalLength;
use imbrex::replay::{ReplayError, ReplayOptions, Scheduler, Simulation, space};
use proptest::prelude::*;

/// A stage of a collection of `amphisbaena` is a chunk, and a move between its buffers too: of at most a quarter of the
/// buffer, read and written.
const CHUNK: u64 = 2 * 60 / 4;

fn bounded(
    info: &LayerInfo,
    config: &str,
    (buffer_blocks, bounds): (u32, &[u32]),
    options: &ReplayOptions,
) -> Result<Simulation, ReplayError> {
    let options = suited(info, options);
    let below = ReplayOptions { scheduler: Scheduler::Fcfs, queue_depth: None, window: None, ..options.clone() };
    let disk = disk_for(info, &below)?;
    let beside = |blocks| {
        let options = ReplayOptions { journal_blocks: Some(blocks), ..options.clone() };
        Ok::<_, ReplayError>(info.build(&space(&disk, buffer_blocks, &options)?, &config.parse().unwrap())?)
    };
    let (blocks, layer) = JournalLength::AtLeast(0).settle(4096, options.gather, beside)?;
    let options = ReplayOptions { journal_blocks: Some(blocks), ..options.clone() };
    let at_least = if info.name == "amphisbaena" { CHUNK } else { 0 };
    let layer = Bounded { layer, bounds: bounds.to_vec(), at_least, cleaned: 0 };
    Simulation::new(info.name, Box::new(layer), disk, &options)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    /// Whatever bound steps are given, also in the middle of a job, they keep it, and the layer its promises.
    #[test]
    fn steps_of_any_size_keep_every_promise(
        requests in prop::collection::vec(any_request(), 1..200),
        options in any_options(),
        buffer_blocks in 1u32..60,
        bounds in prop::collection::vec(prop_oneof![3 => 0u32..6, 1 => 0u32..40, 1 => Just(u32::MAX)], 1..8),
    ) {
        for info in layers::ALL {
            for config in configs(info.name) {
                let options = ReplayOptions { as_live: options.as_live && survives(config), ..options.clone() };
                let simulation = bounded(info, config, (buffer_blocks, &bounds), &options);
                let outcome = simulation.and_then(|simulation| {
                    let trace = trace_over(simulation.capacity(), &requests);
                    simulation.run(&mut Listed::new(trace), &mut ())
                });
                if let Err(error) = outcome {
                    return Err(TestCaseError::fail(format!("{} {config:?} {options:?}: {error}", info.name)));
                }
            }
        }
    }
}
