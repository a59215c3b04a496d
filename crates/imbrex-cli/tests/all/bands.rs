//! `--bands`: data, picture and results of a run say the same.

use std::fs;

use crate::program::imbrex;
use serde_json::Value;

/// Bands of 256 KiB, as many as the workload needs.
const RUN: &str = "replay hm_0 --requests 20000 --drive cold-weight-40m --zone-size 256KiB --dense --untimed \
                   --capacity fit --prefill 0 --flush";
const WITH_HEAT: &str = "--layer cold-weight --set cold-weight.buffer_bands=2";

/// Standard output, when it must succeed.
fn printed(arguments: &str) -> String {
    let output = imbrex(arguments);
    assert!(output.status.success(), "imbrex {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &str, said: &str) {
    let output = imbrex(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains(said), "imbrex {arguments}: {error}");
}

fn sum(rows: &[&Value], field: &str) -> u64 {
    rows.iter().map(|row| row[field].as_u64().unwrap()).sum()
}

/// The part of the drawn area that has a colour. What is right of the bars is left out.
#[cfg(feature = "pictures")]
fn share(picture: &str, colour: &str) -> f64 {
    let attribute = |line: &str, name: &str| -> f64 {
        let from = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        line[from..].split('"').next().unwrap().parse().unwrap()
    };
    let bars = picture.lines().filter(|line| line.starts_with("<rect") && !line.contains("#FFFFFF"));
    let bars = bars.filter(|line| attribute(line, "x") < 900.0);
    let area = |line: &str| attribute(line, "width") * attribute(line, "height");
    let (own, others): (Vec<_>, Vec<_>) = bars.partition(|line| line.contains(colour));
    let [own, others] = [own, others].map(|lines| lines.into_iter().map(area).sum::<f64>());
    own / (own + others)
}

#[test]
fn data_and_picture_and_results_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let [csv, json, svg] = ["b.csv", "b.json", "b.svg"].map(path);
    let mut files = format!("--bands {} --bands {}", csv.display(), json.display());
    if cfg!(feature = "pictures") {
        files += &format!(" --bands {}", svg.display());
    }
    let run = printed(&format!("{RUN} {WITH_HEAT} {files} --format json"));
    let run: Value = serde_json::from_str(&run).unwrap();
    let sums = &run[0]["bands"];
    let data: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let rows: Vec<&Value> = data.as_array().unwrap().iter().collect();
    for field in ["unwritten_blocks", "dead_blocks", "live_blocks", "hot_blocks"] {
        assert!(sum(&rows, field) > 0 && sums[field] == sum(&rows, field), "{field}: {sums}");
    }
    let is_mixed = |row: &&&Value| {
        let free = row["dead_blocks"].as_u64().unwrap() + row["unwritten_blocks"].as_u64().unwrap();
        free > 0 && row["hot_blocks"].as_u64().unwrap() > 0 && row["cold_blocks"].as_u64().unwrap() > 0
    };
    let mixed = rows.iter().filter(is_mixed).count();
    assert!(mixed > 0 && sums["mixed"] == mixed && sums["bands"] == rows.len(), "{mixed}: {sums}");
    assert!(rows.iter().all(|row| row["mixed"] == is_mixed(&row) && row["is_end"] == true));
    let blocks: u64 = sum(&rows, "live_blocks") + sum(&rows, "dead_blocks") + sum(&rows, "unwritten_blocks");
    assert_eq!(blocks, 512 * rows.len() as u64);
    let table = fs::read_to_string(&csv).unwrap();
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let hot = reader.headers().unwrap().iter().position(|name| name == "hot_blocks").unwrap();
    let hot: u64 = reader.records().map(|record| record.unwrap()[hot].parse::<u64>().unwrap()).sum();
    assert_eq!(sums["hot_blocks"], hot);
    #[cfg(feature = "pictures")]
    {
        let picture = fs::read_to_string(&svg).unwrap();
        assert!(
            picture.contains("hm_0 (synthetic) on cold-weight") && picture.contains(&format!("{mixed} of them mixed"))
        );
        let cold = sum(&rows, "cold_blocks");
        for (colour, part) in [("#D55E00", hot), ("#0072B2", cold), ("#009E73", blocks - hot - cold)] {
            let (drawn, counted) = (share(&picture, colour), part as f64 / blocks as f64);
            assert!((drawn - counted).abs() < 0.005, "{colour} has {drawn} of the picture, {counted} of the blocks");
        }
    }
    let report = printed(&format!("{RUN} {WITH_HEAT} {files}"));
    assert!(
        report.lines().any(|line| line.starts_with("mixed ones") && line.ends_with(&format!(" {mixed}"))),
        "{report}"
    );
}

#[test]
fn moments_are_parts_numbers_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("b.json");
    let at = "--bands-at 0%,25%,7,1s,100%";
    printed(&format!(
        "replay uniform --requests 1000 --drive cold-weight-40m --capacity fit --layer log-greedy --bands {} {at}",
        json.display()
    ));
    let data: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let mut looks: Vec<_> =
        data.as_array().unwrap().iter().map(|row| (row["requests"].as_u64().unwrap(), row["is_end"] == true)).collect();
    looks.dedup();
    let second =
        looks.iter().position(|(requests, _)| ![0, 7, 250, 1000].contains(requests)).map(|at| looks.remove(at));
    assert_eq!(looks, [(0, false), (7, false), (250, false), (1000, true)], "in the order of time");
    assert!((1..1000).contains(&second.unwrap().0));
    let rows: Vec<_> = data.as_array().unwrap().iter().collect();
    assert!(rows.iter().all(|row| row["hot_blocks"].is_null() && row["mixed"].is_null()), "no heat is kept");
    #[cfg(feature = "pictures")]
    {
        let svg = folder.path().join("b.svg");
        printed(&format!(
            "replay uniform --requests 10 --drive cold-weight-40m --capacity fit --layer log-greedy --bands {}",
            svg.display()
        ));
        assert!(fs::read_to_string(&svg).unwrap().contains("live (heat is not kept)"));
    }
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    for name in rows[0].as_object().unwrap().keys() {
        assert!(documented.contains(&format!("`{name}`")), "{name} is not in docs/json.md");
    }
    assert!(documented.contains(rows[0]["schema"].as_str().unwrap()));
}

#[test]
fn tracks_are_as_the_results_say() {
    let folder = tempfile::tempdir().unwrap();
    let [csv, json, svg] = ["t.csv", "t.json", "t.svg"].map(|name| folder.path().join(name));
    let mut files = format!("--tracks {} --tracks {}", csv.display(), json.display());
    if cfg!(feature = "pictures") {
        files += &format!(" --tracks {}", svg.display());
    }
    let run = "replay zipf --requests 5000 --layer tracklace --drive imr-tracklace --capacity 12GiB --beyond wrap";
    let run: Value = serde_json::from_str(&printed(&format!("{run} {files} --tracks-at 50% --format json"))).unwrap();
    let data: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let rows: Vec<&Value> = data.as_array().unwrap().iter().collect();
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + rows.len());
    let end: Vec<&Value> = rows.iter().copied().filter(|row| row["is_end"] == true).collect();
    assert_eq!(2 * end.len(), rows.len(), "two looks");
    for side in ["bottom", "top"] {
        let of: Vec<&Value> = end.iter().copied().filter(|row| row["side"] == side).collect();
        let sums = &run[0]["tracks"][side];
        assert_eq!(sums["tracks"], of.len());
        for field in ["home_blocks", "stale_blocks", "buffered_blocks", "swapped_blocks", "free_blocks"] {
            assert_eq!(sums[field], sum(&of, field), "{field}");
        }
    }
    assert!(run[0]["tracks"]["top"]["buffered_blocks"].as_u64().unwrap() > 0, "{}", run[0]["tracks"]);
    assert_eq!(run[0]["tracks"]["top"]["buffered_blocks"], run[0]["tracks"]["bottom"]["stale_blocks"]);
    if cfg!(feature = "pictures") {
        assert!(fs::read_to_string(&svg).unwrap().contains("zipf (synthetic) on tracklace"));
    }
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    assert!(rows[0].as_object().unwrap().keys().all(|name| documented.contains(&format!("`{name}`"))));
    assert!(documented.contains(rows[0]["schema"].as_str().unwrap()));
}

#[test]
fn what_is_wrong_is_said_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = "replay uniform --requests 1000 --drive cold-weight-40m";
    let greedy = format!("{run} --layer log-greedy");
    refused(
        &format!("replay uniform --layer conventional --bands {}", path("x.csv")),
        "layer conventional does not say what lies where",
    );
    refused(&format!("{greedy} --bands {} --bands-at 1001", path("x.csv")), "after the 1000 requests of the trace");
    refused(&format!("{greedy} --bands {} --bands-at 9h", path("x.csv")), "after the 1000 requests of the trace");
    refused(&format!("{greedy} --bands {} --bands-at 1s --queue-depth 1", path("x.csv")), "choose numbers of requests");
    refused(&format!("{greedy} --bands {} --bands-at often", path("x.csv")), "write a percentage such as 25%");
    refused(&format!("{greedy} --bands-at 5%"), "--bands <FILE>");
    for name in ["x.parquet", "x.png", "x.json.gz"] {
        refused(&format!("{greedy} --bands {}", path(name)), "write a picture as .svg, or data as .csv or .json");
        refused(&format!("{greedy} --series {}", path(name)), "data are written as .csv or .json; end its name");
    }
    refused(&format!("{greedy} --bands {}", path("missing/x.csv")), "missing/x.csv: ");
    // One that fails on the way: the range does not fit.
    let beyond = format!("{run} --layer log-greedy --capacity 400MB --bands {}", path("x.csv"));
    refused(&beyond, "ends beyond");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("b.csv");
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_imbrex"))
            .args(
                "replay uniform --requests 20M --untimed --layer log-greedy --drive cold-weight-40m --capacity fit --bands"
                    .split(' '),
            )
            .arg(&map)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while fs::read_dir(folder.path()).unwrap().next().is_none() {
            assert!(run.try_wait().unwrap().is_none(), "it has ended");
            std::thread::yield_now();
        }
        std::process::Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(status));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// What was trimmed before the first request is needed no more, and what it lay over is fast to write.
#[test]
fn a_trimmed_disk_gets_its_speed_back() {
    let folder = tempfile::tempdir().unwrap();
    let tracks = folder.path().join("t.json");
    let run = "replay uniform --drive imr-tracklace --capacity 2GiB --beyond wrap --requests 2000 --queue-depth 1";
    let run = |layer: &str, trimmed: &str| {
        let own = format!("--layer {layer} --trimmed {trimmed} --verify --tracks {}", tracks.display());
        let run: Value = serde_json::from_str(&printed(&format!("{run} {own} --format json"))).unwrap();
        let stale = ["top", "bottom"].iter().map(|side| run[0]["tracks"][side]["stale_blocks"].as_f64().unwrap());
        let stale = stale.sum::<f64>() / run[0]["capacity_blocks"].as_f64().unwrap();
        (stale, run[0]["write_amplification"].as_f64().unwrap(), run[0]["latency_ms"]["mean"].as_f64().unwrap())
    };
    let in_place = "tracklace --set tracklace.buffer_percent=0";
    let [full, half, none] = ["0", "0.5", "1"].map(|part| run(in_place, part));
    assert!(full.0 == 0.0 && (0.45..0.55).contains(&half.0) && none.0 > 0.99, "{full:?} {half:?} {none:?}");
    assert!(full.1 > 1.2 * half.1 && half.1 > 1.5 * none.1 && none.1 < 1.05, "{full:?} {half:?} {none:?}");
    assert!(full.2 > 1.2 * half.2 && half.2 > 1.2 * none.2, "{full:?} {half:?} {none:?}");
    let [full, none] = ["0", "1"].map(|part| run("seagate", part));
    assert_eq!(full, none, "it ignores trims");
    refused("replay uniform --layer lru-cache --drive st8000as0002 --requests 10 --trimmed 0.5", "no trim on");
}
