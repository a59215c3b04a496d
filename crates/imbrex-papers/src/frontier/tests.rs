//! What a search finds, what tables may ask for, and what is said of rows.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;

use anyhow::bail;
use imbrex::layers;
use imbrex::samples::ample_space;
use imbrex_runs::settings::{Setting, setting};

use super::answers::sentences;
use super::line::{Line, Of, Tried};
use super::search::{Found, Space, search, size};
use super::tables::{TABLES, Table};
use super::*;

const SMALL: Space = &[("a", &["1", "2"]), ("b", &["x"])];
const LARGE: Space = &[
    ("a", &["1", "2", "3", "4", "5", "6", "7"]),
    ("b", &["1", "2", "3", "4", "5", "6", "7"]),
    ("c", &["1", "2", "3", "4", "5", "6", "7"]),
];

/// The sum of how far the values are from 3.
fn far(settings: &[String]) -> f64 {
    let value = |field: &str| {
        let set = settings.iter().find_map(|setting| setting.strip_prefix(field)?.strip_prefix('='));
        set.map_or(0.0, |value| value.parse::<f64>().unwrap())
    };
    ["a", "b", "c"].into_iter().map(|field| (value(field) - 3.0).abs()).sum()
}

fn searched(trials: u32, seed: u64) -> (Found<()>, Vec<Vec<String>>) {
    let mut asked = Vec::new();
    let found = search(LARGE, trials, seed, |settings| {
        asked.push(settings.to_vec());
        Ok(Some((far(settings), ())))
    });
    (found.unwrap().unwrap(), asked)
}

#[test]
fn few_settings_are_all_tried_and_none_twice() {
    let mut asked = Vec::new();
    let found = search(SMALL, 100, 1, |settings| {
        asked.push(settings.join(" "));
        // The layer refuses the setting that would be best.
        Ok((settings != ["a=2", "b=x"]).then_some((9.0 - settings.len() as f64, ())))
    });
    let found = found.unwrap().unwrap();
    assert_eq!((asked.len() as u64, found.trials), (size(SMALL), 6));
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 6, "{asked:?}");
    assert_eq!((asked[0].as_str(), found.by_default), ("", 9.0));
    assert_eq!((found.settings.join(" ").as_str(), found.best.0), ("a=1 b=x", 7.0));
}

#[test]
fn a_search_draws_and_then_looks_around_the_best() {
    let (found, asked) = searched(60, 1);
    assert_eq!((asked.len(), found.by_default), (60, 9.0));
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 60, "none is tried twice");
    assert!(found.best.0 <= 1.0, "{:?}", found.settings);
    assert_eq!(far(&found.settings), found.best.0);
    assert_eq!(searched(60, 1).1, asked, "the seed decides");
    assert_ne!(searched(60, 2).1, asked);
}

#[test]
fn of_equal_settings_the_first_counts_and_errors_are_passed_on() {
    let equal = search(LARGE, 20, 1, |_| Ok(Some((1.0, ())))).unwrap().unwrap();
    assert!(equal.settings.is_empty(), "the defaults");
    assert!(search(LARGE, 20, 1, |_| Ok(None::<(f64, ())>)).unwrap().is_none());
    let failed = search(LARGE, 20, 1, |settings| match settings {
        [] => Ok(Some((1.0, ()))),
        _ => bail!("out of luck"),
    });
    assert_eq!(failed.err().unwrap().to_string(), "out of luck");
}

/// The values of a field differ from its default, and each is one that the layer takes.
#[test]
fn spaces_are_of_fields_and_values_that_layers_have() {
    let names: HashSet<_> = TABLES.iter().map(|table| table.name).collect();
    assert_eq!(names.len(), TABLES.len(), "tables have names of their own");
    for table in &TABLES {
        for layer in table.ours.iter().chain(table.others.iter().map(|other| &other.layer)) {
            table.configured(layer, &[]).unwrap();
        }
        for other in table.others {
            let info = layers::find(other.layer).unwrap();
            for (field, values) in other.space {
                let default = info.fields.iter().find(|known| known.key == *field).unwrap().default;
                for value in *values {
                    assert_ne!(default.trim_matches('"'), *value, "{}.{field}", other.layer);
                    let set = setting(&format!("{}.{field}={value}", other.layer)).unwrap();
                    let made = info.build(&ample_space(), &Setting::config(&[set], info));
                    let too_large =
                        made.err().map(|e| e.to_string()).filter(|e| !e.contains("buffer") && !e.contains("bands"));
                    assert_eq!(too_large, None, "{}.{field}={value}", other.layer);
                }
            }
        }
    }
}

fn of(layer: &'static str, value: f64) -> Of {
    let (settings, command) = (String::new(), String::new());
    Of { layer, settings, value, by_default: value, times_of_workload: None, command }
}

fn line(workload: &str, bound: u64, other: f64, ours: f64) -> Line {
    let requests = NonZeroU64::new(300).unwrap();
    let workloads = [imbrex::trace::Workload::named(workload).unwrap()];
    let tables = [zones()];
    let extent = Extent { tables: &tables, is_of_all: false, requests, trials: 1, seed: 1, jobs: 1 };
    let mut line = frontier(&workloads, &extent).unwrap().0.remove(0);
    line.bound = Some(bound);
    line.ratio = (other > 0.0).then(|| ours / other);
    (line.other, line.ours) = (of("fifo-log", other), Some(of("zone-ages", ours)));
    line
}

fn zones() -> &'static Table {
    TABLES.iter().find(|table| table.name == "zones-small").unwrap()
}

#[test]
fn answers_name_the_mean_the_worst_and_the_lost_rows() {
    let rows = [line("hm_0", 10, 100.0, 20.0), line("zipf", 10, 10.0, 12.5), line("usr_0", 0, 0.0, 1.0)];
    let said = sentences(zones(), &rows.iter().collect::<Vec<_>>());
    // The geometric mean of 0.2 and 1.25 is 0.5; that of 2 and 1.25 is 1.58, that of 10 and 1 is 3.16.
    for part in [
        "rewrites 0.50 times as many zones as the best of the others",
        "of 3 rows, without 1 where one of them has none",
        "and 1.25 times in the worst, zipf",
        "The best other wins in 2 of 3 rows (zipf, usr_0)",
        "ours is at 1.58 times the bound, the best other at 3.16",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let none = sentences(zones(), &[&line("hm_0", 0, 0.0, 0.0)]);
    assert!(none.ends_with("have nothing to do."), "{none}");
}

/// Who wins with the best settings, and by default.
#[test]
fn layers_are_held_against_the_best_of_each_row() {
    let tried = |layer, workload: &str, by_default, value| {
        let of = Of { by_default, ..of(layer, value) };
        Tried::new(zones(), workload.to_owned(), layer == "zone-ages", 1, of)
    };
    let all = [
        tried("fifo-log", "one", 40.0, 10.0),
        tried("zone-ages", "one", 20.0, 20.0),
        tried("fifo-log", "two", 40.0, 40.0),
        tried("zone-ages", "two", 5.0, 5.0),
    ];
    let table = answers::layers(zones(), &all).markdown();
    let row = |layer: &str| table.lines().find(|line| line.starts_with(&format!("| {layer} "))).unwrap().to_owned();
    assert_eq!(row("fifo-log"), "| fifo-log | 4.00 | 0 | 2.83 | 1 |");
    assert_eq!(row("zone-ages"), "| zone-ages | 1.00 | 2 | 1.41 | 1 |");
}
