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

use anyhow::Result;
use imbrex::trace::Workload;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;

use super::claim::{Claim, Finding};
pub use arguments::ColdWeightArguments;
use claims::CLAIMS;
use measure::Measure;
pub use report::of as report;
use results::Results;
pub use runs::Extent;

/// The name on the command line.
pub const NAME: &str = "cold-weight";
const TITLE: &str = "Classifying Data to Reduce Long-Term Data Movement in Shingled Write Disks (ACM TOS 12(1), 2016)";

/// The volumes; each is a profile too.
pub fn volumes() -> Vec<&'static str> {
    paper::WORKLOADS.iter().map(|workload| workload.volume).collect()
}

/// The place of a volume among those of the paper.
pub fn place(volume: &str) -> usize {
    paper::WORKLOADS.iter().take_while(|workload| workload.volume != volume).count()
}

/// The runs on `workloads`, each with its place in the paper. What comes before one is shuffled with the seed.
pub fn replay(workloads: &[(usize, Workload)], seed: u64, extent: &Extent<'_>) -> Result<Results> {
    runs::all(workloads, seed, extent)
}

/// Fills the folder with the data of the tables and figures, and with the figures.
pub fn write(results: &Results, folder: &NewFolder) -> Result<()> {
    folder.write("runs.csv", &csv(&results.ends().map(|end| &end.row).collect::<Vec<_>>())?)?;
    folder.write("tables.csv", &csv(&tables::lines(results, NAME))?)?;
    if !results.beyond().is_empty() {
        folder.write("beyond.csv", &csv(&beyond::lines(results))?)?;
    }
    figures::write(results, folder)
}

/// Every claim beside what was measured.
pub fn findings(results: &Results) -> Vec<Finding> {
    let finding = |claim: &Claim<Measure>| {
        let replayed = results.replayed(&claim.measure.scope());
        claim.finding(NAME, claim.measure.of(results), replayed)
    };
    CLAIMS.iter().map(finding).collect()
}
