//! Flushes, rule 8: first the layer moves what lies in RAM, then what was planned has to be durable.

use bytes::Bytes;

use super::Running;
use crate::Failure;
use crate::core::Core;
use crate::epoch::Serves;
use crate::rules::Rule;
use imbrex_core::layer::{Step, TranslationLayer};
use imbrex_core::plan::Plan;

/// What a flush covers.
#[derive(Copy, Clone)]
pub(super) enum Covers {
    /// Everything that was acknowledged; a loss is reported to `client`.
    All { client: u32 },
    /// What was acknowledged in one epoch of the layer.
    Epoch(u64),
}

/// What a step of a flush came to.
enum Flushed {
    /// The layer has more to move.
    More,
    /// The layer waits for space.
    Waits {
        /// Whether it has moved anything.
        moved: bool,
    },
    /// The layer has nothing left to move.
    Done,
    Answered(Result<Bytes, Failure>),
}

impl Running {
    /// Lets the layer move what lies in RAM for the flushes that wait; says whether anything came of it.
    pub(super) fn plan_flushes(&mut self, core: &mut Core) -> bool {
        let mut any = false;
        while let Some(&(id, covers)) = self.flushing.front() {
            match self.flush(core, covers) {
                Flushed::More => {}
                Flushed::Waits { moved } => {
                    self.epoch.await_space();
                    return any | moved;
                }
                Flushed::Done => {
                    self.flushing.pop_front();
                    self.epoch.queue_flush(core, id);
                }
                Flushed::Answered(result) => {
                    self.flushing.pop_front();
                    core.reply(id, result);
                }
            }
            any = true;
        }
        any
    }

    /// One step of the layer's flush, unless the flush can be answered without it.
    fn flush(&mut self, core: &mut Core, covers: Covers) -> Flushed {
        let is_lost = match covers {
            Covers::All { client } => core.losses.report(client),
            Covers::Epoch(epoch) => epoch != core.counts.rebuilds,
        };
        if is_lost {
            return Flushed::Answered(Err(Failure::Io));
        }
        if !core.setup.rules.keeps(Rule::FlushWaits) {
            return Flushed::Answered(Ok(Bytes::new()));
        }
        if self.epoch.awaits_space() || self.epoch.is_checkpointing() {
            return Flushed::Waits { moved: false };
        }
        let flush = |layer: &mut dyn TranslationLayer, plan: &mut Plan| (layer.flush(plan), !plan.is_empty());
        let (step, moved) = self.epoch.plan(core, Serves::Everybody, flush);
        match step {
            Step::Done => Flushed::Done,
            Step::Nothing if !self.epoch.may_get_space() => Flushed::Answered(Err(Failure::Full)),
            Step::More | Step::Hold if moved => Flushed::More,
            _ => Flushed::Waits { moved },
        }
    }
}
