//! A growth under way: when it is due, and what its steps came to so far.

use super::lookahead::Pending;
use super::options::Extension;

/// A growth that is asked for or under way.
#[derive(Debug)]
pub(super) struct GrowthState {
    pub extension: Extension,
    /// When it was asked for, and how many blocks the host saw before.
    pub begun: Option<(u64, u64)>,
    pub ended_ns: u64,
    pub steps: u64,
    pub step_ns: u64,
    pub longest_step_ns: u64,
    pub delayed: u64,
    pub longest_delay_ns: u64,
}

impl GrowthState {
    pub fn new(extension: Extension) -> Self {
        Self {
            extension,
            begun: None,
            ended_ns: 0,
            steps: 0,
            step_ns: 0,
            longest_step_ns: 0,
            delayed: 0,
            longest_delay_ns: 0,
        }
    }

    pub fn is_due(&self, next: &Pending) -> bool {
        self.begun.is_none() && self.extension.at.is_before(next.number, next.arrival_ns)
    }

    /// A step took so long until `now_ns`; the next request arrives at `arrival_ns`.
    pub fn stepped(&mut self, took_ns: u64, now_ns: u64, arrival_ns: u64) {
        self.steps += 1;
        self.step_ns += took_ns;
        self.ended_ns = now_ns;
        self.longest_step_ns = self.longest_step_ns.max(took_ns);
        let delay_ns = now_ns.saturating_sub(arrival_ns);
        self.delayed += u64::from(delay_ns > 0);
        self.longest_delay_ns = self.longest_delay_ns.max(delay_ns);
    }
}
