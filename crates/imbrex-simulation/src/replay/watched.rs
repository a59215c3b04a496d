//! What the observer of a simulation is told while it runs.

use std::ops::ControlFlow;

use super::Observer;
use super::error::{Fault, ReplayError};
use super::lookahead::{Lookahead, Pending};
use super::series::Standing;
use super::simulation::Simulation;
use super::steps::{Asked, Steps};

/// Requests between two calls of the observer; a power of two.
const PROGRESS_EVERY: u64 = 1 << 12;

impl Simulation {
    /// Tells the observer what there is to tell after `served`.
    #[inline]
    pub(super) fn report(&mut self, served: &Pending, observer: &mut dyn Observer) -> Result<(), ReplayError> {
        if !self.machine.has_queue() {
            self.advance_series(self.machine.latest_ns());
        }
        self.tell_of_requests(observer);
        if self.machine.steps.is_some() {
            self.tell_of_steps(served.number, observer);
        }
        let has_row = self.series.as_mut().is_some_and(|series| series.hand_out(observer));
        let is_time = has_row || served.number.is_multiple_of(PROGRESS_EVERY);
        if is_time && observer.progress(served.number) == ControlFlow::Break(()) {
            return Err(ReplayError::Stopped { requests: served.number });
        }
        Ok(())
    }

    /// Tells the observer of the requests that it has not been told of.
    #[inline]
    pub(super) fn tell_of_requests(&mut self, observer: &mut dyn Observer) {
        if let Some(told) = &mut self.told {
            told.drain(..).for_each(|request| observer.request(&request));
        }
    }

    /// Begins to record what the disk does, if it is time to, before `next`.
    #[inline]
    pub(super) fn record_when_due(&mut self, next: &Pending) {
        if self.watch_from.take_if(|from| from.is_before(next.number, next.arrival_ns)).is_some() {
            self.machine.steps = Some(Box::new(Steps::new()));
        }
    }

    /// Plans a request while the disk is watched.
    #[cold]
    pub(super) fn plan_watched(&mut self, next: &Pending, ahead: &mut Lookahead<'_>) -> Result<(), Box<Fault>> {
        let asked = Asked { number: next.number, request: next.request };
        let filled = self.layer.standing().occupancy;
        // A read that is let past a write which waits comes in the middle of that.
        let outer = self.machine.steps.as_mut().and_then(|steps| steps.begin(asked, filled));
        self.plan(next, ahead)?;
        if let Some(steps) = &mut self.machine.steps {
            steps.end(outer);
        }
        Ok(())
    }

    /// Says whether what is done from now on is a part of cleaning.
    pub(super) fn mark_cleaning(&mut self, is_cleaning: bool) {
        if let Some(steps) = &mut self.machine.steps {
            steps.clean(is_cleaning, self.layer.standing().occupancy);
        }
    }

    /// Tells the observer what the disk did, if there is enough of it after `served` requests.
    pub(super) fn tell_of_steps(&mut self, served: u64, observer: &mut dyn Observer) {
        let is_enough = |steps: &mut Box<Steps>| served == u64::MAX || steps.is_enough(served);
        if let Some(steps) = self.machine.steps.take_if(is_enough) {
            observer.steps(&steps.taken(), self.machine.disk.media());
        }
    }

    /// Requests were complete at `now_ns`.
    #[inline]
    pub(super) fn advance_series(&mut self, now_ns: u64) {
        let requests = self.host.requests();
        if self.series.as_mut().is_some_and(|series| series.advance(now_ns, requests)) {
            self.see_series();
        }
    }

    /// Shows the series what the requests that are complete came to.
    pub(super) fn see_series(&mut self) {
        let totals = self.series.is_some().then(|| self.totals());
        if let (Some(series), Some(totals)) = (&mut self.series, totals) {
            series.see(totals, Standing::of(&*self.layer));
        }
    }
}
