//! Values that people write: on a command line as words, and in a specification as text or, where it is one, as a number.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::ser::Serializer;

/// A value that is written in words.
pub trait Written: Sized {
    /// Reads it, or says what should have been written.
    ///
    /// # Errors
    /// When `text` is none of these values.
    fn read(text: &str) -> Result<Self, String>;

    /// What a number alone means.
    ///
    /// # Errors
    /// When it means nothing.
    fn of_number(number: &str) -> Result<Self, String> {
        Self::read(number)
    }

    /// As it would be read again.
    fn text(&self) -> String;
}

/// Writes a value.
///
/// # Errors
/// What the serializer says.
pub fn serialize<T: Written, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.text())
}

/// Reads a value.
///
/// # Errors
/// When it is none.
pub fn deserialize<'de, T: Written, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Reader(PhantomData))
}

struct Reader<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        T::of_number(&number.to_string()).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::of_number(&number.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        T::of_number(&number.to_string()).map_err(E::custom)
    }
}

/// A value of its own, for lists of them and for what may be missing.
struct Value<T>(T);

impl<T: Written> serde::Serialize for Value<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, serializer)
    }
}

impl<'de, T: Written> serde::Deserialize<'de> for Value<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

/// Values that may be missing.
pub mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Value, Written};

    /// Writes one.
    ///
    /// # Errors
    /// What the serializer says.
    pub fn serialize<T: Written, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Value).serialize(serializer)
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is none.
    pub fn deserialize<'de, T: Written, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        Ok(Option::<Value<T>>::deserialize(deserializer)?.map(|value| value.0))
    }
}

/// Lists of values that may be missing.
pub mod several {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Value, Written};

    /// Writes one.
    ///
    /// # Errors
    /// What the serializer says.
    pub fn serialize<T: Written, S: Serializer>(values: &Option<Vec<T>>, serializer: S) -> Result<S::Ok, S::Error> {
        let values = values.as_ref().map(|values| values.iter().map(Value).collect::<Vec<_>>());
        values.serialize(serializer)
    }

    /// Reads one, or a single value in place of a list of one.
    ///
    /// # Errors
    /// When one of its values is none.
    pub fn deserialize<'de, T: Written, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
        let values = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Null => return Ok(None),
            serde_json::Value::Array(values) => values,
            value => vec![value],
        };
        let read = |value| Value::deserialize(value).map(|value: Value<T>| value.0).map_err(D::Error::custom);
        values.into_iter().map(read).collect::<Result<_, _>>().map(Some)
    }
}

/// What a schema says of a value that is text or a number.
pub struct TextOrNumber;

impl JsonSchema for TextOrNumber {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TextOrNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"] })
    }
}
