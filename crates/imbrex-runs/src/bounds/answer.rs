//! Bounds and schedules for a workload.

use std::collections::BTreeSet;

use anyhow::Result;
use imbrex::block::{Access, Extent, Lba, Request};
use imbrex::replay::Addressing;
use imbrex::trace::TraceSource;
use imbrex_bounds::logs::{self, Log};
use imbrex_bounds::{Accesses, caches, schedule, tracks, zones};
use imbrex_terminal::progress::Progress;

use super::question::Question;
use crate::workload::Known;

/// Open bands that a log is tried with.
pub const OPEN_BANDS: [u32; 4] = [1, 2, 6, 16];

/// Requests read at a time.
const BATCH: usize = 4096;

/// What is known about the requests of a workload and a question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What no layer can beat.
    pub least: u64,
    /// What schedules reach that know all requests, with their names.
    pub schedules: Vec<(String, u64)>,
}

impl Answer {
    /// The best of the schedules.
    #[must_use]
    pub fn reached(&self) -> Option<u64> {
        self.schedules.iter().map(|(_, count)| *count).min()
    }
}

/// The requests of a workload as a layer gets them.
///
/// # Errors
/// When it cannot be read, or a request lies beyond the layer's capacity.
pub fn requests(workload: &Known, addressing: &Addressing, progress: &Progress) -> Result<Vec<Request>> {
    let mut source = workload.open(progress)?;
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            return Ok(requests);
        }
        for traced in &batch {
            requests.push(addressing.request(traced, requests.len() as u64 + 1)?);
        }
    }
}

impl Question {
    /// The answer for these requests.
    ///
    /// # Errors
    /// When there are too many of them.
    pub fn answer(&self, requests: &[Request]) -> Result<Answer> {
        match self {
            Self::Zones { zone_blocks, room } => {
                let zone = u64::from(*zone_blocks);
                rewrites(requests, *room, |lba| (lba.0 / zone) as u32)
            }
            Self::Bands { starts, room } => {
                rewrites(requests, *room, |lba| (starts.partition_point(|start| *start <= lba.0) - 1) as u32)
            }
            Self::Misses { room } => {
                let accesses = Accesses::of(&extents(requests, |access| access != Access::Trim))?;
                let misses = accesses.len() as u64 - caches::most_hits(&accesses, *room);
                Ok(Answer { least: misses, schedules: vec![("MIN".to_owned(), misses)] })
            }
            Self::Moved(log) => {
                let writes = writes(requests)?;
                let each = |open_bands| {
                    let moved = logs::moved(&writes, &Log { open_bands, ..*log });
                    moved.map(|moved| (format!("offline, {open_bands} open"), moved))
                };
                Ok(Answer { least: 0, schedules: OPEN_BANDS.into_iter().filter_map(each).collect() })
            }
            Self::Updates(disk) => {
                let writes = writes(requests)?;
                let reached = tracks::updates(&writes, disk);
                let schedules = vec![("offline, fixed places".to_owned(), reached)];
                Ok(Answer { least: tracks::least_updates(&writes, disk), schedules })
            }
        }
    }
}

/// Rewrites of units behind a buffer. Units that are trimmed somewhere do not count: they may have been emptied.
fn rewrites(requests: &[Request], room: u64, unit_of: impl Fn(Lba) -> u32) -> Result<Answer> {
    let writes = writes(requests)?;
    let mut trimmed = BTreeSet::new();
    for at in extents(requests, |access| access == Access::Trim) {
        trimmed.extend(unit_of(at.start)..=unit_of(Lba(at.end().0 - 1)));
    }
    let units = writes.units(|lba| Some(unit_of(lba)).filter(|unit| !trimmed.contains(unit)));
    let least = zones::least_rewrites(&writes, &units, room);
    let reached = schedule::rewrites(&writes, &units, room);
    Ok(Answer { least, schedules: vec![("offline".to_owned(), reached)] })
}

fn writes(requests: &[Request]) -> Result<Accesses> {
    Ok(Accesses::of(&extents(requests, |access| access == Access::Write))?)
}

fn extents(requests: &[Request], is_meant: impl Fn(Access) -> bool) -> Vec<Extent<Lba>> {
    requests.iter().filter(|request| is_meant(request.access)).map(|request| request.at).collect()
}
