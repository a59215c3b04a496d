//! Waiting for a program that has a store and is about to let go of it. A program that another thread starts holds all
//! files of this one until it has become what it is to be, and a killed server holds its own until the kernel has
//! cleared up.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long is waited. A program that still has it then means to keep it.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Repeats `attempt` while another program is in its way, but not for longer than [`PATIENCE`]; gives the last result.
///
/// # Errors
/// When the last `attempt` fails.
pub(crate) fn until_free<T, E>(
    is_taken: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(e) if is_taken(&e) && began.elapsed() < PATIENCE => sleep(PAUSE),
            ended => return ended,
        }
    }
}
