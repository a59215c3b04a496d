//! What a synthetic workload is specified by, and which specifications can be generated.

use serde::{Deserialize, Serialize};

use crate::TraceError;

/// The largest address range: far beyond any disk, and no sum of offsets in it overflows.
const MAX_RANGE_BYTES: u64 = 1 << 60;

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
    /// Share of requests that write.
    pub write_ratio: f64,
    /// How long requests are.
    pub sizes: Vec<SizeShare>,
    /// When they arrive.
    pub arrivals: ArrivalSpec,
    /// Where they go: each request belongs to one of these streams.
    pub streams: Vec<StreamSpec>,
}

fn default_grain_kib() -> u32 {
    4
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
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalSpec {
    /// Requests per second, averaged over bursts and pauses.
    pub mean_rate: f64,
    /// Bursts and pauses; without them the gaps are all alike.
    #[serde(default)]
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

/// A stream and how many of the requests are its own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Its weight among the streams, counted in requests.
    pub weight: u32,
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
}

impl SyntheticSpec {
    /// Reads a specification. Errors call it `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let spec: Self = toml::from_str(text)
            .map_err(|cause| TraceError::SpecSyntax { file: file.into(), cause: Box::new(cause) })?;
        spec.check()?;
        Ok(spec)
    }

    pub(super) fn grain_bytes(&self) -> u64 {
        u64::from(self.grain_kib) << 10
    }

    /// Refuses what cannot be generated.
    pub(super) fn check(&self) -> Result<(), TraceError> {
        let largest = self.sizes.iter().map(|size| u64::from(size.kib) << 10).max().unwrap_or_default();
        let least_range = largest.max(2 * self.grain_bytes());
        self.require(self.requests > 0, "requests", "must not be 0")?;
        self.require(self.grain_kib > 0, "grain_kib", "must not be 0")?;
        self.require((0.0..=1.0).contains(&self.write_ratio), "write_ratio", "must be between 0 and 1")?;
        self.require(self.sizes.iter().any(|size| size.weight > 0), "sizes", "must have one with a weight above 0")?;
        let sizes_fit = self.sizes.iter().all(|size| (1..1 << 22).contains(&size.kib));
        self.require(sizes_fit, "sizes", "must be between 1 KiB and 4 GiB - 1 KiB")?;
        let range_fits = (least_range..=MAX_RANGE_BYTES).contains(&self.range_bytes);
        let range = format!("must be between {least_range} (its largest request, two grains) and {MAX_RANGE_BYTES}");
        self.require(range_fits, "range_bytes", &range)?;
        self.check_arrivals()?;
        self.require(self.streams.iter().any(|s| s.weight > 0), "streams", "must have one with a weight above 0")?;
        self.streams.iter().enumerate().try_for_each(|(i, stream)| self.check_pattern(i, &stream.pattern))
    }

    fn check_arrivals(&self) -> Result<(), TraceError> {
        let ArrivalSpec { mean_rate, bursts } = self.arrivals;
        self.require((1e-6..=1e9).contains(&mean_rate), "arrivals.mean_rate", "must be between 0.000001 and 1e9")?;
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
