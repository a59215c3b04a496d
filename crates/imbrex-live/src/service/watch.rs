//! The thread that has a server look at itself once a second.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Service;
use crate::panics::contained;
use crate::threads;

const EVERY: Duration = Duration::from_secs(1);

/// The thread, until it is dropped.
pub(super) struct Watch {
    /// Nothing is sent: it is dropped when the thread is to end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Has `service` look at itself.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(service: Arc<Service>) -> io::Result<Self> {
        let (end, ended) = channel();
        let look = move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // It only looks: the panic has been said, and the volume goes on.
                let _ = contained(|| service.look());
            }
        };
        let thread = threads::own("events").spawn(look)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say that matters now.
            let _ = thread.join();
        }
    }
}
