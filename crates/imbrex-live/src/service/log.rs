//! What a server says while it serves, on standard error: lines for people or for programs.

use std::io::{self, Write};

/// Begins to say things, as JSON or as text.
pub fn start(json: bool) {
    let lines = tracing_subscriber::fmt().with_writer(|| Unread).with_ansi(false).with_target(false);
    // Starting it twice is as starting it once.
    let _ = if json { lines.json().try_init() } else { lines.try_init() };
}

/// Standard error, or nothing where it cannot be written: the server goes on without its messages.
pub struct Unread;

impl Write for Unread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().lock().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
