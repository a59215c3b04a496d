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

    /// What a thread does until the pool ends: has each request answered. One that is given back is not done, and comes
    /// again after those that wait.
    pub fn work(&self, mut answer: impl FnMut(J) -> Option<J>) {
        let mut next = self.take();
        while let Some(job) = next {
            next = match answer(job) {
                Some(job) => self.turn(job),
                None => self.take(),
            };
        }
    }

    /// The next request, which is waited for; nothing at the end.
    fn take(&self) -> Option<J> {
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
    fn turn(&self, job: J) -> Option<J> {
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
        pool.end();
        let mut order = Vec::new();
        pool.work(|job| {
            order.push(job);
            (job == "writes" && order.len() < 5).then_some(job)
        });
        assert_eq!(order, ["writes", "a read", "a flush", "writes", "writes"]);
    }
}
