//! Holds the simulator against numbers it had no part in: published seek curves, closed forms for what layers count,
//! and what DiskSim computed for the same requests on the same disks.
//!
//! A check is a [`Comparison`]; a table of rows is the answer to "why should I believe the times?". This is a checking
//! tool, so unlike the rest of the library it reads files, all of them in `disk_folder`. Tests of its parts show what fails;
//! that everything passes is a test of the program, which runs all of it.

mod band_rewrite;
mod cache_over_bands;
mod cleaning_forms;
mod disk_folder;
mod disksim;
mod drive_managed;
mod greedy_pages;
mod interlaced;
mod log_cleaning;
mod loop_of_writes;
mod queue_replay;
mod random_writes;
mod seek_curves;
mod watch;
mod writes;

use std::path::PathBuf;

use serde::Serialize;

pub use band_rewrite::band_rewrite;
pub use cache_over_bands::cache_over_bands;
pub use disksim::disksim;
pub use drive_managed::drive_managed;
pub use greedy_pages::greedy_pages;
pub use interlaced::interlaced;
pub use log_cleaning::log_cleaning;
pub use loop_of_writes::loop_of_writes;
pub use random_writes::random_writes;
pub use seek_curves::seek_curves;

use crate::replay::ReplayError;
use imbrex_core::mechanics::GeometryError;

/// One comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The disk or layer it is about.
    pub disk: String,
    /// What is compared.
    pub check: String,
    /// The reference, if there is one.
    pub expected: Option<f64>,
    /// What the simulator says, if it was asked.
    pub measured: Option<f64>,
    /// How far apart they are: the largest deviation where many values are compared, else the difference.
    pub error: Option<f64>,
    /// Unit of the three numbers.
    pub unit: &'static str,
    /// Whether that is good enough.
    pub verdict: Verdict,
    /// The rule, and what the numbers leave out.
    pub note: String,
}

/// What a comparison says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The simulator is right.
    Pass,
    /// The simulator is wrong.
    Fail,
    /// The comparison was not made, or decides nothing, and why.
    Skipped(String),
}

/// What a comparison compares.
#[derive(Copy, Clone)]
struct Numbers {
    expected: f64,
    measured: f64,
}

impl Comparison {
    /// A comparison of two numbers that passes if they are at most `tolerance` apart.
    fn close(disk: &str, check: &str, numbers: Numbers, tolerance: f64, unit: &'static str) -> Self {
        let Numbers { expected, measured } = numbers;
        let error = (measured - expected).abs();
        Self {
            disk: disk.into(),
            check: check.into(),
            expected: Some(expected),
            measured: Some(measured),
            error: Some(error),
            unit,
            verdict: Verdict::of(error <= tolerance),
            note: if tolerance > 0.0 { format!("within {tolerance} {unit}") } else { "exact".into() },
        }
    }

    /// A comparison that passes if the measured number is at most `percent` percent of the expected one away from it.
    fn within_percent(disk: &str, check: &str, numbers: Numbers, percent: f64, unit: &'static str) -> Self {
        let row = Self::close(disk, check, numbers, percent / 100.0 * numbers.expected, unit);
        Self { note: format!("within {percent} %"), ..row }
    }

    /// A comparison that was not made.
    fn skipped(disk: &str, check: String, expected: Option<f64>, unit: &'static str, why: String) -> Self {
        let verdict = Verdict::Skipped(why);
        Self { disk: disk.into(), check, expected, measured: None, error: None, unit, verdict, note: String::new() }
    }
}

impl Verdict {
    const fn of(holds: bool) -> Self {
        if holds { Self::Pass } else { Self::Fail }
    }
}

/// Reference measurements that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// A file or folder cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of a table is wrong.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The table.
        path: PathBuf,
        /// The line, from 1 on.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A file or folder as a whole is wrong.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A trace cannot be replayed.
    #[error("{disk}, trace {run}: {source}")]
    Replay {
        /// The disk.
        disk: String,
        /// The trace.
        run: String,
        /// Why not.
        source: Box<ReplayError>,
    },
    /// The measured disk's geometry is impossible.
    #[error("{}: {source}", path.display())]
    Geometry {
        /// The folder of the disk.
        path: PathBuf,
        /// Which number.
        source: GeometryError,
    },
}
