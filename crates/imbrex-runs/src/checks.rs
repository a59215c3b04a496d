//! Times and counts against numbers that the simulator had no part in.

use std::path::Path;

use anyhow::{Result, bail};
use imbrex::validate::{self, Comparison, Verdict};
use imbrex_terminal::progress::Progress;
use serde::Serialize;

use crate::parallel;

/// The version of [`Check`].
const SCHEMA: &str = "imbrex.check/1";

/// What can be checked without files, in the order in which it is shown.
const GROUPS: [fn() -> Result<Vec<Comparison>>; 9] = [
    || Ok(validate::seek_curves()?),
    || Ok(validate::drive_managed()?),
    || Ok(validate::band_rewrite()?),
    || Ok(validate::random_writes()?),
    || Ok(validate::interlaced()?),
    || Ok(validate::log_cleaning()?),
    || Ok(validate::greedy_pages()?),
    || Ok(validate::loop_of_writes()?),
    || Ok(validate::cache_over_bands()?),
];

/// A comparison with its verdict in a word.
#[derive(Serialize)]
pub struct Check {
    schema: &'static str,
    /// What was checked.
    pub disk: String,
    /// In what respect.
    pub check: String,
    /// What was expected.
    pub expected: Option<f64>,
    /// What was measured.
    pub measured: Option<f64>,
    /// How far that is apart.
    pub error: Option<f64>,
    /// The unit of these numbers.
    pub unit: &'static str,
    /// `pass`, `fail` or `skipped`.
    pub verdict: &'static str,
    /// The rule by which it was decided, or why nothing was checked.
    pub note: String,
}

impl Check {
    /// Pieces of work that all of them take.
    pub const PIECES: usize = GROUPS.len();

    /// All of them, with those against DiskSim's measurements if their folder is named. They are
    /// [`Check::PIECES`] of the work that `progress` shows.
    ///
    /// # Errors
    /// What is wrong with the measurements, or with a drive or layer that is checked; a check that fails is none.
    pub fn all(disksim: Option<&Path>, progress: &Progress) -> Result<Vec<Self>> {
        let of_disksim = disksim.map(validate::disksim).transpose()?;
        let groups = parallel::each(parallel::cores(), &GROUPS, |group| {
            if progress.is_stopped() {
                bail!("stopped");
            }
            let rows = group()?;
            progress.piece().reach(1.0);
            Ok(rows)
        })?;
        let rows = groups.into_iter().flatten().chain(of_disksim.into_iter().flatten());
        Ok(rows.map(Self::from).collect())
    }
}

impl From<Comparison> for Check {
    fn from(row: Comparison) -> Self {
        let Comparison { disk, check, expected, measured, error, unit, verdict, note } = row;
        let (verdict, note) = match verdict {
            Verdict::Pass => ("pass", note),
            Verdict::Fail => ("fail", note),
            Verdict::Skipped(why) => ("skipped", why),
        };
        Self { schema: SCHEMA, disk, check, expected, measured, error, unit, verdict, note }
    }
}
