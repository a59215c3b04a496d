//! Every command that the README and `docs/` show is run.
//!
//! A line of an `sh` block that begins with `imbrex` is run with the words in capitals replaced: traces by samples of
//! their formats, measurements by the part of them that the repository has. Cuts are made fewer, and so are the requests
//! of a reproduction and what is measured of speed.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use test_material::traces::{Packing, packed, sample};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("there is such a folder");
    entries.map(|entry| entry.expect("the docs can be read").path())
}

/// The documents and the commands each shows.
fn commands() -> Vec<(PathBuf, String)> {
    let mut commands = Vec::new();
    let docs = ["docs", "docs/layers", "docs/reproduction"].into_iter().flat_map(files);
    for file in docs.chain([root().join("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = std::fs::read_to_string(&file).expect("a document can be read");
        let mut in_shell = false;
        for line in text.lines() {
            if line.starts_with("```") {
                in_shell = line == "```sh";
            } else if in_shell && !line.trim().is_empty() {
                commands.push((file.clone(), line.to_owned()));
            }
        }
    }
    commands
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
            other => other.to_owned(),
        });
        if word == "--cuts" && words.next().is_some() {
            arguments.push("300".to_owned());
        }
    }
    if arguments.first().is_some_and(|command| command == "reproduce") {
        if let Some(at) = arguments.iter().position(|argument| argument == "--requests") {
            arguments.drain(at..at + 2);
        }
        arguments.extend(["--requests", "200"].map(str::to_owned));
    }
    if arguments.first().is_some_and(|command| command == "bench") && !arguments.iter().any(|word| word == "--quick") {
        arguments.push("--quick".to_owned());
    }
    arguments
}

#[test]
fn every_command_shown_works() {
    let folder = tempfile::tempdir().unwrap();
    write_samples(folder.path());
    let mut run = 0;
    for (file, command) in commands() {
        match command.split_whitespace().next() {
            Some("imbrex") => {}
            // The README's two commands: they build what is under test and run this test.
            _ if ["cargo run --release -- compare", "make test"].contains(&command.as_str()) => continue,
            _ => panic!("{}: '{command}' is shown and not run by this test", file.display()),
        }
        let result = Command::cargo_bin("imbrex").unwrap().args(arguments(&command)).current_dir(&folder).assert();
        // Without a rule the explorer has to find something.
        if command.contains("--without") {
            result.failure()
        } else {
            result.success()
        };
        run += 1;
    }
    assert!(run > 5, "only {run} commands were found");
}
