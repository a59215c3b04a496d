//! Who waits for what while a volume grows: everybody who waited when a step of the growth ended is served before the
//! next one begins, so nobody waits for more than one.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The requests of clients, apart those from before the last step's end.
///
/// Clients are counted in one of two places, by the number of steps that had ended when they came. Steps are so far
/// apart that those of the other place have all come before the last one ended.
#[derive(Default)]
pub(super) struct Turns {
    ended: AtomicUsize,
    asking: [AtomicUsize; 2],
}

/// Where a client is counted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Place(usize);

impl Turns {
    /// A client asks for something.
    pub fn come(&self) -> Place {
        loop {
            let ended = self.ended.load(Ordering::SeqCst);
            self.asking[ended % 2].fetch_add(1, Ordering::SeqCst);
            if self.ended.load(Ordering::SeqCst) == ended {
                return Place(ended % 2);
            }
            // Counted too late to be waited for before the next step.
            self.asking[ended % 2].fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// It has its answer; says whether the next step waited for nobody else.
    pub fn go(&self, Place(place): Place) -> bool {
        let left = self.asking[place].fetch_sub(1, Ordering::SeqCst) - 1;
        left == 0 && place != self.ended.load(Ordering::SeqCst) % 2
    }

    /// Whether everybody who waited when the last step ended is served.
    pub fn are_served(&self) -> bool {
        self.asking[(self.ended.load(Ordering::SeqCst) + 1) % 2].load(Ordering::SeqCst) == 0
    }

    /// A step has ended that began when everybody was served.
    pub fn step_ended(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_waits_for_those_who_came_before_the_last_one_ended_and_for_nobody_else() {
        let turns = Turns::default();
        let (first, second) = (turns.come(), turns.come());
        assert!(turns.are_served(), "no step has ended yet");
        turns.step_ended();
        let later = turns.come();
        assert!(!turns.are_served());
        assert!(!turns.go(first));
        assert!(!turns.are_served());
        assert!(turns.go(second), "the last of them");
        assert!(turns.are_served(), "though another has come since");
        turns.step_ended();
        assert!(!turns.are_served(), "the one that came during the step is waited for now");
        assert!(turns.go(later));
        assert!(turns.are_served());
        let quiet = turns.come();
        assert!(!turns.go(quiet), "no step waits for it");
    }

    #[test]
    fn nobody_waits_for_two_steps_however_many_come() {
        let (turns, served) = (Turns::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let place = turns.come();
                        let came = turns.ended.load(Ordering::SeqCst);
                        std::thread::yield_now();
                        assert!(turns.ended.load(Ordering::SeqCst) <= came + 1);
                        turns.go(place);
                        served.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            while served.load(Ordering::SeqCst) < 80_000 {
                if turns.are_served() {
                    turns.step_ended();
                }
            }
        });
        assert!(turns.ended.load(Ordering::SeqCst) > 0);
    }
}
