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
    let (mut seen, mut near, mut trying) = (HashSet::new(), None::<Choice>, Trying::default());
    while trying.trials < trials {
        let tried = u64::from(trying.trials);
        let neighbour = near.as_ref().filter(|_| trying.trials >= trials / 2);
        let Some(choice) = next(space, tried, u64::from(trials), neighbour, &seen, &mut random) else {
            break;
        };
        seen.insert(choice.clone());
        if trying.run(written(space, &choice), &mut run)? {
            near = Some(choice);
        }
    }
    Ok(trying.found())
}

/// The best of `all` settings, the first of which are the defaults; otherwise as [`search`].
///
/// # Errors
/// What a run says.
pub fn best_of<R>(
    all: &[Vec<String>],
    mut run: impl FnMut(&[String]) -> Result<Option<(f64, R)>>,
) -> Result<Option<Found<R>>> {
    let mut trying = Trying::default();
    for settings in all {
        trying.run(settings.clone(), &mut run)?;
    }
    Ok(trying.found())
}

/// What was tried so far, the defaults first.
struct Trying<R> {
    best: Option<(Vec<String>, (f64, R))>,
    by_default: Option<f64>,
    trials: u32,
}

impl<R> Default for Trying<R> {
    fn default() -> Self {
        Self { best: None, by_default: None, trials: 0 }
    }
}

impl<R> Trying<R> {
    /// Tries settings; whether they are the best so far.
    fn run(
        &mut self,
        settings: Vec<String>,
        run: &mut impl FnMut(&[String]) -> Result<Option<(f64, R)>>,
    ) -> Result<bool> {
        let result = run(&settings)?;
        self.trials += 1;
        let Some(result) = result else { return Ok(false) };
        if self.trials == 1 {
            self.by_default = Some(result.0);
        }
        let is_best = self.best.as_ref().is_none_or(|(_, (least, _))| result.0 < *least);
        if is_best {
            self.best = Some((settings, result));
        }
        Ok(is_best)
    }

    fn found(self) -> Option<Found<R>> {
        let (settings, best) = self.best?;
        Some(Found { settings, best, by_default: self.by_default?, trials: self.trials })
    }
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
