//! What the server says while it serves, on standard error: lines for people or for programs.

use std::fmt::Display;
use std::io::{self, Write};
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
    let lines = tracing_subscriber::fmt().with_writer(|| Unread).with_ansi(false).with_target(false);
    // Whoever loads the plugin twice is heard once.
    let _ = if JSON.load(Ordering::Relaxed) { lines.json().try_init() } else { lines.try_init() };
}

/// Says why the server ends, as nbdkit would.
pub fn end(why: impl Display) {
    let _ = Unread.write_all(format!("nbdkit: error: {why}\n").as_bytes());
}

/// Standard error, or nothing where it cannot be written: the server goes on without its messages.
struct Unread;

impl Write for Unread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().lock().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
