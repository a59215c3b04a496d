//! What a growing disk costs whoever uses it meanwhile: the same requests with a growth and without, one by one.

use crate::fixture::{Listed, request};
use imbrex::block::Access;
use imbrex::drive::DrivePreset;
use imbrex::layers::find;
use imbrex::replay::{
    Extension, Observer, ReplayOptions, Scheduler, ServedRequest, Simulation, TraceMoment, disk, space,
};
use imbrex::trace::TraceRequest;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;
/// Less than an activation and a way of the arm take together, and more.
const SHORT_MS: u32 = 60;
const LONG_MS: u32 = 80;
/// A pause in which whatever a request waited for is over.
const PAUSE_MS: u64 = 120;
const ZONE: u32 = 32;
/// The zones that the host sees; all are conventional at first, and the last ones are converted.
const ZONES: u32 = 14;
/// Zones that it gets: the conversion of 5 realms of 7 that are conventional, so 4 zones are never moved.
const GAINED: u32 = 5;
const UNMOVED: u32 = ZONES - 2 * GAINED;
/// Blocks of the buffer: more than are ever written, so that no zone is rewritten.
const BUFFER: u32 = 24;

/// The requests of a run.
#[derive(Default)]
struct All(Vec<ServedRequest>);

impl Observer for All {
    fn request(&mut self, request: &ServedRequest) {
        self.0.push(*request);
    }
}

/// Replays a trace on a layer that takes the drive for `haste` times as fast as it is.
fn served(
    trace: &[TraceRequest],
    extend: &[Extension],
    bound_ms: u32,
    haste: u64,
    scheduler: Scheduler,
) -> Vec<ServedRequest> {
    let drive = DrivePreset::named("tiny-hybrid").unwrap();
    let layer = find("zone-alloy").unwrap();
    let options = ReplayOptions {
        extend: extend.to_vec(),
        scheduler,
        each_request: true,
        verify: true,
        check_every: 1,
        ..ReplayOptions::default()
    };
    let disk = disk(&drive, layer.recording).unwrap();
    let mut space = space(&disk, BUFFER, &options).unwrap();
    let times = &mut space.realms.as_mut().unwrap().times;
    (times.positioning_ns, times.block_ns) = (times.positioning_ns / haste, times.block_ns / haste);
    let config = toml::Table::from_iter([("bound_ms".to_owned(), f64::from(bound_ms).into())]);
    let simulation = Simulation::new(layer.name, &|| layer.build(&space, &config), disk, &options).unwrap();
    assert_eq!(simulation.capacity(), u64::from(ZONES * ZONE));
    let mut all = All::default();
    let outcome = simulation.run(&mut Listed::new(trace.to_vec()), &mut all).unwrap();
    assert_eq!((outcome.rmw, outcome.requests), (0, trace.len() as u64));
    let gained: u64 = extend.iter().map(|extension| extension.bytes / 4096).sum();
    assert_eq!(outcome.growth.map_or(0, |growth| growth.gained_blocks), gained);
    all.0
}

/// The largest increase of a request's latency by a growth that is asked for at the beginning, in ns.
fn increase(trace: &[TraceRequest], bound_ms: u32, haste: u64) -> i64 {
    let extension = Extension { bytes: u64::from(GAINED * ZONE) * 4096, at: TraceMoment::Requests(0) };
    let [with, without]: [&[Extension]; 2] = [&[extension], &[]];
    let [with, without] = [with, without].map(|extend| served(trace, extend, bound_ms, haste, Scheduler::Fcfs));
    let increases = with.iter().zip(&without).map(|(one, other)| {
        assert_eq!((one.number, one.arrival_ns), (other.number, other.arrival_ns));
        one.latency_ns as i64 - other.latency_ns as i64
    });
    increases.max().unwrap_or(0)
}

/// A trace of requests of up to 3 blocks in the first `zones` zones, each so many ns after the one before.
fn any_trace(zones: u32, gap: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<TraceRequest>> {
    let access = prop_oneof![3 => Just(Access::Read), 1 => Just(Access::Write)];
    let drawn = (gap, access, 0..zones * ZONE - 3, 1u32..4);
    prop::collection::vec(drawn, 1..40).prop_map(|drawn| {
        let (mut at, mut written) = (0, 0);
        let one = |(gap, access, first, blocks)| {
            at += gap;
            written += if access == Access::Write { blocks } else { 0 };
            // The buffer is not to be cleaned.
            let access = if written > BUFFER { Access::Read } else { access };
            request(at, access, u64::from(first), blocks)
        };
        drawn.into_iter().map(one).collect()
    })
}

/// Requests that queue, and such that do not.
fn any_gap() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 0..10 * MS, 1 => 0..PAUSE_MS * MS, 1 => PAUSE_MS * MS..3 * PAUSE_MS * MS]
}

/// Requests for zones that stay where they are.
fn staying() -> impl Strategy<Value = Vec<TraceRequest>> {
    any_trace(UNMOVED, any_gap())
}

/// Requests for any zones, also moved ones, each when the one before is over: of others a queue may become longer
/// because blocks lie elsewhere, which is no delay.
fn sparse() -> impl Strategy<Value = Vec<TraceRequest>> {
    any_trace(ZONES, PAUSE_MS * MS..3 * PAUSE_MS * MS)
}

/// The cases of a property test: a bound, and requests. The way to blocks that lie elsewhere now may be a longest way
/// more. That and a quantum are within any bound, that and an activation only within the longer one.
fn cases() -> impl Strategy<Value = (u32, Vec<TraceRequest>)> {
    prop_oneof![(prop_oneof![Just(SHORT_MS), Just(LONG_MS)], staying()), (Just(LONG_MS), sparse())]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_request_takes_longer_by_more_than_the_bound((bound_ms, trace) in cases()) {
        let increase = increase(&trace, bound_ms, 1);
        prop_assert!(increase <= i64::from(bound_ms) * MS as i64, "{} ms more", increase as f64 / 1e6);
    }
}

/// What shows that the property could fail: a layer that takes the drive for twice as fast as it is.
#[test]
fn quanta_for_a_drive_twice_as_fast_break_the_bound() {
    for (bound_ms, traces) in [(SHORT_MS, staying().boxed()), (LONG_MS, staying().boxed()), (LONG_MS, sparse().boxed())]
    {
        let result = TestRunner::deterministic().run(&traces, |trace| {
            prop_assert!(increase(&trace, bound_ms, 2) <= i64::from(bound_ms) * MS as i64);
            Ok(())
        });
        assert!(result.is_err(), "no request waited for the longer quanta");
    }
}

/// While some is made, and when all of it is there.
#[test]
fn space_is_given_as_often_as_it_is_asked_for() {
    let zones = u64::from(GAINED) / 3;
    let asked = [0, 1, 90].map(|at| Extension { bytes: zones * u64::from(ZONE) * 4096, at: TraceMoment::Requests(at) });
    let trace: Vec<_> = (0..100).map(|i| request(i * PAUSE_MS * MS, Access::Read, i % 100, 1)).collect();
    assert_eq!(served(&trace, &asked, LONG_MS, 1, Scheduler::Fcfs).len(), 100);
}

#[test]
fn the_observer_is_told_of_every_request_once() {
    let trace: Vec<_> = (0..20).map(|i| request(i * MS, Access::Read, (i * 37) % 400, 1)).collect();
    for scheduler in [Scheduler::Fcfs, Scheduler::Sptf] {
        let mut all = served(&trace, &[], SHORT_MS, 1, scheduler);
        assert!((scheduler == Scheduler::Fcfs) == all.is_sorted_by_key(|request| request.number));
        all.sort_by_key(|request| request.number);
        let said: Vec<_> = all.iter().map(|request| (request.number, request.arrival_ns)).collect();
        assert_eq!(said, (0..20).map(|i| (i + 1, i * MS)).collect::<Vec<_>>());
    }
}
