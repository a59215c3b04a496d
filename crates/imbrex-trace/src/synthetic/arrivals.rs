//! When requests arrive.

use super::random::Random;
use super::spec::ArrivalSpec;

/// The clock of arrivals; the first request arrives at 0.
pub(crate) struct Arrivals {
    now_ns: Option<u64>,
    /// Mean gap within a burst.
    gap_ns: f64,
    bursts: Option<Bursts>,
}

struct Bursts {
    burst_ns: f64,
    pause_ns: f64,
    left_ns: f64,
}

impl Arrivals {
    pub(crate) fn new(spec: &ArrivalSpec) -> Self {
        let bursts = spec.bursts.map(|bursts| Bursts {
            burst_ns: bursts.burst_ms * 1e6,
            pause_ns: bursts.pause_ms * 1e6,
            left_ns: 0.0,
        });
        let active = bursts.as_ref().map_or(1.0, |b| b.burst_ns / (b.burst_ns + b.pause_ns));
        Self { now_ns: None, gap_ns: 1e9 / spec.mean_rate * active, bursts }
    }

    /// When the next request arrives. Time that does not fit stands still, after 584 years.
    #[inline]
    pub(crate) fn next(&mut self, random: &mut Random) -> u64 {
        let now_ns = match self.now_ns {
            None => {
                if let Some(bursts) = &mut self.bursts {
                    bursts.left_ns = random.exponential(bursts.burst_ns);
                }
                0
            }
            Some(now_ns) => {
                let mut gap_ns = random.exponential(self.gap_ns);
                if let Some(bursts) = &mut self.bursts {
                    gap_ns += bursts.pauses_within(gap_ns, random);
                }
                now_ns.saturating_add((gap_ns + 0.5) as u64)
            }
        };
        self.now_ns = Some(now_ns);
        now_ns
    }
}

impl Bursts {
    /// How long nothing arrives while `active_ns` of bursts go by.
    #[inline]
    fn pauses_within(&mut self, mut active_ns: f64, random: &mut Random) -> f64 {
        let mut paused_ns = 0.0;
        while active_ns > self.left_ns {
            active_ns -= self.left_ns;
            paused_ns += random.exponential(self.pause_ns);
            self.left_ns = random.exponential(self.burst_ns);
        }
        self.left_ns -= active_ns;
        paused_ns
    }
}
