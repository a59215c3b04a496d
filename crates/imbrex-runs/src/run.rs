//! Runs, and what is seen of them, for a program that takes results instead of printing them.

use std::sync::Arc;

use anyhow::Result;
use imbrex::replay::{BandsLook, Observer, WindowOutcome};
use imbrex::trace::Workload;
use imbrex_terminal::progress::{Listener, Progress};
use serde_json::Value;

use crate::bands::Looks;
use crate::case::Case;
use crate::plan::Plan;
use crate::row::Row;
use crate::seen::Seen;
use crate::settled::settle;
use crate::specification::Specification;
use crate::workload::Known;

/// One run.
pub struct Run {
    /// What came of it.
    pub row: Row,
    /// What happened over time, if a series was wanted, as `--series` writes it.
    pub series: Vec<Value>,
    /// What lay where, if that was wanted, as `--bands` writes it.
    pub contents: Vec<Value>,
    /// What lay where, as a page draws it.
    pub units: Option<Value>,
}

/// Replays every workload on every layer, workloads in the outer loop. They are given beside the specification, which
/// can only name them. The listeners are told of reading, and of replaying.
///
/// # Errors
/// What the program would say.
pub fn runs(
    specification: &Specification,
    workloads: &[Workload],
    [reading, replaying]: [Arc<dyn Listener>; 2],
) -> Result<Vec<Run>> {
    let plan = Plan::of(specification)?;
    let reading = Progress::told_of_pieces(reading, plan.pieces(workloads.len()));
    let known = plan.read(workloads, &reading)?;
    let progress = Progress::told(replaying, plan.requests(&known));
    plan.each(&known, |workload, case| run(&plan, specification, workload, case, &progress))
}

fn run(
    plan: &Plan<'_>,
    specification: &Specification,
    workload: &Known,
    case: &Case,
    progress: &Progress,
) -> Result<Run> {
    let looks = || Looks::new(&workload.info, case.layer.name, case.drive.block_bytes);
    let mut watching =
        Watching { looks: specification.contents.is_some().then(looks), seen: Seen::new(&workload.info, case.layer) };
    let settled = settle(&plan.chosen, workload, case, progress)?;
    let row = plan.chosen_for(&settled, case)?.replay(&settled.workload, case, progress, &mut watching)?;
    Ok(Run {
        row,
        series: watching.seen.windows()?,
        contents: watching.looks.map_or_else(|| Ok(Vec::new()), |looks| looks.rows())?,
        units: watching.seen.units(),
    })
}

struct Watching<'a> {
    /// Every part of it, which is much more than a page draws.
    looks: Option<Looks<'a>>,
    seen: Seen<'a>,
}

impl Observer for Watching<'_> {
    fn row(&mut self, row: &WindowOutcome) {
        self.seen.row(row);
    }

    fn bands(&mut self, look: &BandsLook) {
        self.looks.iter_mut().for_each(|looks| looks.add(look));
        self.seen.bands(look);
    }
}
