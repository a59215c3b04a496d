//! The engine's lock.
//!
//! A thread that asks how things stand does not queue for the lock, for which the threads that serve clients compete:
//! the one that has it says how they stand when giving it back. So that is told without the data path waiting for it,
//! and after [`PATIENCE`] by what was told last.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread that asks waits for news.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often it is checked meanwhile whether no thread has the lock.
const OFTEN: Duration = Duration::from_millis(2);

/// Something that threads ask about.
pub(super) trait Stands {
    /// How it stands.
    type Standing: Clone;

    /// Says how it stands, soon.
    fn stands(&mut self) -> Self::Standing;
}

/// How things stood.
struct Told<S> {
    standing: S,
    /// When that was told.
    at: Instant,
}

/// A lock on something that threads ask about.
pub(super) struct Lock<T: Stands> {
    inner: Mutex<T>,
    /// What was told last.
    told: Mutex<Told<T::Standing>>,
    news: Condvar,
    is_wanted: AtomicBool,
}

impl<T: Stands> Lock<T> {
    pub fn new(mut inner: T) -> Self {
        let told = Mutex::new(Told { standing: inner.stands(), at: Instant::now() });
        Self { inner: Mutex::new(inner), told, news: Condvar::new(), is_wanted: AtomicBool::new(false) }
    }

    pub fn take(&self) -> Held<'_, T> {
        Held { lock: self, inner: Some(self.inner.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    fn take_if_free(&self) -> Option<Held<'_, T>> {
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(inner)) => inner.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Held { lock: self, inner: Some(inner) })
    }

    fn told(&self) -> MutexGuard<'_, Told<T::Standing>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How things stand now, or did when that was told last, if another thread keeps the lock for long; and how long
    /// ago that was.
    pub fn standing(&self) -> (T::Standing, Duration) {
        let asked = Instant::now();
        loop {
            match self.take_if_free() {
                Some(mut held) => held.tell(),
                None => self.is_wanted.store(true, Ordering::Relaxed),
            }
            let mut told = self.told();
            if told.at < asked {
                told = self.news.wait_timeout(told, OFTEN).unwrap_or_else(PoisonError::into_inner).0;
            }
            if told.at >= asked || asked.elapsed() >= PATIENCE {
                return (told.standing.clone(), asked.saturating_duration_since(told.at));
            }
        }
    }
}

/// The lock, until it is dropped.
pub(super) struct Held<'a, T: Stands> {
    lock: &'a Lock<T>,
    /// Nothing while it is given back.
    inner: Option<MutexGuard<'a, T>>,
}

impl<T: Stands> Held<'_, T> {
    /// Tells how things stand: what was changed is seen by every thread that asks from now on.
    pub fn tell(&mut self) {
        let standing = self.stands();
        *self.lock.told() = Told { standing, at: Instant::now() };
        self.lock.news.notify_all();
    }

    /// Gives the lock back until `changed` is notified, for as long as `limit` if there is one.
    pub fn wait(mut self, changed: &Condvar, limit: Option<Duration>) -> Self {
        self.tell_if_wanted();
        let inner = self.inner.take();
        self.inner = inner.map(|inner| match limit {
            Some(limit) => changed.wait_timeout(inner, limit).unwrap_or_else(PoisonError::into_inner).0,
            None => changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
        });
        self
    }

    fn tell_if_wanted(&mut self) {
        if !thread::panicking() && self.lock.is_wanted.swap(false, Ordering::Relaxed) {
            self.tell();
        }
    }
}

impl<T: Stands> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.tell_if_wanted();
    }
}

impl<T: Stands> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_deref().unwrap_or_else(|| unreachable!("it is there but while it waits"))
    }
}

impl<T: Stands> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_deref_mut().unwrap_or_else(|| unreachable!("it is there but while it waits"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    impl Stands for u32 {
        type Standing = u32;

        fn stands(&mut self) -> u32 {
            *self
        }
    }

    #[test]
    fn a_thread_that_asks_is_told_though_another_keeps_the_lock() {
        let lock = Lock::new(1_u32);
        let mut held = lock.take();
        *held = 2;
        held.tell();
        *held = 3;
        let (told, age) = lock.standing();
        assert_eq!(told, 2, "as it was when it was told last");
        assert!(!age.is_zero());
        drop(held);
        assert_eq!(lock.standing(), (3, Duration::ZERO));
    }

    #[test]
    fn a_thread_that_gives_the_lock_back_tells_those_that_ask() {
        let lock = Lock::new(1_u32);
        let mut held = lock.take();
        thread::scope(|scope| {
            let asking = scope.spawn(|| lock.standing());
            while !lock.is_wanted.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            *held = 2;
            drop(held);
            assert_eq!(lock.told().standing, 2, "whether a thread still waits or not");
            asking.join().unwrap();
        });
    }

    #[test]
    fn a_thread_that_begins_to_wait_tells_them_too() {
        let (lock, changed) = (Lock::new(1_u32), Condvar::new());
        let mut held = lock.take();
        *held = 2;
        lock.is_wanted.store(true, Ordering::Relaxed);
        let held = held.wait(&changed, Some(Duration::ZERO));
        assert_eq!((*held, lock.told().standing), (2, 2));
    }
}
