//! Which cached page leaves next: the second-chance list, in which a page that was used since it last came up stays for
//! another round.

use std::collections::VecDeque;

/// Cached pages in the order in which they come up.
#[derive(Default)]
pub(super) struct Turn {
    pages: VecDeque<u64>,
}

impl Turn {
    /// A page is in the cache from now on.
    pub fn add(&mut self, page: u64) {
        self.pages.push_back(page);
    }

    /// Takes out the next page that leaves. Each is asked twice at most: one that was used, which is forgotten when it is
    /// asked, has another chance.
    pub fn next(&mut self, mut leaves: impl FnMut(u64) -> bool) -> Option<u64> {
        for _ in 0..2 * self.pages.len() {
            let page = self.pages.pop_front()?;
            if leaves(page) {
                return Some(page);
            }
            self.pages.push_back(page);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_was_used_stays_for_another_round() {
        let mut turn = Turn::default();
        (1..=4).for_each(|page| turn.add(page));
        let mut used = BTreeSet::from([1]);
        assert_eq!(turn.next(|page| !used.remove(&page) && page != 2), Some(3));
        assert_eq!(turn.next(|page| !used.remove(&page)), Some(4));
        used.extend([1, 2]);
        assert_eq!(turn.next(|page| !used.remove(&page)), Some(1), "all were used");
        assert_eq!(turn.next(|_| false), None);
        assert_eq!(turn.next(|_| true), Some(2));
        assert_eq!(turn.next(|_| true), None);
    }
}
