//! Phase 1: a request is hot if it is not larger than the mean of those before it.
//!
//! Sizes are those that a runner announces, in bytes, or else blocks: a runner announces all writes or none.

use super::config::Sizes;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::memory::Memory;

pub(super) struct Label {
    /// The sizes of the last requests, the oldest at `next` once there are as many as fit.
    window: Vec<u64>,
    next: usize,
    length: usize,
    sum: u64,
    sizes: Sizes,
    /// The request that was announced last, and its bytes.
    announced: Option<(Extent<Lba>, u64)>,
    /// Whether a request of the mean size is cold.
    strictly: bool,
    /// The request that is being served: what is left of it, and its label.
    current: Option<(Extent<Lba>, bool)>,
}

impl Label {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::room::<u64>(self.length as u64)
    }

    pub fn new(length: u32, sizes: Sizes, strictly: bool) -> Self {
        let length = length as usize;
        let window = Vec::with_capacity(length);
        Self { window, next: 0, length, sum: 0, sizes, announced: None, strictly, current: None }
    }

    /// Takes note of the size of the request for `at`.
    #[inline]
    pub fn announced(&mut self, at: Extent<Lba>, bytes: u64) {
        self.announced = Some((at, bytes));
    }

    /// Whether `at` is what was left of the request before.
    #[inline]
    pub fn continues(&self, at: Extent<Lba>) -> bool {
        self.current.is_some_and(|(rest, _)| rest == at)
    }

    /// Labels a request, and what is left of it.
    #[inline]
    pub fn is_hot(&mut self, at: Extent<Lba>) -> bool {
        if let Some((rest, hot)) = self.current
            && rest == at
        {
            return hot;
        }
        let bytes = self.announced.filter(|&(announced, _)| announced == at && self.sizes == Sizes::Bytes);
        let (size, seen) = (bytes.map_or(u64::from(at.blocks), |(_, bytes)| bytes), self.window.len() as u64);
        let hot = seen == 0 || size * seen < self.sum + u64::from(!self.strictly);
        self.push(size);
        self.current = Some((at, hot));
        hot
    }

    /// The label of the request that `at` is left of.
    pub fn of_rest(&self, at: Extent<Lba>) -> bool {
        self.current.is_some_and(|(rest, hot)| rest == at && hot)
    }

    /// `rest` is left of the request.
    #[inline]
    pub fn left(&mut self, rest: Extent<Lba>) {
        self.current = self.current.filter(|_| !rest.is_empty()).map(|(_, hot)| (rest, hot));
    }

    pub fn clear(&mut self) {
        *self = Self::new(self.length as u32, self.sizes, self.strictly);
    }

    fn push(&mut self, size: u64) {
        self.sum += size;
        if self.window.len() < self.length {
            self.window.push(size);
            return;
        }
        self.sum -= std::mem::replace(&mut self.window[self.next], size);
        self.next = (self.next + 1) % self.length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(window: u32, strictly: bool, sizes: &[u32]) -> Vec<bool> {
        let mut label = Label::new(window, Sizes::Bytes, strictly);
        let mut hot = Vec::new();
        for (at, &size) in (0..).zip(sizes) {
            hot.push(label.is_hot(Extent::new(Lba(at), size)));
            label.left(Extent::new(Lba(at), 0));
        }
        hot
    }

    #[test]
    fn small_requests_are_hot_beside_large_ones() {
        let sizes = [4, 4, 5, 4, 5, 1, 3, 2];
        // The means before each: -, 4, 4, 13/3, 17/4; with a window of three then 14/3, 10/3 and 3.
        assert_eq!(labels(3, false, &sizes), [true, true, false, true, false, true, true, true]);
        assert_eq!(labels(3, true, &sizes), [true, false, false, true, false, true, true, true]);
    }

    #[test]
    fn announced_bytes_count_unless_blocks_are_asked_for() {
        let labels = |sizes| {
            let mut label = Label::new(10, sizes, false);
            // The second touches two blocks with fewer bytes, the third one block with more than the mean.
            [(1, 1000), (2, 600), (1, 900)].map(|(blocks, bytes)| {
                let at = Extent::new(Lba(7), blocks);
                label.announced(at, bytes);
                let hot = label.is_hot(at);
                label.left(at.skip(blocks));
                hot
            })
        };
        assert_eq!(labels(Sizes::Bytes), [true, true, false]);
        assert_eq!(labels(Sizes::Blocks), [true, false, true]);
    }

    #[test]
    fn what_is_left_of_a_request_keeps_its_label_and_counts_once() {
        let mut label = Label::new(10, Sizes::Bytes, false);
        let at = |start, blocks| Extent::new(Lba(start), blocks);
        assert!(label.is_hot(at(0, 4)));
        label.left(at(0, 0));
        assert!(!label.is_hot(at(10, 8)) && !label.continues(at(11, 7)));
        label.left(at(12, 6));
        assert!(label.continues(at(12, 6)) && !label.is_hot(at(12, 6)) && !label.of_rest(at(12, 6)));
        label.left(at(18, 0));
        assert!(!label.continues(at(18, 0)));
        assert!(label.is_hot(at(12, 6)), "a request of its own; the mean is 6");
    }
}
