//! Which blocks hold something needed, where nearly all of them are as a rule says: what a write to a bottom track has
//! to save of the top tracks beside it.
//!
//! The rule is the caller's, who passes what it says of a block; kept are the exceptions. A block that is needed no
//! more is *released*, and stays pending until the record that says so is durable: until then a power cut may bring
//! back a need for it, so whatever destroys it has to come after that record.

use imbrex_core::memory::Memory;
use std::collections::BTreeMap;

use super::sparse_bitmap::SparseBitmap;

/// Exceptions from a rule, and what is pending.
#[derive(Clone, Debug)]
pub struct NeededBlocks {
    /// Blocks that are needed against the rule, or against it are not.
    turned: SparseBitmap,
    turned_blocks: u64,
    pending: SparseBitmap,
    pending_blocks: u64,
    /// Pending blocks that were released more than once, and how many times more.
    again: BTreeMap<u64, u32>,
}

impl NeededBlocks {
    /// The memory that it takes for `blocks` blocks.
    #[must_use]
    pub fn memory(&self, blocks: u64) -> Memory {
        self.turned.memory(blocks) + self.pending.memory(blocks)
    }

    /// `blocks` blocks, each as the rule says.
    #[must_use]
    pub fn new(blocks: u64) -> Self {
        Self {
            turned: SparseBitmap::new(blocks),
            turned_blocks: 0,
            pending: SparseBitmap::new(blocks),
            pending_blocks: 0,
            again: BTreeMap::new(),
        }
    }

    /// What is known of a block, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, block: u64) -> u64 {
        self.turned.prefetch(block) ^ self.pending.prefetch(block)
    }

    /// Whether `block` is needed, of which the rule says `ruled`.
    #[inline]
    #[must_use]
    pub fn is_needed(&self, block: u64, ruled: bool) -> bool {
        ruled != self.turned.contains(block)
    }

    /// `block`, of which the rule says `ruled`, is needed or not from now on.
    #[inline]
    pub fn set(&mut self, block: u64, ruled: bool, needed: bool) {
        if needed == ruled {
            self.turned_blocks -= u64::from(self.turned.remove(block));
        } else {
            self.turned_blocks += u64::from(self.turned.insert(block));
        }
    }

    /// `block`, of which the rule says `ruled`, is needed no more, which is durable when it is settled.
    #[inline]
    pub fn release(&mut self, block: u64, ruled: bool) {
        self.set(block, ruled, false);
        if self.pending.insert(block) {
            self.pending_blocks += 1;
        } else {
            *self.again.entry(block).or_insert(0) += 1;
        }
    }

    /// One release of each of these blocks that were released is durable.
    pub fn settle(&mut self, first: u64, blocks: u32) {
        let end = first + u64::from(blocks);
        let mut from = first;
        while let Some(block) = self.pending.next(from, end) {
            match self.again.get_mut(&block) {
                Some(times) if *times > 1 => *times -= 1,
                Some(_) => drop(self.again.remove(&block)),
                None => {
                    self.pending.remove(block);
                    self.pending_blocks -= 1;
                }
            }
            from = block + 1;
        }
    }

    /// All releases are durable.
    pub fn settle_all(&mut self) {
        let mut from = 0;
        while let Some(block) = self.pending.next(from, u64::MAX) {
            self.pending.remove(block);
            from = block + 1;
        }
        self.pending_blocks = 0;
        self.again.clear();
    }

    /// Whether one of these blocks is pending.
    #[inline]
    #[must_use]
    pub fn any_pending(&self, first: u64, blocks: u32) -> bool {
        self.pending_blocks > 0 && self.pending.next(first, first + u64::from(blocks)).is_some()
    }

    /// Calls `each` with every run of needed blocks among `blocks` blocks from `first`, of which the rule needs the
    /// first `ruled`.
    #[inline]
    pub fn runs(&self, first: u64, blocks: u32, ruled: u32, mut each: impl FnMut(u64, u32)) {
        let end = first + u64::from(blocks);
        if self.turned_blocks == 0 || self.turned.next(first, end).is_none() {
            if ruled > 0 {
                each(first, ruled);
            }
            return;
        }
        let mut run = (first, 0);
        for block in first..end {
            if self.is_needed(block, block - first < u64::from(ruled)) {
                run.1 += 1;
            } else {
                if run.1 > 0 {
                    each(run.0, run.1);
                }
                run = (block + 1, 0);
            }
        }
        if run.1 > 0 {
            each(run.0, run.1);
        }
    }

    /// The exceptions, ascending.
    pub fn exceptions(&self) -> impl Iterator<Item = u64> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = self.turned.next(from, u64::MAX)?;
            from = found + 1;
            Some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(needed: &NeededBlocks, first: u64, blocks: u32, ruled: u32) -> Vec<(u64, u32)> {
        let mut all = Vec::new();
        needed.runs(first, blocks, ruled, |first, blocks| all.push((first, blocks)));
        all
    }

    #[test]
    fn exceptions_part_what_the_rule_says() {
        let mut needed = NeededBlocks::new(100);
        assert_eq!((runs(&needed, 10, 8, 5), runs(&needed, 10, 8, 0)), (vec![(10, 5)], vec![]));
        needed.set(12, true, false);
        needed.set(15, false, true);
        needed.set(17, false, true);
        assert_eq!(runs(&needed, 10, 8, 5), [(10, 2), (13, 3), (17, 1)]);
        needed.set(12, true, true);
        needed.set(15, false, false);
        assert_eq!(needed.exceptions().collect::<Vec<_>>(), [17]);
        assert_eq!(runs(&needed, 10, 7, 5), [(10, 5)]);
    }

    #[test]
    fn a_block_is_pending_until_every_release_of_it_is_durable() {
        let mut needed = NeededBlocks::new(100);
        needed.release(5, true);
        needed.set(5, true, true);
        assert!(needed.any_pending(5, 1) && needed.is_needed(5, true), "it may be written again meanwhile");
        needed.release(5, true);
        needed.settle(0, 10);
        assert!(needed.any_pending(0, 10) && !needed.is_needed(5, true));
        needed.settle(5, 1);
        assert!(!needed.any_pending(0, 100));
        needed.release(7, true);
        needed.release(7, true);
        needed.settle_all();
        assert!(!needed.any_pending(0, 100));
        needed.release(7, true);
        needed.settle(7, 1);
        assert!(!needed.any_pending(7, 1), "what was settled with all others does not count");
    }
}
