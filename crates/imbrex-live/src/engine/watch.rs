//! What the engine measures of itself: how long requests take, and how long steps of cleaning.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use imbrex::perform::Steps;

/// The longest time that is told from longer ones.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// Digits of a time that are kept.
const DIGITS: u8 = 2;

/// The kinds of requests.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Flushes.
    Flush,
}

impl RequestKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// The name used in status and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
        }
    }
}

/// How long requests of each kind took, in nanoseconds.
pub(super) struct Latencies([Mutex<Histogram<u64>>; RequestKind::ALL.len()]);

impl Latencies {
    pub fn new() -> Self {
        Self(RequestKind::ALL.map(|_| Mutex::new(histogram())))
    }

    /// So many requests of a kind took so long.
    pub fn record(&self, kind: RequestKind, took: Duration, count: usize) {
        let mut histogram = self.0[kind as usize].lock().unwrap_or_else(PoisonError::into_inner);
        histogram.saturating_record_n(nanoseconds(took), count as u64);
    }

    pub fn get(&self, kind: RequestKind) -> Histogram<u64> {
        self.0[kind as usize].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn histogram() -> Histogram<u64> {
    let histogram = Histogram::new_with_bounds(1, nanoseconds(LONGEST), DIGITS);
    histogram.unwrap_or_else(|e| unreachable!("constant bounds: {e}"))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A step of cleaning that has ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Ended {
    /// Blocks that it moved, read or written.
    pub moved: u64,
    /// How long it took.
    pub took: Duration,
    /// Whether none before it took longer.
    pub is_longest: bool,
}

/// Measures steps of cleaning.
#[derive(Default)]
pub(super) struct StepClock {
    seen: Steps,
    /// When the step that is under way began, and what had been moved before.
    since: Option<(Instant, u64)>,
    pub measured: StepTimes,
}

/// How long steps of cleaning took: from planning to the last move, with whatever else the drives did meanwhile.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct StepTimes {
    /// Steps that have ended.
    pub steps: u64,
    /// All of them together.
    pub total: Duration,
    /// The longest.
    pub longest: Duration,
    /// Steps that took longer than they may.
    pub over_limit: u64,
}

impl StepClock {
    /// Looks at the steps, which may take as long as `limit`: the one that has ended.
    pub fn look(&mut self, now: Steps, limit: Option<Duration>) -> Option<Ended> {
        if now == self.seen {
            return None;
        }
        let before = std::mem::replace(&mut self.seen, now);
        let ended = now.begun > before.begun || now.under_way == 0;
        if !ended {
            return None;
        }
        let step = self.since.take().map(|(since, moved)| self.end(before.moved - moved, since.elapsed(), limit));
        self.since = (now.under_way > 0).then(|| (Instant::now(), before.moved));
        step
    }

    fn end(&mut self, moved: u64, took: Duration, limit: Option<Duration>) -> Ended {
        let is_longest = took > self.measured.longest;
        self.measured.steps += 1;
        self.measured.total += took;
        self.measured.longest = self.measured.longest.max(took);
        self.measured.over_limit += u64::from(limit.is_some_and(|limit| took > limit));
        Ended { moved, took, is_longest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_when_they_end() {
        let mut clock = StepClock::default();
        let mut look = |begun, under_way, moved| {
            let steps = Steps { begun, under_way, moved };
            clock.look(steps, Some(Duration::ZERO)).map(|ended| ended.moved)
        };
        assert_eq!(look(0, 0, 0), None);
        assert_eq!(look(1, 1, 5), None, "begun");
        assert_eq!(look(1, 1, 5), None);
        assert_eq!(look(2, 1, 12), Some(5), "ended, and the next one begun");
        assert_eq!(look(2, 0, 12), Some(7), "ended");
        assert_eq!(look(3, 0, 20), None, "took no time");
        assert_eq!((clock.measured.steps, clock.measured.over_limit), (2, 2));
    }
}
