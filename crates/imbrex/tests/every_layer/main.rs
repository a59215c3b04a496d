//! What holds for every layer: one test for each property and layer, so that a layer that is added to
//! [`imbrex::layers::ALL`] is tested without being named here, and both cores have work.
//!
//! `cargo test -p imbrex --test every_layer fifo-log` runs those of a layer. `PROPTEST_CASES` sets the number of cases
//! of each property, `PROPTEST_RNG_SEED` the seed they are drawn from (`.cargo/config.toml` fixes it otherwise).
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod bounded;
#[path = "../fixture/mod.rs"]
mod fixture;
mod map_memory;
mod power;
mod prefill;
mod promises;
mod queue;
mod warm_up;

use std::env;
use std::fmt::Debug;
use std::process::ExitCode;

use imbrex::layers::{self, LayerInfo};
use libtest_mimic::{Arguments, Failed, Trial};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

fn main() -> ExitCode {
    let trials = [
        each("keeps_its_promises", promises::keeps_its_promises),
        each("keeps_them_in_steps_of_any_size", promises::keeps_them_in_steps_of_any_size),
        each("is_replayed_from_a_preset_and_a_workload", promises::is_replayed_from_a_preset_and_a_workload),
        each("has_empty_buffers_when_prefilled", prefill::has_empty_buffers_when_prefilled),
        each("leaves_a_warm_up_out", warm_up::leaves_a_warm_up_out),
        each("sees_no_queue_of_one", queue::sees_no_queue_of_one),
        each("counts_the_same_under_any_scheduler", queue::counts_the_same_under_any_scheduler),
        each("takes_no_longer_when_verified", queue::takes_no_longer_when_verified),
        each("does_the_same_in_any_map_memory", map_memory::does_the_same_in_any_map_memory),
        each("survives_power_cuts", power::survives_power_cuts),
        each("survives_what_a_string_decides", power::survives_what_a_string_decides),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}

/// A property of a layer.
type Property = fn(&'static LayerInfo) -> Result<(), Failed>;

fn each(name: &'static str, property: Property) -> impl Iterator<Item = Trial> {
    layers::ALL.iter().map(move |info| Trial::test(format!("{}::{name}", info.name), move || property(info)))
}

/// Checks so many cases, or as many as the environment asks for.
fn for_any<S>(cases: u32, input: S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) -> Result<(), Failed>
where
    S: Strategy<Value: Debug>,
{
    let asked = env::var_os("PROPTEST_CASES").is_some();
    let ours = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let config = if asked { ours } else { ProptestConfig { cases, ..ours } };
    TestRunner::new(config).run(&input, check).map_err(Failed::from)
}
