//! Writes of one stream in the order in which a client sent them. Many threads carry them: one that has taken a write
//! from the client may be overtaken before it gets here, and again while it copies what it brings. Then what was written
//! in sequence would reach the layer in pieces, which costs a layer that gathers streams dearly.
//!
//! A write waits for those that came before it and lie before it. One that lies a little behind the end of a stream
//! also waits for what is missing in between, for a short time, as long as it turns out that such a wait is worth it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shorter writes go as they come: they gain less by their order than waiting for each other costs.
pub(super) const LEAST: usize = 32 << 10;
/// A write that came before belongs to the same stream if it ends at most so many bytes before.
const NEAR: u64 = 64 << 20;
/// What is missing is at most so many times as long as the write that waits for it.
const MOST_MISSING: u64 = 32;
/// How long a write waits for what is missing.
const PATIENCE: Duration = Duration::from_millis(2);
/// Streams that are known at a time.
const STREAMS: usize = 16;
/// Writes that continue each other, after which they are a stream.
const TRUSTED: u32 = 3;
/// How often what is missing may fail to come, at the most, before nobody waits for it any more.
const MOST_CREDIT: u32 = 32;
/// What a wait in vain costs, in waits that were worth it.
const IN_VAIN: u32 = 4;
/// How many writes go without waiting before another one tries whether it is worth it again.
const PROBE: u32 = 256;

/// The writes that have come and have not been submitted, and the streams that those before them made.
#[derive(Default)]
pub(super) struct Streams {
    state: Mutex<State>,
    submitted: Condvar,
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

impl Default for State {
    fn default() -> Self {
        Self { next: 0, coming: Vec::new(), streams: Vec::new(), credit: MOST_CREDIT, without: 0 }
    }
}

#[derive(Copy, Clone)]
struct Write {
    number: u64,
    offset: u64,
    end: u64,
}

/// Writes that continued each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Stream {
    end: u64,
    writes: u32,
}

/// Whom a write waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Waits {
    Not,
    /// One that came before.
    Earlier,
    /// What is missing in a stream.
    Missing,
}

/// A write that has come, until it is submitted.
pub(super) struct Arrival<'a> {
    streams: &'a Streams,
    number: u64,
}

impl Streams {
    /// Takes note of a write.
    pub fn arrive(&self, offset: u64, len: u64) -> Arrival<'_> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.coming.push(Write { number, offset, end: offset.saturating_add(len) });
        Arrival { streams: self, number }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waits(&self, number: u64) -> Waits {
        let Some(at) = self.coming.iter().position(|write| write.number == number) else { return Waits::Not };
        let own = self.coming[at];
        let is_before = |write: &Write| own.offset.checked_sub(write.end).is_some_and(|gap| gap <= NEAR);
        if self.coming[..at].iter().any(is_before) {
            return Waits::Earlier;
        }
        if self.streams.iter().any(|stream| stream.end == own.offset) || self.missing(&own).is_none() {
            return Waits::Not;
        }
        Waits::Missing
    }

    /// The stream that a write would continue if something came before it.
    fn missing(&self, own: &Write) -> Option<usize> {
        let most = (own.end - own.offset).saturating_mul(MOST_MISSING);
        let lacks = |stream: &Stream| own.offset.checked_sub(stream.end).is_some_and(|gap| 0 < gap && gap <= most);
        self.streams.iter().position(|stream| stream.writes >= TRUSTED && lacks(stream))
    }

    /// Whether it is worth waiting for what is missing, as far as is known.
    fn may_wait(&mut self) -> bool {
        self.without += 1;
        self.credit > 0 || self.without.is_multiple_of(PROBE)
    }

    /// What was missing came, or not.
    fn waited(&mut self, number: u64, came: bool) {
        if came {
            self.credit = (self.credit + 1).min(MOST_CREDIT);
            return;
        }
        self.credit = self.credit.saturating_sub(IN_VAIN);
        let own = self.coming.iter().find(|write| write.number == number).copied();
        if let Some(stream) = own.and_then(|own| self.missing(&own)) {
            self.streams.remove(stream);
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
    /// Waits until it is its turn.
    pub fn wait(&self) {
        let mut state = self.streams.state();
        let mut until = None;
        loop {
            let waits = state.waits(self.number);
            let left = match (waits, until) {
                (Waits::Not, None) => return,
                (Waits::Not, Some(_)) => return state.waited(self.number, true),
                (Waits::Earlier, _) => PATIENCE,
                (Waits::Missing, None) if !state.may_wait() => return,
                (Waits::Missing, _) => {
                    let until = *until.get_or_insert_with(|| Instant::now() + PATIENCE);
                    until.saturating_duration_since(Instant::now())
                }
            };
            if left.is_zero() {
                return state.waited(self.number, false);
            }
            state = self.streams.submitted.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
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
    use super::*;

    const LEN: u64 = 100;

    fn stream(streams: &Streams, writes: u64) {
        (0..writes).for_each(|write| drop(streams.arrive(write * LEN, LEN)));
    }

    fn waits(arrival: &Arrival<'_>) -> Waits {
        arrival.streams.state().waits(arrival.number)
    }

    #[test]
    fn a_write_waits_for_those_that_came_and_lie_before_it() {
        let streams = Streams::default();
        let first = streams.arrive(0, LEN);
        let (next, after) = (streams.arrive(LEN, LEN), streams.arrive(2 * LEN, LEN));
        let (far, before) = (streams.arrive(NEAR * 2, LEN), streams.arrive(50, 10));
        let expected = [Waits::Not, Waits::Earlier, Waits::Earlier, Waits::Not, Waits::Not];
        assert_eq!([&first, &next, &after, &far, &before].map(waits), expected);
        drop(first);
        assert_eq!([&next, &after].map(waits), [Waits::Not, Waits::Earlier]);
        drop(next);
        assert_eq!(waits(&after), Waits::Not);
    }

    #[test]
    fn a_write_that_overtook_others_waits_for_them() {
        let streams = Streams::default();
        stream(&streams, 3);
        let (overtook, overtaken) = (streams.arrive(4 * LEN, LEN), streams.arrive(3 * LEN, LEN));
        assert_eq!([&overtook, &overtaken].map(waits), [Waits::Missing, Waits::Not]);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| overtook.wait());
            overtaken.wait();
            drop(overtaken);
            waiting.join().unwrap();
        });
        assert_eq!(waits(&overtook), Waits::Not);
        assert_eq!(waits(&streams.arrive((5 + MOST_MISSING) * LEN, LEN)), Waits::Earlier, "of the one that waited");
        drop(overtook);
        assert_eq!(waits(&streams.arrive((6 + MOST_MISSING) * LEN, LEN)), Waits::Not, "too far");
    }

    #[test]
    fn nobody_waits_for_long_for_what_does_not_come() {
        let streams = Streams::default();
        let skips = |count: u64| {
            let mut waited = 0;
            for skip in 0..count {
                let from = skip * 10 * NEAR;
                (0..3).for_each(|write| drop(streams.arrive(from + write * LEN, LEN)));
                let arrival = streams.arrive(from + 4 * LEN, LEN);
                let since = Instant::now();
                arrival.wait();
                waited += u32::from(since.elapsed() >= PATIENCE);
            }
            waited
        };
        assert_eq!(skips(100), MOST_CREDIT / IN_VAIN, "then the stream of 100 goes on without");
        assert!(skips(300) <= 2, "one tries again now and then");
    }
}
