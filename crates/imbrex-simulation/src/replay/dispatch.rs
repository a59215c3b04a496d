//! Serving through the disk's queue: requests are planned as soon as they have arrived and the queue has room, and are
//! complete when the disk has performed the last of their operations.
//!
//! Requests are planned between two accesses, in order of arrival and with the same exception as without a queue. A
//! plan is made only when all operations planned before it are in the queue and one more would find room there; what
//! has arrived and is not planned yet is what a layer is shown as waiting. So what a layer is asked, and in which
//! order, does not depend on the scheduler, except where a write is blocked (which reads have arrived by then?) and in
//! idle time.
//!
//! A cleaning step is under way alone of its kind. While it is, the disk goes on with what was planned before, and
//! after [`Step::More`](imbrex_core::layer::Step::More) reads that may overtake the blocked write are planned as they arrive.
//! For [`Step::Hold`](imbrex_core::layer::Step::Hold) the queue is emptied first and nothing is planned until the next step.

use super::cleaning::Meanwhile;
use super::error::{Fault, ReplayError};
use super::lookahead::{Lookahead, Pending};
use super::simulation::Simulation;

impl Simulation {
    /// Performs what is queued until the next request can be planned, or everything when there is none.
    pub(super) fn wait_for_next(&mut self, ahead: &mut Lookahead<'_>) -> Result<(), ReplayError> {
        let mut number = ahead.current().number;
        let waited = loop {
            self.land(ahead);
            let arrival_ns = match ahead.next() {
                Some(next) => {
                    number = next.number;
                    next.arrival_ns
                }
                None if self.machine.is_done() => break Ok(()),
                None => u64::MAX,
            };
            if arrival_ns <= self.machine.now_ns && self.machine.has_room() {
                break Ok(());
            }
            let progressed =
                if self.machine.is_done() { self.pass_idle_time(arrival_ns) } else { self.machine.serve_one() };
            if progressed.is_err() {
                break progressed;
            }
        };
        waited.map_err(|fault| self.request_error(number, fault))
    }

    fn pass_idle_time(&mut self, until_ns: u64) -> Result<(), Box<Fault>> {
        self.use_idle_time(until_ns)?;
        self.machine.now_ns = self.machine.now_ns.max(until_ns);
        Ok(())
    }

    /// Plans a request.
    pub(super) fn dispatch(&mut self, next: &Pending, ahead: &mut Lookahead<'_>) -> Result<(), Box<Fault>> {
        let Some(outer) = self.machine.open(*next) else { return Ok(()) };
        self.plan(next, ahead)?;
        self.machine.close(outer)?;
        self.land(ahead);
        Ok(())
    }

    /// Accounts for the requests that are complete; without a queue there are none.
    #[inline]
    pub(super) fn land(&mut self, ahead: &mut Lookahead<'_>) {
        while let Some((request, done_ns)) = self.machine.next_landed() {
            self.completed(&request, done_ns, ahead);
            self.advance_series(done_ns);
        }
    }

    /// Performs what is queued until the cleaning step is complete, and plans reads that may overtake the blocked
    /// write.
    pub(super) fn finish_step(&mut self, mut meanwhile: Option<Meanwhile<'_, '_>>) -> Result<(), Box<Fault>> {
        while self.machine.is_cleaning() {
            self.machine.serve_one()?;
            let Some(Meanwhile { blocked, ahead }) = &mut meanwhile else { continue };
            self.land(ahead);
            while self.machine.has_room()
                && let Some(read) = ahead.take_read(self.machine.now_ns, *blocked)
            {
                self.serve(&read, ahead)?;
            }
        }
        Ok(())
    }
}
