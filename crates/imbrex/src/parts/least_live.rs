//! Units by how many live blocks they hold, so that the one with the fewest is found at once: greedy victim choice.
//!
//! One list for each number of live blocks. Of units with equally many, the one that has had so many for longest comes
//! first.

const NONE: u32 = u32::MAX;

/// A set of units, each with its number of live blocks.
#[derive(Clone, Debug)]
pub struct LeastLive {
    /// First and last unit of each list, by live blocks.
    ends: Vec<(u32, u32)>,
    /// The unit before and the unit after, in its list.
    links: Vec<(u32, u32)>,
    /// The list that a unit is in, or [`NONE`].
    list: Vec<u32>,
    /// No list below this one has a unit.
    lowest: u32,
}

impl LeastLive {
    /// No unit of `units`, which hold at most `most` live blocks.
    #[must_use]
    pub fn new(units: u32, most: u32) -> Self {
        Self {
            ends: vec![(NONE, NONE); most as usize + 1],
            links: vec![(NONE, NONE); units as usize],
            list: vec![NONE; units as usize],
            lowest: 0,
        }
    }

    /// How many live blocks a unit was said to hold, if it is in the set.
    #[must_use]
    pub fn live(&self, unit: u32) -> Option<u32> {
        let list = self.list[unit as usize];
        (list != NONE).then_some(list)
    }

    /// The unit that holds the fewest, and how many.
    #[must_use]
    pub fn least(&mut self) -> Option<(u32, u32)> {
        let lists = self.ends.iter().enumerate().skip(self.lowest as usize);
        let found = lists.map(|(list, ends)| (ends.0, list as u32)).find(|(unit, _)| *unit != NONE);
        self.lowest = found.map_or(self.lowest, |(_, list)| list);
        found
    }

    /// Adds a unit that is not in the set.
    pub fn insert(&mut self, unit: u32, live: u32) {
        debug_assert!(self.list[unit as usize] == NONE);
        let (_, last) = self.ends[live as usize];
        self.links[unit as usize] = (last, NONE);
        match last {
            NONE => self.ends[live as usize].0 = unit,
            last => self.links[last as usize].1 = unit,
        }
        self.ends[live as usize].1 = unit;
        self.list[unit as usize] = live;
        self.lowest = self.lowest.min(live);
    }

    /// Takes a unit out, if it is in the set.
    pub fn remove(&mut self, unit: u32) {
        let list = std::mem::replace(&mut self.list[unit as usize], NONE);
        if list == NONE {
            return;
        }
        let (before, after) = self.links[unit as usize];
        match before {
            NONE => self.ends[list as usize].0 = after,
            before => self.links[before as usize].1 = after,
        }
        match after {
            NONE => self.ends[list as usize].1 = before,
            after => self.links[after as usize].0 = before,
        }
    }

    /// A unit now holds so many; without meaning if it is not in the set.
    #[inline]
    pub fn change(&mut self, unit: u32, live: u32) {
        if self.list[unit as usize] != NONE {
            self.remove(unit);
            self.insert(unit, live);
        }
    }

    /// Takes all units out.
    pub fn clear(&mut self) {
        self.ends.fill((NONE, NONE));
        self.list.fill(NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_and_longest_so_comes_first(steps in prop::collection::vec((0u8..4, 0u32..12, 0u32..=7), 1..200)) {
            let mut set = LeastLive::new(12, 7);
            let mut plain: Vec<(u32, u32)> = Vec::new();
            for (kind, unit, live) in steps {
                let at = plain.iter().position(|(u, _)| *u == unit);
                match (kind, at) {
                    (0 | 1, None) => {
                        set.insert(unit, live);
                        plain.push((unit, live));
                    }
                    (0 | 1, Some(at)) => {
                        set.change(unit, live);
                        plain.remove(at);
                        plain.push((unit, live));
                    }
                    (2, at) => {
                        set.remove(unit);
                        at.map(|at| plain.remove(at));
                    }
                    _ if live == 0 => {
                        set.clear();
                        plain.clear();
                    }
                    _ => {}
                }
                // The first of equals.
                prop_assert_eq!(set.least(), plain.iter().copied().min_by_key(|(_, live)| *live));
                prop_assert_eq!(set.live(unit), plain.iter().find(|(u, _)| *u == unit).map(|(_, live)| *live));
            }
        }
    }
}
