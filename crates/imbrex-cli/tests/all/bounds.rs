//! What `imbrex bound` prints is what its page shows, and what it cannot bound it refuses.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::imbrex;

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bounds.md")).unwrap();
    let opening = format!("```{language}\n");
    let begun = page.split(&opening).skip(1);
    begun.map(|behind| behind.split_once("\n```").unwrap().0.to_owned()).collect()
}

#[test]
fn the_page_shows_what_its_commands_print() {
    let (mut commands, shown) = (blocks("sh"), blocks("text"));
    // What it prints for a comparison is looked at below.
    commands.retain(|command| command.starts_with("imbrex bound"));
    assert!(shown.len() == 2 && commands.len() == shown.len());
    for (command, shown) in commands.iter().zip(shown) {
        let output = imbrex(command.strip_prefix("imbrex ").unwrap());
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.trim_end(), shown, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn rows_are_the_bound_the_schedules_and_the_layers() {
    let output = imbrex("bound zipf --requests 3000 --buffer 100KiB --drive small-banded --beyond wrap --format json");
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let of = |counted: &str| rows.iter().filter(|row| row["counted"] == counted).cloned().collect::<Vec<_>>();
    for counted in ["band_rewrites", "missed_blocks"] {
        let rows = of(counted);
        assert!(rows.len() > 2 && rows[0]["is"] == "bound" && rows[1]["is"] == "schedule", "{rows:?}");
    }
    let missed = of("missed_blocks");
    let [least, best] = [0, 2].map(|at| missed[at]["count"].as_u64().unwrap());
    assert!(least > 0 && least <= best, "{missed:?}");
    assert_eq!(missed[2]["of_bound"].as_f64(), Some(best as f64 / least as f64));
    assert!(rows.iter().all(|row| row["schema"] == "imbrex.bound/1" && row["synthetic"] == true));
}

#[test]
fn what_has_no_bound_is_one_clear_line() {
    for (arguments, said) in [
        ("", "error: bounds are of a workload; name a trace file or one of `imbrex list workloads`"),
        (
            "zipf --layers zone-alloy",
            "error: nothing bounds the layer zone-alloy; there are bounds for in-place, fifo-log",
        ),
        ("zipf --drive floppy", "error: no drive is called floppy"),
        ("zipf --buffer 1B", "error: --buffer: 1B is less than a block"),
        ("zipf --drive tiny-zoned --buffer 1blocks --requests 100", "error: zipf on in-place: request 1 "),
        ("zipf --warm-up 10", "error: --warm-up: bounds hold for all requests of a workload; leave it out"),
    ] {
        let output = imbrex(&format!("bound {arguments}"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments}");
        assert!(error.starts_with(said) && error.lines().count() == 1, "{arguments}: {error}");
    }
}

/// A comparison has the rows that `imbrex bound` has, in its table, as JSON and on its page.
#[test]
fn a_comparison_says_what_is_possible() {
    let home = tempfile::tempdir().unwrap();
    let page = home.path().join("page.html");
    let asked = "zipf --requests 3000 --buffer 100KiB --drive small-zoned --beyond wrap --layers fifo-log,zone-ages";
    let compare = format!("compare {asked} --queue-depth 1 --bound");
    let output = imbrex(&format!("{compare} --format json --html {}", page.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let (runs, bounds) = rows.split_at(2);
    assert!(runs.iter().all(|row| row["schema"] == "imbrex.run/3"));
    let alone: Vec<Value> = serde_json::from_slice(&imbrex(&format!("bound {asked} --format json")).stdout).unwrap();
    assert_eq!(bounds, alone);
    let least = bounds[0]["count"].as_u64().unwrap();
    assert!(least > 10 && bounds[0]["is"] == "bound" && bounds[1]["is"] == "schedule", "{bounds:?}");
    // What a page holds is packed: it is longer with these rows.
    let length = || fs::read(&page).unwrap().len();
    let with = length();
    assert!(imbrex(&format!("{} --html {}", compare.replace(" --bound", ""), page.display())).status.success());
    assert!(with > length() + 100, "{with} bytes with bounds, {} without", length());
    let table = String::from_utf8(imbrex(&compare).stdout).unwrap();
    let line = |name: &str| table.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let said = imbrex_terminal::table::count(least);
    assert_eq!(cells(&line("no layer can beat"))[4..], ["-", "-", "-", "-", "-", "-", &said, "-"], "{table}");
    assert!(line("offline").contains(&imbrex_terminal::table::count(bounds[1]["count"].as_u64().unwrap())), "{table}");
    let logs = "compare zipf --requests 3000 --drive small-zoned --beyond wrap --layers log-greedy --queue-depth 1";
    let table = String::from_utf8(imbrex(&format!("{logs} --bound")).stdout).unwrap();
    assert!(table.contains("moved") && table.contains("offline, 6 open"), "{table}");
    for (arguments, said) in [
        ("zipf", "error: --queue-depth: bounds hold for requests that are served one at a time; choose 1"),
        ("zipf --queue-depth 1 --prefill 0.5", "error: --prefill, --trimmed: bounds hold for a disk that is full"),
        (
            "zipf --queue-depth 1 --layers conventional",
            "error: --bound: nothing bounds these layers; `imbrex bound` says",
        ),
    ] {
        let error = String::from_utf8(imbrex(&format!("compare {arguments} --bound")).stderr).unwrap();
        assert!(error.starts_with(said) && error.lines().count() == 1, "{arguments}: {error}");
    }
}
