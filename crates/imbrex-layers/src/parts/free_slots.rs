//! The free slots of a persistent buffer that are taken anywhere: lowest first, or the first run that is long enough.

use super::bitmap::Bitmap;
use imbrex_core::memory::Memory;

/// A set of slots.
#[derive(Clone)]
pub struct FreeSlots {
    free: Bitmap,
    slots: u32,
    count: u32,
    /// The lowest of them, or the number of slots. A search that begins at slot 0 passes all that are taken.
    lowest: u32,
}

impl FreeSlots {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.free.memory()
    }

    /// All of `slots` slots.
    #[must_use]
    pub fn all(slots: u32) -> Self {
        let mut free = Bitmap::new(u64::from(slots));
        free.insert_run(0, u64::from(slots));
        Self { free, slots, count: slots, lowest: 0 }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether `slot` is one of them.
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        self.free.contains(u64::from(slot))
    }

    /// Adds `slot`.
    #[inline]
    pub fn insert(&mut self, slot: u32) {
        self.lowest = self.lowest.min(slot);
        self.count += u32::from(self.free.insert(u64::from(slot)));
    }

    /// Takes `slot` out.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.count -= u32::from(self.free.remove(u64::from(slot)));
        self.taken(slot, slot + 1);
    }

    /// Adds the slots from `from` to before `end`.
    pub fn insert_run(&mut self, from: u32, end: u32) {
        if from < end {
            self.lowest = self.lowest.min(from);
        }
        self.count += self.free.insert_run(from.into(), end.into()) as u32;
    }

    /// Takes the slots from `from` to before `end` out.
    pub fn remove_run(&mut self, from: u32, end: u32) {
        self.count -= self.free.remove_run(from.into(), end.into()) as u32;
        self.taken(from, end);
    }

    /// Finds the lowest again if it was among those from `from` to before `end`, which are gone.
    #[inline]
    fn taken(&mut self, from: u32, end: u32) {
        if (from..end).contains(&self.lowest) {
            self.lowest = self.free.next(end.into(), self.slots.into()).map_or(self.slots, |lowest| lowest as u32);
        }
    }

    /// The first of the lowest `runs` runs that has `wanted` slots. Without one, the lowest run, however short.
    #[inline]
    #[must_use]
    pub fn first_fit(&self, wanted: u32, runs: u32) -> Option<(u32, u32)> {
        self.next_fit(self.lowest, wanted, runs)
    }

    /// The first of the `runs` runs at or behind `from` that has `wanted` slots. Without one, the first of them.
    #[inline]
    #[must_use]
    pub fn next_fit(&self, from: u32, wanted: u32, runs: u32) -> Option<(u32, u32)> {
        let lowest = self.run(from, wanted)?;
        let mut run = lowest;
        for _ in 1..runs {
            if run.1 >= wanted {
                return Some(run);
            }
            let Some(next) = self.run(run.0 + run.1, wanted) else { break };
            run = next;
        }
        Some(if run.1 >= wanted { run } else { lowest })
    }

    /// The lowest run at or behind `from`, cut to `most` slots: its first slot and its length.
    #[inline]
    fn run(&self, from: u32, most: u32) -> Option<(u32, u32)> {
        let first = self.free.next(u64::from(from), u64::from(self.slots))?;
        let end = u64::from(self.slots).min(first + u64::from(most));
        Some((first as u32, (self.free.next_absent(first, end) - first) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(slots: u32, free: &[u32]) -> FreeSlots {
        let mut set = FreeSlots::all(slots);
        (0..slots).filter(|s| !free.contains(s)).for_each(|s| set.remove(s));
        set
    }

    #[test]
    fn the_first_run_that_is_long_enough_is_found() {
        let set = with(200, &[2, 70, 71, 130, 131, 132, 199]);
        assert_eq!(set.count(), 7);
        assert_eq!(set.first_fit(1, 64), Some((2, 1)));
        assert_eq!(set.first_fit(2, 64), Some((70, 2)));
        assert_eq!(set.first_fit(3, 64), Some((130, 3)));
        assert_eq!(set.first_fit(4, 64), Some((2, 1)), "none is, so the lowest");
        assert_eq!(set.first_fit(3, 2), Some((2, 1)), "nor among the lowest two");
        assert_eq!(set.first_fit(3, 1), Some((2, 1)));
        assert_eq!(with(9, &[]).first_fit(1, 64), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_search_by_hand(free in prop::collection::btree_set(0u32..150, 0..100), wanted in 1u32..6) {
            let set = with(150, &free.iter().copied().collect::<Vec<_>>());
            let run = |first: u32| (first..).take_while(|s| free.contains(s)).count() as u32;
            let starts = free.iter().copied().filter(|&s| s == 0 || !free.contains(&(s - 1)));
            let fit = starts.clone().find(|&s| run(s) >= wanted).map(|s| (s, wanted));
            let lowest = starts.clone().next().map(|s| (s, run(s).min(wanted)));
            prop_assert_eq!(set.first_fit(wanted, u32::MAX), fit.or(lowest));
            prop_assert_eq!(set.lowest, lowest.map_or(150, |(slot, _)| slot));
            prop_assert_eq!(set.count() as usize, free.len());
            let (mut cut, end) = (set.clone(), 10 * wanted);
            cut.remove_run(wanted, end);
            let inside = free.iter().filter(|slot| (wanted..end).contains(slot)).count();
            prop_assert_eq!(cut.count() as usize, free.len() - inside);
            let rest = free.iter().find(|slot| !(wanted..end).contains(slot));
            prop_assert_eq!(cut.lowest, rest.copied().unwrap_or(150));
            cut.insert_run(wanted, end);
            prop_assert_eq!(cut.count() as usize, free.len() - inside + (end - wanted) as usize);
            prop_assert_eq!(cut.lowest, rest.copied().unwrap_or(150).min(wanted));
        }
    }
}
