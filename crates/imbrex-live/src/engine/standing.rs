//! The state of the engine, for programs that ask.

use imbrex::perform::{Counts, Progress};

use super::admission::Pacing;
use super::held::Stands;
use super::machine::{Cleaning, Machine};
use super::pace::Pace;
use super::watch::StepTimes;

/// How the engine stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// How the runners stand, the one that serves the host first.
    pub progress: Vec<Progress>,
    /// What they have done together.
    pub counts: Counts,
    /// Why the volume cannot be used any more, if it cannot.
    pub dead: Option<String>,
    /// Whether background cleaning is paused or was asked for.
    pub cleaning: Cleaning,
    /// How much of the time it may take, in per cent.
    pub throttle: u8,
    /// Whether a step is under way.
    pub is_cleaning: bool,
    /// How long its steps took.
    pub step_times: StepTimes,
    /// The most blocks that the next step may move so that it takes no longer than it may, if there is such a limit and
    /// a layer whose steps have a size.
    pub step_bound: Option<u32>,
    /// How room and rates stand that writes are paced by, where the layer says how much room there is.
    pub pacing: Option<Pacing>,
}

impl Stands for Machine {
    type Standing = Standing;

    fn stands(&mut self) -> Standing {
        let now = self.now();
        self.look_ahead(now);
        Standing {
            progress: self.stack.progress(),
            counts: self.stack.counts(),
            dead: self.stack.dead().map(ToString::to_string),
            cleaning: self.cleaning,
            throttle: self.throttle,
            is_cleaning: self.stack.steps().under_way > 0,
            step_times: self.clock.measured,
            step_bound: self.pace.map(Pace::blocks),
            pacing: self.admission.stands(now),
        }
    }
}
