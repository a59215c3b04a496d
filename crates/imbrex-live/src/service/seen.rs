//! A look that a server takes at itself, for events.

use super::Service;
use super::scrub::ScrubStatus;
use crate::engine::{Cleaning, Standing};
use crate::store::Summed;

/// What events are made of. Numbers only grow, unless they say otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Clients that came and went.
    pub came: u32,
    pub gone: u32,
    /// What is done about cleaning.
    pub cleaning: Cleaning,
    /// Its steps, and whether one is under way.
    pub steps: u64,
    pub is_cleaning: bool,
    /// Writes that were throttled.
    pub throttled: u64,
    /// Whether the volume is to grow, and how large it is.
    pub growing: bool,
    pub capacity_bytes: u64,
    pub scrub: Option<Scrub>,
    pub failures: u64,
    pub epochs_ended: u64,
    /// Blocks that were read and did not match their checksums.
    pub damaged_blocks: u64,
    pub is_host_full: bool,
    /// Why the volume cannot be used any more.
    pub dead: Option<String>,
}

/// The last scrub: when it began, and the damaged blocks that it found when it has ended.
#[derive(Copy, Clone, Debug)]
pub(super) struct Scrub {
    pub began_ms: u64,
    pub ended: Option<u64>,
}

impl Seen {
    /// How a service stands now.
    pub fn of(service: &Service) -> Self {
        let engine = service.engine();
        let (standing, _) = engine.standing();
        let Standing { progress, counts, dead, cleaning, step_times, is_cleaning, pacing, .. } = standing;
        let summed = engine.members().iter().filter_map(|member| member.summed()).map(Summed::counts);
        let (came, gone) = service.clients();
        Self {
            came,
            gone,
            cleaning,
            steps: step_times.steps,
            is_cleaning,
            throttled: pacing.map_or(0, |pacing| pacing.held_back.writes),
            growing: progress.first().is_some_and(|top| top.growth.is_some()),
            capacity_bytes: service.bytes(),
            scrub: service.scrubber.status().map(|status| Scrub::of(&status)),
            failures: engine.traffic().failures,
            epochs_ended: counts.rebuilds,
            damaged_blocks: summed.map(|counts| counts.damaged).sum(),
            is_host_full: engine.is_host_full(),
            dead,
        }
    }
}

impl Scrub {
    fn of(status: &ScrubStatus) -> Self {
        let logical: u64 = status.damaged.iter().flatten().map(|run| run.blocks).sum();
        let physical: u64 = status.unneeded.iter().map(|run| run.blocks).sum();
        Self { began_ms: status.began_at_ms, ended: status.ended_at_ms.map(|_| logical + physical) }
    }
}
