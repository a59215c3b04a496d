//! Long work: it is done on a thread of its own, without the interpreter's lock, while the calling thread shows how far
//! it has come and looks whether Ctrl-C was pressed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use imbrex_terminal::progress::Listener;
use pyo3::prelude::*;

use crate::error;
use crate::layer::Raised;

/// How often the calling thread looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Work that is under way.
pub struct Work {
    phases: Vec<Arc<Phase>>,
    stop: Arc<AtomicBool>,
    /// What layers in Python that take part have raised.
    raised: Vec<Arc<Raised>>,
}

/// A part of the work, which is done before the next one begins.
pub struct Phase {
    name: &'static str,
    done: AtomicU64,
    of: AtomicU64,
    stop: Arc<AtomicBool>,
    raised: Vec<Arc<Raised>>,
}

impl Listener for Phase {
    fn reached(&self, done: u64, of: u64) {
        self.of.store(of, Ordering::Relaxed);
        self.done.fetch_max(done, Ordering::Relaxed);
    }

    fn wants_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.raised.iter().any(|raised| raised.is_some())
    }
}

impl Work {
    /// Work in these phases, in which layers take part that may raise something.
    pub fn new(phases: &[&'static str], raised: Vec<Arc<Raised>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let phase = |name: &&'static str| {
            let (done, of) = (AtomicU64::new(0), AtomicU64::new(0));
            Arc::new(Phase { name, done, of, stop: Arc::clone(&stop), raised: raised.clone() })
        };
        Self { phases: phases.iter().map(phase).collect(), stop, raised }
    }

    /// The phase of this number.
    pub fn phase(&self, number: usize) -> Arc<Phase> {
        Arc::clone(&self.phases[number])
    }

    /// Does the work. `progress` is called now and then with the name of the phase, how much of it is done, and of how
    /// much.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        let progress = progress.map(|progress| progress.clone().unbind());
        let (done, interrupted) = py.detach(|| {
            let (sender, receiver) = mpsc::channel();
            thread::scope(|scope| {
                scope.spawn(move || {
                    // The receiver waits until the end.
                    let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
                });
                let mut interrupted = None;
                loop {
                    match receiver.recv_timeout(LOOK_EVERY) {
                        Ok(done) => return (Some(done), interrupted),
                        Err(RecvTimeoutError::Disconnected) => return (None, interrupted),
                        Err(RecvTimeoutError::Timeout) if interrupted.is_some() => {}
                        Err(RecvTimeoutError::Timeout) => interrupted = self.look(progress.as_ref()).err(),
                    }
                }
            })
        });
        if let Some(e) = interrupted {
            return Err(e);
        }
        if let Some(progress) = progress {
            self.tell(progress.bind(py))?;
        }
        match done {
            Some(Ok(Ok(result))) => Ok(result),
            Some(Ok(Err(e))) => Err(self.raised(py, &e.to_string()).unwrap_or_else(|| error::of(&e))),
            Some(Err(panic)) => Err(self.raised(py, "").unwrap_or_else(|| panicked(&*panic))),
            None => Err(error::Error::new_err("the work ended without a result")),
        }
    }

    /// What a layer has raised, if one has, while this was said.
    pub fn raised(&self, py: Python<'_>, said: &str) -> Option<PyErr> {
        self.raised.iter().find_map(|raised| raised.take(py, said))
    }

    /// Whether a signal's handler raises something, or `progress` does.
    fn look(&self, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let looked = Python::attach(|py| {
            py.check_signals()?;
            progress.map_or(Ok(()), |progress| self.tell(progress.bind(py)))
        });
        self.stop.store(looked.is_err(), Ordering::Relaxed);
        looked
    }

    fn tell(&self, progress: &Bound<'_, PyAny>) -> PyResult<()> {
        let begun = self.phases.iter().rfind(|phase| phase.of.load(Ordering::Relaxed) > 0);
        let Some(phase) = begun else { return Ok(()) };
        let (done, of) = (phase.done.load(Ordering::Relaxed), phase.of.load(Ordering::Relaxed));
        progress.call1((phase.name, done.min(of), of)).map(drop)
    }
}

/// A bug, as an error like any other.
fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    error::Error::new_err(format!("this is a bug in Imbrex: {text}"))
}
