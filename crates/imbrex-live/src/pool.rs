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

    /// Puts a request behind those that wait, and takes the first of all: the same one if there are no others.
    pub fn turn(&self, job: J) -> Option<J> {
        let mut state = self.state();
        state.jobs.push_back(job);
        state.jobs.pop_front()
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_never_ends_takes_turns_with_what_waits() {
        let pool = Pool::default();
        pool.give(["writes", "a read", "a flush"].into_iter());
        let mut next = pool.take();
        let mut order = Vec::new();
        for _ in 0..5 {
            let Some(job) = next else { break };
            order.push(job);
            next = if job == "writes" { pool.turn(job) } else { pool.take() };
        }
        assert_eq!(order, ["writes", "a read", "a flush", "writes", "writes"]);
    }
}
