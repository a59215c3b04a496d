//! A number of each workload, and what follows from them together where some give none.

use crate::measured::Measured;

/// The workloads that give a number, the largest first, and those that give none.
pub struct Ranked {
    pub all: Vec<(&'static str, f64)>,
    pub untold: Vec<&'static str>,
}

impl Ranked {
    /// The mean, which is not known before it is known of all. The numbers are noted in their unit, with that many
    /// places.
    pub fn mean(&self, unit: &str, places: usize) -> Measured {
        let is_known = self.untold.is_empty() && !self.all.is_empty();
        let sum: f64 = self.all.iter().map(|(_, number)| number).sum();
        Measured::new(is_known.then_some(sum / self.all.len() as f64), self.note(unit, places))
    }

    /// The largest: at least that of those that are known.
    pub fn most(&self, unit: &str, places: usize) -> Measured {
        let most = self.all.first().map_or(f64::NEG_INFINITY, |(_, number)| *number);
        let high = if self.untold.is_empty() { most } else { f64::INFINITY };
        Measured::within(most, high, self.note(unit, places))
    }

    /// On how many it is above zero.
    pub fn positive(&self, unit: &str, places: usize) -> Measured {
        self.holding(|number| number > 0.0, unit, places)
    }

    /// On how many it is not below zero.
    pub fn not_negative(&self, unit: &str, places: usize) -> Measured {
        self.holding(|number| number >= 0.0, unit, places)
    }

    fn holding(&self, holds: impl Fn(f64) -> bool, unit: &str, places: usize) -> Measured {
        let holding = self.all.iter().filter(|(_, number)| holds(*number)).count();
        counted(holding, self.untold.len(), self.note(unit, places))
    }

    fn note(&self, unit: &str, places: usize) -> String {
        let numbers = self.all.iter().map(|(name, number)| format!("{name} {number:.places$}{unit}"));
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        joined([numbers, untold(&self.untold)])
    }
}

/// On how many workloads something holds, where some do not tell.
pub fn counted(holding: usize, untold: usize, note: String) -> Measured {
    Measured::within(holding as f64, (holding + untold) as f64, note)
}

/// What is said of workloads that do not tell.
pub fn untold(workloads: &[&str]) -> String {
    if workloads.is_empty() { String::new() } else { format!("no number from {}", workloads.join(", ")) }
}

/// Those of several notes that say something.
pub fn joined(notes: [String; 2]) -> String {
    notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ")
}
