//! What the observer of a simulation is told while it runs.

use std::ops::ControlFlow;

use super::Observer;
use super::error::ReplayError;
use super::lookahead::Pending;
use super::series::Standing;
use super::simulation::Simulation;

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
        if let Some(series) = &mut self.series {
            series.hand_out(observer);
        }
        let is_time = served.number.is_multiple_of(PROGRESS_EVERY);
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
