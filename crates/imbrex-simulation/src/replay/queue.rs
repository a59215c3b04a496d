//! The operations that are planned and not complete: those in the queue of the disk, and behind them those for which
//! the queue has no room yet.
//!
//! Operations enter the queue in planning order. One whose footprint conflicts with that of an earlier one in the queue
//! waits in its place until that one is complete (ordering rule 2); of the others the scheduler picks. So a plan of any
//! length costs no more than a queue of `depth` operations does.

use std::collections::VecDeque;

use super::content::Host;
use super::scheduler::{Access, Scheduler};
use imbrex_core::block::{Extent, Pba};
use imbrex_core::footprint::Footprint;
use imbrex_core::media::Media;
use imbrex_core::plan::{Place, Unit, Why};

/// An operation of a plan.
#[derive(Copy, Clone, Debug)]
pub(super) struct Operation {
    pub what: What,
    /// What it is for.
    pub of: Owner,
    pub host: Host,
}

#[derive(Copy, Clone, Debug)]
pub(super) enum What {
    /// A read of the source where that is on the disk, then a write where the target is.
    Move {
        from: Place,
        to: Place,
        blocks: u32,
        why: Why,
        /// Whether the source has been read.
        read: bool,
    },
    Reset(Unit),
    /// What was there does not count any more.
    Forget(Extent<Pba>),
}

/// What an operation is for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// A request, by its number among those in flight.
    Request(usize),
    /// The cleaning step under way.
    Cleaning,
    /// No request waits for it.
    Nobody,
}

impl Operation {
    /// The access to the disk that it needs next.
    fn access(&self) -> Option<Access> {
        let What::Move { from, to, blocks, read, .. } = self.what else { return None };
        match (from, to) {
            (Place::At(from), _) if !read && !from.is_ram() => {
                Some(Access { at: Extent::new(from, blocks), write: false })
            }
            (_, Place::At(to)) if !to.is_ram() => Some(Access { at: Extent::new(to, blocks), write: true }),
            _ => None,
        }
    }
}

/// An operation in the queue, as far as every pick looks at it.
struct Turn {
    /// Where the rest of it is in `entries`.
    entry: usize,
    /// Earlier operations that it conflicts with.
    blockers: u32,
    /// The access to the disk that it needs next; the last of them completes it.
    access: Option<Access>,
}

struct Entry {
    operation: Operation,
    footprint: Footprint,
}

impl Entry {
    fn unused() -> Self {
        let operation = Operation { what: What::Reset(Unit::disk(0)), of: Owner::Nobody, host: Host::Nobody };
        Self { operation, footprint: Footprint::default() }
    }
}

/// Operations that the backlog holds without growing: a longer plan is rare, and costs an allocation.
const BACKLOG: usize = 1 << 12;

pub(super) struct Queue {
    scheduler: Scheduler,
    depth: usize,
    /// In planning order.
    turns: Vec<Turn>,
    /// How many turns need no access.
    without_access: usize,
    entries: Vec<Entry>,
    /// The entries that no turn names.
    unused: Vec<usize>,
    backlog: VecDeque<Operation>,
    /// Whether operations that conflict keep their order. A test switches it off to see that verification notices.
    keeps_order: bool,
}

impl Queue {
    pub(super) fn new(scheduler: Scheduler, depth: u32) -> Self {
        let depth = depth as usize;
        Self {
            scheduler,
            depth,
            turns: Vec::with_capacity(depth),
            without_access: 0,
            entries: (0..depth).map(|_| Entry::unused()).collect(),
            unused: (0..depth).collect(),
            backlog: VecDeque::with_capacity(BACKLOG),
            keeps_order: true,
        }
    }

    #[cfg(test)]
    pub(super) fn ignore_conflicts(&mut self) {
        self.keeps_order = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.backlog.is_empty()
    }

    /// Whether the next operation would find room in the queue.
    pub(super) fn has_room(&self) -> bool {
        self.backlog.is_empty() && self.turns.len() < self.depth
    }

    pub(super) fn push(&mut self, operation: Operation) {
        self.backlog.push_back(operation);
    }

    /// Lets operations into the queue while there is room; says which of those in it is complete without any access to
    /// the disk, if there is one.
    pub(super) fn admit(&mut self, media: &dyn Media) -> Option<usize> {
        while self.turns.len() < self.depth
            && let Some(operation) = self.backlog.pop_front()
        {
            self.enter(operation, media);
        }
        if self.without_access == 0 {
            return None;
        }
        self.turns.iter().position(|turn| turn.blockers == 0 && turn.access.is_none())
    }

    fn enter(&mut self, operation: Operation, media: &dyn Media) {
        let Some(entry) = self.unused.pop() else { unreachable!("there are as many entries as turns") };
        self.entries[entry].operation = operation;
        let footprint = &mut self.entries[entry].footprint;
        footprint.clear();
        match operation.what {
            What::Move { from, to, blocks, .. } => footprint.add_move(from, to, blocks, media),
            What::Reset(unit) => footprint.add_reset(unit, media),
            What::Forget(space) => footprint.add_change(space),
        }
        let footprint = &self.entries[entry].footprint;
        let conflicts = self.turns.iter().filter(|turn| self.entries[turn.entry].footprint.conflicts(footprint));
        let blockers = if self.keeps_order { conflicts.count() as u32 } else { 0 };
        let access = operation.access();
        self.without_access += usize::from(access.is_none());
        self.turns.push(Turn { entry, blockers, access });
    }

    /// The operation whose turn it is, and its access. `position` is the block at which the last access began.
    pub(super) fn pick(
        &self,
        position: u64,
        positioning_ns: impl Fn(&Access) -> u64,
    ) -> Option<(usize, Operation, Access)> {
        let ready = self.turns.iter().enumerate().filter(|(_, turn)| turn.blockers == 0);
        let accesses = ready.filter_map(|(number, turn)| Some((number, turn.access.as_ref()?)));
        let number = self.scheduler.pick(accesses, position, positioning_ns)?;
        let Turn { entry, access, .. } = self.turns[number];
        Some((number, self.entries[entry].operation, access?))
    }

    /// The disk has performed the access of an operation. Says whether that was its last.
    pub(super) fn accessed(&mut self, number: usize) -> bool {
        let turn = &mut self.turns[number];
        let operation = &mut self.entries[turn.entry].operation;
        if let What::Move { read, .. } = &mut operation.what {
            *read = true;
        }
        let was_write = turn.access.is_some_and(|access| access.write);
        turn.access = if was_write { None } else { operation.access() };
        self.without_access += usize::from(turn.access.is_none());
        turn.access.is_none()
    }

    /// Takes an operation that needs no access any more out of the queue; those that waited for it alone may be picked
    /// now.
    pub(super) fn complete(&mut self, number: usize) -> Operation {
        let Turn { entry, .. } = self.turns.remove(number);
        self.without_access -= 1;
        for later in self.turns[number..].iter_mut().filter(|later| later.blockers > 0) {
            if self.entries[later.entry].footprint.conflicts(&self.entries[entry].footprint) {
                later.blockers -= 1;
            }
        }
        self.unused.push(entry);
        self.entries[entry].operation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::media::{Conventional, Shingled, ZonedSpec};

    fn copy(from: Place, to: Place, blocks: u32) -> Operation {
        let what = What::Move { from, to, blocks, why: Why::Host, read: false };
        Operation { what, of: Owner::Cleaning, host: Host::Nobody }
    }

    fn at(block: u64) -> Place {
        Place::At(Pba::disk(block))
    }

    fn write(block: u64) -> Operation {
        copy(Place::Zero, at(block), 1)
    }

    /// The first block of each access of the disk, in the order of C-LOOK from block 0.
    fn served(queue: &mut Queue, media: &dyn Media) -> Vec<u64> {
        let (mut blocks, mut position) = (Vec::new(), 0);
        loop {
            while let Some(number) = queue.admit(media) {
                queue.complete(number);
            }
            let Some((number, _, access)) = queue.pick(position, |_| 0) else { break };
            position = access.at.start.block();
            blocks.push(position);
            if queue.accessed(number) {
                queue.complete(number);
            }
        }
        assert!(queue.is_empty());
        blocks
    }

    #[test]
    fn the_queue_is_as_deep_as_it_is_said_to_be() {
        let media = Conventional::new(Pba::DISK, 1000);
        let run = |depth| {
            let mut queue = Queue::new(Scheduler::CLook, depth);
            [500, 400, 300, 200, 100].into_iter().for_each(|block| queue.push(write(block)));
            assert!(!queue.has_room());
            served(&mut queue, &media)
        };
        assert_eq!(run(1), [500, 400, 300, 200, 100]);
        assert_eq!(run(2), [400, 500, 200, 300, 100]);
        assert_eq!(run(5), [100, 200, 300, 400, 500]);
    }

    #[test]
    fn operations_that_conflict_keep_their_order() {
        let spec = ZonedSpec { zones: 4, zone_blocks: 10, conventional_zones: 1, max_open: 0, max_active: 0 };
        let media = Shingled::new(1, spec);
        let ram = Place::At(Pba::ram(0));
        let plan = [
            copy(Place::Host(0), at(30), 2),
            copy(at(31), ram, 1),
            copy(ram, at(1), 1),
            copy(at(1), at(5), 2),
            copy(Place::Zero, at(32), 1),
            copy(at(2), Place::Host(0), 1),
        ];
        let mut queue = Queue::new(Scheduler::CLook, 32);
        plan.into_iter().for_each(|operation| queue.push(operation));
        assert_eq!(served(&mut queue, &media), [2, 30, 31, 32, 1, 1, 5], "source before target, pointer in order");
        let mut queue = Queue::new(Scheduler::CLook, 32);
        queue.ignore_conflicts();
        plan.into_iter().for_each(|operation| queue.push(operation));
        assert_eq!(served(&mut queue, &media), [1, 1, 2, 5, 30, 31, 32]);
    }

    #[test]
    fn what_needs_no_disk_waits_only_for_what_it_touches() {
        let media = Shingled::new(
            1,
            ZonedSpec { zones: 2, zone_blocks: 10, conventional_zones: 1, max_open: 0, max_active: 0 },
        );
        let mut queue = Queue::new(Scheduler::CLook, 32);
        let (ram, other) = (Place::At(Pba::ram(0)), Place::At(Pba::ram(1)));
        queue.push(copy(at(10), ram, 1));
        queue.push(Operation { what: What::Reset(Unit::disk(1)), ..write(0) });
        queue.push(copy(Place::Zero, other, 1));
        assert_eq!(queue.admit(&media), Some(2), "the reset waits for the read of its unit");
        queue.complete(2);
        assert_eq!(queue.admit(&media), None);
        let (number, ..) = queue.pick(0, |_| 0).unwrap();
        assert!(queue.accessed(number));
        queue.complete(number);
        assert_eq!(queue.admit(&media), Some(0));
    }
}
