//! A conventional disk of every size that a comparison has, so that each layer has one to be held against.
//!
//! How large a disk is may depend on its layer: one that keeps spare space for cleaning needs a larger disk for the same
//! workload. So which sizes there are is known when the layers have run.

use anyhow::Result;
use imbrex_runs::case::{Case, Fit};
use imbrex_runs::plan::Plan;
use imbrex_runs::row::Row;

/// The layer that others are held against.
pub const BASELINE: &str = "conventional";

/// Whether two runs can be held against each other.
pub fn is_same_disk(a: &Row, b: &Row) -> bool {
    (&a.trace, a.on_drive()) == (&b.trace, b.on_drive())
}

/// The conventional disks that the rows of a plan lack, each with the number of its workload. None if the comparison has
/// no conventional layer at all.
///
/// # Errors
/// When a drive cannot have the size that it had.
pub fn missing(plan: &Plan<'_>, rows: &[&Row]) -> Result<Vec<(usize, Case)>> {
    let mut missing: Vec<(usize, Case)> = Vec::new();
    let Some(baseline) = plan.cases.iter().find(|case| case.layer.name == BASELINE) else { return Ok(missing) };
    for (at, row) in rows.iter().enumerate() {
        let (workload, case) = (at / plan.cases.len(), &plan.cases[at % plan.cases.len()]);
        let has_one = |other: &&Row| other.layer == BASELINE && is_same_disk(other, row);
        if rows.iter().any(has_one) {
            continue;
        }
        let drive = case.drive.with_capacity(row.drive_blocks * u64::from(row.block_bytes))?;
        let is_known = |(at, other): &(usize, Case)| {
            *at == workload
                && (&other.drive.name, other.drive.media.capacity()) == (&drive.name, drive.media.capacity())
        };
        if !missing.iter().any(is_known) {
            missing.push((workload, Case { layer: baseline.layer, drive, fit: Fit::Given }));
        }
    }
    Ok(missing)
}

/// Puts runs on the same disk beside each other, its conventional layer first, and leaves out a conventional disk that no
/// layer is held against if others came in its place.
pub fn arranged<T>(mut runs: Vec<(Row, T)>, has_more: bool) -> Vec<(Row, T)> {
    let disk = |row: &Row| (row.trace.clone(), row.on_drive());
    let disks: Vec<_> = runs.iter().map(|(row, _)| disk(row)).collect();
    let is_alone = |row: &Row| disks.iter().filter(|other| **other == disk(row)).count() == 1;
    runs.retain(|(row, _)| !(has_more && row.layer == BASELINE && is_alone(row)));
    runs.sort_by_key(|(row, _)| (disks.iter().position(|other| *other == disk(row)), row.layer != BASELINE));
    runs
}
