//! Plans performed through the queue of the disk.
//!
//! To the layer, a plan is performed when it is made, queue or not: its map is as planned, and without a journal a
//! Reset or Free gives the space back where it stands in the plan. What the queue changes is when the disk does its
//! part. Since operations that touch the same blocks keep their order, a place that is used again is written after all
//! that was planned for it before, and every read finds what it would have found at once.
//!
//! The journal is a barrier: before a block of it is written, everything planned before is performed, and nothing else
//! is while it is written. That is more than rules 3 to 5 ask for, which let data that no record speaks of go on; such
//! a device has idle moments that this one has not, and its journal costs less.

use super::error::Fault;
use super::lookahead::Pending;
use super::machine::Machine;
use super::queue::{Operation, Owner, What};

impl Machine {
    pub(super) fn has_queue(&self) -> bool {
        self.scheduled.is_some()
    }

    /// Whether everything planned has been performed.
    pub(super) fn is_done(&self) -> bool {
        self.scheduled.as_ref().is_none_or(|scheduled| scheduled.queue.is_empty())
    }

    /// Whether there is room in the queue for more.
    pub(super) fn has_room(&self) -> bool {
        self.scheduled.as_ref().is_none_or(|scheduled| scheduled.queue.has_room())
    }

    /// Whether the cleaning step is under way.
    pub(super) fn is_cleaning(&self) -> bool {
        self.scheduled.as_ref().is_some_and(|scheduled| scheduled.flights.is_cleaning())
    }

    /// Performs what is in the queue until there is room for more.
    #[inline]
    pub(super) fn wait_for_room(&mut self) -> Result<(), Box<Fault>> {
        while !self.has_room() {
            self.serve_one()?;
        }
        Ok(())
    }

    /// Performs everything planned.
    pub(super) fn drain(&mut self) -> Result<(), Box<Fault>> {
        self.settle()?;
        while !self.is_done() {
            self.serve_one()?;
        }
        Ok(())
    }

    /// Makes the plans that follow plans for `request`; returns what they were for.
    pub(super) fn open(&mut self, request: Pending) -> Option<Owner> {
        self.disk.request_begins();
        let flights = &mut self.scheduled.as_mut()?.flights;
        let of = flights.open(request);
        Some(std::mem::replace(&mut flights.planning, of))
    }

    /// The request is planned as a whole; the plans that follow are for `outer` again.
    pub(super) fn close(&mut self, outer: Owner) -> Result<(), Box<Fault>> {
        let served_ns = self.served_ns();
        let Some(scheduled) = &mut self.scheduled else { return Ok(()) };
        let of = std::mem::replace(&mut scheduled.flights.planning, outer);
        scheduled.flights.completed(of, served_ns)
    }

    /// Makes the plans that follow plans for `of`; returns what they were for.
    pub(super) fn plan_for(&mut self, of: Owner) -> Owner {
        self.scheduled.as_mut().map_or(of, |scheduled| std::mem::replace(&mut scheduled.flights.planning, of))
    }

    /// The next request that is complete, and when it was.
    pub(super) fn next_landed(&mut self) -> Option<(Pending, u64)> {
        self.scheduled.as_mut()?.flights.next_landed()
    }

    /// The request that a fault is about, if it is not the one being planned.
    pub(super) fn serving(&self) -> Option<u64> {
        self.scheduled.as_ref()?.serving
    }

    /// Lets the disk perform one access, if one is ready.
    pub(super) fn serve_one(&mut self) -> Result<(), Box<Fault>> {
        let Some(scheduled) = &mut self.scheduled else { return Ok(()) };
        let (disk, now_ns) = (&self.disk, self.now_ns);
        let picked = scheduled.queue.pick(disk.position(), |access| disk.positioning_ns(access, now_ns));
        let Some((number, operation, access)) = picked else { return Ok(()) };
        scheduled.serving = scheduled.flights.number(operation.of);
        if let What::Move { why, .. } = operation.what {
            if access.write { self.write(access.at, why)? } else { self.read(access.at, why)? }
        }
        if let Some(scheduled) = &mut self.scheduled
            && scheduled.queue.accessed(number)
        {
            self.complete(number)?;
        }
        self.settle()
    }

    /// Lets planned operations into the queue, and completes those that need no access to the disk.
    pub(super) fn settle(&mut self) -> Result<(), Box<Fault>> {
        while let Some(scheduled) = &mut self.scheduled {
            let Some(number) = scheduled.queue.admit(self.disk.media()) else {
                scheduled.serving = None;
                break;
            };
            self.complete(number)?;
        }
        Ok(())
    }

    fn complete(&mut self, number: usize) -> Result<(), Box<Fault>> {
        let Some(scheduled) = &mut self.scheduled else { return Ok(()) };
        let Operation { what, of, host } = scheduled.queue.complete(number);
        scheduled.serving = scheduled.flights.number(of);
        match what {
            What::Move { from, to, blocks, .. } if self.content.is_some() => {
                let delivery = scheduled.flights.delivery(of).map(std::mem::take);
                let mut delivery = delivery.unwrap_or_default();
                self.follow_content(from, to, blocks, host, &mut delivery)?;
                if let Some(place) = self.scheduled.as_mut().and_then(|s| s.flights.delivery(of)) {
                    *place = delivery;
                }
            }
            What::Move { .. } => {}
            What::Reset(unit) => self.reset(unit)?,
            What::Forget(space) => self.forget(space),
        }
        let served_ns = self.served_ns();
        match &mut self.scheduled {
            Some(scheduled) => scheduled.flights.completed(of, served_ns),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::content::{Content, Host};
    use crate::replay::queue_state::QueueState;
    use crate::replay::{Device, ReplayOptions, Scheduler, Timing, space};
    use imbrex_core::block::{Access, Extent, Lba, Pba, Request};
    use imbrex_core::layer::Unwritten;
    use imbrex_core::media::Conventional;
    use imbrex_layers::find;

    /// Accesses take a nanosecond.
    struct Quick;

    impl Timing for Quick {
        fn access(&mut self, now_ns: u64, _: u64, _: u64, _: bool) -> u64 {
            now_ns + 1
        }

        fn positioning_ns(&self, _: u64, first_sector: u64, _: bool) -> u64 {
            first_sector
        }
    }

    /// Writes blocks 10 and 11 and reads 9 and 10, which comes first by address.
    fn write_and_read(ignore_conflicts: bool) -> Result<(), Box<Fault>> {
        let disk = Device::new(Box::new(Conventional::new(Pba::DISK, 100)), Box::new(Quick), 4096);
        let space = space(&disk, 0, &ReplayOptions::default()).unwrap();
        let mut layer = find("conventional").unwrap().build(&space, &toml::Table::new()).unwrap();
        let mut machine = Machine::new(disk, 0, None, Some(Content::new(Pba::DISK, Unwritten::Zeros)));
        machine.scheduled = QueueState::new(Scheduler::CLook, 8);
        if ignore_conflicts {
            machine.scheduled.as_mut().unwrap().queue.ignore_conflicts();
        }
        for (access, first) in [(Access::Write, 10), (Access::Read, 9)] {
            let at = Extent::new(Lba(first), 2);
            let outer =
                machine.open(Pending { request: Request { access, at }, arrival_ns: 0, number: 1, bytes: 8192 });
            let mut plan = imbrex_core::plan::Plan::new();
            if access == Access::Write {
                layer.write(at.into(), &mut plan);
                let version = machine.content.as_mut().map_or(0, Content::next_version);
                machine.content.as_mut().unwrap().written(at, version);
                machine.perform(&mut *layer, &plan, Host::Writes(at, version))?;
            } else {
                machine.expect(at);
                layer.read(at, &mut plan);
                machine.perform(&mut *layer, &plan, Host::Reads(at))?;
            }
            machine.close(outer.unwrap())?;
        }
        machine.drain()?;
        assert_eq!(machine.now_ns, 2);
        Ok(())
    }

    #[test]
    fn a_scheduler_that_ignores_conflicts_is_caught() {
        assert_eq!(write_and_read(false), Ok(()));
        assert!(matches!(*write_and_read(true).unwrap_err(), Fault::Mismatch { lba: Lba(10), .. }));
    }
}
