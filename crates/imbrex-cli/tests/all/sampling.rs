//! What a sample of the blocks is worth, as the documents say it, and what refuses one.

use std::fs;
use std::path::Path;

use serde_json::Value;
use test_material::cases;

use crate::program::imbrex;

/// The workloads whose rows are measured here: the one whose zones are too few, and, where nobody waits, two others that
/// take little.
const MEASURED: [&str; 3] = ["hm_0", "prn_1", "src1_0"];
/// What errors the words below the table are about, in percent.
const CLOSE: f64 = 3.0;
/// With how many zones.
const MANY_ZONES: u64 = 40;

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulation.md")).unwrap()
}

/// The command above the table, and the cells of its rows.
fn shown(page: &str) -> (String, Vec<Vec<String>>) {
    let section = page.split_once("## A sample of the blocks").unwrap().1;
    let command = section.lines().find(|line| line.starts_with("imbrex compare WORKLOAD")).unwrap();
    let rows = section.split_once("|---|").unwrap().1.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    (command.trim_start_matches("imbrex ").to_owned(), rows.map(cells).collect())
}

fn json(run: &str) -> Vec<Value> {
    let output = imbrex(&format!("{run} --format json"));
    assert!(output.status.success(), "{run}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a command refuses, with its reason.
fn refused(run: &str) -> String {
    let output = imbrex(run);
    assert!(!output.status.success(), "{run} was not refused");
    String::from_utf8(output.stderr).unwrap()
}

/// How far one number is from another, in percent, as the page writes it.
fn off(sampled: &Value, whole: &Value) -> String {
    let amplification = |row: &Value| row["write_amplification"].as_f64().unwrap();
    let text = format!("{:+.1}", 100.0 * (amplification(sampled) / amplification(whole) - 1.0));
    if ["+0.0", "-0.0"].contains(&text.as_str()) { "0.0".to_owned() } else { text.replace('-', "\u{2212}") }
}

#[test]
fn the_page_says_how_far_a_sample_is_off() {
    let (command, rows) = shown(&page());
    for workload in MEASURED.into_iter().take(cases(1, 3)) {
        let row = rows.iter().find(|row| row[0].trim_matches('`') == workload).unwrap();
        let whole = command.replace("WORKLOAD", workload);
        let sampled = json(&format!("{whole} --sample 1/16"));
        let whole = json(&whole);
        let measured: Vec<_> = sampled.iter().zip(&whole).map(|(sampled, whole)| off(sampled, whole)).collect();
        let logs = sampled.iter().zip(measured).filter(|(row, _)| row["layer"] != "conventional");
        let measured: Vec<_> = logs.map(|(_, off)| off).collect();
        assert_eq!(measured, row[2..], "{workload}");
        let last = whole.last().unwrap();
        let zones = last["drive_blocks"].as_u64().unwrap() / last["zone_blocks"].as_u64().unwrap();
        assert_eq!(zones.to_string(), row[1], "{workload}");
        assert!(sampled.iter().all(|row| row["sample"] == 16 && row["block_bytes"] == 65_536));
    }
}

#[test]
fn its_words_are_those_of_the_table() {
    let page = page();
    let (_, rows) = shown(&page);
    let many = rows.iter().filter(|row| row[1].parse::<u64>().unwrap() >= MANY_ZONES);
    let errors: Vec<f64> = many
        .flat_map(|row| &row[2..])
        .map(|cell| cell.replace('\u{2212}', "-").parse::<f64>().unwrap().abs())
        .collect();
    let close = errors.iter().filter(|error| **error <= CLOSE).count();
    let largest = errors.iter().copied().fold(0.0, f64::max);
    let said = format!(
        "{MANY_ZONES} zones or more, {close} of {} are within {CLOSE} %, and the largest is {largest} %",
        errors.len()
    );
    assert!(page.contains(&said), "{said}");
}

#[test]
fn what_a_sample_says_nothing_of_is_refused() {
    let run = "compare stg_0 --requests 20k --untimed --sample 1/16";
    for (options, said) in [
        ("--layers in-place", "--sample: in-place does not move block by block"),
        ("--family ssd", "choose from conventional,log-greedy"),
        ("--layers sepbit --drive st8000as0002", "--sample: st8000as0002 is neither zoned nor conventional"),
        ("--layers sepbit --zone-size 8MiB", "--sample: of zones of 2048 blocks, 1/16 are not 256 or more"),
        ("--layers sepbit --warm-up 100", "--warm-up: with --sample, write a time such as 30min"),
    ] {
        let error = refused(&format!("{run} {options}"));
        assert!(error.contains(said), "{options}: {error}");
    }
    let error = refused("compare stg_0 --requests 20k --sample 1/16");
    assert!(error.contains("--untimed"), "{error}");
    let error = refused("bound stg_0 --requests 20k --untimed --sample 1/16");
    assert!(error.contains("--sample: bounds hold for all requests"), "{error}");
}

#[test]
fn a_sample_of_few_zones_is_told_so() {
    let run = "compare stg_0 --requests 20k --layers sepbit --dense --untimed --sample 1/4 --zone-size 4MiB";
    let told = |capacity: &str| json(&format!("{run} --capacity {capacity}"))[0]["notes"].to_string();
    assert!(told("128MiB").contains("is sampled on a drive of 32 zones"));
    assert!(!told("256MiB").contains("is sampled"));
}

#[test]
fn a_drive_has_as_many_bytes_in_a_sample() {
    let run = "replay stg_0 --requests 20k --layer log-greedy --untimed --set log-greedy.step_blocks=64 --capacity 4GiB \
               --beyond wrap";
    let [whole, sampled] = [run.to_owned(), format!("{run} --sample 1/16")].map(|run| json(&run)[0].clone());
    assert_eq!(whole["config"], sampled["config"], "what was set is shown as it was set");
    let bytes = |row: &Value, blocks: &str| row[blocks].as_u64().unwrap() * row["block_bytes"].as_u64().unwrap();
    for blocks in ["drive_blocks", "zone_blocks", "capacity_blocks"] {
        let (whole, sampled) = (bytes(&whole, blocks), bytes(&sampled, blocks));
        assert!(whole.abs_diff(sampled) <= whole / 100, "{blocks}: {whole} and {sampled} bytes");
    }
    let (few, all) = (sampled["requests"].as_u64().unwrap(), whole["requests"].as_u64().unwrap());
    assert!(few > all / 16 && few < all / 2, "{few} requests of {all}");
}
