//! How much of what clients ask for is in memory at a time.
//!
//! A request holds its content until it is answered, and one that waits for room holds it for long. So a
//! thread that brings more than there may be waits, first come first served, before the content is copied.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::volume::INTAKE;

/// A longer request comes alone.
const LIMIT: u64 = INTAKE;

/// The requests of one kind.
#[derive(Default)]
pub(super) struct Intake {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether the request whose turn it is finds no room.
    is_full: AtomicBool,
}

#[derive(Default)]
struct State {
    bytes: u64,
    /// The number of the next that comes, and that of the next whose turn it is.
    next: u64,
    turn: u64,
}

/// A request that is in memory, until it is dropped.
pub(super) struct Taken<'a> {
    intake: &'a Intake,
    bytes: u64,
}

/// A place in the queue of requests that are to be in memory.
#[must_use]
pub(super) struct Queued<'a> {
    intake: &'a Intake,
    number: u64,
}

impl Intake {
    /// Queues for room in memory. A caller that does not wait for it then keeps all others out.
    pub fn queue(&self) -> Queued<'_> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        Queued { intake: self, number }
    }

    /// Waits until a request of `bytes` bytes may be in memory.
    pub fn take(&self, bytes: u64) -> Taken<'_> {
        self.queue().take(bytes)
    }

    /// Whether requests wait for others to be answered, whose content is in memory.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Queued<'a> {
    /// Waits until a request of `bytes` bytes may be in memory.
    pub fn take(self, bytes: u64) -> Taken<'a> {
        let Self { intake, number } = self;
        let bytes = bytes.min(LIMIT);
        let mut state = intake.state();
        while state.turn != number || state.bytes + bytes > LIMIT {
            if state.turn == number {
                intake.is_full.store(true, Ordering::Relaxed);
            }
            state = intake.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        intake.is_full.store(false, Ordering::Relaxed);
        state.turn += 1;
        state.bytes += bytes;
        if state.next > state.turn {
            intake.changed.notify_all();
        }
        Taken { intake, bytes }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = self.intake.state();
        state.bytes -= self.bytes;
        if state.next > state.turn {
            self.intake.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn what_is_too_much_waits_and_nobody_overtakes_it() {
        let intake = Intake::default();
        let first = intake.take(LIMIT - 10);
        thread::scope(|scope| {
            let (tell, told) = channel();
            let (intake, before) = (&intake, tell.clone());
            scope.spawn(move || {
                let _whole = intake.take(2 * LIMIT);
                before.send(1).unwrap();
            });
            while intake.state().next < 2 {
                thread::yield_now();
            }
            scope.spawn(move || {
                let _small = intake.take(1);
                tell.send(2).unwrap();
            });
            assert_eq!(told.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
            drop(first);
            assert_eq!([told.recv().unwrap(), told.recv().unwrap()], [1, 2]);
        });
        assert_eq!(intake.state().bytes, 0);
    }
}
