//! Which bottom updates are buffered: all of them, or fewer and fewer while buffering does not pay (TrackLace §4.2).
//!
//! A block that is buffered costs a read and a write more than one that is not, and each write of it saves up to two of
//! both (§4.2). So buffering pays with one such write for two blocks. The paper lets all in with the first.

use super::config::Opens;

/// Blocks that pay with one hit.
const PAID_BY_A_HIT: u32 = 2;

/// The controller of a buffer.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    /// One of 2 to the power of this is admitted.
    halvings: u32,
    most_halvings: u32,
    /// Requests that were not admitted since one was.
    refused: u32,
    opens: Opens,
    /// Writes of buffered blocks, and blocks that were buffered, since the last cleaning; where they are weighed against
    /// each other, half of what was before as well. While few are let in, the first hit would else outweigh them.
    hits: u32,
    taken: u32,
}

impl Admission {
    /// One that admits one request of `slowest`, a power of two, at least.
    pub fn new(slowest: u32, opens: Opens) -> Self {
        Self { halvings: 0, most_halvings: slowest.trailing_zeros(), refused: 0, opens, hits: 0, taken: 0 }
    }

    /// Whether the next request is admitted.
    #[inline]
    pub fn admits(&mut self) -> bool {
        let is_turn = self.refused + 1 >= 1 << self.halvings;
        self.refused = if is_turn { 0 } else { self.refused + 1 };
        is_turn
    }

    /// A buffered block has been written again.
    #[inline]
    pub fn hit(&mut self) {
        self.hits = self.hits.saturating_add(1);
        if self.pays() {
            self.halvings = 0;
        }
    }

    /// Blocks have been buffered.
    #[inline]
    pub fn took(&mut self, blocks: u32) {
        self.taken = self.taken.saturating_add(blocks);
    }

    /// A track is cleaned.
    pub fn cleaned(&mut self) {
        if !self.pays() {
            self.halvings = self.most_halvings.min(self.halvings + 1);
        }
        (self.hits, self.taken) = match self.opens {
            Opens::Hit => (0, 0),
            Opens::Gain => (self.hits / 2, self.taken / 2),
        };
    }

    fn pays(&self) -> bool {
        match self.opens {
            Opens::Hit => self.hits > 0,
            Opens::Gain => self.hits.saturating_mul(PAID_BY_A_HIT) >= self.taken.max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of(admission: &Admission) -> u32 {
        let mut admission = admission.clone();
        let admitted = (0..1024).filter(|_| admission.admits()).count() as u32;
        1024 / admitted
    }

    #[test]
    fn the_rate_halves_with_each_cleaning_without_a_hit_and_returns_with_one() {
        let mut admission = Admission::new(128, Opens::Hit);
        let mut rates = Vec::new();
        for _ in 0..9 {
            rates.push(one_of(&admission));
            admission.cleaned();
        }
        assert_eq!(rates, [1, 2, 4, 8, 16, 32, 64, 128, 128]);
        admission.hit();
        assert_eq!(one_of(&admission), 1);
        admission.cleaned();
        assert_eq!(one_of(&admission), 1, "there was a hit since the last cleaning");
        admission.cleaned();
        assert_eq!(one_of(&admission), 2);
    }

    #[test]
    fn where_it_is_to_pay_one_hit_for_two_blocks_lets_all_in() {
        let mut admission = Admission::new(128, Opens::Gain);
        admission.took(8);
        (0..3).for_each(|_| admission.hit());
        admission.cleaned();
        assert_eq!(one_of(&admission), 2, "four hits would have paid");
        admission.hit();
        assert_eq!(one_of(&admission), 1, "two hits for the four blocks that count still");
        admission.took(1);
        admission.cleaned();
        assert_eq!(one_of(&admission), 2);
    }

    #[test]
    fn one_of_one_is_all() {
        let mut admission = Admission::new(1, Opens::Hit);
        (0..5).for_each(|_| admission.cleaned());
        assert!((0..100).all(|_| admission.admits()));
    }
}
