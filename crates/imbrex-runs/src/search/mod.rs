//! The best setting of a layer on a workload: all of them where they are few, else some that are drawn, and then
//! neighbours of the best so far. What is drawn depends on a seed and on earlier results alone.

pub mod spaces;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use anyhow::Result;
use imbrex::random::Random;

/// Fields, each with the values that are tried beside its default.
pub type Space = &'static [(&'static str, &'static [&'static str])];

/// Draws for a setting that was not tried, before the search ends early.
const DRAWS: u32 = 200;

/// For each field the value that it has: 0 for the default.
type Choice = Vec<usize>;

/// What a search came to.
pub struct Found<R> {
    /// The best setting, written as `FIELD=VALUE`.
    pub settings: Vec<String>,
    /// What it gave.
    pub best: (f64, R),
    /// What the defaults gave.
    pub by_default: f64,
    /// Settings that were tried.
    pub trials: u32,
}

/// How many settings there are, the defaults among them.
pub fn size(space: Space) -> u64 {
    space.iter().map(|(_, values)| 1 + values.len() as u64).product()
}

/// Tries at most `trials` settings, the defaults first. `run` gives what is to be small, or nothing where the layer
/// refuses a setting. Of equally good settings the one tried first counts. Without a result there is nothing to find.
///
/// # Errors
/// What a run says.
pub fn search<R>(
    space: Space,
    trials: u32,
    seed: u64,
    mut run: impl FnMut(&[String]) -> Result<Option<(f64, R)>>,
) -> Result<Option<Found<R>>> {
    let mut random = Random::new(seed);
    let (mut seen, mut best, mut by_default) = (HashSet::new(), None::<(Choice, (f64, R))>, None);
    let mut tried = 0;
    while tried < trials {
        let neighbour = best.as_ref().filter(|_| tried >= trials / 2).map(|(choice, _)| choice);
        let Some(choice) = next(space, u64::from(tried), u64::from(trials), neighbour, &seen, &mut random) else {
            break;
        };
        let result = run(&written(space, &choice))?;
        tried += 1;
        seen.insert(choice.clone());
        let Some(result) = result else { continue };
        if tried == 1 {
            by_default = Some(result.0);
        }
        if best.as_ref().is_none_or(|(_, (least, _))| result.0 < *least) {
            best = Some((choice, result));
        }
    }
    let found = best.zip(by_default).map(|((choice, best), by_default)| Found {
        settings: written(space, &choice),
        best,
        by_default,
        trials: tried,
    });
    Ok(found)
}

/// The best of `all` settings, the first of which are the defaults; otherwise as [`search`].
///
/// # Errors
/// What a run says.
pub fn best_of<R>(
    all: &[Vec<String>],
    mut run: impl FnMut(&[String]) -> Result<Option<(f64, R)>>,
) -> Result<Option<Found<R>>> {
    let (mut best, mut by_default) = (None::<(&[String], (f64, R))>, None);
    for (at, settings) in all.iter().enumerate() {
        let Some(result) = run(settings)? else { continue };
        if at == 0 {
            by_default = Some(result.0);
        }
        if best.as_ref().is_none_or(|(_, (least, _))| result.0 < *least) {
            best = Some((settings, result));
        }
    }
    let trials = all.len() as u32;
    let found = |((settings, best), by_default): ((&[String], _), _)| Found {
        settings: settings.to_vec(),
        best,
        by_default,
        trials,
    };
    Ok(best.zip(by_default).map(found))
}

/// Settings that are tried some at a time, each of them once.
pub struct Proposals {
    space: Space,
    random: Random,
    seen: HashSet<Choice>,
    best: (Choice, f64),
}

/// A setting to be tried.
pub struct Proposal {
    choice: Choice,
    /// Written as `FIELD=VALUE`.
    pub settings: Vec<String>,
}

impl Proposals {
    /// Others than `settings`, which gave `score`. What of them is no value of the space counts as the default.
    #[must_use]
    pub fn beside(space: Space, settings: &[String], score: f64, seed: u64) -> Self {
        let of = |(field, values): &(&str, &[&str])| {
            let is_set = |value: &&str| settings.contains(&format!("{field}={value}"));
            values.iter().position(is_set).map_or(0, |at| at + 1)
        };
        let choice: Choice = space.iter().map(of).collect();
        let seen = HashSet::from([choice.clone()]);
        Self { space, random: Random::new(seed), seen, best: (choice, score) }
    }

    /// At most `number` further settings: neighbours of the best so far as long as there are some, or any.
    pub fn next(&mut self, number: u32, are_near: bool) -> Vec<Proposal> {
        let mut all = Vec::new();
        while all.len() < number as usize && (self.seen.len() as u64) < size(self.space) {
            let near = are_near.then_some(&self.best.0);
            let Some(choice) = draw(self.space, near, &self.seen, &mut self.random) else { break };
            self.seen.insert(choice.clone());
            all.push(Proposal { settings: written(self.space, &choice), choice });
        }
        all
    }

    /// Takes note of what a proposal gave, which is to be small.
    pub fn note(&mut self, proposal: Proposal, score: f64) {
        if score < self.best.1 {
            self.best = (proposal.choice, score);
        }
    }
}

/// The next setting: the one of that number where all are tried, else the defaults, one that differs from `near` in a
/// field, or any other.
fn next(
    space: Space,
    number: u64,
    trials: u64,
    near: Option<&Choice>,
    seen: &HashSet<Choice>,
    random: &mut Random,
) -> Option<Choice> {
    if number == 0 || size(space) <= trials {
        return (number < size(space)).then(|| nth(space, number));
    }
    draw(space, near, seen, random)
}

/// A setting that was not tried: one that differs from `near` in a field, or any.
fn draw(space: Space, near: Option<&Choice>, seen: &HashSet<Choice>, random: &mut Random) -> Option<Choice> {
    let draws = (0..DRAWS).map(|_| match near {
        Some(near) => changed(space, near, random),
        None => nth(space, random.below(size(space))),
    });
    let fresh = draws.into_iter().find(|choice| !seen.contains(choice));
    // All neighbours were tried: anything is.
    fresh.or_else(|| {
        let mut others = (0..DRAWS).map(|_| nth(space, random.below(size(space))));
        others.find(|choice| !seen.contains(choice))
    })
}

fn nth(space: Space, mut number: u64) -> Choice {
    let digit = |(_, values): &(&str, &[&str])| {
        let base = 1 + values.len() as u64;
        let own = number % base;
        number /= base;
        own as usize
    };
    space.iter().map(digit).collect()
}

/// Another value for one of the fields.
fn changed(space: Space, near: &Choice, random: &mut Random) -> Choice {
    let mut choice = near.clone();
    let at = random.below(space.len() as u64) as usize;
    let others = space[at].1.len();
    let drawn = random.below(others as u64) as usize;
    choice[at] = if drawn < near[at] { drawn } else { drawn + 1 };
    choice
}

fn written(space: Space, choice: &Choice) -> Vec<String> {
    let set = space.iter().zip(choice).filter(|(_, value)| **value > 0);
    set.map(|((field, values), value)| format!("{field}={}", values[value - 1])).collect()
}
