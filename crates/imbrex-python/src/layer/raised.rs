//! What a layer in Python raised, kept until the run has ended.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::error::LayerError;

/// The first exception that a layer has raised, and where.
#[derive(Default)]
pub struct Raised(Mutex<Option<(String, PyErr)>>);

impl Raised {
    /// Keeps it, unless there was one before.
    pub fn keep(&self, place: String, e: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert((place, e));
    }

    pub fn is_some(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The exception that says so, with the layer's own as its cause.
    pub fn take(&self, py: Python<'_>, said: &str) -> Option<PyErr> {
        let (place, cause) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let kind = cause.get_type(py);
        let kind = kind.name().map(|name| name.to_string()).unwrap_or_default();
        let when = said.split(": ").next().filter(|_| said.contains(", seed ")).map(|when| format!("{when}: "));
        let e = LayerError::new_err(format!("{}{place} raised {kind}: {}", when.unwrap_or_default(), cause.value(py)));
        e.set_cause(py, Some(cause));
        Some(e)
    }
}
