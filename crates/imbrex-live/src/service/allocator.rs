//! The allocator's memory. Requests come and go in many threads, and what one allocates another frees: the C library
//! keeps what is freed for each thread and gives little of it back, so that a server would be as large as the worst
//! moments of all its threads together.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::sync::{Arc, Weak};
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::panics;
    use crate::service::Service;

    /// Heaps that threads share.
    const ARENAS: libc::c_int = 4;
    /// What may be free at the end of a heap, and how large a piece is that is the system's again as soon as it is freed:
    /// so much that requests find their memory where the last ones had it. What is free otherwise is given back below.
    const SLACK: libc::c_int = 32 << 20;
    /// How often what is free is given back, while requests come and when they have ended.
    const BUSY: Duration = Duration::from_secs(20);
    const QUIET: Duration = Duration::from_secs(1);

    /// Bounds what is kept, and gives what is free back every now and then as long as the volume is served. What is
    /// locked stays, or it would have to be had again when memory is short.
    pub fn keep_small(service: &Arc<Service>) {
        bound();
        if service.is_locked() {
            return;
        }
        let service = Arc::downgrade(service);
        // Without it the server takes more memory, as it does with other allocators.
        let _ = crate::threads::own("allocator").spawn(move || give_back(&service));
    }

    #[allow(unsafe_code, reason = "the standard library has no way to say so")]
    fn bound() {
        // SAFETY: mallopt takes any numbers, and refuses those that it does not know.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, ARENAS);
            libc::mallopt(libc::M_MMAP_THRESHOLD, SLACK);
            libc::mallopt(libc::M_TRIM_THRESHOLD, SLACK);
        }
    }

    #[allow(unsafe_code, reason = "the standard library has no way to ask for it")]
    fn trim() {
        // SAFETY: malloc_trim touches nothing that is in use.
        unsafe {
            libc::malloc_trim(0);
        }
    }

    fn give_back(service: &Weak<Service>) {
        let (mut asked, mut last) = (0, Instant::now());
        loop {
            thread::sleep(QUIET);
            panics::injected("allocator");
            let Some(service) = service.upgrade() else { return };
            let engine = service.engine();
            let now = engine.asked();
            let is_due = now != asked && (engine.requests() == 0 || last.elapsed() >= BUSY);
            drop(service);
            if is_due {
                trim();
                (asked, last) = (now, Instant::now());
            }
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use glibc::keep_small;

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_small(_service: &std::sync::Arc<super::Service>) {}
