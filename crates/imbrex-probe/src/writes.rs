//! What writes to random places tell: whether they go there, and whether others have to be rewritten for them.

use imbrex::random::Random;
use serde::Serialize;

use crate::course::{Course, quantile};
use crate::disk::{Disk, ProbeError};

/// Writes at random places.
const RANDOM: u64 = 400;

/// What writes to random places take.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct Writes {
    /// The mean, in ms.
    pub mean_ms: f64,
    /// The median, in ms.
    pub median_ms: f64,
    /// What one in ten takes at most, in ms.
    pub fast_ms: f64,
    /// What one in four takes longer than, in ms.
    pub slow_ms: f64,
}

/// Times writes to random places of the first seven eighths.
pub(crate) fn look(disk: &mut dyn Disk, random: &mut Random, course: &mut Course<'_>) -> Result<Writes, ProbeError> {
    let room = disk.facts().blocks() / 8 * 7;
    let mut times = Vec::new();
    for turn in 0..RANDOM {
        times.push(disk.write(random.below(room), 1)?);
        course.reach(turn as f64 / RANDOM as f64)?;
    }
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
    let [fast, median, slow] = [0.1, 0.5, 0.75].map(|share| quantile(&mut times, share) as f64 / 1e6);
    Ok(Writes { mean_ms: mean / 1e6, median_ms: median, fast_ms: fast, slow_ms: slow })
}
