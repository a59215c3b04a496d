//! Which bound holds for a layer, and what the layer counted of that.

use imbrex::bands::Bands;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers::below::BelowConfig;
use imbrex::layers::{Family, LayerInfo};
use imbrex::plan::{Unit, Why};
use imbrex::replay::Outcome;
use imbrex_bounds::logs::Log;
use imbrex_bounds::tracks::Allocated;

use crate::row::Row;

/// What is bounded, and everything but the requests that it depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// Rewrites of zones of so many blocks behind so many blocks of other space.
    Zones {
        /// Blocks of a zone.
        zone_blocks: u32,
        /// Blocks of the other space.
        room: u64,
    },
    /// The same for bands, which begin at these blocks.
    Bands {
        /// The first block of each band.
        starts: Vec<u64>,
        /// Blocks of the other space.
        room: u64,
    },
    /// Misses of a cache of so many blocks.
    Misses {
        /// Blocks of the cache.
        room: u64,
    },
    /// Blocks that compaction moves.
    Moved(Log),
    /// Updates of bottom tracks, where blocks have fixed places.
    Updates(Allocated),
}

impl Question {
    /// What is counted, as results have it.
    #[must_use]
    pub fn counted(&self) -> &'static str {
        match self {
            Self::Zones { .. } => "zone_rewrites",
            Self::Bands { .. } => "band_rewrites",
            Self::Misses { .. } => "missed_blocks",
            Self::Moved(_) => "moved_blocks",
            Self::Updates(_) => "bottom_track_updates",
        }
    }

    /// Blocks of the buffer or of the cache, or blocks that are not allocated.
    #[must_use]
    pub fn room(&self) -> u64 {
        match self {
            Self::Zones { room, .. } | Self::Bands { room, .. } | Self::Misses { room } => *room,
            Self::Moved(log) => (u64::from(log.bands) * u64::from(log.band_blocks)).saturating_sub(log.capacity),
            Self::Updates(disk) => disk.tracks.interlaced_blocks().saturating_sub(disk.blocks),
        }
    }
}

/// What a layer answers to a question.
#[derive(Clone, Debug)]
pub struct Count {
    /// The question.
    pub question: Question,
    /// How many the layer had.
    pub count: u64,
    /// Whether the lower bound holds for the layer; otherwise it is there to compare.
    pub is_bounded: bool,
}

/// Buffers of single blocks before zones, of `--buffer` blocks.
const BUFFERS: [&str; 6] = ["fifo-log", "loop-back", "block-lru", "hashed-zones", "amphisbaena", "zone-ages"];
/// Caches on flash.
const CACHES: [&str; 5] = ["lru-cache", "pore", "sac", "static-sets", "band-cache"];
/// Layers on interlaced tracks whose blocks have fixed places, and others.
const FIXED: [&str; 2] = ["seagate", "seagate-two-phase"];
const MOVING: [&str; 4] = ["track-flipping", "track-caching", "track-mapping", "tracklace"];

/// Whether something is known about what the layer might reach.
#[must_use]
pub fn is_known(layer: &LayerInfo) -> bool {
    let others = ["in-place", "dm-zoned", "skylight"];
    let is_named = |names: &[&str]| names.contains(&layer.name);
    is_named(&BUFFERS)
        || is_named(&CACHES)
        || is_named(&FIXED)
        || is_named(&MOVING)
        || is_named(&others)
        || is_log(layer)
}

/// Whether a layer is a log over bands.
fn is_log(layer: &LayerInfo) -> bool {
    layer.family == Some(Family::Banded)
        && layer.name != "skylight"
        && imbrex::layers::ALL.iter().any(|own| own.name == layer.name)
}

/// What the run of `layer` on `drive`, which is full, says to the questions that it can be asked.
#[must_use]
pub fn counts(row: &Row, layer: &LayerInfo, drive: &DrivePreset) -> Vec<Count> {
    let outcome = &row.outcome;
    let bounded = |question, count| Count { question, count, is_bounded: true };
    let name = layer.name;
    let all = if BUFFERS.contains(&name) {
        vec![zones(drive, row.buffer_blocks).map(|question| bounded(question, outcome.rmw))]
    } else if name == "in-place" {
        vec![in_place(drive, 0, &row.config).map(|question| bounded(question, outcome.rmw))]
    } else if name == "dm-zoned" {
        let room = u64::from(row.conventional_zones.unwrap_or(0)) * u64::from(row.zone_blocks.unwrap_or(0));
        vec![zones(drive, room).map(|question| bounded(question, outcome.rmw + outcome.rmw_free))]
    } else if name == "skylight" {
        vec![skylight(drive, 0, &row.config, outcome)]
    } else if CACHES.contains(&name) {
        let accesses = outcome.host_read_blocks + outcome.host_write_blocks;
        let missed = accesses - outcome.write_hit_blocks - outcome.read_hit_blocks;
        vec![Some(bounded(Question::Misses { room: row.buffer_blocks }, missed)), behind(row, layer, drive)]
    } else if is_log(layer) {
        let moved = outcome.media_write_blocks.get(Why::Migrate);
        vec![log(row).map(|question| bounded(question, moved))]
    } else {
        let is_bounded =
            FIXED.contains(&name) && row.config.get("valid").is_none_or(|valid| valid.as_str() == Some("allocated"));
        let question = tracks(row, drive).filter(|_| FIXED.contains(&name) || MOVING.contains(&name));
        vec![question.map(|question| Count { question, count: outcome.rmw, is_bounded })]
    };
    all.into_iter().flatten().collect()
}

fn zones(drive: &DrivePreset, room: u64) -> Option<Question> {
    let MediaSpec::Zoned { zone_blocks, .. } = drive.media else { return None };
    Some(Question::Zones { zone_blocks, room })
}

/// Zones without a buffer, or with what is gathered in RAM for one of them.
fn in_place(drive: &DrivePreset, room: u64, config: &toml::Table) -> Option<Question> {
    let MediaSpec::Zoned { zone_blocks, .. } = drive.media else { return None };
    let gathers = config.get("gather").is_some_and(|gather| gather.as_str() == Some("zone"));
    zones(drive, room + u64::from(if gathers { zone_blocks } else { 0 }))
}

/// Bands behind the cache of a drive. Streams go past it, band by band and without a rewrite: where that happened the
/// bound does not hold.
fn skylight(drive: &DrivePreset, room: u64, config: &toml::Table, outcome: &Outcome) -> Option<Count> {
    let MediaSpec::Banded { cache_blocks, bands } = &drive.media else { return None };
    let cache = config.get("cache_blocks").and_then(toml::Value::as_integer).unwrap_or(0) as u64;
    let cache = if cache == 0 { u64::from(*cache_blocks) } else { cache };
    let has_scratch = config.get("scratch").and_then(toml::Value::as_bool).unwrap_or(true);
    let bands = Bands::new(Unit::disk(0), 0, bands);
    let scratch = bands.longest().filter(|_| has_scratch);
    let (mut starts, mut start) = (Vec::new(), 0);
    for band in (0..bands.count()).filter(|band| Some(*band) != scratch) {
        starts.push(start);
        start += u64::from(bands.extent(band).blocks);
    }
    let question = Question::Bands { starts, room: room + cache };
    (outcome.direct_blocks == 0).then_some(Count { question, count: outcome.rmw, is_bounded: true })
}

/// Rewrites on the disk behind a cache: what the disk has in front of its bands is room as well.
fn behind(row: &Row, layer: &LayerInfo, drive: &DrivePreset) -> Option<Count> {
    let below = BelowConfig::read(layer, &row.config).ok()?;
    let outcome = &row.outcome.devices.last()?.outcome;
    match below.disk_layer.as_str() {
        "in-place" => {
            let question = in_place(drive, row.buffer_blocks, &below.disk_config)?;
            Some(Count { question, count: outcome.rmw, is_bounded: true })
        }
        "skylight" => skylight(drive, row.buffer_blocks, &below.disk_config, outcome),
        _ => None,
    }
}

fn log(row: &Row) -> Option<Question> {
    let (band_blocks, conventional) = row.zone_blocks.zip(row.conventional_zones)?;
    let bands = (row.drive_blocks / u64::from(band_blocks)) as u32 - conventional;
    Some(Question::Moved(Log { bands, band_blocks, capacity: row.capacity_blocks, open_bands: 1 }))
}

fn tracks(row: &Row, drive: &DrivePreset) -> Option<Question> {
    let MediaSpec::Interlaced(tracks) = drive.media else { return None };
    Some(Question::Updates(Allocated { tracks, blocks: row.capacity_blocks }))
}
