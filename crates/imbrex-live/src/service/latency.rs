//! How long requests took, in the status.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, RequestKind};

/// How long requests of a kind took.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// All of them.
    pub all: Times,
    /// The requests during which a step of cleaning was under way.
    pub beside_cleaning: Times,
}

/// Times, in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// The mean.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// One in a hundred is longer.
    pub p99_ms: f64,
    /// One in a thousand is longer.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

impl Latency {
    /// How long they took so far.
    pub(super) fn of(engine: &Engine, kind: RequestKind) -> Self {
        let (all, beside) = engine.latencies(kind);
        Self { all: Times::of(&all), beside_cleaning: Times::of(&beside) }
    }
}

impl Times {
    fn of(histogram: &Histogram<u64>) -> Self {
        let ms = |nanoseconds: f64| nanoseconds / 1e6;
        let quantile = |quantile| ms(histogram.value_at_quantile(quantile) as f64);
        Self {
            count: histogram.len(),
            mean_ms: ms(histogram.mean()),
            p50_ms: quantile(0.5),
            p99_ms: quantile(0.99),
            p999_ms: quantile(0.999),
            max_ms: ms(histogram.max() as f64),
        }
    }
}
