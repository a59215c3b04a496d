//! How often each block has been overwritten, in pages that take memory only where some block was, or in pages of which
//! only some are in memory; and how blocks are put in order of that.

mod paged;

use imbrex_core::memory::Memory;
use paged::Paged;

const PAGE: u64 = 2048;

/// Bytes of a counter.
pub const COUNTER: usize = size_of::<u16>();

/// A counter for each number, all of them zero at first.
#[derive(Clone, Debug)]
pub struct Heat {
    pages: Vec<Option<Box<[u16; PAGE as usize]>>>,
    /// Instead of all pages.
    paged: Option<Box<Paged>>,
}

impl Heat {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        if let Some(paged) = &self.paged {
            return paged.memory();
        }
        let pages = self.pages.len() as u64;
        Memory::room::<Option<Box<[u16; PAGE as usize]>>>(pages) + Memory::room::<[u16; PAGE as usize]>(pages)
    }

    /// Counters of the numbers below `length`.
    #[must_use]
    pub fn new(length: u64) -> Self {
        Self { pages: vec![None; length.div_ceil(PAGE) as usize], paged: None }
    }

    /// Counters in pages of `entries`, of which at most `most` are in memory, and none at first.
    #[must_use]
    pub fn paged(entries: u64, most: u64) -> Self {
        Self { pages: Vec::new(), paged: Some(Box::new(Paged::new(entries, most))) }
    }

    /// Puts a page into memory that is not there: with the counters of `content`, and zeros behind them.
    pub fn put(&mut self, page: u64, content: &[u8]) {
        if let Some(paged) = &mut self.paged {
            paged.put(page, content);
        }
    }

    /// Appends what a page in memory holds.
    pub fn content(&self, page: u64, out: &mut Vec<u8>) {
        if let Some(paged) = &self.paged {
            paged.content(page, out);
        }
    }

    /// Takes a page out of memory.
    pub fn evict(&mut self, page: u64) {
        if let Some(paged) = &mut self.paged {
            paged.evict(page);
        }
    }

    #[cold]
    fn get_paged(&self, at: u64) -> u32 {
        self.paged.as_ref().map_or(0, |paged| paged.get(at).into())
    }

    #[cold]
    fn next_paged(&self, from: u64, end: u64) -> Option<u64> {
        self.paged.as_ref()?.next_raised(from, end)
    }

    #[cold]
    fn change_paged(&mut self, at: u64, change: impl FnOnce(u16) -> u16) {
        if let Some(counter) = self.paged.as_mut().and_then(|paged| paged.counter(at)) {
            *counter = change(*counter);
        }
    }

    /// The heat of `at`.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u32 {
        match self.pages.get((at / PAGE) as usize) {
            Some(page) => page.as_ref().map_or(0, |page| u32::from(page[(at % PAGE) as usize])),
            None => self.get_paged(at),
        }
    }

    /// The first number from `from` on and before `end` whose counter is not zero. Passes what takes no memory at once.
    #[must_use]
    pub fn next_raised(&self, mut from: u64, end: u64) -> Option<u64> {
        while from < end {
            let page_end = (from / PAGE + 1) * PAGE;
            let Some(page) = self.pages.get((from / PAGE) as usize) else { return self.next_paged(from, end) };
            if let Some(page) = page {
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
        let Some(page) = self.pages.get_mut((at / PAGE) as usize) else {
            return self.change_paged(at, |heat| heat.saturating_add(1));
        };
        let page = page.get_or_insert_with(|| Box::new([0; PAGE as usize]));
        let heat = &mut page[(at % PAGE) as usize];
        *heat = heat.saturating_add(1);
    }

    /// At most `left` again.
    pub fn cool(&mut self, at: u64, left: u32) {
        let left = u16::try_from(left).unwrap_or(u16::MAX);
        match self.pages.get_mut((at / PAGE) as usize) {
            Some(Some(page)) => {
                let heat = &mut page[(at % PAGE) as usize];
                *heat = (*heat).min(left);
            }
            Some(None) => {}
            None => self.change_paged(at, |heat| heat.min(left)),
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
    use imbrex_core::random::Random;
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

    /// The same counters, of which some are put out and in again meanwhile.
    #[test]
    fn pages_that_leave_memory_keep_their_counters() {
        let (mut plain, mut paged) = (Heat::new(100), Heat::paged(7, 15));
        let mut random = Random::new(1);
        (0..15).for_each(|page| paged.put(page, &[]));
        for step in 0..3000 {
            let (at, left) = (random.below(100), random.below(4) as u32);
            if step % 3 == 0 {
                [&mut plain, &mut paged].into_iter().for_each(|heat| heat.cool(at, left));
            } else {
                [&mut plain, &mut paged].into_iter().for_each(|heat| heat.raise(at));
            }
            let (page, mut content) = (random.below(15), Vec::new());
            paged.content(page, &mut content);
            assert_eq!(content.len(), 7 * COUNTER);
            paged.evict(page);
            assert!((page * 7..page * 7 + 7).all(|at| paged.get(at) == 0));
            paged.put(page, &content);
            let end = at + random.below(101 - at);
            assert_eq!((paged.get(at), paged.next_raised(at, end)), (plain.get(at), plain.next_raised(at, end)));
        }
        paged.evict(0);
        paged.raise(1);
        assert_eq!(paged.get(1), 0, "nothing is kept of a page that is not there");
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
