//! What goes wrong, as exceptions with the program's messages.

use imbrex::drive::DriveError;
use imbrex::layers::ConfigError as LayerConfig;
use imbrex::replay::ReplayError;
use imbrex::trace::TraceError as BadTrace;
use imbrex_runs::wrong::Wrong;
use imbrex_terminal::say::one_line;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(imbrex, Error, PyException, "What Imbrex cannot do, and why. All other errors are of this kind.");
create_exception!(imbrex, ConfigError, Error, "A layer, a drive or an option that makes no sense as it was chosen.");
create_exception!(imbrex, TraceError, Error, "A workload that cannot be read.");
create_exception!(
    imbrex,
    Corrupt,
    PyException,
    "Raised by a layer in Python: a record or a report contradicts what it knows."
);
create_exception!(
    imbrex,
    LayerError,
    Error,
    "A layer did what it must not do, or its drive could not do what it asked for."
);

/// The exception for what the program would say.
pub fn program(e: &(dyn std::error::Error + 'static)) -> PyErr {
    exception(&kind(e), e.to_string())
}

/// The exception for an error with a history.
pub fn of(e: &anyhow::Error) -> PyErr {
    if let Some(wrong) = e.downcast_ref::<Wrong>() {
        return exception(&Kind::Other, wrong.by_field());
    }
    let kinds = e.chain().map(kind).find(|kind| !matches!(kind, Kind::Other));
    // A context is not in the chain as what it was made of.
    let found = kinds.or_else(|| e.downcast_ref::<ReplayError>().map(|e| kind(e)));
    exception(&found.unwrap_or(Kind::Other), e.to_string())
}

enum Kind {
    Config,
    Trace,
    Layer,
    Other,
}

fn kind(e: &(dyn std::error::Error + 'static)) -> Kind {
    match e.downcast_ref::<ReplayError>() {
        Some(ReplayError::Trace(_)) => return Kind::Trace,
        Some(ReplayError::Layer { .. }) => return Kind::Layer,
        Some(ReplayError::Stopped { .. }) => return Kind::Other,
        Some(_) => return Kind::Config,
        None => {}
    }
    if e.is::<BadTrace>() {
        Kind::Trace
    } else if e.is::<LayerConfig>() || e.is::<DriveError>() {
        Kind::Config
    } else {
        Kind::Other
    }
}

fn exception(kind: &Kind, message: String) -> PyErr {
    let message = one_line(&message);
    match kind {
        Kind::Config => ConfigError::new_err(message),
        Kind::Trace => TraceError::new_err(message),
        Kind::Layer => LayerError::new_err(message),
        Kind::Other => Error::new_err(message),
    }
}
