//! What becomes of append-only units: free, open for writing, closed until they are emptied, emptied and free again.
//!
//! A unit that is given up is *pending* until its reset has taken effect: durable records may still name what lies
//! there.

mod victim_index;

use super::bitmap::Bitmap;
use super::dense_set::DenseSet;
use super::full_map::FullMap;
use super::recency::RecencyList;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use victim_index::VictimIndex;

/// What a unit is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// Empty; among those to be used.
    Free,
    /// Being written, or being emptied.
    Open,
    /// Written as far as it will be; a victim to choose.
    Closed,
    /// Its reset is planned.
    Pending,
    /// It can be neither written nor reset.
    Bad,
}

/// Free units, in the order in which they are used.
#[derive(Clone, Debug)]
enum Free {
    /// The lowest number first.
    Lowest(Bitmap),
    /// The one that has been free for longest first.
    Oldest(RecencyList),
}

/// Closed units, in the order in which they are looked for.
#[derive(Clone, Debug)]
enum Closed {
    ByAge(RecencyList),
    ByLive(VictimIndex),
    ForDraws(DenseSet),
}

/// Which free unit is used next.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// The one with the lowest number: what is written stays together.
    Lowest,
    /// The one that has been free for longest: all wear alike.
    Oldest,
}

/// How closed units are kept.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Victims {
    /// By when they were closed.
    ByAge,
    /// By their live blocks.
    ByLive,
    /// So that each is found by its place, to draw from them.
    ForDraws,
}

/// The units of a device and what each is.
#[derive(Clone, Debug)]
pub struct UnitPool {
    role: Vec<Role>,
    free: Free,
    free_count: u32,
    pending: u32,
    closed: Closed,
}

impl UnitPool {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let free = match &self.free {
            Free::Lowest(units) => units.memory(),
            Free::Oldest(units) => units.memory(),
        };
        let closed = match &self.closed {
            Closed::ByAge(units) => units.memory(),
            Closed::ByLive(units) => units.memory(),
            Closed::ForDraws(units) => units.memory(),
        };
        Memory::of::<Role>(self.role.len() as u64) + free + closed
    }

    /// `units` units of `unit_blocks` blocks, all of them bad until something else is said of them.
    #[must_use]
    pub fn new(units: u32, unit_blocks: u32, reuse: Reuse, victims: Victims) -> Self {
        Self {
            role: vec![Role::Bad; units as usize],
            free: match reuse {
                Reuse::Lowest => Free::Lowest(Bitmap::new(u64::from(units))),
                Reuse::Oldest => Free::Oldest(RecencyList::new(units)),
            },
            free_count: 0,
            pending: 0,
            closed: match victims {
                Victims::ByAge => Closed::ByAge(RecencyList::new(units)),
                Victims::ByLive => Closed::ByLive(VictimIndex::new(units, unit_blocks)),
                Victims::ForDraws => Closed::ForDraws(DenseSet::new(units)),
            },
        }
    }

    /// Forgets what every unit is.
    pub fn clear(&mut self) {
        self.role.fill(Role::Bad);
        match &mut self.free {
            Free::Lowest(units) => *units = Bitmap::new(self.role.len() as u64),
            Free::Oldest(units) => units.clear(),
        }
        (self.free_count, self.pending) = (0, 0);
        match &mut self.closed {
            Closed::ByAge(units) => units.clear(),
            Closed::ByLive(units) => units.clear(),
            Closed::ForDraws(units) => units.clear(),
        }
    }

    /// What a unit is.
    #[must_use]
    pub fn role(&self, unit: u32) -> Role {
        self.role[unit as usize]
    }

    /// How many units can be written.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.free_count
    }

    /// How many will be free when their reset has taken effect.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Opens the free unit whose turn it is.
    pub fn open(&mut self) -> Option<u32> {
        let unit = match &mut self.free {
            Free::Lowest(units) => units.next(0, self.role.len() as u64).map(|unit| unit as u32),
            Free::Oldest(units) => units.oldest(),
        }?;
        match &mut self.free {
            Free::Lowest(units) => {
                units.remove(u64::from(unit));
            }
            Free::Oldest(units) => units.remove(unit),
        }
        self.free_count -= 1;
        self.role[unit as usize] = Role::Open;
        Some(unit)
    }

    /// An empty unit may be written.
    pub fn put(&mut self, unit: u32) {
        self.role[unit as usize] = Role::Free;
        self.free_count += 1;
        match &mut self.free {
            Free::Lowest(units) => {
                units.insert(u64::from(unit));
            }
            Free::Oldest(units) => units.push(unit),
        }
    }

    /// Nothing more is written to a unit, which holds `live` live blocks.
    pub fn close(&mut self, unit: u32, live: u32) {
        self.role[unit as usize] = Role::Closed;
        match &mut self.closed {
            Closed::ByAge(units) => units.push(unit),
            Closed::ByLive(units) => units.insert(unit, live),
            Closed::ForDraws(units) => units.insert(unit),
        }
    }

    /// A unit holds `live` live blocks now.
    #[inline]
    pub fn changed(&mut self, unit: u32, live: u32) {
        if let Closed::ByLive(units) = &mut self.closed {
            units.change(unit, live);
        }
    }

    /// Whether closed units are kept by their live blocks.
    #[must_use]
    pub fn is_by_live(&self) -> bool {
        matches!(self.closed, Closed::ByLive(_))
    }

    /// The closed unit with the fewest live blocks, and how many it has. For units kept by live blocks.
    #[must_use]
    pub fn least_live(&self) -> Option<(u32, u32)> {
        match &self.closed {
            Closed::ByLive(units) => units.lowest(),
            Closed::ByAge(_) | Closed::ForDraws(_) => None,
        }
    }

    /// The closed units in the order in which they were closed. For units kept by age.
    pub fn by_age(&self) -> impl Iterator<Item = u32> {
        let units = match &self.closed {
            Closed::ByAge(units) => Some(units.in_order()),
            Closed::ByLive(_) | Closed::ForDraws(_) => None,
        };
        units.into_iter().flatten()
    }

    /// The closed units in no particular order. For units kept for draws.
    #[must_use]
    pub fn drawn_from(&self) -> &[u32] {
        match &self.closed {
            Closed::ForDraws(units) => units.members(),
            Closed::ByAge(_) | Closed::ByLive(_) => &[],
        }
    }

    /// The closed units, by their numbers.
    pub fn closed(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.role).filter(|(_, role)| **role == Role::Closed).map(|(unit, _)| unit)
    }

    /// Opens a closed unit, to empty it or to write on.
    pub fn reopen(&mut self, unit: u32) {
        self.leave_closed(unit);
        self.role[unit as usize] = Role::Open;
    }

    /// A unit holds nothing any more, and its reset is planned.
    pub fn give_up(&mut self, unit: u32) {
        self.leave_closed(unit);
        self.role[unit as usize] = Role::Pending;
        self.pending += 1;
    }

    fn leave_closed(&mut self, unit: u32) {
        if self.role[unit as usize] == Role::Closed {
            match &mut self.closed {
                Closed::ByAge(units) => units.remove(unit),
                Closed::ByLive(units) => units.remove(unit),
                Closed::ForDraws(units) => units.remove(unit),
            }
        }
    }

    /// The reset of a unit has taken effect; whether it was given up and so is free now.
    pub fn freed(&mut self, unit: u32) -> bool {
        let is_freed = self.role[unit as usize] == Role::Pending;
        if is_freed {
            self.pending -= 1;
            self.put(unit);
        }
        is_freed
    }

    /// Verifies that units are what `map` says they can be.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self, map: &FullMap) -> Result<(), Violation> {
        for (unit, &role) in (0..).zip(&self.role) {
            let live = map.live(unit);
            let is_listed = match &self.closed {
                Closed::ByAge(units) => units.contains(unit),
                Closed::ByLive(units) => units.live(unit).is_some(),
                Closed::ForDraws(units) => units.contains(unit),
            };
            let is_counted = match &self.closed {
                Closed::ByLive(units) if is_listed => units.live(unit) == Some(live),
                _ => true,
            };
            let is_free = match &self.free {
                Free::Lowest(units) => units.contains(u64::from(unit)),
                Free::Oldest(units) => units.contains(unit),
            };
            let is_empty = live == 0 || !matches!(role, Role::Free | Role::Pending);
            let is_right = is_empty && is_counted && is_listed == (role == Role::Closed);
            if !is_right || is_free != (role == Role::Free) {
                return Err(Violation(format!(
                    "unit {unit} with {live} live blocks is {role:?}, and listed otherwise"
                )));
            }
        }
        let count = |is| self.role.iter().filter(|role| **role == is).count() as u32;
        let (is, counted) = ((count(Role::Free), count(Role::Pending)), (self.free_count, self.pending));
        if is != counted {
            return Err(Violation(format!("units that are free and pending: {is:?}, counted {counted:?}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::{Extent, Lba};

    fn map(capacity: u64, units: u32, places: &[u64]) -> FullMap {
        let mut map = FullMap::new(capacity, units, 4);
        (0..).zip(places).for_each(|(lba, &place)| map.set(Extent::new(Lba(lba), 1), place, |_, _| {}));
        map
    }

    #[test]
    fn a_unit_goes_round() {
        for (reuse, expected) in [(Reuse::Oldest, 2), (Reuse::Lowest, 1)] {
            let (mut pool, map) = (UnitPool::new(3, 4, reuse, Victims::ByLive), map(8, 3, &[0]));
            (0..3).for_each(|unit| pool.put(unit));
            assert_eq!((pool.open(), pool.open(), pool.free()), (Some(0), Some(1), 1));
            pool.close(0, 1);
            pool.close(1, 0);
            assert_eq!(pool.least_live(), Some((1, 0)));
            pool.check(&map).unwrap();
            pool.give_up(1);
            assert!(!pool.freed(0), "a closed unit is not freed");
            assert_eq!((pool.free(), pool.pending()), (1, 1));
            assert!(pool.freed(1) && !pool.freed(1));
            assert_eq!((pool.free(), pool.pending()), (2, 0));
            pool.reopen(0);
            assert_eq!(pool.least_live(), None);
            pool.check(&map).unwrap();
            assert_eq!(pool.open(), Some(expected), "{reuse:?}");
        }
    }

    #[test]
    fn closed_units_are_kept_by_age() {
        let mut pool = UnitPool::new(3, 4, Reuse::Lowest, Victims::ByAge);
        [2, 0, 1].into_iter().for_each(|unit| pool.close(unit, 0));
        assert_eq!(pool.by_age().collect::<Vec<_>>(), [2, 0, 1]);
        pool.give_up(0);
        assert_eq!(pool.by_age().collect::<Vec<_>>(), [2, 1]);
        assert_eq!(pool.closed().collect::<Vec<_>>(), [1, 2]);
        pool.check(&map(8, 3, &[])).unwrap();
        pool.clear();
        assert_eq!((pool.by_age().next(), pool.pending()), (None, 0));
    }

    #[test]
    fn closed_units_are_kept_for_draws() {
        let mut pool = UnitPool::new(3, 4, Reuse::Lowest, Victims::ForDraws);
        [2, 0, 1].into_iter().for_each(|unit| pool.close(unit, 0));
        pool.reopen(2);
        assert_eq!(pool.drawn_from(), [1, 0]);
        pool.give_up(0);
        assert_eq!((pool.drawn_from(), pool.least_live(), pool.by_age().next()), (&[1][..], None, None));
        pool.check(&map(8, 3, &[])).unwrap();
        pool.clear();
        assert!(pool.drawn_from().is_empty());
    }

    #[test]
    fn a_unit_that_is_not_what_the_map_says_is_noticed() {
        let (mut pool, map) = (UnitPool::new(2, 4, Reuse::Oldest, Victims::ByLive), map(6, 2, &[2]));
        pool.put(0);
        assert!(pool.check(&map).is_err(), "a free unit holds a block");
        pool.open();
        pool.close(0, 2);
        assert!(pool.check(&map).is_err(), "a closed unit holds another number");
        pool.changed(0, 1);
        pool.check(&map).unwrap();
        pool.pending = 1;
        assert!(pool.check(&map).is_err());
    }
}
