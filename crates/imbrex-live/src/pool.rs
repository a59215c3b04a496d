//! Requests that wait for threads that answer them. A thread that answers one may have to wait, so whoever takes
//! requests from clients leaves them to others.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Requests that no thread answers yet.
pub struct Pool<J> {
    state: Mutex<State<J>>,
    come: Condvar,
}

struct State<J> {
    jobs: VecDeque<J>,
    resting: usize,
    ended: bool,
}

impl<J> Default for Pool<J> {
    fn default() -> Self {
        let state = State { jobs: VecDeque::new(), resting: 0, ended: false };
        Self { state: Mutex::new(state), come: Condvar::new() }
    }
}

impl<J> Pool<J> {
    /// Hands requests to the threads, which answer them.
    pub fn give(&self, jobs: impl Iterator<Item = J>) {
        let mut state = self.state();
        let before = state.jobs.len();
        state.jobs.extend(jobs);
        let woken = (state.jobs.len() - before).min(state.resting);
        drop(state);
        (0..woken).for_each(|_| self.come.notify_one());
    }

    /// Lets the threads end as soon as there are no more requests.
    pub fn end(&self) {
        self.state().ended = true;
        self.come.notify_all();
    }

    /// The next request, which is waited for; nothing at the end.
    pub fn take(&self) -> Option<J> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.ended {
                return None;
            }
            state.resting += 1;
            state = self.come.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.resting -= 1;
        }
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
