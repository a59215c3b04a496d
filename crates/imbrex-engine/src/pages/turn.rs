//! Which cached page leaves next: the second-chance list, in which a page that was used since it last came up stays for
//! another round.

use std::collections::{HashSet, VecDeque};

/// Cached pages in the order in which they come up.
#[derive(Default)]
pub(super) struct Turn {
    pages: VecDeque<u64>,
    used: HashSet<u64>,
}

impl Turn {
    /// A page is in the cache from now on.
    pub fn add(&mut self, page: u64) {
        self.pages.push_back(page);
    }

    /// A page has been used.
    pub fn used(&mut self, page: u64) {
        self.used.insert(page);
    }

    /// Takes out the next page that may leave, and was not used if another can be found.
    pub fn next(&mut self, may_leave: impl Fn(u64) -> bool) -> Option<u64> {
        // In a second round none counts as used.
        for _ in 0..2 * self.pages.len() {
            let page = self.pages.pop_front()?;
            if !self.used.remove(&page) && may_leave(page) {
                return Some(page);
            }
            self.pages.push_back(page);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_stays_for_another_round() {
        let mut turn = Turn::default();
        (1..=4).for_each(|page| turn.add(page));
        turn.used(1);
        assert_eq!(turn.next(|page| page != 2), Some(3));
        assert_eq!(turn.next(|_| true), Some(4));
        turn.used(1);
        turn.used(2);
        assert_eq!(turn.next(|_| true), Some(1), "all were used");
        assert_eq!(turn.next(|_| false), None);
        assert_eq!(turn.next(|_| true), Some(2));
        assert_eq!(turn.next(|_| true), None);
    }
}
