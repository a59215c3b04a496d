//! Settings: of each layer some are tried, and where they make a difference more.

use anyhow::Result;
use imbrex_runs::search::spaces::timed;
use imbrex_runs::search::{Proposal, Proposals};

use crate::stages::{Baselines, Stages, best_of};
use crate::trial::Point;

/// How many times as long as the best of its disk a layer may take whose settings are looked at, and if it is looked at
/// more closely.
const FAR: f64 = 5.0;
const NEAR: f64 = 2.0;
/// Settings matter if the worst that was tried takes so many times as long as the best.
const MATTERS: f64 = 1.01;
/// How many times as many settings of the leading layers are tried as of others.
const CLOSER: u32 = 3;
/// Settings of each layer that are tried if nobody says how many, of a workload that moves more bytes, and of one that
/// moves even more: each takes as long as it takes to replay that.
const TRIALS: u32 = 8;
const FEW_TRIALS: u32 = 4;
const LONG_GIB: u64 = 6;
const LEAST_TRIALS: u32 = 2;
const LONGER_GIB: u64 = 32;

/// What was found out about the settings of a layer.
struct Search {
    proposals: Proposals,
    worst: f64,
}

impl Search {
    /// What is known when nothing but the settings of this point were tried.
    fn beside(point: &Point<'_>, seed: u64) -> Self {
        let (space, score) = (timed(point.trial.layer.name), point.score());
        Self { proposals: Proposals::beside(space, &point.trial.settings, score, seed), worst: score }
    }

    /// Whether settings have made a difference to a layer, of which this is the best point.
    fn matters(&self, best: &Point<'_>) -> bool {
        self.worst > MATTERS * best.score()
    }
}

impl<'a> Stages<'a> {
    /// Gives layers the best settings that are found, beginning with those that they have: a few are tried of those that
    /// are not far behind the best of their disk, more where that made a difference, and even more of so many leading ones.
    ///
    /// # Errors
    /// As those of [`Stages::run`].
    pub fn settle(&self, layers: &mut [Point<'a>], leaders: usize, baselines: &Baselines) -> Result<()> {
        let mut searches = self.look(layers, baselines)?;
        let leads = |layers: &[Point<'a>], searches: &[Search], at: usize| {
            let own = &layers[at];
            let is_ahead = |other: &&Point<'_>| other.is_same_disk(own) && other.score() < own.score();
            searches[at].matters(own) && layers.iter().filter(is_ahead).count() < leaders
        };
        for _ in 1..CLOSER {
            let (number, doing) = (self.trials(baselines), "trying settings of the best");
            self.round(layers, &mut searches, leads, (number, true), baselines, doing)?;
        }
        Ok(())
    }

    fn look(&self, layers: &mut [Point<'a>], baselines: &Baselines) -> Result<Vec<Search>> {
        let mut searches: Vec<_> = layers.iter().map(|point| Search::beside(point, self.seed)).collect();
        // With the settings that layers have half of all, but at least one to hold against those.
        let trials = self.trials(baselines);
        let others = trials.saturating_sub(1);
        let first = trials.div_ceil(2).saturating_sub(1).max(1).min(others);
        let within = |layers: &[Point<'a>], at: usize, times: f64| {
            best_of(layers, layers[at].trial.disk).is_some_and(|best| layers[at].score() <= times * best.score())
        };
        let few = |layers: &[Point<'a>], _: &[Search], at: usize| within(layers, at, FAR);
        self.round(layers, &mut searches, few, (first, false), baselines, "trying settings")?;
        let more = |layers: &[Point<'a>], searches: &[Search], at: usize| {
            searches[at].matters(&layers[at]) && within(layers, at, NEAR)
        };
        self.round(layers, &mut searches, more, (others - first, true), baselines, "trying more settings")?;
        Ok(searches)
    }

    /// Settings of each layer that are tried.
    fn trials(&self, baselines: &Baselines) -> u32 {
        self.trials.unwrap_or_else(|| usual_trials(baselines.bytes()))
    }

    /// Tries some settings of some layers, any or such that are near the best.
    fn round(
        &self,
        layers: &mut [Point<'a>],
        searches: &mut [Search],
        is_searched: impl Fn(&[Point<'a>], &[Search], usize) -> bool,
        (number, are_near): (u32, bool),
        baselines: &Baselines,
        doing: &'static str,
    ) -> Result<()> {
        let chosen: Vec<_> = (0..layers.len()).filter(|at| is_searched(layers, searches, *at)).collect();
        let mut proposals = Vec::new();
        for at in chosen {
            let own = searches[at].proposals.next(number, are_near).into_iter();
            proposals.extend(own.map(|proposal| (at, proposal)));
        }
        let trial = |(at, proposal): &(usize, Proposal)| layers[*at].trial.with(&proposal.settings);
        let trials: Vec<_> = proposals.iter().map(trial).collect();
        let points = self.tried(&trials, doing, baselines)?;
        for ((at, proposal), point) in proposals.into_iter().zip(points) {
            // What a layer refuses, or does not get done, says nothing of what another setting is worth.
            let Some(point) = point else { continue };
            let score = point.score();
            searches[at].worst = searches[at].worst.max(score);
            searches[at].proposals.note(proposal, score);
            if score < layers[at].score() {
                layers[at] = point;
            }
        }
        Ok(())
    }
}

/// Settings that are tried of a workload that moves so many bytes, if nobody says how many.
fn usual_trials(bytes: u64) -> u32 {
    match bytes >> 30 {
        ..LONG_GIB => TRIALS,
        LONG_GIB..LONGER_GIB => FEW_TRIALS,
        LONGER_GIB.. => LEAST_TRIALS,
    }
}

#[cfg(test)]
mod tests {
    use super::usual_trials;

    #[test]
    fn the_longer_a_workload_is_the_fewer_settings_are_tried() {
        let tried = [0, 5, 6, 31, 32, 1 << 30].map(|gib: u64| usual_trials((gib << 30) + 1));
        assert_eq!(tried, [8, 8, 4, 4, 2, 2]);
        assert_eq!(usual_trials((6 << 30) - 1), 8);
    }
}
