//! Results of requests, from the threads that answered them to the queue that hands them over.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

/// What a request came to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// The tag of the request.
    pub tag: u16,
    /// Bytes, or an error's number with a minus.
    pub result: i32,
}

/// Results on their way to the queue that the requests came from.
pub struct Results {
    queue: u16,
    there: Mutex<Vec<Done>>,
    counter: OwnedFd,
}

impl Results {
    /// None yet.
    pub fn of(queue: u16) -> io::Result<Self> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { queue, there: Mutex::default(), counter })
    }

    /// The queue.
    pub fn queue(&self) -> u16 {
        self.queue
    }

    /// Puts results there. The queue is woken for the first ones only: it takes all of them.
    pub fn put(&self, done: impl IntoIterator<Item = Done>) {
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = there.is_empty();
        there.extend(done);
        if was_empty && !there.is_empty() {
            drop(there);
            // Full is woken, too.
            let _ = rustix::io::write(&self.counter, &1_u64.to_ne_bytes());
        }
    }

    /// What says that there are some: it can be read then.
    pub fn counter(&self) -> &OwnedFd {
        &self.counter
    }

    /// Takes note of having been woken.
    pub fn heard(&self) {
        // Nothing to read is heard, too.
        let _ = rustix::io::read(&self.counter, &mut [0; 8]);
    }

    /// Takes those that are there.
    pub fn take(&self, into: &mut Vec<Done>) {
        into.append(&mut self.there.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_wakes_and_all_are_taken() {
        let results = Results::of(3).unwrap();
        let woken = || rustix::io::read(results.counter(), &mut [0; 8]).is_ok();
        assert!(!woken());
        results.put([]);
        assert!(!woken());
        let done = [Done { tag: 1, result: 4096 }, Done { tag: 2, result: -5 }, Done { tag: 4, result: 0 }];
        results.put(done[..2].iter().copied());
        results.put([done[2]]);
        assert!(woken());
        assert!(!woken());
        let mut taken = Vec::new();
        results.take(&mut taken);
        assert_eq!((results.queue(), taken.as_slice()), (3, done.as_slice()));
        results.put([done[0]]);
        assert!(woken(), "after they were taken the next one is the first");
    }
}
