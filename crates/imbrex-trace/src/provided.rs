//! Requests that a program which embeds the library has itself: columns in its memory, a queue, a generator of its own.

use std::fmt;
use std::sync::Arc;

use super::{TraceError, TraceSource};

/// Requests that can be read again and again, each time the same.
pub trait Requests: Send + Sync {
    /// What they are called in messages.
    fn name(&self) -> &str;

    /// Begins at the first request.
    ///
    /// # Errors
    /// When they cannot be read.
    fn open(&self) -> Result<Box<dyn TraceSource>, TraceError>;
}

/// A workload of such requests. Copies share them, and are equal if they do.
#[derive(Clone)]
pub struct Provided(Arc<dyn Requests>);

impl Provided {
    /// The workload that these are.
    #[must_use]
    pub fn new(requests: Arc<dyn Requests>) -> Self {
        Self(requests)
    }

    pub(super) fn open(&self) -> Result<Box<dyn TraceSource>, TraceError> {
        self.0.open()
    }
}

impl PartialEq for Provided {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Provided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Provided").field(&self.0.name()).finish()
    }
}
