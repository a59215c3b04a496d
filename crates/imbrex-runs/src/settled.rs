//! A workload as often as a layer needs it until it is steady.
//!
//! A first replay finds the window in which it is. A second one, which is the same up to its end and measures from its
//! beginning on, is what a user would have with `--repeat` and `--warm-up`. So nothing of the runner knows of it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use imbrex::replay::{ReplayError, ReplayOptions, Window};
use imbrex::trace::{Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource};
use imbrex_terminal::progress::Progress;

use crate::case::Case;
use crate::chosen::Chosen;
use crate::room::Room;
use crate::steady::{Rounds, Steady, WINDOW};
use crate::workload::{Known, Watched};

/// A workload as often as a layer needs it, and how it became steady if that was asked for.
pub struct Settled<'w> {
    /// The workload.
    pub workload: Cow<'w, Known>,
    /// How the layer became steady.
    pub steady: Option<Steady>,
}

/// The workload as often as it takes until the layer of `case` is steady, if it has to be; that is a replay too. Else the
/// workload as it is.
///
/// # Errors
/// Those of a replay.
pub fn settle<'w>(chosen: &Chosen, workload: &'w Known, case: &Case, progress: &Progress) -> Result<Settled<'w>> {
    let Some(most_rounds) = chosen.most_rounds else {
        return Ok(Settled { workload: Cow::Borrowed(workload), steady: None });
    };
    let most_rounds = most_rounds.get().max(WINDOW);
    let window = Some(Window::Requests(workload.range.requests.max(1)));
    let options = ReplayOptions { window, verify: false, flush: false, warm_up: None, ..chosen.options.clone() };
    let chosen = chosen.with(options);
    let until = AtomicBool::new(false);
    let rounds = chosen.perform(workload, case, |simulation, drive| -> Result<_, ReplayError> {
        let buffer_blocks = simulation.own_buffer_blocks().unwrap_or(chosen.buffer_blocks(workload, case));
        let disk = [drive.media.capacity(), simulation.capacity(), buffer_blocks];
        let room = Room::of(case.layer.name, disk, chosen.options.prefill);
        let mut rounds = Rounds::new(case.layer, most_rounds, room.blocks(), &until);
        rounds.shown = Some((progress, workload.range.requests));
        let source = workload.going_on(u64::MAX).shown_as_one().open(progress)?;
        simulation.run(&mut Until { source, is_over: &until }, &mut rounds)?;
        rounds.show_all();
        Ok(rounds)
    })?;
    let steady = rounds.found(workload.range.requests);
    let repeated = workload.going_on(steady.passes()).shown_as_one();
    Ok(Settled { workload: Cow::Owned(repeated), steady: Some(steady) })
}

/// A source that ends when somebody has seen enough.
struct Until<'a> {
    source: Watched<'a>,
    is_over: &'a AtomicBool,
}

impl TraceSource for Until<'_> {
    fn info(&self) -> &TraceInfo {
        self.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        if self.is_over.load(Ordering::Relaxed) {
            batch.clear();
            return Ok(());
        }
        self.source.fill(batch, limit)
    }

    fn irregularities(&self) -> Irregularities {
        self.source.irregularities()
    }
}
