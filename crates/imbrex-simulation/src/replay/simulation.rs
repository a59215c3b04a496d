//! The runner: takes requests in order of arrival, has the layer plan them, cleans when a write is blocked or the disk
//! idle, and measures.
//!
//! Requests are planned in order of arrival, with one exception: while a write is blocked, reads that have arrived may
//! be served after a cleaning step that allows it ([`Step::More`]), unless they touch the blocked write or a write
//! before them. So the layer sees the writes in the order of the trace, whatever time things take.
//!
//! In idle time, steps are performed whole: a request that arrives during one waits for its end.
//!
//! With a scheduler, plans are queued and `dispatch` says what else differs. A queue that holds one operation gives the
//! same outcome as none.

mod measuring;

use super::bands::Looks;
use super::content::{Content, Host, MOST_MEMORY};
use super::device::Device;
use super::error::{Fault, Moment, ReplayError};
use super::growth_state::GrowthState;
use super::later::Later;
use super::lookahead::{Addressing, Lookahead, Pending, WAITING};
use super::machine::Machine;
use super::map_memory::MapMemory;
use super::metrics::{Cleaning, HostTotals, Latencies};
use super::options::{ReplayOptions, TraceMoment};
use super::outcome::Outcome;
use super::queue_state::QueueState;
use super::room::journal_for;
use super::series::Series;
use super::{Observer, ServedRequest};
use imbrex_core::block::{Access, Extent, Lba, Request};
use imbrex_core::layer::{Facts, TranslationLayer, Write};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Plan};
use imbrex_layers::ConfigError;
use imbrex_trace::TraceSource;

/// When verifying, how many blocks of a layer's maps may be looked at for each request.
const BLOCKS_CHECKED_PER_REQUEST: u64 = 1 << 16;
/// When verifying, requests between two looks at the memory that this takes.
const MEMORY_EVERY: u64 = 4096;

/// A layer on a disk, ready to serve.
pub struct Simulation {
    pub(super) name: String,
    pub(super) layer: Box<dyn TranslationLayer>,
    pub(super) facts: Facts,
    pub(super) machine: Machine,
    pub(super) options: ReplayOptions,
    pub(super) plan: Plan,
    pub(super) waiting: Vec<Request>,
    /// Reused for what a device of a stack will probably be asked.
    pub(super) foretold: Vec<Vec<Request>>,
    /// What the layer above writes later, in a device of a stack.
    pub(super) later: Later,
    pub(super) host: HostTotals,
    latencies: Latencies,
    pub(super) blocked: Cleaning,
    pub(super) idle: Cleaning,
    pub(super) series: Option<Series>,
    /// Complete requests that the observer has not been told of, if it is to be told of each.
    pub(super) told: Option<Vec<ServedRequest>>,
    /// The memory for the map, if that is not all in memory.
    pub(super) map: Option<MapMemory>,
    /// The space that is asked for, if some is.
    pub(super) growing: Option<GrowthState>,
    /// When bands are looked at, if they are.
    looks: Option<Looks>,
    /// The moment from which the operations of the disk are recorded, if they are and it has not come.
    pub(super) watch_from: Option<TraceMoment>,
    /// When the warm-up ended, or 0: what is measured begins there. None while the simulation warms up.
    measured_from_ns: Option<u64>,
    /// When the last request that arrived by itself did; none in a closed loop.
    last_arrival_ns: Option<u64>,
}

impl Simulation {
    /// Puts the layer that `make` makes, for the [`space`](super::space) of an empty `disk`, on that disk, lets it begin
    /// and fills the disk as the options say. A journal has the length that they say;
    /// [`Configured::simulation`](super::Configured::simulation) finds one.
    ///
    /// What fills the disk says what lies where, and is no history: the layer is then made again from its records, as
    /// after a restart. So it has seen no write when the first request comes.
    ///
    /// # Errors
    /// When an option makes no sense, or the layer or the disk refuses.
    pub fn new(
        name: &str,
        make: &dyn Fn() -> Result<Box<dyn TranslationLayer>, ConfigError>,
        disk: Device,
        options: &ReplayOptions,
    ) -> Result<Self, ReplayError> {
        options.check(&disk)?;
        Self::with(name, make()?, make, disk, options)
    }

    /// Like [`Simulation::new`], with a layer that `make` has made and with options that were checked.
    ///
    /// # Errors
    /// When the layer or the disk refuses.
    pub(super) fn with(
        name: &str,
        layer: Box<dyn TranslationLayer>,
        make: &dyn Fn() -> Result<Box<dyn TranslationLayer>, ConfigError>,
        disk: Device,
        options: &ReplayOptions,
    ) -> Result<Self, ReplayError> {
        let journal = options.as_live.then(|| journal_for(&*layer, options, disk.block_bytes())).transpose()?;
        let facts = layer.facts();
        let content = options.verify.then(|| Content::of(&disk, facts.unwritten));
        let mut machine = Machine::new(disk, facts.ram_blocks, journal, content);
        machine.flushes_below = facts.flushes_below;
        let mut simulation = Self {
            name: name.to_owned(),
            layer,
            facts,
            machine,
            options: options.clone(),
            plan: Plan::new(),
            waiting: Vec::with_capacity(WAITING),
            foretold: Vec::new(),
            later: Later::default(),
            host: HostTotals::default(),
            latencies: Latencies::new(),
            blocked: Cleaning::default(),
            idle: Cleaning::default(),
            series: options.window.map(|window| Series::new(window, options.warm_up.is_some())),
            told: options.each_request.then(Vec::new),
            map: None,
            growing: (!options.extend.is_empty()).then(|| GrowthState::new(&options.extend)),
            looks: options.bands.as_deref().map(Looks::new),
            watch_from: options.watch_disk,
            measured_from_ns: options.warm_up.is_none().then_some(0),
            last_arrival_ns: None,
        };
        simulation.machine.disk.set_free_of_charge(true);
        simulation.begin().map_err(|fault| simulation.error(Moment::Start, fault))?;
        let records = simulation.prefill().map_err(|fault| simulation.error(Moment::Prefill, fault))?;
        if let Some(records) = records {
            // One after the other: two of them might need more memory than there is.
            drop(simulation.layer);
            simulation.layer = make()?;
            simulation.begin_again(&records).map_err(|fault| simulation.error(Moment::Prefill, fault))?;
        }
        simulation.machine.disk.set_free_of_charge(false);
        simulation.forget_counts();
        if let Some(bytes) = options.map_memory {
            let Self { layer, machine, .. } = &mut simulation;
            let block_bytes = machine.disk.block_bytes();
            simulation.map = MapMemory::of(&mut **layer, bytes, machine.disk.media(), block_bytes)?;
        }
        simulation.machine.scheduled = QueueState::new(options.scheduler, options.scheduler_depth);
        Ok(simulation)
    }

    /// Blocks the host sees.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.layer.capacity()
    }

    /// Blocks of a persistent buffer that the layer has of itself, see [`Facts::buffer_blocks`].
    #[must_use]
    pub fn own_buffer_blocks(&self) -> Option<u64> {
        self.facts.buffer_blocks
    }

    /// Memory that the layer's maps take, see [`Facts::memory`].
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.facts.memory
    }

    /// Serves all requests of `source` and sums up. When verifying, everything is read back at the end.
    ///
    /// # Errors
    /// When the source fails, a request lies beyond the capacity, the layer or the disk refuses, or the observer asks
    /// to stop.
    pub fn run(mut self, source: &mut dyn TraceSource, observer: &mut dyn Observer) -> Result<Outcome, ReplayError> {
        let mut ahead = self.look_ahead(source);
        loop {
            ahead.refill(|requests| self.prefetch(requests))?;
            if self.machine.has_queue() {
                self.wait_for_next(&mut ahead)?;
            }
            if !ahead.advance() {
                break;
            }
            let next = ahead.current();
            if let Some(looks) = &mut self.looks {
                looks.before(&next, &*self.layer, observer);
            }
            self.record_when_due(&next);
            self.grow_when_due(&next).map_err(|fault| self.request_error(next.number, fault))?;
            self.last_arrival_ns = self.options.queue_depth.is_none().then_some(next.arrival_ns);
            self.serve_next(&next, &mut ahead, observer).map_err(|fault| self.request_error(next.number, fault))?;
            self.report(&next, observer)?;
        }
        self.machine.disk.catch_up(u64::MAX).map_err(|fault| self.request_error(ahead.requests(), fault))?;
        self.see_series();
        if self.measured_from_ns.is_none() {
            self.measure_nothing(&ahead)?;
        }
        self.grow_to_the_end().map_err(|fault| self.error(Moment::Growth, fault))?;
        if self.options.flush {
            self.flush_at_end().map_err(|fault| self.error(Moment::Flush, fault))?;
            self.advance_series(self.machine.latest_ns());
            self.see_series();
        }
        self.tell_of_steps(u64::MAX, observer);
        self.tell_of_requests(observer);
        if let Some(series) = &mut self.series {
            series.finish(observer);
        }
        let outcome = self.outcome_at_end(&ahead, observer)?;
        let rest_seconds = self.rest_seconds().map_err(|fault| self.error(Moment::Rest, fault))?;
        if self.options.verify {
            self.read_back().map_err(|fault| self.error(Moment::ReadBack, fault))?;
        }
        Ok(Outcome { rest_seconds, ..outcome })
    }

    fn look_ahead<'a>(&self, source: &'a mut dyn TraceSource) -> Lookahead<'a> {
        let block_bytes = self.machine.disk.block_bytes();
        let addressing = Addressing {
            block_bytes,
            capacity: self.layer.capacity(),
            beyond: self.options.beyond,
            stretched: self.options.stretch_bytes.map(|bytes| bytes.div_ceil(u64::from(block_bytes))),
        };
        Lookahead::new(source, addressing, &self.options)
    }

    fn serve_next(
        &mut self,
        next: &Pending,
        ahead: &mut Lookahead<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Box<Fault>> {
        let ends_warm_up = self.measured_from_ns.is_none() && ahead.is_after_warm_up(next.number);
        if ends_warm_up {
            self.see_series();
        }
        self.arrive(next.arrival_ns)?;
        if ends_warm_up {
            self.end_warm_up();
            observer.warmed_up();
        }
        self.serve(next, ahead)?;
        self.check_now_and_then(next.number)
    }

    /// A request begins that has arrived at `arrival_ns`; if nothing was left to do before, that was idle time.
    #[inline]
    pub(super) fn arrive(&mut self, arrival_ns: u64) -> Result<(), Box<Fault>> {
        self.machine.disk.catch_up(arrival_ns)?;
        if arrival_ns > self.machine.latest_ns() {
            self.machine.now_ns = self.machine.latest_ns();
            self.use_idle_time(arrival_ns)?;
        }
        self.machine.begin_request(arrival_ns);
        Ok(())
    }

    /// When verifying, checks the layer after every `check_every` requests, and less often where its maps are large: to
    /// look at all of them takes as long as they are.
    pub(super) fn check_now_and_then(&self, requests: u64) -> Result<(), Box<Fault>> {
        let every = self.options.check_every;
        let is_time = || requests.is_multiple_of(every.max(self.layer.capacity() / BLOCKS_CHECKED_PER_REQUEST));
        if let Some(content) = self.machine.content.as_ref().filter(|_| requests.is_multiple_of(MEMORY_EVERY)) {
            content.check_memory(MOST_MEMORY)?;
        }
        if self.options.verify && every > 0 && is_time() { Ok(self.layer.check()?) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn serve(&mut self, next: &Pending, ahead: &mut Lookahead<'_>) -> Result<(), Box<Fault>> {
        if self.machine.has_queue() {
            return self.dispatch(next, ahead);
        }
        self.machine.disk.request_begins();
        if self.machine.steps.is_some() {
            self.plan_watched(next, ahead)?;
        } else {
            self.plan(next, ahead)?;
        }
        self.completed(next, self.done_ns(next.request.access), ahead);
        Ok(())
    }

    /// When the request just performed was complete.
    #[inline]
    pub(super) fn done_ns(&self, access: Access) -> u64 {
        if access == Access::Read { self.machine.delivered_ns() } else { self.machine.served_ns() }
    }

    /// Lets the layer plan a request, and performs or queues the plans.
    #[inline(always)]
    pub(super) fn plan(&mut self, next: &Pending, ahead: &mut Lookahead<'_>) -> Result<(), Box<Fault>> {
        let Request { access, at } = next.request;
        match access {
            Access::Read => self.read(at),
            Access::Write => {
                let hits = self.machine.counters.event(Event::WriteHit);
                self.write(at, u64::from(next.bytes), Some(ahead))?;
                let hits = self.machine.counters.event(Event::WriteHit) - hits;
                self.host.write_hit_requests += u64::from(hits == u64::from(at.blocks));
                Ok(())
            }
            Access::Trim => self.trim(at),
        }
    }

    /// A request was complete at `done_ns`.
    #[inline(always)]
    pub(super) fn completed(&mut self, request: &Pending, done_ns: u64, ahead: &mut Lookahead<'_>) {
        let latency_ns = done_ns - request.arrival_ns;
        self.served(&request.request, request.bytes, latency_ns);
        if let Some(told) = &mut self.told {
            let Pending { number, arrival_ns, .. } = *request;
            told.push(ServedRequest { number, access: request.request.access, arrival_ns, latency_ns });
        }
        ahead.completed(done_ns);
    }

    /// A request of `bytes` bytes took `latency_ns`.
    #[inline]
    pub(super) fn served(&mut self, request: &Request, bytes: u32, latency_ns: u64) {
        self.host.add(request, bytes, latency_ns, self.options.limit_ns);
        self.latencies.add(request.access, latency_ns);
    }

    pub(super) fn read(&mut self, at: Extent<Lba>) -> Result<(), Box<Fault>> {
        self.machine.wait_for_room()?;
        self.fetch_map(at)?;
        self.machine.expect(at);
        self.plan.clear();
        self.layer.read(at, &mut self.plan);
        self.machine.perform(&mut *self.layer, &self.plan, Host::Reads(at))?;
        self.settle_map()?;
        self.machine.delivered()
    }

    /// Serves a write of `at`, of which the request had `bytes` bytes.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        at: Extent<Lba>,
        bytes: u64,
        mut ahead: Option<&mut Lookahead<'_>>,
    ) -> Result<(), Box<Fault>> {
        let version = self.machine.content.as_mut().map_or(0, Content::next_version);
        let (mut rest, mut steps) = (at, 0);
        while !rest.is_empty() {
            self.machine.wait_for_room()?;
            self.fetch_map(rest)?;
            self.plan.clear();
            let request_bytes = (rest == at).then_some(bytes);
            let took = self.layer.write(Write { at: rest, request_bytes }, &mut self.plan);
            if took > rest.blocks {
                return Err(Fault::Took { at: rest, took }.into());
            }
            if let Some(content) = &mut self.machine.content {
                content.written(rest.first(took), version);
            }
            self.machine.perform(&mut *self.layer, &self.plan, Host::Writes(rest, version))?;
            self.settle_map()?;
            rest = rest.skip(took);
            if took > 0 {
                steps = 0;
            } else {
                self.make_room(at, rest, &mut steps, ahead.as_deref_mut())?;
            }
        }
        Ok(())
    }

    pub(super) fn trim(&mut self, at: Extent<Lba>) -> Result<(), Box<Fault>> {
        let mut rest = at;
        while !rest.is_empty() {
            self.machine.wait_for_room()?;
            self.fetch_map(rest)?;
            self.plan.clear();
            let took = self.layer.trim(rest, &mut self.plan);
            if took == 0 || took > rest.blocks {
                return Err(Fault::Took { at: rest, took }.into());
            }
            self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)?;
            self.settle_map()?;
            if let Some(content) = &mut self.machine.content {
                content.trimmed(rest.first(took));
            }
            rest = rest.skip(took);
        }
        Ok(())
    }

    pub(super) fn begin(&mut self) -> Result<(), Box<Fault>> {
        self.plan.clear();
        self.layer.recovered(&self.machine.disk.media().unit_report(), &mut self.plan)?;
        self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)
    }

    /// The error of a request; with a queue the fault may be about one planned before it.
    pub(super) fn request_error(&self, planned: u64, fault: Box<Fault>) -> ReplayError {
        self.error(Moment::Request(self.machine.serving().unwrap_or(planned)), fault)
    }

    fn error(&self, moment: Moment, fault: Box<Fault>) -> ReplayError {
        ReplayError::Layer { layer: self.name.clone(), moment, fault }
    }
}
