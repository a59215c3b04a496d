//! How far what is recommended is from what is possible, where that is known.

use anyhow::Result;
use imbrex_runs::bounds::{Answer, Count, of_run};
use imbrex_runs::workload::Known;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::table::count;
use serde::Serialize;

use crate::trial::Point;

/// What a layer rewrote, and what no layer can do without that has as much room.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bound {
    /// What is counted, as in the rows of `imbrex bound`.
    pub counted: &'static str,
    /// How many the layer had.
    pub count: u64,
    /// How many every layer has.
    pub least: u64,
}

impl Bound {
    /// That of a point whose layer rewrites zones or bands; nothing where nothing is known, or of several workloads.
    ///
    /// # Errors
    /// When the workload cannot be read, or the work was to stop.
    pub fn of(point: &Point<'_>, known: &[Known]) -> Result<Option<Self>> {
        let ([known], [row]) = (known, point.rows.as_slice()) else { return Ok(None) };
        let is_rewritten = |count: &Count| {
            count.is_bounded
                && count.count > 0
                && ["zone_rewrites", "band_rewrites"].contains(&count.question.counted())
        };
        let progress = Progress::new("bounding", known.range.requests);
        let of_run = of_run(row, &point.trial.case(), known, is_rewritten, &progress)?;
        let own = of_run.map(|(own, Answer { least, .. })| (own, least));
        // That a layer does with none says nothing.
        let own = own.filter(|(_, least)| *least > 0);
        Ok(own.map(|(own, least)| Self { counted: own.question.counted(), count: own.count, least }))
    }

    /// It in a sentence about a layer.
    pub fn shown(&self, layer: &str) -> String {
        let what = self.counted.split('_').next().unwrap_or_default();
        format!(
            "{layer} rewrites {} {what}s here; no layer with as much room does with fewer than {}.",
            count(self.count),
            count(self.least)
        )
    }
}
