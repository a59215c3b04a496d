//! What plans have been made for and is not complete: requests, and the cleaning step under way.

use std::collections::VecDeque;

use super::content::Delivery;
use super::error::Fault;
use super::lookahead::Pending;
use super::queue::Owner;

struct Flight {
    request: Pending,
    /// Operations that are not complete, and one more for as long as the request is being planned.
    parts: u32,
    /// What it reads, when verifying.
    delivery: Delivery,
}

pub(super) struct InFlight {
    /// What the next plan is for.
    pub planning: Owner,
    flights: Vec<Flight>,
    /// Places in `flights` to be used again.
    unused: Vec<usize>,
    /// Operations of the cleaning step that are not complete.
    cleaning: u32,
    /// Requests that are complete, and when, in this order.
    landed: VecDeque<(Pending, u64)>,
}

impl InFlight {
    /// For a queue of `depth` operations. One request is planned beyond that, and inside its planning another.
    pub(super) fn new(depth: u32) -> Self {
        let most = depth as usize + 2;
        Self {
            planning: Owner::Cleaning,
            flights: Vec::with_capacity(most),
            unused: Vec::with_capacity(most),
            cleaning: 0,
            landed: VecDeque::with_capacity(most),
        }
    }

    /// A request is about to be planned.
    pub(super) fn open(&mut self, request: Pending) -> Owner {
        let index = self.unused.pop().unwrap_or(self.flights.len());
        if index == self.flights.len() {
            self.flights.push(Flight { request, parts: 1, delivery: Delivery::default() });
        } else {
            (self.flights[index].request, self.flights[index].parts) = (request, 1);
        }
        Owner::Request(index)
    }

    /// An operation was planned that its owner waits for; says which owner that is.
    pub(super) fn planned(&mut self) -> Owner {
        match self.planning {
            Owner::Request(index) => self.flights[index].parts += 1,
            Owner::Cleaning => self.cleaning += 1,
            Owner::Nobody => {}
        }
        self.planning
    }

    /// An operation is complete, or the planning of a request.
    pub(super) fn completed(&mut self, of: Owner, now_ns: u64) -> Result<(), Box<Fault>> {
        match of {
            Owner::Request(index) => {
                let flight = &mut self.flights[index];
                flight.parts -= 1;
                if flight.parts == 0 {
                    self.unused.push(index);
                    self.landed.push_back((flight.request, now_ns));
                    return flight.delivery.done();
                }
            }
            Owner::Cleaning => self.cleaning -= 1,
            Owner::Nobody => {}
        }
        Ok(())
    }

    /// Takes the next complete request, and when it was.
    pub(super) fn next_landed(&mut self) -> Option<(Pending, u64)> {
        self.landed.pop_front()
    }

    pub(super) fn is_cleaning(&self) -> bool {
        self.cleaning > 0
    }

    /// The number of a request in its trace.
    pub(super) fn number(&self, of: Owner) -> Option<u64> {
        match of {
            Owner::Request(index) => Some(self.flights[index].request.number),
            Owner::Cleaning | Owner::Nobody => None,
        }
    }

    /// What a request reads.
    pub(super) fn delivery(&mut self, of: Owner) -> Option<&mut Delivery> {
        match of {
            Owner::Request(index) => Some(&mut self.flights[index].delivery),
            Owner::Cleaning | Owner::Nobody => None,
        }
    }
}
