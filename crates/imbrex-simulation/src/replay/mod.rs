//! The simulating runner: replays a workload on a layer over a simulated disk, and measures.
//!
//! One disk performs one access at a time. A request's service is its plan, performed operation by operation; its
//! latency is the time from arrival to completion, queueing included. Time is integer nanoseconds, and the same inputs
//! give the same outcome on any machine.
//!
//! What is not simulated: the host, the bus and the layer's own computing cost no time, and no drive cache hides
//! anything. A reset costs what the drive says: on a disk nothing, on flash the erase.
//!
//! Reading order: `simulation` takes requests from `lookahead` and has the layer plan them, and `cleaning` has it
//! clean; `machine` performs plans on a `device`, follows the `padding`, and keeps `journal` and `content` where asked
//! for; `sweep` fills the disk before and reads it back after; `metrics` counts, `outcome` and `series` say it,
//! `bands` looks at what lies where, and `steps` keeps what the disk does for a while.
//!
//! With a scheduler, `dispatch` has requests planned while the disk's queue has room; `queued` performs plans
//! through the `queue`, from which `scheduler` picks, and keeps account of what is `in_flight`.
//!
//! In a stack, the devices under a layer are simulations themselves: `device` knows what is asked of one (`stacked`),
//! and `below` is a simulation that answers. `setup` puts all of this together, in the `room` that a drive gives a
//! layer.

mod bands;
mod below;
mod cleaning;
mod configured;
mod content;
mod device;
mod dispatch;
mod error;
mod growth_state;
mod growth_steps;
mod in_flight;
mod journal;
mod journal_plans;
mod later;
mod lookahead;
mod machine;
mod map_memory;
mod map_plans;
mod metrics;
mod options;
mod outcome;
mod padding;
mod page_cache;
mod queue;
mod queue_plans;
mod queue_state;
mod room;
mod scheduler;
mod series;
mod setup;
mod simulation;
mod stack_device;
mod steps;
mod sums;
mod sweep;
mod watched;

use std::ops::ControlFlow;

pub use bands::BandsLook;
pub use configured::Configured;
pub use device::{Device, NoTime, Timing};
pub use error::{Fault, Moment, ReplayError};
pub use imbrex_core::buffer_size::{BadBufferSize, BufferSize};
pub use lookahead::Addressing;
pub use map_memory::LEAST_MAP_MEMORY;
pub use options::{
    Beyond, Extension, MAX_QUEUE_DEPTH, MAX_SCHEDULER_DEPTH, ReplayOptions, TraceMoment, WarmUp, Window,
};
pub use outcome::{Below, ByReason, CleaningTime, GrowthOutcome, Latency, LatencyMs, MapOutcome, Outcome, QUANTILES};
pub use room::{disk, space, timing};
pub(crate) use scheduler::Access;
pub use scheduler::Scheduler;
pub use series::WindowOutcome;
pub use setup::{Setup, replay};
pub use simulation::Simulation;
pub use steps::{Asked, Did, DiskStep, MOST_STEPS};
pub use sums::{BandSums, SideSums, TrackSums, ZoneSums};

/// A request that is complete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ServedRequest {
    /// Its number in the trace, from 1.
    pub number: u64,
    /// What it was.
    pub access: imbrex_core::block::Access,
    /// When it arrived, in ns.
    pub arrival_ns: u64,
    /// How long it took from then on, in ns.
    pub latency_ns: u64,
}

/// Watches a replay.
pub trait Observer {
    /// Called now and then, and after rows of the series, with the number of requests served so far; can stop the replay.
    fn progress(&mut self, _requests: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called when the warm-up is over, if there is one.
    fn warmed_up(&mut self) {}

    /// Called with each request that is complete, in the order in which they are, if
    /// [`each_request`](ReplayOptions::each_request) asks for it; those of the warm-up too.
    fn request(&mut self, _request: &ServedRequest) {}

    /// Called with each row of the series, if one is wanted.
    fn row(&mut self, _row: &WindowOutcome) {}

    /// Called with what the bands or tracks hold, at the moments chosen and at the end.
    fn bands(&mut self, _look: &BandsLook) {}

    /// Called once with what the disk did, if [`watch_disk`](ReplayOptions::watch_disk) asks for it: at most
    /// [`MOST_STEPS`] operations, in their order, and the media as they are after them.
    fn steps(&mut self, _steps: &[DiskStep], _media: &dyn imbrex_core::media::Media) {}
}

/// An observer that ignores everything.
impl Observer for () {}
