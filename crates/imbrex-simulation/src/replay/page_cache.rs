//! Which pages of a map are in memory: the most recently used ones.

use std::collections::HashMap;

use imbrex_layers::parts::recency::RecencyList;

/// When a page has to leave that was changed, this part of the pages is looked at, from the least recently used one on,
/// and those that were changed are written together: they lie close together, so the head does not travel far.
const LOOKED_AT: usize = 4;
/// But no more than these: whoever waits for the page waits for all of them.
const TOGETHER: usize = 512;

/// A page in memory.
#[derive(Copy, Clone, Debug)]
struct Held {
    page: u64,
    /// Whether it was changed since it was read or written.
    is_dirty: bool,
}

/// The pages in memory, at most as many as there are frames.
pub(super) struct PageCache {
    frames: Vec<Held>,
    most: usize,
    /// The frame of each page.
    of: HashMap<u64, u32>,
    /// Frames that hold pages.
    recency: RecencyList,
    free: Vec<u32>,
}

impl PageCache {
    /// No page is in memory, and at most `most` will be.
    pub fn new(most: u32) -> Self {
        Self {
            frames: Vec::new(),
            most: most as usize,
            of: HashMap::new(),
            recency: RecencyList::new(most),
            free: Vec::new(),
        }
    }

    /// Pages that it holds at most.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Whether a page is in memory. It counts as used.
    pub fn uses(&mut self, page: u64) -> bool {
        let Some(&frame) = self.of.get(&page) else { return false };
        self.recency.remove(frame);
        self.recency.push(frame);
        true
    }

    /// A page that is in memory was changed.
    pub fn changed(&mut self, page: u64) {
        if let Some(&frame) = self.of.get(&page) {
            self.frames[frame as usize].is_dirty = true;
        }
    }

    /// There is no such page any more.
    pub fn forget(&mut self, page: u64) {
        if let Some(frame) = self.of.remove(&page) {
            self.recency.remove(frame);
            self.free.push(frame);
        }
    }

    /// Takes a page that is not in memory into it. If the one that leaves for it was changed, that one and others that
    /// were, in ascending order, are added to `written`: they have to be written.
    pub fn take(&mut self, page: u64, written: &mut Vec<u64>) {
        let frame = self.frame(written);
        self.frames[frame as usize] = Held { page, is_dirty: false };
        self.of.insert(page, frame);
        self.recency.push(frame);
    }

    fn frame(&mut self, written: &mut Vec<u64>) -> u32 {
        if let Some(frame) = self.free.pop() {
            return frame;
        }
        if self.frames.len() < self.most {
            self.frames.push(Held { page: 0, is_dirty: false });
            return self.frames.len() as u32 - 1;
        }
        let oldest = self.recency.oldest().expect("a full cache has a page that was used least recently");
        if self.frames[oldest as usize].is_dirty {
            self.write_back(written);
        }
        self.recency.remove(oldest);
        self.of.remove(&self.frames[oldest as usize].page);
        oldest
    }

    /// Lists the least recently used of the changed pages, among them the one that was used least recently.
    fn write_back(&mut self, written: &mut Vec<u64>) {
        let from = written.len();
        let looked_at = self.most.div_ceil(LOOKED_AT).min(TOGETHER);
        for frame in self.recency.in_order().take(looked_at) {
            let held = &mut self.frames[frame as usize];
            if std::mem::take(&mut held.is_dirty) {
                written.push(held.page);
            }
        }
        written[from..].sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(cache: &mut PageCache, page: u64) -> Vec<u64> {
        let mut written = Vec::new();
        cache.take(page, &mut written);
        written
    }

    #[test]
    fn the_least_recently_used_page_leaves() {
        let mut cache = PageCache::new(3);
        (0..3).for_each(|page| assert!(take(&mut cache, page).is_empty()));
        assert!(cache.uses(0));
        assert!(take(&mut cache, 3).is_empty(), "page 1 leaves, and was not changed");
        assert_eq!([0, 1, 2, 3].map(|page| cache.uses(page)), [true, false, true, true]);
    }

    #[test]
    fn changed_pages_are_written_together_and_once() {
        let mut cache = PageCache::new(12);
        (0..12).rev().for_each(|page| drop(take(&mut cache, page)));
        [11, 9, 3].into_iter().for_each(|page| cache.changed(page));
        assert_eq!(take(&mut cache, 12), [9, 11], "of the three that were used least recently");
        assert!(
            take(&mut cache, 13).is_empty() && take(&mut cache, 14).is_empty(),
            "10 was not changed, and 9 written"
        );
        assert!((0..5).all(|page| take(&mut cache, 20 + page).is_empty()));
        assert_eq!(take(&mut cache, 30), [3]);
    }

    #[test]
    fn a_page_that_is_forgotten_leaves_its_frame() {
        let mut cache = PageCache::new(2);
        (0..2).for_each(|page| drop(take(&mut cache, page)));
        cache.changed(0);
        cache.forget(0);
        assert!(!cache.uses(0));
        assert!(take(&mut cache, 2).is_empty());
        assert!(cache.uses(1) && cache.uses(2));
    }
}
