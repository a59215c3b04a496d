//! Stacks: what the devices below a layer do is counted and timed right, and survives power loss.

mod losses;
mod promotions;
mod regions;
mod restarts;
mod served;
mod sides;
mod whose;

use crate::fixture::random::any_request;
use crate::fixture::{Listed, SECTOR_NS, SEEK_NS, disk, request, simulate};
use imbrex::block::{Access, Pba};
use imbrex::explore::{Options, explore};
use imbrex::layers;
use imbrex::media::Conventional;
use imbrex::perform::rules::Rules;
use imbrex::replay::{Configured, Device, Outcome, ReplayError, ReplayOptions, Scheduler, Simulation, space};
use proptest::prelude::*;
use test_material::cases;

const BUFFER: u32 = 40;
/// Blocks of the journal of the layer above, where there is one.
const JOURNAL: u32 = 40;

/// A layer of the library on a tiny drive of its kind.
fn below(layer: &str, options: &ReplayOptions) -> Simulation {
    simulate(layers::find(layer).unwrap(), "", BUFFER, options).unwrap()
}

fn on(layer: &str, device: Device, options: &ReplayOptions) -> Simulation {
    let layer = layers::find(layer).unwrap();
    Configured { layer, config: &toml::Table::new(), buffer_blocks: BUFFER }.simulation(device, options).unwrap()
}

fn stack(below: Vec<Simulation>, options: &ReplayOptions) -> Result<Simulation, ReplayError> {
    let device = Device::stack(below);
    let options = &ReplayOptions { journal_blocks: Some(JOURNAL), ..options.clone() };
    let space = space(&device, BUFFER, options)?;
    Simulation::new("sides", &|| Ok(Box::new(sides::Sides::new(&space))), device, options)
}

fn run(simulation: Simulation, requests: Vec<imbrex::trace::TraceRequest>) -> Outcome {
    simulation.run(&mut Listed::new(requests), &mut ()).unwrap()
}

fn conventional(options: &ReplayOptions) -> Simulation {
    on("conventional", disk(Conventional::new(Pba::DISK, 512)), options)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read_on_every_level(
        requests in prop::collection::vec(any_request(), 1..120),
        lower in prop::sample::select(vec!["conventional", "fifo-log", "skylight", "seagate"]),
        (as_live, prefill) in (any::<bool>(), prop_oneof![Just(0.0), Just(1.0)]),
    ) {
        let options = ReplayOptions { verify: true, check_every: 1, as_live, gather: 8, prefill, ..Default::default() };
        let below = vec![below("page-ftl", &options), below(lower, &options)];
        let simulation = stack(below, &options).unwrap();
        let capacity = simulation.capacity();
        let mut now = 0;
        let requests: Vec<_> = requests.into_iter().map(|(gap, access, place, blocks)| {
            now += gap;
            let blocks = blocks.min(capacity as u32);
            request(now, access, (place * (capacity - u64::from(blocks)) as f64) as u64, blocks)
        }).collect();
        let outcome = run(simulation, requests);
        let sum = |of: fn(&Outcome) -> u64| outcome.devices.iter().map(|device| of(&device.outcome)).sum::<u64>();
        prop_assert_eq!(outcome.devices.len(), 2);
        prop_assert_eq!(outcome.media_write_blocks.total(), sum(|o| o.media_write_blocks.total()));
        prop_assert_eq!(outcome.media_read_blocks.total(), sum(|o| o.media_read_blocks.total()));
        prop_assert_eq!((outcome.resets, outcome.rmw), (sum(|o| o.resets), sum(|o| o.rmw)));
    }
}

#[test]
fn devices_work_at_the_same_time_each_in_order() {
    let options = ReplayOptions { idle: false, ..ReplayOptions::default() };
    let simulation = stack(vec![conventional(&options), conventional(&options)], &options).unwrap();
    // Each block's first write goes to the second device, where the third request waits for the first. Block 9 lies on
    // the first device, which is free.
    let write = |at| request(0, Access::Write, at, 1);
    let outcome = run(simulation, vec![write(0), write(7), request(0, Access::Read, 9, 1)]);
    let access = (SEEK_NS + 8 * SECTOR_NS) as f64 / 1e6;
    let first = access - SEEK_NS as f64 / 1e6;
    assert_eq!(outcome.latency_ms.write.mean, (first + (first + access)) / 2.0, "one after the other");
    assert_eq!(outcome.latency_ms.read.mean, access, "at once");
    assert_eq!(outcome.simulated_seconds, (first + access) / 1e3);
    assert_eq!(outcome.devices[1].outcome.write_requests, 2);
    assert_eq!(outcome.devices[0].outcome.read_requests, 1);
}

#[test]
fn idle_time_is_offered_to_every_layer() {
    let options = ReplayOptions::default();
    let simulation = stack(vec![conventional(&options), below("skylight", &options)], &options).unwrap();
    let second = 1_000_000_000;
    let write = |at, block| request(at, Access::Write, block, 1);
    let outcome = run(simulation, vec![write(0, 3), write(20 * second, 4), write(40 * second, 5)]);
    assert!(outcome.idle_cleaning.steps > 0);
    assert!(outcome.devices[1].outcome.idle_cleaning.steps > 0);
}

#[test]
fn what_a_stack_cannot_do_is_said() {
    let options = ReplayOptions { scheduler: Scheduler::Sptf, ..ReplayOptions::default() };
    let below = || conventional(&ReplayOptions::default());
    let error = stack(vec![below(), below()], &options).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("choose fcfs"), "{error}");
}

#[test]
fn no_cut_loses_what_was_flushed() {
    let options = Options { cuts: cases(3000, 30_000) as u64, seed: 1, rules: Rules::all() };
    let tally = explore(&sides::subject(), &options, |_| true).unwrap();
    println!("{tally:?}");
    assert!(tally.cuts_in_recovery > 50 && tally.rebuilds > 50 && tally.checkpoints > 20, "{tally:?}");
}

/// Runs that lose a flushed block when the layer above does not know.
#[test]
fn a_life_that_ends_below_ends_the_one_above() {
    let tally = explore(&sides::subject(), &Options { cuts: 100, seed: 700, rules: Rules::all() }, |_| true).unwrap();
    assert!(tally.rebuilds > 0 && tally.faults > 0, "{tally:?}");
}

#[test]
fn a_read_is_complete_when_the_host_has_it() {
    let options = ReplayOptions { idle: false, ..ReplayOptions::default() };
    let device = Device::stack(vec![conventional(&options), conventional(&options)]);
    let simulation = on("lru-cache", device, &options);
    let outcome = run(simulation, vec![request(0, Access::Read, 100, 1)]);
    let access = (SEEK_NS + 8 * SECTOR_NS) as f64 / 1e6;
    assert_eq!(outcome.latency_ms.read.mean, access, "the copy to the flash is nobody's wait");
    assert_eq!(outcome.devices[0].outcome.write_requests, 1);
    assert_eq!(outcome.simulated_seconds * 1e3, access, "nor the run's");
    assert!(outcome.devices[0].outcome.simulated_seconds * 1e3 > access, "it is made when the disk has read");
}

#[test]
fn a_copy_that_the_disk_still_reads_holds_up_nobody() {
    let options = ReplayOptions { idle: false, ..ReplayOptions::default() };
    let served = |requests| {
        let device = Device::stack(vec![conventional(&options), conventional(&options)]);
        run(on("lru-cache", device, &options), requests)
    };
    let read = |at| request(0, Access::Read, at, 1);
    let access = (SEEK_NS + 8 * SECTOR_NS) as f64 / 1e6;
    let outcome = served(vec![read(100), request(0, Access::Write, 7, 1)]);
    assert_eq!(outcome.latency_ms.write.mean, access, "the flash is free meanwhile");
    assert_eq!(outcome.devices[0].outcome.write_requests, 2, "the copy is made nevertheless");
    let outcome = served(vec![read(100), read(100)]);
    assert!(
        outcome.latency_ms.read.max > 2.0 * access,
        "who reads the copy waits for it: {:?}",
        outcome.latency_ms.read
    );
    assert_eq!(outcome.devices[1].outcome.read_requests, 1);
}
