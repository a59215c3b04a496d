//! `imbrex reproduce frontier`: its rows are what the commands beside them give, and the words of its page are those of
//! its tables.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::imbrex;

fn rows(arguments: &str, folder: &Path) -> Vec<Value> {
    let output = imbrex(&format!("reproduce frontier {arguments} --format json --output {}", folder.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What the command of a layer counts, or how long requests take on average.
fn counted(of: &Value, counted: &str) -> f64 {
    let command = of["command"].as_str().unwrap().replace('\'', "");
    let output = imbrex(&format!("{} --format json", command.strip_prefix("imbrex ").unwrap()));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let run: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let run = &run[0];
    let disk = run["devices"].as_array().and_then(|devices| devices.last()).unwrap_or(run);
    let number = |value: &Value| value.as_f64().unwrap();
    match counted {
        "moved_blocks" => number(&run["media_write_blocks"]["migrate"]),
        "zone_rewrites" if of["layer"] == "dm-zoned" => number(&run["rmw"]) + number(&run["rmw_free"]),
        "zone_rewrites" => number(&run["rmw"]),
        "band_rewrites" => number(&disk["outcome"]["rmw"]),
        "mean_response_ms" => number(&run["latency_ms"]["mean"]),
        other => panic!("nothing is called {other}"),
    }
}

/// Each row of a small run is what its commands give, the others' with their settings, and so is the bound.
#[test]
fn rows_are_what_their_commands_give() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("rows");
    let tables = ["logs", "zones-small", "interlaced-99", "caches"].map(|table| format!("--table {table}")).join(" ");
    let rows = rows(&format!("--workload uniform --requests 10000 --seeds 1 --trials 3 {tables}"), &folder);
    assert_eq!(rows.len(), 4, "a row for each table");
    let mut held = 0;
    for row in &rows {
        let what = row["counted"].as_str().unwrap();
        for of in [&row["other"], &row["ours"]].into_iter().filter(|of| !of.is_null()) {
            assert_eq!(counted(of, what), of["value"].as_f64().unwrap(), "{of}");
            assert!(of["value"].as_f64() <= of["by_default"].as_f64(), "the defaults were tried: {of}");
            held += u32::from(of["value"].as_f64() > Some(0.0));
        }
        if let (Some(ours), Some(other)) = (row["ours"]["value"].as_f64(), row["other"]["value"].as_f64()) {
            assert_eq!(row["ratio"].as_f64(), (other > 0.0).then(|| ours / other));
        }
        if let (Some(bound), Some(schedule)) = (row["bound"].as_u64(), row["schedule"].as_u64()) {
            assert!(bound <= schedule && bound as f64 <= row["other"]["value"].as_f64().unwrap(), "{row}");
        }
    }
    assert!(held > 5, "{held} numbers were held to commands");
    assert!(rows.iter().any(|row| row["other"]["settings"] != ""), "a setting is better than the defaults somewhere");
    let zones = rows.iter().find(|row| row["table"] == "zones-small").unwrap();
    let bound = imbrex(
        "bound uniform --requests 10000 --seed 1 --capacity fit --buffer 0.02% --layers zone-ages --format json",
    );
    let bound: Vec<Value> = serde_json::from_slice(&bound.stdout).unwrap();
    assert!(zones["bound"].as_u64() > Some(0) && zones["bound"] == bound[0]["count"], "{zones}");
    assert!(folder.join("logs.md").exists() && !folder.join("answers.md").exists(), "nothing is said of one workload");
}

/// The number of threads changes nothing, fields are documented, and what a table is not asked for is not run.
#[test]
fn tables_can_be_chosen_and_files_are_the_same() {
    let home = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| home.path().join(name));
    let small = "--requests 300 --seeds 1 --trials 2 --table zones-small --table interlaced-80";
    assert_eq!(rows(&format!("{small} --jobs 1"), &one), rows(&format!("{small} --jobs 2"), &two));
    let documented = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md")).unwrap();
    for file in ["frontier.csv", "search.csv", "answers.md", "zones-small.md", "interlaced-80-layers.md"] {
        let text = fs::read_to_string(one.join(file)).unwrap();
        assert_eq!(text, fs::read_to_string(two.join(file)).unwrap(), "{file}");
        let header = text.lines().next().unwrap().split(',').filter(|_| file.ends_with(".csv"));
        for name in header {
            assert!(documented.contains(&format!("`{name}`")), "{name} of {file} is not in docs/json.md");
        }
    }
    assert!(!one.join("logs.md").exists());
    for (arguments, said) in [
        ("frontier --table tapes", "error: invalid value 'tapes' for '--table <NAME>': known tables are: logs,"),
        ("frontier --beyond", "error: --beyond: frontier has none; it is an option of cold-weight"),
        ("pore --trials 3", "error: --trials: pore has none; it is an option of frontier"),
        ("frontier --workload hm_9", "error: there is no file and no built-in workload hm_9"),
    ] {
        let error = String::from_utf8(imbrex(&format!("reproduce {arguments}")).stderr).unwrap();
        assert!(error.starts_with(said), "{arguments}: {error}");
    }
}

/// A trace of one's own has a row, whatever it is called; a profile has one for each seed, which count together.
#[test]
fn any_workload_with_several_seeds_is_held_against_the_others() {
    let home = tempfile::tempdir().unwrap();
    let [trace, folder] = ["mine.csv", "rows"].map(|name| home.path().join(name));
    let line = |nth: u64| format!("{},mine,0,Write,{},65536,10\n", nth * 100_000, nth * 7919 % 100_000 * 65536);
    fs::write(&trace, (0..3000).map(line).collect::<String>()).unwrap();
    let names = format!("--workload {0} --workload uniform --workload uniform", trace.display());
    let rows = rows(&format!("{names} --requests 3000 --seed 7 --seeds 2 --trials 4 --table zones-small"), &folder);
    let seeds: Vec<_> = rows.iter().map(|row| row["seed"].as_u64()).collect();
    assert_eq!(seeds, [None, Some(7), Some(8)]);
    assert_eq!(rows[0]["synthetic"], false);
    for row in &rows {
        let zones = row["ours"]["value"].as_f64().unwrap();
        assert!(zones > 0.0 && counted(&row["ours"], "zone_rewrites") == zones, "{row}");
    }
    let search = fs::read_to_string(folder.join("search.csv")).unwrap();
    let column = |name: &str| search.lines().next().unwrap().split(',').position(|one| one == name).unwrap();
    let trials = |of_seed: &str| {
        let cell = |line: &str, name: &str| line.split(',').nth(column(name)).unwrap().to_owned();
        let rows = search.lines().skip(1).filter(|line| cell(line, "seed") == of_seed);
        rows.map(|line| cell(line, "trials").parse::<u32>().unwrap()).max()
    };
    assert_eq!([trials(""), trials("7"), trials("8")], [Some(4), Some(4), Some(2)], "no search for a further seed");
    let table = fs::read_to_string(folder.join("zones-small.md")).unwrap();
    assert_eq!(table.lines().count(), 4, "a row for each workload: {table}");
    assert!(table.contains("| over all seeds |"), "{table}");
    let answers = fs::read_to_string(folder.join("answers.md")).unwrap();
    assert!(answers.contains(" of 3 runs"), "{answers}");
}

/// The parts of the page that its command makes, by their names.
fn included(name: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/frontier.md")).unwrap();
    let (_, behind) = page.split_once(&format!("<!-- begin {name}.md -->\n")).unwrap();
    let text = behind.split_once("<!-- end -->").unwrap().0.trim();
    text.lines().map(str::to_owned).collect()
}

/// What the page says first follows from its tables: the mean, the worst row, and the rows that are lost.
#[test]
fn the_words_of_the_page_are_those_of_its_tables() {
    let answers = included("answers");
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/frontier.md")).unwrap();
    let losses = page.split_once("## Where ours loses").unwrap().1.split_once("\n## ").unwrap().0;
    assert_eq!(answers.len(), 10);
    for answer in answers {
        let name = answer.split("**").nth(1).unwrap();
        let table = included(name);
        let cells = |line: &String| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let rows: Vec<_> = table[2..].iter().map(cells).collect();
        assert_eq!(rows.len(), 10, "{name}");
        // The last column is over all seeds: the mean, the least and the most of what counts, and how many are lost.
        let workload = |row: &Vec<String>| row[1].trim_end_matches(" (synthetic)").to_owned();
        let of_seeds = |row: &Vec<String>| row[row.len() - 2].clone();
        let number = |text: &str| text.trim_matches(|one: char| !one.is_ascii_digit()).parse::<f64>().ok();
        let counted: Vec<_> = rows.iter().filter(|row| !of_seeds(row).starts_with('-')).collect();
        let ratio = |row: &Vec<String>, at: usize| number(of_seeds(row).split_whitespace().nth(at).unwrap()).unwrap();
        let mean = (counted.iter().map(|row| ratio(row, 0).ln()).sum::<f64>() / counted.len() as f64).exp();
        let said = answer.split_whitespace().zip(answer.split_whitespace().skip(1));
        let said: Vec<f64> =
            said.filter(|(_, next)| *next == "times").filter_map(|(number, _)| number.parse().ok()).collect();
        assert!((said[0] / mean - 1.0).abs() < 0.05, "{name}: {mean} and {answer}");
        let worst = counted.iter().max_by(|one, other| ratio(one, 3).total_cmp(&ratio(other, 3))).unwrap();
        assert!((said[1] / ratio(worst, 3) - 1.0).abs() < 0.01, "{name}: {worst:?} and {answer}");
        let named = answer.split_once("times in the worst, ").unwrap().1.split_once('.').unwrap().0;
        let named = counted.iter().find(|row| workload(row) == named).unwrap();
        assert_eq!(ratio(named, 3), ratio(worst, 3), "{name}: {answer}");
        let lost = |row: &Vec<String>| Some((workload(row), number(of_seeds(row).split_once("loses ")?.1)? as u32));
        let lost: Vec<_> = rows.iter().filter_map(lost).collect();
        let all: u32 = lost.iter().map(|(_, times)| times).sum();
        let names: Vec<_> = lost.iter().map(|(name, times)| format!("{name} {times}")).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let said = format!("The best other wins in {all} of 50 runs{names}");
        assert!(answer.contains(&said), "{said}: {answer}");
        for (workload, _) in lost.iter().filter(|_| name != "caches") {
            assert!(losses.contains(&format!("`{workload}`")), "{name}: nothing is said of {workload}");
        }
    }
}
