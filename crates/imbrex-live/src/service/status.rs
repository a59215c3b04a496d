//! How a volume that is served stands, in numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use imbrex::layer::{Condition, Growth};
use imbrex::media::Media;
use serde::{Deserialize, Serialize};

use super::Service;
use super::latency::Latency;
use super::scrub::ScrubStatus;
use super::services::ServiceStatus;
use super::units::space_name;
use crate::carriers;
use crate::engine::{Cleaning, Engine, Pacing, RequestKind, Standing, Traffic};
use crate::record::{self, Recorder, RecordingStatus};
use crate::store::Summed;
use crate::volume::ServerMemory;

/// The version of [`Status`].
pub const SCHEMA: &str = "imbrex.status/1";

/// How a volume that is served stands. Numbers count from the start of the server unless they say otherwise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The version of this structure.
    pub schema: String,
    /// The layer that serves the host.
    pub layer: String,
    /// Bytes that clients see.
    pub capacity_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Whether clients may only read.
    pub read_only: bool,
    /// The TCP port at which clients are served, if it is one.
    #[serde(default)]
    pub port: Option<u16>,
    /// Clients that are connected.
    #[serde(default)]
    pub clients: u32,
    /// Why the volume cannot be used any more, if it cannot.
    pub dead: Option<String>,
    /// How old the numbers of the layers are, in milliseconds: nothing unless the server was too busy to look.
    #[serde(default)]
    pub age_ms: f64,
    /// How long it has been served.
    pub uptime_seconds: f64,
    /// Memory that the server has in use, where the kernel says.
    pub resident_bytes: Option<u64>,
    /// The memory that it takes at most, and what for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ServerMemory>,
    /// Bytes and operations.
    pub traffic: Traffic,
    /// Bytes written to the drives for each that clients wrote; nothing before they wrote any.
    pub write_amplification: Option<f64>,
    /// What layers count, by name; events that never happened are left out.
    pub events: BTreeMap<String, u64>,
    /// Blocks that plans moved, by reason; reasons that never came up are left out.
    pub moved_blocks: BTreeMap<String, u64>,
    /// The runners: the one that serves the host first, then those of its devices.
    pub runners: Vec<Runner>,
    /// Background cleaning.
    pub cleaning: CleaningStatus,
    /// What is left of a growth; nothing when all that was asked for is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthStatus>,
    /// How long requests took, by kind.
    pub latency: BTreeMap<String, Latency>,
    /// Journal entries made durable.
    pub commits: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Journal entries that recovery read.
    pub entries_read: u64,
    /// Images that recovery wrote again.
    pub images_replayed: u64,
    /// Epochs of the layer that a failed operation has ended.
    pub epochs_ended: u64,
    /// Units that can only be read, over all stores.
    pub units_read_only: u64,
    /// Units that are lost, over all stores.
    pub units_lost: u64,
    /// The zones of hybrid drives; nothing where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<Zones>,
    /// The checksums of data; nothing where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksums: Option<ChecksumStatus>,
    /// The scrub that is under way or was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubStatus>,
    /// How the recording of requests stands, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingStatus>,
    /// The services that tell about the volume, by name, of which there is something to say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, ServiceStatus>,
}

/// What has come of checksums, over all stores.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChecksumStatus {
    /// Blocks that were read and have a checksum, scrubs aside.
    pub verified_blocks: u64,
    /// How many of these did not match it: each was an I/O error.
    pub damaged_blocks: u64,
    /// Blocks that were being written when the volume was last served, without an orderly end, and were summed anew.
    pub resummed_blocks: u64,
    /// Regions that are marked as being written: those that would be summed anew after a power cut.
    pub regions_marked: u64,
    /// Sectors of checksums that are damaged: what they were of is not checked until it is written.
    pub lost_sums: u64,
}

/// How many zones of hybrid drives, over all stores, are what.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Zones {
    /// Written anywhere.
    pub conventional: u64,
    /// Written at a pointer.
    pub sequential: u64,
    /// Usable only when the other zones in their place are not.
    pub inactive: u64,
}

/// A growth that is under way.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GrowthStatus {
    /// Bytes that clients see when it is complete and they connect again.
    pub capacity_bytes: u64,
    /// Zones whose space has still to be made into something else.
    pub zones_left: u32,
    /// By how much a step of it delays a request at most, in milliseconds on a drive as the layer knows it, if it says
    /// so.
    pub bound_ms: Option<f64>,
}

/// How a runner stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Runner {
    /// Its layer.
    #[serde(default)]
    pub layer: String,
    /// What that calls the space that it fills and cleans: `buffer`, `cache`, `bands` or `erase blocks`.
    #[serde(default)]
    pub space: String,
    /// Blocks of the journal that recovery would read.
    pub journal_used: u64,
    /// Blocks of the journal.
    pub journal_blocks: u64,
    /// Blocks that are taken of the space that the layer fills and cleans, if it has any.
    pub used_blocks: Option<u64>,
    /// Blocks of that space.
    pub space_blocks: Option<u64>,
    /// Blocks that a cache holds newer than the disk behind it; nothing where there is no cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_blocks: Option<u64>,
    /// Writes that wait for room or for their turn.
    pub blocked_writes: u64,
}

/// Background cleaning.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CleaningStatus {
    /// `when-idle`, `paused` or `now`.
    pub state: String,
    /// How much of the time it may take, in per cent.
    pub throttle: u8,
    /// Steps that have ended, those for blocked writes included.
    pub steps: u64,
    /// How long one took on average, in milliseconds.
    pub mean_ms: f64,
    /// The longest one, in milliseconds.
    pub longest_ms: f64,
    /// How long one may take, in milliseconds, if that was said.
    pub limit_ms: Option<f64>,
    /// Steps that took longer.
    pub over_limit: u64,
    /// The most blocks that the next one may move so that it does not, if a layer's steps have a size.
    pub bound_blocks: Option<u32>,
    /// How writes are paced beside it, where the layer says how much room they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingStatus>,
}

/// How writes are paced so that they rarely wait for cleaning.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PacingStatus {
    /// Blocks that writes find room for before one has to wait.
    pub room_blocks: u64,
    /// Blocks of room below which cleaning begins while clients write.
    pub wanted_blocks: u64,
    /// The most room that is ever wanted.
    pub most_blocks: u64,
    /// Blocks of room that clients take in a second, at their fastest of late.
    pub taken_per_second: f64,
    /// Blocks that cleaning reads and writes in a second; nothing before it has.
    pub moved_per_second: Option<f64>,
    /// How long a write is throttled at most, in milliseconds.
    pub bound_ms: f64,
    /// How long one would wait that finds no room: for the rest of what is being cleaned, or the next.
    pub no_room_ms: Option<f64>,
    /// Writes that were throttled.
    pub held_back: u64,
    /// For how long, on average, in milliseconds.
    pub mean_ms: f64,
    /// For how long at most, in milliseconds.
    pub longest_ms: f64,
}

/// How a state of cleaning is called.
fn name(cleaning: Cleaning) -> &'static str {
    match cleaning {
        Cleaning::WhenIdle => "when-idle",
        Cleaning::Paused => "paused",
        Cleaning::Now => "now",
    }
}

impl Service {
    /// How the volume stands.
    #[must_use]
    pub fn status(&self) -> Status {
        let engine = self.engine();
        let (standing, age) = engine.standing();
        let Standing { progress, counts, dead, .. } = &standing;
        let traffic = engine.traffic();
        let (came, gone) = self.clients();
        let mut status = Status {
            schema: SCHEMA.to_owned(),
            layer: self.layers.first().cloned().unwrap_or_default(),
            capacity_bytes: self.bytes(),
            block_bytes: engine.block_bytes(),
            read_only: self.read_only(),
            port: self.port(),
            clients: came - gone,
            dead: dead.clone(),
            age_ms: ms(age),
            uptime_seconds: self.since.elapsed().as_secs_f64(),
            resident_bytes: resident_bytes(),
            memory: Some(memory(engine, self.recorder.is_some())),
            traffic,
            write_amplification: (traffic.host_written > 0)
                .then(|| traffic.media_written as f64 / traffic.host_written as f64),
            events: BTreeMap::new(),
            moved_blocks: BTreeMap::new(),
            runners: Vec::new(),
            cleaning: cleaning(engine, &standing),
            growth: progress.first().and_then(|top| top.growth).map(|growth| growing(&growth, engine.block_bytes())),
            latency: RequestKind::ALL
                .into_iter()
                .map(|kind| (kind.name().to_owned(), Latency::of(engine, kind)))
                .collect(),
            commits: counts.commits,
            checkpoints: counts.checkpoints,
            entries_read: counts.entries_read,
            images_replayed: counts.replayed,
            epochs_ended: counts.rebuilds,
            units_read_only: units(engine, Condition::ReadOnly),
            units_lost: units(engine, Condition::Offline),
            zones: zones(engine),
            checksums: checksums(engine),
            scrub: self.scrubber.status(),
            recording: self.recorder.as_ref().map(Recorder::status),
            services: self.services.status(),
        };
        for (runner, layer) in progress.iter().zip(&self.layers) {
            add(&mut status.events, runner.tally.events(runner.counters));
            add(&mut status.moved_blocks, runner.tally.moved().map(|(why, blocks)| (why.name(), blocks)));
            status.runners.push(Runner {
                layer: layer.clone(),
                space: space_name(layer).to_owned(),
                journal_used: runner.journal_used,
                journal_blocks: runner.journal_blocks,
                used_blocks: runner.occupancy.map(|occupancy| occupancy.used),
                space_blocks: runner.occupancy.map(|occupancy| occupancy.blocks),
                dirty_blocks: runner.dirty,
                blocked_writes: runner.blocked,
            });
        }
        status
    }
}

/// The memory that a server takes at most.
fn memory(engine: &Engine, records: bool) -> ServerMemory {
    let memory = engine.memory().clone().beside("front end", carriers::buffered());
    if records { memory.beside("recording", record::MEMORY) } else { memory }
}

/// Memory of this program that is not swapped out: the second number of its `statm`, in pages.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn add(sums: &mut BTreeMap<String, u64>, counts: impl Iterator<Item = (&'static str, u64)>) {
    for (name, count) in counts.filter(|(_, count)| *count > 0) {
        *sums.entry(name.to_owned()).or_default() += count;
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn cleaning(engine: &Engine, standing: &Standing) -> CleaningStatus {
    let times = standing.step_times;
    CleaningStatus {
        state: name(standing.cleaning).to_owned(),
        throttle: standing.throttle,
        steps: times.steps,
        mean_ms: if times.steps > 0 { ms(times.total) / times.steps as f64 } else { 0.0 },
        longest_ms: ms(times.longest),
        limit_ms: engine.step_limit().map(ms),
        over_limit: times.over_limit,
        bound_blocks: standing.step_bound,
        pacing: standing.pacing.as_ref().map(paced),
    }
}

fn paced(pacing: &Pacing) -> PacingStatus {
    let Pacing { outlook, held_back, .. } = pacing;
    PacingStatus {
        room_blocks: outlook.room,
        wanted_blocks: pacing.target,
        most_blocks: outlook.most,
        taken_per_second: pacing.demand,
        moved_per_second: pacing.speed,
        bound_ms: ms(pacing.most),
        no_room_ms: pacing.speed.map(|speed| outlook.work as f64 / speed * 1e3),
        held_back: held_back.writes,
        mean_ms: if held_back.writes > 0 { ms(held_back.total) / held_back.writes as f64 } else { 0.0 },
        longest_ms: ms(held_back.longest),
    }
}

fn growing(growth: &Growth, block_bytes: u32) -> GrowthStatus {
    GrowthStatus {
        capacity_bytes: growth.capacity * u64::from(block_bytes),
        zones_left: growth.zones_left,
        bound_ms: growth.bound_ns.map(|bound| bound as f64 / 1e6),
    }
}

fn checksums(engine: &Engine) -> Option<ChecksumStatus> {
    let counts = engine.members().iter().filter_map(|member| member.summed()).map(Summed::counts);
    counts.map(Some).fold(None, |sum: Option<ChecksumStatus>, counts| {
        let (sum, counts) = (sum.unwrap_or_default(), counts?);
        Some(ChecksumStatus {
            verified_blocks: sum.verified_blocks + counts.verified,
            damaged_blocks: sum.damaged_blocks + counts.damaged,
            resummed_blocks: sum.resummed_blocks + counts.resummed,
            regions_marked: sum.regions_marked + counts.regions_dirty,
            lost_sums: sum.lost_sums + counts.sums_lost,
        })
    })
}

/// Units in a condition, over all stores.
fn units(engine: &Engine, condition: Condition) -> u64 {
    engine.members().iter().map(|member| in_condition(member.media().as_ref(), condition)).sum()
}

fn in_condition(media: &dyn Media, condition: Condition) -> u64 {
    media.report().iter().filter(|unit| unit.condition == condition).count() as u64
}

fn zones(engine: &Engine) -> Option<Zones> {
    let media = engine.members().iter().map(|member| member.media());
    let hybrid: Vec<_> = media.filter(|media| media.realms().is_some()).collect();
    let sum = |condition| hybrid.iter().map(|media| in_condition(media.as_ref(), condition)).sum();
    (!hybrid.is_empty()).then(|| Zones {
        conventional: sum(Condition::Conventional),
        sequential: sum(Condition::Sequential),
        inactive: sum(Condition::Inactive),
    })
}
