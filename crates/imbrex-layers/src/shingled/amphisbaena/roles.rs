//! Phase 2: the roles of blocks, by how soon they are written again (LIRS on writes).
//!
//! The resident list R orders blocks of all roles by their last write; the filter list Q holds the LUP blocks, in the
//! order in which they leave. A block in the hot buffer goes by its slot; what is only remembered goes by a number
//! behind the slots.

use super::config::{DemoteTo, DemoteWhen, RoleRules};
use super::remembered::{GhostKind, Remembered};
use crate::parts::recency::RecencyList;
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

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
    /// The memory that it takes for blocks below `capacity`.
    pub fn memory(&self, capacity: u64) -> Memory {
        // What is only remembered is in the resident list too.
        let recent = match self.remembered.is_limited() {
            true => self.recent.memory(),
            false => Memory::growing::<[u32; 2]>(u64::from(self.slots) + capacity),
        };
        recent + self.filter.memory() + self.remembered.memory(capacity)
    }

    /// No block has a role. The hot buffer never has more than `most` of the `slots`.
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
        let is_surplus = self.sup > self.most_sup;
        let demotes = match self.rules.demote_when {
            DemoteWhen::Surplus => is_surplus,
            DemoteWhen::Hit => was_recent || is_surplus,
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
            Some((_, GhostKind::Ghost)) => {
                self.sup += 1;
                if self.rules.demote_when != DemoteWhen::Literal && self.sup > self.most_sup {
                    self.demote_bottom();
                }
                return true;
            }
            None if self.sup < self.most_sup => self.sup += 1,
            Some((_, GhostKind::Shadow)) | None => {
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
            && let Some(number) = self.remember(lba, GhostKind::Shadow)
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
        match self.remember(lba, GhostKind::Ghost) {
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

    /// After a crash no block has a role and nothing is remembered.
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

    fn remember(&mut self, lba: Lba, kind: GhostKind) -> Option<u32> {
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
        let is_bounded = self.rules.demote_when != DemoteWhen::Literal;
        if (is_bounded && sup > self.most_sup) || live > hot {
            return wrong(format!("I4: {sup} SUP of at most {}, {live} blocks in {hot} slots", self.most_sup));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
