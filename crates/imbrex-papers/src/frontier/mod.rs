//! `imbrex reproduce frontier`: for each kind of disk what no layer can beat, the best of the papers' layers with the
//! settings that suit a workload best, and this project's layer with none.
//!
//! This is no paper: nobody claims anything, so there are rows and answers instead of claims. `tables` says what is
//! run, `measuring` runs it with the settings of the others that `imbrex_runs::search` finds, `line` is a
//! row as it is written, `answers` sums rows up, and `report` shows them.

mod answers;
mod arguments;
mod line;
mod measuring;
mod report;
mod tables;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;

use anyhow::Result;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;

use crate::report::Report;
pub use arguments::FrontierArguments;
pub use line::{Line, Tried};
pub use measuring::{Extent, frontier};
pub use report::of as report;

/// The name on the command line.
pub const NAME: &str = "frontier";
/// The file by which a folder of its results is known.
pub const LINES: &str = "frontier.csv";
const TRIED: &str = "search.csv";

/// Requests of each workload, where nobody says how many.
pub const REQUESTS: NonZeroU64 = NonZeroU64::new(100_000).unwrap();

/// The workloads of every table: profiles, of which some write in place and some in runs, and two that hold nothing to
/// be learned, or only how often each block is written.
pub const WORKLOADS: [&str; 10] =
    ["hm_0", "prn_0", "proj_0", "prxy_0", "src1_0", "src2_2", "stg_0", "usr_0", "zipf", "uniform"];

/// Fills the folder: the rows, what every other layer came to, and the report.
pub fn write(lines: &[Line], tried: &[Tried], report: &Report, folder: &NewFolder) -> Result<()> {
    folder.write(LINES, &csv(lines)?)?;
    folder.write(TRIED, &csv(tried)?)?;
    report.files(folder)
}
