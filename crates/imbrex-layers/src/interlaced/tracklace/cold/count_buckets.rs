//! Numbers with a count each, in buckets of counts: 0, 1, 2 to 3, 4 to 7 and so on, each twice as wide as the one
//! before.
//!
//! All numbers lie in one list, bucket after bucket, so that a count that passes a limit costs one exchange, a random
//! member of a bucket is found at once, and memory never grows. Numbers that are set aside lie behind all buckets.

use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Buckets of 32-bit counts, and behind them what is set aside.
const BUCKETS: usize = 33;
const ASIDE: usize = BUCKETS;

/// The numbers below a limit.
#[derive(Clone, Debug)]
pub(super) struct CountBuckets {
    counts: Vec<u32>,
    /// The bucket of each number, or that it is set aside.
    buckets: Vec<u8>,
    /// The numbers, bucket by bucket.
    members: Vec<u32>,
    /// By number: where it is among the members.
    places: Vec<u32>,
    /// Where each bucket begins, where what is set aside does, and the end.
    starts: [u32; BUCKETS + 2],
}

/// The bucket of a count.
fn bucket_of(count: u32) -> usize {
    (u32::BITS - count.leading_zeros()) as usize
}

impl CountBuckets {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let count = self.counts.len() as u64;
        Memory::room::<u32>(count) + Memory::of::<[u32; 2]>(count) + Memory::room::<u8>(count)
    }

    /// Numbers below `limit`, each with a count of 0.
    pub fn new(limit: u32) -> Self {
        let mut starts = [limit; BUCKETS + 2];
        starts[0] = 0;
        Self {
            counts: vec![0; limit as usize],
            buckets: vec![0; limit as usize],
            members: (0..limit).collect(),
            places: (0..limit).collect(),
            starts,
        }
    }

    /// Counts `number` once more.
    #[inline]
    pub fn bump(&mut self, number: u32) {
        let count = &mut self.counts[number as usize];
        *count = count.saturating_add(1);
        let (bucket, to) = (usize::from(self.buckets[number as usize]), bucket_of(*count));
        if bucket != ASIDE && bucket != to {
            self.take_to(number, to);
        }
    }

    /// Halves every count: what is in a bucket goes to the one below, and nothing moves in the list.
    pub fn halve(&mut self) {
        self.counts.iter_mut().for_each(|count| *count /= 2);
        let counted = |bucket: &&mut u8| **bucket > 0 && usize::from(**bucket) != ASIDE;
        self.buckets.iter_mut().filter(counted).for_each(|bucket| *bucket -= 1);
        self.starts.copy_within(2..=BUCKETS, 1);
    }

    /// The members of the lowest bucket that has any.
    pub fn lowest(&self) -> &[u32] {
        let ends = self.starts[1..=BUCKETS].iter();
        let bucket = self.starts.iter().zip(ends).find(|(start, end)| start < end);
        bucket.map_or(&[], |(&start, &end)| &self.members[start as usize..end as usize])
    }

    /// Whether `number` is set aside.
    pub fn is_aside(&self, number: u32) -> bool {
        usize::from(self.buckets[number as usize]) == ASIDE
    }

    /// Takes `number` out of its bucket.
    pub fn set_aside(&mut self, number: u32) {
        self.take_to(number, ASIDE);
    }

    /// Puts `number` back into the bucket of its count.
    pub fn put_back(&mut self, number: u32) {
        self.take_to(number, bucket_of(self.counts[number as usize]));
    }

    /// Moves a number to another bucket, over the ends of those between.
    fn take_to(&mut self, number: u32, to: usize) {
        let mut at = usize::from(self.buckets[number as usize]);
        while at < to {
            self.starts[at + 1] -= 1;
            self.exchange(number, self.starts[at + 1]);
            at += 1;
        }
        while at > to {
            self.exchange(number, self.starts[at]);
            self.starts[at] += 1;
            at -= 1;
        }
        self.buckets[number as usize] = to as u8;
    }

    /// Exchanges a number with the one at `place`.
    fn exchange(&mut self, number: u32, place: u32) {
        let (other, from) = (self.members[place as usize], self.places[number as usize]);
        self.members.swap(from as usize, place as usize);
        (self.places[number as usize], self.places[other as usize]) = (place, from);
    }

    /// Verifies that every number is where its count says.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        for (number, (&bucket, &place)) in (0..).zip(self.buckets.iter().zip(&self.places)) {
            let (bucket, count) = (usize::from(bucket), self.counts[number as usize]);
            let lies = self.starts[bucket] <= place && place < self.starts[bucket + 1];
            if self.members[place as usize] != number || !lies || (bucket != ASIDE && bucket != bucket_of(count)) {
                return Err(Violation(format!("number {number}, counted {count} times, is not in its bucket")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::random::Random;

    fn lowest(buckets: &CountBuckets) -> Vec<u32> {
        let mut lowest = buckets.lowest().to_vec();
        lowest.sort_unstable();
        lowest
    }

    #[test]
    fn the_lowest_bucket_has_the_numbers_that_were_counted_least() {
        let mut buckets = CountBuckets::new(4);
        assert_eq!(lowest(&buckets), [0, 1, 2, 3]);
        [0, 1, 1, 2, 2, 2, 3].into_iter().for_each(|number| buckets.bump(number));
        assert_eq!(lowest(&buckets), [0, 3], "once");
        buckets.set_aside(0);
        buckets.set_aside(3);
        assert_eq!(lowest(&buckets), [1, 2], "two or three times");
        buckets.bump(0);
        buckets.put_back(0);
        buckets.bump(2);
        assert_eq!(lowest(&buckets), [0, 1], "four times is another bucket");
        buckets.check().unwrap();
        buckets.counts[2] = 1;
        assert!(buckets.check().is_err());
    }

    #[test]
    fn halved_counts_are_a_bucket_lower() {
        let mut buckets = CountBuckets::new(4);
        [1, 2, 2, 2, 3, 3, 3, 3, 3].into_iter().for_each(|number| buckets.bump(number));
        buckets.set_aside(3);
        buckets.halve();
        buckets.check().unwrap();
        assert_eq!(lowest(&buckets), [0, 1]);
        buckets.bump(1);
        buckets.halve();
        buckets.put_back(3);
        buckets.check().unwrap();
        assert_eq!((lowest(&buckets), &buckets.counts[..]), (vec![0, 1, 2], &[0, 0, 0, 1][..]));
    }

    #[test]
    fn every_number_stays_in_the_bucket_of_its_count() {
        let (mut buckets, mut random) = (CountBuckets::new(30), Random::new(3));
        for step in 0..20_000 {
            let number = random.below(1 + random.clone().below(30)) as u32;
            match step % 7 {
                0 if buckets.is_aside(number) => buckets.put_back(number),
                0 => buckets.set_aside(number),
                _ if random.below(300) == 0 => buckets.halve(),
                _ => buckets.bump(number),
            }
            if step % 50 == 0 {
                buckets.check().unwrap();
                let least =
                    (0..30).filter(|&n| !buckets.is_aside(n)).map(|n| bucket_of(buckets.counts[n as usize])).min();
                let of_least = |&n: &u32| !buckets.is_aside(n) && Some(bucket_of(buckets.counts[n as usize])) == least;
                assert_eq!(lowest(&buckets), (0..30).filter(of_least).collect::<Vec<_>>());
            }
        }
        (0..30)
            .filter(|&n| !buckets.clone().is_aside(n))
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|n| buckets.set_aside(n));
        assert!(buckets.lowest().is_empty());
    }
}
