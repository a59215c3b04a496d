//! Growth during a replay: what is still to be asked for, and what its steps came to so far.

use super::lookahead::Pending;
use super::options::Extension;

/// What is asked for, and what is under way.
#[derive(Debug, Default)]
pub(super) struct GrowthState {
    /// What is still to be asked for.
    left: Vec<Extension>,
    /// When something was asked for first, and how many blocks the host saw before.
    pub begun: Option<(u64, u64)>,
    /// Since when space that was asked for has been missing, and until when.
    since_ns: u64,
    until_ns: u64,
    /// How long it was missing before that.
    before_ns: u64,
    pub steps: u64,
    pub step_ns: u64,
    pub longest_step_ns: u64,
    pub delayed: u64,
    pub longest_delay_ns: u64,
}

impl GrowthState {
    pub fn new(extensions: &[Extension]) -> Self {
        Self { left: extensions.to_vec(), ..Self::default() }
    }

    /// The next that is to be asked for before `next`.
    pub fn due(&mut self, next: &Pending) -> Option<Extension> {
        let due = self.left.iter().position(|extension| extension.at.is_before(next.number, next.arrival_ns));
        due.map(|at| self.left.remove(at))
    }

    /// Something is asked for at `now_ns` of a layer that offers `capacity` blocks, while other space that was asked for
    /// is missing or not.
    pub fn asked(&mut self, now_ns: u64, capacity: u64, is_growing: bool) {
        self.begun.get_or_insert((now_ns, capacity));
        if !is_growing {
            self.before_ns = self.missing_ns();
            (self.since_ns, self.until_ns) = (now_ns, now_ns);
        }
    }

    /// How long space that was asked for was missing.
    pub fn missing_ns(&self) -> u64 {
        self.before_ns + self.until_ns - self.since_ns
    }

    /// A step took so long until `now_ns`; the next request arrives at `arrival_ns`.
    pub fn stepped(&mut self, took_ns: u64, now_ns: u64, arrival_ns: u64) {
        self.steps += 1;
        self.step_ns += took_ns;
        self.until_ns = now_ns;
        self.longest_step_ns = self.longest_step_ns.max(took_ns);
        let delay_ns = now_ns.saturating_sub(arrival_ns);
        self.delayed += u64::from(delay_ns > 0);
        self.longest_delay_ns = self.longest_delay_ns.max(delay_ns);
    }
}
