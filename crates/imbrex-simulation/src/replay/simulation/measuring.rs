//! What is measured: all that happens after the warm-up.

use super::super::lookahead::Lookahead;
use super::super::metrics::{Cleaning, Counters, HostTotals, Latencies, Totals};
use super::super::outcome::{Below, Outcome, Times};
use super::{Looks, Observer, ReplayError, Simulation};
use imbrex_core::event::Counted;

impl Simulation {
    /// The first request after the warm-up begins: what is complete by now is left out of all figures.
    pub(super) fn end_warm_up(&mut self) {
        let (now_ns, totals) = (self.machine.now_ns, self.totals());
        if let Some(series) = &mut self.series {
            series.end_warm_up(now_ns, totals);
        }
        self.measure_from(now_ns);
    }

    /// The trace is over, and no request after the warm-up came to its turn: there is none, or reads let past a blocked
    /// write were all.
    pub(super) fn measure_nothing(&mut self, ahead: &Lookahead<'_>) -> Result<(), ReplayError> {
        if !ahead.is_after_warm_up(ahead.requests()) {
            return Err(self.options.all_warm_up(ahead.requests()));
        }
        self.end_warm_up();
        Ok(())
    }

    /// Counts from `now_ns` on, here and in the devices of a stack. A drive may have been given something to do until
    /// later, which was counted when it was asked.
    pub(in super::super) fn measure_from(&mut self, now_ns: u64) {
        self.forget_counts();
        let is_stack = self.machine.disk.is_stack();
        self.measured_from_ns = Some(if is_stack { now_ns } else { now_ns.max(self.machine.latest_ns()) });
        self.machine.disk.below_mut().iter_mut().for_each(|device| device.measure_from(now_ns));
    }

    /// Counts anew.
    pub(super) fn forget_counts(&mut self) {
        self.machine.counters = Counters::default();
        self.machine.disk.forget_work();
        (self.host, self.latencies) = (HostTotals::default(), Latencies::new());
        (self.blocked, self.idle) = (Cleaning::default(), Cleaning::default());
    }

    /// Everything counted so far. In a stack the media are those of the devices below.
    pub(in super::super) fn totals(&self) -> Totals {
        let mut media = self.machine.counters;
        if self.machine.disk.is_stack() {
            media.forget_blocks();
        }
        self.machine.disk.below().iter().for_each(|device| media.add_below(&device.totals().media));
        Totals { media, host: self.host }
    }

    /// What was measured, and what lies where at the end, if it is looked at.
    pub(super) fn outcome_at_end(
        &self,
        ahead: &Lookahead<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, ReplayError> {
        let look = |looks: &Looks| looks.end(ahead.requests(), &*self.layer, observer);
        let contents = self.looks.as_ref().map(look).transpose()?;
        Ok(self.outcome().looked_at(contents.as_ref()))
    }

    pub(in super::super) fn outcome(&self) -> Outcome {
        let devices: Vec<Below> = self.machine.disk.below().iter().map(|device| device.measured()).collect();
        let below: u64 = devices.iter().map(|device| device.outcome.seek_cylinders).sum();
        let seek_cylinders = below + self.machine.disk.travelled();
        let measured_from_ns = self.measured_from_ns.unwrap_or(0);
        // A device of a stack may have been asked nothing since the warm-up.
        let measured_ns = self.machine.latest_ns().saturating_sub(measured_from_ns);
        let arrival_ns = self.last_arrival_ns.map(|ns| ns.saturating_sub(measured_from_ns));
        let times = Times { measured_ns, busy_ns: self.machine.disk.busy_ns() };
        let totals = self.totals();
        let outcome = Outcome::new(&totals, &self.latencies, &self.blocked, &self.idle, times, devices);
        let (counters, growth) = (Counted::new(self.facts.counters, totals.media.own()), self.growth_outcome());
        let map = self.map.as_ref().map(|map| map.outcome(totals.media.map));
        Outcome {
            counters,
            map,
            arrival_seconds: arrival_ns.map(|ns| ns as f64 / 1e9),
            seek_cylinders,
            growth,
            ..outcome
        }
    }
}
