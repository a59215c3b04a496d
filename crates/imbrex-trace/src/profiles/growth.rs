//! When new extents come.

use crate::synthetic::random::Random;

/// New extents of one access. They come in runs, and after a share `x` of the requests there are about `x^growth` of
/// all.
pub(super) struct Growth {
    requests: f64,
    extents: f64,
    growth: f64,
    mean_run: f64,
    served: u64,
    come: u64,
    /// The run that comes as soon as all of it is due.
    run: u64,
    left: u64,
}

/// What a request touches.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Touch {
    Old,
    /// A new extent, and whether it begins a run.
    New {
        first: bool,
    },
}

impl Growth {
    /// `extents` new ones among `requests` requests.
    pub(super) fn new(requests: f64, extents: f64, growth: f64, mean_run: f64) -> Self {
        Self { requests, extents, growth, mean_run, served: 0, come: 0, run: 1, left: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self, random: &mut Random) -> Touch {
        self.served += 1;
        if self.left > 0 {
            return self.come(false);
        }
        let passed = (self.served as f64 / self.requests).min(1.0);
        let share = if self.growth == 1.0 { passed } else { libm::pow(passed, self.growth) };
        if share * self.extents < (self.come + self.run) as f64 {
            return Touch::Old;
        }
        self.left = self.run;
        self.run = if self.mean_run > 1.0 { random.geometric(self.mean_run) } else { 1 };
        self.come(true)
    }

    fn come(&mut self, first: bool) -> Touch {
        self.left -= 1;
        self.come += 1;
        Touch::New { first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(growth: f64, mean_run: f64) -> Vec<Touch> {
        let mut random = Random::new(1);
        let mut new = Growth::new(10_000.0, 2_000.0, growth, mean_run);
        (0..10_000).map(|_| new.next(&mut random)).collect()
    }

    fn count(touches: &[Touch]) -> usize {
        touches.iter().filter(|touch| **touch != Touch::Old).count()
    }

    #[test]
    fn as_many_come_as_were_asked_for() {
        for growth in [0.5, 1.0] {
            for mean_run in [1.0, 8.0] {
                let all = count(&touches(growth, mean_run));
                assert!((1_900..=2_000).contains(&all), "growth {growth}, runs of {mean_run}: {all}");
            }
        }
    }

    #[test]
    fn growth_below_one_brings_them_early_and_runs_bring_them_together() {
        assert!((480..=500).contains(&count(&touches(1.0, 8.0)[..2_500])));
        assert!((980..=1_000).contains(&count(&touches(0.5, 8.0)[..2_500])));
        let runs = touches(1.0, 8.0).iter().filter(|touch| **touch == Touch::New { first: true }).count();
        assert!((200..300).contains(&runs), "{runs}");
    }
}
