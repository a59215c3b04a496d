//! Recovery: from the journal, the redo images and the drive's report to a layer that serves.
//!
//! It runs at the start and, by rule 10, whenever a layer's epoch ends. It is a row of stages, each of which asks the
//! drive for something and makes the next stage of the answers:
//!
//! | stage | asks the drive | hands on |
//! |---|---|---|
//! | `Settle` | to make durable what is about to be read | |
//! | `Zones` | how far sequential zones of the journal are written | the report |
//! | `Read` | for the journal | which blocks of it count, and what a copy lacks of them |
//! | `Fold` | for these blocks again | the layer that their records give, and the redo images |
//! | `Mend` | to write again what a copy lacks | |
//! | `Probe` | for blocks that could not be read | those that still cannot |
//! | `Replay`, `MakeDurable` | to write the redo images again | |
//! | `Report` | how its zones stand | the report |
//! | `FoldAgain` | if blocks are lost, for the journal's blocks once more | the layer without what it had planned |
//!
//! A [`NewEpoch`] is built of all that: what is still unreadable becomes `Lost` under the logical blocks that lie there.
//! The first commit of the new epoch records that, marks the redo images as done, and is durable before anything is
//! planned.

mod build;
mod fold;
mod found;
mod images;
mod journal;
mod probe;
mod stage;

use std::collections::BTreeSet;

use super::Fatal;
use super::core::{Core, Purpose};
use super::{IoResult, Setup};
use found::Journal;
pub(super) use found::NewEpoch;
use images::Replay;
use imbrex_core::block::Pba;
use journal::Settle;
use stage::{Next, Stage};

/// How often the drive may fail what recovery cannot do without before the store is given up.
const FAILURES_LIMIT: u32 = 5;

/// Recovery under way.
pub(super) struct Recovery {
    /// None when it is over.
    stage: Option<Box<dyn Stage>>,
    /// How often the drive has failed what a stage cannot do without.
    failures: u32,
}

impl Recovery {
    /// For a store that holds nothing.
    pub fn format(setup: &Setup) -> Self {
        Self::from(Replay::new(Journal::empty(setup), BTreeSet::new()))
    }

    /// For a store that was formatted. `suspects` are blocks that could not be read.
    pub fn open(suspects: BTreeSet<Pba>) -> Self {
        Self::from(Settle::new(suspects))
    }

    fn from(stage: impl Stage + 'static) -> Self {
        Self { stage: Some(Box::new(stage)), failures: 0 }
    }

    /// Goes on as far as possible before an operation of a device ends. What recovery comes to when it is over: a new
    /// epoch, or why there cannot be one.
    pub fn advance(&mut self, core: &mut Core) -> Option<Result<NewEpoch, Fatal>> {
        while core.is_idle() {
            let asked = self.stage.as_mut()?.ask(&core.setup);
            if asked.is_empty() {
                let next = self.stage.take()?.next(core);
                let ended = next.and_then(|next| self.follow(next)).transpose();
                if ended.is_some() {
                    return ended;
                }
            }
            for (number, kind) in asked {
                core.issue(Purpose::Recovery(number), kind);
            }
        }
        None
    }

    /// Goes over to what follows, unless the drive has failed too often. The new epoch, if that is it.
    fn follow(&mut self, next: Next) -> Result<Option<NewEpoch>, Fatal> {
        if let Next::Retry(_, failed_to) = next {
            self.failures += 1;
            if self.failures == FAILURES_LIMIT {
                return Err(Fatal::DriveFails { what: failed_to, times: FAILURES_LIMIT });
            }
        }
        let (stage, epoch) = match next {
            Next::Stage(stage) | Next::Retry(stage, _) => (Some(stage), None),
            Next::Epoch(epoch) => (None, Some(*epoch)),
        };
        self.stage = stage;
        Ok(epoch)
    }

    /// Takes the result of a device operation.
    pub fn completed(&mut self, core: &mut Core, purpose: Purpose, result: IoResult) {
        if let (Purpose::Recovery(number), Some(stage)) = (purpose, &mut self.stage) {
            stage.answered(core, number, result);
        }
    }

    /// A device has failed operations without anything being wrong with them.
    pub fn device_restarted(&mut self) {
        if let Some(stage) = &mut self.stage {
            stage.device_restarted();
        }
    }
}
