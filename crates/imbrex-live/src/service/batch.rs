//! Short writes of a queue of a frontend. One thread at a time answers all that have come, so that the more come the
//! more are answered together. Nothing is lost by their waiting for each other: a layer takes writes in order.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// The most writes that are answered together: half of a queue as long as most are, so that whoever asks brings more while
/// the others are written.
const MOST: usize = 16;

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

/// The contents of writes, one behind the other, and where each lies. `len` says how long one is, and `fetch` adds it to
/// those before.
pub fn contents<W>(
    writes: &[W],
    len: impl Fn(&W) -> usize,
    mut fetch: impl FnMut(&W, &mut Vec<u8>),
) -> (Bytes, Vec<Range<usize>>) {
    let mut all = Vec::with_capacity(writes.iter().map(len).sum());
    let add = |write| {
        let from = all.len();
        fetch(write, &mut all);
        from..all.len()
    };
    let places = writes.iter().map(add).collect();
    (all.into(), places)
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
        assert!(!batches.add((0..20).collect()), "it looks again");
        let taken = [batches.take(), batches.take(), batches.take()].map(|writes| writes.len());
        assert_eq!(taken, [16, 4, 0]);
        assert!(batches.add(vec![4]), "it has gone");
    }

    #[test]
    fn each_write_has_its_own_content() {
        let fetch = |write: &u8, into: &mut Vec<u8>| into.extend(vec![*write; usize::from(*write)]);
        let (contents, places) = contents(&[1_u8, 3, 2], |write| usize::from(*write), fetch);
        assert_eq!((&contents[..], places), ([1, 3, 3, 3, 2, 2].as_slice(), vec![0..1, 1..4, 4..6]));
    }
}
