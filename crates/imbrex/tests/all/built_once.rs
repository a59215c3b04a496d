//! What CI builds one after the other is compiled once, since what lies below has the same features in both.
//!
//! A crate that gains a feature in the second build is compiled again, with all that stands on it.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The crates of a build, each with its features. `edges` are the kinds of dependencies that are followed.
fn crates(edges: &str, chosen: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p} {f}", "--edges", edges]);
    let output = cargo.args(chosen).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The crates of `first`, but for one, that `second` does not have with the same features.
fn apart(first: &BTreeSet<String>, second: &BTreeSet<String>, but_for: &str) -> Vec<String> {
    let rest = first.difference(second).filter(|line| line.split(' ').next() != Some(but_for));
    rest.cloned().collect()
}

#[test]
fn the_package_for_python_stands_on_what_the_tests_do() {
    let package = crates("normal,build", &["--package", "imbrex-python"]);
    let tests = crates("normal,build,dev", &["--workspace"]);
    assert!(package.len() > 50 && tests.len() > package.len());
    let apart = apart(&package, &tests, "");
    assert!(apart.is_empty(), "give these the features that the workspace wants of them:\n{}", apart.join("\n"));
}

#[test]
fn papers_and_benchmarks_stand_on_what_the_first_command_does() {
    let steps = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../checks/steps.toml")).unwrap();
    assert!(steps.contains(" -p imbrex-cli --no-default-features -- compare"), "it is built in another way now");
    assert!(steps.contains(" -p imbrex-cli --no-default-features --features bench,papers"), "as are these");
    let program = ["--package", "imbrex-cli", "--no-default-features"];
    let first = crates("normal,build", &program);
    let all = crates("normal,build", &[&program[..], &["--features", "bench,papers"]].concat());
    assert!(first.len() > 50 && all.len() > first.len());
    let apart = apart(&first, &all, "imbrex-cli");
    assert!(apart.is_empty(), "these gain features:\n{}", apart.join("\n"));
    // The check itself: compressed traces are read by a part below.
    let compressed = crates("normal,build", &[&program[..], &["--features", "compression"]].concat());
    assert!(self::apart(&first, &compressed, "imbrex-cli").iter().any(|line| line.starts_with("imbrex-trace ")));
}
