//! The simulating runner: replays a workload on a layer over a simulated disk, and measures.
//!
//! One disk serves one operation at a time. A request's service is its plan, performed operation by operation; its
//! latency is the time from arrival to completion, queueing included. Time is integer nanoseconds, and the same inputs
//! give the same outcome on any machine.
//!
//! What is not simulated: the host, the bus and the layer's own computing cost no time, a reset of a unit costs none
//! either, and no drive cache hides anything.
//!
//! Reading order: `simulation` takes requests from `lookahead` and has the layer plan them; `machine` performs plans on
//! a `device`, with `journal` and `content` where asked for; `metrics` counts, and `outcome` and `series` say it.

mod content;
mod device;
mod error;
mod journal;
mod lookahead;
mod machine;
mod metrics;
mod options;
mod outcome;
mod series;
mod setup;
mod simulation;

use std::ops::ControlFlow;

pub use crate::buffer_size::{BadBufferSize, BufferSize};
pub use device::{Device, Timing};
pub use error::{Fault, Moment, ReplayError};
pub use options::{Beyond, MAX_QUEUE_DEPTH, ReplayOptions, Window};
pub use outcome::{ByReason, CleaningTime, Latency, LatencyMs, Outcome};
pub use series::Row;
pub use setup::{Setup, disk, replay, space};
pub use simulation::Simulation;

/// Whoever watches a replay.
pub trait Observer {
    /// Called now and then with the number of requests served so far; can stop the replay.
    fn progress(&mut self, _requests: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called with each row of the series, if one is wanted.
    fn row(&mut self, _row: &Row) {}
}

/// Nobody watches.
impl Observer for () {}
