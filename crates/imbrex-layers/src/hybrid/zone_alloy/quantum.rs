//! The migration quantum: how much may be moved in one go so that no request waits longer than was agreed.

use std::fmt;

use imbrex_core::space::RealmTimes;

/// How much of a conversion is not interrupted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Quantum {
    /// All of it: the application waits until it is complete.
    Whole,
    /// One access of at most this many blocks.
    Blocks(u32),
}

/// Why a bound has no quantum.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum NoQuantum {
    /// The bound is no time that requests may be delayed.
    NoBound { bound_ms: f64 },
    /// The bound is shorter than an activation, or than any access.
    TooShort {
        bound_ms: f64,
        /// The shortest bound that can be kept.
        least_ms: f64,
        activation_ms: f64,
        turn_ms: f64,
    },
}

impl fmt::Display for NoQuantum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBound { bound_ms } => {
                write!(f, "bound_ms = {bound_ms} is no bound; give up to {MOST_MS} ms, or 0 for none")
            }
            Self::TooShort { bound_ms, least_ms, activation_ms, turn_ms } => write!(
                f,
                "bound_ms = {bound_ms} cannot be kept: an activation alone takes {activation_ms} ms, and requests are \
                 delayed by whole turns of {turn_ms:.2} ms; give {least_ms:.1} or more, or 0 for no bound"
            ),
        }
    }
}

impl Quantum {
    /// The largest quantum that makes no request wait longer than `bound_ms` more; 0 for no bound.
    ///
    /// The paper (§3.2) gives no equation. A request that arrives as a quantum begins waits for that to be positioned
    /// and transferred, and then for its own positioning from where the quantum left the head. Each is at most the
    /// drive's longest. What such a delay does to requests behind is at most the next whole number of turns: a request
    /// that begins a whole turn later ends a whole turn later. So the bound counts in whole turns, as does an
    /// activation, during which the head stays where the last request left it.
    ///
    /// What a request takes longer because its blocks lie elsewhere now is no delay. It is a longest way at most, which
    /// is in the sum for a quantum; beside an activation it is within bounds that are as much longer than that.
    ///
    /// # Errors
    /// The bound is shorter than an activation, or than any access.
    pub fn new(bound_ms: f64, times: &RealmTimes) -> Result<Self, NoQuantum> {
        if bound_ms == 0.0 {
            return Ok(Self::Whole);
        }
        if !(bound_ms > 0.0 && bound_ms <= MOST_MS) {
            return Err(NoQuantum::NoBound { bound_ms });
        }
        let turn = times.turn_ns.max(1);
        let bound = (bound_ms * 1e6) as u64 / turn * turn;
        let activation = times.activation_ns.div_ceil(turn) * turn;
        let least = activation.max((2 * times.positioning_ns + times.block_ns).div_ceil(turn) * turn);
        if bound < least {
            let [least_ms, activation_ms, turn_ms] = [least, times.activation_ns, turn].map(|ns| ns as f64 / 1e6);
            return Err(NoQuantum::TooShort { bound_ms, least_ms, activation_ms, turn_ms });
        }
        let blocks = (bound - 2 * times.positioning_ns) / times.block_ns.max(1);
        Ok(Self::Blocks(u32::try_from(blocks).unwrap_or(u32::MAX)))
    }

    /// The most blocks of one access.
    pub fn blocks(self) -> u32 {
        match self {
            Self::Whole => u32::MAX,
            Self::Blocks(blocks) => blocks,
        }
    }
}

/// The longest bound: a day.
const MOST_MS: f64 = 86_400_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: RealmTimes =
        RealmTimes { positioning_ns: 20_000_000, block_ns: 20_000, turn_ns: 8_000_000, activation_ns: 50_000_000 };

    #[test]
    fn a_quantum_fits_between_two_positionings_in_whole_turns() {
        assert_eq!(Quantum::new(0.0, &TIMES), Ok(Quantum::Whole));
        assert_eq!(Quantum::new(56.0, &TIMES), Ok(Quantum::Blocks(800)), "56 - 2 * 20 ms at 50 blocks a ms");
        assert_eq!(Quantum::new(63.9, &TIMES), Ok(Quantum::Blocks(800)), "less than a turn more");
        assert_eq!(Quantum::new(64.0, &TIMES), Ok(Quantum::Blocks(1200)));
        let fast = RealmTimes { activation_ns: 0, ..TIMES };
        assert_eq!(Quantum::new(48.0, &fast), Ok(Quantum::Blocks(400)));
        assert!(Quantum::new(40.0, &fast).unwrap_err().to_string().contains("give 48.0 or more"));
    }

    #[test]
    fn a_bound_below_an_activation_is_refused_with_that_reason() {
        let refused = Quantum::new(55.0, &TIMES).unwrap_err().to_string();
        assert!(refused.contains("an activation alone takes 50 ms") && refused.contains("give 56.0"), "{refused}");
        for bound in [-1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert!(Quantum::new(bound, &TIMES).is_err());
        }
    }
}
