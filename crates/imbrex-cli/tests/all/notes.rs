//! What is said below a table, where numbers alone would mislead; and what they are held against.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

use crate::program::imbrex;

/// Its standard output on one line, when it must succeed.
fn printed(arguments: &str) -> String {
    let output = imbrex(arguments);
    assert!(output.status.success(), "imbrex {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace('\n', " ")
}

fn json(arguments: &str) -> Vec<Value> {
    let output = imbrex(&format!("{arguments} --format json"));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The command that a note of a run names, which stands in a line of its own.
fn proposed(run: &str) -> String {
    let output = imbrex(run);
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, note) = text.split_once("Nothing had to be cleaned by ").expect(&text);
    let command = note.lines().find_map(|line| line.strip_prefix("  imbrex ")).expect(note);
    command.to_owned()
}

/// A trace of 3000 writes all over 800 MiB, each to another block than those before, nearly.
fn scattered(folder: &Path) -> String {
    let trace = folder.join("t.csv");
    let at = |number: u64| number * 7_919 % 200_000 * 4096;
    let lines: String = (0..3000).map(|n| format!("{},h,0,Write,{},4096,0\n", n * 100_000, at(n))).collect();
    fs::write(&trace, lines).unwrap();
    trace.display().to_string()
}

#[test]
fn a_layer_that_had_nothing_to_clean_is_named_with_a_command_that_changes_that() {
    let folder = tempfile::tempdir().unwrap();
    let trace = scattered(folder.path());
    for (run, changed) in [
        ("compare hm_0 --layers fifo-log,block-lru,loop-back --untimed --requests 20k", "--buffer"),
        ("replay prxy_0 --layer amphisbaena --untimed --requests 20k", "--buffer"),
        ("replay hm_0 --layer lru-cache --drive st8000as0002 --untimed --requests 1000", "--requests"),
        ("replay hot-cold --layer log-greedy --capacity fit --untimed --requests 100k", "--requests"),
        ("replay hm_0 --layer skylight --drive st8000as0002 --untimed --requests 20k --no-idle", "--capacity fit"),
        (
            "replay uniform --layer tracklace --drive imr-tracklace --untimed --requests 20k --capacity fit",
            "--requests",
        ),
        ("compare TRACE --layers fifo-log,in-place --untimed --buffer 64MiB", "--buffer"),
        ("compare TRACE --layers log-greedy,conventional --untimed", "--capacity fit --zone-size"),
        ("replay TRACE --layer skylight --drive st8000as0002 --untimed --no-idle", "--capacity fit"),
        ("replay TRACE --layer lru-cache --drive st8000as0002 --untimed --buffer 64MiB", "--buffer"),
        ("replay TRACE --layer log-fifo --drive small-zoned --beyond wrap --untimed --requests 100", "--repeat"),
    ] {
        let again = proposed(&run.replace("TRACE", &trace));
        assert!(again.contains(changed), "{run}: {again}");
        assert!(!printed(&again).contains("Nothing had to be cleaned"), "{again}");
    }
    let busy = printed("compare hm_0 --layers conventional,in-place --untimed --requests 1000");
    assert!(!busy.contains("Nothing had"), "{busy}");
}

#[test]
fn what_rewrites_at_once_does_not_hide_that_others_had_nothing_to_clean() {
    let said = printed("compare hm_0 --layers in-place,fifo-log,block-lru --untimed --requests 2k");
    assert!(said.contains("Nothing had to be cleaned by fifo-log, block-lru: 10.9 MiB were written"), "{said}");
    assert!(said.contains("the smallest room is 143.4 MiB of buffer. So the layers do not differ"), "{said}");
    let some = "compare hm_0 --layers fifo-log,hashed-zones --untimed --requests 20k";
    let said = printed(some);
    assert!(said.contains("Nothing had to be cleaned by fifo-log: "), "{said}");
    assert!(said.contains("It is not fair to compare the others with that."), "{said}");
    let rows = json(some);
    let notes = |row: &Value| row["notes"].as_array().map(Vec::len);
    assert_eq!((notes(&rows[0]), notes(&rows[1])), (Some(1), None));
    assert!(rows[0]["notes"][0].as_str().unwrap().contains("--format json --buffer 2MiB"), "{}", rows[0]["notes"]);
}

#[test]
fn a_workload_that_overloads_any_disk_is_said_to() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("dense.csv");
    let mut lines = String::new();
    for at in 0..2000_u64 {
        // A request each millisecond, far from the one before.
        writeln!(lines, "{},h,0,Write,{},4096,0", at * 10_000, at * 7_919 % 1000 * (1 << 30)).unwrap();
    }
    fs::write(&trace, lines).unwrap();
    let run = format!("compare {} --layers conventional", trace.display());
    let said = printed(&run);
    assert!(said.contains("dense.csv overloads even a conventional disk, where a request waits "), "{said}");
    assert!(!printed(&format!("{run} --queue-depth 1")).contains("overloads"));
}

#[test]
fn every_layer_is_held_against_a_conventional_disk_of_its_size() {
    let run = "compare hm_0 --family banded --requests 300";
    let runs = json(run);
    let disk = |run: &Value| (run["drive"].clone(), run["drive_blocks"].clone());
    for layer in &runs {
        let own = runs.iter().filter(|other| other["layer"] == "conventional" && disk(other) == disk(layer));
        assert_eq!(own.count(), 1, "{}", layer["layer"]);
    }
    let said = printed(run);
    assert!(said.contains("vs conv") && !said.contains(" -×"), "{said}");
    assert!(!printed("compare hm_0 --layers fifo-log,in-place --requests 300").contains("vs conv"), "nothing is there");
}

#[test]
fn a_trace_can_come_on_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.csv");
    let lines: String = (0..500_u64).map(|at| format!("{},h,0,Write,{},4096,0\n", at * 100_000, at * 8192)).collect();
    fs::write(&trace, &lines).unwrap();
    let by_name = &json(&format!("compare {} --layers conventional,fifo-log", trace.display()));
    let piped = |name: &str, input: &str| {
        let words = ["compare", name, "--layers", "conventional,fifo-log", "--format", "json"];
        Command::cargo_bin("imbrex").unwrap().args(words).write_stdin(input).output().unwrap()
    };
    for name in ["-", "/dev/stdin"] {
        let rows: Vec<Value> = serde_json::from_slice(&piped(name, &lines).stdout).unwrap();
        for (row, other) in rows.iter().zip(by_name) {
            assert_eq!(row["trace"], "standard input");
            assert_eq!((&row["latency_ms"], &row["requests"]), (&other["latency_ms"], &other["requests"]));
        }
    }
    let empty = piped("-", "");
    assert!(String::from_utf8_lossy(&empty.stderr).contains("standard input holds no requests"), "{empty:?}");
}

/// What it says on standard error about a file of `lines`, when it must succeed.
fn said_of(lines: &str, arguments: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t");
    fs::write(&trace, lines).unwrap();
    let output = imbrex(&arguments.replace("TRACE", &trace.display().to_string()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "imbrex {arguments}: {said}");
    said
}

#[test]
fn implausible_times_are_noted_once() {
    let every = |gap: u64| -> String { (0..30).map(|i| format!("0,{},4096,w,{}\n", i * 8, i * gap)).collect() };
    for (gap, what) in [
        (0, "all 30 requests arrive at once"),
        (7_300, "2.0 hours pass between requests on average, which is implausible"),
        (20_000_000, "it lasts 18 years, which is implausible"),
    ] {
        for run in [
            "compare TRACE --layers conventional,in-place --untimed",
            "trace stat TRACE",
            "trace convert TRACE TRACE.csv",
        ] {
            let said = said_of(&every(gap), run);
            assert_eq!(said.matches(what).count(), 1, "{run}: {said}");
            assert!(said.contains("--queue-depth 1"), "{said}");
            assert_eq!(said.lines().count(), 1 + usize::from(run.starts_with("trace convert")), "{said}");
        }
    }
    let fast: String = (0..30).map(|i| format!("0,{},4096,w,0.0000000{i:02}\n", i * 8)).collect();
    assert!(said_of(&fast, "trace stat TRACE").contains("1000 million requests arrive a second"));
    assert_eq!(said_of(&every(1), "trace stat TRACE"), "");
}

#[test]
fn what_was_decided_about_a_trace_is_noted() {
    let nanoseconds: String = (0..30).map(|i| format!("{} 0 {} 8 {}\n", i * 20_000, i * 8, i % 2)).collect();
    let said = said_of(&nanoseconds, "compare TRACE --layers conventional --untimed");
    assert!(said.contains("with times in nanoseconds") && said.contains("--trace-format disksim"), "{said}");
    assert_eq!(said_of(&nanoseconds, "trace stat TRACE --trace-format mqsim"), "");
    let said = said_of(&nanoseconds, "trace stat TRACE --trace-format disksim");
    assert!(said.contains("its times look like nanoseconds") && said.contains("--trace-format ssdsim"), "{said}");
    let issued = "8,16 5 2 0.1 1 D W 24 + 8 [java]\n";
    assert!(said_of(issued, "trace stat TRACE").contains("those issued to the drive (D) are taken; --event chooses"));
}
