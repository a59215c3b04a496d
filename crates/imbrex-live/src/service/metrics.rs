//! The numbers of the status, for Prometheus.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::exposition::{Bucket, Exposition, Family, MetricKind, Times};
use super::{Service, ServiceStatus, Status};
use crate::engine;
use crate::record::RecordingState;

/// The upper bounds of a histogram's buckets: from 16 microseconds on, each four times the one before.
const BUCKETS: u32 = 11;
const FIRST_BUCKET: Duration = Duration::from_micros(16);

impl Service {
    /// Every metric as text.
    #[must_use]
    pub fn metrics(&self) -> String {
        let (mut told, status) = (Exposition::default(), self.status());
        traffic(&mut told, &status);
        volume(&mut told, &status);
        runners(&mut told, &status);
        cleaning(&mut told, &status);
        growth(&mut told, &status);
        checksums(&mut told, &status);
        recording(&mut told, &status);
        services(&mut told, &status);
        self.requests(&mut told);
        told.into_text()
    }

    fn requests(&self, told: &mut Exposition) {
        let latencies: Vec<_> =
            engine::RequestKind::ALL.into_iter().map(|kind| (kind.name(), self.engine().latencies(kind))).collect();
        let histogram = |name, help| Family { name, help, kind: MetricKind::Histogram, label: "kind" };
        let family = histogram("request_seconds", "How long requests took");
        told.histograms(&family, latencies.iter().map(|(kind, (all, _))| (*kind, times(all))));
        let family =
            histogram("request_beside_cleaning_seconds", "How long requests took while cleaning was under way");
        told.histograms(&family, latencies.iter().map(|(kind, (_, beside))| (*kind, times(beside))));
    }
}

fn traffic(told: &mut Exposition, status: &Status) {
    let traffic = &status.traffic;
    told.counter("host_read_bytes", "Bytes that clients read", traffic.host_read);
    told.counter("host_written_bytes", "Bytes that clients wrote", traffic.host_written);
    told.counter("media_read_bytes", "Bytes read from the drives", traffic.media_read);
    told.counter("media_written_bytes", "Bytes written to the drives", traffic.media_written);
    told.counter("media_resets", "Units emptied", traffic.resets);
    told.counter("media_flushes", "Flushes of drives", traffic.flushes);
    told.counter("media_failures", "Operations of drives that failed", traffic.failures);
    told.counter("commits", "Journal entries made durable", status.commits);
    told.counter("checkpoints", "Checkpoints completed", status.checkpoints);
    told.counter("epochs_ended", "Epochs of the layer that a failed operation ended", status.epochs_ended);
    told.labelled(&counter("events", "What layers count", "event"), status.events.clone());
    told.labelled(&counter("moved_blocks", "Blocks that plans moved", "why"), status.moved_blocks.clone());
}

fn volume(told: &mut Exposition, status: &Status) {
    told.gauge("capacity_bytes", "Bytes that clients see", status.capacity_bytes);
    told.gauge("serving", "1 unless the volume cannot be used any more", u64::from(status.dead.is_none()));
    if let Some(bytes) = status.resident_bytes {
        told.gauge("resident_bytes", "Memory that the server has in use", bytes);
    }
    if let Some(memory) = &status.memory {
        told.gauge("memory_bound_bytes", "Memory that the server takes at most", memory.most_bytes);
    }
    told.gauge("units_read_only", "Units that can only be read", status.units_read_only);
    told.gauge("units_lost", "Units that are lost", status.units_lost);
    if let Some(zones) = status.zones {
        let states =
            [("conventional", zones.conventional), ("sequential", zones.sequential), ("inactive", zones.inactive)];
        let states = states.into_iter().map(|(state, count)| (state.to_owned(), count));
        told.labelled(&gauge("zones", "Zones of hybrid drives", "state"), states);
    }
}

fn runners(told: &mut Exposition, status: &Status) {
    let runners = || (0..).zip(&status.runners).map(|(number, runner): (u32, _)| (number.to_string(), runner));
    let block = u64::from(status.block_bytes);
    let used = runners().map(|(number, runner)| (number, runner.journal_used * block));
    let all = runners().map(|(number, runner)| (number, runner.journal_blocks * block));
    let taken = runners().filter_map(|(number, runner)| Some((number, runner.used_blocks? * block)));
    let space = runners().filter_map(|(number, runner)| Some((number, runner.space_blocks? * block)));
    let dirty = runners().filter_map(|(number, runner)| Some((number, runner.dirty_blocks? * block)));
    let blocked = runners().map(|(number, runner)| (number, runner.blocked_writes));
    told.labelled(&gauge("journal_used_bytes", "Journal that recovery would read", "runner"), used);
    told.labelled(&gauge("journal_bytes", "Length of the journal", "runner"), all);
    told.labelled(&gauge("used_bytes", "Taken of the space that is filled and cleaned", "runner"), taken);
    told.labelled(&gauge("space_bytes", "The space that is filled and cleaned", "runner"), space);
    told.labelled(&gauge("dirty_bytes", "Newer in a cache than on the disk behind it", "runner"), dirty);
    told.labelled(&gauge("blocked_writes", "Writes that wait for room or their turn", "runner"), blocked);
}

fn cleaning(told: &mut Exposition, status: &Status) {
    let cleaning = &status.cleaning;
    told.counter("cleaning_steps", "Steps of cleaning that have ended", cleaning.steps);
    told.counter("cleaning_steps_over_limit", "Steps that took longer than they may", cleaning.over_limit);
    let states = ["when-idle", "paused", "now"].map(|state| (state.to_owned(), u64::from(cleaning.state == state)));
    told.labelled(&gauge("cleaning_state", "1 for what is done about cleaning", "state"), states);
    let throttle = f64::from(cleaning.throttle) / 100.0;
    told.gauge("cleaning_throttle_ratio", "The part of the time that it may take", throttle);
    if let Some(blocks) = cleaning.bound_blocks {
        let bytes = u64::from(blocks) * u64::from(status.block_bytes);
        told.gauge("cleaning_step_bound_bytes", "What the next step may move to end in time", bytes);
    }
    if let Some(limit) = cleaning.limit_ms {
        told.gauge("cleaning_step_limit_seconds", "How long a step of cleaning may take", limit / 1e3);
    }
    told.gauge("cleaning_longest_step_seconds", "The longest step of cleaning", cleaning.longest_ms / 1e3);
    let Some(pacing) = &cleaning.pacing else { return };
    let bytes = |blocks: u64| blocks * u64::from(status.block_bytes);
    told.gauge("room_bytes", "Room for writes before one has to wait", bytes(pacing.room_blocks));
    told.gauge("wanted_room_bytes", "Room below which is cleaned while clients write", bytes(pacing.wanted_blocks));
    told.counter("writes_held_back", "Writes that were throttled so that the room lasts", pacing.held_back);
    told.gauge("longest_hold_seconds", "The longest time that one was throttled", pacing.longest_ms / 1e3);
}

fn growth(told: &mut Exposition, status: &Status) {
    let Some(growth) = &status.growth else { return };
    told.gauge("growth_capacity_bytes", "Bytes that clients see when all is there", growth.capacity_bytes);
    told.gauge("growth_zones_left", "Zones that make room for it and have not yet", growth.zones_left);
    if let Some(bound_ms) = growth.bound_ms {
        told.gauge("growth_bound_seconds", "By how much a step of it delays a request at most", bound_ms / 1e3);
    }
}

fn checksums(told: &mut Exposition, status: &Status) {
    if let Some(sums) = &status.checksums {
        told.counter("checksum_verified_blocks", "Blocks read that have a checksum", sums.verified_blocks);
        told.counter("checksum_damaged_blocks", "Blocks read that did not match their checksum", sums.damaged_blocks);
        told.gauge("checksum_marked_regions", "Regions to sum anew after a power cut", sums.regions_marked);
    }
    let Some(scrub) = &status.scrub else { return };
    let damaged = scrub.damaged.iter().flatten().map(|run| run.blocks).sum::<u64>();
    told.gauge("scrub_running", "1 while everything with a checksum is read", u64::from(scrub.state == "running"));
    told.gauge("scrub_done_ratio", "How far that is", scrub.done_blocks as f64 / scrub.of_blocks.max(1) as f64);
    told.gauge("scrub_damaged_blocks", "Logical blocks that the last scrub found damaged", damaged);
}

fn recording(told: &mut Exposition, status: &Status) {
    let Some(recording) = &status.recording else { return };
    told.gauge("recording", "1 while requests are recorded", u64::from(recording.state == RecordingState::Recording));
    // This goes down when a file cannot be completed, so it is no counter.
    told.gauge("recorded_requests", "Requests in the files of the recording", recording.requests);
    told.counter("recording_lost_requests", "Requests that are missing in the recording", recording.lost);
    told.counter("recording_bytes", "Bytes of its complete files", recording.bytes);
}

fn services(told: &mut Exposition, status: &Status) {
    let of = |number: fn(&ServiceStatus) -> u64| {
        status.services.iter().map(move |(name, service)| (name.clone(), number(service)))
    };
    let restarts = counter("service_restarts", "How often what tells about the volume had failed", "service");
    told.labelled(&restarts, of(|service| service.restarts));
    let refused = counter("service_refused_connections", "Connections ended without an answer", "service");
    told.labelled(&refused, of(|service| service.refused));
}

/// A counter with a label.
fn counter<'a>(name: &'a str, help: &'a str, label: &'a str) -> Family<'a> {
    Family { name, help, kind: MetricKind::Counter, label }
}

/// A gauge with a label.
fn gauge<'a>(name: &'a str, help: &'a str, label: &'a str) -> Family<'a> {
    Family { name, help, kind: MetricKind::Gauge, label }
}

/// A histogram in nanoseconds as buckets that each count the shorter ones too.
fn times(times: &Histogram<u64>) -> Times {
    let bounds = (0..BUCKETS).map(|bucket| FIRST_BUCKET.as_nanos() as u64 * 4_u64.pow(bucket));
    let (mut buckets, mut below, mut counted) = (Vec::new(), 0, 0);
    for bound in bounds {
        counted += times.count_between(below, bound);
        buckets.push(Bucket { bound: bound as f64 / 1e9, count: counted });
        // A bound lies within a bin, all of which has been counted.
        below = times.highest_equivalent(bound) + 1;
    }
    Times { sum: times.mean() * times.len() as f64 / 1e9, count: times.len(), buckets }
}
