//! Numbers with a key each, of which the one with the least key is found at once: a binary heap in which every number
//! knows its place, so that a key may change.

use imbrex_core::memory::Memory;

/// Behind all places: the number has no key.
const ABSENT: u32 = u32::MAX;

/// Numbers below a limit. All memory is taken at the beginning.
#[derive(Clone, Debug)]
pub(super) struct LeastFirst<K> {
    /// A tree in an array: the children of place `n` are at `2n + 1` and `2n + 2`.
    heap: Vec<(K, u32)>,
    /// By number.
    places: Vec<u32>,
}

impl<K: Copy + Ord> LeastFirst<K> {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let limit = self.places.len() as u64;
        Memory::room::<(K, u32)>(limit) + Memory::of::<u32>(limit)
    }

    /// No number below `limit` has a key.
    pub fn new(limit: u32) -> Self {
        Self { heap: Vec::with_capacity(limit as usize), places: vec![ABSENT; limit as usize] }
    }

    /// The number with the least key.
    pub fn least(&self) -> Option<u32> {
        self.heap.first().map(|&(_, number)| number)
    }

    /// Gives a number a key, instead of the one it had.
    pub fn set(&mut self, number: u32, key: K) {
        let place = match self.places[number as usize] {
            ABSENT => {
                self.heap.push((key, number));
                self.heap.len() - 1
            }
            place => {
                self.heap[place as usize].0 = key;
                place as usize
            }
        };
        self.settle(place);
    }

    /// Takes a number's key away, if it has one.
    pub fn remove(&mut self, number: u32) {
        let place = std::mem::replace(&mut self.places[number as usize], ABSENT) as usize;
        if place < self.heap.len() {
            self.heap.swap_remove(place);
            if place < self.heap.len() {
                self.settle(place);
            }
        }
    }

    /// The numbers that have a key, in no order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.heap.iter().map(|&(_, number)| number)
    }

    /// Moves what is at `place` up or down to where its key belongs.
    fn settle(&mut self, place: usize) {
        let mut at = place;
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.heap.swap(at, (at - 1) / 2);
            self.places[self.heap[at].1 as usize] = at as u32;
            at = (at - 1) / 2;
        }
        loop {
            let children = 2 * at + 1..self.heap.len().min(2 * at + 3);
            let Some(child) = children.min_by_key(|&child| self.heap[child]) else { break };
            if self.heap[at] <= self.heap[child] {
                break;
            }
            self.heap.swap(at, child);
            self.places[self.heap[at].1 as usize] = at as u32;
            at = child;
        }
        self.places[self.heap[at].1 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn the_least_key_is_first_however_keys_change() {
        let (mut heap, mut plain, mut random) = (LeastFirst::new(50), BTreeMap::new(), Random::new(1));
        for _ in 0..20_000 {
            let number = random.below(50) as u32;
            if random.below(3) == 0 {
                heap.remove(number);
                plain.remove(&number);
            } else {
                let key = random.below(100);
                heap.set(number, key);
                plain.insert(number, key);
            }
            let least = plain.iter().map(|(&number, &key)| (key, number)).min();
            assert_eq!(heap.least(), least.map(|(_, number)| number));
            assert_eq!(heap.numbers().count(), plain.len());
        }
    }
}
