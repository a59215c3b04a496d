//! Rows of results, sorted by what they are about.

use serde_json::{Map, Value};

/// A row of results as the program writes it, see docs/json.md.
pub type Row = Value;

/// What a row says of, by its schema.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Run,
    Window,
    Unit(&'static str),
    Claim,
    /// A row of any other result: it is shown as a table.
    Other,
}

/// Why a page cannot show a row.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RowError {
    /// The row has no schema.
    #[error("a row has no \"schema\": write results with --format json, or as .json")]
    NoSchema,
    /// The row's schema has another version than the one that is read.
    #[error("{schema}: this program reads {reads}; make the results again with it")]
    Version {
        /// The row's schema.
        schema: String,
        /// The schema that is read.
        reads: String,
    },
}

/// The schemas that a page knows more of than their names, and their versions.
const KNOWN: [(&str, &str, Kind); 3] =
    [("imbrex.run/", "3", Kind::Run), ("imbrex.series/", "2", Kind::Window), ("imbrex.claim/", "2", Kind::Claim)];

/// What a row says of.
///
/// # Errors
/// When a row says no schema, or one of another version.
pub(crate) fn kind(row: &Value) -> Result<Kind, RowError> {
    let schema = row["schema"].as_str().ok_or(RowError::NoSchema)?;
    if let Some(unit) = crate::units::unit_of(schema) {
        return Ok(Kind::Unit(unit));
    }
    let Some((prefix, known, kind)) = KNOWN.iter().find(|(prefix, ..)| schema.starts_with(prefix)) else {
        return Ok(Kind::Other);
    };
    match schema.strip_prefix(prefix) {
        Some(version) if version == *known => Ok(*kind),
        _ => Err(RowError::Version { schema: schema.to_owned(), reads: format!("{prefix}{known}") }),
    }
}

/// The columns of a series, without what all its rows have in common.
pub(crate) fn columns(rows: &[Value]) -> Value {
    let mut columns = Map::new();
    let Some(Value::Object(first)) = rows.first() else { return Value::Object(columns) };
    let named = ["schema", "trace", "synthetic", "layer", "media_write_blocks"];
    for name in first.keys().filter(|name| !named.contains(&name.as_str())) {
        let column: Vec<Value> = rows.iter().map(|row| row[name].clone()).collect();
        columns.insert(name.clone(), Value::Array(column));
    }
    Value::Object(columns)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_known_by_their_schema() {
        let of = |schema: &str| kind(&json!({ "schema": schema }));
        assert_eq!(of("imbrex.run/3"), Ok(Kind::Run));
        assert_eq!(of("imbrex.tracks/1"), Ok(Kind::Unit("track")));
        assert_eq!(of("imbrex.moved/1"), Ok(Kind::Other));
        assert!(of("imbrex.run/1").is_err_and(|said| said.to_string().contains("this program reads imbrex.run/3;")));
        assert_eq!(kind(&json!({ "a": 1 })), Err(RowError::NoSchema));
    }

    #[test]
    fn a_series_becomes_columns() {
        let row = |end: f64| json!({ "schema": "imbrex.series/2", "trace": "t", "end_s": end, "requests": 2 });
        assert_eq!(columns(&[row(1.5), row(2.5)]), json!({ "end_s": [1.5, 2.5], "requests": [2, 2] }));
    }
}
