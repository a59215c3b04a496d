//! Which blocks are hot: overwritten since they were last compacted. Others are cold.
//!
//! Source: Jones et al., ACM TOS 12(1), 2016, §3: a block's heat is how often it was overwritten, and compaction, which
//! alone cools, sets it to zero.

use super::config::Cooling;
use crate::parts::full_map::FullMap;
use crate::parts::heat::{COUNTER, Heat};
use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// The heat of all blocks and, where a score asks for it, how many hot ones live on each band.
pub(super) struct Temperatures {
    heat: Heat,
    /// The blocks below this one are hot and all others cold, whatever the host writes; 0 if it is not known which are
    /// hot.
    known: u64,
    /// Overwrites that leave a block cold.
    cold: u32,
    /// How many hot blocks live on each band; empty if that is not needed.
    hot: Vec<u32>,
}

impl Temperatures {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.heat.memory() + Memory::room::<u32>(self.hot.len() as u64)
    }

    /// All of `capacity` blocks are cold, or those from the first `known` ones on if these are known to be hot. As many
    /// overwrites as `hot_from` make one hot. `counted` bands have their hot blocks counted, none or all.
    pub fn new(capacity: u64, known: u64, hot_from: u16, counted: u32) -> Self {
        let cold = u32::from(hot_from.saturating_sub(1));
        Self { heat: Heat::new(capacity), known, cold, hot: vec![0; counted as usize] }
    }

    /// Heat is in pages of `entries` blocks, of which at most `most` are in memory. It is not known which blocks are hot.
    pub fn cache(&mut self, entries: u64, most: u64) {
        self.heat = Heat::paged(entries, most);
    }

    /// The heat in pages, to put these in and take them out.
    pub fn heat(&self) -> &Heat {
        &self.heat
    }

    /// The same, to be changed.
    pub fn heat_mut(&mut self) -> &mut Heat {
        &mut self.heat
    }

    /// How often the block was overwritten since it was cooled, beyond what leaves it cold.
    #[inline]
    pub fn of(&self, lba: Lba) -> u32 {
        if self.known > 0 { u32::from(lba.0 < self.known) } else { self.heat.get(lba.0).saturating_sub(self.cold) }
    }

    /// What `cooling` leaves of that: everything if it is known.
    pub fn left(&self, lba: Lba, cooling: Cooling) -> u32 {
        if self.known > 0 { self.of(lba) } else { cooling.leaves(self.heat.get(lba.0)).saturating_sub(self.cold) }
    }

    /// Whether a write by the host leaves the block hot: it overwrites one that `map` knows.
    #[inline]
    pub fn will_be_hot(&self, lba: Lba, map: &FullMap) -> bool {
        let is_overwritten = || self.known == 0 && map.get(lba).is_some() && self.heat.get(lba.0) + 1 > self.cold;
        self.of(lba) > 0 || is_overwritten()
    }

    /// Whether a write by the host leaves all blocks of `at` cold that lie nowhere.
    #[inline]
    pub fn are_new_ones_cold(&self, at: Extent<Lba>) -> bool {
        self.next_hot(at.start, at.end()).is_none()
    }

    /// Reads how hot a block is, for the effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        u64::from(self.of(lba))
    }

    /// Whether it is known from the beginning which blocks are hot.
    pub fn are_known(&self) -> bool {
        self.known > 0
    }

    /// How many hot blocks live on each band, if that is counted.
    pub fn counts(&self) -> Option<&[u32]> {
        Some(&self.hot[..]).filter(|hot| !hot.is_empty())
    }

    /// Hot blocks that live on `band`.
    pub fn hot(&self, band: u32) -> u32 {
        self.hot[band as usize]
    }

    /// Bytes that are known of a block.
    pub fn entry_bytes(&self) -> u32 {
        if self.known > 0 { 0 } else { COUNTER as u32 }
    }

    /// Whether nothing has to be kept of the blocks from `first` to `end`.
    #[inline]
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        self.known > 0 || self.heat.next_raised(first, end).is_none()
    }

    /// The block has been overwritten.
    #[inline]
    pub fn raise(&mut self, lba: Lba, map: &FullMap) {
        if self.known > 0 {
            return;
        }
        if self.heat.get(lba.0) == self.cold
            && let Some(hot) = self.count_of(lba, map)
        {
            *hot += 1;
        }
        self.heat.raise(lba.0);
    }

    /// The blocks of `at` are as hot as `cooling` leaves them.
    pub fn cool(&mut self, at: Extent<Lba>, map: &FullMap, cooling: Cooling) {
        let mut next = at.start;
        while self.known == 0
            && let Some(lba) = self.heat.next_raised(next.0, at.end().0).map(Lba)
        {
            let (heat, left) = (self.of(lba), self.left(lba, cooling));
            if heat > 0
                && left == 0
                && let Some(hot) = self.count_of(lba, map)
            {
                *hot = hot.saturating_sub(1);
            }
            self.heat.cool(lba.0, cooling.leaves(self.heat.get(lba.0)));
            next = lba.plus(1);
        }
    }

    /// The blocks of `at` are about to move from where `map` has them to `band`, or to none.
    #[inline]
    pub fn relocate(&mut self, at: Extent<Lba>, map: &FullMap, band: Option<u32>) {
        if self.hot.is_empty() {
            return;
        }
        let mut next = at.start;
        while let Some(lba) = self.next_hot(next, at.end()) {
            if let Some(hot) = self.count_of(lba, map) {
                *hot = hot.saturating_sub(1);
            }
            if let Some(band) = band {
                self.hot[band as usize] += 1;
            }
            next = lba.plus(1);
        }
    }

    /// The first hot block from `from` on and before `end`.
    #[inline]
    fn next_hot(&self, mut from: Lba, end: Lba) -> Option<Lba> {
        if self.known > 0 {
            return (from < end && from.0 < self.known).then_some(from);
        }
        loop {
            from = Lba(self.heat.next_raised(from.0, end.0)?);
            if self.of(from) > 0 {
                return Some(from);
            }
            from = from.plus(1);
        }
    }

    /// The count of the band that the block lives on.
    #[inline]
    fn count_of(&mut self, lba: Lba, map: &FullMap) -> Option<&mut u32> {
        if self.hot.is_empty() {
            return None;
        }
        let (band, _) = map.locate(map.get(lba)?);
        self.hot.get_mut(band as usize)
    }

    /// Verifies that as many hot blocks live on each band as are known to or, where a part of the map is in memory, that
    /// no more of those there do.
    pub fn check(&self, map: &FullMap) -> Result<(), Violation> {
        if self.hot.is_empty() {
            return Ok(());
        }
        let mut hot = vec![0; self.hot.len()];
        map.all_in_memory(|at, slot| {
            let of = &mut hot[map.locate(slot).0 as usize];
            let after = |lba: Lba| self.next_hot(lba.plus(1), at.end());
            *of += std::iter::successors(self.next_hot(at.start, at.end()), |lba| after(*lba)).count() as u32;
        });
        match hot.iter().zip(&self.hot).position(|(is, known)| if map.is_cached() { is > known } else { is != known }) {
            Some(band) => {
                let (is, known) = (hot[band], self.hot[band]);
                Err(Violation(format!("{is} hot blocks live on band {band}, and {known} are known")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lba: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(lba), blocks)
    }

    #[test]
    fn a_block_is_hot_from_so_many_overwrites_on() {
        let (mut map, mut temperatures) = (FullMap::new(4, 1, 4), Temperatures::new(4, 0, 3, 1));
        map.set(at(0, 4), 0, |_, _| {});
        let heats = (0..5).map(|_| {
            let (will, counted) = (temperatures.will_be_hot(Lba(1), &map), temperatures.hot(0));
            temperatures.raise(Lba(1), &map);
            temperatures.check(&map).expect("counts are kept in step");
            (will, counted, temperatures.of(Lba(1)))
        });
        let heats: Vec<_> = heats.collect();
        assert_eq!(heats, [(false, 0, 0), (false, 0, 0), (true, 0, 1), (true, 1, 2), (true, 1, 3)]);
        temperatures.cool(at(0, 4), &map, Cooling::Halve);
        assert_eq!((temperatures.of(Lba(1)), temperatures.hot(0)), (0, 0), "two overwrites are left of five");
        temperatures.raise(Lba(1), &map);
        assert_eq!((temperatures.of(Lba(1)), temperatures.hot(0)), (1, 1));
    }

    #[test]
    fn hot_blocks_are_counted_where_they_live() {
        let (mut map, mut temperatures) = (FullMap::new(8, 2, 4), Temperatures::new(8, 0, 1, 2));
        let mut put = |temperatures: &mut Temperatures, blocks: Extent<Lba>, slot: u64| {
            temperatures.relocate(blocks, &map, Some(map.locate(slot).0));
            map.set(blocks, slot, |_, _| {});
            temperatures.check(&map).expect("counts are kept in step");
            map.clone()
        };
        let map = put(&mut temperatures, at(0, 3), 0);
        temperatures.raise(Lba(1), &map);
        temperatures.raise(Lba(1), &map);
        temperatures.raise(Lba(2), &map);
        temperatures.raise(Lba(7), &map);
        assert_eq!([0, 1].map(|band| temperatures.hot(band)), [2, 0]);
        let map = put(&mut temperatures, at(1, 1), 4);
        assert_eq!([0, 1].map(|band| temperatures.hot(band)), [1, 1]);
        let map = {
            drop(map);
            put(&mut temperatures, at(7, 1), 5)
        };
        assert_eq!([0, 1].map(|band| temperatures.hot(band)), [1, 2]);
        temperatures.cool(at(0, 8), &map, Cooling::Halve);
        assert_eq!([0, 1].map(|band| temperatures.hot(band)), [0, 1], "half of two overwrites is one");
        temperatures.check(&map).expect("counts are kept in step");
        temperatures.cool(at(0, 8), &map, Cooling::Reset);
        assert_eq!([0, 1].map(|band| temperatures.hot(band)), [0, 0]);
        assert_eq!(temperatures.of(Lba(1)), 0);
        temperatures.hot[1] = 1;
        assert!(temperatures.check(&map).is_err(), "a wrong count is noticed");
    }
}
