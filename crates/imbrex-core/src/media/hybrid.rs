//! Realms: a hybrid disk as ZBC-2 describes it, which turns from conventional to shingled one realm after another.
//!
//! A realm has a span of zones in each of two domains, and one of the spans is active. The zones of the other are
//! inactive: they can be neither read nor written. An activation of the other span destroys what the realm held. It is
//! the reset of a unit beyond the zones, and refused while a zone of the realm is read-only or offline, as is one of a
//! conventional span while a sequential zone of the realm is not empty.

use super::{Illegal, Media, appends, each_unit, in_place, readable, resettable, within};
use crate::block::{Extent, Pba, unit_and_offset};
use crate::layer::{Condition, UnitState};
use crate::plan::Unit;
use crate::zones::Realms;

/// A hybrid disk.
#[derive(Clone, Debug)]
pub struct Hybrid {
    realms: Realms,
    zones: Vec<UnitState>,
    /// For each realm, whether its sequential span is active.
    is_sequential: Vec<bool>,
}

impl Hybrid {
    /// A disk with these realms, all of them conventional, behind the conventional zones that belong to none.
    #[must_use]
    pub fn new(realms: Realms) -> Self {
        let conventional = realms.first.index + realms.all_conventional();
        let all = realms.first.index + realms.zones().count;
        let zones = (0..all).map(|zone| match zone < conventional {
            true => UnitState { condition: Condition::Conventional, pointer: realms.zone_blocks },
            false => INACTIVE,
        });
        Self { realms, zones: zones.collect(), is_sequential: vec![false; realms.count as usize] }
    }

    fn zone_of(&self, block: Pba) -> (Unit, u32) {
        let (index, offset) = unit_and_offset(block.block(), self.realms.zone_blocks);
        (self.unit(index), offset)
    }

    fn unit(&self, index: u32) -> Unit {
        Unit { device: self.realms.first.device, index }
    }

    /// Refuses a zone of a span that is not active, whatever else it is.
    fn active(&self, unit: Unit) -> Result<(), Illegal> {
        let Some(zone) = unit.index.checked_sub(self.realms.first.index) else { return Ok(()) };
        let is_sequential = self.is_sequential[self.realms.realm_of(zone) as usize];
        if is_sequential == (zone >= self.realms.all_conventional()) {
            return Ok(());
        }
        Err(Illegal::Bad { unit, condition: Condition::Inactive })
    }

    /// The zones of both spans of a realm.
    fn zones_of(&self, realm: u32) -> impl Iterator<Item = (Unit, UnitState)> + '_ {
        let zones = self.realms.conventional_of(realm).chain(self.realms.sequential_of(realm));
        zones.map(|zone| self.realms.zones().unit(zone)).map(|unit| (unit, self.zones[unit.index as usize]))
    }

    fn activate(&mut self, unit: Unit, realm: u32, sequential: bool) -> Result<(), Illegal> {
        if self.is_sequential[realm as usize] == sequential {
            return Err(Illegal::Active { unit, realm });
        }
        for (zone, is) in self.zones_of(realm) {
            match is.condition {
                condition @ (Condition::ReadOnly | Condition::Offline) => {
                    return Err(Illegal::Bad { unit: zone, condition });
                }
                Condition::Sequential if is.pointer > 0 => return Err(Illegal::NotEmpty { unit, zone }),
                Condition::Sequential | Condition::Conventional | Condition::Inactive => {}
            }
        }
        self.set_active(realm, sequential);
        Ok(())
    }
}

impl Media for Hybrid {
    fn blocks(&self) -> u64 {
        self.zones.len() as u64 * u64::from(self.realms.zone_blocks)
    }

    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal> {
        within(at, self.blocks())?;
        each_unit(at, self.realms.zone_blocks, |unit, offset, blocks| {
            self.active(unit)?;
            readable(at, unit, self.zones[unit.index as usize], offset + blocks)
        })
    }

    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal> {
        within(at, self.blocks())?;
        let (unit, offset) = self.zone_of(at.start);
        self.active(unit)?;
        let zone = &mut self.zones[unit.index as usize];
        match zone.condition {
            Condition::Conventional => in_place(at, self.realms.zone_blocks, &self.zones),
            Condition::Sequential => {
                appends(at, unit, offset, self.realms.zone_blocks, zone.pointer)?;
                zone.pointer += at.blocks;
                Ok(())
            }
            condition => Err(Illegal::Bad { unit, condition }),
        }
    }

    fn reset(&mut self, unit: Unit) -> Result<(), Illegal> {
        if let Some((realm, sequential)) = self.realms.activated_by(unit) {
            return self.activate(unit, realm, sequential);
        }
        resettable(unit, self.zones.get(unit.index as usize).map(|zone| zone.condition))?;
        self.set_pointer(unit, 0);
        Ok(())
    }

    /// Nothing: what a sequential zone holds lies before its pointer, and its realm's other span holds nothing.
    fn destroys(&self, _write: Extent<Pba>, _destroyed: &mut dyn FnMut(Extent<Pba>)) {}

    fn emptied_by(&self, unit: Unit, emptied: &mut dyn FnMut(Extent<Pba>)) {
        match self.realms.activated_by(unit) {
            Some((realm, _)) => {
                emptied(self.realms.conventional(realm));
                emptied(self.realms.sequential(realm));
            }
            None => emptied(self.extent_of(unit)),
        }
    }

    fn unit_of(&self, block: Pba) -> Unit {
        self.zone_of(block).0
    }

    /// The zone, or the span that a reset of the unit activates.
    fn extent_of(&self, unit: Unit) -> Extent<Pba> {
        match self.realms.activated_by(unit) {
            Some((realm, true)) => self.realms.sequential(realm),
            Some((realm, false)) => self.realms.conventional(realm),
            None => {
                let start = u64::from(unit.index) * u64::from(self.realms.zone_blocks);
                Extent::new(Pba::new(unit.device, start), self.realms.zone_blocks)
            }
        }
    }

    fn has_pointer(&self, unit: Unit) -> bool {
        unit.index >= self.realms.first.index + self.realms.all_conventional()
    }

    fn realms(&self) -> Option<Realms> {
        Some(self.realms)
    }

    fn report(&self) -> Vec<UnitState> {
        self.zones.clone()
    }

    fn set_pointer(&mut self, unit: Unit, pointer: u32) {
        debug_assert!(self.has_pointer(unit) && pointer <= self.realms.zone_blocks);
        self.zones[unit.index as usize].pointer = pointer;
    }

    fn set_active(&mut self, realm: u32, sequential: bool) {
        self.is_sequential[realm as usize] = sequential;
        let active = match sequential {
            true => UnitState { condition: Condition::Sequential, pointer: 0 },
            false => UnitState { condition: Condition::Conventional, pointer: self.realms.zone_blocks },
        };
        let spans = [(self.realms.sequential_of(realm), sequential), (self.realms.conventional_of(realm), !sequential)];
        for (zones, is_active) in spans {
            for zone in zones {
                let zone = &mut self.zones[self.realms.zones().unit(zone).index as usize];
                let UnitState { condition, pointer } = if is_active { active } else { INACTIVE };
                zone.pointer = pointer;
                if !matches!(zone.condition, Condition::ReadOnly | Condition::Offline) {
                    zone.condition = condition;
                }
            }
        }
    }

    fn copy(&self) -> Box<dyn Media> {
        Box::new(self.clone())
    }

    fn fail(&mut self, unit: Unit, condition: Condition) {
        self.zones[unit.index as usize].condition = condition;
    }
}

/// A zone of a span that is not the active one of its realm.
const INACTIVE: UnitState = UnitState { condition: Condition::Inactive, pointer: 0 };

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::footprint::Footprint;
    use crate::plan::Place;
    use crate::zones::RealmTimes;

    /// One zone of no realm, and three realms of 2 conventional zones or 3 sequential ones, of 10 blocks each.
    const REALMS: Realms = Realms {
        first: Unit { device: 1, index: 1 },
        count: 3,
        conventional_zones: 2,
        sequential_zones: 3,
        zone_blocks: 10,
        times: RealmTimes { positioning_ns: 0, block_ns: 0, turn_ns: 0, activation_ns: 0 },
    };

    fn at(block: u64, blocks: u32) -> Extent<Pba> {
        Extent::new(Pba::disk(block), blocks)
    }

    fn inactive(zone: u32) -> Result<(), Illegal> {
        Err(Illegal::Bad { unit: Unit::disk(zone), condition: Condition::Inactive })
    }

    #[test]
    fn a_new_disk_is_conventional_and_its_sequential_zones_are_inactive() {
        let mut d = Hybrid::new(REALMS);
        assert_eq!((d.blocks(), d.report().len()), (160, 16));
        assert_eq!(d.write(at(0, 70)), Ok(()), "across zones and realms");
        assert_eq!(d.write(at(5, 1)), Ok(()), "anywhere");
        assert_eq!(d.read(at(0, 70)), Ok(()));
        assert_eq!((d.write(at(70, 1)), d.read(at(70, 1))), (inactive(7), inactive(7)));
        assert_eq!((d.write(at(69, 2)), d.read(at(69, 2))), (inactive(7), inactive(7)));
        assert_eq!(d.reset(Unit::disk(7)), inactive(7));
        assert_eq!(d.reset(Unit::disk(1)), Err(Illegal::NoReset { unit: Unit::disk(1) }));
        assert!(matches!(d.write(at(155, 10)), Err(Illegal::Beyond { .. })));
    }

    #[test]
    fn an_activation_swaps_the_spans_of_its_realm_and_of_no_other() {
        let mut d = Hybrid::new(REALMS);
        let unit = REALMS.to_sequential(1);
        assert_eq!((unit, d.extent_of(unit)), (Unit::disk(17), at(100, 30)));
        assert_eq!(d.reset(unit), Ok(()));
        assert_eq!((d.write(at(30, 1)), d.read(at(49, 1))), (inactive(3), inactive(4)));
        assert_eq!((d.write(at(29, 2)), d.read(at(48, 5))), (inactive(3), inactive(4)));
        assert_eq!((d.write(at(10, 20)), d.write(at(50, 20))), (Ok(()), Ok(())), "the realms beside it");
        assert_eq!((d.write(at(99, 1)), d.write(at(130, 1))), (inactive(9), inactive(13)));
        assert_eq!(d.write(at(100, 4)), Ok(()));
        let off = Illegal::OffPointer { at: at(105, 1), unit: Unit::disk(10), pointer: 4 };
        assert_eq!(d.write(at(105, 1)), Err(off));
        assert!(matches!(d.read(at(100, 5)), Err(Illegal::Unwritten { pointer: 4, .. })));
        assert!(matches!(d.write(at(104, 7)), Err(Illegal::Crosses { .. })));
        assert_eq!((d.reset(Unit::disk(10)), d.write(at(100, 10))), (Ok(()), Ok(())));
        assert_eq!(d.reset(unit), Err(Illegal::Active { unit, realm: 1 }));
        let other = REALMS.to_conventional(0);
        assert_eq!(d.reset(other), Err(Illegal::Active { unit: other, realm: 0 }));
        assert_eq!(d.reset(Unit::disk(22)), Err(Illegal::NoReset { unit: Unit::disk(22) }), "beyond the last");
    }

    #[test]
    fn a_failed_zone_of_an_inactive_span_has_no_write_pointer() {
        let mut d = Hybrid::new(REALMS);
        d.reset(REALMS.to_sequential(1)).unwrap();
        d.write(at(100, 4)).unwrap();
        d.fail(Unit::disk(10), Condition::ReadOnly);
        assert_eq!(d.report()[10], UnitState { condition: Condition::ReadOnly, pointer: 4 });
        // The activation is lost with the power, and all that followed.
        d.set_active(1, false);
        assert_eq!(d.report()[10], UnitState { condition: Condition::ReadOnly, pointer: 0 });
        assert_eq!(d.read(at(100, 1)), inactive(10));
    }

    #[test]
    fn a_realm_turns_back_when_its_sequential_zones_are_empty() {
        let mut d = Hybrid::new(REALMS);
        d.reset(REALMS.to_sequential(2)).unwrap();
        d.write(at(140, 3)).unwrap();
        let unit = REALMS.to_conventional(2);
        assert_eq!(d.reset(unit), Err(Illegal::NotEmpty { unit, zone: Unit::disk(14) }));
        assert!(d.reset(unit).unwrap_err().to_string().contains("U1:14, a sequential zone of its realm"));
        d.reset(Unit::disk(14)).unwrap();
        assert_eq!(d.reset(unit), Ok(()));
        assert_eq!(d.report(), Hybrid::new(REALMS).report());
    }

    #[test]
    fn a_bad_zone_keeps_its_realm_as_it_is() {
        for (zone, condition) in [(1, Condition::Offline), (8, Condition::ReadOnly)] {
            let mut d = Hybrid::new(REALMS);
            d.fail(Unit::disk(zone), condition);
            let refused = Err(Illegal::Bad { unit: Unit::disk(zone), condition });
            assert_eq!(d.reset(REALMS.to_sequential(0)), refused);
            assert_eq!(d.reset(REALMS.to_sequential(1)), Ok(()));
            d.set_active(0, true);
            assert_eq!(d.report()[zone as usize].condition, condition, "a power cut repairs nothing");
            let first = at(u64::from(zone) * 10, 1);
            assert_eq!(d.read(first) == inactive(zone), zone == 1, "a bad zone can be inactive too");
        }
    }

    /// Whether a write of these blocks conflicts with the activation of a realm.
    fn meets(write: Extent<Pba>, realm: u32) -> bool {
        let d = Hybrid::new(REALMS);
        let of_write = Footprint::of_move(Place::Zero, Place::At(write.start), write.blocks, &d);
        [REALMS.to_sequential(realm), REALMS.to_conventional(realm)]
            .map(|unit| Footprint::of_reset(unit, &d).conflicts(&of_write))
            .iter()
            .all(|meets| *meets)
    }

    #[test]
    fn an_activation_touches_both_spans_and_the_pointers_there() {
        for (block, realm) in [(10, 0), (30, 1), (50, 2), (70, 0), (100, 1), (130, 2)] {
            for other in 0..3 {
                assert_eq!(meets(at(block, 1), other), realm == other, "block {block}, realm {other}");
            }
        }
        let d = Hybrid::new(REALMS);
        let [activation, back] = [REALMS.to_sequential(1), REALMS.to_conventional(1)];
        let of = |unit| Footprint::of_reset(unit, &d);
        assert!(of(activation).conflicts(&of(back)) && of(activation).conflicts(&of(Unit::disk(12))));
        assert!(!of(activation).conflicts(&of(Unit::disk(13))));
        assert!(!of(activation).conflicts(&of(REALMS.to_sequential(0))));
    }

    /// What happens to a disk: a write of blocks, or a reset of a unit.
    fn events() -> impl Strategy<Value = Vec<(bool, u64, u32)>> {
        prop::collection::vec((any::<bool>(), 0u64..160, 1u32..25), 0..200)
    }

    proptest! {
        /// Every block is in at most one usable zone, and the two spans of a realm are never usable together.
        #[test]
        fn one_span_of_a_realm_is_active(events in events()) {
            let mut d = Hybrid::new(REALMS);
            for (is_write, number, blocks) in events {
                let before = d.report();
                let done = match is_write {
                    true => d.write(at(number, blocks)),
                    false => d.reset(Unit::disk(number as u32 % 24)),
                };
                if done.is_err() {
                    prop_assert_eq!(d.report(), before, "a refusal changes nothing");
                }
                for realm in 0..3 {
                    let usable = |of: std::ops::Range<u32>| {
                        of.filter(|zone| d.read(at(u64::from(zone + 1) * 10, 0)).is_ok()
                            && d.report()[*zone as usize + 1].condition != Condition::Inactive).count()
                    };
                    let spans = (usable(REALMS.conventional_of(realm)), usable(REALMS.sequential_of(realm)));
                    prop_assert!(spans == (2, 0) || spans == (0, 3), "{:?}", spans);
                }
            }
        }
    }
}
