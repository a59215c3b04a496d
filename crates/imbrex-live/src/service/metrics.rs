//! The same numbers for Prometheus.

use std::fmt::Error;
use std::time::Duration;

use hdrhistogram::Histogram;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{Service, Status};
use crate::engine::Kind;

/// The upper bounds of a histogram's buckets: from 16 microseconds on, each four times the one before.
const BUCKETS: u32 = 11;
const FIRST_BUCKET: Duration = Duration::from_micros(16);

/// What is told when somebody asks.
#[derive(Debug)]
struct Scrape {
    status: Status,
    /// For each kind: all requests, and those beside cleaning.
    latencies: Vec<(Kind, Histogram<u64>, Histogram<u64>)>,
}

impl Service {
    /// Every metric as text.
    #[must_use]
    pub fn metrics(&self) -> String {
        let latencies = Kind::ALL.into_iter().map(|kind| {
            let (all, beside) = self.engine().latencies(kind);
            (kind, all, beside)
        });
        let scrape = Scrape { status: self.status(), latencies: latencies.collect() };
        let mut registry = Registry::with_prefix("imbrex");
        registry.register_collector(Box::new(scrape));
        let mut text = String::new();
        // A String takes whatever is written to it.
        let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
        text
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        self.traffic(&mut encoder)?;
        self.runners(&mut encoder)?;
        self.cleaning(&mut encoder)?;
        self.requests(&mut encoder)
    }
}

impl Scrape {
    fn traffic(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let Status { traffic, .. } = &self.status;
        counter(encoder, "host_read_bytes", "Bytes that clients read", traffic.host_read)?;
        counter(encoder, "host_written_bytes", "Bytes that clients wrote", traffic.host_written)?;
        counter(encoder, "media_read_bytes", "Bytes read from the drives", traffic.media_read)?;
        counter(encoder, "media_written_bytes", "Bytes written to the drives", traffic.media_written)?;
        counter(encoder, "media_resets", "Units emptied", traffic.resets)?;
        counter(encoder, "media_flushes", "Flushes of drives", traffic.flushes)?;
        counter(encoder, "media_failures", "Operations of drives that failed", traffic.failures)?;
        counter(encoder, "commits", "Journal entries made durable", self.status.commits)?;
        counter(encoder, "checkpoints", "Checkpoints completed", self.status.checkpoints)?;
        counter(encoder, "lives_ended", "Lives of the layer that a failed operation ended", self.status.lives_ended)?;
        let events = self.status.events.iter().map(|(name, count)| (name.clone(), *count));
        family(encoder, "events", "What layers count", MetricType::Counter, ("event", events))?;
        let moved = self.status.moved_blocks.iter().map(|(name, blocks)| (name.clone(), *blocks));
        family(encoder, "moved_blocks", "Blocks that plans moved", MetricType::Counter, ("why", moved))
    }

    fn runners(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let status = &self.status;
        gauge(encoder, "capacity_bytes", "Bytes that clients see", status.capacity_bytes)?;
        gauge(encoder, "serving", "1 unless the volume cannot be used any more", u64::from(status.dead.is_none()))?;
        if let Some(bytes) = status.resident_bytes {
            gauge(encoder, "resident_bytes", "Memory that the server has in use", bytes)?;
        }
        gauge(encoder, "units_read_only", "Units that can only be read", status.units_read_only)?;
        gauge(encoder, "units_lost", "Units that are lost", status.units_lost)?;
        let runners = || (0..).zip(&status.runners).map(|(number, runner): (u32, _)| (number.to_string(), runner));
        let block = u64::from(status.block_bytes);
        let used = runners().map(|(number, runner)| (number, runner.journal_used * block));
        let all = runners().map(|(number, runner)| (number, runner.journal_blocks * block));
        let taken = runners().filter_map(|(number, runner)| Some((number, runner.used_blocks? * block)));
        let space = runners().filter_map(|(number, runner)| Some((number, runner.space_blocks? * block)));
        let blocked = runners().map(|(number, runner)| (number, runner.blocked_writes));
        let is = MetricType::Gauge;
        family(encoder, "journal_used_bytes", "Journal that recovery would read", is, ("runner", used))?;
        family(encoder, "journal_bytes", "Length of the journal", is, ("runner", all))?;
        family(encoder, "used_bytes", "Taken of the space that is filled and cleaned", is, ("runner", taken))?;
        family(encoder, "space_bytes", "The space that is filled and cleaned", is, ("runner", space))?;
        family(encoder, "blocked_writes", "Writes that wait for room or their turn", is, ("runner", blocked))
    }

    fn cleaning(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let cleaning = &self.status.cleaning;
        counter(encoder, "cleaning_steps", "Steps of cleaning that have ended", cleaning.steps)?;
        counter(encoder, "cleaning_steps_over_limit", "Steps that took longer than they may", cleaning.over_limit)?;
        let states = ["when-idle", "paused", "now"].map(|state| (state.to_owned(), u64::from(cleaning.state == state)));
        let states = ("state", states.into_iter());
        family(encoder, "cleaning_state", "1 for what is done about cleaning", MetricType::Gauge, states)?;
        gauge(encoder, "cleaning_throttle_percent", "How much of the time it may take", u64::from(cleaning.throttle))?;
        if let Some(blocks) = cleaning.bound_blocks {
            let bytes = u64::from(blocks) * u64::from(self.status.block_bytes);
            gauge(encoder, "cleaning_step_bound_bytes", "What the next step may move to end in time", bytes)?;
        }
        if let Some(limit) = cleaning.limit_ms {
            seconds(encoder, "cleaning_step_limit_seconds", "How long a step of cleaning may take", limit / 1e3)?;
        }
        seconds(encoder, "cleaning_longest_step_seconds", "The longest step of cleaning", cleaning.longest_ms / 1e3)
    }

    fn requests(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let (name, help) = ("request_seconds", "How long requests took");
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (kind, all, _) in &self.latencies {
            histogram(&mut metric.encode_family(&[("kind", kind.name())])?, all)?;
        }
        let (name, help) = ("request_beside_cleaning_seconds", "How long requests took while cleaning was under way");
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (kind, _, beside) in &self.latencies {
            histogram(&mut metric.encode_family(&[("kind", kind.name())])?, beside)?;
        }
        Ok(())
    }
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> Result<(), Error> {
    ConstCounter::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> Result<(), Error> {
    seconds(encoder, name, help, value as f64)
}

fn seconds(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> Result<(), Error> {
    ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

/// A metric with a label, which the first of each pair is the value of.
fn family(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    (label, values): (&str, impl Iterator<Item = (String, u64)>),
) -> Result<(), Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (of, value) in values {
        let labels = [(label, of.as_str())];
        let one = metric.encode_family(&labels)?;
        match kind {
            MetricType::Counter => ConstCounter::new(value).encode(one)?,
            _ => ConstGauge::new(value as f64).encode(one)?,
        }
    }
    Ok(())
}

fn histogram(metric: &mut prometheus_client::encoding::MetricEncoder<'_>, times: &Histogram<u64>) -> Result<(), Error> {
    let bounds = (0..BUCKETS).map(|bucket| FIRST_BUCKET.as_nanos() as u64 * 4_u64.pow(bucket));
    let (mut buckets, mut below, mut counted) = (Vec::new(), 0, 0);
    for bound in bounds {
        let count = times.count_between(below, bound);
        buckets.push((bound as f64 / 1e9, count));
        // A bound lies within a bin, all of which has been counted.
        (below, counted) = (times.highest_equivalent(bound) + 1, counted + count);
    }
    buckets.push((f64::INFINITY, times.len().saturating_sub(counted)));
    let sum = times.mean() * times.len() as f64 / 1e9;
    metric.encode_histogram::<NoLabelSet>(sum, times.len(), &buckets, None)
}
