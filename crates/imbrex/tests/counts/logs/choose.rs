//! Which closed band each layer compacts next.

use std::cmp::Reverse;

use super::log::Log;

impl Log {
    /// When a band was written, as the reading has it.
    pub fn time(&self, band: usize) -> u64 {
        let live = self.live(band).into_iter().map(|lba| self.times[lba as usize]);
        match self.set.age.as_str() {
            "band" => self.bands[band].youngest,
            "mean" => live.clone().sum::<u64>().checked_div(live.len() as u64).unwrap_or(0),
            _ => live.max().unwrap_or(0),
        }
    }

    fn gains(&self, band: usize) -> bool {
        self.live(band).len() < self.band_blocks
    }

    /// The best closed band; `must_gain` if it must have a dead block, where the layer's rule does not see to that.
    pub fn best(&mut self, must_gain: bool) -> usize {
        match self.set.layer {
            "log-fifo" => self.closed[0],
            "log-greedy" => self.fewest_live(),
            "log-cost-benefit" => self.most_benefit(),
            "log-choices" => self.drawn(),
            "cold-weight" => self.most_weight(must_gain),
            other => panic!("{other} has no model"),
        }
    }

    fn fewest_live(&self) -> usize {
        let tie = |band: usize| if self.set.equal == "lowest" { band as u64 } else { self.bands[band].since };
        let by_live = |&band: &usize| (self.live(band).len(), tie(band));
        self.closed.iter().copied().min_by_key(by_live).expect("a band is closed")
    }

    /// The most (1 − u)·age / (1 + u); the lower number of two.
    fn most_benefit(&self) -> usize {
        let value = |band: usize| {
            let (live, age) = (self.live(band).len(), self.written - self.time(band));
            ((self.band_blocks - live) as f64) * age as f64 / ((self.band_blocks + live) as f64)
        };
        let candidates = self.closed.iter().copied().filter(|&band| self.gains(band)).map(|band| (value(band), band));
        let best = candidates.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        best.expect("a band has a dead block").1
    }

    /// The most F + w·C, by Eq. (3) times what its denominators have in common.
    fn most_weight(&self, must_gain: bool) -> usize {
        let [dead_weight, cold_weight] = self.set.weights;
        let candidates = self.closed.iter().enumerate().filter(|&(_, &band)| !must_gain || self.gains(band));
        let key = |(closed, &band): (usize, &usize)| {
            let live = self.live(band);
            let cold = live.iter().filter(|&&lba| self.heat[lba as usize] == 0).count() as i64;
            let score = dead_weight * (self.band_blocks - live.len()) as i64 + cold_weight * cold;
            let tie = match self.set.equal.as_str() {
                "fewest" => live.len(),
                "oldest" => closed,
                _ => band,
            };
            (Reverse(score), tie, band)
        };
        candidates.map(key).min().expect("a band has a dead block").2
    }

    /// The fewest live blocks of some drawn at random, the first drawn of two. If none of them has a dead block, and
    /// the last victim had none, the next that has one.
    fn drawn(&mut self) -> usize {
        let closed = self.closed.clone();
        let drawn: Vec<usize> =
            (0..self.set.choices).map(|_| self.random.below(closed.len() as u64) as usize).collect();
        let place = drawn.into_iter().min_by_key(|&place| self.live(closed[place]).len()).expect("one is drawn");
        if self.gains(closed[place]) || self.last_gained {
            return closed[place];
        }
        let mut in_turn = closed[place..].iter().chain(&closed[..place]).copied();
        in_turn.find(|&band| self.gains(band)).expect("a band has a dead block")
    }
}
