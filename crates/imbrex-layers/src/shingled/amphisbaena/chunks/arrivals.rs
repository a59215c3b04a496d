//! In which order chunks came into the cold buffer, and how long ago: ages are counted in chunks that came since.

use crate::parts::recency::RecencyList;
use imbrex_core::memory::Memory;

/// The greatest age that is told from others, but for a time in which as many chunks come. A buffer has so few chunks
/// that all of them are replaced three times before.
const OLDEST: u32 = 1 << 30;

/// The chunks that hold something.
pub(super) struct Arrivals {
    order: RecencyList,
    /// By chunk among those: the lowest bits of how many had come when it did.
    came: Vec<u32>,
    /// How many have come.
    count: u64,
}

impl Arrivals {
    /// The memory that they take.
    pub fn memory(&self) -> Memory {
        self.order.memory() + Memory::room::<u32>(self.came.len() as u64)
    }

    /// None of `chunks` chunks.
    pub fn new(chunks: u32) -> Self {
        Self { order: RecencyList::new(chunks), came: vec![0; chunks as usize], count: 0 }
    }

    /// None holds anything.
    pub fn clear(&mut self) {
        self.order.clear();
    }

    /// How many there are now.
    pub fn len(&self) -> u32 {
        self.order.len()
    }

    /// How many have ever come.
    pub fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    pub fn contains(&self, chunk: u32) -> bool {
        self.order.contains(chunk)
    }

    /// The one that came first.
    pub fn oldest(&self) -> Option<u32> {
        self.order.oldest()
    }

    #[inline]
    pub fn push(&mut self, chunk: u32) {
        self.count += 1;
        self.came[chunk as usize] = self.count as u32;
        self.order.push(chunk);
        if self.count.is_multiple_of(OLDEST.into()) {
            self.bound_ages();
        }
    }

    #[inline]
    pub fn remove(&mut self, chunk: u32) {
        self.order.remove(chunk);
    }

    /// How many have at least this age.
    pub fn older_than(&self, age: u64) -> u32 {
        debug_assert!(age <= OLDEST.into());
        self.order.in_order().take_while(|chunk| u64::from(self.age(*chunk)) >= age).count() as u32
    }

    fn age(&self, chunk: u32) -> u32 {
        (self.count as u32).wrapping_sub(self.came[chunk as usize])
    }

    /// Keeps ages so small that they follow from the lowest bits.
    #[cold]
    fn bound_ages(&mut self) {
        let mut next = self.order.oldest();
        while let Some(chunk) = next.filter(|chunk| self.age(*chunk) > OLDEST) {
            self.came[chunk as usize] = (self.count as u32).wrapping_sub(OLDEST);
            next = self.order.newer(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_how_many_came_since() {
        let mut arrivals = Arrivals::new(4);
        [2, 0, 3].into_iter().for_each(|chunk| arrivals.push(chunk));
        assert_eq!([0, 1, 2, 3].map(|age| arrivals.older_than(age)), [3, 2, 1, 0]);
        arrivals.remove(0);
        arrivals.push(0);
        assert_eq!([1, 2, 3, 4].map(|age| arrivals.older_than(age)), [2, 1, 1, 0]);
        assert_eq!((arrivals.oldest(), arrivals.len(), arrivals.count()), (Some(2), 3, 4));
    }

    #[test]
    fn what_stays_for_ever_stays_old() {
        let mut arrivals = Arrivals::new(3);
        arrivals.push(0);
        arrivals.push(1);
        for _ in 0..20 {
            // As if as many others had come and gone.
            arrivals.count += u64::from(OLDEST) - arrivals.count % u64::from(OLDEST) - 1;
            arrivals.push(2);
            assert_eq!([1000, u64::from(OLDEST) - 2].map(|age| arrivals.older_than(age)), [2, 2]);
            arrivals.remove(2);
        }
    }
}
