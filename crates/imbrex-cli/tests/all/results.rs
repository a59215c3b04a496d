//! What the commands print.

use std::fs;
use std::process::{Command, Stdio};

use crate::program::imbrex;
use serde_json::{Value, json};

/// Its standard output, when it must succeed.
fn printed(arguments: &str) -> String {
    let output = imbrex(arguments);
    assert!(output.status.success(), "imbrex {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Its standard output as JSON.
fn json(arguments: &str) -> Value {
    serde_json::from_str(&printed(&format!("{arguments} --format json"))).unwrap()
}

/// A small comparison in which the log fills up and is cleaned.
const SMALL: &str = "compare uniform zipf --drive small-zoned --beyond wrap --buffer 1MiB --requests 2000";

/// A row of CSV or JSON without the fields that tell the wall-clock time.
fn masked(text: &str) -> Vec<String> {
    let timed = |line: &&str| !line.contains("replay_seconds") && !line.contains("blocks_per_second");
    text.lines().filter(timed).map(str::to_owned).collect()
}

#[test]
fn without_arguments_each_kind_of_disk_is_shown_at_its_worst_and_at_its_best() {
    let table = printed("compare --requests 3000");
    assert!(table.starts_with("hm_0 (synthetic) is modelled on"), "{table}");
    for (role, times) in [("\n  conventional ", 3), ("naive: ", 4), ("best: ", 4), ("cannot keep up: ", 1)] {
        assert_eq!(table.matches(role).count(), times, "{role}: {table}");
    }
    assert!(table.replace('\n', " ").contains("times as long as on a conventional disk, or cannot keep up"), "{table}");
    let json = json("compare --requests 3000");
    assert_eq!(json.as_array().unwrap().len(), 11);
    let mut next = table.lines().rev().map(|line| line.split_once("imbrex ").unwrap().1);
    assert!(printed(next.next().unwrap()).starts_with("zone-ages (shingled): "));
    assert!(printed(&format!("{} --requests 300", next.next().unwrap())).contains("amphisbaena"));
}

#[test]
fn what_is_said_of_the_disk_is_compared_on_the_same_workload() {
    for options in ["--layers conventional,fifo-log", "--capacity 64GiB", "--buffer 2%"] {
        let runs = json(&format!("compare {options} --requests 300"));
        let is_own = |run: &Value| run["trace"] == "hm_0" && run["layer"] != "dm-zoned";
        assert!(runs.as_array().unwrap().iter().all(is_own), "{options}");
    }
}

#[test]
fn a_layer_that_cannot_keep_up_is_said_to_instead_of_its_latency() {
    let run = "compare --layers conventional,in-place --requests 2000";
    let runs = json(run);
    let behind = |run: &Value| {
        let [simulated, arrival] = ["simulated_seconds", "arrival_seconds"].map(|name| run[name].as_f64().unwrap());
        (simulated > 1.1 * arrival && simulated > arrival + 10.0).then(|| simulated / arrival)
    };
    assert_eq!(behind(&runs[0]), None);
    let said = format!("cannot keep up: {:.1} × the time", behind(&runs[1]).unwrap());
    let table = printed(run);
    let line = table.lines().find(|line| line.trim_start().starts_with("in-place")).unwrap();
    assert!(line.contains(&said), "{said}: {table}");
    assert_eq!(table.matches("cannot keep up: ").count(), 1, "{table}");
    // Whoever waits for an answer before the next request is never late.
    let closed = format!("{run} --queue-depth 4");
    assert!(json(&closed)[1]["arrival_seconds"].is_null());
    assert!(!printed(&closed).contains("cannot keep up: "));
}

#[test]
fn families_are_spelt_as_they_are_asked_for() {
    let layers = json("list layers");
    for family in ["shingled", "banded", "interlaced", "ssd", "all"] {
        let compared = json(&format!("compare --family {family} --requests 20"));
        let own: Vec<_> = layers.as_array().unwrap().iter().filter(|layer| layer["family"] == family).collect();
        assert!(!own.is_empty(), "{family}");
        for layer in own {
            let is_compared = compared.as_array().unwrap().iter().any(|run| run["layer"] == layer["name"]);
            assert!(is_compared, "{} is not in {family}", layer["name"]);
        }
    }
}

#[test]
fn on_the_default_workload_the_log_is_cleaned() {
    let runs = json("compare default --layers fifo-log");
    assert!(runs[0]["rmw"].as_u64().unwrap() > 100, "{}", runs[0]["rmw"]);
    assert!(runs[0]["write_hit_ratio"].as_f64().unwrap() > 0.05);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for format in ["table", "json"] {
        let one = printed(&format!("{SMALL} --format {format} --jobs 1"));
        let two = printed(&format!("{SMALL} --format {format} --jobs 2"));
        assert_eq!(masked(&one), masked(&two));
    }
    assert_eq!(printed("explore fifo-log --cuts 60 --jobs 1"), printed("explore fifo-log --cuts 60 --jobs 2"));
    let [one, two] = [1, 2].map(|jobs| imbrex(&format!("explore fifo-log --cuts 500 --without 3 --jobs {jobs}")));
    assert_eq!(one, two);
}

#[test]
fn a_run_has_every_field_of_its_schema() {
    let runs = json(SMALL);
    assert_eq!(runs.as_array().unwrap().len(), 6);
    for run in runs.as_array().unwrap() {
        assert_eq!(run["schema"], "imbrex.run/3");
        assert_eq!(run["synthetic"], true);
        assert_eq!(run["requests"], 2000);
        let numbers = "/seed /range_bytes /irregularities/out_of_order /irregularities/zero_size \
                       /irregularities/without_data /irregularities/reordered \
                       /irregularities/other_volumes /irregularities/unwritten /drive_blocks /block_bytes /capacity_blocks /buffer_blocks \
                       /options/prefill /options/trimmed /host_write_blocks /media_write_blocks/host /media_write_blocks/destage \
                       /media_read_blocks/collect /write_amplification /latency_ms/mean /latency_ms/p50 \
                       /latency_ms/p95 /latency_ms/p99 /latency_ms/p999 /latency_ms/max /latency_ms/read/mean \
                       /latency_ms/write/max /write_hit_blocks /write_hit_ratio /zone_blocks \
                       /conventional_zones /rmw /rmw_free /padding_blocks /padding_again_blocks /replay_seconds \
                       /blocks_per_second";
        for field in numbers.split_whitespace() {
            assert!(run.pointer(field).is_some_and(Value::is_number), "{field} of {run}");
        }
    }
    assert!(runs[2]["rmw"].as_u64().unwrap() > 0, "the log of {} was never cleaned", runs[2]);
    assert_eq!((&runs[2]["layer"], &runs[2]["buffer"]), (&"fifo-log".into(), &"1MiB".into()));
}

#[test]
fn every_option_of_a_run_is_a_field_of_a_specification() {
    let schemas: Value = serde_json::from_str(&printed("list schema")).unwrap();
    let fields = schemas["specification"]["properties"].as_object().unwrap();
    // What is not about runs, what stands beside them, and the files in which they are shown.
    let others = [
        "help",
        "bound",
        "format",
        "output",
        "html",
        "pdf",
        "series",
        "bands",
        "bands-at",
        "watch-disk",
        "watch-disk-at",
        "layer",
        "set",
    ];
    for command in ["compare", "replay"] {
        let help = printed(&format!("{command} -h"));
        let options = help.lines().filter_map(|line| line.split_once("--")?.1.split(' ').next());
        for option in options.filter(|option| !others.contains(option)) {
            assert!(fields.contains_key(&option.replace('-', "_")), "{option} of {command}");
        }
    }
    let row = json("replay zipf --layer fifo-log --requests 100");
    let described = schemas["row"]["properties"].as_object().unwrap();
    assert!(row[0].as_object().unwrap().keys().all(|key| described.contains_key(key)));
}

#[test]
fn a_drive_and_a_buffer_are_given_in_numbers() {
    let shape = "--zone-size 2MiB --conventional-zones 10% --buffer 300blocks";
    let runs = json(&format!("compare uniform --beyond wrap --requests 500 --capacity 1GiB {shape}"));
    for run in runs.as_array().unwrap() {
        assert_eq!((&run["zone_blocks"], &run["conventional_zones"]), (&512.into(), &51.into()));
        assert_eq!(run["drive_blocks"], 1 << 18);
    }
    assert_eq!((&runs[2]["buffer"], &runs[2]["buffer_blocks"]), (&"300blocks".into(), &300.into()));
    let banded = json("compare uniform --beyond wrap --requests 50 --drive small-banded --layers skylight");
    assert_eq!((&banded[0]["zone_blocks"], &banded[0]["conventional_zones"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_warm_up_is_left_out() {
    // With one request at a time no read is let past a write.
    let runs = json(&format!("{SMALL} --warm-up 1500 --queue-depth 1"));
    for run in runs.as_array().unwrap() {
        assert_eq!((&run["requests"], &run["options"]["warm_up"]), (&500.into(), &json!({"requests": 1500})));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("series.json");
    let series = format!("--series {} --window 1000req", path.display());
    let report = printed(&format!(
        "replay uniform --requests 2000 --beyond wrap --drive small-zoned --layer fifo-log --buffer 1MiB \
                                   --warm-up 1s {series}"
    ));
    // It may be said over two lines.
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("without the first 1 s"), "{report}");
    let rows: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let requests = |warm_up: bool| -> u64 {
        let of_kind = rows.as_array().unwrap().iter().filter(|row| row["warm_up"] == warm_up);
        of_kind.map(|row| row["requests"].as_u64().unwrap()).sum()
    };
    assert!(requests(true) > 0 && requests(false) > 0 && requests(true) + requests(false) == 2000, "{rows}");
    assert!(rows.as_array().unwrap().iter().all(|row| row["write_amplification"].as_f64().unwrap() >= 1.0), "{rows}");
}

#[test]
fn every_field_of_a_run_is_documented() {
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    for schema in ["imbrex.run/3", "imbrex.series/2", "imbrex.check/1", "imbrex.exploration/1", "imbrex.trace-stat/1"] {
        assert!(documented.contains(schema), "{schema}");
    }
    let rows = [json("compare --layers fifo-log --requests 10"), json("trace stat zipf --requests 10")];
    for name in rows.iter().flat_map(|rows| rows[0].as_object().unwrap().keys()) {
        assert!(documented.contains(&format!("`{name}")), "{name} is not in docs/json.md");
    }
}

#[test]
fn csv_and_table_show_the_numbers_of_json() {
    let runs = json(SMALL);
    let csv = printed(&format!("{SMALL} --format csv"));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let table = printed(SMALL);
    for (run, record) in runs.as_array().unwrap().iter().zip(reader.records()) {
        let record = record.unwrap();
        for (name, cell) in names.iter().zip(&record) {
            let value = run.pointer(&format!("/{}", name.replace('.', "/"))).unwrap();
            match value {
                Value::Null => assert_eq!(cell, "", "{name}"),
                Value::String(text) => assert_eq!(cell, text, "{name}"),
                _ if name == "replay_seconds" || name == "blocks_per_second" => {}
                _ => assert_eq!(cell, value.to_string(), "{name}"),
            }
        }
        let (trace, layer) = (run["trace"].as_str().unwrap(), run["layer"].as_str().unwrap());
        let of_trace = table.lines().skip_while(|line| !line.starts_with(trace));
        let line = of_trace.skip(1).find(|line| line.trim_start().starts_with(layer)).unwrap();
        let rmw: String = line.split_whitespace().nth_back(1).unwrap().replace(',', "");
        assert_eq!(rmw, run["rmw"].to_string(), "{line}");
    }
}

#[test]
fn a_replay_reports_and_writes_its_series() {
    let dir = tempfile::tempdir().unwrap();
    let series = dir.path().join("series");
    let replay = "replay uniform --layer fifo-log --drive small-zoned --beyond wrap --buffer 1MiB --requests 1000";
    let with = |suffix: &str, window: &str| {
        let path = series.with_extension(suffix);
        let report = printed(&format!("{replay} --verify --series {} --window {window}", path.display()));
        assert!(report.contains("uniform (synthetic) on fifo-log") && report.contains("zones rewritten"), "{report}");
        fs::read_to_string(path).unwrap()
    };
    let csv = with("csv", "100req");
    assert_eq!(csv.lines().count(), 11, "{csv}");
    assert!(csv.starts_with("schema,trace,synthetic,layer,start_s,end_s,requests,"), "{csv}");
    let rows: Value = serde_json::from_str(&with("json", "10s")).unwrap();
    let sum: u64 = rows.as_array().unwrap().iter().map(|row| row["requests"].as_u64().unwrap()).sum();
    assert_eq!((sum, &rows[0]["schema"]), (1000, &"imbrex.series/2".into()));
    assert_eq!(json(replay)[0]["schema"], "imbrex.run/3");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "a temporary file is left");
}

#[test]
fn traces_are_described() {
    let stat = "trace stat zipf hot-cold --requests 3000 --cache 10%,2.5%";
    let rows = json(stat);
    for (row, name) in rows.as_array().unwrap().iter().zip(["zipf", "hot-cold"]) {
        assert_eq!((&row["schema"], &row["trace"]), (&"imbrex.trace-stat/1".into(), &name.into()));
        assert_eq!((&row["synthetic"], &row["requests"]), (&true.into(), &3000.into()));
        let share = |class: &str| row.pointer(&format!("/update_period/{class}/share")).unwrap().as_f64().unwrap();
        assert!((share("short") + share("long") - 1.0).abs() < 1e-9);
        for pointer in ["/miss_10pct/lru", "/miss_2.5pct/sieve", "/update_period/distribution/4-7/updates"] {
            assert!(row.pointer(pointer).is_some_and(Value::is_number), "{pointer} of {row}");
        }
    }
    assert_eq!(printed(stat), printed(&format!("{stat} --jobs 2")));
    let table = printed(stat);
    assert!(table.contains("zipf (synthetic)") && table.contains("ARC misses, cache of 2.5%"), "{table}");
    let csv = printed(&format!("{stat} --format csv"));
    assert!(csv.lines().next().unwrap().contains(",miss_10pct.lru,"), "{csv}");
    assert_eq!(csv.lines().count(), 3);
}

#[test]
fn windows_and_jumps_are_the_same_in_all_that_is_printed() {
    let stat = "trace stat zipf --requests 3000";
    let row = &json(stat)[0];
    let figure = |pointer: &str| row.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}"));
    let (csv, table) = (printed(&format!("{stat} --format csv")), printed(stat));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let record = reader.records().next().unwrap().unwrap();
    let beside = |name: &str| table.lines().find_map(|line| line.trim().strip_prefix(name)).expect(name).trim();
    let shown = [
        ("/window_1024/effective_zones", "effective zones of 256 MiB", false),
        ("/window_1024/top_zone_share", "share of the top zone", true),
        ("/window_1024/blocks_per_chunk", "blocks per chunk of 64 KiB", false),
        ("/window_1024/writes_per_block", "writes per block", false),
        ("/jumps/within_64kib", "jumps of at most 64 KiB", true),
        ("/jumps/within_1mib", "jumps of at most 1 MiB", true),
        ("/jumps/within_256mib", "jumps of at most 256 MiB", true),
    ];
    for (pointer, name, is_share) in shown {
        let value = figure(pointer);
        let column = names.iter().position(|name| name == pointer[1..].replace('/', ".")).expect(pointer);
        assert_eq!(record[column].parse(), Ok(value), "{pointer}");
        let cell: f64 = beside(name).trim_end_matches(" %").parse().unwrap();
        assert!((cell - if is_share { 100.0 * value } else { value }).abs() <= 0.051, "{name}: {cell}, {value}");
    }
    assert!(figure("/window_1024/windows") > 0.0 && figure("/jumps/within_256mib") > 0.0, "{row}");
}

#[test]
fn a_trace_that_fills_no_window_has_no_figures() {
    let stat = "trace stat zipf --requests 10";
    let row = &json(stat)[0];
    let none = serde_json::json!({
        "windows": 0, "effective_zones": null, "top_zone_share": null, "blocks_per_chunk": null, "writes_per_block": null,
    });
    assert_eq!((&row["window_1024"], &row["window_4096"]), (&none, &none));
    let table = printed(stat);
    assert_eq!(table.lines().filter(|line| line.ends_with(" -")).count(), 8, "{table}");
    let csv = printed(&format!("{stat} --format csv"));
    assert!(csv.lines().nth(1).unwrap().contains(",0,,,,,0,,,,,"), "{csv}");
}

#[test]
fn what_was_left_out_of_a_trace_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("two.spc");
    fs::write(&trace, "3,0,4096,w,0.5\n1,0,4096,r,0.6\n3,8,4096,w,0.4\n").unwrap();
    let compare = |options: &str| format!("compare {} --layers conventional {options}", trace.display());
    let table = printed(&compare(""));
    let said = "1 requests of other volumes than 3 left out (--volume chooses; else the busiest at the file's beginning is read), 1 requests stamped earlier";
    assert!(table.replace('\n', " ").contains(said), "{table}");
    let run = json(&compare("--volume 1"))[0].clone();
    assert_eq!((&run["volume"], &run["requests"]), (&"1".into(), &1.into()));
    assert_eq!(run["irregularities"]["other_volumes"], 2);
    assert_eq!(run["trace_format"], "SPC");
}

#[test]
fn settings_reach_their_layer() {
    let runs = json(&format!("{SMALL} --set fifo-log.at_pointer=buffered --set in-place.spare_zones=2"));
    assert_eq!(runs[2]["config"]["at_pointer"], "buffered");
    assert_eq!(runs[1]["config"]["spare_zones"], 2);
    assert!(runs[0]["config"].as_object().unwrap().is_empty());
}

#[test]
fn the_scheduler_is_said_with_the_result() {
    let run = format!("{SMALL} --layers fifo-log --scheduler sptf --scheduler-depth 4 --verify");
    assert!(printed(&run).lines().next().unwrap().contains("; sptf queue of 4; verified"));
    let scheduled = &json(&run)[0];
    assert_eq!(
        (&scheduled["options"]["scheduler"], &scheduled["options"]["scheduler_depth"]),
        (&"sptf".into(), &4.into())
    );
    let in_order = &json(&format!("{SMALL} --layers fifo-log"))[0];
    assert_eq!(in_order["options"]["scheduler"], "fcfs");
    assert_ne!(in_order["latency_ms"], scheduled["latency_ms"]);
    assert!(!printed(SMALL).contains("queue"));
}

#[test]
fn what_there_is_can_be_listed() {
    for (what, names) in [
        ("layers", ["conventional", "fifo-log"]),
        ("layers --all", ["fifo-log.step_blocks", "tracklace.opens"]),
        ("layers fifo-log tracklace", ["fifo-log.step_blocks", "tracklace.opens"]),
        ("drives", ["exos-x18z", "hp97560"]),
        ("workloads", ["default (synthetic)", "zipf (synthetic)"]),
        ("formats", ["MSR CSV", "blkparse"]),
    ] {
        let list = printed(&format!("list {what}"));
        assert!(names.iter().all(|name| list.contains(name)), "{list}");
        assert!(json(&format!("list {what}")).as_array().unwrap().len() >= 2);
        assert!(printed(&format!("list {what} --format csv")).starts_with("name,"));
    }
}

#[test]
fn a_layer_and_a_command_are_explained() {
    let of_layer = printed("help fifo-log");
    assert_eq!(of_layer, printed("list layers fifo-log"));
    assert!(of_layer.starts_with("fifo-log (shingled): ") && of_layer.contains("fifo-log.spare_zones"), "{of_layer}");
    assert!(!of_layer.contains("loop-back."), "{of_layer}");
    for (words, option) in [("help compare", "compare --help"), ("help", "--help")] {
        assert_eq!(printed(words).trim_end(), printed(option).trim_end());
    }
    for (wrong, said) in [
        ("help fifo", "no command and no layer 'fifo'"),
        ("list drives exos", "no drive 'exos'; known are cold-weight-40m"),
    ] {
        let refused = imbrex(wrong);
        assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains(said), "{wrong}");
    }
}

#[test]
fn layers_survive_the_explorer_and_it_sees_a_broken_rule() {
    for layer in ["conventional", "in-place", "fifo-log"] {
        let survived = json(&format!("explore {layer} --cuts 50"));
        assert!(survived[0]["survived"]["cuts"].as_u64().unwrap() >= 50);
        assert!(survived[0]["finding"].is_null());
    }
    let output = imbrex("explore fifo-log --cuts 2000 --without 3");
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    let command = error.trim().split_once("replay it with: imbrex ").unwrap().1;
    let again = imbrex(command);
    assert_eq!(String::from_utf8(again.stderr).unwrap(), error, "{command}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_imbrex"))
        .args(["list", "layers"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
