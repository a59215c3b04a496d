//! What the server says while it serves, on standard error: lines for people or for programs.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use imbrex_live::service::OptionError;
use imbrex_live::service::log::{self, Unread};

static JSON: AtomicBool = AtomicBool::new(false);

/// Chooses the form of what is said.
///
/// # Errors
/// When there is no such form.
pub fn choose(form: &str) -> Result<(), OptionError> {
    let json = match form {
        "text" => false,
        "json" => true,
        _ => return Err(OptionError::value("log", form, "text or json")),
    };
    JSON.store(json, Ordering::Relaxed);
    Ok(())
}

/// Begins to say things.
pub fn start() {
    log::start(JSON.load(Ordering::Relaxed));
}

/// Says why the server ends, as nbdkit would.
pub fn end(why: impl Display) {
    let _ = Unread.write_all(format!("nbdkit: error: {why}\n").as_bytes());
}
