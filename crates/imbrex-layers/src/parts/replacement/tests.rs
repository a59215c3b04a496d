//! What holds for every policy, whatever happens to it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const SLOTS: u32 = 12;

#[derive(Copy, Clone, Debug)]
enum Act {
    /// The block is used: it comes if it is not there, and another block leaves for it if there is no room.
    Use(u64),
    Remove(u32),
    Hold(u32),
    /// The slots whose bit is set may leave.
    Sort(u32),
    Clear,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        40 => prop_oneof![0u64..8, 0u64..40].prop_map(Act::Use),
        3 => (0..SLOTS).prop_map(Act::Remove),
        6 => (0..SLOTS).prop_map(Act::Hold),
        3 => any::<u32>().prop_map(Act::Sort),
        1 => Just(Act::Clear),
    ]
}

fn size(capacity: u32, holds: bool) -> Size {
    Size { slots: SLOTS, capacity, holds, shares: Shares { s3_small: 0.2, lirs_hir: 0.2, lirs_ghosts: 0.8 } }
}

/// A cache without content.
struct Cache {
    order: Box<dyn Replacement>,
    slots: BTreeMap<u64, u32>,
    held: BTreeSet<u32>,
}

impl Cache {
    fn new(kind: PolicyKind, size: &Size) -> Self {
        Self { order: kind.policy(size), slots: BTreeMap::new(), held: BTreeSet::new() }
    }

    fn block_in(&self, slot: u32) -> Option<u64> {
        self.slots.iter().find(|(_, other)| **other == slot).map(|(&block, _)| block)
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Use(block) => self.touch(block),
            Act::Remove(slot) => {
                if let Some(block) = self.block_in(slot) {
                    self.slots.remove(&block);
                    self.held.remove(&slot);
                    self.order.removed(slot);
                }
            }
            Act::Hold(slot) => {
                if self.block_in(slot).is_some() {
                    self.held.insert(slot);
                    self.order.hold(slot);
                }
            }
            Act::Sort(bits) => {
                let may_leave = |slot: u32| bits >> slot & 1 == 1;
                self.held = self.slots.values().copied().filter(|&slot| !may_leave(slot)).collect();
                self.order.sort(&may_leave);
            }
            Act::Clear => {
                self.order.clear();
                self.slots.clear();
                self.held.clear();
            }
        }
    }

    fn touch(&mut self, block: u64) {
        if let Some(&slot) = self.slots.get(&block) {
            return self.order.touched(slot);
        }
        self.order.wanted(Lba(block));
        if self.slots.len() == SLOTS as usize {
            let Some(slot) = self.coldest() else { return };
            let leaves = self.block_in(slot).expect("the coldest holds a block");
            self.slots.remove(&leaves);
            self.order.evicted(slot, Lba(leaves));
        }
        let slot = (0..SLOTS).find(|&slot| self.block_in(slot).is_none()).expect("there is room");
        self.slots.insert(block, slot);
        self.order.inserted(slot, Lba(block));
    }

    /// Asking changes nothing, and finds a block that may leave.
    fn coldest(&mut self) -> Option<u32> {
        let (first, again) = (self.order.coldest(), self.order.coldest());
        assert_eq!(first, again);
        assert_eq!(first.is_some(), self.held.len() < self.slots.len());
        assert!(first.is_none_or(|slot| self.block_in(slot).is_some() && !self.held.contains(&slot)));
        first
    }

    fn check(&mut self) {
        self.order.check().unwrap();
        self.coldest();
        self.order.check().unwrap();
        for slot in 0..SLOTS {
            let is = (self.block_in(slot).is_some(), !self.held.contains(&slot));
            assert_eq!((self.order.queues().contains(slot), self.order.queues().may_leave(slot)), is);
        }
        assert_eq!(self.order.queues().total() as usize, self.slots.len());
    }
}

proptest! {
    #[test]
    fn policies_keep_their_invariants(acts in prop::collection::vec(act(), 1..400), capacity in SLOTS / 2..=SLOTS) {
        for kind in PolicyKind::ALL {
            let mut cache = Cache::new(kind, &size(capacity, true));
            for &act in &acts {
                cache.act(act);
                cache.check();
            }
        }
    }

    /// What may always leave is in the order of a policy that knows of no holding; and holding back and letting go at
    /// once is as if nothing had happened, but for a hand that was there.
    #[test]
    fn holding_leaves_the_order_alone(
        blocks in prop::collection::vec(prop_oneof![0u64..8, 0u64..40], 1..400),
        held in prop::collection::vec(any::<bool>(), 400),
    ) {
        for kind in PolicyKind::ALL {
            let mut plain = Cache::new(kind, &size(SLOTS, false));
            let mut sorted = Cache::new(kind, &size(SLOTS, true));
            for (&block, &hold) in blocks.iter().zip(&held) {
                plain.touch(block);
                sorted.touch(block);
                let coldest = sorted.coldest();
                let other = (0..SLOTS).find(|&slot| Some(slot) != coldest && sorted.block_in(slot).is_some());
                if let Some(other) = other.filter(|_| hold) {
                    sorted.act(Act::Hold(other));
                    sorted.act(Act::Sort(u32::MAX));
                }
                prop_assert_eq!(&plain.slots, &sorted.slots);
                prop_assert_eq!(plain.coldest(), sorted.coldest());
            }
        }
    }
}
