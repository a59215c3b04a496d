//! `imbrex bench` runs and says what it measured.

use assert_cmd::Command;

#[test]
fn a_quick_run_reports_every_kind_of_row() {
    let output = Command::cargo_bin("imbrex").unwrap().args(["bench", "--quick", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = all["rows"].as_array().unwrap();
    let layers =
        ["conventional", "fifo-log", "loop-back", "block-lru", "skylight-zones", "log-greedy", "skylight", "seagate"];
    let others = ["bare lookups", "straight line", "decoding", "decoding Parquet", "generator", "peak memory"];
    for kind in layers.iter().chain(&others) {
        let row = rows.iter().find(|row| row["name"].as_str().is_some_and(|name| name.starts_with(kind)));
        assert!(row.is_some_and(|row| row["unit"].is_string()), "there is no row of {kind}");
    }
}
