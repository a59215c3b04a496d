//! Phase 2: the roles of blocks, by how soon they are written again (LIRS on writes).
//!
//! The resident list R orders blocks of all roles by their last write; the filter list Q holds the LUP blocks, in the
//! order in which they leave. A block in the hot buffer goes by its slot; what is only remembered goes by a number behind
//! the slots.

use super::config::{DemoteTo, DemoteWhen, RoleRules};
use super::remembered::{Kind, Remembered};
use crate::block::Lba;
use crate::layer::Violation;
use crate::parts::recency::RecencyList;

pub(super) struct Roles {
    rules: RoleRules,
    /// R.
    recent: RecencyList,
    /// Q.
    filter: RecencyList,
    remembered: Remembered,
    slots: u32,
    /// SUP blocks, and how many there may be.
    sup: u32,
    most_sup: u32,
}

impl Roles {
    /// Nobody has a role. The hot buffer never has more than `most` of the `slots`.
    pub fn new(rules: RoleRules, capacity: u64, slots: u32, most: u32) -> Self {
        let remembered = Remembered::new(capacity, rules.remembered(most));
        Self {
            rules,
            recent: RecencyList::new(slots + remembered.room()),
            filter: RecencyList::new(slots),
            remembered,
            slots,
            sup: 0,
            most_sup: 0,
        }
    }

    /// The hot buffer has `hot` slots now.
    pub fn resize(&mut self, hot: u32) {
        let share = (self.rules.lambda * f64::from(hot)).round() as u32;
        self.most_sup = if self.rules.phase_two { hot - share.clamp(1, hot.max(1)).min(hot) } else { 0 };
        self.remembered.set_limit(self.rules.remembered(hot).unwrap_or(u32::MAX));
        while self.sup > self.most_sup {
            self.demote_bottom();
        }
        self.keep_limit(0);
    }

    /// The block in `slot` has been written again.
    #[inline]
    pub fn hit(&mut self, slot: u32) {
        if !self.rules.phase_two {
            self.filter.renew(slot);
        } else if self.filter.contains(slot) {
            self.promote(slot);
        } else {
            let is_bottom = self.recent.oldest() == Some(slot);
            self.recent.renew(slot);
            if is_bottom {
                self.prune();
            }
        }
    }

    fn promote(&mut self, slot: u32) {
        self.filter.remove(slot);
        let was_recent = self.recent.contains(slot);
        if was_recent {
            self.recent.renew(slot);
        } else {
            self.recent.push(slot);
        }
        self.sup += 1;
        let demotes = match self.rules.demote_when {
            DemoteWhen::Surplus => self.sup > self.most_sup,
            DemoteWhen::Literal => was_recent,
        };
        if demotes {
            self.demote_bottom();
        }
    }

    /// Whether the block, which is not in the hot buffer, is remembered.
    #[inline]
    pub fn is_remembered(&self, lba: Lba) -> bool {
        self.remembered.find(lba).is_some()
    }

    /// A block has come into `slot` of the hot buffer. Says whether it was a ghost.
    #[inline]
    pub fn enter(&mut self, lba: Lba, slot: u32) -> bool {
        if !self.rules.phase_two {
            self.filter.push(slot);
            return false;
        }
        let known = self.remembered.find(lba);
        if let Some((number, _)) = known {
            self.drop_remembered(number);
        }
        self.recent.push(slot);
        match known {
            Some((_, Kind::Ghost)) => {
                self.sup += 1;
                if self.rules.demote_when == DemoteWhen::Surplus && self.sup > self.most_sup {
                    self.demote_bottom();
                }
                return true;
            }
            None if self.sup < self.most_sup => self.sup += 1,
            Some((_, Kind::Shadow)) | None => {
                self.filter.push(slot);
                self.prune();
            }
        }
        false
    }

    /// A block has been refused by the hot buffer.
    #[inline]
    pub fn refuse(&mut self, lba: Lba) {
        if self.sup > 0
            && !self.is_remembered(lba)
            && let Some(number) = self.remember(lba, Kind::Shadow)
        {
            self.recent.push(self.slots + number);
        }
    }

    /// The block that leaves next.
    pub fn next_out(&mut self) -> Option<u32> {
        if self.filter.is_empty() && self.sup > 0 {
            self.demote_bottom();
        }
        self.filter.oldest()
    }

    /// Whether the block in `slot` is one that may leave.
    pub fn may_leave(&self, slot: u32) -> bool {
        self.filter.contains(slot)
    }

    /// The block in `slot`, which may, has left.
    pub fn leave(&mut self, slot: u32, lba: Lba) {
        self.filter.remove(slot);
        if !self.recent.contains(slot) {
            return;
        }
        match self.remember(lba, Kind::Ghost) {
            Some(number) => self.recent.replace(slot, self.slots + number),
            None => self.recent.remove(slot),
        }
    }

    /// Whether the block in `slot` has a role.
    #[inline]
    pub fn holds(&self, slot: u32) -> bool {
        self.filter.contains(slot) || self.recent.contains(slot)
    }

    /// Nothing is in `slot` any more.
    pub fn forget(&mut self, slot: u32) {
        if self.filter.contains(slot) {
            self.filter.remove(slot);
        } else {
            self.sup -= 1;
        }
        if self.recent.contains(slot) {
            self.recent.remove(slot);
            self.prune();
        }
    }

    /// The block in `from` lies in `to` now.
    pub fn moved(&mut self, from: u32, to: u32) {
        for list in [&mut self.filter, &mut self.recent] {
            if list.contains(from) {
                list.replace(from, to);
            }
        }
    }

    /// After a crash nobody has a role and nothing is remembered.
    pub fn clear(&mut self) {
        while let Some(number) = self.remembered.oldest() {
            self.remembered.remove(number);
        }
        self.recent.clear();
        self.filter.clear();
        self.sup = 0;
    }

    /// The SUP block at the bottom of R becomes LUP.
    fn demote_bottom(&mut self) {
        let Some(bottom) = self.recent.oldest() else { return };
        debug_assert!(bottom < self.slots && !self.filter.contains(bottom));
        self.recent.remove(bottom);
        self.sup -= 1;
        match self.rules.demote_to {
            DemoteTo::Lru => self.filter.push_oldest(bottom),
            DemoteTo::Mru => self.filter.push(bottom),
        }
        self.prune();
    }

    /// Removes what lies under the last SUP block of R.
    #[inline]
    fn prune(&mut self) {
        while let Some(bottom) = self.recent.oldest() {
            if bottom >= self.slots {
                self.drop_remembered(bottom - self.slots);
            } else if self.filter.contains(bottom) {
                self.recent.remove(bottom);
            } else {
                break;
            }
        }
    }

    fn remember(&mut self, lba: Lba, kind: Kind) -> Option<u32> {
        if self.remembered.limit() == 0 {
            return None;
        }
        self.keep_limit(1);
        let number = self.remembered.add(lba, kind);
        self.recent.widen(self.slots + self.remembered.room());
        Some(number)
    }

    /// Forgets what was remembered first until there is room for `more`.
    fn keep_limit(&mut self, more: u32) {
        while self.remembered.len() + more > self.remembered.limit() {
            let Some(number) = self.remembered.oldest() else { return };
            self.drop_remembered(number);
        }
    }

    fn drop_remembered(&mut self, number: u32) {
        self.recent.remove(self.slots + number);
        self.remembered.remove(number);
    }

    /// Verifies the invariants I1 to I4 for a hot buffer of `hot` slots that is holding `live` blocks.
    pub fn check(&self, hot: u32, live: u32) -> Result<(), Violation> {
        let wrong = |what: String| Err(Violation(what));
        let is_sup = |id: u32| id < self.slots && !self.filter.contains(id);
        if self.recent.oldest().is_some_and(|bottom| !is_sup(bottom)) {
            return wrong("I1: the bottom of R is not SUP".to_owned());
        }
        let sup = self.recent.in_order().filter(|&id| is_sup(id)).count() as u32;
        if sup != self.sup || sup + self.filter.len() != live {
            let lup = self.filter.len();
            return wrong(format!("I2: {sup} SUP, counted {}, and {lup} LUP for {live} blocks", self.sup));
        }
        let remembered = self.recent.in_order().filter(|&id| id >= self.slots).count() as u32;
        if remembered != self.remembered.len() || remembered > self.remembered.limit() {
            let (counted, limit) = (self.remembered.len(), self.remembered.limit());
            return wrong(format!("I3: R has {remembered} that are remembered, counted {counted}, of at most {limit}"));
        }
        let is_bounded = self.rules.demote_when == DemoteWhen::Surplus;
        if (is_bounded && sup > self.most_sup) || live > hot {
            return wrong(format!("I4: {sup} SUP of at most {}, {live} blocks in {hot} slots", self.most_sup));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const LITTLE: RoleRules = RoleRules {
        phase_two: true,
        lambda: 0.25,
        demote_to: DemoteTo::Lru,
        demote_when: DemoteWhen::Surplus,
        most_remembered: 2.0,
    };

    /// Roles over a hot buffer of a few slots, of which the lowest free one is taken.
    struct Buffer {
        roles: Roles,
        slots: Vec<Option<Lba>>,
        /// What has left, in order, without what has come back.
        cold: Vec<u64>,
    }

    impl Buffer {
        fn new(rules: RoleRules, slots: u32) -> Self {
            let mut roles = Roles::new(rules, 1 << 20, slots, slots);
            roles.resize(slots);
            Self { roles, slots: vec![None; slots as usize], cold: Vec::new() }
        }

        fn slot_of(&self, block: u64) -> Option<u32> {
            self.slots.iter().position(|held| *held == Some(Lba(block))).map(|slot| slot as u32)
        }

        fn write(&mut self, block: u64, hot: bool) {
            let lba = Lba(block);
            if let Some(slot) = self.slot_of(block) {
                self.roles.hit(slot);
            } else if hot || self.roles.is_remembered(lba) {
                let slot = self.free_slot();
                self.slots[slot as usize] = Some(lba);
                self.roles.enter(lba, slot);
                self.cold.retain(|cold| *cold != block);
            } else {
                self.cold.retain(|cold| *cold != block);
                self.cold.push(block);
                self.roles.refuse(lba);
            }
        }

        fn free_slot(&mut self) -> u32 {
            if let Some(slot) = self.slots.iter().position(Option::is_none) {
                return slot as u32;
            }
            let slot = self.roles.next_out().unwrap();
            let lba = self.slots[slot as usize].take().unwrap();
            self.roles.leave(slot, lba);
            self.cold.push(lba.0);
            slot
        }

        /// R from the bottom up, and Q from the end that leaves next.
        fn lists(&self) -> (String, String) {
            let roles = &self.roles;
            let remembered: BTreeMap<u32, String> = (0..1 << 10)
                .filter_map(|block| {
                    let (number, kind) = roles.remembered.find(Lba(block))?;
                    let letter = if kind == Kind::Ghost { 'G' } else { 'H' };
                    Some((roles.slots + number, format!("{block}{letter}")))
                })
                .collect();
            let block = |slot: u32| self.slots[slot as usize].unwrap().0;
            let recent = roles.recent.in_order().map(|id| match remembered.get(&id) {
                Some(name) => name.clone(),
                None => format!("{}{}", block(id), if roles.filter.contains(id) { 'L' } else { 'S' }),
            });
            let filter = roles.filter.in_order().map(|slot| block(slot).to_string());
            (recent.collect::<Vec<_>>().join(" "), filter.collect::<Vec<_>>().join(" "))
        }

        fn check(&self) -> Result<(), Violation> {
            let live = self.slots.iter().flatten().count() as u32;
            self.roles.check(self.slots.len() as u32, live)
        }
    }

    #[test]
    fn blocks_change_roles_step_by_step() {
        let mut buffer = Buffer::new(LITTLE, 4);
        (1..4).for_each(|block| buffer.write(block, true));
        let steps: [(u64, bool, &str, &str, &[u64]); 9] = [
            (4, true, "1S 2S 3S 4L", "4", &[]),
            (5, true, "1S 2S 3S 4G 5L", "5", &[4]),
            (1, true, "2S 3S 4G 5L 1S", "5", &[4]),
            (5, true, "3S 4G 1S 5S", "2", &[4]),
            (4, true, "1S 5S 4S", "3", &[2]),
            (6, false, "1S 5S 4S 6H", "3", &[2, 6]),
            (6, false, "1S 5S 4S 6L", "6", &[2, 3]),
            (2, true, "1S 5S 4S 6G 2L", "2", &[3, 6]),
            (9, false, "1S 5S 4S 6G 2L 9H", "2", &[3, 6, 9]),
        ];
        for (block, hot, recent, filter, cold) in steps {
            buffer.write(block, hot);
            assert_eq!(buffer.lists(), (recent.to_owned(), filter.to_owned()), "after {block}");
            assert_eq!(buffer.cold, cold, "after {block}");
            buffer.check().unwrap();
        }
    }

    #[test]
    fn what_is_demoted_may_leave_last() {
        let mut buffer = Buffer::new(RoleRules { demote_to: DemoteTo::Mru, lambda: 0.5, ..LITTLE }, 4);
        [1, 2, 3, 4, 3].into_iter().for_each(|block| buffer.write(block, true));
        assert_eq!(buffer.lists(), ("2S 4L 3S".to_owned(), "4 1".to_owned()));
        let mut buffer = Buffer::new(RoleRules { lambda: 0.5, ..LITTLE }, 4);
        [1, 2, 3, 4, 3].into_iter().for_each(|block| buffer.write(block, true));
        assert_eq!(buffer.lists(), ("2S 4L 3S".to_owned(), "1 4".to_owned()));
    }

    #[test]
    fn memory_of_what_is_gone_is_bounded() {
        let remembered = |most| {
            let mut buffer = Buffer::new(RoleRules { most_remembered: most, ..LITTLE }, 40);
            (0..10_000).for_each(|block| buffer.write(block, true));
            buffer.check().unwrap();
            buffer.roles.remembered.len()
        };
        assert_eq!([0.0, 0.5, 2.0].map(remembered), [0, 20, 80]);
        assert_eq!(remembered(f64::INFINITY), 10_000 - 40, "everything but what is in the buffer");
    }

    #[test]
    fn without_the_second_phase_the_least_recently_written_leaves() {
        let mut buffer = Buffer::new(RoleRules { phase_two: false, ..LITTLE }, 3);
        [1, 2, 3, 1, 4, 2].into_iter().for_each(|block| buffer.write(block, true));
        assert_eq!(buffer.lists(), (String::new(), "1 4 2".to_owned()));
        assert_eq!(buffer.cold, [3]);
        buffer.check().unwrap();
    }

    #[test]
    fn wrong_lists_are_noticed() {
        let broken = |spoil: fn(&mut Roles)| {
            let mut buffer = Buffer::new(LITTLE, 4);
            [1, 2, 3, 4, 5].into_iter().for_each(|block| buffer.write(block, true));
            buffer.check().unwrap();
            spoil(&mut buffer.roles);
            buffer.check().unwrap_err().0[..2].to_owned()
        };
        assert_eq!(broken(|roles| roles.filter.push(0)), "I1");
        assert_eq!(broken(|roles| roles.sup = 2), "I2");
        assert_eq!(broken(|roles| roles.remembered.set_limit(0)), "I3");
        assert_eq!(broken(|roles| roles.most_sup = 2), "I4");
    }

    proptest! {
        #[test]
        fn the_invariants_hold(
            steps in prop::collection::vec((0u64..60, any::<bool>()), 1..400),
            slots in 1u32..20,
            lambda in 0.0..1.0,
            most_remembered in prop_oneof![Just(f64::INFINITY), 0.0..3.0],
            (mru, literal) in (any::<bool>(), any::<bool>()),
        ) {
            let demote_to = if mru { DemoteTo::Mru } else { DemoteTo::Lru };
            let demote_when = if literal { DemoteWhen::Literal } else { DemoteWhen::Surplus };
            let rules = RoleRules { phase_two: true, lambda, demote_to, demote_when, most_remembered };
            let mut buffer = Buffer::new(rules, slots);
            for (block, hot) in steps {
                // Some blocks are written more often than others.
                buffer.write(block * block / 60, hot);
                prop_assert_eq!(buffer.check(), Ok(()));
            }
        }
    }
}
