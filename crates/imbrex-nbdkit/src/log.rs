//! What the server says while it serves, on standard error: lines for people or for programs.

use std::sync::atomic::{AtomicBool, Ordering};

static JSON: AtomicBool = AtomicBool::new(false);

/// Chooses the form of what is said.
///
/// # Errors
/// When there is no such form.
pub fn choose(form: &str) -> Result<(), String> {
    let json = match form {
        "text" => false,
        "json" => true,
        _ => return Err(format!("log={form}: it takes text or json")),
    };
    JSON.store(json, Ordering::Relaxed);
    Ok(())
}

/// Begins to say things.
pub fn start() {
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_target(false);
    // Whoever loads the plugin twice is heard once.
    let _ = if JSON.load(Ordering::Relaxed) { lines.json().try_init() } else { lines.try_init() };
}
