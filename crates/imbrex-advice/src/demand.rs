//! What a disk has to do.

use imbrex::replay::Latency;
use imbrex_terminal::duration;
use imbrex_terminal::table::milliseconds;

/// How many times as long as on a conventional disk requests may take on average, where nothing is demanded.
const TIMES: f64 = 1.1;
/// What 99.9 % of the requests may take then, in milliseconds, unless a conventional disk needs longer.
const LONG_MS: f64 = 1000.0;

/// Latencies that are not to be exceeded, in nanoseconds.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
pub struct Demand {
    /// On average.
    pub mean_ns: Option<u64>,
    /// By 99 % of the requests.
    pub p99_ns: Option<u64>,
    /// By 99.9 % of them.
    pub p999_ns: Option<u64>,
}

impl Demand {
    /// How many times as long as it may the worst of its latencies takes: at most 1 where the demand is met.
    /// `conventional` is what a conventional disk does with the same requests.
    pub fn excess(&self, latency: &Latency, conventional: &Latency) -> f64 {
        let most = |limit_ms: f64, taken_ms: f64| if taken_ms <= limit_ms { 1.0 } else { taken_ms / limit_ms };
        if *self == Self::default() {
            let mean = most(TIMES * conventional.mean, latency.mean);
            return mean.max(most(LONG_MS.max(conventional.p999), latency.p999));
        }
        let limits = [(self.mean_ns, latency.mean), (self.p99_ns, latency.p99), (self.p999_ns, latency.p999)];
        let each = limits.into_iter().filter_map(|(limit, taken)| Some(most(limit? as f64 / 1e6, taken)));
        each.fold(1.0, f64::max)
    }

    /// It in words, behind "to keep".
    pub fn shown(&self) -> String {
        if *self == Self::default() {
            return format!(
                "the mean below {TIMES} times that of a conventional disk and 99.9 % of requests below {}",
                milliseconds(LONG_MS)
            );
        }
        let limits = [("the mean", self.mean_ns), ("99 % of requests", self.p99_ns), ("99.9 %", self.p999_ns)];
        let said = limits.iter().filter_map(|(what, ns)| Some(format!("{what} below {}", duration::shown((*ns)?))));
        said.collect::<Vec<_>>().join(" and ")
    }
}
