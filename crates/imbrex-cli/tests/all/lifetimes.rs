//! What the page of `log-lifetimes` says that it is worth.

use std::fs;
use std::path::Path;

use serde_json::Value;
use test_material::{beside, cases};

use crate::program::imbrex;

/// Files of traces in which rows of the page are measured.
const TRACES: [(&str, &str); 5] = [
    ("cloudphysics", "cloudphysics.vscsi.zst"),
    ("msr-hm_1-writes", "msr-hm_1-writes.csv.zst"),
    ("msr-rsrch_1", "msr-rsrch_1.csv.zst"),
    ("financial1-head", "financial1-head.disksim.zst"),
    ("hadoop", "hadoop.blkparse.zst"),
];
/// The columns of `sepbit` and `log-lifetimes`.
const COLUMNS: [(usize, &str); 2] = [(7, "sepbit"), (8, "log-lifetimes")];

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/layers/log-lifetimes.md")).unwrap()
}

/// The cells of the rows of the table.
fn rows(page: &str) -> Vec<Vec<String>> {
    let table = page.split_once("| `log-lifetimes` |\n").unwrap().1;
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// Blocks that a layer with these settings moves on a row's workload, as the page's command says; nothing if there is no
/// such trace here.
fn moved(row: &[String], layer: &str, set: &str) -> Option<u64> {
    let workload = row[1].trim_matches('`');
    let file = TRACES.iter().find(|(name, _)| *name == workload).map(|(_, file)| file);
    let workload = match file {
        Some(file) => beside("log-lifetimes on traces", &format!("traces/{file}"))?.display().to_string(),
        None => workload.to_owned(),
    };
    let requests = if row[2] == "all" { String::new() } else { format!("--requests {}", row[2]) };
    let options = "--capacity fit --dense --untimed --format json";
    let run = format!("replay {workload} {requests} --layer {layer} {set} {options} --zone-size {}", row[3]);
    let output = imbrex(&run);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(result[0]["media_write_blocks"]["migrate"].as_u64().unwrap())
}

#[test]
fn the_page_shows_what_is_moved() {
    // Every third of them, and all where nobody waits.
    for row in rows(&page()).into_iter().step_by(cases(3, 1)) {
        for (column, layer) in COLUMNS {
            if let Some(moved) = moved(&row, layer, "") {
                assert_eq!(moved.to_string(), row[column], "{layer} on {}", row[1]);
            }
        }
    }
}

#[test]
fn its_means_are_those_of_the_table() {
    let page = page();
    let ratio = |row: &Vec<String>| ratio_of(&row[8], &row[7]);
    let rows = rows(&page);
    let mean = |rows: Vec<&Vec<String>>| {
        let logarithms: f64 = rows.iter().map(|row| ratio(row).ln()).sum();
        (logarithms / rows.len() as f64).exp()
    };
    let moves_any = |row: &&Vec<String>| row[8] != "0";
    let nothing = rows.iter().filter(|row| !moves_any(row)).map(|row| row[1].as_str());
    assert!(nothing.eq(["`msr-rsrch_1`"]), "the page says where nothing is moved");
    let seven = mean(rows.iter().take(8).filter(moves_any).collect());
    let six = rows.iter().take(8).filter(moves_any).filter(|row| row[1] != "`src2_2`");
    for said in [format!("it moves {seven:.2} times as much"), format!("{:.2} times.", mean(six.collect()))] {
        assert!(page.contains(&said), "{said}");
    }
    let is_least = |row: &&Vec<String>| row[4..8].iter().all(|other| ratio_of(&row[8], other) < 1.0);
    let lost: Vec<_> = rows.iter().filter(|row| !is_least(row)).map(|row| row[1].trim_matches('`')).collect();
    let said = ["financial1-head", "src1_0", "src1_0", "msr-hm_1-writes", "hot-cold"];
    assert_eq!(lost, said, "the page says where it loses");
}

/// How many times as much is moved without miniatures as the table says, in the words of the page.
#[test]
fn its_words_about_miniatures_are_true() {
    let rows = rows(&page());
    for (workload, times) in [("hadoop", 1000.0..1500.0), ("hot-cold", 1.3..1.4), ("cloudphysics", 0.87..0.89)] {
        let row = rows.iter().find(|row| row[1].trim_matches('`') == workload).unwrap();
        if let Some(moved) = moved(row, "log-lifetimes", "--set log-lifetimes.sample=0") {
            let ratio = ratio_of(&moved.to_string(), &row[8]);
            assert!(times.contains(&ratio), "{workload}: {ratio}");
        }
    }
}

fn ratio_of(of: &str, over: &str) -> f64 {
    of.parse::<f64>().unwrap() / over.parse::<f64>().unwrap()
}
