//! The runner: takes requests in order of arrival, has the layer plan them, cleans when a write is blocked or the disk
//! idle, and measures.
//!
//! Requests are planned in order of arrival, with one exception: while a write is blocked, reads that have arrived may be
//! served after a cleaning step that allows it ([`Step::More`]), unless they touch the blocked write or a write before
//! them. So the layer sees the writes in the order of the trace, whatever time things take.
//!
//! In idle time, steps are performed whole: a request that arrives during one waits for its end.

use std::ops::ControlFlow;

use super::Observer;
use super::content::Host;
use super::device::Device;
use super::error::{Fault, Moment, ReplayError};
use super::journal::Journal;
use super::lookahead::{Addressing, Lookahead, Pending, WAITING};
use super::machine::Machine;
use super::metrics::{Cleaning, Counters, HostTotals, Latencies};
use super::options::{MAX_QUEUE_DEPTH, ReplayOptions};
use super::outcome::Outcome;
use super::series::{Series, Totals};
use super::setup::JOURNAL_START;
use crate::block::{Access, Extent, Lba, Request};
use crate::layer::{Pressure, Step, TranslationLayer, UnitReport};
use crate::plan::{Event, Plan};
use crate::trace::TraceSource;

/// Cleaning steps in a row without the blocked write taking a block, or without idle time passing, after which the layer
/// is taken to go round in circles. A step moves a block at least, and no job of a layer moves 64 GiB for one write.
const MAX_STEPS: u32 = 1 << 24;
/// Blocks of a write when the disk is filled or read back.
const SWEEP_BLOCKS: u32 = 1 << 16;
/// Requests between two calls of the observer; a power of two.
const PROGRESS_EVERY: u64 = 1 << 16;

/// A layer on a disk, ready to serve.
pub struct Simulation {
    name: String,
    layer: Box<dyn TranslationLayer>,
    machine: Machine,
    options: ReplayOptions,
    plan: Plan,
    waiting: Vec<Request>,
    host: HostTotals,
    latencies: Latencies,
    blocked: Cleaning,
    idle: Cleaning,
}

impl Simulation {
    /// Puts `layer`, made for the [`space`](super::space) of an empty `disk`, on that disk, lets it begin and fills the
    /// disk as the options say.
    ///
    /// # Errors
    /// When an option makes no sense, or the layer or the disk refuses.
    pub fn new(
        name: &str,
        layer: Box<dyn TranslationLayer>,
        disk: Device,
        options: &ReplayOptions,
    ) -> Result<Self, ReplayError> {
        check_options(options, &disk)?;
        let journal = options.as_live.then(|| Journal::new(JOURNAL_START, options.journal_blocks, disk.block_bytes()));
        if let Some(journal) = &journal {
            check_journal(journal, &*layer)?;
        }
        let machine = Machine::new(disk, layer.ram_blocks(), journal, options.verify);
        let mut simulation = Self {
            name: name.to_owned(),
            layer,
            machine,
            options: options.clone(),
            plan: Plan::new(),
            waiting: Vec::with_capacity(WAITING),
            host: HostTotals::default(),
            latencies: Latencies::new(),
            blocked: Cleaning::default(),
            idle: Cleaning::default(),
        };
        simulation.machine.disk.set_free_of_charge(true);
        simulation.begin().map_err(|fault| simulation.error(Moment::Start, fault))?;
        simulation.prefill().map_err(|fault| simulation.error(Moment::Prefill, fault))?;
        simulation.machine.disk.set_free_of_charge(false);
        simulation.machine.counters = Counters::default();
        simulation.blocked = Cleaning::default();
        Ok(simulation)
    }

    /// Blocks the host sees.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.layer.capacity()
    }

    /// Serves all requests of `source` and sums up. When verifying, everything is read back at the end.
    ///
    /// # Errors
    /// When the source fails, a request lies beyond the capacity, the layer or the disk refuses, or the observer asks to
    /// stop.
    pub fn run(mut self, source: &mut dyn TraceSource, observer: &mut dyn Observer) -> Result<Outcome, ReplayError> {
        let mut series = self.options.window.map(Series::new);
        let mut ahead = self.look_ahead(source);
        loop {
            ahead.refill(&*self.layer)?;
            if !ahead.advance() {
                break;
            }
            let next = ahead.current();
            self.serve_next(&next, &mut ahead).map_err(|fault| self.error(Moment::Request(next.number), fault))?;
            if let Some(series) = &mut series {
                series.advance(self.machine.now_ns, self.totals(), observer);
            }
            if next.number.is_multiple_of(PROGRESS_EVERY)
                && observer.progress(self.host.requests()) == ControlFlow::Break(())
            {
                return Err(ReplayError::Stopped { requests: self.host.requests() });
            }
        }
        if let Some(series) = &mut series {
            series.finish(observer);
        }
        let outcome = self.outcome();
        if self.options.verify {
            self.read_back().map_err(|fault| self.error(Moment::ReadBack, fault))?;
        }
        Ok(outcome)
    }

    fn look_ahead<'a>(&self, source: &'a mut dyn TraceSource) -> Lookahead<'a> {
        let addressing = Addressing {
            block_bytes: self.machine.disk.block_bytes(),
            capacity: self.layer.capacity(),
            beyond: self.options.beyond,
        };
        Lookahead::new(source, addressing, self.options.queue_depth, self.options.warm)
    }

    fn serve_next(&mut self, next: &Pending, ahead: &mut Lookahead<'_>) -> Result<(), Fault> {
        if next.arrival_ns > self.machine.now_ns {
            self.use_idle_time(next.arrival_ns)?;
            self.machine.now_ns = self.machine.now_ns.max(next.arrival_ns);
        }
        self.serve(next, ahead)?;
        let every = self.options.check_every;
        if self.options.verify && every > 0 && next.number.is_multiple_of(every) {
            self.layer.check()?;
        }
        Ok(())
    }

    fn serve(&mut self, next: &Pending, ahead: &mut Lookahead<'_>) -> Result<(), Fault> {
        let Request { access, at } = next.request;
        match access {
            Access::Read => self.read(at)?,
            Access::Write => {
                let hits = self.machine.counters.event(Event::WriteHit);
                self.write(at, Some(&mut *ahead))?;
                let hits = self.machine.counters.event(Event::WriteHit) - hits;
                self.host.write_hit_requests += u64::from(hits == u64::from(at.blocks));
            }
            Access::Trim => self.trim(at)?,
        }
        let latency_ns = self.machine.now_ns - next.arrival_ns;
        self.host.add(&next.request, next.bytes, latency_ns);
        self.latencies.add(access, latency_ns);
        ahead.completed(self.machine.now_ns);
        Ok(())
    }

    fn read(&mut self, at: Extent<Lba>) -> Result<(), Fault> {
        self.plan.clear();
        self.layer.read(at, &mut self.plan);
        self.machine.perform(&mut *self.layer, &self.plan, Host::Reads(at))?;
        match &mut self.machine.content {
            Some(content) => content.read_done(at),
            None => Ok(()),
        }
    }

    fn write(&mut self, at: Extent<Lba>, mut ahead: Option<&mut Lookahead<'_>>) -> Result<(), Fault> {
        if let Some(content) = &mut self.machine.content {
            content.next_version();
        }
        let (mut rest, mut steps) = (at, 0);
        while !rest.is_empty() {
            self.plan.clear();
            let took = self.layer.write(rest, &mut self.plan);
            if took > rest.blocks {
                return Err(Fault::Took { at: rest, took });
            }
            if let Some(content) = &mut self.machine.content {
                content.written(rest.first(took));
            }
            self.machine.perform(&mut *self.layer, &self.plan, Host::Writes(rest))?;
            rest = rest.skip(took);
            if took > 0 {
                steps = 0;
            } else {
                self.make_room(at, rest, &mut steps, ahead.as_deref_mut())?;
            }
        }
        Ok(())
    }

    fn trim(&mut self, at: Extent<Lba>) -> Result<(), Fault> {
        let mut rest = at;
        while !rest.is_empty() {
            self.plan.clear();
            let took = self.layer.trim(rest, &mut self.plan);
            if took == 0 || took > rest.blocks {
                return Err(Fault::Took { at: rest, took });
            }
            self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)?;
            if let Some(content) = &mut self.machine.content {
                content.trimmed(rest.first(took));
            }
            rest = rest.skip(took);
        }
        Ok(())
    }

    /// Cleans until the layer says that the blocked write may be tried again.
    fn make_room(
        &mut self,
        whole: Extent<Lba>,
        blocked: Extent<Lba>,
        steps: &mut u32,
        mut ahead: Option<&mut Lookahead<'_>>,
    ) -> Result<(), Fault> {
        self.blocked.episodes += 1;
        loop {
            *steps += 1;
            if *steps > MAX_STEPS {
                return Err(Fault::Endless { steps: MAX_STEPS });
            }
            if let Some(ahead) = &ahead {
                ahead.waiting(self.machine.now_ns, &mut self.waiting);
            }
            let (step, took_ns) = self.clean(Pressure::Blocked(blocked))?;
            self.blocked.steps += 1;
            self.blocked.ns += took_ns;
            match step {
                Step::Done => return Ok(()),
                Step::More => {
                    if let Some(ahead) = &mut ahead {
                        self.serve_waiting_reads(whole, ahead)?;
                    }
                }
                Step::Hold => {}
                Step::Wait => {
                    if !self.machine.commit_early(&mut *self.layer)? {
                        return Err(Fault::Stuck);
                    }
                }
                Step::Nothing => return Err(Fault::Full { at: blocked }),
            }
        }
    }

    fn serve_waiting_reads(&mut self, blocked: Extent<Lba>, ahead: &mut Lookahead<'_>) -> Result<(), Fault> {
        while let Some(read) = ahead.take_read(self.machine.now_ns, blocked) {
            self.serve(&read, ahead)?;
        }
        Ok(())
    }

    /// Offers the layer the time until `until_ns`.
    fn use_idle_time(&mut self, until_ns: u64) -> Result<(), Fault> {
        let since_ns = self.machine.now_ns;
        if !self.options.idle || until_ns - since_ns <= self.options.idle_after_ns {
            return Ok(());
        }
        self.machine.now_ns += self.options.idle_after_ns;
        self.waiting.clear();
        let mut idle_steps = 0;
        for _ in 0..MAX_STEPS {
            if self.machine.now_ns >= until_ns {
                break;
            }
            let (step, took_ns) = self.clean(Pressure::Idle { ns: self.machine.now_ns - since_ns })?;
            idle_steps += u64::from(!self.plan.is_empty());
            self.idle.ns += took_ns;
            let goes_on = match step {
                Step::More | Step::Hold => true,
                Step::Wait => self.machine.commit_early(&mut *self.layer)?,
                Step::Done | Step::Nothing => false,
            };
            if !goes_on {
                break;
            }
        }
        self.idle.episodes += u64::from(idle_steps > 0);
        self.idle.steps += idle_steps;
        Ok(())
    }

    /// One cleaning step, performed whole; returns how long it took.
    fn clean(&mut self, why: Pressure) -> Result<(Step, u64), Fault> {
        let begun_ns = self.machine.now_ns;
        self.plan.clear();
        let step = self.layer.clean(why, &self.waiting, &mut self.plan);
        self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)?;
        if self.options.verify && self.options.check_every == 1 {
            self.layer.check()?;
        }
        Ok((step, self.machine.now_ns - begun_ns))
    }

    fn begin(&mut self) -> Result<(), Fault> {
        let report = UnitReport { devices: vec![Vec::new(), self.machine.disk.media().report()] };
        self.layer.recovered(&report, &mut self.plan)?;
        self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)
    }

    fn prefill(&mut self) -> Result<(), Fault> {
        let blocks = (self.layer.capacity() as f64 * self.options.prefill) as u64;
        sweep(blocks, |at| self.write(at, None))?;
        if self.options.verify { Ok(self.layer.check()?) } else { Ok(()) }
    }

    fn read_back(&mut self) -> Result<(), Fault> {
        self.machine.disk.set_free_of_charge(true);
        self.layer.check()?;
        sweep(self.layer.capacity(), |at| self.read(at))
    }

    fn totals(&self) -> Totals {
        Totals { media: self.machine.counters, host: self.host }
    }

    fn outcome(&self) -> Outcome {
        Outcome::new(&self.totals(), &self.latencies, (&self.blocked, &self.idle), &self.machine)
    }

    fn error(&self, moment: Moment, fault: Fault) -> ReplayError {
        ReplayError::Layer { layer: self.name.clone(), moment, fault: Box::new(fault) }
    }
}

/// Calls `each` with the first `blocks` blocks, run by run.
fn sweep(blocks: u64, mut each: impl FnMut(Extent<Lba>) -> Result<(), Fault>) -> Result<(), Fault> {
    let mut start = 0;
    while start < blocks {
        let run = (blocks - start).min(u64::from(SWEEP_BLOCKS));
        each(Extent::new(Lba(start), run as u32))?;
        start += run;
    }
    Ok(())
}

fn check_options(options: &ReplayOptions, disk: &Device) -> Result<(), ReplayError> {
    let wrong = |option, reason: String| Err(ReplayError::Option { option, reason });
    if !(0.0..=1.0).contains(&options.prefill) {
        return wrong("prefill", format!("{} is no part of the capacity; choose from 0 to 1", options.prefill));
    }
    let block_bytes = disk.block_bytes();
    if !block_bytes.is_power_of_two() {
        return wrong(
            "block_bytes",
            format!("requests cannot be cut into blocks of {block_bytes} bytes; choose a power of two"),
        );
    }
    if let Some(depth) = options.queue_depth.filter(|depth| !(1..=MAX_QUEUE_DEPTH).contains(depth)) {
        return wrong("queue_depth", format!("{depth} is not from 1 to {MAX_QUEUE_DEPTH}"));
    }
    Ok(())
}

/// Whether the layer can do with this journal.
fn check_journal(journal: &Journal, layer: &dyn TranslationLayer) -> Result<(), ReplayError> {
    let wrong = |option, reason: String| Err(ReplayError::Option { option, reason });
    if let Err(why) = layer.survives_power_loss() {
        return wrong("as_live", why.to_string());
    }
    let most = layer.most_records() as usize;
    if !journal.has_room_for(most) {
        let needed = 2 * journal.checkpoint_blocks(most);
        return wrong("journal_blocks", format!("the layer's map needs a journal of {needed} blocks"));
    }
    Ok(())
}
