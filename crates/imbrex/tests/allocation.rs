//! Replaying allocates nothing for a request, however long the trace, and neither does the live engine for a write.
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait to implement")]

mod fixture;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use fixture::served::{SMALL_ZONED, Served};
use fixture::{request, simulate};
use imbrex::block::Access;
use imbrex::layers::{self, LayerInfo};
use imbrex::replay::{ReplayOptions, Scheduler};
use imbrex::trace::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // During a thread's end the counter may be gone; nothing is measured then.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

const REQUESTS: u64 = 30_000;
/// What a map of blocks allocates in the second half: the index of a group may yet be longer than ever before.
const LONGER_INDEXES: u64 = 8;

/// A fixed mix of reads and writes that notes how much had been allocated when half of it was handed out.
struct Mix {
    info: TraceInfo,
    capacity: u64,
    next: u64,
    at_half: u64,
}

impl Mix {
    fn new(capacity: u64) -> Self {
        let info = TraceInfo {
            name: "mix".into(),
            format: TraceFormat::Synthetic,
            compression: Compression::None,
            synthetic: true,
        };
        Self { info, capacity, next: 0, at_half: 0 }
    }

    fn request(&self, number: u64) -> TraceRequest {
        let random =
            (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20;
        let access = if random.is_multiple_of(3) { Access::Read } else { Access::Write };
        let blocks = 1 + (random >> 8) as u32 % 4;
        request(number * 20_000_000, access, (random >> 12) % (self.capacity - 4), blocks)
    }
}

impl TraceSource for Mix {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < limit && self.next < REQUESTS {
            if self.next == REQUESTS / 2 {
                self.at_half = allocations();
            }
            batch.push(self.request(self.next));
            self.next += 1;
        }
        if batch.is_empty() && self.next == REQUESTS {
            self.next += 1;
            self.at_half = allocations() - self.at_half;
        }
        Ok(())
    }
}

#[test]
fn a_request_allocates_nothing() {
    // What is counted is each thread's own.
    std::thread::scope(|scope| {
        for part in layers::ALL.chunks(layers::ALL.len().div_ceil(2)) {
            scope.spawn(|| part.iter().for_each(|info| allocates(info, "", LONGER_INDEXES)));
        }
    });
}

#[test]
fn a_request_allocates_nothing_under_any_replacement_policy() {
    for info in layers::ALL {
        for field in info.fields.iter().filter(|field| field.key == "replacement") {
            // A plan may yet be longer than all before it, and the runner's list of operations grows.
            let most = LONGER_INDEXES + 2;
            field.samples.iter().for_each(|policy| allocates(info, &format!("replacement = {policy}"), most));
        }
    }
}

/// In the second half of the mix a layer allocates at most so many times; a journal may make an entry once more that is
/// longer than all before it, or a map a page with more runs.
fn allocates(info: &LayerInfo, config: &str, most: u64) {
    let (fcfs, sptf) = (Scheduler::Fcfs, Scheduler::Sptf);
    let cases =
        [(false, None, fcfs), (false, Some(8), fcfs), (true, None, fcfs), (false, None, sptf), (true, Some(8), sptf)];
    for (as_live, queue_depth, scheduler) in cases {
        let options = ReplayOptions { as_live, queue_depth, scheduler, gather: 8, ..ReplayOptions::default() };
        let simulation = simulate(info, config, 40, &options).expect("the layer fits the tiny disk");
        // A queue may yet hold more operations, or ones that touch more, than ever before, and the runner's lists grow.
        let most = most + if scheduler == fcfs { 0 } else { 2 } + u64::from(as_live);
        let mut mix = Mix::new(simulation.capacity());
        let outcome = simulation.run(&mut mix, &mut ()).expect("the layer serves the mix");
        assert_eq!(outcome.requests, REQUESTS);
        assert!(
            mix.at_half <= most,
            "{} allocates {} times ({config}, as_live: {as_live}, {queue_depth:?}, {scheduler:?})",
            info.name,
            mix.at_half
        );
    }
}

/// Layers, and how often a write allocates while it is served, in steady state. What waits for the journal is encoded
/// there, once for many writes; and what is cleaned is read, so it has memory of its own.
const SERVED: [(&str, f64); 7] = [
    ("conventional", 0.01),
    ("dm-zoned", 0.01),
    ("log-greedy", 0.06),
    ("sepbit", 0.06),
    ("log-lifetimes", 0.06),
    ("block-lru", 0.4),
    ("fifo-log", 1.5),
];

#[test]
fn a_served_write_allocates_nothing_of_its_own() {
    const TOGETHER: u64 = 32;
    for (layer, most) in SERVED {
        let mut served = Served::new(layer, &toml::Table::new(), &SMALL_ZONED);
        let contents = Bytes::from(vec![7; TOGETHER as usize * 4096]);
        let mut counted = 0;
        for first in (0..REQUESTS).step_by(TOGETHER as usize) {
            let starts: Vec<u64> = (first..first + TOGETHER).map(|n| n.wrapping_mul(2_654_435_761) % 4096).collect();
            let before = allocations();
            served.write_together(first, &starts, &contents);
            counted += if first >= REQUESTS / 2 { allocations() - before } else { 0 };
        }
        let each = counted as f64 / (REQUESTS / 2) as f64;
        assert!(each <= most, "{layer} allocates {each:.2} times for a write");
    }
}
