//! Cold-weight: band compaction that leaves hot blocks to die. ACM TOS 12(1), 2016.
//!
//! Its evaluation, Tables II to VI and figures 2 to 11, and what the text says of them.

mod arguments;
mod beyond;
mod claims;
mod figures;
mod measure;
mod paper;
mod report;
mod results;
mod runs;
mod tables;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;

use anyhow::Result;
use imbrex::trace::Workload;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;

use super::claim::{Claim, Finding};
pub use arguments::ColdWeightArguments;
use claims::CLAIMS;
use measure::Measure;
use results::Results;

/// The name on the command line.
pub const NAME: &str = "cold-weight";
const TITLE: &str = "Classifying Data to Reduce Long-Term Data Movement in Shingled Write Disks (ACM TOS 12(1), 2016)";

/// The volumes; each is a profile too.
pub fn volumes() -> Vec<&'static str> {
    paper::WORKLOADS.iter().map(|workload| workload.volume).collect()
}

/// Every run on the first `requests` of `workloads`, `jobs` at a time.
pub fn replay(
    workloads: &[Workload],
    requests: Option<NonZeroU64>,
    arguments: &ColdWeightArguments,
    jobs: usize,
) -> Result<Results> {
    runs::all(workloads, requests, &arguments.levels(), &arguments.drive()?, arguments.beyond, jobs)
}

/// Fills the folder; the claims beside what was measured, and the report.
pub fn write(results: &Results, folder: &NewFolder) -> Result<(Vec<Finding>, String)> {
    let findings = findings(results);
    let cells = results.cells().iter().chain(results.beyond());
    folder.write("runs.csv", &csv(&cells.map(|cell| &cell.row).collect::<Vec<_>>())?)?;
    folder.write("tables.csv", &csv(&tables::lines(results, NAME))?)?;
    if !results.beyond().is_empty() {
        folder.write("beyond.csv", &csv(&beyond::lines(results))?)?;
    }
    figures::write(results, folder)?;
    let text = report::shown(results, &findings);
    Ok((findings, text))
}

fn findings(results: &Results) -> Vec<Finding> {
    let finding = |claim: &Claim<Measure>| {
        let replayed = results.replayed(&claim.measure.scope());
        claim.finding(NAME, claim.measure.of(results), replayed)
    };
    CLAIMS.iter().map(finding).collect()
}
