//! Which band is compacted next.

use super::config::{Age, Equal, Weights};
use super::known::Known;
use crate::parts::full_map::FullMap;
use crate::parts::unit_pool::{UnitPool, Victims};
use imbrex_core::random::Random;

/// What makes a closed band the best one to compact.
#[derive(Clone, Debug)]
pub enum Score {
    /// The band that was closed longest ago.
    Fifo,
    /// The band with the fewest live blocks: the paper's Empty.
    Greedy,
    /// The band with the greatest (1 − u)·age / (1 + u), by one of the interpretations of age.
    CostBenefit(Age),
    /// The band with the fewest live blocks of those drawn.
    Choices(Draw),
    /// The band with the most dead and, by a weight, cold blocks.
    ColdWeight(Weights, Equal),
    /// SepBIT's: the band with the greatest (1 − u)/u · √age, where age is how long it has been closed. The unit of
    /// time is a block written by the host.
    Closed,
    /// The band that is worth it most by how much is left of the lives of its blocks.
    Rest,
}

/// What scores look at: the closed bands, and what is known of them.
pub(super) struct Closed<'a> {
    pub pool: &'a UnitPool,
    pub map: &'a FullMap,
    pub known: &'a Known,
    /// Blocks of a band.
    pub full: u32,
    pub needed: Needed,
}

/// What compacting the next band has to gain.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Needed {
    /// The band has a dead block, where the score looks at that.
    Own,
    /// It or another closed one has.
    Any,
    /// Nothing: another victim has one.
    Nothing,
}

impl Score {
    /// Blocks count for so much from now on, where they have weights.
    pub fn weigh(&mut self, weights: Weights) {
        if let Self::ColdWeight(of, _) = self {
            *of = weights;
        }
    }

    /// How closed bands have to be kept for it.
    pub fn keeps(&self) -> Victims {
        match self {
            Self::Greedy => Victims::ByLive,
            Self::Fifo | Self::CostBenefit(_) | Self::ColdWeight(..) | Self::Closed | Self::Rest => Victims::ByAge,
            Self::Choices(_) => Victims::ForDraws,
        }
    }

    /// The interpretation by which it asks for ages, if it does.
    pub fn reads(&self) -> Option<Age> {
        match self {
            Self::CostBenefit(age) => Some(*age),
            _ => None,
        }
    }

    /// Whether it asks how many hot blocks live on a band.
    pub fn counts_hot(&self) -> bool {
        matches!(self, Self::ColdWeight(..))
    }

    /// The band to compact next, if compacting closed ones can gain a slot at all.
    pub(super) fn best(&mut self, closed: &Closed<'_>) -> Option<u32> {
        match self {
            Self::Fifo => closed.oldest(),
            Self::Greedy => closed.pool.least_live().map(|(band, _)| band).filter(|&band| closed.will_do(band)),
            Self::CostBenefit(_) => {
                closed.highest(|band, live| benefit_per_cost(live, closed.full, closed.age(band, live)))
            }
            Self::ColdWeight(weights, equal) => closed.coldest(*weights, *equal),
            Self::Closed => closed.highest(|band, live| dead_per_live(live, closed.full, closed.closed_for(band))),
            Self::Rest => closed.highest(|band, live| closed.worth(band, live)),
            Self::Choices(draw) => {
                draw.best(closed.pool.drawn_from(), closed.needed, |band| (closed.map.live(band), closed.gains(band)))
            }
        }
    }

    /// A band has become a victim, with or without a dead block.
    pub fn took(&mut self, has_dead: bool) {
        if let Self::Choices(draw) = self {
            draw.took(has_dead);
        }
    }
}

impl Closed<'_> {
    fn gains(&self, band: u32) -> bool {
        self.map.live(band) < self.full
    }

    /// Whether a band gains what is needed, where one that has no dead block is the best only if all others are such.
    fn will_do(&self, band: u32) -> bool {
        self.needed == Needed::Nothing || self.gains(band)
    }

    /// Whether compaction gains something, whichever band is the next.
    fn can_gain(&self) -> bool {
        self.needed == Needed::Nothing || self.pool.by_age().any(|band| self.gains(band))
    }

    fn age(&self, band: u32, live: u32) -> u64 {
        self.known.ages.as_ref().map_or(0, |ages| self.known.times.now() - ages.of(band, live))
    }

    fn closed_for(&self, band: u32) -> u64 {
        self.known.lives.as_ref().map_or(0, |lives| self.known.times.now() - lives.when_closed(band))
    }

    fn worth(&self, band: u32, live: u32) -> f64 {
        let lifetimes = self.known.lifetimes.as_ref();
        lifetimes.map_or(0.0, |lifetimes| lifetimes.worth(band, live, self.known.times.now()))
    }

    /// The band with the most dead and, by `weights`, cold blocks. Where compaction must gain something, only bands
    /// that gain count; if none does there is nothing to compact.
    fn coldest(&self, weights: Weights, equal: Equal) -> Option<u32> {
        let value = |band: u32| {
            let live = self.map.live(band);
            let hot = self.known.temperatures.as_ref().map_or(0, |temperatures| temperatures.hot(band));
            let cold = live.saturating_sub(hot);
            (weights.score(self.full - live, cold), live)
        };
        let candidates =
            (0u32..).zip(self.pool.by_age()).filter(|&(_, band)| self.needed != Needed::Own || self.gains(band));
        let valued = candidates.map(|(place, band)| (value(band), place, band));
        let best = valued.max_by(|((a, live_a), place_a, band_a), ((b, live_b), place_b, band_b)| {
            a.cmp(b).then_with(|| match equal {
                Equal::Fewest => (live_b, band_b).cmp(&(live_a, band_a)),
                Equal::Oldest => place_b.cmp(place_a),
                Equal::Lowest => band_b.cmp(band_a),
            })
        });
        best.filter(|_| self.can_gain()).map(|(_, _, band)| band)
    }

    /// The band closed longest ago. It may have no dead block, but then another must.
    fn oldest(&self) -> Option<u32> {
        let oldest = self.pool.by_age().next()?;
        self.can_gain().then_some(oldest)
    }

    /// The band with the highest `value`, which is given its number and its live blocks. Only bands that have a dead
    /// block count, unless nothing is needed; of equals the lowest number is taken.
    fn highest(&self, value: impl Fn(u32, u32) -> f64) -> Option<u32> {
        let gaining = self.pool.by_age().filter(|&band| self.will_do(band));
        let valued = gaining.map(|band| (band, value(band, self.map.live(band))));
        valued.max_by(|(a, of_a), (b, of_b)| of_a.total_cmp(of_b).then(b.cmp(a))).map(|(band, _)| band)
    }
}

/// (1 − u)·age / (1 + u), with the share u of live blocks, for a band of `full` blocks: what is gained, for as long as
/// it may last, over reading the band and writing its live blocks.
fn benefit_per_cost(live: u32, full: u32, age: u64) -> f64 {
    let (live, full) = (f64::from(live), f64::from(full));
    (full - live) * age as f64 / (full + live)
}

/// (1 − u)/u · √age, with the share u of live blocks, for a band of `full` blocks. One without live blocks costs nothing,
/// and is the best whatever its age.
fn dead_per_live(live: u32, full: u32, age: u64) -> f64 {
    if live == 0 { f64::INFINITY } else { f64::from(full - live) / f64::from(live) * (age as f64).sqrt() }
}

/// Bands drawn at random, each from all closed ones, so that one may be drawn twice.
#[derive(Clone, Debug)]
pub struct Draw {
    choices: u32,
    random: Random,
    /// Whether the last victim had no dead block, so that compacting it gained nothing.
    in_vain: bool,
}

impl Draw {
    /// `choices` bands at a time, at least one, by the stream of `seed`.
    pub fn new(choices: u32, seed: u64) -> Self {
        Self { choices, random: Random::new(seed), in_vain: false }
    }

    /// Draws bands from `closed` and takes the one with the fewest live blocks, of equals the first drawn. Nothing if
    /// no closed band `gains`, though that is needed. If none drawn does and the last victim did not, takes the next band
    /// in order that does. `of` gives the live blocks of a band, and whether it gains.
    fn best(&mut self, closed: &[u32], needed: Needed, of: impl Fn(u32) -> (u32, bool)) -> Option<u32> {
        if closed.is_empty() {
            return None;
        }
        let drawn = (0..self.choices).map(|_| self.random.below(closed.len() as u64) as usize);
        let best = drawn.min_by_key(|&place| of(closed[place]).0)?;
        if needed == Needed::Nothing || of(closed[best]).1 {
            return Some(closed[best]);
        }
        let mut in_turn = closed[best..].iter().chain(&closed[..best]).copied();
        let gaining = in_turn.find(|&band| of(band).1)?;
        Some(if self.in_vain { gaining } else { closed[best] })
    }

    fn took(&mut self, has_dead: bool) {
        self.in_vain = !has_dead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u32 = 8;
    /// Live blocks by band.
    const LIVE: [u32; 6] = [5, 8, 2, 8, 7, 8];
    const CLOSED: [u32; 6] = [4, 1, 0, 5, 2, 3];

    fn live(band: u32) -> u32 {
        LIVE[band as usize]
    }

    fn of(band: u32) -> (u32, bool) {
        (live(band), live(band) < FULL)
    }

    /// How often each band is the best.
    fn chosen(choices: u32) -> [f64; 6] {
        let mut draw = Draw::new(choices, 1);
        let mut counts = [0.0; 6];
        for _ in 0..60_000 {
            counts[draw.best(&CLOSED, Needed::Any, of).unwrap() as usize] += 1.0 / 60_000.0;
        }
        counts
    }

    #[test]
    fn the_best_of_some_is_chosen_as_often_as_the_law_says() {
        for choices in [1, 2, 10] {
            // With replacement, the best of d has more than n live blocks if all d have.
            let more = |n: u32| (LIVE.iter().filter(|&&live| live > n).count() as f64 / 6.0).powi(choices as i32);
            let chosen = chosen(choices);
            for (band, live) in [(2, 2), (0, 5), (4, 7)] {
                let expected = more(live - 1) - more(live);
                assert!((chosen[band] - expected).abs() < 0.01, "{choices}: {chosen:?}, {expected}");
            }
            // Equal bands are drawn equally often.
            let full = [1, 3, 5].map(|band: usize| chosen[band]);
            assert!(full.iter().all(|share| (share - more(7) / 3.0).abs() < 0.01), "{choices}: {full:?}");
        }
    }

    #[test]
    fn nothing_is_gained_twice_in_a_row_only_if_nothing_can_be() {
        let mut draw = Draw::new(1, 1);
        let mut in_vain = 0;
        for _ in 0..1000 {
            let band = draw.best(&CLOSED, Needed::Any, of).unwrap();
            let has_dead = live(band) < FULL;
            assert!(has_dead || in_vain == 0, "band {band}");
            in_vain = u32::from(!has_dead);
            draw.took(has_dead);
        }
        assert_eq!(draw.best(&[1, 5, 3], Needed::Any, of), None);
        assert!(draw.best(&[1, 5, 3], Needed::Nothing, of).is_some(), "another victim gains");
        assert_eq!(draw.best(&[], Needed::Nothing, of), None);
    }

    #[test]
    fn an_age_counts_for_more_the_emptier_a_band_is() {
        assert!(benefit_per_cost(2, FULL, 10) > benefit_per_cost(5, FULL, 10));
        assert!(benefit_per_cost(5, FULL, 100) > benefit_per_cost(2, FULL, 10));
        assert!(benefit_per_cost(FULL, FULL, 1000).abs() < f64::EPSILON);
    }

    #[test]
    fn the_root_of_an_age_counts_and_an_empty_band_is_the_best() {
        assert!(dead_per_live(4, FULL, 400) > dead_per_live(2, FULL, 40));
        assert!(dead_per_live(4, FULL, 300) < dead_per_live(2, FULL, 40));
        assert!(dead_per_live(0, FULL, 0) > dead_per_live(1, FULL, u64::MAX));
        assert!(dead_per_live(FULL, FULL, 1000).abs() < f64::EPSILON);
    }
}
