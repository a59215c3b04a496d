//! Every command that the README and `docs/` show is run.
//!
//! A line of an `sh` block that begins with `imbrex` is run with the words in capitals replaced: what needs files that
//! are not part of the project is skipped, with a message, where they are absent. Cuts are made fewer, and so are the
//! requests of a reproduction and what is measured of speed.

use std::path::{Path, PathBuf};

use assert_cmd::Command;

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

/// The arguments to run a shown command with, or why it is not run.
fn arguments(command: &str) -> Result<Vec<String>, String> {
    let shared = root().join("../shared");
    let present = |path: PathBuf| {
        let text = path.display().to_string();
        if path.exists() { Ok(text) } else { Err(format!("{text} is not there")) }
    };
    let mut arguments: Vec<String> = Vec::new();
    let mut words = command.split_whitespace().skip(1).peekable();
    while let Some(word) = words.next() {
        arguments.push(match word {
            "DIR" => present(shared.join("facts/disksim"))?,
            "TRACE" | "TRACE..." => present(shared.join("traces/msr-wdev_1.csv"))?,
            "TRACE.blkparse" => present(shared.join("traces/hadoop.blkparse.zst"))?,
            "TRACE.tencent" => present(shared.join("traces/tencent-cbs-sample.csv.zst"))?,
            "TRACES" => present(shared.join("traces"))?,
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
    Ok(arguments)
}

#[test]
fn every_command_shown_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = 0;
    for (file, command) in commands() {
        match command.split_whitespace().next() {
            Some("imbrex") => {}
            // The README's two commands: they build what is under test and run this test.
            _ if ["cargo run --release -- compare", "make test"].contains(&command.as_str()) => continue,
            _ => panic!("{}: '{command}' is shown and not run by this test", file.display()),
        }
        match arguments(&command) {
            Err(why) => println!("skipped '{command}': {why}"),
            Ok(arguments) => {
                let result = Command::cargo_bin("imbrex").unwrap().args(&arguments).current_dir(&folder).assert();
                // Without a rule the explorer has to find something.
                if command.contains("--without") {
                    result.failure()
                } else {
                    result.success()
                };
                run += 1;
            }
        }
    }
    assert!(run > 5, "only {run} commands were found");
}
