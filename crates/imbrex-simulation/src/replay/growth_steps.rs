//! Growth during a replay: when the layer is asked to, how long it takes, and which requests wait for it.
//!
//! The steps of a growth are made in idle time, from its first moment on, whether the layer is to be cleaned in it or
//! not. A request that arrives during one waits for its end. A layer that holds everybody up until it has grown
//! ([`Step::Hold`]) is let do so. What is left when the trace is over is done then.

use super::content::Host;
use super::error::Fault;
use super::lookahead::Pending;
use super::outcome::GrowthOutcome;
use super::simulation::Simulation;
use imbrex_core::layer::{CannotGrow, Pressure, Step};
use imbrex_core::plan::Event;

impl Simulation {
    /// Asks for the space that is to be asked for before `next`.
    pub(super) fn grow_when_due(&mut self, next: &Pending) -> Result<(), Box<Fault>> {
        while let Some(extension) = self.growing.as_mut().and_then(|growing| growing.due(next)) {
            self.ask_for(extension.bytes, next.arrival_ns)?;
        }
        Ok(())
    }

    fn ask_for(&mut self, bytes: u64, arrival_ns: u64) -> Result<(), Box<Fault>> {
        let now_ns = self.machine.latest_ns().max(arrival_ns);
        let is_growing = self.is_growing();
        if let Some(growing) = &mut self.growing {
            growing.asked(now_ns, self.layer.capacity(), is_growing);
        }
        self.plan.clear();
        let block_bytes = self.machine.disk.block_bytes();
        let blocks = bytes.div_ceil(block_bytes.into());
        let asked = self.layer.growing().ok_or(CannotGrow::Never).and_then(|layer| layer.grow(blocks, &mut self.plan));
        asked.map_err(|why| Fault::CannotGrow(why.to_bytes(bytes, block_bytes)))?;
        self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)?;
        self.machine.now_ns = now_ns;
        self.grow_held(now_ns)
    }

    /// Whether a growth that was asked for is not complete.
    pub(super) fn is_growing(&self) -> bool {
        self.growing.is_some() && self.layer.standing().growth.is_some()
    }

    /// Makes a first step, and as many as the layer holds everybody up for, among them who could begin at `arrival_ns`.
    fn grow_held(&mut self, arrival_ns: u64) -> Result<(), Box<Fault>> {
        while self.is_growing() {
            let given_back = self.machine.given_back;
            let (step, took_ns) = self.clean(Pressure::Idle { ns: 0 }, None)?;
            if let Some(growing) = &mut self.growing {
                growing.stepped(took_ns, self.machine.now_ns, arrival_ns);
            }
            match step {
                Step::Hold => {}
                Step::Wait if self.machine.give_back(&mut *self.layer, given_back)? => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// The trace is over: what is left of a growth is done now.
    pub(super) fn grow_to_the_end(&mut self) -> Result<(), Box<Fault>> {
        if self.is_growing() {
            self.machine.now_ns = self.machine.latest_ns();
            self.use_idle_time(u64::MAX)?;
        }
        Ok(())
    }

    /// What became of the space that was asked for, if some was.
    pub(super) fn growth_outcome(&self) -> Option<GrowthOutcome> {
        let growing = self.growing.as_ref()?;
        let (begun_ns, capacity) = growing.begun?;
        Some(GrowthOutcome {
            gained_blocks: self.layer.capacity() - capacity,
            converted_zones: self.machine.counters.event(Event::Converted),
            begun_s: begun_ns as f64 / 1e9,
            seconds: growing.missing_ns() as f64 / 1e9,
            steps: growing.steps,
            step_seconds: growing.step_ns as f64 / 1e9,
            longest_step_ms: growing.longest_step_ns as f64 / 1e6,
            delayed_requests: growing.delayed,
            longest_delay_ms: growing.longest_delay_ns as f64 / 1e6,
        })
    }
}
