//! A host whose file system is full. A write that finds no room ends an epoch of the layer, and what begins the next
//! one may need room too. So clients' writes are refused while there is still some, for what is under way; reads go on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that the host must have left.
pub const KEPT: u64 = 32 << 20;
/// Bytes that clients write between two looks.
const BETWEEN_LOOKS: u64 = 1 << 20;
/// How often it is checked whether there is room again.
const OFTEN: Duration = Duration::from_millis(100);
/// After a write found no room, there is room again when there are this many bytes more than then.
const ENOUGH: u64 = 4 << 20;
/// After this time a write is tried even so: what ran out may be a quota.
const LONGEST: Duration = Duration::from_secs(5);

/// What is known of the room.
pub(super) struct Room {
    is_out: AtomicBool,
    /// Bytes that clients wrote since the last look.
    since_look: AtomicU64,
    looks: Mutex<Looks>,
}

#[derive(Default)]
struct Looks {
    last: Option<Instant>,
    /// When a write found no room, and how many bytes the host had then.
    failed: Option<(Instant, Option<u64>)>,
}

impl Room {
    pub fn new() -> Self {
        Self { is_out: AtomicBool::new(false), since_look: AtomicU64::new(BETWEEN_LOOKS), looks: Mutex::default() }
    }

    /// Takes note that a write found no room, when the host had `left` bytes.
    pub fn ran_out(&self, left: Option<u64>) {
        self.looks().failed = Some((Instant::now(), left));
        self.set_out(true, left);
    }

    /// Whether there was none at the last look.
    pub fn is_out(&self) -> bool {
        self.is_out.load(Ordering::Relaxed)
    }

    /// Whether `bytes` bytes may be written; `available` says how many the host has, if it does.
    pub fn may_write(&self, bytes: u64, available: impl Fn() -> Option<u64>) -> bool {
        let is_out = self.is_out();
        if !is_out && self.since_look.fetch_add(bytes, Ordering::Relaxed) < BETWEEN_LOOKS {
            return true;
        }
        let mut looks = self.looks();
        if is_out && looks.last.is_some_and(|last| last.elapsed() < OFTEN) {
            return false;
        }
        looks.last = Some(Instant::now());
        self.since_look.store(0, Ordering::Relaxed);
        let available = available();
        let failed = looks.failed.is_some_and(|(since, left)| {
            let is_more = available.zip(left).is_some_and(|(is, was)| is >= was.saturating_add(ENOUGH));
            !is_more && since.elapsed() < LONGEST
        });
        let may_write = !failed && available.is_none_or(|is| is >= KEPT);
        if may_write {
            looks.failed = None;
        }
        self.set_out(!may_write, available);
        may_write
    }

    fn set_out(&self, is_out: bool, left: Option<u64>) {
        match (self.is_out.swap(is_out, Ordering::Relaxed), is_out) {
            (false, true) => tracing::error!(left, "the host has no room: writes are refused until it has"),
            (true, false) => tracing::info!(left, "the host has room again"),
            _ => {}
        }
    }

    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_refused_before_there_is_none_left() {
        let room = Room::new();
        let has = |bytes| move || Some(bytes);
        assert!(room.may_write(0, has(KEPT)));
        assert!(room.may_write(BETWEEN_LOOKS, has(0)), "nobody looks for each");
        assert!(!room.may_write(0, has(KEPT - 1)) && room.is_out());
        assert!(!room.may_write(0, has(KEPT)), "too soon to look");
        std::thread::sleep(OFTEN);
        assert!(room.may_write(0, has(KEPT)) && !room.is_out());
        assert!(room.may_write(BETWEEN_LOOKS, || None) && room.may_write(0, || None), "where nobody knows");
    }

    #[test]
    fn writes_are_tried_again_after_one_that_found_no_room() {
        let (room, left) = (Room::new(), KEPT * 2);
        room.ran_out(Some(left));
        assert!(!room.may_write(0, || Some(left + ENOUGH - 1)) && room.is_out());
        std::thread::sleep(OFTEN);
        assert!(room.may_write(0, || Some(left + ENOUGH)) && !room.is_out());
    }
}
