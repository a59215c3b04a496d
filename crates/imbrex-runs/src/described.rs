//! What the library writes into a row, as far as a schema describes it. A test holds it against rows.

#![expect(dead_code, reason = "a schema is made of these, and never a value")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use imbrex::plan::Why;
use imbrex::replay::{MAX_QUEUE_DEPTH, MAX_SCHEDULER_DEPTH, QUANTILES};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use crate::setup::{BeyondArgument, SchedulerArgument};

/// What a reader mended, and what it left out
#[derive(JsonSchema)]
pub struct Irregularities {
    /// Requests stamped earlier than their predecessor; they arrive together with it
    out_of_order: u64,
    /// Requests of no bytes; left out
    zero_size: u64,
    /// Commands that neither read nor write; left out
    without_data: u64,
    /// Requests that the file holds later than their time; put in order
    reordered: u64,
    /// Requests of volumes other than the one that is read; left out
    other_volumes: u64,
    /// Requests of a dense workload for blocks that are never written; left out
    unwritten: u64,
}

/// How the workload was replayed
#[derive(JsonSchema)]
pub struct Options {
    /// Requests outstanding at a time in a closed loop; null if they arrive when the trace says
    #[schemars(range(min = 1, max = MAX_QUEUE_DEPTH))]
    queue_depth: Option<u32>,
    /// Whether requests of a closed loop kept the trace's pauses
    #[schemars(skip_serializing_if = "Option::is_none")]
    paced: Option<bool>,
    /// Reads and writes that took longer than this many nanoseconds were counted
    limit_ns: u64,
    /// The order in which the disk performed the operations in its queue
    scheduler: SchedulerArgument,
    /// Operations in that queue at most
    #[schemars(range(min = 1, max = MAX_SCHEDULER_DEPTH))]
    scheduler_depth: u32,
    /// The part of the capacity that was written before the first request
    #[schemars(range(min = 0.0, max = 1.0))]
    prefill: f64,
    /// The part of the capacity that was trimmed after that
    #[schemars(range(min = 0.0, max = 1.0))]
    trimmed: f64,
    /// The beginning of the trace that the figures leave out
    warm_up: Option<Moment>,
    /// Whether the layer was offered idle time
    idle: bool,
    /// How long the disk must have been idle before that, in nanoseconds
    idle_after_ns: u64,
    /// Whether every read was compared with what was written
    verify: bool,
    /// Requests between two checks of the layer's invariants, when verifying
    check_every: u64,
    /// Whether the journal that a live device writes was priced
    as_live: bool,
    /// Blocks of each copy of that journal; null if it was what the layer needs
    journal_blocks: Option<u32>,
    /// Records that gather before they are written to it
    gather: u64,
    /// Bytes of memory that the map had
    #[schemars(skip_serializing_if = "Option::is_none")]
    map_memory: Option<u64>,
    /// Whether what was left in RAM was written at the end, and counted
    flush: bool,
    /// Whether the layer had idle time after the last request
    #[schemars(skip_serializing_if = "Option::is_none")]
    rest: Option<bool>,
    /// Whether accesses took no time
    untimed: bool,
    /// Whether the layer could read its map ahead of time
    prefetch: bool,
    /// What was to happen to requests beyond the capacity
    beyond: BeyondArgument,
    /// The range of addresses that was stretched over the capacity, in bytes
    stretch_bytes: Option<u64>,
    /// The length of a row of the series
    window: Option<Moment>,
    /// When what lies where was looked at, beside the end
    bands: Option<Vec<Moment>>,
    /// Space that was asked for
    extend: Vec<Extension>,
}

/// A number of requests, or of nanoseconds
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Moment {
    /// Requests
    Requests(u64),
    /// Nanoseconds
    Ns(u64),
}

/// Space that a layer is asked for
#[derive(JsonSchema)]
struct Extension {
    /// How many bytes
    bytes: u64,
    /// When
    at: Moment,
}

/// What was measured
#[derive(JsonSchema)]
pub struct Outcome {
    /// Requests served
    requests: u64,
    /// Reads served
    read_requests: u64,
    /// Writes served
    write_requests: u64,
    /// Trims served
    trim_requests: u64,
    /// Blocks that the host read
    host_read_blocks: u64,
    /// Blocks that the host wrote
    host_write_blocks: u64,
    /// Bytes that the host read, as the trace has them
    host_read_bytes: u64,
    /// Bytes that the host wrote, as the trace has them
    host_write_bytes: u64,
    /// Blocks read from the media, by reason
    media_read_blocks: ByReason,
    /// Blocks written to the media, by reason
    media_write_blocks: ByReason,
    /// Blocks written to the media for each that the host wrote
    write_amplification: f64,
    /// Time from arrival to completion, in milliseconds
    latency_ms: LatencyMs,
    /// Reads and writes that took longer than the limit
    requests_over_limit: u64,
    /// Written blocks that updated a buffered block
    write_hit_blocks: u64,
    /// Written blocks that updated a buffered block, of all written blocks
    write_hit_ratio: f64,
    /// Writes all of whose blocks updated buffered blocks, of all writes
    write_hit_ratio_requests: f64,
    /// Blocks read from the buffer
    read_hit_blocks: u64,
    /// Zones that were read, merged and rewritten
    rmw: u64,
    /// Zones that took buffered blocks by appending
    rmw_free: u64,
    /// Blocks that left the buffer for their native place
    evicted_blocks: u64,
    /// Blocks written past the buffer to where they belong
    direct_blocks: u64,
    /// Blocks let into a buffer that lets others pass
    admitted_blocks: u64,
    /// What the layer counts of its own, by name
    #[schemars(skip_serializing_if = "Option::is_none")]
    counters: Option<BTreeMap<String, u64>>,
    /// Blocks of padding
    padding_blocks: u64,
    /// Blocks of padding that were written again
    padding_again_blocks: u64,
    /// Zones, bands or erase blocks emptied
    resets: u64,
    /// Cleaning that a write waited for
    blocked_cleaning: CleaningTime,
    /// Cleaning in idle time
    idle_cleaning: CleaningTime,
    /// Simulated time to the last completion, in seconds
    simulated_seconds: f64,
    /// Simulated time to the last arrival, in seconds; null in a closed loop
    arrival_seconds: Option<f64>,
    /// The part of that time in which the disk was busy
    disk_busy_ratio: f64,
    /// How long after the last completion nothing was left to clean, in seconds
    #[schemars(skip_serializing_if = "Option::is_none")]
    rest_seconds: Option<f64>,
    /// Cylinders that the head travelled
    seek_cylinders: u64,
    /// What the bands hold at the end
    #[schemars(skip_serializing_if = "Option::is_none")]
    bands: Option<BandSums>,
    /// What the tracks of an interlaced disk hold at the end
    #[schemars(skip_serializing_if = "Option::is_none")]
    tracks: Option<TrackSums>,
    /// Where the blocks of all zones lie at the end
    #[schemars(skip_serializing_if = "Option::is_none")]
    zones: Option<ZoneSums>,
    /// What a map in bounded memory cost
    #[schemars(skip_serializing_if = "Option::is_none")]
    map: Option<MapPages>,
    /// What became of space that was asked for
    #[schemars(skip_serializing_if = "Option::is_none")]
    growth: Option<Growth>,
    /// The devices of a stack, in the order of their numbers
    #[schemars(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<Below>>,
    /// Wall-clock time of the replay, in seconds
    replay_seconds: f64,
    /// Blocks of the host that were replayed in a second of it
    blocks_per_second: f64,
}

/// Blocks by the reason for which they moved
struct ByReason;

impl JsonSchema for ByReason {
    fn schema_name() -> Cow<'static, str> {
        "ByReason".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let blocks = u64::json_schema(generator).to_value();
        let properties: Map<String, Value> = Why::ALL.iter().map(|why| (why.name().into(), blocks.clone())).collect();
        let names: Vec<_> = Why::ALL.iter().map(|why| why.name()).collect();
        json_schema!({ "type": "object", "properties": properties, "required": names })
    }
}

/// Latencies of all requests, and of reads and writes alone
#[derive(JsonSchema)]
struct LatencyMs {
    #[schemars(flatten)]
    all: Latency,
    /// Latencies of reads
    read: Latency,
    /// Latencies of writes
    write: Latency,
}

/// A distribution of latency in milliseconds
#[derive(JsonSchema)]
struct Latency {
    /// The mean
    mean: f64,
    /// The median
    p50: f64,
    /// The 95th percentile
    p95: f64,
    /// The 99th percentile
    p99: f64,
    /// The 99.9th percentile
    p999: f64,
    /// The longest
    max: f64,
    /// At parts of all requests, for a picture of the distribution
    quantiles: [f64; QUANTILES.len()],
}

/// Cleaning of one kind
#[derive(JsonSchema)]
struct CleaningTime {
    /// How often it began
    episodes: u64,
    /// Steps in all
    steps: u64,
    /// How long all steps took, in nanoseconds
    total_ns: u64,
}

/// What all bands hold together
#[derive(JsonSchema)]
struct BandSums {
    /// Bands that there are
    bands: u64,
    /// Bands on which nothing is written
    empty: u64,
    /// Bands with hot, cold and free blocks; null where no heat is kept
    mixed: Option<u64>,
    /// Blocks not written since their band was last reset
    unwritten_blocks: u64,
    /// Blocks written of which no logical block lies there
    dead_blocks: u64,
    /// Logical blocks that lie there
    live_blocks: u64,
    /// Live blocks overwritten since they were last moved; null where no heat is kept
    hot_blocks: Option<u64>,
}

/// What all tracks of an interlaced disk hold together
#[derive(JsonSchema)]
struct TrackSums {
    /// Bottom tracks
    bottom: SideSums,
    /// Top tracks
    top: SideSums,
}

/// What the tracks of a kind hold together
#[derive(JsonSchema)]
struct SideSums {
    /// Tracks that there are
    tracks: u64,
    /// Logical blocks that are at home there
    home_blocks: u64,
    /// Homes whose content is needed no more
    stale_blocks: u64,
    /// Logical blocks that are buffered there
    buffered_blocks: u64,
    /// Logical blocks that were exchanged with others and lie there now
    swapped_blocks: u64,
    /// Blocks that are not allocated
    free_blocks: u64,
}

/// Where the blocks of all zones lie together
#[derive(JsonSchema)]
struct ZoneSums {
    /// Zones that there are
    zones: u64,
    /// Blocks whose newest content lies in a buffer
    buffered_blocks: u64,
    /// Blocks that lie at home
    home_blocks: u64,
    /// Blocks that were never written
    unwritten_blocks: u64,
}

/// What a map in bounded memory cost
#[derive(JsonSchema)]
struct MapPages {
    /// Bytes of pages that could be in memory
    memory_bytes: u64,
    /// Bytes of all pages that the map may have
    map_bytes: u64,
    /// How often a page was needed
    lookups: u64,
    /// Pages that were read
    read_pages: u64,
    /// Pages that were written
    written_pages: u64,
}

/// What became of space that was asked for
#[derive(JsonSchema)]
struct Growth {
    /// Blocks that the host sees more than before
    gained_blocks: u64,
    /// Zones whose space was made into others
    converted_zones: u64,
    /// When it was asked for first, in seconds of simulated time
    begun_s: f64,
    /// How long space that had been asked for was missing
    seconds: f64,
    /// Steps that were not interrupted
    steps: u64,
    /// How long all of them took, in seconds
    step_seconds: f64,
    /// How long the longest took, in milliseconds
    longest_step_ms: f64,
    /// Requests that came during a step
    delayed_requests: u64,
    /// The longest that one of these waited for its end, in milliseconds
    longest_delay_ms: f64,
}

/// What a device of a stack did
#[derive(JsonSchema)]
struct Below {
    /// The layer on its drive
    layer: String,
    /// What was measured there
    outcome: Outcome,
}
