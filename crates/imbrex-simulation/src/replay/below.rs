//! A simulation as a device of a stack: what the layer above reads and writes are its requests.
//!
//! Its clock is its own. A request that comes while it is busy waits; when it has been idle until then, its layer has
//! had that time to clean. So the devices of a stack work at the same time, each in the order in which it is asked, and
//! the layer above goes on from one operation of a plan to the next when the device says that the first is complete.
//! Only a copy of what another device has read is not there yet when it is asked for: until it is, the device serves
//! what comes.

use super::device::Device;
use super::error::Fault;
use super::metrics::Totals;
use super::outcome::Below;
use super::simulation::Simulation;
use super::stack_device::StackDevice;
use super::sweep::Flushed;
use imbrex_core::block::{Access, Extent, Lba, Pba, Request};
use imbrex_core::space::HomeCosts;

impl Device {
    /// The devices that the layers of `below` make of their drives, numbered from
    /// [`Pba::DISK`](imbrex_core::block::Pba::DISK). Their blocks are equally long; there is at least one.
    #[must_use]
    pub fn stack(below: Vec<Simulation>) -> Self {
        Self::of(below.into_iter().map(|device| Box::new(device) as Box<dyn StackDevice>).collect())
    }

    /// The same devices, of which a cache is told what it costs to write to the second one.
    #[must_use]
    pub fn costing(mut self, costs: HomeCosts) -> Self {
        self.costs = costs;
        self
    }
}

impl StackDevice for Simulation {
    fn capacity(&self) -> u64 {
        self.layer.capacity()
    }

    fn block_bytes(&self) -> u32 {
        self.machine.disk.block_bytes()
    }

    fn prefetch(&mut self, ahead: &[Request]) {
        Self::prefetch(self, ahead);
    }

    fn serve_above(&mut self, request: Request, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.serve_at(request, now_ns).map_err(|fault| Fault::Below { layer: self.name.clone(), fault }.into())
    }

    fn write_later(&mut self, at: Extent<Lba>, from_ns: u64) {
        self.later.add(at, from_ns);
    }

    fn catch_up(&mut self, now_ns: u64) -> Result<(), Box<Fault>> {
        let caught_up = self.serve_earlier(now_ns, None).and_then(|()| self.machine.disk.catch_up(now_ns));
        caught_up.map_err(|fault| Fault::Below { layer: self.name.clone(), fault }.into())
    }

    fn flush_above(&mut self, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.flush_from(now_ns).map_err(|fault| Fault::Below { layer: self.name.clone(), fault }.into())
    }

    fn rest(&mut self) -> Result<u64, Box<Fault>> {
        Self::rest(self).map_err(|fault| Fault::Below { layer: self.name.clone(), fault }.into())
    }

    fn busy_ns(&self) -> u64 {
        self.machine.disk.busy_ns()
    }

    fn set_free_of_charge(&mut self, free: bool) {
        self.machine.disk.set_free_of_charge(free);
    }

    fn measure_from(&mut self, now_ns: u64) {
        Self::measure_from(self, now_ns);
    }

    fn totals(&self) -> Totals {
        Self::totals(self)
    }

    fn measured(&self) -> Below {
        Below { layer: self.name.clone(), outcome: self.outcome() }
    }

    fn read_back(&mut self) -> Result<(), Box<Fault>> {
        Self::read_back(self)
    }
}

impl Simulation {
    /// Lets the layer prefetch for coming requests, and those below it for what they will be asked then.
    pub(super) fn prefetch(&mut self, ahead: &[Request]) {
        let (layer, below) = (&self.layer, self.machine.disk.below_mut());
        self.foretold.resize_with(below.len(), Vec::new);
        self.foretold.iter_mut().for_each(Vec::clear);
        std::hint::black_box(layer.prefetch(ahead, &mut |device, request| {
            self.foretold.get_mut(usize::from(device - Pba::DISK)).into_iter().for_each(|asked| asked.push(request));
        }));
        below.iter_mut().zip(&self.foretold).for_each(|(below, asked)| below.prefetch(asked));
    }

    /// Serves a request that comes at `now_ns`, no earlier than the last one, and says when it is complete: for who asks
    /// one thing after the other. If nothing was left to do before, that was idle time.
    ///
    /// # Errors
    /// When the layer or the disk refuses.
    pub fn serve_at(&mut self, request: Request, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.serve_earlier(now_ns, Some(request.at))?;
        self.serve_in_turn(request, now_ns)
    }

    /// Serves writes of the layer above that were to come later and go before a request for `at` that comes at `now_ns`.
    fn serve_earlier(&mut self, now_ns: u64, at: Option<Extent<Lba>>) -> Result<(), Box<Fault>> {
        while let Some((from_ns, at)) = self.later.take_before(now_ns, at) {
            self.serve_in_turn(Request { access: Access::Write, at }, from_ns)?;
        }
        Ok(())
    }

    fn serve_in_turn(&mut self, request: Request, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.arrive(now_ns)?;
        self.machine.disk.request_begins();
        let bytes = request.at.blocks * self.machine.disk.block_bytes();
        match request.access {
            Access::Read => self.read(request.at)?,
            Access::Write => self.write(request.at, u64::from(bytes), None)?,
            Access::Trim => self.trim(request.at)?,
        }
        let done_ns = self.done_ns(request.access);
        self.served(&request, bytes, done_ns - now_ns);
        self.check_now_and_then(self.host.requests())?;
        Ok(done_ns)
    }

    /// The layer above waits for that as for a write that is blocked.
    fn flush_from(&mut self, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.serve_earlier(u64::MAX, None)?;
        self.arrive(now_ns)?;
        let begun_ns = self.machine.now_ns;
        let Flushed { steps, .. } = self.flush()?;
        self.machine.now_ns = self.machine.disk.flush(self.machine.now_ns)?;
        self.blocked.episodes += u64::from(steps > 0);
        self.blocked.steps += steps;
        self.blocked.ns = self.blocked.ns.saturating_add(self.machine.now_ns - begun_ns);
        Ok(self.machine.now_ns)
    }
}
