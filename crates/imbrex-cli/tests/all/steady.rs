//! Workloads that are repeated, and layers that are measured when they are steady.

use serde_json::{Map, Value};

use crate::program::imbrex;

fn json(arguments: &str) -> Vec<Value> {
    let output = imbrex(&format!("{arguments} --format json"));
    assert!(output.status.success(), "imbrex {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What was measured: what is said of how long it took on the wall's clock is not.
fn measured(row: &Value) -> Map<String, Value> {
    let mut fields = row.as_object().unwrap().clone();
    ["replay_seconds", "blocks_per_second", "steady", "repeat", "notes"]
        .iter()
        .for_each(|key| drop(fields.remove(*key)));
    fields
}

#[test]
fn a_repeated_workload_is_the_same_requests_later() {
    let [once, twice] =
        ["", " --repeat 2"].map(|more| json(&format!("replay hm_0 --layer conventional --requests 500{more}")));
    let (once, twice) = (&once[0], &twice[0]);
    assert_eq!((&once["repeat"], &twice["repeat"]), (&Value::Null, &Value::from(2)));
    for field in ["requests", "host_write_blocks", "host_read_bytes"] {
        assert_eq!(twice[field].as_u64(), once[field].as_u64().map(|one| 2 * one), "{field}");
    }
    let arrivals = |row: &Value| row["arrival_seconds"].as_f64().unwrap();
    let gap = arrivals(once) / 499.0;
    assert!((arrivals(twice) - 2.0 * arrivals(once) - gap).abs() < 1e-6, "{} and {}", arrivals(once), arrivals(twice));
}

/// Whoever does not believe it can have the same figures without it.
#[test]
fn a_steady_layer_is_one_that_has_served_as_much_before() {
    let volume = "replay hm_0 --layer block-lru --buffer 64blocks --requests 2000";
    let row = &json(&format!("{volume} --steady"))[0];
    let steady = &row["steady"];
    assert_eq!((&steady["is_steady"], &steady["measure"]), (&true.into(), &"rewrites".into()), "{steady}");
    assert_eq!(
        row["repeat"].as_u64(),
        steady["rounds"].as_u64().map(|rounds| rounds * steady["round_passes"].as_u64().unwrap())
    );
    let warm_up = &row["options"]["warm_up"]["requests"];
    let same = &json(&format!("{volume} --repeat {} --warm-up {warm_up}", row["repeat"]))[0];
    assert_eq!(measured(row), measured(same));
    let values: Vec<f64> = steady["values"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    let whole = row["rmw"].as_f64().unwrap() / row["host_write_blocks"].as_f64().unwrap();
    assert!((values.iter().sum::<f64>() / 5.0 - whole).abs() < 1e-9, "{values:?} are {whole} together");
    // A workload that is specified goes on and does not begin again.
    let zipf = "replay uniform --layer log-greedy --drive small-zoned --beyond wrap --untimed";
    let row = &json(&format!("{zipf} --requests 20k --steady"))[0];
    assert_eq!((&row["steady"]["is_steady"], &row["repeat"]), (&true.into(), &Value::Null));
    let warm_up = &row["options"]["warm_up"]["requests"];
    let same = &json(&format!("{zipf} --requests {} --warm-up {warm_up}", row["steady"]["requests"]))[0];
    assert_eq!(measured(row), measured(same));
    assert!(row["write_amplification"].as_f64().unwrap() > 1.5, "it has cleaned");
}

#[test]
fn every_layer_becomes_steady_by_itself_and_says_when() {
    let run =
        "compare uniform --layers conventional,log-greedy,log-fifo --drive small-zoned --beyond wrap --requests 20k";
    let shown = String::from_utf8(imbrex(&format!("{run} --untimed --steady")).stdout).unwrap();
    assert!(shown.contains("when layers are steady"), "{shown}");
    let rows = json(&format!("{run} --untimed --steady"));
    for row in &rows {
        let rounds = row["steady"]["rounds"].to_string();
        let line = shown.lines().find(|line| line.trim().starts_with(row["layer"].as_str().unwrap())).unwrap();
        assert!(line.ends_with(&format!(" {rounds}")), "{line}: {rounds}");
    }
    let [plain, other] = [&rows[0]["steady"], &rows[1]["steady"]];
    assert_eq!((&plain["rounds"], plain["range"].as_f64()), (&5.into(), Some(0.0)));
    assert!(other["rounds"].as_u64() > Some(5) && rows.iter().all(|row| row["steady"]["is_steady"] == true), "{other}");
}

#[test]
fn a_layer_that_does_not_become_steady_is_said_to() {
    let log = "replay hm_0 --layer log-greedy --requests 500 --untimed --steady";
    let shown = String::from_utf8(imbrex(log).stdout).unwrap().replace('\n', " ");
    assert!(shown.contains("log-greedy did not become steady: after 5 rounds with "), "{shown}");
    assert!(shown.contains("its room was not full yet"), "{shown}");
    let row = &json(log)[0];
    assert_eq!((&row["steady"]["is_steady"], &row["notes"].as_array().map(Vec::len)), (&false.into(), &Some(2)));
}

#[test]
fn what_steady_does_not_go_with_is_refused_by_name() {
    for (arguments, named) in [
        ("compare hm_0 --steady --warm-up 10", ["--steady", "--warm-up"]),
        ("compare hm_0 --steady --repeat 10", ["--steady", "--repeat"]),
        ("replay hm_0 --layer zone-alloy --steady --extend 1GiB@10%", ["--steady", "--extend"]),
        ("compare hm_0 --steady-rounds 9", ["--steady", "required"]),
        ("bound hm_0 --steady", ["--steady", "leave it out"]),
    ] {
        let output = imbrex(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && named.iter().all(|name| said.contains(name)), "{arguments}: {said}");
    }
}
