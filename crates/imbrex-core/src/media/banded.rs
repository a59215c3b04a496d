//! Bands of a drive-managed disk: tracks that do not overlap at the outer edge, for the persistent cache, and then
//! bands inside which each track overlaps the next one.
//!
//! A band is written from its start on, since a track that is written destroys the one after it; the guard between two
//! bands keeps the next band out of it. So a band has a write pointer, which the drive keeps to itself, and is emptied
//! before it is written again. What lies below the pointer is read in any order. Bands differ in length and are many;
//! they have no limit on how many are open.

use super::{Illegal, Media, appends, readable, resettable, within};
use crate::bands::{BandRun, Bands};
use crate::block::{Extent, Pba};
use crate::layer::{Condition, UnitState};
use crate::plan::Unit;

/// A disk of bands behind a persistent cache. Unit 0 is the cache, the bands follow.
#[derive(Clone, Debug)]
pub struct Banded {
    device: u8,
    bands: Bands,
    /// The units' states: that of the cache first.
    units: Vec<UnitState>,
}

impl Banded {
    /// An empty disk that is device `device`: `cache_blocks` blocks written anywhere, and then the bands of `runs`.
    #[must_use]
    pub fn new(device: u8, cache_blocks: u32, runs: &[BandRun]) -> Self {
        let bands = Bands::new(Unit { device, index: 1 }, u64::from(cache_blocks), runs);
        let cache = UnitState { condition: Condition::Conventional, pointer: cache_blocks };
        let empty = UnitState { condition: Condition::Sequential, pointer: 0 };
        let units = std::iter::once(cache).chain((0..bands.count()).map(|_| empty)).collect();
        Self { device, bands, units }
    }

    fn unit(&self, index: u32) -> Unit {
        Unit { device: self.device, index }
    }

    fn cache_blocks(&self) -> u32 {
        self.bands.start() as u32
    }

    /// The unit of a block and the offset in it.
    fn place(&self, block: Pba) -> (u32, u32) {
        match self.bands.locate(block) {
            Some((band, offset)) => (band + 1, offset),
            None => (0, block.block() as u32),
        }
    }
}

impl Media for Banded {
    fn blocks(&self) -> u64 {
        self.bands.end()
    }

    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal> {
        within(at, self.blocks())?;
        let mut rest = at;
        while !rest.is_empty() {
            let (index, offset) = self.place(rest.start);
            let unit = self.unit(index);
            let part = rest.first(self.extent_of(unit).blocks - offset);
            readable(at, unit, self.units[index as usize], offset + part.blocks)?;
            rest = rest.skip(part.blocks);
        }
        Ok(())
    }

    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal> {
        within(at, self.blocks())?;
        let (index, offset) = self.place(at.start);
        let unit = self.unit(index);
        let blocks = self.extent_of(unit).blocks;
        let state = &mut self.units[index as usize];
        match state.condition {
            Condition::Sequential => {
                appends(at, unit, offset, blocks, state.pointer)?;
                state.pointer += at.blocks;
                Ok(())
            }
            Condition::Conventional if at.blocks > blocks - offset => Err(Illegal::Crosses { at, unit }),
            Condition::Conventional => Ok(()),
            condition => Err(Illegal::Bad { unit, condition }),
        }
    }

    fn reset(&mut self, unit: Unit) -> Result<(), Illegal> {
        resettable(unit, self.units.get(unit.index as usize).map(|u| u.condition))?;
        self.set_pointer(unit, 0);
        Ok(())
    }

    /// Nothing: a write at the pointer overlaps only the tracks after it, which hold nothing since the band was
    /// emptied.
    fn destroys(&self, _write: Extent<Pba>, _destroyed: &mut dyn FnMut(Extent<Pba>)) {}

    fn unit_of(&self, block: Pba) -> Unit {
        self.unit(self.place(block).0)
    }

    fn extent_of(&self, unit: Unit) -> Extent<Pba> {
        match self.bands.index(unit) {
            Some(band) => self.bands.extent(band),
            None => Extent::new(Pba::new(self.device, 0), self.cache_blocks()),
        }
    }

    fn has_pointer(&self, unit: Unit) -> bool {
        self.bands.index(unit).is_some()
    }

    fn report(&self) -> Vec<UnitState> {
        self.units.clone()
    }

    fn set_pointer(&mut self, unit: Unit, pointer: u32) {
        debug_assert!(self.has_pointer(unit) && pointer <= self.extent_of(unit).blocks);
        self.units[unit.index as usize].pointer = pointer;
    }

    fn copy(&self) -> Box<dyn Media> {
        Box::new(self.clone())
    }

    fn fail(&mut self, unit: Unit, condition: Condition) {
        self.units[unit.index as usize].condition = condition;
    }

    fn bands(&self) -> Option<&Bands> {
        Some(&self.bands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of 10 blocks, two bands of 8 and one of 5.
    fn disk() -> Banded {
        Banded::new(1, 10, &[BandRun { bands: 2, band_blocks: 8 }, BandRun { bands: 1, band_blocks: 5 }])
    }

    fn at(block: u64, blocks: u32) -> Extent<Pba> {
        Extent::new(Pba::disk(block), blocks)
    }

    #[test]
    fn bands_are_written_from_their_start_and_read_anywhere_below_the_pointer() {
        let mut d = disk();
        assert_eq!(d.blocks(), 31);
        assert_eq!(d.write(at(18, 6)), Ok(()));
        assert_eq!(d.read(at(21, 2)), Ok(()));
        let unit = Unit::disk(2);
        assert_eq!(d.read(at(21, 4)), Err(Illegal::Unwritten { at: at(21, 4), unit, pointer: 6 }));
        assert_eq!(d.write(at(20, 1)), Err(Illegal::OffPointer { at: at(20, 1), unit, pointer: 6 }));
        assert_eq!(d.write(at(24, 3)), Err(Illegal::Crosses { at: at(24, 3), unit }));
        assert_eq!(d.write(at(24, 2)), Ok(()));
        assert_eq!(d.write(at(26, 5)), Ok(()));
        assert_eq!(d.read(at(20, 11)), Ok(()), "two bands at once");
        assert_eq!(d.reset(unit), Ok(()));
        assert!(d.read(at(18, 1)).is_err() && d.read(at(26, 5)).is_ok());
        assert!(matches!(d.write(at(31, 1)), Err(Illegal::Beyond { .. })));
    }

    #[test]
    fn the_cache_is_written_anywhere_but_not_across_into_a_band() {
        let mut d = disk();
        assert_eq!(d.write(at(7, 3)), Ok(()));
        assert_eq!(d.write(at(2, 3)), Ok(()));
        assert_eq!(d.write(at(9, 2)), Err(Illegal::Crosses { at: at(9, 2), unit: Unit::disk(0) }));
        assert_eq!(d.reset(Unit::disk(0)), Err(Illegal::NoReset { unit: Unit::disk(0) }));
        assert_eq!(d.reset(Unit::disk(4)), Err(Illegal::NoReset { unit: Unit::disk(4) }));
        assert_eq!((d.unit_of(Pba::disk(9)), d.unit_of(Pba::disk(10))), (Unit::disk(0), Unit::disk(1)));
        assert_eq!((d.extent_of(Unit::disk(0)), d.extent_of(Unit::disk(3))), (at(0, 10), at(26, 5)));
        assert!(!d.has_pointer(Unit::disk(0)) && d.has_pointer(Unit::disk(1)));
    }

    #[test]
    fn bad_bands_do_what_they_still_can() {
        let mut d = disk();
        d.write(at(10, 4)).unwrap();
        d.fail(Unit::disk(1), Condition::ReadOnly);
        assert!(d.read(at(10, 4)).is_ok() && d.write(at(14, 1)).is_err() && d.reset(Unit::disk(1)).is_err());
        d.fail(Unit::disk(1), Condition::Offline);
        assert!(d.read(at(10, 1)).is_err());
        assert_eq!(d.report()[1].condition, Condition::Offline);
    }
}
