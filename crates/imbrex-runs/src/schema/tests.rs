//! Rows have exactly the properties that their schema says.

use std::collections::BTreeSet;
use std::sync::Arc;

use imbrex_terminal::progress::Listener;
use serde_json::{Map, Value, json};

use super::schema;
use crate::command::Command;
use crate::notes::told;
use crate::run::runs;
use crate::specification::Specification;

/// Is told of nothing.
struct Nobody;

impl Listener for Nobody {
    fn reached(&self, _: u64, _: u64) {}
}

/// Runs that have, among them, everything that a row may have.
fn rows() -> Vec<Value> {
    let specified = [
        json!({ "workloads": ["zipf"], "layers": ["amphisbaena"], "warm_up": 50, "window": "100req", "queue_depth": 2, "paced": true, "rest": true }),
        json!({ "workloads": ["zipf"], "layers": ["lru-cache"], "drive": "st8000as0002", "warm_up": "1ms" }),
        json!({ "workloads": ["zipf"], "layers": ["fifo-log"], "drive": "small-zoned", "buffer": "1MiB", "beyond": "wrap", "contents": ["50%"], "config": { "fifo-log": { "spare_zones": 2 } } }),
        json!({ "workloads": ["zipf"], "layers": ["zone-alloy"], "drive": "zonealloy", "extend": ["1GiB@10%", "1GiB@20%"] }),
        json!({ "workloads": ["zipf"], "layers": ["tracklace"], "drive": "imr-tracklace", "capacity": "1GiB", "beyond": "wrap", "contents": [] }),
        json!({ "workloads": ["zipf"], "layers": ["sepbit"], "map_memory": "64KiB", "beyond": "wrap", "capacity": "1GiB", "zone_size": "1MiB" }),
        json!({ "workloads": ["zipf"], "layers": ["in-place"], "repeat": 2 }),
        json!({ "workloads": ["zipf"], "layers": ["sepbit"], "untimed": true, "sample": "1/16" }),
        json!({ "workloads": ["zipf"], "layers": ["fifo-log"], "buffer": "16blocks", "steady": true }),
        json!({ "workloads": ["zipf"], "layers": ["log-greedy"], "capacity": "fit", "contents": [100, "10%"], "window": "1h" }),
    ];
    specified.into_iter().flat_map(|fields| rows_of(fields.as_object().unwrap().clone())).collect()
}

fn rows_of(mut fields: Map<String, Value>) -> Vec<Value> {
    fields.insert("requests".to_owned(), 300.into());
    let specification = Specification::read(fields).unwrap();
    let workloads = specification.named().unwrap();
    let listeners = || [Arc::new(Nobody) as Arc<dyn Listener>, Arc::new(Nobody)];
    let runs = runs(&specification, &workloads, listeners()).unwrap();
    let rows = runs.into_iter().map(|run| run.row).collect();
    told(rows, &Command::typed()).iter().map(|row| serde_json::to_value(row).unwrap()).collect()
}

/// A walk through values beside their schema.
struct Walk<'a> {
    root: &'a Value,
    /// What values and schema do not agree about.
    wrong: BTreeSet<String>,
    /// Properties that some value had.
    met: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    fn through(root: &'a Value, values: &[Value]) -> Self {
        let mut walk = Self { root, wrong: BTreeSet::new(), met: BTreeSet::new() };
        values.iter().for_each(|value| walk.value(root, value, ""));
        walk
    }

    /// The schema that a reference leads to.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(to) => self.resolved(self.root.pointer(to.trim_start_matches('#')).expect("what is referred to")),
            None => schema,
        }
    }

    /// The schemas of which a value fits one.
    fn choices(&self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolved(schema);
        let listed = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
        let listed: Vec<_> = listed.flat_map(|one| self.choices(one)).collect();
        if listed.is_empty() { vec![schema] } else { listed }
    }

    fn value(&mut self, schema: &'a Value, value: &Value, at: &str) {
        let choices = self.choices(schema);
        let has_keys = |one: &&&Value| {
            value.as_object().is_none_or(|is| {
                is.keys().any(|key| one["properties"].get(key).is_some()) || one["additionalProperties"].is_object()
            })
        };
        let fitting = choices.iter().filter(|one| is_of_type(one, value));
        let Some(fits) = fitting.clone().find(has_keys).or_else(|| fitting.clone().next()) else {
            self.wrong.insert(format!("{at} is no {}", kind(value)));
            return;
        };
        match value {
            Value::Object(object) => self.object(fits, object, at),
            Value::Array(items) => items.iter().for_each(|item| self.value(&fits["items"], item, at)),
            _ => {}
        }
    }

    fn object(&mut self, schema: &'a Value, object: &Map<String, Value>, at: &str) {
        for (key, value) in object {
            let at = format!("{at}/{key}");
            match schema["properties"].get(key) {
                Some(property) => {
                    self.value(property, value, &at);
                    self.met.insert(at);
                }
                None if schema["additionalProperties"].is_object() => {
                    self.value(&schema["additionalProperties"], value, &at);
                }
                None if schema["additionalProperties"] == true => {}
                None => drop(self.wrong.insert(format!("{at} is not in the schema"))),
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing = required.filter(|key| !object.contains_key(*key));
        self.wrong.extend(missing.map(|key| format!("{at}/{key} is missing")));
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    let is = |name: &Value| name == kind(value) || name == "number" && value.is_number();
    match &schema["type"] {
        Value::Array(names) => names.iter().any(is),
        Value::Null => schema.get("const").is_some_and(|only| only == value) || schema.as_bool() == Some(true),
        name => is(name),
    }
}

#[test]
fn rows_have_exactly_the_properties_of_their_schema() {
    let (schema, rows) = (schema().row.to_value(), rows());
    let walk = Walk::through(&schema, &rows);
    assert!(walk.wrong.is_empty(), "{:#?}", walk.wrong);
    let own = schema["properties"].as_object().unwrap().keys();
    let unmet: Vec<_> = own.filter(|key| !walk.met.contains(&format!("/{key}"))).collect();
    assert!(unmet.is_empty(), "no row has {unmet:?}");
    for inner in [
        "/map/lookups",
        "/options/map_memory",
        "/devices/outcome/rmw",
        "/growth/seconds",
        "/bands/mixed",
        "/tracks/top/tracks",
        "/zones/zones",
        "/steady/values",
        "/notes",
    ] {
        assert!(walk.met.contains(inner), "no row has {inner}");
    }
    for inner in ["/options/warm_up/ns", "/options/extend/at/requests", "/options/window/ns", "/options/bands/requests"]
    {
        assert!(walk.met.contains(inner), "no row has {inner}");
    }
}

#[test]
fn a_property_that_a_schema_lacks_is_noticed_at_any_depth() {
    let (whole, rows) = (schema().row.to_value(), rows_of(Map::from_iter([("workloads".to_owned(), json!(["zipf"]))])));
    for (at, key) in [("", "rmw"), ("/$defs/Options", "untimed"), ("/$defs/CleaningTime", "steps")] {
        let mut schema = whole.clone();
        let inner = schema.pointer_mut(at).unwrap_or_else(|| panic!("{at} in {whole}"));
        inner["properties"].as_object_mut().unwrap().remove(key).unwrap();
        let walk = Walk::through(&schema, &rows);
        assert!(
            walk.wrong.iter().any(|wrong| wrong.ends_with(&format!("{key} is not in the schema"))),
            "{:?}",
            walk.wrong
        );
    }
    let mut schema = whole.clone();
    schema["properties"]["speed"] = json!({ "type": "number" });
    schema["required"].as_array_mut().unwrap().push("speed".into());
    assert!(Walk::through(&schema, &rows).wrong.contains("/speed is missing"));
}

#[test]
fn a_specification_says_what_its_fields_mean_and_what_holds_without_them() {
    let schema = schema().specification.to_value();
    let properties = schema["properties"].as_object().unwrap();
    let written = serde_json::to_value(Specification::default()).unwrap();
    assert_eq!(properties.keys().collect::<BTreeSet<_>>(), written.as_object().unwrap().keys().collect());
    for (name, property) in properties {
        assert!(property["description"].is_string(), "{name} is not described");
        assert_eq!(property["default"], written[name], "{name}");
    }
    assert_eq!(properties["buffer"]["default"], "1%");
    assert!(schema.get("required").is_none(), "nothing has to be chosen");
}
