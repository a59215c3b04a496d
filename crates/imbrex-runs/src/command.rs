//! What was typed, and the same with another choice.

use std::env;

/// The words behind the name of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command(Vec<String>);

impl Command {
    /// The one that runs.
    #[must_use]
    pub fn typed() -> Self {
        Self(env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// One of these words.
    #[must_use]
    pub fn of(words: impl IntoIterator<Item = String>) -> Self {
        Self(words.into_iter().collect())
    }

    /// Chooses `value` for `option`, whatever was chosen before.
    #[must_use]
    pub fn with(mut self, option: &str, value: &str) -> Self {
        let value = value.to_owned();
        let joined = format!("{option}=");
        if let Some(word) = self.0.iter_mut().find(|word| word.starts_with(&joined)) {
            *word = joined + &value;
            return self;
        }
        match self.0.iter().position(|word| word == option).and_then(|at| self.0.get_mut(at + 1)) {
            Some(word) => *word = value,
            None => self.0.extend([option.to_owned(), value]),
        }
        self
    }

    /// With more words behind it.
    #[must_use]
    pub fn and(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.0.extend(words);
        self
    }

    /// As a shell would read it again.
    #[must_use]
    pub fn shown(&self) -> String {
        let quoted = |word: &String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:%@+".contains(c);
            let is_plain = !word.is_empty() && word.chars().all(is_plain);
            if is_plain { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
        };
        std::iter::once("imbrex".to_owned()).chain(self.0.iter().map(quoted)).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_takes_the_place_of_the_one_before() {
        let of = |typed: &str| Command(typed.split_whitespace().map(str::to_owned).collect()).with("--buffer", "2MiB");
        for (typed, shown) in [
            ("compare a", "imbrex compare a --buffer 2MiB"),
            ("compare --buffer 1% a", "imbrex compare --buffer 2MiB a"),
            ("compare --buffer=1% a b.csv", "imbrex compare --buffer=2MiB a b.csv"),
        ] {
            assert_eq!(of(typed).shown(), shown);
        }
        assert_eq!(Command(vec!["two words".to_owned(), "it's".to_owned()]).shown(), r"imbrex 'two words' 'it'\''s'");
    }
}
