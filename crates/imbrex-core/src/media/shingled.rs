//! Shingled zones: a zoned disk as ZBC/ZAC describes it, with conventional zones first and then sequential ones.
//!
//! A sequential zone is written at its write pointer only and read below it. At most `max_open` zones are open; a write
//! to another one closes the zone opened longest ago, which costs nothing and loses nothing (implicit open and close).
//! At most `max_active` zones hold data without being full; a write that would make one more is refused. 0 means no
//! limit, for both.

use std::collections::VecDeque;

use super::{Illegal, Media, appends, each_unit, in_place, readable, resettable, within};
use crate::block::{Extent, Pba, unit_and_offset};
use crate::layer::{Condition, UnitState};
use crate::plan::Unit;

/// The shape of a zoned disk.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ZonedSpec {
    /// Zones in all, conventional ones included.
    pub zones: u32,
    /// Blocks of a zone.
    pub zone_blocks: u32,
    /// How many zones from the front are conventional.
    pub conventional_zones: u32,
    /// Zones that can be open at once; 0 for no limit.
    pub max_open: u32,
    /// Zones that can hold data without being full; 0 for no limit.
    pub max_active: u32,
}

/// A host-managed zoned disk.
#[derive(Clone, Debug)]
pub struct Shingled {
    device: u8,
    spec: ZonedSpec,
    zones: Vec<UnitState>,
    /// Zones written and not closed, longest open first; bounded by `max_open`, empty without such a limit.
    open: VecDeque<u32>,
    active: u32,
}

impl Shingled {
    /// An empty disk of that shape that is device `device`.
    #[must_use]
    pub fn new(device: u8, spec: ZonedSpec) -> Self {
        let zones = (0..spec.zones)
            .map(|zone| {
                if zone < spec.conventional_zones {
                    UnitState { condition: Condition::Conventional, pointer: spec.zone_blocks }
                } else {
                    UnitState { condition: Condition::Sequential, pointer: 0 }
                }
            })
            .collect();
        Self { device, spec, zones, open: VecDeque::new(), active: 0 }
    }

    /// The shape.
    #[must_use]
    pub fn spec(&self) -> ZonedSpec {
        self.spec
    }

    fn zone_of(&self, block: Pba) -> (u32, u32) {
        unit_and_offset(block.block(), self.spec.zone_blocks)
    }

    fn unit(&self, zone: u32) -> Unit {
        Unit { device: self.device, index: zone }
    }

    fn is_active(&self, zone: u32) -> bool {
        let z = self.zones[zone as usize];
        z.condition == Condition::Sequential && z.pointer > 0 && z.pointer < self.spec.zone_blocks
    }

    fn recount(&mut self, zone: u32, was_active: bool) {
        let is_active = self.is_active(zone);
        self.active = self.active + u32::from(is_active) - u32::from(was_active);
        if self.spec.max_open == 0 {
            return;
        }
        if !is_active {
            self.open.retain(|&z| z != zone);
        } else if !self.open.contains(&zone) {
            if self.open.len() == self.spec.max_open as usize {
                self.open.pop_front();
            }
            self.open.push_back(zone);
        }
    }

    fn write_sequential(&mut self, zone: u32, offset: u32, at: Extent<Pba>) -> Result<(), Illegal> {
        let unit = self.unit(zone);
        let pointer = self.zones[zone as usize].pointer;
        appends(at, unit, offset, self.spec.zone_blocks, pointer)?;
        let was_active = self.is_active(zone);
        let full = pointer + at.blocks == self.spec.zone_blocks;
        if !was_active && !full && self.spec.max_active > 0 && self.active >= self.spec.max_active {
            return Err(Illegal::TooManyActive { unit, limit: self.spec.max_active });
        }
        self.zones[zone as usize].pointer += at.blocks;
        self.recount(zone, was_active);
        Ok(())
    }
}

impl Media for Shingled {
    fn blocks(&self) -> u64 {
        u64::from(self.spec.zones) * u64::from(self.spec.zone_blocks)
    }

    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal> {
        within(at, self.blocks())?;
        each_unit(at, self.spec.zone_blocks, |unit, offset, blocks| {
            readable(at, unit, self.zones[unit.index as usize], offset + blocks)
        })
    }

    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal> {
        within(at, self.blocks())?;
        let (zone, offset) = self.zone_of(at.start);
        match self.zones[zone as usize].condition {
            Condition::Conventional => in_place(at, self.spec.zone_blocks, &self.zones),
            Condition::Sequential => self.write_sequential(zone, offset, at),
            condition => Err(Illegal::Bad { unit: self.unit(zone), condition }),
        }
    }

    fn reset(&mut self, unit: Unit) -> Result<(), Illegal> {
        resettable(unit, self.zones.get(unit.index as usize).map(|z| z.condition))?;
        self.set_pointer(unit, 0);
        Ok(())
    }

    /// Nothing: a write at the pointer overlaps only the space after it, which holds nothing.
    fn destroys(&self, _write: Extent<Pba>, _destroyed: &mut dyn FnMut(Extent<Pba>)) {}

    fn unit_of(&self, block: Pba) -> Unit {
        self.unit(self.zone_of(block).0)
    }

    fn extent_of(&self, unit: Unit) -> Extent<Pba> {
        let start = u64::from(unit.index) * u64::from(self.spec.zone_blocks);
        Extent::new(Pba::new(self.device, start), self.spec.zone_blocks)
    }

    fn has_pointer(&self, unit: Unit) -> bool {
        unit.index >= self.spec.conventional_zones
    }

    fn report(&self) -> Vec<UnitState> {
        self.zones.clone()
    }

    fn set_pointer(&mut self, unit: Unit, pointer: u32) {
        debug_assert!(self.has_pointer(unit) && pointer <= self.spec.zone_blocks);
        let was_active = self.is_active(unit.index);
        self.zones[unit.index as usize].pointer = pointer;
        self.recount(unit.index, was_active);
    }

    fn max_active(&self) -> Option<u32> {
        (self.spec.max_active > 0).then_some(self.spec.max_active)
    }

    fn copy(&self) -> Box<dyn Media> {
        Box::new(self.clone())
    }

    fn fail(&mut self, unit: Unit, condition: Condition) {
        let was_active = self.is_active(unit.index);
        self.zones[unit.index as usize].condition = condition;
        self.recount(unit.index, was_active);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(max_open: u32, max_active: u32) -> Shingled {
        Shingled::new(1, ZonedSpec { zones: 6, zone_blocks: 10, conventional_zones: 2, max_open, max_active })
    }

    fn at(block: u64, blocks: u32) -> Extent<Pba> {
        Extent::new(Pba::disk(block), blocks)
    }

    #[test]
    fn sequential_zones_take_writes_at_their_pointer_only() {
        let mut d = disk(0, 0);
        assert_eq!(d.write(at(20, 4)), Ok(()));
        assert_eq!(d.write(at(25, 1)), Err(Illegal::OffPointer { at: at(25, 1), unit: Unit::disk(2), pointer: 4 }));
        assert_eq!(d.write(at(24, 7)), Err(Illegal::Crosses { at: at(24, 7), unit: Unit::disk(2) }));
        assert_eq!(d.read(at(20, 4)), Ok(()));
        assert_eq!(d.read(at(20, 5)), Err(Illegal::Unwritten { at: at(20, 5), unit: Unit::disk(2), pointer: 4 }));
        assert_eq!(d.reset(Unit::disk(2)), Ok(()));
        assert!(d.read(at(20, 1)).is_err());
        assert_eq!(d.write(at(20, 10)), Ok(()));
    }

    #[test]
    fn conventional_zones_take_writes_anywhere_but_not_across_into_sequential_ones() {
        let mut d = disk(0, 0);
        assert_eq!(d.write(at(5, 10)), Ok(()));
        assert_eq!(d.write(at(15, 10)), Err(Illegal::Crosses { at: at(15, 10), unit: Unit::disk(1) }));
        assert_eq!(d.reset(Unit::disk(0)), Err(Illegal::NoReset { unit: Unit::disk(0) }));
        assert!(matches!(d.write(at(55, 10)), Err(Illegal::Beyond { .. })));
    }

    #[test]
    fn the_active_limit_refuses_and_the_open_limit_closes() {
        let mut d = disk(1, 2);
        assert_eq!(d.write(at(20, 1)), Ok(()));
        assert_eq!(d.write(at(30, 1)), Ok(()));
        assert_eq!(d.open, [3]);
        assert_eq!(d.write(at(40, 1)), Err(Illegal::TooManyActive { unit: Unit::disk(4), limit: 2 }));
        assert_eq!(d.write(at(40, 10)), Ok(()), "a zone written full at once is never active");
        assert_eq!(d.write(at(21, 9)), Ok(()));
        assert_eq!(d.write(at(50, 1)), Ok(()), "a full zone is not active");
    }

    #[test]
    fn bad_zones_do_what_they_still_can() {
        let mut d = disk(0, 0);
        d.write(at(20, 4)).unwrap();
        d.fail(Unit::disk(2), Condition::ReadOnly);
        assert_eq!(d.read(at(20, 4)), Ok(()));
        assert!(d.write(at(24, 1)).is_err() && d.reset(Unit::disk(2)).is_err());
        d.fail(Unit::disk(2), Condition::Offline);
        assert!(d.read(at(20, 1)).is_err());
        assert_eq!(d.report()[2].condition, Condition::Offline);
    }
}
