//! Every command that the README and `docs/` show is run.
//!
//! A line of an `sh` block that begins with `imbrex` is run with the words in capitals replaced: traces by samples of
//! their formats, measurements by the part of them that the repository has. Cuts are made fewer, and so are the
//! requests and the volumes of a reproduction and what is measured of speed. Rust that they show is in the sources, and
//! every layer has its place in them. Pictures that they show are what their commands make.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use assert_cmd::Command;
use imbrex::event::Counter;
use imbrex::layers::{self, LayerInfo};
use test_material::cases;
use test_material::traces::{Packing, packed, sample};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("there is such a folder");
    entries.map(|entry| entry.expect("the docs can be read").path())
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a text file can be read")
}

/// The documents and the blocks of a language that each shows.
fn blocks(language: &str) -> Vec<(PathBuf, Vec<String>)> {
    let mut blocks = Vec::new();
    let docs = ["docs", "docs/layers", "docs/reproduction"].into_iter().flat_map(files);
    for file in docs.chain([root().join("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let mut block: Option<Vec<String>> = None;
        for line in read(&file).lines() {
            match (&mut block, line.strip_prefix("```")) {
                (None, Some(opening)) => block = Some(vec![opening.to_owned()]),
                (Some(shown), None) => shown.push(line.to_owned()),
                (Some(shown), Some(_)) => {
                    if shown.remove(0) == language {
                        blocks.push((file.clone(), std::mem::take(shown)));
                    }
                    block = None;
                }
                (None, None) => {}
            }
        }
    }
    blocks
}

/// The documents and the commands each shows.
fn commands() -> impl Iterator<Item = (PathBuf, String)> {
    let lines = |(file, block): (PathBuf, Vec<String>)| block.into_iter().map(move |line| (file.clone(), line));
    blocks("sh").into_iter().flat_map(lines).filter(|(_, line)| !line.trim().is_empty())
}

/// Text without the spaces around its lines, which an excerpt leaves out.
fn flat<'t>(lines: impl IntoIterator<Item = &'t str>) -> String {
    lines.into_iter().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The sources in a folder and below, flattened.
fn sources(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the sources can be read");
    let paths = entries.map(|entry| entry.expect("the sources can be read").path());
    let of = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => sources(&path),
        Some(extension) if extension == "rs" => vec![flat(read(&path).lines())],
        _ => Vec::new(),
    };
    paths.flat_map(of).collect()
}

/// Writes what stands in for the files of commands, and a folder of traces, which has one that is named after a volume.
fn write_samples(folder: &Path) {
    std::fs::create_dir(folder.join("TRACES")).expect("a folder");
    let msr = sample("msr", 1000).content;
    for (name, content) in [
        ("TRACES/hm_0.csv.gz", packed(&msr, Packing::Gzip)),
        ("TRACE", msr),
        ("TRACE.blkparse", sample("blkparse", 1000).content),
        ("TRACE.tencent", sample("tencent", 1000).content),
    ] {
        std::fs::write(folder.join(name), content).expect("a sample can be written");
    }
}

/// The arguments to run a shown command with, in the folder of the samples.
fn arguments(command: &str) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut words = command.split_whitespace().skip(1).peekable();
    while let Some(word) = words.next() {
        arguments.push(match word {
            "DIR" => test_material::disksim().display().to_string(),
            "TRACE..." => "TRACE".to_owned(),
            // The volumes that samples have.
            "wdev,1" => "alpha,1".to_owned(),
            "1063" => "1".to_owned(),
            "LAYER" => "fifo-log".to_owned(),
            // A shell takes the quotes away.
            other => other.trim_matches('"').to_owned(),
        });
        if word == "--cuts" && words.next().is_some() {
            arguments.push("300".to_owned());
        }
    }
    if arguments.first().is_some_and(|command| command == "reproduce") {
        for (option, few) in [("--requests", "200"), ("--seeds", "1")] {
            if let Some(at) = arguments.iter().position(|argument| argument == option) {
                arguments.drain(at..at + 2);
            }
            arguments.extend([option, few].map(str::to_owned));
        }
        if arguments.get(1).is_some_and(|paper| paper == "frontier") && !arguments.iter().any(|word| word == "--trials")
        {
            arguments.extend(["--trials", "1"].map(str::to_owned));
        }
        let volume = ONE_VOLUME.iter().find(|(paper, _)| arguments.get(1).is_some_and(|word| word == paper));
        if let Some((_, volume)) = volume.filter(|_| !arguments.iter().any(|word| word == "--workload")) {
            arguments.extend(["--workload", volume].map(str::to_owned));
        }
    }
    shorten(&mut arguments);
    if arguments.first().is_some_and(|command| command == "bench") && !arguments.iter().any(|word| word == "--quick") {
        arguments.push("--quick".to_owned());
    }
    arguments
}

/// Papers that are run for one volume here, which is filled before: reproduce.rs runs each for all its volumes.
const ONE_VOLUME: [(&str, &str); 4] =
    [("amphisbaena", "hm_0"), ("frontier", "hm_0"), ("pore", "hm_0"), ("tracklace", "usr_2")];

/// Requests of a replay that is run here, where nobody looks at its numbers.
const REQUESTS: usize = 20_000;

/// A replay of many requests becomes one of few, unless what it draws is shown or it says itself what of it counts.
fn shorten(arguments: &mut Vec<String>) {
    let replays = arguments.first().is_some_and(|command| ["replay", "compare"].contains(&command.as_str()));
    let needs_all = |argument: &String| {
        ["--warm-up", "--steady"].iter().any(|needs| argument.starts_with(needs)) || argument.ends_with(".svg")
    };
    if !replays || arguments.iter().any(needs_all) {
        return;
    }
    let most = cases(REQUESTS, usize::MAX);
    match arguments.iter().position(|argument| argument == "--requests") {
        Some(at) => {
            let shown = imbrex_runs::values::requests(&arguments[at + 1]).expect("a number of requests").get() as usize;
            arguments[at + 1] = shown.min(most).to_string();
        }
        None if most < usize::MAX => arguments.extend(["--requests".to_owned(), most.to_string()]),
        None => {}
    }
}

/// The README's two commands, which build what is under test and run this test, and what takes long and is run by the
/// tests that look at its rows, in results.rs, tables.rs, bench.rs and rebuild.rs.
const RUN_ELSEWHERE: [&str; 5] = [
    "cargo run --release -p imbrex-cli --no-default-features -- compare",
    "make test",
    "imbrex validate",
    "imbrex validate --disksim DIR",
    "imbrex bench --quick",
];
/// What those commands begin with of which rebuild.rs looks at the rows.
const REBUILDS: &str = "imbrex compare raid-rebuild ";

/// What is shown in a document is run in a folder of its own, in the order in which it is shown: what one command makes
/// another one uses.
fn run_all(file: &Path, commands: &[String]) {
    let folder = tempfile::tempdir().expect("a folder");
    write_samples(folder.path());
    for command in commands {
        if RUN_ELSEWHERE.contains(&command.as_str()) || command.starts_with(REBUILDS) {
            continue;
        }
        let is_ours = command.split_whitespace().next() == Some("imbrex");
        assert!(is_ours, "{}: '{command}' is shown and not run by this test", file.display());
        let result = Command::cargo_bin("imbrex")
            .expect("the program is built")
            .args(arguments(command))
            .current_dir(&folder)
            .assert();
        // Without a rule the explorer has to find something.
        if command.contains("--without") {
            result.failure()
        } else {
            result.success()
        };
    }
    for name in pictures(&read(file)) {
        let (made, kept) = (folder.path().join(&name), root().join("docs/pictures").join(&name));
        let is_current = std::fs::read(&made).is_ok_and(|made| std::fs::read(&kept).is_ok_and(|kept| kept == made));
        assert!(is_current, "{}: docs/pictures/{name} is not what its commands make", file.display());
    }
}

/// The pictures that a document shows.
fn pictures(text: &str) -> Vec<String> {
    let named = text.split("pictures/").skip(1).filter_map(|rest| rest.split(')').next());
    named.filter(|name| name.ends_with(".svg")).map(str::to_owned).collect()
}

/// What needs no file and leaves none need not be run for every document that shows it.
const ALIKE_EVERYWHERE: [&str; 4] = ["imbrex list", "imbrex validate", "imbrex bench", "imbrex reproduce"];

#[test]
fn every_command_shown_works() {
    let mut documents: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (file, command) in commands() {
        let is_alike = ALIKE_EVERYWHERE.iter().any(|alike| command.starts_with(alike)) && !command.contains("--output");
        if !is_alike || seen.insert(arguments(&command)) {
            documents.entry(file).or_default().push(command);
        }
    }
    assert!(documents.len() > 10, "only {} documents show commands", documents.len());
    let waiting = Mutex::new(documents.into_iter());
    let next = || waiting.lock().expect("no thread panics with it").next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((file, commands)) = next() {
                    run_all(&file, &commands);
                }
            });
        }
    });
}

#[test]
fn every_excerpt_is_in_the_sources() {
    let sources =
        ["crates/imbrex-core/src", "crates/imbrex-layers/src", "crates/imbrex-simulation/src", "template/src"]
            .map(|folder| sources(&root().join(folder)))
            .concat();
    let excerpts = blocks("rust");
    assert!(excerpts.len() >= 3, "only {} excerpts were found", excerpts.len());
    for (file, excerpt) in excerpts {
        let shown = flat(excerpt.iter().map(String::as_str));
        assert!(sources.iter().any(|source| source.contains(&shown)), "{}: not so any more:\n{shown}", file.display());
    }
}

/// What is said nowhere of a layer: its row in the list of layers, the page whose title names it, and its fields there or on a
/// page that it refers to.
fn missing(info: &LayerInfo, pages: &[(String, String)], list: &str) -> Vec<String> {
    let name = format!("`{}`", info.name);
    let row = (!list.contains(&format!("\n| [{name}]("))).then(|| format!("{name} has no row in the list of layers"));
    let is_of = |page: &&(String, String)| page.1.lines().next().is_some_and(|title| title.contains(&name));
    let Some((_, page)) = pages.iter().find(is_of) else {
        return row.into_iter().chain([format!("{name} has no page")]).collect();
    };
    let referred = pages.iter().filter(|(file, _)| page.contains(&format!("({file}"))).map(|(_, text)| text);
    let said: Vec<&String> = referred.chain([page]).collect();
    let is_missing = |key: &str| !said.iter().any(|text| text.contains(&format!("`{key}")));
    let fields = info.fields.iter().filter(|field| is_missing(field.key));
    row.into_iter().chain(fields.map(|field| format!("the page of {name} leaves out {}", field.key))).collect()
}

/// The reference of results has a row for each counter, in the words of the layer that declares it.
#[test]
fn every_counter_of_a_layer_is_described() {
    let row = |info: &LayerInfo, counter: &Counter| {
        let Counter { key, unit, meaning } = counter;
        format!("| `counters.{key}` | `{}` | {unit} | {meaning} |", info.name)
    };
    let declared = layers::ALL.iter().flat_map(|info| info.counters().iter().map(move |counter| row(info, counter)));
    let reference = read(&root().join("docs/json.md"));
    let described = reference.lines().filter(|line| line.starts_with("| `counters.") && !line.contains(".*`"));
    let declared: Vec<String> = declared.collect();
    assert!(declared.len() > 10, "{declared:#?}");
    assert_eq!(described.collect::<Vec<_>>(), declared);
}

#[test]
fn what_a_paper_has_otherwise_is_described() {
    let row = |info: &LayerInfo| {
        let of_paper = info.fields.iter().filter_map(|field| Some(format!("`{} = {}`", field.key, field.paper?)));
        let of_paper: Vec<String> = of_paper.collect();
        (!of_paper.is_empty()).then(|| format!("| `{}` | {} |", info.name, of_paper.join(", ")))
    };
    let page = read(&root().join("docs/simulation.md"));
    let (_, table) = page.split_once("`preset=paper` sets |\n|---|---|\n").expect("a table");
    let described: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(described, layers::ALL.iter().filter_map(row).collect::<Vec<_>>());
}

#[test]
fn every_layer_and_its_fields_are_described() {
    let named = |file: PathBuf| (file.file_name().unwrap_or_default().to_string_lossy().into_owned(), read(&file));
    let pages: Vec<(String, String)> = files("docs/layers").map(named).collect();
    let list = read(&root().join("docs/layers/README.md"));
    let all: Vec<String> = layers::ALL.iter().flat_map(|info| missing(info, &pages, &list)).collect();
    assert!(all.is_empty(), "{all:#?}");
    let log = layers::find("log-choices").expect("the guide's example");
    assert!(missing(log, &pages, "").len() == 1 && missing(log, &[], &list).len() == 1);
    let bare = [("log.md".to_owned(), "# `log-choices`".to_owned())];
    assert_eq!(missing(log, &bare, &list).len(), log.fields.len());
}
