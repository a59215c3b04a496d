//! What becomes of append-only units: free, open for writing, closed until they are emptied, emptied and free again.
//!
//! A unit that is given up is *pending* until its reset has taken effect: durable records may still name what lies there.

use std::collections::VecDeque;

use super::least_live::LeastLive;
use super::page_map::PageMap;
use crate::layer::Violation;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Role {
    /// Empty; in the queue.
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

/// The units of a device and what each is.
#[derive(Clone, Debug)]
pub struct UnitPool {
    role: Vec<Role>,
    /// Free units, to be used in the order in which they became so.
    free: VecDeque<u32>,
    pending: u32,
    closed: LeastLive,
}

impl UnitPool {
    /// `units` units of `unit_blocks` blocks, all of them bad until something else is said of them.
    #[must_use]
    pub fn new(units: u32, unit_blocks: u32) -> Self {
        Self {
            role: vec![Role::Bad; units as usize],
            free: VecDeque::with_capacity(units as usize),
            pending: 0,
            closed: LeastLive::new(units, unit_blocks),
        }
    }

    /// Forgets what every unit is.
    pub fn clear(&mut self) {
        self.role.fill(Role::Bad);
        self.free.clear();
        self.pending = 0;
        self.closed.clear();
    }

    /// How many units can be written.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// How many will be free when their reset has taken effect.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Opens the unit that has been free for longest.
    pub fn open(&mut self) -> Option<u32> {
        let unit = self.free.pop_front()?;
        self.role[unit as usize] = Role::Open;
        Some(unit)
    }

    /// An empty unit may be written.
    pub fn put(&mut self, unit: u32) {
        self.role[unit as usize] = Role::Free;
        self.free.push_back(unit);
    }

    /// Nothing more is written to a unit, which holds so many live blocks.
    pub fn close(&mut self, unit: u32, live: u32) {
        self.role[unit as usize] = Role::Closed;
        self.closed.insert(unit, live);
    }

    /// A unit holds so many live blocks now.
    #[inline]
    pub fn changed(&mut self, unit: u32, live: u32) {
        self.closed.change(unit, live);
    }

    /// The closed unit with the fewest live blocks, and how many these are.
    #[must_use]
    pub fn least_live(&mut self) -> Option<(u32, u32)> {
        self.closed.least()
    }

    /// Begins to empty a closed unit.
    pub fn collect(&mut self, unit: u32) {
        self.closed.remove(unit);
        self.role[unit as usize] = Role::Open;
    }

    /// A unit holds nothing any more, and its reset is planned.
    pub fn give_up(&mut self, unit: u32) {
        self.closed.remove(unit);
        self.role[unit as usize] = Role::Pending;
        self.pending += 1;
    }

    /// The reset of a unit has taken effect.
    pub fn freed(&mut self, unit: u32) {
        if self.role[unit as usize] == Role::Pending {
            self.pending -= 1;
            self.put(unit);
        }
    }

    /// Verifies that units are what `map` says they can be.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self, map: &PageMap) -> Result<(), Violation> {
        for (unit, &role) in (0..).zip(&self.role) {
            let live = map.live(unit);
            let listed = self.closed.live(unit);
            let holds = match role {
                Role::Free | Role::Pending => live == 0 && listed.is_none(),
                Role::Closed => listed == Some(live),
                Role::Open | Role::Bad => listed.is_none(),
            };
            if !holds {
                return Err(Violation(format!(
                    "unit {unit} is {role:?}, holds {live} blocks, is listed as {listed:?}"
                )));
            }
        }
        let count = |is| self.role.iter().filter(|role| **role == is).count();
        let (free, pending) = (count(Role::Free), count(Role::Pending));
        if (free, pending) == (self.free.len(), self.pending as usize) {
            return Ok(());
        }
        Err(Violation(format!(
            "{free} free and {pending} pending units, counted {} and {}",
            self.free.len(),
            self.pending
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Lba;

    #[test]
    fn a_unit_goes_round() {
        let (mut pool, mut map) = (UnitPool::new(3, 4), PageMap::new(8, 3, 4));
        (0..3).for_each(|unit| pool.put(unit));
        assert_eq!((pool.open(), pool.open(), pool.free()), (Some(0), Some(1), 1));
        map.set(Lba(5), 0);
        pool.close(0, 1);
        pool.close(1, 0);
        assert_eq!(pool.least_live(), Some((1, 0)));
        pool.check(&map).unwrap();
        pool.give_up(1);
        pool.freed(0);
        assert_eq!((pool.free(), pool.pending()), (1, 1), "a closed unit is not freed");
        pool.freed(1);
        pool.freed(1);
        assert_eq!((pool.free(), pool.pending()), (2, 0));
        pool.collect(0);
        assert_eq!(pool.least_live(), None);
        pool.check(&map).unwrap();
        assert_eq!(pool.open(), Some(2), "the longest free first");
    }

    #[test]
    fn a_unit_that_is_not_what_the_map_says_is_noticed() {
        let (mut pool, mut map) = (UnitPool::new(2, 4), PageMap::new(6, 2, 4));
        pool.put(0);
        map.set(Lba(1), 2);
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
