//! Roles over a few slots, among them the documentation's worked example.

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
                let letter = if kind == GhostKind::Ghost { 'G' } else { 'H' };
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

/// The rows of the worked example in the layer's documentation: the write, R, Q and the cold buffer.
fn worked_example() -> Vec<[String; 4]> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/layers/amphisbaena.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| write | R")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('–', "")).collect();
    rows.map(|line| <Vec<String>>::try_into(cells(line)).unwrap()).collect()
}

#[test]
fn blocks_change_roles_as_in_the_worked_example() {
    let mut buffer = Buffer::new(LITTLE, 4);
    let example = worked_example();
    assert_eq!(example.len(), 10);
    for [write, recent, filter, cold] in example {
        let (blocks, label) = write.split_once(' ').unwrap();
        for block in blocks.split(',') {
            buffer.write(block.parse().unwrap(), label == "hot");
            buffer.check().unwrap();
        }
        assert_eq!(buffer.lists(), (recent, filter), "after {write}");
        let left: Vec<String> = buffer.cold.iter().map(u64::to_string).collect();
        assert_eq!(left.join(" "), cold, "after {write}");
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
