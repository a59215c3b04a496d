//! The logical blocks whose content could not be read when it had to move. Almost always empty.

use std::collections::BTreeSet;

use crate::block::{Extent, Lba};

/// A set of lost blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostBlocks {
    blocks: BTreeSet<Lba>,
}

impl LostBlocks {
    /// Whether no block is lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Adds blocks.
    pub fn insert(&mut self, at: Extent<Lba>) {
        self.blocks.extend(at.iter());
    }

    /// Takes blocks out: they have been overwritten.
    pub fn remove(&mut self, at: Extent<Lba>) {
        if !self.blocks.is_empty() {
            at.iter().for_each(|lba| {
                self.blocks.remove(&lba);
            });
        }
    }

    /// Whether a block of `at` is lost.
    #[must_use]
    pub fn any(&self, at: Extent<Lba>) -> bool {
        !self.blocks.is_empty() && self.blocks.range(at.start..at.end()).next().is_some()
    }

    /// Cuts `at` into runs that are lost or not, in order.
    pub fn runs(&self, at: Extent<Lba>, mut each: impl FnMut(Extent<Lba>, bool)) {
        let mut rest = at;
        while !rest.is_empty() {
            let lost = self.blocks.contains(&rest.start);
            let run = if lost {
                rest.iter().take_while(|lba| self.blocks.contains(lba)).count() as u32
            } else {
                let next = self.blocks.range(rest.start..rest.end()).next();
                next.map_or(rest.blocks, |&lba| (lba.0 - rest.start.0) as u32)
            };
            each(rest.first(run), lost);
            rest = rest.skip(run);
        }
    }

    /// The first lost block at or after `from`.
    #[must_use]
    pub fn next(&self, from: Lba) -> Option<Lba> {
        self.blocks.range(from..).next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_extents_into_runs() {
        let mut lost = LostBlocks::default();
        lost.insert(Extent::new(Lba(3), 2));
        lost.insert(Extent::new(Lba(9), 1));
        let mut runs = Vec::new();
        lost.runs(Extent::new(Lba(1), 9), |run, lost| runs.push((run.start.0, run.blocks, lost)));
        assert_eq!(runs, [(1, 2, false), (3, 2, true), (5, 4, false), (9, 1, true)]);
        lost.remove(Extent::new(Lba(0), 9));
        assert!(!lost.any(Extent::new(Lba(0), 9)) && lost.any(Extent::new(Lba(9), 5)));
        assert_eq!(lost.next(Lba(0)), Some(Lba(9)));
    }
}
