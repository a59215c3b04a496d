//! Ordering rule 2: operations that touch the same blocks run in planning order, everything else may run at once.

use std::collections::BTreeMap;

use crate::block::{Address, Extent, Pba};
use crate::media::Media;
use crate::plan::{Place, Unit};

/// Something an operation reads or changes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Touch {
    Blocks {
        at: Extent<Pba>,
        write: bool,
    },
    /// The write pointer of a unit; always changed.
    Pointer(Unit),
}

impl Touch {
    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Blocks { at, write }, Self::Blocks { at: b, write: w }) => (*write || *w) && at.overlaps(b),
            (Self::Pointer(a), Self::Pointer(b)) => a == b,
            _ => false,
        }
    }
}

/// All that an operation touches.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprint(Vec<Touch>);

impl Footprint {
    /// Of a Move.
    pub fn of_move(from: Place, to: Place, blocks: u32, media: &dyn Media) -> Self {
        let mut touches = Vec::new();
        if let Place::At(from) = from {
            touches.push(Touch::Blocks { at: Extent::new(from, blocks), write: false });
        }
        if let Place::At(to) = to {
            let at = Extent::new(to, blocks);
            touches.push(Touch::Blocks { at, write: true });
            if !to.is_ram() {
                media.destroys(at, &mut |at| touches.push(Touch::Blocks { at, write: true }));
                let last = media.unit_of(to.plus(u64::from(blocks) - 1));
                for index in media.unit_of(to).index..=last.index {
                    let unit = Unit { device: to.device(), index };
                    if media.has_pointer(unit) {
                        touches.push(Touch::Pointer(unit));
                    }
                }
            }
        }
        Self(touches)
    }

    /// Of a Reset.
    pub fn of_reset(unit: Unit, media: &dyn Media) -> Self {
        Self(vec![Touch::Blocks { at: media.extent_of(unit), write: true }, Touch::Pointer(unit)])
    }

    fn conflicts(&self, other: &Self) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| a.conflicts(b)))
    }
}

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

    /// The lowest number that has not completed.
    pub fn oldest(&self) -> Option<u64> {
        self.nodes.first_key_value().map(|(seq, _)| *seq)
    }

    /// How many have not completed.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{Shingled, ZonedSpec};

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
        let mut ready = Vec::new();
        order.complete(0, |seq| ready.push(seq));
        assert_eq!(ready, [1, 3], "4 overlaps what 1 writes");
        [1, 3, 4].into_iter().for_each(|seq| order.complete(seq, |seq| ready.push(seq)));
        assert_eq!(ready, [1, 3, 4, 5]);
        assert_eq!((order.oldest(), order.len()), (Some(2), 2));
    }
}
