//! Which bottom updates are buffered: all of them, or fewer and fewer while buffering does not pay (TrackLace §4.2).

/// The controller of a buffer.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    /// One of 2 to the power of this is admitted.
    halvings: u32,
    most_halvings: u32,
    /// Requests that were not admitted since one was.
    refused: u32,
    /// Whether a buffered block was written since the last cleaning.
    is_hit: bool,
}

impl Admission {
    /// One that admits one request of `slowest`, a power of two, at least.
    pub fn new(slowest: u32) -> Self {
        Self { halvings: 0, most_halvings: slowest.trailing_zeros(), refused: 0, is_hit: false }
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
        (self.halvings, self.is_hit) = (0, true);
    }

    /// A track is cleaned.
    pub fn cleaned(&mut self) {
        if !std::mem::take(&mut self.is_hit) {
            self.halvings = self.most_halvings.min(self.halvings + 1);
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
        let mut admission = Admission::new(128);
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
    fn one_of_one_is_all() {
        let mut admission = Admission::new(1);
        (0..5).for_each(|_| admission.cleaned());
        assert!((0..100).all(|_| admission.admits()));
    }
}
