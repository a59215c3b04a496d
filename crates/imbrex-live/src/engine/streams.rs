//! Writes of one stream in the order in which a client sent them. Many threads carry them: one that has taken a write
//! from the client may be overtaken before it gets here, and again while it copies what it brings. Then what was written
//! in sequence would reach the layer in pieces, which costs a layer that gathers streams dearly.
//!
//! A write waits for those that came before it and lie before it. One before which something is missing also waits
//! until every thread has come that had taken a request before it did: the frontend knows those threads
//! ([`Carriers`]). So the order does not hang on how long a thread may be delayed. What is missing then has not been sent,
//! and the write begins a stream of its own.
//!
//! Nobody waits for a write that lies behind it, so nobody waits for ever.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Shorter writes go as they come: they gain less by their order than waiting for each other costs.
pub(super) const LEAST: usize = 32 << 10;
/// A write that came before belongs to the same stream if it ends at most this many bytes before.
const NEAR: u64 = 64 << 20;
/// What is missing in a stream is at most this many times as long as the write that waits for it.
const MOST_MISSING: u64 = 32;
/// How often it is checked which threads have come.
const LOOK: Duration = Duration::from_micros(500);
/// How often it is checked whether there is no room in memory for requests that came later.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(20);
/// Streams that are known at a time.
const STREAMS: usize = 16;
/// Writes that continue each other, after which they are a stream.
const TRUSTED: u32 = 3;
/// A write that continues nothing may be the second of a stream. How often that may turn out not to be so, at the most,
/// before nobody waits for the first one any more.
const MOST_CREDIT: u32 = 32;
/// What a wait in vain costs, in waits that were worth it.
const IN_VAIN: u32 = 4;
/// How many such writes go without waiting before another one tries whether it is worth it again.
const PROBE: u32 = 256;

/// The threads of a frontend that bring requests.
pub trait Carriers: Send + Sync {
    /// The request of this thread is known to the engine from now on.
    fn arrived(&self);

    /// Finds the threads that may have taken a request from a client by now that the engine does not know. What is
    /// returned says whether one of them may still bring it.
    fn watch(&self) -> Box<dyn FnMut() -> bool + '_>;
}

/// A frontend whose requests are known in the order in which they were sent.
pub struct InOrder;

impl Carriers for InOrder {
    fn arrived(&self) {}

    fn watch(&self) -> Box<dyn FnMut() -> bool> {
        Box::new(|| false)
    }
}

/// The writes that have come and have not been submitted, and the streams that those before them made.
pub(super) struct Streams {
    state: Mutex<State>,
    submitted: Condvar,
    carriers: Arc<dyn Carriers>,
}

struct State {
    next: u64,
    /// In the order in which they came.
    coming: Vec<Write>,
    /// The one that was continued last comes first.
    streams: Vec<Stream>,
    credit: u32,
    without: u32,
}

#[derive(Copy, Clone)]
struct Write {
    number: u64,
    offset: u64,
    end: u64,
    /// Whether its content is in memory.
    is_ready: bool,
}

/// Writes that continued each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Stream {
    end: u64,
    writes: u32,
}

/// The writes that a write waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Waits {
    Not,
    /// One that came, and lies before.
    Known,
    /// One that nothing is known of: what lies before in a stream, or the beginning of one that may be.
    Unknown {
        in_stream: bool,
    },
}

/// A write that has come, until it is submitted.
pub(super) struct Arrival<'a> {
    streams: &'a Streams,
    number: u64,
}

impl Streams {
    /// The streams of requests that these threads bring.
    pub fn new(carriers: Arc<dyn Carriers>) -> Self {
        let state = State { next: 0, coming: Vec::new(), streams: Vec::new(), credit: MOST_CREDIT, without: 0 };
        Self { state: Mutex::new(state), submitted: Condvar::new(), carriers }
    }

    /// Takes note of a write, and has `queue` stand for room in memory in the same order.
    pub fn arrive<T>(&self, offset: u64, len: u64, queue: impl FnOnce() -> T) -> (Arrival<'_>, T) {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.coming.push(Write { number, offset, end: offset.saturating_add(len), is_ready: false });
        let queued = queue();
        self.carriers.arrived();
        (Arrival { streams: self, number }, queued)
    }

    /// Takes note of a request that waits for nobody.
    pub fn pass(&self) {
        self.carriers.arrived();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The writes that a write waits for: those that came before it, and those that came before `until` and lie before
    /// it. Where there is no room in memory, the later ones may wait for this one to be answered.
    fn waits(&self, number: u64, until: u64, is_full: bool) -> Waits {
        let Some(own) = self.coming.iter().find(|write| write.number == number) else { return Waits::Not };
        let is_before = |write: &Write| own.offset.checked_sub(write.end).is_some_and(|gap| gap <= NEAR);
        let counts = |write: &Write| write.number < number || write.number < until && (write.is_ready || !is_full);
        if self.coming.iter().any(|write| counts(write) && is_before(write)) {
            return Waits::Known;
        }
        if self.streams.iter().any(|stream| stream.end == own.offset) {
            return Waits::Not;
        }
        Waits::Unknown { in_stream: self.lacking(own).is_some() }
    }

    /// The stream that a write would continue if something came before it.
    fn lacking(&self, own: &Write) -> Option<usize> {
        let most = (own.end - own.offset).saturating_mul(MOST_MISSING);
        let lacks = |stream: &Stream| own.offset.checked_sub(stream.end).is_some_and(|gap| 0 < gap && gap <= most);
        self.streams.iter().position(|stream| stream.writes >= TRUSTED && lacks(stream))
    }

    /// Whether it is worth waiting for the beginning of a stream, as far as is known.
    fn may_be_second(&mut self) -> bool {
        self.without += 1;
        self.credit > 0 || self.without.is_multiple_of(PROBE)
    }

    /// What was missing came, or not.
    fn waited(&mut self, number: u64, came: bool) {
        if came {
            self.credit = (self.credit + 1).min(MOST_CREDIT);
            return;
        }
        let own = self.coming.iter().find(|write| write.number == number).copied();
        match own.and_then(|own| self.lacking(&own)) {
            // Decided for all that follows.
            Some(stream) => drop(self.streams.remove(stream)),
            None => self.credit = self.credit.saturating_sub(IN_VAIN),
        }
    }

    /// A write is submitted.
    fn submitted(&mut self, number: u64) {
        let Some(at) = self.coming.iter().position(|write| write.number == number) else { return };
        let Write { offset, end, .. } = self.coming.remove(at);
        let continued = self.streams.iter().position(|stream| stream.end == offset);
        let writes = continued.map_or(1, |at| self.streams.remove(at).writes.saturating_add(1));
        self.streams.insert(0, Stream { end, writes });
        self.streams.truncate(STREAMS);
    }
}

impl Arrival<'_> {
    /// Waits until it is its turn. `is_full` says whether others wait for room in memory.
    pub fn wait(&self, is_full: impl Fn() -> bool) {
        let (number, mut until) = (self.number, self.number);
        let mut on_the_way: Option<Box<dyn FnMut() -> bool + '_>> = None;
        let mut state = self.streams.state();
        if let Some(own) = state.coming.iter_mut().find(|write| write.number == number) {
            own.is_ready = true;
        }
        loop {
            match state.waits(number, until, is_full()) {
                Waits::Not if on_the_way.is_some() => return state.waited(number, true),
                Waits::Not => return,
                Waits::Known => {
                    // Nothing tells this thread when there is no room any more.
                    let waited = self.streams.submitted.wait_timeout(state, LOOK_FOR_ROOM);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                // Everybody has come.
                Waits::Unknown { .. } if until > number => return state.waited(number, false),
                Waits::Unknown { in_stream } if on_the_way.is_none() => {
                    if !in_stream && !state.may_be_second() {
                        return;
                    }
                    drop(state);
                    on_the_way = Some(self.streams.carriers.watch());
                    state = self.streams.state();
                }
                Waits::Unknown { .. } => {
                    drop(state);
                    let may_come = on_the_way.as_mut().is_some_and(|may_come| may_come());
                    state = self.streams.state();
                    if may_come {
                        let waited = self.streams.submitted.wait_timeout(state, LOOK);
                        state = waited.unwrap_or_else(PoisonError::into_inner).0;
                    } else {
                        until = state.next;
                    }
                }
            }
        }
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let mut state = self.streams.state();
        state.submitted(self.number);
        if !state.coming.is_empty() {
            self.streams.submitted.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    const LEN: u64 = 100;

    /// Threads of which a number have taken a request.
    #[derive(Default)]
    struct Threads {
        on_the_way: AtomicU32,
        watched: AtomicU32,
    }

    impl Carriers for Threads {
        fn arrived(&self) {
            // A thread that came before any was on the way does not count.
            let _ = self.on_the_way.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
        }

        fn watch(&self) -> Box<dyn FnMut() -> bool + '_> {
            self.watched.fetch_add(1, Ordering::SeqCst);
            Box::new(|| self.on_the_way.load(Ordering::SeqCst) > 0)
        }
    }

    fn streams() -> (Streams, Arc<Threads>) {
        let threads = Arc::new(Threads::default());
        (Streams::new(Arc::clone(&threads) as _), threads)
    }

    fn arrive(streams: &Streams, offset: u64) -> Arrival<'_> {
        streams.arrive(offset, LEN, || ()).0
    }

    /// Makes a stream from an offset on: it takes three writes.
    fn begin(streams: &Streams, from: u64) {
        (0..3).for_each(|write| drop(arrive(streams, from + write * LEN)));
    }

    fn waits(arrival: &Arrival<'_>) -> Waits {
        arrival.streams.state().waits(arrival.number, arrival.number, false)
    }

    #[test]
    fn a_write_waits_for_those_that_came_and_lie_before_it() {
        let (streams, _) = streams();
        let (first, next, after) = (arrive(&streams, 0), arrive(&streams, LEN), arrive(&streams, 2 * LEN));
        let before = streams.arrive(50, 10, || ()).0;
        let begins = Waits::Unknown { in_stream: false };
        assert_eq!([&first, &next, &after, &before].map(waits), [begins, Waits::Known, Waits::Known, begins]);
        drop(first);
        assert_eq!([&next, &after].map(waits), [Waits::Not, Waits::Known]);
        drop(next);
        assert_eq!(waits(&after), Waits::Not);
        assert_eq!(waits(&arrive(&streams, NEAR * 2)), begins);
    }

    /// The order in which three writes go that come the other way round.
    fn overtaken(streams: &Streams, threads: &Threads, from: u64) -> Vec<u64> {
        let order = Mutex::new(Vec::new());
        let go = &|arrival: Arrival<'_>, write: u64| {
            arrival.wait(|| false);
            order.lock().unwrap().push(write);
        };
        threads.on_the_way.store(3, Ordering::SeqCst);
        thread::scope(|scope| {
            for write in [2, 1, 0] {
                let watched = threads.watched.load(Ordering::SeqCst);
                let arrival = arrive(streams, from + write * LEN);
                scope.spawn(move || go(arrival, write));
                while write > 0 && threads.watched.load(Ordering::SeqCst) == watched {
                    thread::yield_now();
                }
            }
        });
        order.into_inner().unwrap()
    }

    #[test]
    fn a_write_that_overtook_others_waits_until_they_have_come() {
        let (streams, threads) = streams();
        begin(&streams, 0);
        assert_eq!(overtaken(&streams, &threads, 3 * LEN), [0, 1, 2]);
        assert_eq!(overtaken(&streams, &threads, 100 * NEAR), [0, 1, 2], "at the beginning of a stream");
    }

    #[test]
    fn nobody_waits_for_one_that_may_wait_for_room_that_it_holds() {
        let (streams, _) = streams();
        begin(&streams, 0);
        let (later, before) = (arrive(&streams, 4 * LEN), arrive(&streams, 3 * LEN));
        let waits = |is_full| streams.state().waits(later.number, before.number + 1, is_full);
        assert_eq!([waits(false), waits(true)], [Waits::Known, Waits::Unknown { in_stream: true }]);
    }

    #[test]
    fn nobody_waits_for_what_was_not_sent() {
        let (streams, threads) = streams();
        begin(&streams, 0);
        arrive(&streams, 5 * LEN).wait(|| false);
        assert_eq!(threads.watched.load(Ordering::SeqCst), 1);
        arrive(&streams, 6 * LEN).wait(|| false);
        assert_eq!(threads.watched.load(Ordering::SeqCst), 1, "the gap is decided once");
    }

    #[test]
    fn writes_here_and_there_are_found_to_be_no_streams() {
        let (streams, threads) = streams();
        let scatter = |count: u64| {
            let before = threads.watched.load(Ordering::SeqCst);
            (0..count).for_each(|write| arrive(&streams, (write * 7919 % 10_007) * NEAR * 2).wait(|| false));
            threads.watched.load(Ordering::SeqCst) - before
        };
        assert_eq!(scatter(100), MOST_CREDIT / IN_VAIN);
        assert!(scatter(600) <= 3, "one tries again now and then");
    }
}
