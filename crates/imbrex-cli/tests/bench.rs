//! `imbrex bench` runs and says what it measured.

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
}

#[test]
fn layers_are_measured_on_drives_of_their_kind() {
    let set = "page-ftl.over_provisioning=0.2";
    let args = ["bench", "--layer", "conventional,page-ftl,lru-cache", "--set", set, "--quick", "--format", "json"];
    let output = Command::cargo_bin("imbrex").unwrap().args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let named = |key: &str| rows.as_array().unwrap().iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(named("layer"), ["conventional", "page-ftl", "lru-cache", "conventional", "page-ftl", "lru-cache"]);
    assert_eq!(named("footprint_gib"), [256, 256, 256, 10, 10, 10]);
    assert_eq!(rows[1]["config"], serde_json::json!({ "over_provisioning": 0.2 }));
    assert_eq!(rows[2]["config"], serde_json::json!({}));
    for row in rows.as_array().unwrap() {
        for rates in ["host_blocks_per_second", "media_blocks_per_second"] {
            assert!(row[rates].as_array().unwrap().iter().all(|rate| rate.as_f64().unwrap() > 0.0), "{row}");
        }
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
