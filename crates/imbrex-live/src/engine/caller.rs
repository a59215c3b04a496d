//! A thread that asks for something: how it is called to carry out a part of that itself, and how it is answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::perform::{Failure, Request};

/// A thread that waits for a request.
pub(super) struct Caller {
    thread: Thread,
    /// The blocks that the request changes.
    changes: Option<Extent<Lba>>,
    /// Whether there is an operation for it.
    called: AtomicBool,
    result: Mutex<Option<Result<Bytes, Failure>>>,
}

impl Caller {
    pub fn of(request: &Request) -> Arc<Self> {
        let changes = match request {
            Request::Write(at, _) | Request::Merged { at, .. } | Request::Trim(at) | Request::Zero(at) => Some(*at),
            Request::Read(_) | Request::Flush | Request::Fua { .. } => None,
        };
        let (called, result) = (AtomicBool::new(false), Mutex::new(None));
        Arc::new(Self { thread: thread::current(), changes, called, result })
    }

    /// The blocks that the request changes.
    pub fn changes(&self) -> Option<Extent<Lba>> {
        self.changes
    }

    /// The answer, when it is there.
    pub fn take(&self) -> Option<Result<Bytes, Failure>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether it has been called since the last look.
    pub fn is_called(&self) -> bool {
        self.called.swap(false, Ordering::Relaxed)
    }

    /// Makes its thread carry out an operation that is for its request.
    pub fn call(&self) {
        self.called.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }

    /// Answers its request.
    pub fn give(&self, result: Result<Bytes, Failure>) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.thread.unpark();
    }
}
