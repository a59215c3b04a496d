//! SIEVE (Zhang et al., NSDI'24, Algorithm 1): a queue whose members stay where they are, and a hand that moves from
//! the oldest to the newest, spares what was accessed since it last came by, and drops the first that was not.
//!
//! The hand remembers the member it passed last, so links in one direction are enough. A hit sets a byte.

use super::{Policy, Sequence};

/// No number.
const NONE: u32 = u32::MAX;

#[derive(Copy, Clone, PartialEq, Eq)]
enum State {
    Absent,
    Cached,
    Visited,
}

pub struct Sieve {
    entries: u32,
    cached: u32,
    states: Vec<State>,
    /// The next newer member.
    newer: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// Where the hand is; at none it begins again with the oldest.
    hand: u32,
    /// The next older member than the hand.
    passed: u32,
}

impl Sieve {
    pub fn new(sequence: &Sequence, entries: u32) -> Self {
        let distinct = sequence.distinct as usize;
        let (states, newer) = (vec![State::Absent; distinct], vec![NONE; distinct]);
        Self { entries, cached: 0, states, newer, oldest: NONE, newest: NONE, hand: NONE, passed: NONE }
    }

    fn drop_one(&mut self) {
        loop {
            if self.hand == NONE {
                (self.hand, self.passed) = (self.oldest, NONE);
            }
            let here = self.hand as usize;
            self.hand = self.newer[here];
            if self.states[here] == State::Cached {
                self.states[here] = State::Absent;
                return self.unlink(here as u32);
            }
            self.states[here] = State::Cached;
            self.passed = here as u32;
        }
    }

    /// Takes out the member between the one that was passed last and the hand.
    fn unlink(&mut self, number: u32) {
        if self.passed == NONE {
            self.oldest = self.hand;
        } else {
            self.newer[self.passed as usize] = self.hand;
        }
        if self.newest == number {
            self.newest = self.passed;
        }
        self.cached -= 1;
    }

    fn add(&mut self, number: u32) {
        self.states[number as usize] = State::Cached;
        self.newer[number as usize] = NONE;
        if self.newest == NONE {
            self.oldest = number;
        } else {
            self.newer[self.newest as usize] = number;
        }
        self.newest = number;
        self.cached += 1;
    }
}

impl Policy for Sieve {
    #[inline]
    fn access(&mut self, number: u32) -> bool {
        let hit = self.states[number as usize] != State::Absent;
        if hit {
            self.states[number as usize] = State::Visited;
        } else {
            if self.cached == self.entries {
                self.drop_one();
            }
            self.add(number);
        }
        hit
    }
}
