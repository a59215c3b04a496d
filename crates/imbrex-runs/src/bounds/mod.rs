//! How far layers are from what is possible: what no layer can beat, where each layer stands, and what a schedule
//! reaches that knows all requests.
//!
//! `question` says what is bounded for which layer, and what of the layer's counts that is; `answer` asks
//! `imbrex-bounds`; `row` is what is written. A bound holds for a disk that is full when the first request comes, for
//! requests that are served one at a time, and for all of them: other choices are refused.

mod answer;
mod question;
mod row;
#[cfg(test)]
mod tests;

use anyhow::{Result, anyhow};
use imbrex::drive::DrivePreset;
use imbrex::layers::{self, Family, LayerInfo};
use imbrex::recording::Recording;
use imbrex::replay::{Addressing, Beyond};
use imbrex_terminal::progress::Progress;

use answer::requests;
pub use answer::{Answer, OPEN_BANDS};
pub use question::{Count, Question, counts, is_known};
pub use row::{BoundRow, Is};

use crate::case::{Case, recording_of};
use crate::parallel;
use crate::plan::Plan;
use crate::row::Row;
use crate::specification::Specification;
use crate::workload::Known;
use crate::wrong::Wrong;

/// Whether bounds hold for what is specified, if requests are served one at a time.
///
/// # Errors
/// When a bound would not hold.
fn check(specification: &Specification) -> Result<()> {
    let setup = &specification.setup;
    let wrong = |fields: &'static [&'static str], why: &str| Err(Wrong::new(fields, why.to_owned()).into());
    if setup.prefill < 1.0 || setup.trimmed > 0.0 {
        return wrong(&["prefill", "trimmed"], "bounds hold for a disk that is full at the beginning; leave them out");
    }
    if setup.warm_up.is_some() {
        return wrong(&["warm_up"], "bounds hold for all requests of a workload; leave it out");
    }
    if setup.sample.is_some() {
        return wrong(&["sample"], "bounds hold for all requests of a workload; leave it out");
    }
    if setup.steady {
        return wrong(&["steady"], "bounds hold for all requests of a workload; leave it out");
    }
    if specification.growth.extend.is_some() {
        return wrong(&["extend"], "bounds hold for a disk that does not grow; leave it out");
    }
    Ok(())
}

/// Whether bounds hold for runs that are made as is specified.
///
/// # Errors
/// When they do not; it says what to change.
pub fn check_comparison(specification: &Specification) -> Result<()> {
    check(specification)?;
    if specification.setup.queue_depth != Some(1) {
        let why = "bounds hold for requests that are served one at a time; choose 1".to_owned();
        return Err(Wrong::new(&["queue_depth"], why).into());
    }
    Ok(())
}

/// Prepares a specification for runs that are held against bounds: the layers that something is known of, where none
/// are named, one request at a time, and no time.
///
/// # Errors
/// When a bound would not hold for what is specified.
pub fn prepare(specification: &mut Specification) -> Result<()> {
    check(specification)?;
    let setup = &mut specification.setup;
    if setup.queue_depth.is_some_and(|depth| depth != 1) {
        let why = "bounds hold for requests that are served one at a time; leave it out".to_owned();
        return Err(Wrong::new(&["queue_depth"], why).into());
    }
    (setup.untimed, setup.queue_depth, setup.no_idle) = (true, Some(1), true);
    if let Some(unknown) = specification.layers.iter().flatten().find(|layer| !is_known(layer)) {
        let known: Vec<_> = layers::known().filter(|layer| is_known(layer)).map(|layer| layer.name).collect();
        return Err(anyhow!("nothing bounds the layer {}; there are bounds for {}", unknown.name, known.join(", ")));
    }
    if specification.layers.is_none() && specification.family.is_none() {
        let cases = setup.cases(&[layers::find("conventional")?])?;
        specification.layers = cases.first().map(|case| usual_layers(&case.drive)).transpose()?;
    }
    Ok(())
}

/// The layers for a drive that something is known of, where none are named.
fn usual_layers(drive: &DrivePreset) -> Result<Vec<&'static LayerInfo>> {
    let (recording, ..) = recording_of(drive);
    let suits = |layer: &&LayerInfo| match recording {
        "zoned" => layer.family == Some(Family::Shingled),
        "banded" => [Recording::Banded, Recording::Cached].contains(&layer.recording),
        "interlaced" => layer.recording == Recording::Interlaced,
        _ => false,
    };
    let usual: Vec<_> = layers::known().filter(|layer| is_known(layer)).filter(suits).collect();
    if usual.is_empty() {
        let why =
            format!("{} is a {recording} drive; there are bounds for zoned, banded and interlaced ones", drive.name);
        return Err(Wrong::new(&["drive"], why).into());
    }
    Ok(usual)
}

/// A question about a workload, with the layers that are asked it.
struct Group<'w> {
    workload: &'w Known,
    question: Question,
    addressing: Addressing,
    layers: Vec<(Row, Count)>,
}

/// Replays every workload on every layer of a plan that something is known of, and holds each against what is possible.
/// A specification that was [`prepare`]d made the plan.
///
/// # Errors
/// When a workload cannot be read, or does not fit a layer; when a layer fails; or when the work was to stop.
pub fn bounds(plan: &mut Plan<'_>, known: &[Known], jobs: usize) -> Result<Vec<BoundRow>> {
    plan.cases.retain(|case| is_known(case.layer));
    if plan.cases.is_empty() {
        return Err(anyhow!("nothing bounds the layers of this family"));
    }
    let progress = Progress::new("replaying", plan.requests(known));
    let rows = plan.each(known, |workload, case| plan.chosen.replay(workload, case, &progress, &mut ()))?;
    drop(progress);
    of_rows(plan, known, &rows.iter().collect::<Vec<_>>(), jobs)
}

/// Holds the rows of a plan, workloads in the outer loop, against what is possible; those of layers that nothing is
/// known of are left out. The requests were served one at a time.
///
/// # Errors
/// When a workload cannot be read, or the work was to stop.
pub fn of_rows(plan: &Plan<'_>, known: &[Known], rows: &[&Row], jobs: usize) -> Result<Vec<BoundRow>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let runs = known.iter().flat_map(|workload| plan.cases.iter().map(move |case| (workload, case)));
    for ((workload, case), row) in runs.zip(rows).filter(|((_, case), _)| is_known(case.layer)) {
        let drive = case.drive.with_capacity(row.drive_blocks * u64::from(row.block_bytes))?;
        let addressing = addressing(plan, workload, row);
        let counts = counts(row, case.layer, &drive).into_iter();
        counts.for_each(|count| add(&mut groups, workload, addressing, row, count));
    }
    let progress = Progress::new("bounding", groups.iter().map(|group| group.workload.range.requests).sum());
    let answered = parallel::each(jobs, &groups, |group| {
        let answer = group.question.answer(&requests(group.workload, &group.addressing, &progress)?)?;
        let layers: Vec<_> = group.layers.iter().map(|(row, count)| (row, count)).collect();
        Ok(row::rows(&group.question, &answer, &layers))
    })?;
    Ok(answered.into_iter().flatten().collect())
}

/// The first count of a run that `is_wanted`, and what is possible there; nothing if there is none. The disk was as large
/// as the workload, whose addresses are those of the trace.
///
/// # Errors
/// When the workload cannot be read, or the work was to stop.
pub fn of_run(
    row: &Row,
    case: &Case,
    known: &Known,
    is_wanted: impl Fn(&Count) -> bool,
    progress: &Progress,
) -> Result<Option<(Count, Answer)>> {
    let drive = case.drive.with_capacity(row.drive_blocks * u64::from(row.block_bytes))?;
    let Some(count) = counts(row, case.layer, &drive).into_iter().find(is_wanted) else { return Ok(None) };
    let addressing =
        Addressing { block_bytes: row.block_bytes, capacity: u64::MAX, beyond: Beyond::Error, stretched: None };
    let answer = count.question.answer(&requests(known, &addressing, progress)?)?;
    Ok(Some((count, answer)))
}

/// How requests of a workload became those of a layer. Where addresses are what the trace has, the capacity is none of
/// it.
fn addressing(plan: &Plan<'_>, workload: &Known, row: &Row) -> Addressing {
    let beyond = plan.chosen.options.beyond;
    let block_bytes = row.block_bytes;
    let stretched = plan.chosen.stretch.then(|| workload.range.range_bytes.div_ceil(block_bytes.into()));
    let is_as_traced = beyond == Beyond::Error && stretched.is_none();
    let capacity = if is_as_traced { u64::MAX } else { row.capacity_blocks };
    Addressing { block_bytes, capacity, beyond, stretched }
}

/// Adds what a layer counted to the others that have the same question.
fn add<'w>(groups: &mut Vec<Group<'w>>, workload: &'w Known, addressing: Addressing, row: &Row, count: Count) {
    let is_same = |group: &&mut Group<'_>| {
        let has_workload = std::ptr::eq(group.workload, workload);
        has_workload && group.question == count.question && group.addressing == addressing
    };
    match groups.iter_mut().find(is_same) {
        Some(group) => group.layers.push((row.clone(), count)),
        None => {
            let question = count.question.clone();
            groups.push(Group { workload, question, addressing, layers: vec![(row.clone(), count)] });
        }
    }
}
