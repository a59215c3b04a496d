//! The threads of a frontend such as nbdkit, which take requests from clients and bring them here. It does not say
//! which of them has taken what. But a thread that has taken a request and is not here yet wants a processor: it is
//! running, or about to run. Those that are asleep wait for a client, or for their turn to.

use std::cell::OnceCell;
use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::thread::gettid;

use crate::engine::Carriers;
use crate::threads::is_own;

/// A thread that has been here.
struct Known {
    thread: u32,
    /// Twice the requests that it brought, and one less while one of them is under way here.
    brought: AtomicU64,
    /// The bytes of the longest request that it has brought or fetched content for: a frontend keeps a buffer of that
    /// length for as long as the thread lives.
    buffer: AtomicUsize,
}

static ALL: Mutex<Vec<Arc<Known>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: OnceCell<Listed> = const { OnceCell::new() };
}

/// A thread's own entry, until it ends.
struct Listed(Arc<Known>);

impl Drop for Listed {
    fn drop(&mut self) {
        all().retain(|known| !Arc::ptr_eq(known, &self.0));
    }
}

fn all() -> MutexGuard<'static, Vec<Arc<Known>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own<T>(look: impl FnOnce(&Known) -> T) -> Option<T> {
    let listed = || {
        let known = Arc::new(Known { thread: own_number(), brought: AtomicU64::new(0), buffer: AtomicUsize::new(0) });
        all().push(Arc::clone(&known));
        Listed(known)
    };
    OWN.try_with(|own| look(&own.get_or_init(listed).0)).ok()
}

fn own_number() -> u32 {
    gettid().as_raw_nonzero().get().unsigned_abs()
}

/// A request that this thread has brought, until it is dropped.
pub struct Here;

impl Here {
    /// A request that waits for no other request, and that no other waits for.
    pub fn now() -> Self {
        Threads.arrived();
        Self
    }

    /// A request of which the engine itself says when it has arrived.
    pub fn soon() -> Self {
        Self
    }

    /// A thread for which the frontend has a buffer of `bytes` bytes.
    #[must_use]
    pub fn with_buffer(self, bytes: usize) -> Self {
        own(|known| known.buffer.fetch_max(bytes, Ordering::Relaxed));
        self
    }
}

/// Bytes of the buffers that a frontend's threads keep for what clients write and read.
#[must_use]
pub fn buffered() -> u64 {
    all().iter().map(|known| known.buffer.load(Ordering::Relaxed) as u64).sum()
}

impl Drop for Here {
    fn drop(&mut self) {
        // It may not have got so far that it was known.
        own(|known| known.brought.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(now + now % 2)));
    }
}

/// All threads of this process but the engine's own.
pub struct Threads;

/// A thread that may have taken a request, and what it had brought by then.
struct Candidate {
    thread: u32,
    brought: u64,
}

impl Carriers for Threads {
    fn arrived(&self) {
        own(|known| known.brought.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(now | 1)));
    }

    fn watch(&self) -> Box<dyn FnMut() -> bool + '_> {
        let mut candidates = candidates();
        Box::new(move || {
            candidates.retain(Candidate::may_bring);
            !candidates.is_empty()
        })
    }
}

impl Candidate {
    /// Whether it is still on its way here.
    fn may_bring(&self) -> bool {
        brought_by(self.thread).unwrap_or(0) == self.brought && wants_a_processor(self.thread)
    }
}

fn brought_by(thread: u32) -> Option<u64> {
    all().iter().find(|known| known.thread == thread).map(|known| known.brought.load(Ordering::SeqCst))
}

/// The threads that are not here, and not asleep.
fn candidates() -> Vec<Candidate> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let numbers = threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let candidates = numbers.filter(|thread| *thread != own_number()).filter_map(|thread| {
        let brought = brought_by(thread).unwrap_or(0);
        (brought.is_multiple_of(2) && wants_a_processor(thread)).then_some(Candidate { thread, brought })
    });
    candidates.collect()
}

/// Whether a thread runs or is about to, or waits for memory. The engine's own threads do not count.
fn wants_a_processor(thread: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/self/task/{thread}/stat")) else { return false };
    // Such as `4711 (nbdkit) R 1 ...`; a name may have brackets of its own.
    let Some((before, after)) = stat.rsplit_once(") ") else { return false };
    let name = before.split_once('(').map_or("", |(_, name)| name);
    after.starts_with(['R', 'D']) && !is_own(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn a_threads_buffer_is_as_long_as_its_longest_request_until_it_ends() {
        let before = buffered();
        thread::scope(|scope| {
            let carrier = scope.spawn(|| {
                for bytes in [100, 300, 200] {
                    drop(Here::now().with_buffer(bytes));
                }
                buffered()
            });
            assert_eq!(carrier.join().unwrap(), before + 300);
        });
        while buffered() > before {
            thread::yield_now();
        }
    }

    #[test]
    fn a_thread_is_on_its_way_from_when_it_wakes_until_it_is_here() {
        let (is_here, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let (tell, told) = channel();
        thread::scope(|scope| {
            let carrier = scope.spawn(|| {
                drop(Here::now());
                tell.send(own_number()).unwrap();
                thread::park();
                // Stands for a thread that a busy machine keeps from running.
                while !is_here.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
                let _here = Here::now();
                while !ended.load(Ordering::SeqCst) {
                    thread::park();
                }
            });
            let number = told.recv().unwrap();
            let found = || candidates().into_iter().find(|candidate| candidate.thread == number);
            while found().is_some() {
                thread::yield_now();
            }
            carrier.thread().unpark();
            let candidate = loop {
                match found() {
                    Some(candidate) => break candidate,
                    None => thread::yield_now(),
                }
            };
            assert!(candidate.may_bring());
            is_here.store(true, Ordering::SeqCst);
            while candidate.may_bring() {
                thread::yield_now();
            }
            assert!(found().is_none() && brought_by(number).is_some_and(|brought| brought == 3));
            ended.store(true, Ordering::SeqCst);
            carrier.thread().unpark();
            carrier.join().unwrap();
            assert_eq!(brought_by(number), None, "its entry went with it");
        });
    }
}
