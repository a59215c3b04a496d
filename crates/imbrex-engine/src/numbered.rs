//! What is under way, by numbers that rise. What has a low number ends before most of what has a higher one, so nothing
//! is searched for, and what comes and goes takes no memory anew.

use std::collections::VecDeque;

use slab::Slab;

/// What had this number has ended.
const ENDED: u32 = u32::MAX;

/// What is under way, by number.
pub(super) struct Numbered<T> {
    /// The number of the first of `places`.
    first: u64,
    /// Where each lies, from the first on that has not ended.
    places: VecDeque<u32>,
    under_way: Slab<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { first: 0, places: VecDeque::new(), under_way: Slab::new() }
    }
}

impl<T> Numbered<T> {
    /// The number that the next one gets.
    pub fn next(&self) -> u64 {
        self.first + self.places.len() as u64
    }

    /// Adds one. Its number.
    pub fn add(&mut self, what: T) -> u64 {
        let number = self.next();
        self.places.push_back(self.under_way.insert(what) as u32);
        number
    }

    fn place(&self, number: u64) -> Option<usize> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.places.get(index).filter(|place| **place != ENDED).map(|place| *place as usize)
    }

    pub fn get(&self, number: u64) -> Option<&T> {
        self.under_way.get(self.place(number)?)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.under_way.get_mut(self.place(number)?)
    }

    /// Ends one.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        let place = self.place(number)?;
        self.places[(number - self.first) as usize] = ENDED;
        while self.places.front() == Some(&ENDED) {
            self.places.pop_front();
            self.first += 1;
        }
        self.under_way.try_remove(place)
    }

    /// The numbers of all, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        (self.first..).zip(&self.places).filter(|(_, place)| **place != ENDED).map(|(number, _)| number)
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let there = (self.first..).zip(&self.places).filter(|(_, place)| **place != ENDED);
        there.filter_map(|(number, place)| Some((number, self.under_way.get(*place as usize)?)))
    }

    pub fn len(&self) -> usize {
        self.under_way.len()
    }

    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_an_ordered_map_of_what_has_not_ended(steps in prop::collection::vec((any::<bool>(), 0..40_u64), 200)) {
            let (mut numbered, mut expected) = (Numbered::default(), BTreeMap::new());
            let mut next = 0;
            for (adds, back) in steps {
                if adds {
                    prop_assert_eq!((numbered.next(), numbered.add(next * 7)), (next, next));
                    expected.insert(next, next * 7);
                    next += 1;
                }
                // Also what ended before, and what is still to come.
                let number = (next + 2).saturating_sub(back);
                prop_assert_eq!(numbered.get(number), expected.get(&number));
                prop_assert_eq!(numbered.get_mut(number), expected.get_mut(&number));
                if !adds {
                    prop_assert_eq!(numbered.remove(number), expected.remove(&number));
                }
                prop_assert!(numbered.iter().eq(expected.iter().map(|(number, what)| (*number, what))));
                prop_assert!(numbered.numbers().eq(expected.keys().copied()));
                prop_assert_eq!((numbered.len(), numbered.is_empty()), (expected.len(), expected.is_empty()));
                prop_assert!(numbered.places.front() != Some(&ENDED), "what has ended is let go of");
            }
        }
    }
}
