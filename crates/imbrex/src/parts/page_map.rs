//! A dense map from logical blocks to the blocks of append-only units, with its inverse and the live blocks of each unit.
//!
//! For layers that write every block somewhere else: four bytes for each logical block and four for each physical one. A
//! place is a number below `units · unit_blocks`.

use crate::block::{Extent, Lba, unit_and_offset};
use crate::layer::Violation;

const NONE: u32 = u32::MAX;

/// Where each logical block lies, and which one each place holds.
#[derive(Clone, Debug)]
pub struct PageMap {
    places: Vec<u32>,
    owners: Vec<u32>,
    live: Vec<u32>,
    unit_blocks: u32,
}

impl PageMap {
    /// The most places there can be.
    pub const PLACES: u64 = NONE as u64;

    /// Nothing is mapped of `capacity` logical blocks over `units` units of `unit_blocks` blocks.
    #[must_use]
    pub fn new(capacity: u64, units: u32, unit_blocks: u32) -> Self {
        let places = u64::from(units) * u64::from(unit_blocks);
        debug_assert!(places <= Self::PLACES && capacity <= places);
        Self {
            places: vec![NONE; capacity as usize],
            owners: vec![NONE; places as usize],
            live: vec![0; units as usize],
            unit_blocks,
        }
    }

    /// Logical blocks.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.places.len() as u64
    }

    /// Where a block lies.
    #[inline]
    #[must_use]
    pub fn get(&self, lba: Lba) -> Option<u32> {
        let place = self.places[lba.0 as usize];
        (place != NONE).then_some(place)
    }

    /// The block that lies at a place.
    #[inline]
    #[must_use]
    pub fn owner(&self, place: u32) -> Option<Lba> {
        let owner = self.owners[place as usize];
        (owner != NONE).then_some(Lba(u64::from(owner)))
    }

    /// How many blocks lie in a unit.
    #[inline]
    #[must_use]
    pub fn live(&self, unit: u32) -> u32 {
        self.live[unit as usize]
    }

    /// The unit of a place.
    #[inline]
    #[must_use]
    pub fn unit_of(&self, place: u32) -> u32 {
        unit_and_offset(u64::from(place), self.unit_blocks).0
    }

    /// Reads what a lookup of the block will, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn touch(&self, lba: Lba) -> u64 {
        let place = self.places.get(lba.0 as usize).copied().unwrap_or(NONE);
        u64::from(self.owners.get(place as usize).copied().unwrap_or(NONE))
    }

    /// The place of the first block of `at`, if it has one, and how many blocks from there on follow it: mapped to the places
    /// that follow, or not mapped either.
    #[inline]
    #[must_use]
    pub fn run(&self, at: Extent<Lba>) -> (Option<u32>, u32) {
        let first = at.start.0 as usize;
        let places = &self.places[first..first + at.blocks as usize];
        match places.first() {
            Some(&place) if place != NONE => {
                let follows = places.iter().zip(place..).take_while(|(is, next)| *is == next);
                (Some(place), follows.count() as u32)
            }
            _ => (None, places.iter().take_while(|&&place| place == NONE).count() as u32),
        }
    }

    /// Puts a block at a place that holds none; the unit that it left, if it was mapped.
    #[inline]
    pub fn set(&mut self, lba: Lba, place: u32) -> Option<u32> {
        debug_assert!(self.owners[place as usize] == NONE);
        let left = self.remove(lba);
        self.places[lba.0 as usize] = place;
        self.owners[place as usize] = lba.0 as u32;
        let unit = self.unit_of(place);
        self.live[unit as usize] += 1;
        left
    }

    /// Forgets where a block lies; the unit that it left, if it was mapped.
    #[inline]
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        let place = std::mem::replace(&mut self.places[lba.0 as usize], NONE);
        if place == NONE {
            return None;
        }
        self.owners[place as usize] = NONE;
        let unit = self.unit_of(place);
        self.live[unit as usize] -= 1;
        Some(unit)
    }

    /// Verifies that the map, its inverse and the counts agree.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        let mut live = vec![0; self.live.len()];
        for (lba, &place) in (0..).zip(&self.places).filter(|(_, place)| **place != NONE) {
            if self.owners.get(place as usize) != Some(&lba) {
                return Err(Violation(format!("L{lba} is mapped to place {place}, which is another's")));
            }
            live[self.unit_of(place) as usize] += 1;
        }
        let owned = self.owners.iter().filter(|&&owner| owner != NONE).count() as u64;
        let mapped = live.iter().map(|&live| u64::from(live)).sum::<u64>();
        if owned != mapped {
            return Err(Violation(format!("{owned} places hold the {mapped} blocks that are mapped")));
        }
        match live.iter().zip(&self.live).position(|(is, counted)| is != counted) {
            Some(unit) => Err(Violation(format!("unit {unit} holds {} blocks, not {}", live[unit], self.live[unit]))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_like_a_plain_map(steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u32..60), 1..200)) {
            let (mut map, mut plain) = (PageMap::new(40, 6, 10), BTreeMap::new());
            for (put, lba, place) in steps {
                let was = plain.get(&lba).map(|place| place / 10);
                if put && !plain.values().any(|p| *p == place) {
                    prop_assert_eq!(map.set(Lba(lba), place), was);
                    plain.insert(lba, place);
                } else if !put {
                    prop_assert_eq!(map.remove(Lba(lba)), was);
                    plain.remove(&lba);
                }
                map.check().unwrap();
            }
            for lba in 0..40 {
                let place = plain.get(&lba).copied();
                prop_assert_eq!(map.get(Lba(lba)), place);
                let goes_on = |i: &u32| plain.get(&(lba + u64::from(*i))).copied() == place.map(|place| place + i);
                let run = (0..(40 - lba) as u32).take_while(goes_on).count() as u32;
                prop_assert_eq!(map.run(Extent::new(Lba(lba), (40 - lba) as u32)), (place, run));
                prop_assert!(place.is_none_or(|place| map.owner(place) == Some(Lba(lba))));
            }
            for unit in 0..6 {
                prop_assert_eq!(map.live(unit) as usize, plain.values().filter(|place| **place / 10 == unit).count());
            }
        }
    }

    #[test]
    fn a_wrong_count_or_inverse_is_noticed() {
        let mut map = PageMap::new(10, 2, 10);
        map.set(Lba(3), 7);
        let mut counted = map.clone();
        counted.live[0] = 2;
        assert!(counted.check().is_err());
        map.owners[8] = 3;
        assert!(map.check().is_err());
    }
}
