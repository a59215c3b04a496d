//! What the code that `#[derive(Configuration)]` writes is made of; nothing else calls it.

use serde::de::DeserializeOwned;
pub use toml::Value;
pub use toml::de::Error as Wrong;

use super::Field;

/// A part of a table of fields.
pub enum Part {
    /// A field of the struct.
    Field(Field),
    /// The fields of a group, but for those with these keys.
    Group {
        /// All of them.
        fields: &'static [Field],
        /// The keys left out.
        without: &'static [&'static str],
        /// What the paper has of some, whatever the group says.
        paper: &'static [(&'static str, &'static str)],
    },
}

/// How many fields these parts have.
#[must_use]
pub const fn count(parts: &[Part]) -> usize {
    let (mut fields, mut i) = (0, 0);
    while i < parts.len() {
        fields += match &parts[i] {
            Part::Field(_) => 1,
            Part::Group { fields, without, .. } => fields.len() - without.len(),
        };
        i += 1;
    }
    fields
}

/// The table that these parts are.
///
/// # Panics
/// So that it does not compile, if two fields have the same key, or one is left out or has a value of the paper that is
/// not there.
#[must_use]
pub const fn joined<const N: usize>(parts: &[Part]) -> [Field; N] {
    let mut table = Table { fields: [NOTHING; N], length: 0 };
    let mut i = 0;
    while i < parts.len() {
        match &parts[i] {
            Part::Field(field) => table.push(field),
            Part::Group { fields, without, paper } => {
                let (mut j, mut said) = (0, 0);
                while j < fields.len() {
                    let mut field = fields[j];
                    if let Some(value) = of(paper, field.key) {
                        (field.paper, said) = (Some(value), said + 1);
                    }
                    if !has(without, field.key) {
                        table.push(&field);
                    }
                    j += 1;
                }
                assert!(said == paper.len(), "the paper has a field that a group does not");
            }
        }
        i += 1;
    }
    assert!(table.length == N, "a group is used without a field that it does not have");
    table.fields
}

/// A table being filled.
struct Table<const N: usize> {
    fields: [Field; N],
    length: usize,
}

impl<const N: usize> Table<N> {
    const fn push(&mut self, field: &Field) {
        let mut i = 0;
        while i < self.length {
            assert!(!is_same(self.fields[i].key, field.key), "two fields have the same key");
            i += 1;
        }
        assert!(self.length < N, "a group is used without a field that it does not have");
        self.fields[self.length] = *field;
        self.length += 1;
    }
}

/// No field.
const NOTHING: Field = Field { key: "", default: "", meaning: "", samples: &[], paper: None };

/// What the paper has of a key.
const fn of(paper: &[(&'static str, &'static str)], key: &str) -> Option<&'static str> {
    let mut i = 0;
    while i < paper.len() {
        if is_same(paper[i].0, key) {
            return Some(paper[i].1);
        }
        i += 1;
    }
    None
}

const fn has(keys: &[&str], key: &str) -> bool {
    let mut i = 0;
    while i < keys.len() {
        if is_same(keys[i], key) {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether two texts are equal, as a constant.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut i = 0;
    while i < one.len() && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == one.len() && i == other.len()
}

/// The value of a field.
///
/// # Errors
/// What is wrong with it.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Wrong> {
    value.clone().try_into()
}

/// The value that a default is as it is written.
///
/// # Panics
/// If it is none of that type: then the struct is wrong, whatever is read.
#[must_use]
pub fn default<T: DeserializeOwned>(text: &str) -> T {
    let read = |mut table: toml::Table| table.remove("value").map_or_else(|| unreachable!(), Value::try_into);
    match toml::from_str(&format!("value = {text}")).and_then(read) {
        Ok(value) => value,
        Err(e) => unreachable!("the default {text} is no value of its field: {}", e.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn field(key: &'static str) -> Field {
        Field { key, ..NOTHING }
    }

    const GROUP: &[Field] = &[field("a"), field("b")];

    const fn group(without: &'static [&'static str], paper: &'static [(&'static str, &'static str)]) -> Part {
        Part::Group { fields: GROUP, without, paper }
    }

    #[test]
    fn the_fields_of_a_group_stand_where_it_stands() {
        let parts = [Part::Field(field("c")), group(&["a"], &[("b", "2")]), Part::Field(field("bb"))];
        assert_eq!(count(&parts), 3);
        let fields = joined::<3>(&parts).map(|field| (field.key, field.paper));
        assert_eq!(fields, [("c", None), ("b", Some("2")), ("bb", None)]);
    }

    #[test]
    #[should_panic(expected = "two fields have the same key")]
    fn no_two_fields_have_the_same_key() {
        let _ = joined::<3>(&[group(&[], &[]), Part::Field(field("b"))]);
    }

    #[test]
    #[should_panic(expected = "without a field that it does not have")]
    fn only_a_field_that_is_there_is_left_out() {
        let _ = joined::<2>(&[group(&["c"], &[]), Part::Field(field("d"))]);
    }

    #[test]
    #[should_panic(expected = "the paper has a field that a group does not")]
    fn only_a_field_that_is_there_has_a_value_of_the_paper() {
        let _ = joined::<2>(&[group(&[], &[("c", "1")])]);
    }
}
