//! What a replay measured, as it is written into results.

use hdrhistogram::Histogram;
use serde::Serialize;
use serde::ser::SerializeMap;

use super::metrics::{Cleaning, Latencies, Served, Totals};
use super::sums::{BandSums, TrackSums, ZoneSums};
use imbrex_core::contents::Contents;
use imbrex_core::event::Counted;
use imbrex_core::plan::{Event, Why};

/// A layer keeps up with its arrivals if it is late at their end by no more than this part of the time they took,
const LATE_PART: f64 = 0.1;
/// or by no more than this: as long as it takes to clean a few zones of 256 MiB, which may happen just then.
const LATE_SECONDS: f64 = 10.0;

/// What a replay measured. Prefilling, reading back after verification, and what was complete when the warm-up ended
/// are not in it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// Requests served.
    pub requests: u64,
    /// Reads served.
    pub read_requests: u64,
    /// Writes served.
    pub write_requests: u64,
    /// Trims served.
    pub trim_requests: u64,
    /// Blocks the host read; a block touched by a single byte counts.
    pub host_read_blocks: u64,
    /// Blocks the host wrote; a block touched by a single byte counts.
    pub host_write_blocks: u64,
    /// Bytes the host read, as the trace has them.
    pub host_read_bytes: u64,
    /// Bytes the host wrote, as the trace has them.
    pub host_write_bytes: u64,
    /// Blocks read from the media.
    pub media_read_blocks: ByReason,
    /// Blocks written to the media.
    pub media_write_blocks: ByReason,
    /// Blocks written to the media, padding and metadata included, for each block the host wrote.
    pub write_amplification: f64,
    /// Time from arrival to completion.
    pub latency_ms: LatencyMs,
    /// Reads and writes that took longer than the limit of the options.
    pub requests_over_limit: u64,
    /// Written blocks that updated a buffered block.
    pub write_hit_blocks: u64,
    /// Written blocks that updated a buffered block, of all written blocks.
    pub write_hit_ratio: f64,
    /// Writes all of whose blocks updated buffered blocks, of all writes.
    pub write_hit_ratio_requests: f64,
    /// Blocks read from the buffer.
    pub read_hit_blocks: u64,
    /// Zones that were read, merged and rewritten.
    pub rmw: u64,
    /// Zones that took buffered blocks by appending.
    pub rmw_free: u64,
    /// Blocks that left the buffer for their native place.
    pub evicted_blocks: u64,
    /// Blocks written straight to their zone's write pointer.
    pub direct_blocks: u64,
    /// Blocks of a write that a buffer let in which lets others pass; 0 where it lets in everything.
    pub admitted_blocks: u64,
    /// What the layer's own counters came to.
    #[serde(skip_serializing_if = "Counted::is_empty")]
    pub counters: Counted,
    /// Padding written.
    pub padding_blocks: u64,
    /// Padding that was written again, with the zone it lies in.
    pub padding_again_blocks: u64,
    /// Zones, bands or blocks emptied.
    pub resets: u64,
    /// Cleaning that a blocked write waited for.
    pub blocked_cleaning: CleaningTime,
    /// Cleaning in idle time.
    pub idle_cleaning: CleaningTime,
    /// Simulated time from 0, or from the end of the warm-up, to the last completion.
    pub simulated_seconds: f64,
    /// Simulated time from 0, or from the end of the warm-up, to the last arrival; none where requests do not arrive by
    /// themselves, as in a closed loop.
    pub arrival_seconds: Option<f64>,
    /// The part of that time in which the disk, or the busiest device of a stack, was busy.
    pub disk_busy_ratio: f64,
    /// How long after the last completion nothing was left to clean, if the layer had idle time then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_seconds: Option<f64>,
    /// How many cylinders the head has travelled, or the heads of all disks of a stack; on an interlaced disk a cylinder
    /// is a track.
    pub seek_cylinders: u64,
    /// Wall-clock time of the replay, prefilling and warm-up left out; 0 if it was not measured.
    pub replay_seconds: f64,
    /// Host blocks replayed in each second of it.
    pub blocks_per_second: f64,
    /// What the bands hold at the end, if they were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<BandSums>,
    /// What the tracks of an interlaced disk hold at the end, if they were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracks: Option<TrackSums>,
    /// Where the blocks of the zones lie at the end, if these were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZoneSums>,
    /// What a map in bounded memory cost, if it was not all in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<MapOutcome>,
    /// What became of space that was asked for, if some was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthOutcome>,
    /// The devices of a stack, in the order of their numbers. What is said of media above are the sums over them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Below>,
}

/// What a map in bounded memory cost.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MapOutcome {
    /// Bytes of pages that may be in memory.
    pub memory_bytes: u64,
    /// Bytes of all pages that the map may have.
    pub map_bytes: u64,
    /// How often a page was needed.
    pub lookups: u64,
    /// Pages that were read because they were not in memory.
    pub read_pages: u64,
    /// Pages that were written because they had been changed and left memory.
    pub written_pages: u64,
}

/// What became of space that was asked for during a replay.
#[derive(Copy, Clone, PartialEq, Default, Debug, Serialize)]
pub struct GrowthOutcome {
    /// Blocks that the host sees more than before.
    pub gained_blocks: u64,
    /// Zones whose space was made into others.
    pub converted_zones: u64,
    /// When space was asked for first, in seconds of simulated time.
    pub begun_s: f64,
    /// How long space that had been asked for was missing.
    pub seconds: f64,
    /// Steps that were not interrupted.
    pub steps: u64,
    /// How long all of them took, in seconds.
    pub step_seconds: f64,
    /// How long the longest of them took, in milliseconds.
    pub longest_step_ms: f64,
    /// Requests that arrived during a step.
    pub delayed_requests: u64,
    /// The longest that one of these waited for its end, in milliseconds.
    pub longest_delay_ms: f64,
}

/// What a device of a stack did: its layer's requests are what the layer above read and wrote.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Below {
    /// The layer on its drive.
    pub layer: String,
    /// What was measured there.
    pub outcome: Outcome,
}

/// Latency from arrival to completion; trims touch no media and are left out.
#[derive(Copy, Clone, PartialEq, Default, Debug, Serialize)]
pub struct LatencyMs {
    /// Over all reads and writes.
    #[serde(flatten)]
    pub all: Latency,
    /// Over all reads.
    pub read: Latency,
    /// Over all writes.
    pub write: Latency,
}

/// A distribution of latency in milliseconds. Mean and maximum are exact, percentiles to three digits.
#[derive(Copy, Clone, PartialEq, Default, Debug, Serialize)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The longest.
    pub max: f64,
    /// At each of [`QUANTILES`], for a picture of the whole distribution.
    pub quantiles: [f64; QUANTILES.len()],
}

/// The parts of all requests whose latencies a distribution is told at.
pub const QUANTILES: [f64; 24] = [
    0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99,
    0.995, 0.998, 0.999, 0.9999,
];

/// Cleaning of one kind.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct CleaningTime {
    /// How often it began.
    pub episodes: u64,
    /// Steps in all.
    pub steps: u64,
    /// How long all steps took.
    pub total_ns: u64,
}

/// Blocks by the reason for which they moved; serialised as a map in the order of [`Why::ALL`].
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct ByReason([u64; Why::ALL.len()]);

/// How long the measured part of a replay took on the simulated clock.
#[derive(Copy, Clone)]
pub(super) struct Times {
    /// In all.
    pub measured_ns: u64,
    /// How long the disk was busy.
    pub busy_ns: u64,
}

impl Outcome {
    pub(super) fn new(
        totals: &Totals,
        latencies: &Latencies,
        blocked: &Cleaning,
        idle: &Cleaning,
        times: Times,
        devices: Vec<Below>,
    ) -> Self {
        let (media, host) = (&totals.media, &totals.host);
        let media_write_blocks = ByReason(media.written);
        Self {
            requests: host.requests(),
            read_requests: host.read.requests,
            write_requests: host.write.requests,
            trim_requests: host.trim.requests,
            host_read_blocks: host.read.blocks,
            host_write_blocks: host.write.blocks,
            host_read_bytes: host.read.bytes,
            host_write_bytes: host.write.bytes,
            media_read_blocks: ByReason(media.read),
            media_write_blocks,
            write_amplification: ratio(media_write_blocks.total(), host.write.blocks),
            latency_ms: LatencyMs::new(latencies, &host.read, &host.write),
            requests_over_limit: host.read.over_limit + host.write.over_limit,
            write_hit_blocks: media.event(Event::WriteHit),
            write_hit_ratio: ratio(media.event(Event::WriteHit), host.write.blocks),
            write_hit_ratio_requests: ratio(host.write_hit_requests, host.write.requests),
            read_hit_blocks: media.event(Event::ReadHit),
            rmw: media.event(Event::Rmw),
            rmw_free: media.event(Event::RmwFree),
            evicted_blocks: media.event(Event::Evicted),
            direct_blocks: media.event(Event::Direct),
            admitted_blocks: media.event(Event::Admitted),
            counters: Counted::default(),
            padding_blocks: media_write_blocks.get(Why::Pad),
            padding_again_blocks: media.padding_again,
            resets: media.resets,
            blocked_cleaning: CleaningTime::new(blocked),
            idle_cleaning: CleaningTime::new(idle),
            simulated_seconds: times.measured_ns as f64 / 1e9,
            arrival_seconds: None,
            rest_seconds: None,
            // What a device of a stack did with the idle time before the first request that is measured is known, and
            // counted, only when that request asks something of it.
            disk_busy_ratio: ratio(times.busy_ns.min(times.measured_ns), times.measured_ns),
            seek_cylinders: 0,
            replay_seconds: 0.0,
            blocks_per_second: 0.0,
            bands: None,
            tracks: None,
            zones: None,
            map: None,
            growth: None,
            devices,
        }
    }

    /// How many times as long as requests arrived it took to serve them, if the layer cannot keep up with them: if it
    /// was late by more than a tenth of that time and by more than 10 s. Its latencies then say how long the workload
    /// is, and little about the layer.
    #[must_use]
    pub fn falls_behind(&self) -> Option<f64> {
        let arrival = self.arrival_seconds.filter(|seconds| *seconds > 0.0)?;
        let late = self.simulated_seconds - arrival;
        (late > arrival * LATE_PART && late > LATE_SECONDS).then(|| self.simulated_seconds / arrival)
    }

    /// Adds what lies where at the end, if that was asked for.
    pub(super) fn looked_at(mut self, contents: Option<&Contents>) -> Self {
        match contents {
            Some(Contents::Bands(bands)) => self.bands = Some(BandSums::of(bands)),
            Some(Contents::Tracks(tracks)) => self.tracks = Some(TrackSums::of(tracks)),
            Some(Contents::Zones(zones)) => self.zones = Some(ZoneSums::of(zones)),
            None => {}
        }
        self
    }

    /// Adds how long the replay took on the wall's clock.
    #[must_use]
    pub fn timed(mut self, seconds: f64) -> Self {
        self.replay_seconds = seconds;
        let blocks = (self.host_read_blocks + self.host_write_blocks) as f64;
        self.blocks_per_second = if seconds > 0.0 { blocks / seconds } else { 0.0 };
        self
    }
}

impl LatencyMs {
    fn new(latencies: &Latencies, read: &Served, write: &Served) -> Self {
        let mut both = latencies.read.clone();
        both.add(&latencies.write).expect("the histograms have the same bounds");
        let sum = Served {
            requests: read.requests + write.requests,
            latency_ns: read.latency_ns + write.latency_ns,
            max_latency_ns: read.max_latency_ns.max(write.max_latency_ns),
            ..Served::default()
        };
        Self {
            all: Latency::new(&both, &sum),
            read: Latency::new(&latencies.read, read),
            write: Latency::new(&latencies.write, write),
        }
    }
}

impl Latency {
    fn new(histogram: &Histogram<u64>, served: &Served) -> Self {
        if served.requests == 0 {
            return Self::default();
        }
        let at = |percentile| histogram.value_at_percentile(percentile).min(served.max_latency_ns) as f64 / 1e6;
        Self {
            mean: served.latency_ns as f64 / served.requests as f64 / 1e6,
            p50: at(50.0),
            p95: at(95.0),
            p99: at(99.0),
            p999: at(99.9),
            max: served.max_latency_ns as f64 / 1e6,
            quantiles: QUANTILES.map(|part| at(part * 100.0)),
        }
    }
}

impl CleaningTime {
    fn new(cleaning: &Cleaning) -> Self {
        Self { episodes: cleaning.episodes, steps: cleaning.steps, total_ns: cleaning.ns }
    }
}

impl ByReason {
    /// Blocks that moved for this reason.
    #[must_use]
    pub fn get(&self, why: Why) -> u64 {
        self.0[why as usize]
    }

    /// Blocks that moved for any reason.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn between(from: &[u64; Why::ALL.len()], to: &[u64; Why::ALL.len()]) -> Self {
        Self(std::array::from_fn(|i| to[i] - from[i]))
    }
}

impl Serialize for ByReason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Why::ALL.len()))?;
        for why in Why::ALL {
            map.serialize_entry(why.name(), &self.get(why))?;
        }
        map.end()
    }
}

/// `part` of `whole`; 0 of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
