//! A simulation as a device of a stack: what the layer above reads and writes are its requests.
//!
//! Its clock is its own. A request that comes while it is busy waits; when it has been idle until then, its layer has
//! had that time to clean. So the devices of a stack work at the same time, each in the order in which it is asked, and
//! the layer above goes on from one operation of a plan to the next when the device says that the first is complete.

use super::error::Fault;
use super::simulation::Simulation;
use crate::block::{Access, Request};

impl Simulation {
    /// Serves a request of the layer above that comes at `now_ns`; when it is complete.
    pub(super) fn serve_above(&mut self, request: Request, now_ns: u64) -> Result<u64, Fault> {
        self.serve_from(request, now_ns)
            .map_err(|fault| Fault::Below { layer: self.name.clone(), fault: Box::new(fault) })
    }

    fn serve_from(&mut self, request: Request, now_ns: u64) -> Result<u64, Fault> {
        self.arrive(now_ns)?;
        self.machine.disk.request_begins();
        match request.access {
            Access::Read => self.read(request.at)?,
            Access::Write => self.write(request.at, None)?,
            Access::Trim => self.trim(request.at)?,
        }
        let done_ns = self.done_ns(request.access);
        self.served(&request, request.at.blocks * self.block_bytes(), done_ns - now_ns);
        self.check_now_and_then(self.host.requests())?;
        Ok(done_ns)
    }

    /// Bytes of a block.
    pub(super) fn block_bytes(&self) -> u32 {
        self.machine.disk.block_bytes()
    }

    pub(super) fn busy_ns(&self) -> u64 {
        self.machine.disk.busy_ns()
    }

    pub(super) fn set_free_of_charge(&mut self, free: bool) {
        self.machine.disk.set_free_of_charge(free);
    }
}
