//! Short writes of a queue of a frontend. One thread at a time answers all that have come, so that the more come the
//! more are answered together. Nothing is lost by their waiting for each other: a layer takes writes in order.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// The most writes that are answered together.
const MOST: usize = 64;

/// Writes that no thread answers yet.
pub struct Batches<J> {
    state: Mutex<State<J>>,
}

struct State<J> {
    waiting: Vec<J>,
    /// Whether a thread answers writes, and will look for more.
    is_served: bool,
}

impl<J> Default for Batches<J> {
    fn default() -> Self {
        Self { state: Mutex::new(State { waiting: Vec::new(), is_served: false }) }
    }
}

impl<J> Batches<J> {
    /// Adds writes. Says whether a thread has to be told to answer them with [`Batches::take`].
    #[must_use]
    pub fn add(&self, writes: Vec<J>) -> bool {
        let mut state = self.state();
        state.waiting.extend(writes);
        !state.waiting.is_empty() && !std::mem::replace(&mut state.is_served, true)
    }

    /// The writes that the thread is to answer next; none when it has answered all.
    pub fn take(&self) -> Vec<J> {
        let mut state = self.state();
        let most = state.waiting.len().min(MOST);
        state.is_served = most > 0;
        state.waiting.drain(..most).collect()
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The contents of writes, one behind the other in the same memory. `len` says how long one is, and `fetch` reads it.
pub fn contents<W>(writes: &[W], len: impl Fn(&W) -> usize, mut fetch: impl FnMut(&W, &mut [u8])) -> Vec<Bytes> {
    let mut all = vec![0; writes.iter().map(&len).sum()];
    let mut rest = all.as_mut_slice();
    for write in writes {
        let (own, behind) = rest.split_at_mut(len(write));
        fetch(write, own);
        rest = behind;
    }
    let mut all = Bytes::from(all);
    writes.iter().map(|write| all.split_to(len(write))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_answers_all_that_come_meanwhile() {
        let batches = Batches::default();
        assert!(!batches.add(Vec::new()), "there is nothing to answer");
        assert!(batches.add(vec![1, 2]));
        assert!(!batches.add(vec![3]), "the thread that was told takes it too");
        assert_eq!(batches.take(), [1, 2, 3]);
        assert!(!batches.add((0..100).collect()), "it looks again");
        assert_eq!([batches.take().len(), batches.take().len(), batches.take().len()], [64, 36, 0]);
        assert!(batches.add(vec![4]), "it has gone");
    }

    #[test]
    fn each_write_has_its_own_content() {
        let contents = contents(&[1_u8, 3, 2], |write| usize::from(*write), |write, into| into.fill(*write));
        assert_eq!(contents, [vec![1], vec![3; 3], vec![2; 2]]);
    }
}
