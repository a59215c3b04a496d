//! The threads that answer requests. A thread that answers one may have to wait, so a queue leaves it to one of them.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use imbrex_live::service::Client;

use crate::abi;
use crate::request::{Content, Request};
use crate::results::Results;

/// A request, and where its result is to go.
pub struct Job {
    pub request: Request,
    pub tag: u16,
    pub results: Arc<Results>,
}

/// Requests that no thread answers yet.
#[derive(Default)]
pub struct Pool {
    state: Mutex<State>,
    come: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    resting: usize,
    ended: bool,
}

impl Pool {
    /// Hands requests to the threads, which answer them.
    pub fn give(&self, jobs: impl Iterator<Item = Job>) {
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

    /// What a thread does until then.
    pub fn work(&self, client: &Client, device: &File) {
        let mut buffer = Vec::new();
        while let Some(Job { request, tag, results }) = self.take() {
            let at = abi::content_at(results.queue(), tag);
            let result = request.answer(client, &Copied { device, at }, &mut buffer);
            results.put(tag, result);
        }
    }

    fn take(&self) -> Option<Job> {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The content of a request, at its place in the device of the driver.
struct Copied<'a> {
    device: &'a File,
    at: u64,
}

impl Content for Copied<'_> {
    fn fetch(&self, into: &mut [u8]) -> io::Result<()> {
        self.device.read_exact_at(into, self.at)
    }

    fn hand_over(&self, content: &[u8]) -> io::Result<()> {
        self.device.write_all_at(content, self.at)
    }
}
