//! What a synthetic workload is specified by, and which specifications can be generated.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::TraceError;

/// The largest address range: far beyond any disk, and no sum of offsets in it overflows.
const MAX_RANGE_BYTES: u64 = 1 << 60;
/// The most requests that are put in order together: 24 bytes each are held.
const MAX_SORTED: u32 = 1 << 24;
/// Requests per second, of a workload and of a stream.
const RATES: RangeInclusive<f64> = 1e-6..=1e9;

/// A synthetic workload. Written as TOML, see `workloads/*.toml`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyntheticSpec {
    /// What it is called.
    pub name: String,
    /// What it resembles, in a line.
    #[serde(default)]
    pub description: String,
    /// The seed: one workload and one seed give the same requests on every machine.
    pub seed: u64,
    /// How many requests.
    pub requests: u64,
    /// The address range.
    pub range_bytes: u64,
    /// Requests begin at multiples of this, except inside a sequential run; popularity belongs to pieces of this size.
    #[serde(default = "default_grain_kib")]
    pub grain_kib: u32,
    /// Share of requests that write, of streams that have none of their own.
    pub write_ratio: f64,
    /// How long requests are, of streams that have no sizes of their own.
    pub sizes: Vec<SizeShare>,
    /// When they arrive.
    #[serde(default)]
    pub arrivals: ArrivalSpec,
    /// Where they go: each request belongs to one of these streams.
    pub streams: Vec<StreamSpec>,
}

fn default_grain_kib() -> u32 {
    4
}

fn one() -> u32 {
    1
}

/// A size and how often it is drawn, relative to the others.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// The size of a request.
    pub kib: u32,
    /// Its weight.
    pub weight: u32,
}

/// Arrivals at random: exponential gaps, all the time or in bursts with pauses between them.
#[derive(Copy, Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArrivalSpec {
    /// Requests per second, averaged over bursts and pauses. Left out, or 0, where streams have rates of their own.
    pub mean_rate: f64,
    /// Bursts and pauses; without them the gaps are all alike.
    pub bursts: Option<BurstSpec>,
}

/// Bursts and pauses alternate; the length of each is exponentially distributed. Nothing arrives in a pause.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstSpec {
    /// Mean length of a burst.
    pub burst_ms: f64,
    /// Mean length of a pause.
    pub pause_ms: f64,
}

/// A stream and how many of the requests are its own: by its weight, or else by its rate. Either all streams of a
/// workload have weights, or all have rates.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Its weight among the streams, counted in requests; 0 where it has a rate.
    #[serde(default)]
    pub weight: u32,
    /// Its rate in requests per second, averaged over bursts and pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// The same in megabytes (10^6 bytes) per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mb_per_s: Option<f64>,
    /// Share of its requests that write, if not that of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ratio: Option<f64>,
    /// How long its requests are, if not as those of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<SizeShare>>,
    /// Where its requests go.
    pub pattern: Pattern,
}

/// Where the requests of a stream begin. A request that would leave the range is moved back until it ends inside.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Anywhere with equal probability.
    Uniform,
    /// A hot part and a cold rest, uniform inside each.
    HotCold {
        /// Share of the range that is hot.
        hot_space: f64,
        /// Share of the stream's requests that go there.
        hot_accesses: f64,
        /// See [`Pattern::Zipf`].
        #[serde(default)]
        scatter_kib: Option<u64>,
    },
    /// The k-th most popular piece is drawn with probability proportional to `1 / k^theta`.
    Zipf {
        /// The skew: 0.99 is usual, 0 would be uniform.
        theta: f64,
        /// The range is cut into chunks of this size, and the chunks are shuffled; without it the hottest addresses are
        /// the lowest. The grain's size leaves no neighbours together, a larger one keeps warm pieces beside hot ones.
        #[serde(default)]
        scatter_kib: Option<u64>,
    },
    /// Runs of adjacent requests from a random place on, all reads or all writes and of one size. The length of a run
    /// is geometrically distributed; the end of the range ends a run.
    Sequential {
        /// Mean length of a run.
        run_requests: f64,
    },
    /// Each place once, from the first to the last, and then again. A request ends where the range or its chunk does.
    Sweep {
        /// See [`Pattern::Zipf`]: chunks come in the order of the shuffle.
        #[serde(default)]
        scatter_kib: Option<u64>,
        /// So many requests at a time are made in the order of their addresses, not of the shuffle.
        #[serde(default = "one")]
        sorted_requests: u32,
    },
}

impl StreamSpec {
    /// A stream of this weight, whose requests are as those of the workload.
    #[must_use]
    pub fn new(weight: u32, pattern: Pattern) -> Self {
        Self { weight, per_second: None, mb_per_s: None, write_ratio: None, sizes: None, pattern }
    }
}

impl SyntheticSpec {
    /// Reads a specification. Errors call it `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let spec: Self = toml::from_str(text)
            .map_err(|cause| TraceError::SpecSyntax { file: file.into(), cause: Box::new(cause) })?;
        spec.check()?;
        Ok(spec)
    }

    /// Share of all requests that write.
    #[must_use]
    pub fn mean_write_ratio(&self) -> f64 {
        let weights: f64 = self.streams.iter().map(|stream| self.weight_of(stream) as f64).sum();
        let writes = |stream: &StreamSpec| self.weight_of(stream) as f64 * self.write_ratio_of(stream);
        self.streams.iter().map(writes).sum::<f64>() / weights
    }

    pub(super) fn write_ratio_of(&self, stream: &StreamSpec) -> f64 {
        stream.write_ratio.unwrap_or(self.write_ratio)
    }

    pub(super) fn sizes_of<'a>(&'a self, stream: &'a StreamSpec) -> &'a [SizeShare] {
        stream.sizes.as_ref().unwrap_or(&self.sizes)
    }

    /// When requests arrive, at the sum of the streams' rates if they have some: streams that arrive at random and do
    /// not know of each other are one stream that does.
    pub(super) fn arrivals(&self) -> ArrivalSpec {
        let rates = || self.streams.iter().map(|stream| self.rate_of(stream)).sum();
        let mean_rate = if self.has_rates() { rates() } else { self.arrivals.mean_rate };
        ArrivalSpec { mean_rate, ..self.arrivals }
    }

    /// The weight of a stream among the others; that of a rate in millionths of a request per second.
    pub(super) fn weight_of(&self, stream: &StreamSpec) -> u64 {
        if self.has_rates() { (self.rate_of(stream) * 1e6 + 0.5) as u64 } else { stream.weight.into() }
    }

    fn has_rates(&self) -> bool {
        self.streams.iter().any(|stream| stream.per_second.is_some() || stream.mb_per_s.is_some())
    }

    /// The rate of a stream that has one, in requests per second.
    fn rate_of(&self, stream: &StreamSpec) -> f64 {
        let bytes = |sizes: &[SizeShare]| {
            let weights: f64 = sizes.iter().map(|size| f64::from(size.weight)).sum();
            sizes.iter().map(|size| f64::from(size.weight) * f64::from(size.kib) * 1024.0).sum::<f64>() / weights
        };
        let of_bytes = |mb: f64| mb * 1e6 / bytes(self.sizes_of(stream));
        stream.per_second.or(stream.mb_per_s.map(of_bytes)).unwrap_or_default()
    }

    pub(super) fn grain_bytes(&self) -> u64 {
        u64::from(self.grain_kib) << 10
    }

    /// Refuses what cannot be generated.
    pub(super) fn check(&self) -> Result<(), TraceError> {
        let sizes = || self.streams.iter().filter_map(|stream| stream.sizes.as_ref()).chain([&self.sizes]);
        let largest = sizes().flatten().map(|size| u64::from(size.kib) << 10).max().unwrap_or_default();
        let least_range = largest.max(2 * self.grain_bytes());
        self.require(self.requests > 0, "requests", "must not be 0")?;
        self.require(self.grain_kib > 0, "grain_kib", "must not be 0")?;
        let mut ratios = self.streams.iter().filter_map(|stream| stream.write_ratio).chain([self.write_ratio]);
        self.require(ratios.all(|ratio| (0.0..=1.0).contains(&ratio)), "write_ratio", "must be between 0 and 1")?;
        let any_weighs = sizes().all(|sizes| sizes.iter().any(|size| size.weight > 0));
        self.require(any_weighs, "sizes", "must have one with a weight above 0")?;
        let sizes_fit = sizes().flatten().all(|size| (1..1 << 22).contains(&size.kib));
        self.require(sizes_fit, "sizes", "must be between 1 KiB and 4 GiB - 1 KiB")?;
        let range_fits = (least_range..=MAX_RANGE_BYTES).contains(&self.range_bytes);
        let range = format!("must be between {least_range} (its largest request, two grains) and {MAX_RANGE_BYTES}");
        self.require(range_fits, "range_bytes", &range)?;
        self.check_rates()?;
        self.check_arrivals()?;
        self.streams.iter().enumerate().try_for_each(|(i, stream)| self.check_pattern(i, &stream.pattern))
    }

    /// Whether all streams have weights or all have rates.
    fn check_rates(&self) -> Result<(), TraceError> {
        if !self.has_rates() {
            return self.require(
                self.streams.iter().any(|s| s.weight > 0),
                "streams",
                "must have one with a weight above 0",
            );
        }
        let has_one = |s: &StreamSpec| s.weight == 0 && s.per_second.is_some() != s.mb_per_s.is_some();
        let one = "must all have a weight, or all either per_second or mb_per_s";
        self.require(self.streams.iter().all(has_one), "streams", one)?;
        let fit = self.streams.iter().all(|stream| RATES.contains(&self.rate_of(stream)));
        self.require(fit, "streams", "must have rates between 0.000001 and 1e9 requests per second")?;
        self.require(self.arrivals.mean_rate == 0.0, "arrivals.mean_rate", "must be left out where streams have rates")
    }

    fn check_arrivals(&self) -> Result<(), TraceError> {
        let ArrivalSpec { mean_rate, bursts } = self.arrivals();
        self.require(RATES.contains(&mean_rate), "arrivals.mean_rate", "must be between 0.000001 and 1e9")?;
        let Some(BurstSpec { burst_ms, pause_ms }) = bursts else { return Ok(()) };
        let field = "arrivals.bursts";
        let lengths = 1e-3..=1e12;
        let in_range = lengths.contains(&burst_ms) && lengths.contains(&pause_ms);
        self.require(in_range, field, "must last between 0.001 and 1e12 ms, and so must pauses")?;
        // Otherwise finding the next arrival would step through any number of empty bursts.
        let requests_per_burst = mean_rate * (burst_ms + pause_ms) / 1e3;
        self.require(requests_per_burst >= 1.0, field, "must hold a request on average; lengthen bursts or pauses")
    }

    fn check_pattern(&self, index: usize, pattern: &Pattern) -> Result<(), TraceError> {
        let require = |holds, field: &str, must| self.require(holds, &format!("streams[{index}].{field}"), must);
        match *pattern {
            Pattern::Uniform => Ok(()),
            Pattern::HotCold { hot_space, hot_accesses, scatter_kib } => {
                require(hot_space > 0.0 && hot_space < 1.0, "hot_space", "must be above 0 and below 1")?;
                require((0.0..=1.0).contains(&hot_accesses), "hot_accesses", "must be between 0 and 1")?;
                require(self.scatters(scatter_kib), "scatter_kib", "must be a multiple of grain_kib within the range")
            }
            Pattern::Zipf { theta, scatter_kib } => {
                require((1e-3..=10.0).contains(&theta), "theta", "must be between 0.001 and 10")?;
                require(self.scatters(scatter_kib), "scatter_kib", "must be a multiple of grain_kib within the range")
            }
            Pattern::Sequential { run_requests } => {
                require((1.0..=1e12).contains(&run_requests), "run_requests", "must be between 1 and 1e12")
            }
            Pattern::Sweep { scatter_kib, sorted_requests } => {
                let sorted = format!("must be between 1 and {MAX_SORTED}");
                require((1..=MAX_SORTED).contains(&sorted_requests), "sorted_requests", &sorted)?;
                require(self.scatters(scatter_kib), "scatter_kib", "must be a multiple of grain_kib within the range")
            }
        }
    }

    fn scatters(&self, scatter_kib: Option<u64>) -> bool {
        scatter_kib.is_none_or(|kib| kib > 0 && kib % u64::from(self.grain_kib) == 0 && kib <= self.range_bytes >> 10)
    }

    fn require(&self, holds: bool, field: &str, must: &str) -> Result<(), TraceError> {
        if holds {
            return Ok(());
        }
        Err(TraceError::Spec { name: self.name.clone(), field: field.into(), must: must.into() })
    }
}
