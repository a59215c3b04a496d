//! What was written is read, invariants hold after every step, the media is never offended, and the same input gives
//! the same outcome.

use imbrex::block::Access;
use imbrex::drive::DrivePreset;
use imbrex::layers::LayerInfo;
use imbrex::perform::JournalLength;
use imbrex::recording::Recording;
use imbrex::replay::{BufferSize, ReplayError, ReplayOptions, Setup, Simulation, replay, space};
use imbrex::trace::Workload;
use libtest_mimic::Failed;
use proptest::prelude::*;

use crate::bounded::Bounded;
use crate::fixture::random::{Choices, Drawn, any_choices, any_options, any_request, configured, trace_over};
use crate::fixture::{Listed, below, disk_for, simulate, suited};
use crate::for_any;

const CASES: u32 = 80;
const CASES_IN_STEPS: u32 = 40;

/// What a replay is made of: a trace, options, the size of a buffer and the choice of a configuration.
type Input = (Vec<Drawn>, ReplayOptions, u32, Choices);

fn any_input() -> impl Strategy<Value = Input> {
    (prop::collection::vec(any_request(), 1..200), any_options(), 1u32..60, any_choices())
}

/// Twelve writes that once made a buffer of a block go wrong.
const ONE_SLOT: [(f64, u32); 12] = [
    (0.6253, 30),
    (0.0641, 15),
    (0.6483, 24),
    (0.0473, 45),
    (0.0151, 4),
    (0.0, 3),
    (0.0, 1),
    (0.0, 1),
    (0.0, 2),
    (0.0, 2),
    (0.0, 1),
    (0.0, 3),
];

pub fn keeps_its_promises(info: &'static LayerInfo) -> Result<(), Failed> {
    let writes = ONE_SLOT.map(|(place, blocks)| (0, Access::Write, place, blocks));
    let options = ReplayOptions { prefill: 0.0, idle: false, verify: true, check_every: 1, ..ReplayOptions::default() };
    is_the_same_twice(info, "", &options, 1, &writes)?;
    for_any(CASES, any_input(), |(requests, options, buffer_blocks, choices)| {
        let (config, options) = configured(info, choices.each(), buffer_blocks, &options);
        is_the_same_twice(info, &config, &options, buffer_blocks, &requests).map_err(TestCaseError::fail)
    })
}

fn is_the_same_twice(
    info: &LayerInfo,
    config: &str,
    options: &ReplayOptions,
    buffer_blocks: u32,
    requests: &[Drawn],
) -> Result<(), String> {
    let once = || {
        let simulation = simulate(info, config, buffer_blocks, options)?;
        let trace = trace_over(simulation.capacity(), requests);
        simulation.run(&mut Listed::new(trace), &mut ())
    };
    let outcome = once().map_err(|error| format!("{config:?} {options:?}: {error}"))?;
    assert_eq!(outcome.requests, requests.len() as u64);
    assert_eq!(once().unwrap(), outcome, "{config:?} {options:?}");
    Ok(())
}

/// What a step may move whatever its bound where the buffer is managed in chunks: one, read and written, of at most a
/// quarter of the buffer.
const CHUNK: u64 = 2 * 60 / 4;

/// The layer, its steps bounded anew all the time.
fn bounded(
    info: &LayerInfo,
    config: &str,
    buffer_blocks: u32,
    bounds: &[u32],
    options: &ReplayOptions,
) -> Result<Simulation, ReplayError> {
    let options = suited(info, options);
    let disk = disk_for(info, &below(&options))?;
    let config = config.parse().unwrap();
    let beside = |blocks| {
        let options = ReplayOptions { journal_blocks: Some(blocks), ..options.clone() };
        Ok::<_, ReplayError>(info.build(&space(&disk, buffer_blocks, &options)?, &config)?)
    };
    let (blocks, _) = JournalLength::AtLeast(0).settle(4096, options.gather, beside)?;
    let options = ReplayOptions { journal_blocks: Some(blocks), ..options.clone() };
    let space = space(&disk, buffer_blocks, &options)?;
    let at_least = if info.fields.iter().any(|field| field.key == "chunk_blocks") { CHUNK } else { 0 };
    let make = || {
        let layer = info.build(&space, &config)?;
        Ok(Box::new(Bounded { layer, bounds: bounds.to_vec(), at_least, cleaned: 0 }) as _)
    };
    Simulation::new(info.name, &make, disk, &options)
}

/// Whatever bound steps are given, also in the middle of a job, they keep it, and the layer its promises.
pub fn keeps_them_in_steps_of_any_size(info: &'static LayerInfo) -> Result<(), Failed> {
    let bound = prop_oneof![3 => 0u32..6, 1 => 0u32..40, 1 => Just(u32::MAX)];
    let input = (any_input(), prop::collection::vec(bound, 1..8));
    for_any(CASES_IN_STEPS, input, |((requests, options, buffer_blocks, choices), bounds)| {
        let (config, options) = configured(info, choices.each(), buffer_blocks, &options);
        let outcome = bounded(info, &config, buffer_blocks, &bounds, &options).and_then(|simulation| {
            let trace = trace_over(simulation.capacity(), &requests);
            simulation.run(&mut Listed::new(trace), &mut ())
        });
        outcome.map(drop).map_err(|error| TestCaseError::fail(format!("{config:?} {options:?}: {error}")))
    })
}

pub fn is_replayed_from_a_preset_and_a_workload(info: &'static LayerInfo) -> Result<(), Failed> {
    let small = |name, mib: u64| DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap();
    let whole = |name| DrivePreset::named(name).unwrap();
    let drive = match info.recording {
        Recording::Flash => small("ssd-pore", 96),
        Recording::Interlaced => small("imr-tracklace", whole("small-zoned").bytes() >> 20),
        Recording::Hybrid => whole("small-hybrid"),
        Recording::Banded | Recording::Cached => whole("small-banded"),
        Recording::Conventional | Recording::Zoned | Recording::WholeZones => whole("small-zoned"),
    };
    let Workload::Synthetic(mut spec) = Workload::named("default").unwrap() else {
        panic!("the default workload is synthetic")
    };
    (spec.requests, spec.range_bytes) = (3000, 60 << 20);
    let workload = Workload::Synthetic(spec);
    let (config, buffer) = (toml::Table::new(), BufferSize::Percent(1.0));
    let setup = Setup { drive: &drive, layer: info, config: &config, buffer, workload: &workload };
    let options = ReplayOptions { verify: true, ..ReplayOptions::default() };
    let outcome = replay(&setup, &options, &mut ())?;
    assert_eq!(outcome.requests, 3000);
    assert!(outcome.write_amplification >= 1.0 && outcome.latency_ms.all.mean > 0.0);
    Ok(())
}
