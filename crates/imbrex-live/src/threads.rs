//! The names of threads that bring no requests: the engine's, those of services, and those that hand requests to others in
//! order. Code that waits for a request that a frontend's thread has taken passes them over.

use std::thread::Builder;

/// How these names begin. The kernel keeps 15 bytes of a name.
const OWN: &str = "imbrex-";

/// A thread that brings no requests, which is still to be spawned.
pub fn own(name: &str) -> Builder {
    Builder::new().name(format!("{OWN}{name}"))
}

/// Whether a thread of that name is one.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with(OWN)
}
