//! Ctrl-C: long work looks here whether it shall end, and what is unfinished then is removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a program that Ctrl-C ended leaves: 128 and the number of the signal.
pub const STOPPED: u8 = 130;

static ASKED_FOR: AtomicBool = AtomicBool::new(false);
/// Files and folders under names that the user did not ask for. A thread that holds this is not interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on Ctrl-C asks the work to stop; a second one ends the program on the spot, and leaves nothing unfinished.
pub fn on_ctrl_c() {
    let handler = || {
        if ASKED_FOR.swap(true, Ordering::Relaxed) {
            // Kept until the end, so that nothing new is begun.
            let unfinished = unfinished();
            unfinished.iter().for_each(|path| remove(path));
            process::exit(STOPPED.into());
        }
    };
    // Without a handler Ctrl-C ends the program on the spot, which leaves no output that looks complete either.
    let _ = ctrlc::set_handler(handler);
}

/// Whether Ctrl-C was pressed.
pub fn is_asked_for() -> bool {
    ASKED_FOR.load(Ordering::Relaxed)
}

/// A file or folder under a name that nobody asked for. It is removed when Ctrl-C ends the program on the spot;
/// otherwise that is its owner's part.
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Makes it; Ctrl-C finds it not begun, or knows it.
    pub fn begin<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<(T, Self)> {
        let mut all = unfinished();
        let made = make()?;
        let this = Self(made.as_ref().to_owned());
        all.push(this.0.clone());
        Ok((made, this))
    }

    /// Calls `finish`, which gives it the name that it shall have; Ctrl-C waits for the end of that.
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
