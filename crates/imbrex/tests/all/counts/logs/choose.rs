//! Which closed band each layer compacts next.

use std::cmp::Reverse;

use super::log::Log;

impl Log {
    /// When a band was written, as the reading has it.
    pub fn time(&self, band: usize) -> u64 {
        let live = self.live(band).map(|lba| self.times[lba as usize]);
        match self.set.age.as_str() {
            "band" => self.bands[band].youngest,
            "mean" => live.sum::<u64>().checked_div(self.bands[band].live as u64).unwrap_or(0),
            _ => live.max().unwrap_or(0),
        }
    }

    pub fn gains(&self, band: usize) -> bool {
        self.bands[band].live < self.band_blocks
    }

    /// The best closed band; `must_gain` if it must have a dead block, where the layer's rule does not see to that, and
    /// `has_gained` if another victim has one, so that any will do.
    pub fn best(&mut self, must_gain: bool, has_gained: bool) -> usize {
        match self.set.layer {
            "log-fifo" => self.closed[0],
            "log-greedy" => self.fewest_live(),
            "log-cost-benefit" => self.most_benefit(has_gained),
            "log-choices" => self.drawn(has_gained),
            "cold-weight" | "tuned-weight" => self.most_weight(must_gain),
            "log-lifetimes" => self.most_by_lifetimes(has_gained),
            "sepbit" => self.most_dead_for_long(has_gained),
            other => panic!("{other} has no model"),
        }
    }

    fn fewest_live(&self) -> usize {
        let by_live = |&(closed, &band): &(usize, &usize)| {
            let tie = match self.set.equal.as_str() {
                "lowest" => band as u64,
                "oldest" => closed as u64,
                _ => self.bands[band].since,
            };
            (self.bands[band].live, tie)
        };
        let fewest = self.closed.iter().enumerate().min_by_key(by_live);
        fewest.map(|(_, &band)| band).expect("a band is closed")
    }

    /// The most (1 − u)·age / (1 + u); the lower number of two.
    fn most_benefit(&self, all: bool) -> usize {
        self.most(all, |band| {
            let (live, age) = (self.bands[band].live, self.written - self.time(band));
            ((self.band_blocks - live) as f64) * age as f64 / ((self.band_blocks + live) as f64)
        })
    }

    /// The most (1 − u)/u · √age since it was closed, without end if nothing lives there; the lower number of two.
    fn most_dead_for_long(&self, all: bool) -> usize {
        self.most(all, |band| {
            let (live, age) = (self.bands[band].live, self.written - self.bands[band].closed);
            let dead = self.band_blocks - live;
            if live == 0 { f64::INFINITY } else { dead as f64 / live as f64 * (age as f64).sqrt() }
        })
    }

    /// Of those with a dead block, or of all, that of the highest value; the lower number of two.
    pub fn most(&self, all: bool, value: impl Fn(usize) -> f64) -> usize {
        let candidates = self.closed.iter().copied().filter(|&band| all || self.gains(band));
        let candidates = candidates.map(|band| (value(band), band));
        let best = candidates.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        best.expect("a band has a dead block").1
    }

    /// The most F + w·C, by Eq. (3) times what its denominators have in common.
    fn most_weight(&self, must_gain: bool) -> usize {
        let [dead_weight, cold_weight] = self.set.weights;
        let candidates = self.closed.iter().enumerate().filter(|&(_, &band)| !must_gain || self.gains(band));
        let key = |(closed, &band): (usize, &usize)| {
            let live = self.bands[band].live;
            let cold = self.live(band).filter(|&lba| self.heat(lba) == 0).count() as i64;
            let score = dead_weight * (self.band_blocks - live) as i64 + cold_weight * cold;
            let tie = match self.set.equal.as_str() {
                "fewest" => live,
                "oldest" => closed,
                _ => band,
            };
            (Reverse(score), tie, band)
        };
        candidates.map(key).min().expect("a band has a dead block").2
    }

    /// The fewest live blocks of some drawn at random, the first drawn of two. If none of them has a dead block, and
    /// the last victim had none, the next that has one.
    fn drawn(&mut self, has_gained: bool) -> usize {
        let closed = self.closed.clone();
        let drawn: Vec<usize> =
            (0..self.set.choices).map(|_| self.random.below(closed.len() as u64) as usize).collect();
        let place = drawn.into_iter().min_by_key(|&place| self.bands[closed[place]].live).expect("one is drawn");
        if has_gained || self.gains(closed[place]) || self.last_gained {
            return closed[place];
        }
        let mut in_turn = closed[place..].iter().chain(&closed[..place]).copied();
        in_turn.find(|&band| self.gains(band)).expect("a band has a dead block")
    }
}
