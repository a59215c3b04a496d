//! What the units of a disk hold, in columns, and no more of them than a picture shows.

use serde_json::{Map, Value, json};

/// The most bars that a picture has room for.
const BARS: usize = 400;

/// The schemas of units, the field with a unit's number, and what units are called.
const KINDS: [(&str, &str); 3] = [("imbrex.bands/", "band"), ("imbrex.tracks/", "track"), ("imbrex.zones/", "zone")];

/// The field that numbers the units of a schema, if it is of units.
pub(crate) fn unit_of(schema: &str) -> Option<&'static str> {
    KINDS.iter().find(|(prefix, _)| schema.starts_with(prefix)).map(|(_, unit)| *unit)
}

/// All looks at the units of one run.
pub(crate) fn columns(unit: &str, rows: &[Value]) -> Value {
    let parts = parts(rows);
    let looks: Vec<&[Value]> =
        rows.chunk_by(|a, b| a["requests"] == b["requests"] && a["is_end"] == b["is_end"]).collect();
    let each = looks.iter().map(|look| look.len().div_ceil(BARS)).max().unwrap_or(1).max(1);
    let looks: Vec<Value> = looks.iter().map(|look| moment(look, &parts, each)).collect();
    json!({ "kind": format!("{unit}s"), "each": each, "parts": parts, "looks": looks })
}

/// What a unit is made of. Where it is known which live blocks are hot, that is said in place of how many are live.
fn parts(rows: &[Value]) -> Vec<String> {
    let Some(Value::Object(first)) = rows.first() else { return Vec::new() };
    let has = |name: &str| rows.iter().any(|row| row[name].is_u64());
    let is_split = has("hot_blocks");
    let names = first.keys().filter_map(|name| name.strip_suffix("_blocks").map(|part| (name, part)));
    let kept = names.filter(|(name, part)| has(name) && !(is_split && *part == "live"));
    // What holds something stands below what does not.
    let (held, free): (Vec<_>, Vec<_>) = kept.partition(|(_, part)| !matches!(*part, "unwritten" | "free"));
    held.into_iter().chain(free).map(|(_, part)| part.to_owned()).collect()
}

fn moment(look: &[Value], parts: &[String], each: usize) -> Value {
    let sum = |rows: &[Value], name: &str| -> u64 { rows.iter().filter_map(|row| row[name].as_u64()).sum() };
    let column = |part: &String| {
        let name = format!("{part}_blocks");
        (part.clone(), Value::from(look.chunks(each).map(|rows| sum(rows, &name)).collect::<Vec<_>>()))
    };
    let mut moment = Map::new();
    moment.insert("requests".to_owned(), look[0]["requests"].clone());
    moment.insert("is_end".to_owned(), look[0]["is_end"].clone());
    moment.insert("parts".to_owned(), Value::Object(parts.iter().map(column).collect()));
    let state = |row: &Value| row["state"].as_str().or(row["side"].as_str()).map(str::to_owned);
    if each == 1 && look.iter().all(|row| state(row).is_some()) {
        moment.insert("states".to_owned(), look.iter().filter_map(state).collect());
    }
    Value::Object(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(requests: u64, band: u64, live: u64, hot: Option<u64>) -> Value {
        json!({
            "schema": "imbrex.bands/1", "requests": requests, "is_end": requests == 2, "band": band, "state": "closed",
            "unwritten_blocks": 1, "dead_blocks": 2, "live_blocks": live, "hot_blocks": hot,
        })
    }

    #[test]
    fn looks_are_columns() {
        let rows = [band(1, 0, 5, None), band(1, 1, 6, None), band(2, 0, 7, None), band(2, 1, 8, None)];
        let units = columns("band", &rows);
        assert_eq!(units["parts"], json!(["dead", "live", "unwritten"]));
        assert_eq!(units["looks"][1]["parts"]["live"], json!([7, 8]));
        assert_eq!(units["looks"][1]["is_end"], json!(true));
        assert_eq!(units["looks"][0]["states"], json!(["closed", "closed"]));
    }

    #[test]
    fn heat_takes_the_place_of_life() {
        let units = columns("band", &[band(1, 0, 5, Some(2))]);
        assert_eq!(units["parts"], json!(["dead", "hot", "unwritten"]));
    }

    #[test]
    fn more_units_than_bars_are_summed() {
        let rows: Vec<_> = (0..1001).map(|at| band(1, at, 1, None)).collect();
        let units = columns("band", &rows);
        assert_eq!(units["each"], json!(3));
        let live = units["looks"][0]["parts"]["live"].as_array().expect("a column").clone();
        assert_eq!((live.len(), live[0].as_u64(), live[333].as_u64()), (334, Some(3), Some(2)));
        assert!(units["looks"][0].get("states").is_none(), "bars of several bands have no one state");
    }
}
