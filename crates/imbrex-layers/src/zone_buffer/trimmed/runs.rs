//! Blocks that clients have given up, as runs, for a layer that empties a whole unit once nothing in it is needed. To
//! forget one costs that chance and nothing else, so only a limited number is kept.

use std::collections::BTreeMap;

use imbrex_core::memory::Memory;

/// Runs that do not touch each other.
#[derive(Clone, Debug)]
pub(super) struct TrimmedRuns {
    /// Where each ends, by where it begins.
    runs: BTreeMap<u64, u64>,
    most: usize,
}

impl TrimmedRuns {
    /// None yet, and at most `most`.
    pub fn new(most: usize) -> Self {
        Self { runs: BTreeMap::new(), most }
    }

    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::tree::<(u64, u64)>(self.most as u64 + 1)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds the blocks from `from` to before `to`; a run that touches no other is left out when there are too many.
    pub fn insert(&mut self, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        while let Some((&start, &end)) = self.runs.range(..=to).next_back().filter(|(_, end)| **end >= from) {
            self.runs.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.keep(from, to);
    }

    /// Takes the blocks from `from` to before `to` out: they have been written.
    pub fn remove(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        while let Some((&start, &end)) = self.runs.range(..to).next_back().filter(|(_, end)| **end > from) {
            self.runs.remove(&start);
            self.keep(start, from);
            self.keep(to, end);
        }
    }

    /// Whether all blocks from `from` to before `to` are among them.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        from >= to || self.runs.range(..=from).next_back().is_some_and(|(_, end)| *end >= to)
    }

    fn keep(&mut self, from: u64, to: u64) {
        if from < to && self.runs.len() < self.most {
            self.runs.insert(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use imbrex_core::random::Random;

    #[test]
    fn runs_are_those_of_single_blocks() {
        let (mut runs, mut blocks, mut random) = (TrimmedRuns::new(1000), BTreeSet::new(), Random::new(7));
        for _ in 0..20_000 {
            let from = random.below(200);
            let to = from + random.below(12);
            if random.below(2) == 0 {
                runs.insert(from, to);
                blocks.extend(from..to);
            } else {
                runs.remove(from, to);
                blocks.retain(|block| !(from..to).contains(block));
            }
            let (from, to) = (random.below(200), random.below(220));
            assert_eq!(
                runs.covers(from, to),
                (from..to).all(|block| blocks.contains(&block)),
                "{runs:?}: {from}..{to}"
            );
            assert_eq!(runs.is_empty(), blocks.is_empty());
            assert!(runs.runs.iter().zip(runs.runs.keys().skip(1)).all(|((_, end), next)| end < next), "{runs:?}");
        }
    }

    #[test]
    fn what_is_too_much_is_forgotten_and_never_made_up() {
        let (mut runs, mut blocks, mut random) = (TrimmedRuns::new(4), BTreeSet::new(), Random::new(8));
        for _ in 0..20_000 {
            let from = random.below(100);
            let to = from + random.below(5);
            if random.below(3) > 0 {
                runs.insert(from, to);
                blocks.extend(from..to);
            } else {
                runs.remove(from, to);
                blocks.retain(|block| !(from..to).contains(block));
            }
            assert!(runs.runs.len() <= 4);
            assert!(runs.runs.iter().all(|(from, to)| (*from..*to).all(|block| blocks.contains(&block))), "{runs:?}");
        }
    }
}
