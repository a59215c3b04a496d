//! What a trace is like.

use std::num::NonZeroU64;

use anyhow::{Result, anyhow};
use imbrex::buffer_size::BufferSize;
use imbrex::trace::profiles::Figures;
use imbrex::trace::statistics::{Collection, StatisticsOptions, TraceStatistics};
use imbrex::trace::{TraceSource, Workload};
use imbrex_terminal::progress::Progress;
use serde::Serialize;

use crate::workload::Watched;

/// The version of [`TraceReport`].
const SCHEMA: &str = "imbrex.trace-stat/1";

/// One trace.
#[derive(Serialize)]
pub struct TraceReport {
    schema: &'static str,
    /// The trace file as it was named, or the name of the workload.
    pub trace: String,
    /// The name of its format.
    pub trace_format: String,
    /// Whether no disk ever saw these requests.
    pub synthetic: bool,
    /// The seed of a synthetic workload.
    pub seed: Option<u64>,
    /// The volume whose requests these are, where the trace names volumes.
    pub volume: Option<String>,
    /// What is published of the volume that a profile is like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Figures>,
    /// The buffer that update periods are set against.
    pub buffer: BufferSize,
    /// What was measured.
    #[serde(flatten)]
    pub statistics: TraceStatistics,
}

impl TraceReport {
    /// Pieces of work that one takes: reading the trace, and simulating caches on it.
    pub const PIECES: usize = 2;

    /// What the first `requests` of a workload are like; that takes [`TraceReport::PIECES`] of the work that `progress`
    /// shows.
    ///
    /// # Errors
    /// What is wrong with the trace; or that the work was to stop.
    pub fn of(
        workload: &Workload,
        requests: Option<NonZeroU64>,
        mut options: StatisticsOptions,
        progress: &Progress,
    ) -> Result<Self> {
        let mut source = Watched::new(workload, requests, progress)?;
        let info = source.info().clone();
        options.caches.sort_by(f64::total_cmp);
        options.caches.dedup();
        let collection = Collection::of(&mut source)?;
        source.tell();
        let total = collection.cache_requests(&options) as f64;
        let (mut piece, mut done) = (progress.piece(), 0);
        let statistics = collection.statistics(&options, &mut |requests| {
            done += requests;
            piece.reach(done as f64 / total);
            if progress.is_stopped() { Err(anyhow!("stopped")) } else { Ok(()) }
        })?;
        Ok(Self {
            schema: SCHEMA,
            synthetic: info.is_synthetic(),
            trace: info.name,
            trace_format: info.format.to_string(),
            seed: workload.seed(),
            volume: source.volume(),
            published: published(workload),
            buffer: options.buffer,
            statistics,
        })
    }
}

/// The published figures of a profile's volume.
fn published(workload: &Workload) -> Option<Figures> {
    match workload {
        Workload::Profile(profile) => Some(profile.published),
        _ => None,
    }
}
