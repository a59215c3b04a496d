//! How far what is recommended is from what is possible, where that is known.

use anyhow::Result;
use imbrex::replay::{Addressing, Beyond};
use imbrex_runs::bounds::{counts, requests};
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
        let drive = point.trial.disk.drive.with_capacity(row.drive_blocks * u64::from(row.block_bytes))?;
        let all = counts(row, point.trial.layer, &drive);
        let is_rewrites = |counted: &str| ["zone_rewrites", "band_rewrites"].contains(&counted);
        let own = all.into_iter().find(|own| own.is_bounded && is_rewrites(own.question.counted()));
        let Some(own) = own.filter(|own| own.count > 0) else { return Ok(None) };
        let addressing =
            Addressing { block_bytes: row.block_bytes, capacity: u64::MAX, beyond: Beyond::Error, stretched: None };
        let progress = Progress::new("bounding", known.range.requests);
        let least = own.question.answer(&requests(known, &addressing, &progress)?)?.least;
        // That a layer does with none says nothing.
        Ok((least > 0).then(|| Self { counted: own.question.counted(), count: own.count, least }))
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
