//! `imbrex bench` runs and says what it measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

#[test]
fn a_quick_run_reports_every_kind_of_row() {
    let output = Command::cargo_bin("imbrex").unwrap().args(["bench", "--quick", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = all["rows"].as_array().unwrap();
    let layers = [
        "conventional",
        "fifo-log",
        "loop-back",
        "block-lru",
        "hashed-zones",
        "zone-ages",
        "log-greedy",
        "skylight",
        "seagate",
        "tracklace",
    ];
    let logs = ["log-greedy untimed", "cold-weight untimed", "log-cost-benefit untimed", "straight line log"];
    let stacks = ["lru-cache stacked", "pore stacked"];
    let others = ["bare lookups", "straight line", "decoding", "decoding Parquet", "generator", "peak memory"];
    for kind in layers.iter().chain(&logs).chain(&stacks).chain(&others) {
        let row = rows.iter().find(|row| row["name"].as_str().is_some_and(|name| name.starts_with(kind)));
        assert!(row.is_some_and(|row| row["unit"].is_string()), "there is no row of {kind}");
    }
    for row in rows.iter().filter(|row| row["unit"] == "blocks/s") {
        let (rate, ns) = (row["value"].as_f64().unwrap(), row["ns_per_block"].as_f64().unwrap());
        assert!((rate * ns / 1e9 - 1.0).abs() < 1e-9, "{row}");
    }
}

/// What stands in for DiskSim, whose program is not to be had here: it takes the same arguments, looks for the same
/// files, needs time in proportion to the trace, and says what DiskSim says at its end. `line` goes before all that.
#[cfg(unix)]
fn disksim(folder: &Path, line: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("disksim");
    let script = format!(
        "#!/bin/sh\n{line}\n[ $# = 5 ] && [ $3 = ascii ] && [ $5 = 0 ] || {{ echo 'Usage: disksim' >&2; exit 1; }}\n\
         grep -q 'topology disksim_iodriver' $1 && grep -q '^Response time$' statdefs || exit 2\n\
         for file in $(sed -n 's/.*source \\([a-z.]*\\).*/\\1/p' $1); do [ -s $file ] || exit 3; done\n\
         awk 'NF != 5 || $4 != 8 {{ exit 4 }} {{ for (i = 0; i < 100; i++) s += i }}\n\
         END {{ print \"Simulation complete\\nOverall I/O System Total Requests handled:\\t\" NR }}' $4 > $2\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn bench(args: &[&str]) -> Output {
    Command::cargo_bin("imbrex").unwrap().arg("bench").args(args).output().unwrap()
}

fn rows(output: &Output) -> Vec<serde_json::Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[cfg(unix)]
fn layers_are_measured_on_drives_of_their_kind_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let disksim = disksim(folder.path(), "");
    let set = "page-ftl.over_provisioning=0.05";
    let first =
        bench(&["--layer", "conventional,page-ftl,lru-cache,zone-alloy", "--set", set, "--quick", "--format", "json"]);
    let before = rows(&first);
    let named = |key: &str| before.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    let (all, cleaning) =
        (["conventional", "zone-alloy", "page-ftl", "lru-cache"], ["zone-alloy", "page-ftl", "lru-cache"]);
    assert_eq!(named("layer"), [&all[..], &cleaning].concat());
    assert_eq!(named("load"), [["fits"; 4].as_slice(), &["cleans"; 3]].concat());
    assert_eq!(before[0]["to_conventional"], 1.0, "it is its own measure");
    let rate = |row: &serde_json::Value| row["host_blocks_per_second"].as_f64().unwrap();
    let over = |row: &serde_json::Value, key: &str| row[key].as_f64().unwrap() / rate(row);
    let alike = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    assert!(before[..4].iter().all(|row| alike(over(row, "to_conventional"), 1.0 / rate(&before[0]))), "{before:?}");
    assert_eq!(named("footprint_gib"), [[256; 4].as_slice(), &[10; 3]].concat());
    assert_eq!(before[1]["config"], serde_json::json!({ "converted": 1.0 }));
    assert_eq!(before[2]["config"], serde_json::json!({ "over_provisioning": 0.05 }));
    assert_eq!(before[3]["config"], serde_json::json!({}));
    for row in &before {
        let number = |field: &str| row[field].as_f64().unwrap();
        assert!(alike(rate(row) * number("ns_per_block"), 1e9), "{row}");
        // What was read comes on top of what was written.
        let written = number("written_per_host_block");
        assert!(number("media_blocks_per_second") / rate(row) > written - 1e-9, "{row}");
        assert!(row.get("to_disksim").is_none() && row.get("to_earlier").is_none(), "{row}");
    }
    let written = |row: usize| before[row]["written_per_host_block"].as_f64().unwrap();
    assert!((0..3).all(|row| written(row) == 1.0), "there is room: {before:?}");
    assert!((4..7).all(|row| written(row) > 1.0), "room had to be made: {before:?}");

    let earlier = folder.path().join("earlier.json");
    fs::write(&earlier, &first.stdout).unwrap();
    let (disksim, earlier) = (disksim.to_str().unwrap(), earlier.to_str().unwrap());
    let args = ["--layer", "conventional,fifo-log", "--quick", "--disksim", disksim, "--against", earlier];
    let beside = bench(&[&args[..], &["--format", "json"]].concat());
    let now = rows(&beside);
    assert!(now.iter().all(|row| alike(over(row, "to_disksim"), over(&now[0], "to_disksim"))), "{now:?}");
    assert!(alike(over(&now[0], "to_earlier"), 1.0 / rate(&before[0])), "{now:?}");
    assert!(now[1].get("to_earlier").is_none(), "{now:?}");
    let said = String::from_utf8_lossy(&beside.stderr);
    assert!(said.contains("Not in") && said.contains("fifo-log, fits; fifo-log, cleans."), "{said}");
    assert!(said.contains("Only in") && said.contains("page-ftl over_provisioning=0.05, fits"), "{said}");
}

#[test]
#[cfg(unix)]
fn what_disksim_does_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let fault = |program: &str| {
        let output = bench(&["--layer", "conventional", "--quick", "--disksim", program]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let missing = fault("/nowhere/disksim");
    assert!(missing.contains("--disksim /nowhere/disksim: No such file"), "{missing}");
    let wrong = [
        ("echo 'no device' >&2; exit 7", "it ended with exit status: 7: no device"),
        ("exit 0", "it wrote no output"),
        ("echo nothing > $2; exit 0", "its output: does not say 'Simulation complete'"),
        ("tail -n 5 $4 > short; set -- $1 $2 $3 short $5", "its output: says that it served '5' requests of 16384"),
    ];
    for (line, says) in wrong {
        let program = disksim(folder.path(), line);
        let said = fault(program.to_str().unwrap());
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn what_is_no_earlier_run_is_said_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.json");
    fs::write(&file, r#"[{"schema":"imbrex.run/1"}]"#).unwrap();
    for args in [&["--layer", "conventional"][..], &[]] {
        let output = bench(&[args, &["--quick", "--against", file.to_str().unwrap()]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("it holds imbrex.run/1"), "{said}");
    }
}

#[test]
fn an_unknown_layer_is_named() {
    let output = Command::cargo_bin("imbrex").unwrap().args(["bench", "--layer", "nothing"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no layer 'nothing'"));
    let args = ["bench", "--layer", "conventional", "--set", "fifo-log.spare_zones=2"];
    let output = Command::cargo_bin("imbrex").unwrap().args(args).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("layer fifo-log takes no part"));
}
