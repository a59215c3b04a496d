//! What was touched last, and drawing from it.

use crate::synthetic::random::Random;

/// The last `window` items.
pub(super) struct Recent<T> {
    /// A ring once it is full.
    items: Vec<T>,
    newest: usize,
    window: usize,
    /// The natural logarithm of one more than the window.
    log_window: f64,
}

impl<T: Copy> Recent<T> {
    pub(super) fn new(window: usize) -> Self {
        let window = window.max(1);
        Self { items: Vec::new(), newest: 0, window, log_window: libm::log(window as f64 + 1.0) }
    }

    #[inline]
    pub(super) fn add(&mut self, item: T) {
        if self.items.len() < self.window {
            self.newest = self.items.len();
            self.items.push(item);
        } else {
            self.newest = if self.newest + 1 < self.window { self.newest + 1 } else { 0 };
            self.items[self.newest] = item;
        }
    }

    /// The item of `d` ago, the logarithm of `d` uniform; none if there is no item at all.
    #[inline]
    pub(super) fn near(&self, random: &mut Random) -> Option<T> {
        let last = self.items.len().checked_sub(1)?;
        let back = (libm::exp(random.unit() * self.log_window) as usize - 1).min(last);
        let at = if back <= self.newest { self.newest - back } else { self.newest + self.items.len() - back };
        Some(self.items[at])
    }
}
