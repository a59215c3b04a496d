//! `imbrex reproduce`: claims beside measurements, and a folder of figures.

use std::fs;
use std::path::Path;

use crate::program::imbrex;
use serde_json::Value;

/// Standard output and standard error, when it must succeed.
fn printed(arguments: &str) -> (String, String) {
    let output = imbrex(arguments);
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "imbrex {arguments}: {err}");
    (out, err)
}

fn quick(output: &Path) -> String {
    format!("reproduce amphisbaena --requests 200 --seeds 1 --output {}", output.display())
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<_> = entries.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn table_json_and_csv_give_the_same_verdicts_and_the_same_folder() {
    let home = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| home.path().join(name));
    let (table, _) = printed(&format!("{} --jobs 1", quick(&one)));
    let (json, summary) = printed(&format!("{} --jobs 2 --format json", quick(&two)));
    let claims: Vec<Value> = serde_json::from_str(&json).unwrap();
    assert!(claims.len() > 30, "{}", claims.len());
    for claim in &claims {
        assert_eq!((&claim["schema"], &claim["data"]), (&"imbrex.claim/2".into(), &"synthetic".into()));
        let id = claim["id"].as_str().unwrap();
        let line = table.lines().find(|line| line.starts_with(&format!("{id} "))).unwrap();
        let verdict = claim["verdict"].as_str().unwrap().replace('-', " ");
        assert!(line.to_lowercase().contains(&format!("  {verdict}")), "{verdict}: {line}");
        if let Some(measured) = claim["measured"].as_f64() {
            assert!(line.contains(&format!(" {} ", imbrex_terminal::table::number(measured))), "{measured}: {line}");
        }
    }
    let verdict = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["verdict"].clone();
    // So few requests fill no buffer, and that nothing is cleaned must not pass for success.
    assert_eq!([verdict("U2"), verdict("A3"), verdict("L1")], ["not-met", "not-measured", "not-measured"]);
    assert!(table.lines().any(|line| line.starts_with("U2 ") && line.contains("NOT MET")));
    assert!(table.contains("A3: no buffer was cleaned on hm_0, "));
    assert!(table.contains("hm_0 (synthetic)") && summary.contains("claims on synthetic data"));
    assert_eq!(files(&one), files(&two), "the number of threads changes nothing");
    let csv = fs::read(one.join("claims.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(&csv[..]);
    let ids: Vec<_> = reader.records().map(|record| record.unwrap()[2].to_owned()).collect();
    assert!(ids.iter().zip(&claims).all(|(id, claim)| *id == claim["id"]) && ids.len() == claims.len());
}

/// Claims are judged over the seeds, and tables are of the first; of some volumes alone less is run, and what is said of
/// the others is not measured. What the folder holds for documents is what the table shows.
#[test]
fn seeds_and_workloads_can_be_chosen() {
    let home = tempfile::tempdir().unwrap();
    let run = |name: &str, options: &str| {
        let folder = home.path().join(name);
        let small = "reproduce cold-weight --workload src1_1 --requests 50000 --band-size 256KiB";
        let small = format!("{small} --prepopulation 100% --format json");
        let (json, _) = printed(&format!("{small} {options} --output {}", folder.display()));
        (serde_json::from_str::<Vec<Value>>(&json).unwrap(), folder)
    };
    let each = [1, 2].map(|seed| run(&format!("of-{seed}"), &format!("--seed {seed} --seeds 1")));
    let (both, folder) = run("both", "--seeds 2");
    let mut differing = 0;
    for (at, claim) in both.iter().enumerate() {
        let [one, other] = [0, 1].map(|seed| each[seed].0[at]["measured"].as_f64());
        let Some((one, other)) = one.zip(other) else { continue };
        let bounds = [&claim["low"], &claim["high"]].map(|bound| bound.as_f64().unwrap());
        assert_eq!(bounds, [one.min(other), one.max(other)], "{claim}");
        assert_eq!((&claim["seeds"], &claim["measured"]), (&2.into(), &one.max(other).into()), "{claim}");
        differing += usize::from(one != other);
    }
    assert!(differing > 0, "{differing}");
    let of = |id: &str| both.iter().find(|claim| claim["id"] == id).unwrap();
    assert_eq!(of("J2.P100")["verdict"], "not-measured");
    let table = |folder: &Path| fs::read_to_string(folder.join("table-VI-src1_1.md")).unwrap();
    assert_eq!(table(&folder), table(&each[0].1), "tables are of the first seed");
    assert_ne!(table(&folder), table(&each[1].1));
    assert_eq!(table(&folder).lines().count(), 2 + 10, "Empty and nine weights");
    assert!(!folder.join("table-VI-proj_1.md").exists());
    let claims = fs::read_to_string(folder.join("claims.md")).unwrap();
    assert_eq!(claims.lines().count(), 2 + both.len());
    assert!(fs::read_to_string(folder.join("verdicts.md")).unwrap().contains("not measured"));
    let said = String::from_utf8(imbrex("reproduce tracklace --workload hm_0").stderr).unwrap();
    assert!(said.contains("--workload: tracklace has no volume hm_0; it has prn_1, "), "{said}");
}

#[test]
fn every_figure_has_documented_data_and_a_picture() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("figures");
    printed(&quick(&folder));
    let files = files(&folder);
    for number in (2..=3).chain(12..=25) {
        let of_figure: Vec<_> =
            files.iter().filter(|(name, _)| name.starts_with(&format!("figure-{number}-"))).collect();
        let rows = of_figure.iter().find(|(name, _)| name.ends_with(".csv"));
        let lines = String::from_utf8_lossy(&rows.unwrap().1).lines().count();
        assert!(lines > 8, "figure {number} has {lines} lines of data");
        if cfg!(feature = "pictures") {
            let picture = of_figure.iter().find(|(name, _)| name.ends_with(".svg"));
            let text = String::from_utf8_lossy(&picture.unwrap().1);
            assert!(text.contains("src2_2") && text.contains("synthetic data"), "figure {number}");
        }
    }
    let ablations = String::from_utf8(fs::read(folder.join("ablations-latency.csv")).unwrap()).unwrap();
    for ablation in ["no phase 2", "fixed split", "FIFO victims"] {
        assert!(ablations.contains(ablation), "{ablation}");
    }
    let timed = String::from_utf8(fs::read(folder.join("checkpoints-stopped.csv")).unwrap()).unwrap();
    assert!(timed.contains("no checkpoints") && !timed.contains("web_0"), "{timed}");
    let readings = String::from_utf8(fs::read(folder.join("readings-rewrites.csv")).unwrap()).unwrap();
    for reading in ["returned if any is unused", "no density", "size in blocks"] {
        assert!(readings.contains(reading), "{reading}");
    }
    // Parts of so few writes are too small for a buffer.
    assert_eq!(fs::read_to_string(folder.join("turnover.csv")).unwrap().lines().count(), 1, "no points");
    if cfg!(feature = "pictures") {
        let picture = fs::read_to_string(folder.join("turnover.svg")).unwrap();
        assert!(picture.contains("turnovers of the buffer"), "{picture}");
    }
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    let tables =
        ["claims.csv", "figure-12-strategies-latency.csv", "figure-2-update-periods.csv", "figure-3-write-range.csv"];
    for file in tables {
        let mut reader = csv::Reader::from_path(folder.join(file)).unwrap();
        for name in reader.headers().unwrap() {
            assert!(documented.contains(&format!("`{name}`")), "{name} of {file} is not in docs/json.md");
        }
        let first = reader.records().next().unwrap().unwrap();
        assert!(documented.contains(&first[0]), "{} is not in docs/json.md", &first[0]);
    }
}

#[test]
fn traces_that_are_there_are_taken_and_said_to_be_real() {
    let home = tempfile::tempdir().unwrap();
    let traces = home.path().join("traces");
    fs::create_dir(&traces).unwrap();
    // What Imbrex generates stays synthetic in a file, so this one is written by hand.
    let line = |n: u64| format!("{},src2,2,Write,{},8192,100\n", 128_166_372_000_000_000 + n * 10_000, n % 50 * 65_536);
    fs::write(traces.join("src2_2.csv"), (0..200).map(line).collect::<String>()).unwrap();
    printed(&format!("trace generate hm_0 --requests 300 -o {}", traces.join("hm_0.csv").display()));
    let run = format!("{} --traces {}", quick(&home.path().join("out")), traces.display());
    let (json, said) = printed(&format!("{run} --format json"));
    assert!(said.contains("2 of 8 volumes are in"), "{said}");
    let claims: Vec<Value> = serde_json::from_str(&json).unwrap();
    let data = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["data"].as_str().unwrap().to_owned();
    assert_eq!([data("A1"), data("A2a"), data("A2b")], ["mixed", "real", "synthetic"]);

    fs::write(traces.join("ts_0.csv"), "no trace\n").unwrap();
    let refused = imbrex(&run.replace("/out", "/refused"));
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("ts_0.csv"));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "a run that fails leaves nothing");
}

fn small_cold_weight(output: &Path) -> String {
    let small = "--requests 100000 --seeds 1 --block-size 4KiB --band-size 256KiB --prepopulation 0%,100%";
    format!("reproduce cold-weight {small} --output {}", output.display())
}

fn records(file: &Path) -> Vec<std::collections::HashMap<String, String>> {
    csv::Reader::from_path(file).unwrap().deserialize().map(Result::unwrap).collect()
}

#[test]
fn tables_and_bands_of_cold_weight_stand_beside_the_papers() {
    let home = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| home.path().join(name));
    let (report, _) = printed(&format!("{} --jobs 1", small_cold_weight(&one)));
    let (json, summary) = printed(&format!("{} --jobs 2 --format json", small_cold_weight(&two)));
    assert_eq!(files(&one), files(&two), "the number of threads changes nothing");
    assert!(summary.contains("claims on synthetic data"), "{summary}");

    let lines = records(&one.join("tables.csv"));
    assert_eq!(lines.len(), 2 * 2 * 10);
    let number = |line: &std::collections::HashMap<String, String>, name: &str| line[name].parse::<u64>().unwrap();
    for line in &lines {
        let sum = number(line, "moved_before_blocks") + number(line, "moved_by_trace_blocks");
        assert!(number(line, "moved_blocks") == sum && (line["table"] == "VI" || line["moved_before_blocks"] == "0"));
    }
    let of = |table: &str, weight: &str| {
        let is_it = |line: &&_| {
            let line: &std::collections::HashMap<String, String> = line;
            (&*line["table"], &*line["workload"], &*line["cold_weight"]) == (table, "proj_1", weight)
        };
        lines.iter().find(is_it).unwrap()
    };
    assert_eq!(of("VI", "0.1")["paper_moved_blocks"], "66031282");
    let saved =
        100.0 * (1.0 - number(of("VI", "0.9"), "moved_blocks") as f64 / number(of("VI", ""), "moved_blocks") as f64);
    assert!((of("VI", "0.9")["saved_percent"].parse::<f64>().unwrap() - saved).abs() < 1e-9 && saved < 0.0, "{saved}");

    let figure = records(&one.join("figure-10-proj_1-100.csv"));
    let mixed =
        |layer: &str| figure.iter().filter(|band| band["layer"] == layer && band["mixed"] == "true").count() as u64;
    assert_eq!(mixed("log-greedy"), number(of("VI", ""), "mixed"));
    if cfg!(feature = "pictures") {
        let picture = fs::read_to_string(one.join("figure-10-proj_1-100.svg")).unwrap();
        let shown = [mixed("log-greedy"), mixed("cold-weight")].map(|mixed| format!("{mixed} of them mixed"));
        assert!(shown.iter().all(|shown| picture.contains(shown)), "{shown:?}");
        assert!(picture.contains("Figure 10: bands at the end, proj_1 (synthetic), 100 % prepopulation"));
    }
    assert!(!one.join("figure-8-proj_1-75.csv").exists(), "that table was left out");

    let claims: Vec<Value> = serde_json::from_str(&json).unwrap();
    let verdict = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["verdict"].clone();
    assert_eq!([verdict("J2a"), verdict("J2.P75"), verdict("J3d")], ["not-met", "not-measured", "not-met"]);
    assert!(report.contains("Table VI, Source 1 (src1_1 (synthetic)), 100 % prepopulation"), "{report}");
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    for name in lines[0].keys() {
        assert!(documented.contains(&format!("`{name}`")), "{name} of tables.csv is not in docs/json.md");
    }
    assert!(documented.contains(&lines[0]["schema"]));
}

/// So few requests fill no cache; sweeps are made smaller with them, and rewrite all the same.
#[test]
fn sweeps_of_pore_stand_beside_their_closed_form_and_what_cleans_nothing_is_not_measured() {
    let home = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| home.path().join(name));
    let quick = |output: &Path, jobs| {
        format!("reproduce pore --requests 500 --seeds 1 --jobs {jobs} --output {}", output.display())
    };
    let (report, _) = printed(&quick(&one, 1));
    let (json, summary) = printed(&format!("{} --format json", quick(&two, 2)));
    assert_eq!(files(&one), files(&two), "the number of threads changes nothing");
    assert!(summary.contains("claims on synthetic data"), "{summary}");
    for said in ["zones of 20 MiB", "16 static sets", "The paper: 50.56 % less on average", "hm_0 (synthetic)"] {
        assert!(report.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{said}: {report}");
    }

    let points = records(&one.join("sweeps.csv"));
    let number = |point: &std::collections::HashMap<String, String>, name: &str| point[name].parse::<f64>().unwrap();
    for (sweep, axis, least) in
        [("period", "period,", 14), ("region", "region", 12), ("cache", "cache,", 15), ("range", "range,", 15)]
    {
        let of: Vec<_> = points.iter().filter(|point| point["sweep"] == sweep).collect();
        assert!(of.len() == least && of.iter().all(|point| point["axis"].starts_with(axis)), "{sweep}: {}", of.len());
        assert!(of.iter().any(|point| number(point, "rmw") > 0.0), "{sweep} rewrites");
        if cfg!(feature = "pictures") {
            let picture = fs::read_to_string(one.join(format!("sweep-{sweep}.svg"))).unwrap();
            assert!(picture.contains("closed form") && picture.contains("synthetic data"), "{sweep}");
        }
    }
    let lru = points.iter().find(|point| point["curve"] == "lru-cache").unwrap();
    let form = number(lru, "range_bytes") / 4096.0 / number(lru, "disk_buffer_blocks");
    assert!((number(lru, "closed_form") / form - 1.0).abs() < 1e-9, "range over buffer without regions");

    let claims: Vec<Value> = serde_json::from_str(&json).unwrap();
    let verdict = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["verdict"].clone();
    assert_eq!([verdict("R1a"), verdict("R2a"), verdict("B4")], ["not-measured"; 3]);
    for file in ["figure-4-bare-mean.csv", "figure-5-bare-longest.csv", "figure-6-bare-migration.csv"] {
        let bars = records(&one.join(file));
        assert_eq!(bars.len(), 14 * 3, "{file}: every competitor on every volume");
        assert_eq!((&*bars[0]["variant"], &*bars[1]["variant"]), ("static-sets", "pore"), "the yardstick first");
    }
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    let cells = records(&one.join("search.csv"));
    assert_eq!(cells.len(), 9 * 5 * 4, "all sizes, and all that is compared");
    for record in [&points[0], &cells[0]] {
        assert!(record.keys().all(|name| documented.contains(&format!("`{name}`"))));
        assert!(documented.contains(&record["schema"]));
    }
}

/// The trace is over long before the conversion is, which is then completed.
#[test]
fn the_growth_of_zonealloy_is_set_beside_the_run_without() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("one");
    let (json, _) =
        printed(&format!("reproduce zonealloy --requests 300 --seeds 1 --format json --output {}", folder.display()));
    let claims: Vec<Value> = serde_json::from_str(&json).unwrap();
    let measured = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["measured"].as_f64();
    assert_eq!(measured("Z3b"), None, "so few requests fill no buffer");
    let runs = records(&folder.join("growth.csv"));
    let number = |run: usize, name: &str| runs[run][name].parse::<f64>().unwrap();
    let names: Vec<_> = runs.iter().map(|run| run["run"].as_str()).collect();
    assert_eq!(names[..4], ["no conversion", "60 ms", "100 ms", "blocking"]);
    assert_eq!(names[4..], ["no conversion, beyond", "60 ms, beyond", "100 ms, beyond"]);
    assert_eq!((number(0, "converted_zones"), number(0, "longest_increase_after_ms")), (0.0, 0.0));
    for run in 1..4 {
        assert_eq!((number(run, "gained_bytes"), number(run, "converted_zones")), ((25_u64 << 30) as f64, 200.0));
        assert!(number(run, "requests_meanwhile") >= 270.0 && number(run, "step_seconds") <= number(run, "seconds"));
        assert!((number(run, "media_seconds") - 100.0 * 1.073_741_824 / 0.25).abs() < 5.0, "at 250 MB/s");
    }
    let times = number(3, "seconds") / number(3, "media_seconds");
    assert!((measured("Z6a").unwrap() - times).abs() < 1e-6 && (1.0..1.1).contains(&times), "{times}");
    assert!(measured("Z6b").unwrap() > 360_000.0 && number(1, "seconds") > number(3, "seconds"));
    assert!((measured("Z5b").unwrap() - number(1, "longest_increase_ms")).abs() < 1e-6);
    let dots = records(&folder.join("figure-7-growth.csv"));
    assert!(dots.iter().any(|dot| dot["run"] == "60 ms" && dot["zones_left"] != "0"));
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    for record in [&runs[0], &dots[0]] {
        assert!(documented.contains(&record["schema"]));
        let missing = record.keys().find(|name| !documented.contains(&format!("`{name}`")));
        assert_eq!(missing, None);
    }
    if cfg!(feature = "pictures") {
        let picture = fs::read_to_string(folder.join("figure-7-growth.svg")).unwrap();
        assert!(picture.contains("zones left") && picture.contains("synthetic data"));
    }
}

#[test]
fn the_mix_of_tracklace_is_one_volume_and_then_another() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("one");
    let (json, _) =
        printed(&format!("reproduce tracklace --requests 300 --seeds 1 --format json --output {}", folder.display()));
    let claims: Vec<Value> = serde_json::from_str(&json).unwrap();
    let claim = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap();
    assert_eq!(claim("T3a")["measured"], 1.0, "nothing is amplified where no top track is allocated");
    let points = records(&folder.join("mix.csv"));
    let mut speed = Vec::new();
    for variant in ["buffer-adapt", "buffer-no-adapt", "z-alloc"] {
        let of: Vec<_> = points.iter().filter(|point| point["variant"] == variant).collect();
        let number = |of: &[&std::collections::HashMap<String, String>], name: &str| -> f64 {
            of.iter().map(|point| point[name].parse::<f64>().unwrap()).sum()
        };
        for (half, workload) in [("0", "src1_0"), ("1", "prxy_0")] {
            let half: Vec<_> = of.iter().copied().filter(|point| point["half"] == half).collect();
            let writes = number(&half, "requests");
            assert!(half.iter().all(|point| point["workload"] == workload) && (100.0..=300.0).contains(&writes));
        }
        assert_eq!(number(&of, "admitted_blocks") > 0.0, variant != "z-alloc");
        speed.push(number(&of, "host_write_blocks") / number(&of, "seconds"));
    }
    let said = claim("T11b")["measured"].as_f64().unwrap();
    assert!((said / (speed[0] / speed[2]) - 1.0).abs() < 1e-6, "{said}: {speed:?}");
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    assert!(points[0].keys().all(|name| documented.contains(&format!("`{name}`"))));
    assert!(documented.contains(&points[0]["schema"]));
}

/// A run that is in the middle of its work, whose folder is begun.
#[cfg(unix)]
fn begun(home: &Path) -> std::process::Child {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_imbrex"))
        .args(["reproduce", "amphisbaena", "--output"])
        .arg(home.join("out"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while fs::read_dir(home).unwrap().next().is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    child
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_however_often_it_is_pressed() {
    for at_once in [1, 2, 5] {
        let home = tempfile::tempdir().unwrap();
        let mut run = begun(home.path());
        let pressed = format!("kill -INT {}\n", run.id()).repeat(at_once);
        std::process::Command::new("sh").args(["-c", &pressed]).stderr(std::process::Stdio::null()).status().unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(130));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "pressed {at_once} times");
    }
}

#[test]
fn what_is_wrong_is_said_before_the_work() {
    let unknown = imbrex("reproduce hydra");
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("known papers are: amphisbaena, cold-weight, frontier, pore")
    );
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("thesis.tex"), "").unwrap();
    let refused = imbrex(&quick(home.path()));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("has other files in it"));
    assert!(!refused.status.success() && home.path().join("thesis.tex").exists());
    let said = |arguments: &str| String::from_utf8(imbrex(arguments).stderr).unwrap();
    assert!(said("reproduce amphisbaena --block-size 4KiB").contains("it is an option of cold-weight"));
    assert!(said("reproduce cold-weight --prepopulation 30%").contains("the paper has 0%, 25%, 50%, 75% and 100%"));
    assert!(said("reproduce cold-weight --block-size 1KiB").contains("possible values: 512B, 4KiB"));
}
