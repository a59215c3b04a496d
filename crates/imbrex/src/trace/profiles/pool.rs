//! Extents that may be touched again, and which one is.

use super::Model;
use crate::trace::synthetic::random::Random;

/// An extent in blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub block: u32,
    pub blocks: u16,
}

/// The extents of a kind in order of first use, and those touched last.
pub(super) struct Pool {
    places: Vec<Place>,
    /// Indices of the places touched last; a ring once it is full.
    recent: Vec<u32>,
    newest: usize,
    window: usize,
    /// The natural logarithm of one more than the window.
    log_window: f64,
    scanned: usize,
}

impl Pool {
    /// A pool in which near means within the last `window` touches.
    pub(super) fn new(window: usize) -> Self {
        let window = window.max(1);
        let log_window = libm::log(window as f64 + 1.0);
        Self { places: Vec::new(), recent: Vec::new(), newest: 0, window, log_window, scanned: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn add(&mut self, place: Place) {
        let index = self.places.len() as u32;
        self.places.push(place);
        self.touch(index);
    }

    /// Touches a place of a pool that has some.
    #[inline]
    pub(super) fn touch_any(&mut self, model: &Model, random: &mut Random) -> Place {
        let index = if !random.chance(model.distant) {
            self.near(random)
        } else if random.chance(model.scan) {
            self.scanned = if self.scanned + 1 < self.places.len() { self.scanned + 1 } else { 0 };
            self.scanned as u32
        } else {
            random.below(self.places.len() as u64) as u32
        };
        self.touch(index);
        self.places[index as usize]
    }

    #[inline]
    fn near(&self, random: &mut Random) -> u32 {
        let back = libm::exp(random.unit() * self.log_window) as usize - 1;
        let back = back.min(self.recent.len() - 1);
        let at = if back <= self.newest { self.newest - back } else { self.newest + self.recent.len() - back };
        self.recent[at]
    }

    #[inline]
    fn touch(&mut self, index: u32) {
        if self.recent.len() < self.window {
            self.newest = self.recent.len();
            self.recent.push(index);
        } else {
            self.newest = if self.newest + 1 < self.window { self.newest + 1 } else { 0 };
            self.recent[self.newest] = index;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Model = Model {
        new_length_ratio: 1.0,
        written_zones: 1.0,
        fill: 1.0,
        rewritten: 1.0,
        run_extents: 1.0,
        growth: 1.0,
        new_read_share: None,
        reads_of_written: 0.0,
        distant: 0.0,
        scan: 1.0,
    };

    fn pool(places: u32, window: usize) -> Pool {
        let mut pool = Pool::new(window);
        (0..places).for_each(|block| pool.add(Place { block, blocks: 1 }));
        pool
    }

    #[test]
    fn near_stays_within_the_window_and_reaches_all_of_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 100];
        for _ in 0..10_000 {
            // A fresh pool each time: touching moves the window.
            let place = pool(100, 16).touch_any(&MODEL, &mut random);
            seen[place.block as usize] = true;
        }
        assert!(seen[..84].iter().all(|seen| !seen));
        assert!(seen[85..].iter().all(|seen| *seen), "{seen:?}");
    }

    #[test]
    fn a_scan_goes_round_in_order_of_first_use() {
        let mut random = Random::new(1);
        let mut pool = pool(3, 2);
        let model = Model { distant: 1.0, ..MODEL };
        let blocks: Vec<_> = (0..5).map(|_| pool.touch_any(&model, &mut random).block).collect();
        assert_eq!(blocks, [1, 2, 0, 1, 2]);
    }
}
