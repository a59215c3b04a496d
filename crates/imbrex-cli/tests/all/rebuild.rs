//! What the page about rebuilds shows of shingled disks.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::imbrex;

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rebuild.md")).unwrap()
}

/// The rows of each table that begins with these headings.
fn tables(page: &str, headings: &str) -> Vec<Vec<String>> {
    let rows = |behind: &str| {
        behind.lines().skip(2).take_while(|line| line.starts_with('|')).map(str::to_owned).collect::<Vec<_>>()
    };
    page.split(headings).skip(1).map(rows).collect()
}

/// The commands that the page shows and that make rows of its tables.
fn commands(page: &str) -> Vec<String> {
    let shown = page.lines().filter_map(|line| line.strip_prefix("imbrex compare raid-rebuild "));
    shown.map(|rest| format!("compare raid-rebuild {rest}")).collect()
}

fn rows(command: &str) -> Vec<Value> {
    let output = imbrex(&format!("{command} --format json"));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(row: &Value, field: &str) -> f64 {
    row.pointer(field).and_then(Value::as_f64).unwrap()
}

/// Over how long it took on a conventional disk of the same size.
fn times(row: &Value, rows: &[Value]) -> f64 {
    let is_its = |other: &&Value| {
        let alike = ["trace", "drive", "drive_blocks"].iter().all(|field| other[field] == row[field]);
        other["layer"] == "conventional" && alike
    };
    number(row, "/simulated_seconds") / number(rows.iter().find(is_its).unwrap(), "/simulated_seconds")
}

fn cells(row: &Value, rows: &[Value]) -> String {
    let [longest, tail] = ["/latency_ms/max", "/latency_ms/p999"].map(|field| number(row, field) / 1e3);
    let text = |field: &str| row[field].as_str().unwrap();
    format!(
        "| `{}` | `{}` | `{}` | {longest:.1} s | {tail:.1} s | {} | {:.0} s | {:.1} | {:.0} s |",
        text("trace"),
        text("drive"),
        text("layer"),
        row["requests_over_limit"],
        number(row, "/simulated_seconds"),
        times(row, rows),
        number(row, "/rest_seconds"),
    )
}

/// A conventional disk is shown in the size that most layers need.
fn shown(rows: &[Value]) -> impl Iterator<Item = String> {
    let is_shown = |row: &&Value| row["layer"] != "conventional" || row["drive_blocks"] == rows[0]["drive_blocks"];
    rows.iter().filter(is_shown).map(|row| cells(row, rows))
}

#[test]
fn the_page_shows_what_its_commands_measure() {
    let page = page();
    let measured: Vec<_> = commands(&page).into_iter().map(|command| (rows(&command), command)).collect();
    // The whole of the workloads, the beginning of them, and on an empty disk.
    let mut made = vec![Vec::new(); 3];
    for (rows, command) in &measured {
        let table = ["--requests", "--prefill"].iter().position(|option| command.contains(option));
        made[table.map_or(0, |table| table + 1)].extend(shown(rows));
    }
    let tables = tables(&page, "| workload | drive | layer | longest |");
    let should = made.iter().map(|rows| rows.join("\n")).collect::<Vec<_>>().join("\n\n");
    assert_eq!(tables, made, "the tables should be\n{should}");

    // How many times as long as on a conventional disk it took, and the longest request in seconds, in the first table.
    let found = |trace: &str, layer: &str| {
        let is_it = |row: &&Value| row["trace"] == trace && row["layer"] == layer;
        let (row, rows) = measured.iter().find_map(|(rows, _)| Some((rows.iter().find(is_it)?, rows))).unwrap();
        (times(row, rows), number(row, "/latency_ms/max") / 1e3)
    };
    let ((rebuild, longest), (resilver, _)) = (found("raid-rebuild", "skylight"), found("resilver", "skylight"));
    let ((_, by_linux), (by_log, of_log)) = (found("resilver", "dm-zoned"), found("resilver", "log-lifetimes"));
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        format!("here {rebuild:.1} times, and {resilver:.1} times for the resilver of ZFS"),
        format!("stalls for up to {longest:.1} s, and `dm-zoned` on zones of 256 MiB for {by_linux:.1} s"),
        format!("needs {:.1} times as long as", found("raid-rebuild", "log-lifetimes").0),
        format!("and {by_log:.1} times for a resilver, with stalls of up to {of_log:.1} s"),
    ] {
        assert!(flat.contains(&said), "{said}");
    }
}

#[test]
fn the_workload_of_ones_own_that_is_shown_can_be_replayed() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md")).unwrap();
    let shown = page.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    fs::write(&file, shown).unwrap();
    let paced = "--queue-depth 8 --paced --rest --limit 10ms";
    let run = format!("replay {} --layer skylight --drive small-banded --capacity 2GiB {paced}", file.display());
    let row = rows(&run).remove(0);
    assert_eq!(
        (&row["trace"], &row["requests"], &row["options"]["paced"]),
        (&"own".into(), &20_000.into(), &true.into())
    );
    let over = row["requests_over_limit"].as_u64().unwrap();
    assert!(over > 0 && row["options"]["limit_ns"] == 10_000_000, "{row}");
    let report = String::from_utf8(imbrex(&run).stdout).unwrap();
    for said in ["longer than 10 ms", "at rest after the last request", "at most 8 at a time"] {
        assert!(report.contains(said), "{said}: {report}");
    }
    let compared =
        String::from_utf8(imbrex(&run.replace("replay", "compare").replace("layer", "layers")).stdout).unwrap();
    assert!(compared.contains("over") && compared.contains("longer than 10 ms"), "{compared}");
    assert!(
        !String::from_utf8(imbrex("compare zipf --layers conventional --requests 100").stdout)
            .unwrap()
            .contains("Over:")
    );
}

#[test]
fn a_shorter_queue_makes_stalls_shorter_and_not_the_rebuild_longer() {
    let page = page();
    let mut made = Vec::new();
    for (layer, command) in ["skylight", "dm-zoned"].iter().zip(commands(&page)) {
        let (_, options) = command.split_once(" --drive ").unwrap();
        let at = |depth: u32| {
            let options = options.replace("--queue-depth 32", &format!("--queue-depth {depth}"));
            let layers = options.split_once("--layers ").unwrap().1.split(' ').next().unwrap();
            let options = options.replace(layers, layer);
            // What is set of layers that take no part would be refused.
            let options = options.split(" --set ").next().unwrap().to_owned();
            let row = rows(&format!("replay resilver --drive {options}").replace("--layers", "--layer")).remove(0);
            (number(&row, "/latency_ms/max") / 1e3, number(&row, "/simulated_seconds"))
        };
        let [one, few, all] = [1, 4, 32].map(at);
        let shown = [one, few, all].map(|(longest, took)| format!("{longest:.1} s, {took:.0} s"));
        made.push(format!("| `{layer}` | {} |", shown.join(" | ")));
        assert!(few.0 < all.0 / 1.5 && few.1 < all.1 * 1.05, "{layer}: {few:?}, {all:?}");
    }
    let shown = tables(&page, "| `resilver` on | 1 |");
    assert_eq!(shown, [made.clone()], "the table should be\n{}", made.join("\n"));
}
