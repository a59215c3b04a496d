//! What is wrong with a choice, for whoever made it.

use std::error::Error;
use std::fmt;

/// Fields of a specification whose values do not fit what else was chosen. Shown, it names the options of the program.
#[derive(Debug)]
pub struct Wrong {
    fields: &'static [&'static str],
    /// What of the field it is about, if that is not all of it.
    of: Option<String>,
    why: String,
}

impl Wrong {
    /// These fields are wrong, and why.
    pub fn new(fields: &'static [&'static str], why: String) -> Self {
        Self { fields, of: None, why }
    }

    /// The value of a layer's field is wrong, written as `LAYER.FIELD`.
    pub fn setting(of: String, why: String) -> Self {
        Self { fields: &["config"], of: Some(of), why }
    }

    /// The same for somebody who wrote a specification.
    #[must_use]
    pub fn by_field(&self) -> String {
        let of = self.of.as_ref().map(|of| format!("{of}: ")).unwrap_or_default();
        format!("{}: {of}{}", self.fields.join(", "), self.why)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(setting) = &self.of {
            return write!(f, "--set {setting}: {}", self.why);
        }
        let options: Vec<_> = self.fields.iter().map(|field| format!("--{}", field.replace('_', "-"))).collect();
        write!(f, "{}: {}", options.join(", "), self.why)
    }
}

impl Error for Wrong {}
