//! What `imbrex advise` recommends is the cheapest that is enough, its commands repeat its numbers, and what makes no
//! sense is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::imbrex;

fn rows(arguments: &str) -> Vec<Value> {
    let output = imbrex(&format!("advise {arguments} --format json"));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn of<'r>(rows: &'r [Value], is: &str) -> Vec<&'r Value> {
    rows.iter().filter(|row| row["is"] == is).collect()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap()
}

#[test]
fn the_page_shows_what_its_command_prints() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/advice.md")).unwrap();
    let block = |opening: &str| page.split_once(opening).unwrap().1.split_once("\n```").unwrap().0.to_owned();
    let output = imbrex(block("```sh\n").strip_prefix("imbrex ").unwrap());
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.trim_end(), block("```text\n"), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_cheapest_that_is_enough_is_recommended() {
    let rows = rows("zipf --requests 2000 --trials 2 --budget flash=64MiB");
    assert!(rows.iter().all(|row| row["schema"] == "imbrex.advice/1" && row["synthetic"] == true));
    let taken = of(&rows, "recommended")[0];
    let next = of(&rows, "runner_up")[0];
    assert!(taken["is_enough"] == true && taken["is_sold"] == true && next["kind"] != taken["kind"]);
    let enough = |row: &&Value| row["is_enough"] == true && row["is_sold"] == true && row["is"] != "faster";
    let least = rows.iter().filter(enough).map(|row| number(row, "cost")).fold(f64::INFINITY, f64::min);
    assert!(number(taken, "cost") <= 1.02 * least, "{taken}");
    let faster = |row: &&Value| enough(row) && number(row, "cost") <= 1.02 * least;
    for row in rows.iter().filter(faster) {
        assert!(
            number(taken, "times_conventional") <= number(row, "times_conventional"),
            "{row} is faster than {taken}"
        );
    }
    // A kind of disk has one best layer, and nothing has more flash than may be bought.
    let kinds =
        rows.iter().filter(|row| ["recommended", "runner_up", "best_of_kind"].iter().any(|is| row["is"] == *is));
    assert!(kinds.count() >= 7, "{rows:?}");
    let cached = rows.iter().filter(|row| row["kind"] == "flash cache");
    assert!(cached.map(|row| number(row, "buffer_bytes")).fold(0.0, f64::max) <= f64::from(64 << 20));
    // Both leading disks are looked at under twice the load.
    let hastened = of(&rows, "faster");
    assert_eq!(hastened.iter().map(|row| &row["kind"]).collect::<Vec<_>>(), [&taken["kind"], &next["kind"]]);
    assert!(hastened.iter().all(|row| row["speed"] == 2 && row["command"].is_null()));
}

/// What may be bought is not what has to be bought.
#[test]
fn a_budget_is_the_most_that_is_bought() {
    let flash = |budget: &str| {
        let rows = rows(&format!("zipf --requests 500 --trials 1 --disk st8000as0002 {budget}"));
        let own = rows.iter().filter(|row| row["kind"] == "flash cache" && row["is"] != "faster");
        let mut sizes: Vec<_> = own.map(|row| row["buffer_bytes"].as_u64().unwrap()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let (all, most) = (flash(""), 100 << 20);
    let some = flash("--budget flash=100MiB");
    let within: Vec<_> = all.iter().copied().filter(|size| *size < most).chain([most]).collect();
    assert!(all.last() > Some(&most) && within.len() > 2, "{all:?}");
    assert_eq!(some, within);
    // More than anybody would try changes nothing.
    assert_eq!(flash("--budget flash=1TiB"), all);
}

/// Flash has no tracks that could overlap.
#[test]
fn flash_is_held_against_a_disk() {
    let rows = rows("zipf --requests 500 --trials 1 --disk ssd-sata");
    let taken = of(&rows, "recommended")[0];
    assert!(taken["kind"] == "flash" && number(taken, "times_conventional") < 0.5, "{taken}");
    assert!(rows.iter().all(|row| row["kind"] == "flash"));
    let said = String::from_utf8(imbrex("advise zipf --requests 500 --trials 1 --disk ssd-sata").stdout).unwrap();
    assert!(said.contains("Take a flash drive with page-ftl"), "{said}");
}

/// A page shows each conventional disk once, however many kinds of disk are held against it.
#[test]
fn a_page_shows_a_conventional_disk_once() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("advice.html");
    let (path, drives) = (page.display(), "--disk exos-x18z --disk st8000as0002");
    let output = imbrex(&format!("advise zipf --requests 200 --trials 1 {drives} --html {path}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("<tr><td>zipf (synthetic)<td>conventional<td>").count(), 2);
}

#[test]
fn commands_repeat_what_is_said() {
    let rows = rows("hm_0 --requests 2000 --trials 3 --disk st8000as0002");
    for row in of(&rows, "recommended").into_iter().chain(of(&rows, "varied").into_iter().take(1)) {
        let command = row["command"].as_str().unwrap().strip_prefix("imbrex ").unwrap();
        let run: Vec<Value> = serde_json::from_slice(&imbrex(&format!("{command} --format json")).stdout).unwrap();
        assert_eq!(run[0]["latency_ms"]["mean"], row["mean_ms"], "{command}");
        assert_eq!(run[0]["config"], row["config"], "{command}");
    }
}

/// The settings that are best with the usual amount of flash are not with the tenth of it that is recommended.
#[test]
fn settings_are_looked_for_at_the_size_that_is_recommended() {
    let rows = rows("proj_0 --requests 5000 --trials 2 --disk st8000as0002");
    let (taken, kind) = (of(&rows, "recommended")[0], "flash cache");
    let usual = of(&rows, "best_of_kind").into_iter().find(|row| row["kind"] == kind).unwrap();
    assert!(taken["kind"] == kind && taken["buffer_bytes"] != usual["buffer_bytes"], "{taken}");
    assert_ne!((&taken["layer"], &taken["config"]), (&usual["layer"], &usual["config"]));
    // Each size is there once, with the best that was found for it.
    let same =
        |row: &&Value| row["kind"] == kind && row["buffer_bytes"] == taken["buffer_bytes"] && row["is"] != "faster";
    assert_eq!(rows.iter().filter(same).count(), 1);
}

/// Twice as fast is what a trace with half the times is.
#[test]
fn requests_that_come_faster_are_those_of_a_faster_trace() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, apart: u64| {
        let line = |at: u64| format!("{},h,0,Write,{},4096,0\n", at * apart, at * 7919 % 3000 * 40_960);
        let path = folder.path().join(name);
        fs::write(&path, (0..400).map(line).collect::<String>()).unwrap();
        path.display().to_string()
    };
    let (slow, fast) = (written("slow.csv", 200_000), written("fast.csv", 100_000));
    let rows = rows(&format!("{slow} --trials 1 --trace-format msr --disk st8000as0002"));
    let command = of(&rows, "recommended")[0]["command"].as_str().unwrap().replace(&slow, &fast);
    let command = command.strip_prefix("imbrex ").unwrap();
    let run: Vec<Value> = serde_json::from_slice(&imbrex(&format!("{command} --format json")).stdout).unwrap();
    let hastened = of(&rows, "faster")[0];
    assert_eq!(run[0]["latency_ms"]["mean"], hastened["mean_ms"], "{command}");
    assert_ne!(hastened["mean_ms"], of(&rows, "recommended")[0]["mean_ms"]);
}

#[test]
fn a_demand_that_nothing_keeps_is_said_to_be_too_much() {
    let output = imbrex("advise uniform --requests 1000 --trials 1 --keep-mean 1ms --disk exos-x18z");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Nothing here keeps the mean below 1 ms."), "{said}");
    let rows = rows("uniform --requests 1000 --trials 1 --keep-mean 1ms --disk exos-x18z");
    assert!(rows.iter().all(|row| row["is_enough"] == false));
}

/// A disk for several loads is enough for each of them.
#[test]
fn a_folder_of_traces_is_one_disk_for_all() {
    let folder = tempfile::tempdir().unwrap();
    for (name, address) in [("one.csv", 0), ("two.csv", 4096)] {
        let lines = (0..50).map(|at| format!("{},h,0,Write,{},4096,0\n", at * 100_000, address + at % 7 * 8192));
        fs::write(folder.path().join(name), lines.collect::<String>()).unwrap();
    }
    let folder = folder.path().display().to_string();
    let rows = rows(&format!("{folder} --trials 1 --trace-format msr --disk imr-tracklace"));
    let taken = of(&rows, "recommended");
    assert_eq!(taken.len(), 2, "{rows:?}");
    assert!(taken[0]["trace"] != taken[1]["trace"] && taken[0]["times_conventional"] == taken[1]["times_conventional"]);
}

#[test]
fn what_makes_no_sense_is_one_clear_line() {
    let empty = tempfile::tempdir().unwrap();
    let folder = empty.path().display().to_string();
    for (arguments, said) in [
        ("", "the following required arguments were not provided"),
        ("nothing", "nothing"),
        (folder.as_str(), "there is no file in this folder"),
        ("zipf --disk floppy", "error: no drive is called floppy"),
        ("zipf --price gold=1", "known are conventional, shingled, interlaced, hybrid, flash, memory"),
        ("zipf --price flash", "write it as GOODS=RATIO, such as flash=5"),
        ("zipf --budget shingled=1TB", "write it as flash=SIZE, conventional=SIZE or memory=SIZE"),
        ("zipf --keep-mean fast", "write a time such as 50ms or 2s"),
        ("zipf --disk exos-x18z --budget conventional=1KiB", "--budget conventional=1024B: that is less than a block"),
    ] {
        let output = imbrex(&format!("advise {arguments}"));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(said), "{arguments}: {error}");
    }
}
