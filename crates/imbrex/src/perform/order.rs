//! The operations under way, and which of them wait for others: ordering rule 2.

use std::collections::{BTreeMap, BTreeSet};

use crate::footprint::Footprint;

struct Node {
    footprint: Footprint,
    blockers: u32,
    dependents: Vec<u64>,
}

/// The operations that have been planned and not yet completed, by sequence number.
#[derive(Default)]
pub(super) struct Order {
    nodes: BTreeMap<u64, Node>,
}

impl Order {
    /// Adds an operation with a higher number than any before; says whether it may start at once.
    pub fn add(&mut self, seq: u64, footprint: Footprint) -> bool {
        debug_assert!(self.nodes.last_key_value().is_none_or(|(last, _)| *last < seq));
        let mut blockers = 0;
        for node in self.nodes.values_mut() {
            if node.footprint.conflicts(&footprint) {
                node.dependents.push(seq);
                blockers += 1;
            }
        }
        self.nodes.insert(seq, Node { footprint, blockers, dependents: Vec::new() });
        blockers == 0
    }

    /// Completes an operation; `ready` is told which ones may start now.
    pub fn complete(&mut self, seq: u64, mut ready: impl FnMut(u64)) {
        let Some(node) = self.nodes.remove(&seq) else { return };
        for dependent in node.dependents {
            if let Some(node) = self.nodes.get_mut(&dependent) {
                node.blockers -= 1;
                if node.blockers == 0 {
                    ready(dependent);
                }
            }
        }
    }

    /// The numbers that have not completed, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.nodes.keys().copied()
    }

    /// Adds those that wait for some of `numbers`, or for one that does.
    pub fn add_waiting_for(&self, numbers: &[u64], waiting: &mut BTreeSet<u64>) {
        let mut next = numbers.to_vec();
        while let Some(number) = next.pop() {
            let dependents = self.nodes.get(&number).into_iter().flat_map(|node| &node.dependents);
            next.extend(dependents.filter(|dependent| waiting.insert(**dependent)));
        }
    }

    /// How many have not completed.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Pba;
    use crate::media::{Shingled, ZonedSpec};
    use crate::plan::{Place, Unit};

    #[test]
    fn conflicting_operations_wait_and_others_do_not() {
        let spec = ZonedSpec { zones: 4, zone_blocks: 10, conventional_zones: 1, max_open: 0, max_active: 0 };
        let media = Shingled::new(1, spec);
        let mv = |from, to| Footprint::of_move(from, to, 2, &media);
        let at = |block| Place::At(Pba::disk(block));
        let mut order = Order::default();
        assert!(order.add(0, mv(Place::Host(0), at(10))), "nothing before it");
        assert!(!order.add(1, mv(Place::Host(0), at(12))), "same write pointer");
        assert!(order.add(2, mv(Place::Host(0), at(20))), "another zone");
        assert!(!order.add(3, mv(at(10), Place::Host(0))), "reads what 0 writes");
        assert!(!order.add(4, mv(at(11), Place::Host(0))), "reads what 0 writes");
        assert!(!order.add(5, Footprint::of_reset(Unit::disk(1), &media)));
        let mut waiting = BTreeSet::new();
        order.add_waiting_for(&[0, 2], &mut waiting);
        assert_eq!(Vec::from_iter(waiting), [1, 3, 4, 5], "4 and 5 wait for 1 too");
        let mut ready = Vec::new();
        order.complete(0, |seq| ready.push(seq));
        assert_eq!(ready, [1, 3], "4 overlaps what 1 writes");
        [1, 3, 4].into_iter().for_each(|seq| order.complete(seq, |seq| ready.push(seq)));
        assert_eq!(ready, [1, 3, 4, 5]);
        assert_eq!((order.numbers().next(), order.len()), (Some(2), 2));
    }
}
