//! Writes of the layer above that come later than what is asked next, and for which nobody waits: copies of what another
//! device is still reading. Requests that come before them go first.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use imbrex_core::block::{Extent, Lba};

/// The writes, in the order in which they come.
#[derive(Default)]
pub(super) struct Later {
    writes: VecDeque<(u64, Extent<Lba>)>,
    /// How many of them write a block, so that no request has to look at all of them.
    of_block: HashMap<Lba, u32>,
}

impl Later {
    /// A write of `at` comes at `from_ns`, and not before those that were added.
    pub(super) fn add(&mut self, at: Extent<Lba>, from_ns: u64) {
        let last_ns = self.writes.back().map_or(0, |(last_ns, _)| *last_ns);
        self.writes.push_back((from_ns.max(last_ns), at));
        at.iter().for_each(|lba| *self.of_block.entry(lba).or_default() += 1);
    }

    /// Takes the first write that comes before a request that comes at `now_ns`, and when that is: one that is there by
    /// then, or that the request has to wait for since it asks for one of the same blocks.
    pub(super) fn take_before(&mut self, now_ns: u64, request: Option<Extent<Lba>>) -> Option<(u64, Extent<Lba>)> {
        let (from_ns, at) = *self.writes.front()?;
        let is_waited_for =
            || request.is_some_and(|request| request.iter().any(|lba| self.of_block.contains_key(&lba)));
        if from_ns > now_ns && !is_waited_for() {
            return None;
        }
        self.writes.pop_front();
        for lba in at.iter() {
            if let Entry::Occupied(mut writes) = self.of_block.entry(lba) {
                *writes.get_mut() -= 1;
                if *writes.get() == 0 {
                    writes.remove();
                }
            }
        }
        Some((from_ns, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(start: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(start), blocks)
    }

    #[test]
    fn a_write_comes_when_it_is_there_or_asked_for() {
        let mut later = Later::default();
        assert_eq!(later.take_before(u64::MAX, None), None);
        for (start, from_ns) in [(0, 10), (20, 5), (40, 30)] {
            later.add(blocks(start, 8), from_ns);
        }
        assert_eq!(later.take_before(9, Some(blocks(8, 12))), None, "it asks for none of them");
        assert_eq!(later.take_before(10, None), Some((10, blocks(0, 8))));
        assert_eq!(later.take_before(10, None), Some((10, blocks(20, 8))), "in order");
        assert_eq!(later.take_before(29, None), None);
        later.add(blocks(60, 8), 31);
        assert_eq!(later.take_before(12, Some(blocks(67, 1))), Some((30, blocks(40, 8))), "what stands before it");
        assert_eq!(later.take_before(12, Some(blocks(67, 1))), Some((31, blocks(60, 8))));
        assert_eq!(later.take_before(u64::MAX, None), None);
    }
}
