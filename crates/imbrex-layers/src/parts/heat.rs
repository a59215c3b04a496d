//! How often each block has been overwritten, in pages that take memory only where some block was; and how blocks are
//! put in order of that.

use imbrex_core::memory::Memory;

const PAGE: u64 = 2048;

/// Bytes of a counter.
pub const COUNTER: usize = size_of::<u16>();

/// A counter for each number, all of them zero at first.
#[derive(Clone, Debug)]
pub struct Heat {
    pages: Vec<Option<Box<[u16; PAGE as usize]>>>,
}

impl Heat {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let pages = self.pages.len() as u64;
        Memory::room::<Option<Box<[u16; PAGE as usize]>>>(pages) + Memory::room::<[u16; PAGE as usize]>(pages)
    }

    /// Counters of the numbers below `length`.
    #[must_use]
    pub fn new(length: u64) -> Self {
        Self { pages: vec![None; length.div_ceil(PAGE) as usize] }
    }

    /// The heat of `at`.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u32 {
        self.pages[(at / PAGE) as usize].as_ref().map_or(0, |page| u32::from(page[(at % PAGE) as usize]))
    }

    /// The first number from `from` on and before `end` whose counter is not zero. Passes what takes no memory at once.
    #[must_use]
    pub fn next_raised(&self, mut from: u64, end: u64) -> Option<u64> {
        while from < end {
            let page_end = (from / PAGE + 1) * PAGE;
            if let Some(page) = &self.pages[(from / PAGE) as usize] {
                let part = &page[(from % PAGE) as usize..(end.min(page_end) - (page_end - PAGE)) as usize];
                if let Some(at) = part.iter().position(|heat| *heat > 0) {
                    return Some(from + at as u64);
                }
            }
            from = page_end;
        }
        None
    }

    /// One more. Not counted further than a counter holds.
    pub fn raise(&mut self, at: u64) {
        let page = self.pages[(at / PAGE) as usize].get_or_insert_with(|| Box::new([0; PAGE as usize]));
        let heat = &mut page[(at % PAGE) as usize];
        *heat = heat.saturating_add(1);
    }

    /// At most `left` again.
    pub fn cool(&mut self, at: u64, left: u32) {
        if let Some(page) = &mut self.pages[(at / PAGE) as usize] {
            let heat = &mut page[(at % PAGE) as usize];
            *heat = (*heat).min(u16::try_from(left).unwrap_or(u16::MAX));
        }
    }
}

/// Puts things in order of their heat, in time that grows with their number alone: heats are small numbers, so that
/// counting them says where each belongs. Keeps its memory.
#[derive(Clone, Debug)]
pub struct HeatOrder<T> {
    /// By heat, how many there are, and then how many come before.
    counts: Vec<u32>,
    sorted: Vec<T>,
}

impl<T: Copy> HeatOrder<T> {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        // A counter for each heat there may be.
        Memory::room::<T>(self.sorted.capacity() as u64) + Memory::growing::<u32>(1 << 16)
    }

    /// For at most `most` things at a time.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self { counts: Vec::new(), sorted: Vec::with_capacity(most as usize) }
    }

    /// The hottest first, and as they were among equals.
    pub fn hottest_first(&mut self, things: &mut [T], heat: impl Fn(&T) -> u32) {
        let Self { counts, sorted } = self;
        counts.clear();
        counts.resize(things.iter().map(&heat).max().map_or(0, |hottest| hottest as usize + 1), 0);
        things.iter().for_each(|thing| counts[heat(thing) as usize] += 1);
        let mut hotter = 0;
        for count in counts.iter_mut().rev() {
            hotter += std::mem::replace(count, hotter);
        }
        sorted.clear();
        sorted.extend_from_slice(things);
        for thing in &*things {
            let before = &mut counts[heat(thing) as usize];
            sorted[*before as usize] = *thing;
            *before += 1;
        }
        things.copy_from_slice(sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn orders_as_a_stable_sort_does(heats in prop::collection::vec(0u32..9, 0..40), twice in any::<bool>()) {
            let mut things: Vec<(u32, usize)> = heats.into_iter().zip(0..).collect();
            let mut expected = things.clone();
            expected.sort_by_key(|&(heat, _)| std::cmp::Reverse(heat));
            let mut order = HeatOrder::new(40);
            if twice {
                order.hottest_first(&mut [(70_000, 0), (1, 1)], |&(heat, _)| heat);
            }
            order.hottest_first(&mut things, |&(heat, _)| heat);
            prop_assert_eq!(things, expected);
        }
    }

    #[test]
    fn what_was_raised_is_found_across_pages() {
        let mut heat = Heat::new(4 * PAGE);
        [PAGE - 1, 3 * PAGE, 3 * PAGE + 1].into_iter().for_each(|at| heat.raise(at));
        assert_eq!(heat.next_raised(0, 4 * PAGE), Some(PAGE - 1));
        assert_eq!(heat.next_raised(PAGE, 4 * PAGE), Some(3 * PAGE));
        assert_eq!(heat.next_raised(3 * PAGE + 1, 4 * PAGE), Some(3 * PAGE + 1));
        assert_eq!([(0, PAGE - 1), (PAGE, 3 * PAGE), (5, 5)].map(|(from, end)| heat.next_raised(from, end)), [None; 3]);
        heat.cool(PAGE - 1, 0);
        assert_eq!(heat.next_raised(0, PAGE), None, "a page of zeros is as cold as none");
    }

    #[test]
    fn counts_until_cooled_and_takes_memory_where_it_counts() {
        let mut heat = Heat::new(3 * PAGE + 1);
        heat.cool(3 * PAGE, 0);
        assert_eq!(heat.get(3 * PAGE), 0);
        (0..70_000).for_each(|_| heat.raise(PAGE + 7));
        heat.raise(PAGE + 8);
        assert_eq!([6, 7, 8, 9].map(|at| heat.get(PAGE + at)), [0, u32::from(u16::MAX), 1, 0]);
        heat.cool(PAGE + 7, 9);
        heat.cool(PAGE + 8, 9);
        assert_eq!([7, 8].map(|at| heat.get(PAGE + at)), [9, 1]);
        heat.cool(PAGE + 7, 0);
        assert_eq!([7, 8].map(|at| heat.get(PAGE + at)), [0, 1]);
        assert_eq!(heat.pages.iter().flatten().count(), 1);
    }
}
