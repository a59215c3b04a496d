//! A thread that asks for something: how it is called to carry out a part of that itself, and how it is answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::perform::{Failure, Request};

/// The answer to a request, and the request's number.
pub(super) type Answer = (u64, Result<Bytes, Failure>);

/// A thread that waits for requests.
pub(super) struct Caller {
    thread: Thread,
    /// Whether there is an operation for it.
    called: AtomicBool,
    /// Answers that it has not taken.
    answers: Mutex<Vec<Answer>>,
}

/// A request that has not been answered.
pub(super) struct Call {
    /// Who waits for it.
    pub caller: Arc<Caller>,
    /// The blocks that it changes.
    pub changes: Option<Extent<Lba>>,
}

impl Call {
    pub fn of(request: &Request, caller: &Arc<Caller>) -> Self {
        let changes = match request {
            Request::Write(at, _)
            | Request::Batched { at, .. }
            | Request::Merged { at, .. }
            | Request::Trim(at)
            | Request::Zero(at) => Some(*at),
            Request::Read(_) | Request::Flush | Request::Fua { .. } => None,
        };
        Self { caller: Arc::clone(caller), changes }
    }
}

impl Caller {
    /// This thread.
    pub fn here() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), called: AtomicBool::new(false), answers: Mutex::default() })
    }

    fn answers(&self) -> MutexGuard<'_, Vec<Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answers that have come since the last look.
    pub fn take(&self) -> Vec<Answer> {
        std::mem::take(&mut *self.answers())
    }

    /// Waits until there are answers, or it is called. The answers.
    pub fn wait(&self) -> Vec<Answer> {
        loop {
            thread::park();
            let answers = self.take();
            if !answers.is_empty() || self.called.swap(false, Ordering::Relaxed) {
                return answers;
            }
        }
    }

    /// Makes its thread carry out an operation that is for its requests.
    pub fn call(&self) {
        self.called.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }

    /// Answers one of its requests.
    pub fn give(&self, answer: Answer) {
        self.answers().push(answer);
        self.thread.unpark();
    }
}
