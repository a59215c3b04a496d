//! Ctrl-C: long work looks here whether it shall end.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED_FOR: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C asks the work to stop; a second one ends the program on the spot.
pub fn on_ctrl_c() {
    let handler = || {
        if ASKED_FOR.swap(true, Ordering::Relaxed) {
            process::exit(super::STOPPED.into());
        }
    };
    // Without a handler Ctrl-C ends the program on the spot, which leaves no output that looks complete either.
    let _ = ctrlc::set_handler(handler);
}

/// Whether Ctrl-C was pressed.
pub fn is_asked_for() -> bool {
    ASKED_FOR.load(Ordering::Relaxed)
}
