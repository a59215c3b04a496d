//! Signals that ask the program to end: long work looks here whether it shall, and what is unfinished then is removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The signal that asked for it; 0 as long as none did.
static ASKED_FOR: AtomicI32 = AtomicI32::new(0);
/// Files and folders under names that the user did not ask for. A thread that holds this is not interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Calls `handler` with the number of each signal that asks the program to end, on a thread of its own: Ctrl-C, what
/// `kill` sends, and the end of the terminal.
#[cfg(unix)]
pub fn on_signals(handler: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || signals.forever().for_each(handler))?;
    Ok(())
}

/// Calls `handler` with the number that Ctrl-C has elsewhere, on a thread of its own.
#[cfg(not(unix))]
pub fn on_signals(mut handler: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || handler(2)).map_err(io::Error::other)
}

/// From now on such a signal asks the work to stop; a second one ends the program on the spot, and leaves nothing
/// unfinished.
pub fn on_ctrl_c() {
    let handler = |signal| {
        if ASKED_FOR.swap(signal, Ordering::Relaxed) != 0 {
            // Kept until the end, so that nothing new is begun.
            let unfinished = unfinished();
            unfinished.iter().for_each(|path| remove(path));
            process::exit(status().into());
        }
    };
    // Without a handler a signal ends the program on the spot, which leaves no output that looks complete either.
    let _ = on_signals(handler);
}

/// Whether the work shall stop.
pub fn is_asked_for() -> bool {
    ASKED_FOR.load(Ordering::Relaxed) != 0
}

/// What a program leaves that a signal ended: 128 and the number of the signal.
pub fn status() -> u8 {
    128 + ASKED_FOR.load(Ordering::Relaxed) as u8
}

/// A file or folder under a name that nobody asked for. It is removed when a signal ends the program on the spot;
/// otherwise that is its owner's part.
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Makes it; a signal finds it not begun, or knows it.
    pub fn begin<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<(T, Self)> {
        let mut all = unfinished();
        let made = make()?;
        let this = Self(made.as_ref().to_owned());
        all.push(this.0.clone());
        Ok((made, this))
    }

    /// Calls `finish`, which gives it the name that it shall have; a signal waits for the end of that.
    pub fn finish<T>(self, finish: impl FnOnce() -> T) -> T {
        let _uninterrupted = unfinished();
        finish()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As far as possible: there is nowhere left to report an error.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}
