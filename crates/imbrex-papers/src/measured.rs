//! What every way to measure has in common, whatever the paper.

/// What can be measured, in words.
pub trait Described {
    fn described(&self) -> String;
}

/// What was measured, and what stands behind it.
pub struct Measured {
    /// The least that it can be.
    pub low: f64,
    /// The most; the same where the number is known.
    pub high: f64,
    pub note: String,
}

impl Measured {
    /// A number, and how it came about. Without one it can be any.
    pub fn new(value: Option<f64>, note: String) -> Self {
        let (low, high) = value.map_or((f64::NEG_INFINITY, f64::INFINITY), |value| (value, value));
        Self { low, high, note }
    }

    /// A number that needs no explanation.
    pub fn alone(value: Option<f64>) -> Self {
        Self::new(value, String::new())
    }

    /// A number of which only this is known.
    pub fn within(low: f64, high: f64, note: String) -> Self {
        Self { low, high, note }
    }

    /// The number, if it is known.
    pub fn value(&self) -> Option<f64> {
        (self.low == self.high).then_some(self.low)
    }
}
