//! The fields that move a count, and their defaults.

/// The readings.
pub struct Readings(pub toml::Table);

impl Readings {
    pub fn number(&self, key: &str, default: f64) -> f64 {
        let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|n| n as f64));
        self.0.get(key).map_or(default, |value| number(value).expect("a number"))
    }

    pub fn is(&self, key: &str, text: &str) -> bool {
        self.0.get(key).is_some_and(|value| value.as_str() == Some(text))
    }

    pub fn switch(&self, key: &str, default: bool) -> bool {
        self.0.get(key).map_or(default, |value| value.as_bool().expect("a switch"))
    }
}
