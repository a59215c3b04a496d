//! What tables may ask for, and what is said of rows.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;

use super::answers::sentences;
use super::line::{Line, Of, Tried};
use super::tables::{TABLES, Table};
use super::*;

#[test]
fn tables_have_names_and_layers_that_are_there() {
    let names: HashSet<_> = TABLES.iter().map(|table| table.name).collect();
    assert_eq!(names.len(), TABLES.len(), "tables have names of their own");
    for table in &TABLES {
        for layer in table.ours.iter().chain(table.others.iter().map(|other| &other.layer)) {
            table.configured(layer, &[]).unwrap();
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
    let extent = Extent { tables: &tables, is_of_several: false, requests, trials: 1, seed: 1, searched: &[], jobs: 1 };
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

/// A workload with several seeds is a row, and each seed counts.
#[test]
fn each_seed_counts() {
    let rows = [line("hm_0", 10, 100.0, 20.0), line("hm_0", 10, 10.0, 12.5), line("zipf", 10, 2.0, 1.0)];
    let all: Vec<_> = rows.iter().collect();
    let said = sentences(zones(), &all);
    for part in ["in the geometric mean of 3 runs", "1.25 times in the worst, hm_0", "wins in 1 of 3 runs (hm_0 1)"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(answers::over_seeds(&all[..2]), "0.50 (0.20 to 1.25), loses 1");
    assert_eq!(answers::over_seeds(&[&line("hm_0", 0, 0.0, 0.0)]), "-");
    let extent = Extent {
        tables: &[zones()],
        is_of_several: true,
        requests: NonZeroU64::MIN,
        trials: 1,
        seed: 1,
        searched: &[],
        jobs: 1,
    };
    let text = report(&rows, &[], &extent).into_text();
    let of_hm_0 = text.lines().rfind(|line| line.starts_with("hm_0")).unwrap();
    assert!(text.contains(" 0.20\n") && of_hm_0.ends_with(" 0.50 (0.20 to 1.25), loses 1"), "{text}");
}

/// Who wins with the best settings, and by default.
#[test]
fn layers_are_held_against_the_best_of_each_row() {
    let tried = |layer, seed, by_default, value| {
        let of = Of { by_default, ..of(layer, value) };
        Tried::new(zones(), ("zipf", Some(seed)), layer == "zone-ages", 1, of)
    };
    let all = [
        tried("fifo-log", 1, 40.0, 10.0),
        tried("zone-ages", 1, 20.0, 20.0),
        tried("fifo-log", 2, 40.0, 40.0),
        tried("zone-ages", 2, 5.0, 5.0),
    ];
    let table = answers::layers(zones(), &all).markdown();
    let row = |layer: &str| table.lines().find(|line| line.starts_with(&format!("| {layer} "))).unwrap().to_owned();
    assert_eq!(row("fifo-log"), "| fifo-log | 4.00 | 0 | 2.83 | 1 |");
    assert_eq!(row("zone-ages"), "| zone-ages | 1.00 | 2 | 1.41 | 1 |");
}
