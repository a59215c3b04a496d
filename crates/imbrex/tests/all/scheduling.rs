//! The disk's queue: orders worked out by hand.

use std::sync::{Arc, Mutex};

use crate::fixture::{Flat, Listed, SECTOR_NS, SEEK_NS, request, simulate};
use imbrex::block::{Access, Pba};
use imbrex::layers::find;
use imbrex::media::Conventional;
use imbrex::replay::{Configured, Device, Outcome, ReplayError, ReplayOptions, Scheduler, Timing};
use imbrex::trace::TraceRequest;

const READ: Access = Access::Read;
const WRITE: Access = Access::Write;
const REORDERING: [Scheduler; 2] = [Scheduler::CLook, Scheduler::Sptf];

/// Takes simple times and notes the first block of each access.
struct Noted(Flat, Arc<Mutex<Vec<u64>>>);

impl Timing for Noted {
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64 {
        self.1.lock().unwrap().push(first_sector / 8);
        self.0.access(now_ns, first_sector, sectors, write)
    }

    fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64 {
        self.0.positioning_ns(now_ns, first_sector, write)
    }
}

/// The order in which the disk serves a trace on `conventional`, and what the replay measured.
fn served(options: &ReplayOptions, trace: Vec<TraceRequest>) -> (Vec<u64>, Outcome) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let media = Box::new(Conventional::new(Pba::DISK, 512));
    let disk = Device::new(media, Box::new(Noted(Flat::default(), Arc::clone(&order))), 4096);
    let layer = find("conventional").unwrap();
    let simulation =
        Configured { layer, config: &toml::Table::new(), buffer_blocks: 0 }.simulation(disk, options).unwrap();
    let outcome = simulation.run(&mut Listed::new(trace), &mut ()).unwrap();
    let order = order.lock().unwrap().clone();
    (order, outcome)
}

/// The order in which requests for single blocks are served that arrive while the disk serves the first of them.
fn order(scheduler: Scheduler, scheduler_depth: u32, blocks: &[u64]) -> Vec<u64> {
    let options = ReplayOptions { scheduler, scheduler_depth, prefill: 0.0, verify: true, ..ReplayOptions::default() };
    let trace = (0..).zip(blocks).map(|(i, &block)| request(i.min(1), READ, block, 1)).collect();
    served(&options, trace).0
}

#[test]
fn what_arrives_during_an_access_is_served_in_the_schedulers_order() {
    let blocks = [300, 310, 100, 290, 500, 301];
    assert_eq!(order(Scheduler::Fcfs, 32, &blocks), blocks);
    assert_eq!(order(Scheduler::CLook, 32, &blocks), [300, 301, 310, 500, 100, 290]);
    assert_eq!(order(Scheduler::Sptf, 32, &blocks), [300, 301, 310, 290, 100, 500]);
    for scheduler in REORDERING {
        assert_eq!(order(scheduler, 1, &blocks), blocks);
    }
    assert_eq!(order(Scheduler::CLook, 2, &blocks), [300, 310, 100, 290, 301, 500], "two at a time");
}

#[test]
fn latency_ends_with_the_last_access_and_conflicts_keep_their_order() {
    let near = 8 * SECTOR_NS;
    let options = ReplayOptions { scheduler: Scheduler::CLook, prefill: 0.0, verify: true, ..ReplayOptions::default() };
    // The read of 90 and 91 waits for the write of 91, although it would come first.
    let trace =
        vec![request(0, READ, 50, 1), request(1, WRITE, 91, 2), request(1, READ, 90, 2), request(1, READ, 51, 1)];
    let (order, outcome) = served(&options, trace);
    assert_eq!(order, [50, 51, 91, 90]);
    let write_done = 2 * SEEK_NS + 4 * near;
    assert_eq!(outcome.latency_ms.write.max, (write_done - 1) as f64 / 1e6);
    assert_eq!(outcome.latency_ms.read.max, (write_done + SEEK_NS + 2 * near - 1) as f64 / 1e6);
    assert_eq!(outcome.simulated_seconds, (write_done + SEEK_NS + 2 * near) as f64 / 1e9);
}

#[test]
fn a_closed_loop_keeps_the_queue_filled() {
    let options =
        ReplayOptions { scheduler: Scheduler::CLook, queue_depth: Some(2), prefill: 0.0, ..ReplayOptions::default() };
    let trace = [40, 30, 20, 50, 10].map(|block| request(0, READ, block, 1)).to_vec();
    // 40 and 30 arrive at once; each completion lets the next one in.
    assert_eq!(served(&options, trace).0, [30, 40, 50, 10, 20]);
}

#[test]
fn a_far_block_starves_under_sptf_and_not_under_c_look() {
    // A stream of neighbours, each arriving before the one before is read, and one block far away.
    let near = (0..200).map(|i| request(i * 8 * SECTOR_NS, READ, i, 1));
    let trace: Vec<_> = std::iter::once(request(0, READ, 0, 1)).chain([request(0, READ, 511, 1)]).chain(near).collect();
    let place = |scheduler, blocks: Vec<TraceRequest>| {
        let options = ReplayOptions { scheduler, prefill: 0.0, ..ReplayOptions::default() };
        served(&options, blocks).0.iter().position(|&block| block == 511).unwrap()
    };
    assert_eq!(place(Scheduler::Sptf, trace.clone()), trace.len() - 1);
    assert_eq!(place(Scheduler::Fcfs, trace), 1);
    // Under C-LOOK the requests behind the head wait for the next sweep, so that the far one has its turn.
    let behind = (0..200).map(|i| request(i * 8 * SECTOR_NS, READ, 200 - i, 1));
    let trace: Vec<_> = [request(0, READ, 300, 1), request(0, READ, 511, 1)].into_iter().chain(behind).collect();
    assert_eq!(place(Scheduler::CLook, trace), 2);
}

#[test]
fn depths_without_meaning_are_refused() {
    for scheduler_depth in [0, 1025] {
        let options = ReplayOptions { scheduler: Scheduler::Sptf, scheduler_depth, ..ReplayOptions::default() };
        let refused = simulate(find("conventional").unwrap(), "", 0, &options).err();
        assert!(matches!(refused, Some(ReplayError::Option { option: "scheduler_depth", .. })));
    }
}
