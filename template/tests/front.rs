//! What holds for the layer: what its own reads and writes come to, random replays in random configurations, and power
//! cuts in memory and on images. `PROPTEST_CASES` and `CUTS` make the last two longer.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::env;

use imbrex::drive::DrivePreset;
use imbrex::explore::{self, Options, Subject};
use imbrex::layers::{ConfigError, Field};
use imbrex::perform::rules::{Rule, Rules};
use imbrex::plan::Why;
use imbrex::replay::{Beyond, BufferSize, Outcome, ReplayError, ReplayOptions, Setup};
use imbrex::samples::sampled;
use imbrex::trace::Workload;
use imbrex::trace::synthetic::SyntheticSpec;
use imbrex_front::INFO;
use imbrex_live::explore::on_images;
use proptest::prelude::*;

/// Zones of 64 blocks, few of them, so that all that can happen does.
fn drive() -> DrivePreset {
    let drive = DrivePreset::named("small-zoned").unwrap();
    let shape = imbrex::drive::Shape {
        capacity_bytes: Some(24 << 18),
        zone_bytes: Some(1 << 18),
        conventional_zones: Some("6".parse().unwrap()),
    };
    drive.shaped(&shape).unwrap()
}

const ZONE: u64 = 1 << 18;
const CONVENTIONAL: u64 = 6 * ZONE;

fn replayed(workload: &str, config: &str, options: &ReplayOptions) -> Result<Outcome, ReplayError> {
    let workload = Workload::Synthetic(SyntheticSpec::parse("test", workload).unwrap());
    let (drive, config) = (drive(), config.parse().unwrap());
    let setup =
        Setup { drive: &drive, layer: &INFO, config: &config, buffer: BufferSize::Blocks(0), workload: &workload };
    setup.simulation(options)?.run(&mut *workload.open()?, &mut ())
}

/// Every read is compared with what was written, the disk too at the end, and the invariants after every step.
fn checked() -> ReplayOptions {
    ReplayOptions { verify: true, check_every: 1, beyond: Beyond::Wrap, ..ReplayOptions::default() }
}

fn workload(seed: u64, requests: u64, range_bytes: u64, write_ratio: f64, kib: u32, pattern: &str) -> String {
    format!(
        "name = 'test'\nseed = {seed}\nrequests = {requests}\nrange_bytes = {range_bytes}\n\
         write_ratio = {write_ratio}\n\
         sizes = [{{ kib = 4, weight = 3 }}, {{ kib = {kib}, weight = 1 }}]\narrivals = {{ mean_rate = 100.0 }}\n\
         streams = [{{ weight = 1, pattern = {pattern} }}]\n"
    )
}

#[test]
fn the_front_is_written_in_place_and_nothing_else_is() {
    let outcome = |range, config| replayed(&workload(1, 500, range, 1.0, 64, "'uniform'"), config, &checked()).unwrap();
    let front = outcome(CONVENTIONAL, "");
    assert_eq!((front.write_amplification, front.rmw), (1.0, 0));
    // Half of the addresses begin behind the front now, in zones that are full.
    let halved = outcome(CONVENTIONAL, "front = 0.5");
    assert!((200..300).contains(&halved.rmw), "{}", halved.rmw);
    let none = outcome(CONVENTIONAL, "front = 0.0");
    assert!(none.rmw >= 500, "{}", none.rmw);
    // A rewrite writes the whole zone: what the host does not give is carried.
    let written = none.media_write_blocks.get(Why::Host) + none.media_write_blocks.get(Why::Destage);
    assert_eq!(written, none.rmw * ZONE / 4096);
}

#[test]
fn a_wrong_field_is_named() {
    for (config, reason) in [
        ("front = 1.5", "front must be between 0 and 1"),
        ("spare_zones = 0", "at least 1"),
        ("rear = 1", "there is no field rear"),
    ] {
        let refused = replayed(&workload(1, 1, ZONE, 1.0, 64, "'uniform'"), config, &checked());
        let Err(ReplayError::Config(ConfigError::Field { reason: said, .. })) = refused else { panic!("{config}") };
        assert!(said.contains(reason), "{said}");
    }
}

/// A configuration of samples: for each field its default (0) or one of them.
fn config(choices: &[u8]) -> String {
    let mut rest = choices.iter();
    let choose = |field: &'static Field| {
        let index = usize::from(*rest.next()?) % (field.samples.len() + 1);
        index.checked_sub(1).map(|sample| field.samples[sample])
    };
    sampled(INFO.name, INFO.fields, choose, |_| Ok(true)).unwrap().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    /// The media refuses whatever breaks its rules, and the same input gives the same outcome.
    #[test]
    fn what_was_written_is_read(
        seed: u64,
        write_ratio in 0.2..1.0,
        kib in prop_oneof![Just(4u32), Just(40), Just(600)],
        pattern in prop_oneof![
            Just("'uniform'"),
            Just("{ sequential = { run_requests = 9.0 } }"),
            Just("{ zipf = { theta = 0.9, scatter_kib = 64 } }"),
        ],
        choices in prop::collection::vec(any::<u8>(), 3),
        prefill in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        as_live: bool,
        queue_depth in prop::option::of(1u32..40),
    ) {
        let options = ReplayOptions { prefill, as_live, queue_depth, gather: 8, ..checked() };
        let (workload, config) = (workload(seed, 150, 24 * ZONE, write_ratio, kib, pattern), config(&choices));
        let once = || replayed(&workload, &config, &options).map_err(|e| TestCaseError::fail(format!("{config}: {e}")));
        prop_assert_eq!(once()?, once()?);
    }
}

fn cases() -> u32 {
    env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

fn survives(subject: &Subject, cuts: u64, rules: Rules) -> Result<explore::Tally, explore::Finding> {
    let cuts = env::var("CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(cuts);
    explore::explore(subject, &Options { cuts, seed: 1, rules }, |_| true)
}

/// A volume finds its layer by name.
#[test]
fn it_survives_power_cuts() {
    imbrex::layers::add(&INFO).unwrap();
    for subject in [Subject::layer(&INFO), on_images(&INFO)] {
        let tally = survives(&subject, 300, Rules::all()).unwrap();
        assert!(tally.cuts_in_recovery > 0 && tally.checkpoints > 0 && tally.faults > 0, "{tally:?}");
    }
}

/// A test that cannot fail says nothing: without the rule that a zone is emptied after the record that it moved, the
/// explorer has to find what is lost.
#[test]
fn a_broken_rule_is_found() {
    let without = Rules::without(Rule::ALL[3]).unwrap();
    survives(&Subject::layer(&INFO), 20_000, without).unwrap_err();
}
