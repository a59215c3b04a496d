//! What every way to measure has in common, whatever the paper.

/// What can be measured, in words.
pub trait Described {
    fn described(&self) -> String;
}

/// What was measured, and what stands behind it.
pub struct Measured {
    pub value: Option<f64>,
    pub note: String,
}

impl Measured {
    /// A number that needs no explanation.
    pub fn alone(value: Option<f64>) -> Self {
        Self { value, note: String::new() }
    }
}
