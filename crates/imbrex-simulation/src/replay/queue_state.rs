//! The queue of the disk, and what each operation in it is for.

use super::content::Host;
use super::in_flight::InFlight;
use super::queue::{Operation, Owner, Queue, What};
use super::scheduler::Scheduler;

/// The queue of the disk, and what each operation in it is for.
pub(super) struct QueueState {
    pub queue: Queue,
    pub flights: InFlight,
    /// The request whose operation is being performed: the one that a fault is about.
    pub serving: Option<u64>,
}

impl QueueState {
    /// An empty queue; none for requests that are served as they come.
    pub(super) fn new(scheduler: Scheduler, depth: u32) -> Option<Box<Self>> {
        let new = || Self { queue: Queue::new(scheduler, depth), flights: InFlight::new(depth), serving: None };
        (scheduler != Scheduler::Fcfs).then(|| Box::new(new()))
    }

    /// Queues an operation. No request waits for space to be emptied.
    pub(super) fn push(&mut self, what: What, host: Host) {
        let of = match what {
            What::Move { .. } => self.flights.planned(),
            What::Reset(_) | What::Forget(_) => Owner::Nobody,
        };
        self.queue.push(Operation { what, of, host });
    }
}
