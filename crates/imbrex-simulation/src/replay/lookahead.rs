//! The requests ahead: read from the trace in batches, turned into blocks, and given their time of arrival.
//!
//! At least [`WAITING`] requests beyond the one being served are known until the trace ends, at most [`WINDOW`]. So
//! what a replay keeps does not grow with the trace, even when requests arrive faster than the disk serves them: those
//! further back are still in the trace.

use std::collections::VecDeque;

use super::error::ReplayError;
use super::options::{Beyond, ReplayOptions, WarmUp};
use imbrex_core::block::{Access, Extent, Lba, Request};
use imbrex_trace::{TraceRequest, TraceSource};

/// The most waiting requests that a layer is shown, and that may be served before a blocked write.
pub(super) const WAITING: usize = 64;
/// Requests read, and prefetched for, at a time.
const BATCH: usize = 64;
/// The most requests held, with the one being served.
const WINDOW: usize = 1 + WAITING + BATCH;

/// A request whose turn will come.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pending {
    pub request: Request,
    /// `u64::MAX` while a closed loop has not let it in.
    pub arrival_ns: u64,
    /// Its number in the trace, from 1; 0 once it has been served before its turn.
    pub number: u64,
    /// Its length before it was rounded to blocks.
    pub bytes: u32,
}

impl Pending {
    const NONE: Self = Self {
        request: Request { access: Access::Read, at: Extent::new(Lba(0), 0) },
        arrival_ns: 0,
        number: 0,
        bytes: 0,
    };

    fn is_served(&self) -> bool {
        self.number == 0
    }

    fn is_read(&self) -> bool {
        self.request.access == Access::Read
    }
}

/// What a request becomes on a layer of this capacity.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Addressing {
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks that the layer offers.
    pub capacity: u64,
    /// What becomes of a request that ends beyond them.
    pub beyond: Beyond,
    /// The blocks that the workload's addresses reach over, if they are stretched over the capacity.
    pub stretched: Option<u64>,
}

/// The arrivals of a closed loop.
struct Loop {
    /// Completions that have not yet let a request in.
    free_since: VecDeque<u64>,
    /// How many of the requests ahead have arrived.
    arrived: usize,
    /// How much later than in the trace requests arrive, if they keep the trace's pauses.
    late_ns: Option<u64>,
    /// When the trace has the requests ahead that have not arrived.
    traced_ns: VecDeque<u64>,
}

impl Loop {
    fn new(depth: u32, paced: bool) -> Self {
        Self {
            free_since: (0..depth).map(|_| 0).collect(),
            arrived: 0,
            late_ns: paced.then_some(0),
            traced_ns: VecDeque::with_capacity(WINDOW),
        }
    }

    /// When a request arrives that may from `free_ns` on, and that the trace has at `traced_ns`.
    fn arrival(&mut self, free_ns: u64, traced_ns: u64) -> u64 {
        let Some(late_ns) = &mut self.late_ns else { return free_ns };
        let arrival_ns = free_ns.max(traced_ns.saturating_add(*late_ns));
        *late_ns = arrival_ns - traced_ns;
        arrival_ns
    }

    /// When the next request from the trace arrives; `u64::MAX` if it is not let in yet.
    fn read(&mut self, traced_ns: u64) -> u64 {
        match self.free_since.pop_front() {
            Some(free_ns) => {
                self.arrived += 1;
                self.arrival(free_ns, traced_ns)
            }
            None => {
                self.traced_ns.push_back(traced_ns);
                u64::MAX
            }
        }
    }
}

pub(super) struct Lookahead<'a> {
    source: &'a mut dyn TraceSource,
    addressing: Addressing,
    closed: Option<Loop>,
    prefetch: bool,
    /// Requests whose turn is over, the one being served, and from `next` on those ahead. The one being served is not
    /// copied to a place of its own: what was written in parts just now is slow to be read whole.
    held: Vec<Pending>,
    next: usize,
    /// How many of those ahead are reads that have not been served.
    reads: usize,
    batch: Vec<TraceRequest>,
    requests: Vec<Request>,
    read: u64,
    at_end: bool,
    warm_up: Option<WarmUp>,
    /// The number of the first request after the warm-up, once it is known.
    first_measured: Option<u64>,
}

impl<'a> Lookahead<'a> {
    /// Begins at the next request of `source`; with a queue depth in a closed loop.
    pub(super) fn new(source: &'a mut dyn TraceSource, addressing: Addressing, options: &ReplayOptions) -> Self {
        let closed = options.queue_depth.map(|depth| Loop::new(depth, options.paced));
        let mut held = Vec::with_capacity(WINDOW);
        held.push(Pending::NONE);
        Self {
            source,
            addressing,
            closed,
            prefetch: options.prefetch,
            held,
            next: 1,
            reads: 0,
            batch: Vec::with_capacity(BATCH),
            requests: Vec::with_capacity(BATCH),
            read: 0,
            at_end: false,
            warm_up: options.warm_up,
            first_measured: None,
        }
    }

    /// Requests that the trace has, as far as it has been read.
    pub(super) fn requests(&self) -> u64 {
        self.read
    }

    /// Whether the request of this number in the trace, which has been read, comes after the warm-up.
    pub(super) fn is_after_warm_up(&self, number: u64) -> bool {
        self.first_measured.is_some_and(|first| number >= first)
    }

    /// Sees to it that the requests that may wait are known. What is read from the trace, `prefetch` is shown.
    ///
    /// # Errors
    /// When the trace is at fault.
    #[inline]
    pub(super) fn refill(&mut self, prefetch: impl FnOnce(&[Request])) -> Result<(), ReplayError> {
        if self.ahead().len() <= WAITING && !self.at_end { self.fill(prefetch) } else { Ok(()) }
    }

    /// The requests whose turn will come.
    #[inline]
    fn ahead(&self) -> &[Pending] {
        &self.held[self.next..]
    }

    /// Goes on to the next request in order of arrival that has not been served, if there is one.
    #[inline]
    pub(super) fn advance(&mut self) -> bool {
        while let Some(next) = self.held.get(self.next) {
            self.next += 1;
            if let Some(closed) = &mut self.closed {
                closed.arrived -= 1;
            }
            if !next.is_served() {
                self.reads -= usize::from(next.is_read());
                return true;
            }
        }
        false
    }

    /// The request that [`Lookahead::advance`] will go on to.
    pub(super) fn next(&self) -> Option<&Pending> {
        self.ahead().iter().find(|next| !next.is_served())
    }

    /// The request that [`Lookahead::advance`] went on to. It is not an option that `advance` returns: that would be
    /// moved in pieces that no store buffer forwards, at a tenth of a replay's time.
    #[inline]
    pub(super) fn current(&self) -> Pending {
        self.held[self.next - 1]
    }

    /// A request was completed: in a closed loop the next one arrives, now or after the trace's pause.
    pub(super) fn completed(&mut self, now_ns: u64) {
        let Some(closed) = &mut self.closed else { return };
        match self.held.get_mut(self.next + closed.arrived) {
            Some(next) => {
                let traced_ns = closed.traced_ns.pop_front().unwrap_or(0);
                next.arrival_ns = closed.arrival(now_ns, traced_ns);
                closed.arrived += 1;
            }
            None => closed.free_since.push_back(now_ns),
        }
    }

    /// The requests that have arrived by `now_ns` and are not served, oldest first.
    pub(super) fn waiting(&self, now_ns: u64, waiting: &mut Vec<Request>) {
        waiting.clear();
        let arrived = self.ahead().iter().take(WAITING).take_while(|p| p.arrival_ns <= now_ns);
        waiting.extend(arrived.filter(|p| !p.is_served()).map(|p| p.request));
    }

    /// Takes the first read that has arrived by `now_ns` and touches neither `blocked` nor a write that came before it.
    pub(super) fn take_read(&mut self, now_ns: u64, blocked: Extent<Lba>) -> Option<Pending> {
        if self.reads == 0 {
            return None;
        }
        let ahead = self.ahead();
        let place = (0..ahead.len().min(WAITING))
            .take_while(|&i| ahead[i].arrival_ns <= now_ns)
            .find(|&i| may_overtake(ahead, i, blocked))?;
        let place = &mut self.held[self.next + place];
        let read = *place;
        place.number = 0;
        self.reads -= 1;
        Some(read)
    }

    /// Reads a batch behind what is ahead; what is over makes room.
    fn fill(&mut self, prefetch: impl FnOnce(&[Request])) -> Result<(), ReplayError> {
        self.held.drain(..self.next - 1);
        self.next = 1;
        self.source.fill(&mut self.batch, BATCH)?;
        self.at_end = self.batch.is_empty();
        for traced in &self.batch {
            self.read += 1;
            let request = self.addressing.request(traced, self.read)?;
            if self.first_measured.is_none() && !is_warm_up(self.warm_up, traced.arrival_ns, self.read) {
                self.first_measured = Some(self.read);
            }
            let arrival_ns = self.closed.as_mut().map_or(traced.arrival_ns, |closed| closed.read(traced.arrival_ns));
            let pending = Pending { request, arrival_ns, number: self.read, bytes: traced.bytes };
            self.reads += usize::from(pending.is_read());
            self.held.push(pending);
        }
        if self.prefetch {
            self.requests.clear();
            let read = &self.held[self.held.len() - self.batch.len()..];
            self.requests.extend(read.iter().map(|pending| pending.request));
            prefetch(&self.requests);
        }
        Ok(())
    }
}

/// Whether the request of this number, which arrives then, is a part of the warm-up.
fn is_warm_up(warm_up: Option<WarmUp>, arrival_ns: u64, number: u64) -> bool {
    match warm_up {
        Some(WarmUp::Requests(requests)) => number <= requests,
        Some(WarmUp::Ns(ns)) => arrival_ns < ns,
        None => false,
    }
}

/// Whether that one of the requests ahead is a read that touches neither `blocked` nor a write that came before it.
fn may_overtake(ahead: &[Pending], place: usize, blocked: Extent<Lba>) -> bool {
    let Request { access, at } = ahead[place].request;
    let is_change = |p: &&Pending| p.request.access != Access::Read;
    access == Access::Read
        && !ahead[place].is_served()
        && !at.overlaps(&blocked)
        && !ahead.iter().take(place).filter(is_change).any(|p| p.request.at.overlaps(&at))
}

impl Addressing {
    /// The blocks of a request that has this number in its trace, from 1.
    ///
    /// # Errors
    /// [`ReplayError::Beyond`] if it ends beyond the capacity and that is not to be mended, or cannot be.
    #[inline]
    pub fn request(&self, traced: &TraceRequest, number: u64) -> Result<Request, ReplayError> {
        let mut at = traced.blocks(self.block_bytes);
        // A range that is larger than the capacity is not stretched, and its end is beyond it.
        if let Some(range) = self.stretched.filter(|range| *range <= self.capacity) {
            at.start = Lba((u128::from(at.start.0) * u128::from(self.capacity) / u128::from(range)) as u64);
        }
        if at.end().0 > self.capacity {
            at.start = self.wrapped(at, traced, number)?;
        }
        Ok(Request { access: traced.access, at })
    }

    /// Where a request begins instead that ends beyond the capacity.
    #[cold]
    fn wrapped(&self, at: Extent<Lba>, traced: &TraceRequest, number: u64) -> Result<Lba, ReplayError> {
        let blocks = u64::from(at.blocks);
        if self.beyond == Beyond::Error || blocks > self.capacity {
            return Err(ReplayError::Beyond {
                request: number,
                offset_bytes: traced.offset_bytes,
                bytes: traced.bytes,
                capacity_bytes: self.capacity * u64::from(self.block_bytes),
            });
        }
        Ok(Lba((at.start.0 % self.capacity).min(self.capacity - blocks)))
    }
}
