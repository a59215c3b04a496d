//! A set of small numbers of which the *n*-th member is found in constant time: for draws, and to go through few of many.

use imbrex_core::memory::Memory;

/// The place of a number that is not in the set.
const ABSENT: u32 = u32::MAX;

/// Numbers below a limit, in an order that only insertions and removals decide.
#[derive(Clone, Debug)]
pub struct DenseSet {
    /// The members. Its memory is taken at the beginning.
    members: Vec<u32>,
    /// By number: where it is among the members.
    places: Vec<u32>,
}

impl DenseSet {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let limit = self.places.len() as u64;
        Memory::room::<u32>(limit) + Memory::of::<u32>(limit)
    }

    /// An empty set of numbers below `limit`.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { members: Vec::with_capacity(limit as usize), places: vec![ABSENT; limit as usize] }
    }

    /// The members, as they lie.
    #[inline]
    #[must_use]
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Whether `number` is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.places[number as usize] != ABSENT
    }

    /// Adds `number`, which is no member, behind all others.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        debug_assert!(!self.contains(number));
        self.places[number as usize] = self.members.len() as u32;
        self.members.push(number);
    }

    /// Takes out the member `number`; the last one moves to its place.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        debug_assert!(self.contains(number));
        let place = std::mem::replace(&mut self.places[number as usize], ABSENT);
        self.members.swap_remove(place as usize);
        if let Some(&moved) = self.members.get(place as usize) {
            self.places[moved as usize] = place;
        }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.members.clear();
        self.places.fill(ABSENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::random::Random;

    #[test]
    fn the_last_member_takes_the_place_of_one_that_leaves() {
        let mut set = DenseSet::new(5);
        [3, 0, 4, 1].into_iter().for_each(|number| set.insert(number));
        set.remove(0);
        assert_eq!(set.members(), [3, 1, 4]);
        set.remove(4);
        assert_eq!(set.members(), [3, 1]);
        set.clear();
        assert!(set.members().is_empty() && !set.contains(3));
    }

    #[test]
    fn places_follow_the_members() {
        let (mut set, mut random) = (DenseSet::new(40), Random::new(1));
        for _ in 0..10_000 {
            let number = random.below(40) as u32;
            if set.contains(number) {
                set.remove(number);
            } else {
                set.insert(number);
            }
            let is_placed = |(place, &member): (u32, &u32)| set.places[member as usize] == place;
            assert!((0..).zip(set.members()).all(is_placed));
            assert_eq!((0..40).filter(|&number| set.contains(number)).count(), set.members().len());
        }
    }
}
