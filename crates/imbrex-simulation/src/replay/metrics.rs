//! What a replay counts. Everything about the media falls out of plans; the rest is about the host's requests.

use hdrhistogram::Histogram;

use imbrex_core::block::{Access, Request};
use imbrex_core::plan::{Event, Why};

/// The finest latency told apart, and the longest (104 days): what is longer counts as that.
const LATENCY_NS: (u64, u64) = (1_000, 1 << 53);
/// Significant decimal digits of a percentile.
const DIGITS: u8 = 3;

/// How often pages of a map were needed, and how many were moved.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct MapCounts {
    pub lookups: u64,
    pub read: u64,
    pub written: u64,
}

impl MapCounts {
    pub fn add(&mut self, other: Self) {
        self.lookups += other.lookups;
        self.read += other.read;
        self.written += other.written;
    }
}

/// What plans add up to.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Counters {
    /// Blocks written to the disk, by reason.
    pub written: [u64; Why::ALL.len()],
    /// Blocks read from the disk, by reason.
    pub read: [u64; Why::ALL.len()],
    /// How often each event happened.
    pub events: [u64; Event::COUNT],
    /// Units emptied.
    pub resets: u64,
    /// Blocks of padding that were written again with what they lie among.
    pub padding_again: u64,
    /// Pages of a map in bounded memory.
    pub map: MapCounts,
}

impl Counters {
    pub(super) fn event(&self, event: Event) -> u64 {
        self.events[event.index()]
    }

    /// What the layer's own counters came to.
    pub(super) fn own(&self) -> &[u64] {
        &self.events[Event::SHARED.len()..]
    }

    /// Keeps the events alone: what was written to a device that is no drive is written to the media by the layer
    /// below.
    pub(super) fn forget_blocks(&mut self) {
        *self = Self { events: self.events, ..Self::default() };
    }

    /// Adds what a device below has done to its media. What it has buffered is no matter of the layer above.
    pub(super) fn add_below(&mut self, below: &Self) {
        let add = |sums: &mut [u64], more: &[u64]| sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        add(&mut self.written, &below.written);
        add(&mut self.read, &below.read);
        self.resets += below.resets;
        self.padding_again += below.padding_again;
        self.map.add(below.map);
        for event in [Event::Rmw, Event::RmwFree] {
            self.events[event.index()] += below.event(event);
        }
    }
}

/// What one kind of request adds up to.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Served {
    pub requests: u64,
    pub blocks: u64,
    pub bytes: u64,
    /// The sum over all requests; 2^64 ns would be reached by a week's trace on an overloaded disk.
    pub latency_ns: u128,
    pub max_latency_ns: u64,
    /// Requests that took longer than the limit.
    pub over_limit: u64,
}

/// What the host asked for and got.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct HostTotals {
    pub read: Served,
    pub write: Served,
    pub trim: Served,
    /// Writes all of whose blocks were buffered already.
    pub write_hit_requests: u64,
}

impl HostTotals {
    pub(super) fn add(&mut self, request: &Request, bytes: u32, latency_ns: u64, limit_ns: u64) {
        let served = match request.access {
            Access::Read => &mut self.read,
            Access::Write => &mut self.write,
            Access::Trim => &mut self.trim,
        };
        served.requests += 1;
        served.blocks += u64::from(request.at.blocks);
        served.bytes += u64::from(bytes);
        served.latency_ns += u128::from(latency_ns);
        served.max_latency_ns = served.max_latency_ns.max(latency_ns);
        served.over_limit += u64::from(latency_ns > limit_ns);
    }

    pub(super) fn requests(&self) -> u64 {
        self.read.requests + self.write.requests + self.trim.requests
    }
}

/// Everything that is counted, at one time.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Totals {
    pub media: Counters,
    pub host: HostTotals,
}

/// The distributions of latency. Trims touch no media and stay out.
pub(super) struct Latencies {
    pub read: Histogram<u64>,
    pub write: Histogram<u64>,
}

impl Latencies {
    pub(super) fn new() -> Self {
        let histogram = || {
            Histogram::new_with_bounds(LATENCY_NS.0, LATENCY_NS.1, DIGITS).expect("the bounds are constants in order")
        };
        Self { read: histogram(), write: histogram() }
    }

    pub(super) fn add(&mut self, access: Access, latency_ns: u64) {
        match access {
            Access::Read => self.read.saturating_record(latency_ns),
            Access::Write => self.write.saturating_record(latency_ns),
            Access::Trim => {}
        }
    }
}

/// Cleaning of one kind.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Cleaning {
    /// Times it began.
    pub episodes: u64,
    /// Steps it took.
    pub steps: u64,
    /// How long the steps took.
    pub ns: u64,
}
