//! The operations of plans, numbered as they are planned, until they have completed.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use super::order::Order;
use super::requests::Part;
use imbrex_core::footprint::Footprint;
use imbrex_core::plan::{Place, Unit, Why};

/// An operation that has been planned and not yet completed.
pub(super) enum Operation {
    Move(Move),
    Reset(Unit),
}

/// A Move under way.
pub(super) struct Move {
    pub from: Place,
    pub to: Place,
    pub blocks: u32,
    pub why: Why,
    /// The request it serves.
    pub request: Option<Part>,
    /// Whether it must not write before its redo entry is durable.
    pub held: bool,
    /// Whether all it conflicts with has completed.
    pub is_ready: bool,
    /// The content, once it is known and while the write is held or waits for what it conflicts with.
    pub content: Option<Bytes>,
    /// Whether it belongs to the clean plan in flight.
    pub cleaning: bool,
    /// The write that the same operation of the drive carries out behind this one.
    pub next: Option<u64>,
}

/// Operations by number, and which of them may start.
#[derive(Default)]
pub(super) struct Operations {
    order: Order<Operation>,
    ready: VecDeque<u64>,
    /// Moves of the clean plan in flight.
    cleaning: u32,
}

impl Operations {
    /// The number that the next operation gets.
    pub fn next_number(&self) -> u64 {
        self.order.next_number()
    }

    /// Whether any with a number below `end` has not completed, but for some, which are sorted.
    pub fn any_before(&self, end: u64, except: &[u64]) -> bool {
        self.order.numbers().take_while(|number| *number < end).any(|number| except.binary_search(&number).is_err())
    }

    /// Adds those that wait for some of `numbers`, or for one that does.
    pub fn add_waiting_for(&self, numbers: &[u64], waiting: &mut BTreeSet<u64>) {
        self.order.add_waiting_for(numbers, waiting);
    }

    /// How many have not completed.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// How many moves of the clean plan in flight have not completed.
    pub fn cleaning(&self) -> u32 {
        self.cleaning
    }

    /// Numbers an operation that touches what `footprint` says.
    pub fn add(&mut self, operation: Operation, footprint: Footprint) {
        self.cleaning += u32::from(matches!(operation, Operation::Move(Move { cleaning: true, .. })));
        self.ready.extend(self.order.add(operation, footprint));
    }

    pub fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next operation that may start.
    pub fn pop_ready(&mut self) -> Option<u64> {
        self.ready.pop_front()
    }

    /// Those that wait for `number` alone, and then the first of those that may start.
    pub fn candidates(&self, number: u64) -> impl Iterator<Item = u64> {
        self.order.waiting_for_alone(number).chain(self.ready.front().copied())
    }

    /// Starts one of the candidates as a part of the one before it.
    pub fn start_behind(&mut self, before: u64, number: u64) {
        if self.ready.front() == Some(&number) {
            self.ready.pop_front();
        }
        if let Some(m) = self.get_move_mut(number) {
            m.is_ready = true;
        }
        if let Some(m) = self.get_move_mut(before) {
            m.next = Some(number);
        }
    }

    pub fn get(&self, number: u64) -> Option<&Operation> {
        self.order.get(number)
    }

    pub fn get_move(&self, number: u64) -> Option<&Move> {
        match self.order.get(number) {
            Some(Operation::Move(m)) => Some(m),
            _ => None,
        }
    }

    pub fn get_move_mut(&mut self, number: u64) -> Option<&mut Move> {
        match self.order.get_mut(number) {
            Some(Operation::Move(m)) => Some(m),
            _ => None,
        }
    }

    /// Completes an operation: those that waited for it alone may start.
    pub fn complete(&mut self, number: u64) -> Option<Operation> {
        let operation = self.order.complete(number, |ready| self.ready.push_back(ready))?;
        self.cleaning -= u32::from(matches!(operation, Operation::Move(Move { cleaning: true, .. })));
        Some(operation)
    }
}
