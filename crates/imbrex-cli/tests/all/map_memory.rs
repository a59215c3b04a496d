//! A log's map in bounded memory: what the document shows of it, and what is printed.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use test_material::cases;

/// The document's lines of this kind of block, the first one.
fn block(document: &str, language: &str) -> String {
    let (_, rest) = document.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The cells of the table of results.
fn table(document: &str) -> Vec<Vec<String>> {
    let (_, rest) = document.split_once("| memory | layer |").unwrap();
    let lines = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn document() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/map-memory.md")).unwrap()
}

/// The rows of a run with one layer, in JSON.
fn run(folder: &Path, command: &str, memory: &str, layer: &str) -> Value {
    let command = command.replace("log-greedy,cold-weight,sepbit", layer);
    let command =
        if memory == "all" { command.replace("--map-memory SIZE", "") } else { command.replace("SIZE", memory) };
    let words = command.split_whitespace().skip(1).chain(["--format", "json"]);
    let output = Command::cargo_bin("imbrex").unwrap().args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()[0].clone()
}

fn cells(memory: &str, layer: &str, row: &Value) -> Vec<String> {
    let number = |at: &str| row.pointer(at).and_then(Value::as_f64);
    let of_1000 = |pages: &str| {
        let pages = number(&format!("/map/{pages}"));
        pages.map_or(String::new(), |pages| format!("{:.0}", pages * 1000.0 / number("/requests").unwrap()))
    };
    let whole = number("/map/map_bytes").map_or(String::new(), |bytes| format!("{:.1} MiB", bytes / 1048576.0));
    vec![
        memory.to_owned(),
        format!("`{layer}`"),
        whole,
        format!("{:.1} ms", number("/latency_ms/mean").unwrap()),
        format!("{:.2}", number("/write_amplification").unwrap()),
        of_1000("lookups"),
        of_1000("read_pages"),
        of_1000("written_pages"),
    ]
}

/// The runs of the table take minutes, so one of them stands for the others unless nobody waits.
#[test]
fn the_documents_results_are_those_of_its_command() {
    let (document, folder) = (document(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("hot.toml"), block(&document, "toml")).unwrap();
    let (command, shown) = (block(&document, "text"), table(&document));
    assert_eq!(shown.len(), 12, "{shown:?}");
    let is_run = |row: &&Vec<String>| cases(0, 1) == 1 || row[0] == "6MiB" && row[1] == "`sepbit`";
    let mut writes = Vec::new();
    for row in shown.iter().filter(is_run) {
        let layer = row[1].trim_matches('`');
        let ran = run(folder.path(), &command, &row[0], layer);
        assert_eq!(cells(&row[0], layer, &ran), *row);
        writes.push(ran["latency_ms"]["write"]["mean"].as_f64().unwrap());
    }
    if let [greedy, _, sepbit, _, ..] = writes[..] {
        let said = format!("a write takes {sepbit:.0} ms instead of {greedy:.1}");
        assert!(document.replace("\n  ", " ").contains(&said), "{said}");
    }
}

/// What is said in a sentence follows from the table.
#[test]
fn the_summary_of_the_results_is_that_of_the_table() {
    let document = document();
    let table = table(&document);
    let number = |row: &[String], at: usize| row[at].trim_end_matches(" ms").parse::<f64>().unwrap();
    let of = |memory: usize, layer: usize, at: usize| number(&table[3 * memory + layer], at);
    let least_and_most = |values: Vec<f64>| {
        let [least, most] = [f64::min, f64::max].map(|which| values.iter().copied().reduce(which).unwrap());
        (least, most)
    };
    let times = |memory: usize| {
        let (least, most) = least_and_most((0..3).map(|layer| of(memory, layer, 3) / of(0, layer, 3)).collect());
        format!("{least:.1} to {most:.1} times")
    };
    let more = |memory: usize| (0..3).map(move |layer| of(memory, layer, 4) - of(0, layer, 4));
    let (least, most) = least_and_most((1..4).flat_map(more).collect());
    let said = document.replace('\n', " ");
    for sentence in [
        format!("with a tenth of the map in memory a request takes {} as long", times(1)),
        format!("with a hundredth {}", times(2)),
        format!("with a thousandth {}", times(3)),
        format!("write amplification grows by {least:.1} to {most:.1}"),
        format!("`sepbit` takes {:.1} times as long as `log-greedy`", of(0, 2, 3) / of(0, 0, 3)),
    ] {
        assert!(said.contains(&sentence), "{sentence}");
    }
    let (least, most) = least_and_most((0..3).map(|layer| of(2, layer, 3)).collect());
    assert!(most / least < 1.03, "with a hundredth all layers take the same");
    for memory in 0..4 {
        let [greedy, cold, sepbit] = [0, 1, 2].map(|layer| of(memory, layer, 4));
        assert!((0.5..0.6).contains(&(sepbit / greedy)) && (0.9..1.0).contains(&(cold / greedy)));
    }
}

/// A replay shows a table of its own, and CSV has the fields of JSON; neither where the map fits.
#[test]
fn what_a_map_costs_is_shown_where_it_does_not_fit() {
    let shown = |command: &str, rest: &str| {
        let words = format!("{command} --capacity 1GiB --zone-size 1MiB --beyond wrap --requests 2000 {rest}");
        let output = Command::cargo_bin("imbrex").unwrap().args(words.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (replay, compare) = ("replay zipf --layer log-greedy", "compare zipf --layers log-greedy,conventional");
    let row: Value = serde_json::from_str(&shown(replay, "--map-memory 64KiB --format json")).unwrap();
    let row = row.get(0).unwrap_or(&row);
    let table = shown(replay, "--map-memory 64KiB");
    for (name, field) in [("looked up", "lookups"), ("read", "read_pages"), ("written", "written_pages")] {
        let line = table.lines().find(|line| line.starts_with(&format!("pages {name}"))).unwrap();
        assert_eq!(line.split_whitespace().last().unwrap().replace(',', ""), row["map"][field].to_string(), "{line}");
    }
    assert!(table.replace('\n', " ").contains("64 KiB for maps"), "{table}");
    let csv = shown(replay, "--map-memory 64KiB --format csv");
    for field in ["options.map_memory", "map.memory_bytes", "map.map_bytes", "map.lookups", "map.read_pages"] {
        assert!(csv.lines().next().unwrap().split(',').any(|column| column == field), "{field}");
    }
    assert!(shown(compare, "--map-memory 64KiB").contains("map reads"));
    for fits in ["", "--map-memory 64MiB"] {
        assert!(!shown(compare, fits).contains("map reads") && !shown(replay, fits).contains("pages looked up"));
    }
}
