//! `checks/left-out.sh` counts what the command that it runs leaves out.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "clippy takes the helpers of an integration test for library code")]

use std::process::Command;

use test_material::{LEFT_OUT, repository};

/// What is printed when `script` is run, and the status that it ends with.
fn run(script: &str) -> (String, Option<i32>) {
    let counter = repository().join("checks/left-out.sh");
    let output = Command::new(counter).args(["sh", "-c", script]).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

/// A command that leaves out a check.
fn leave_out(check: &str, why: &str) -> String {
    format!("printf '%s\\t%s\\n' '{check}' '{why}' >> \"${LEFT_OUT}\"")
}

#[test]
fn nothing_is_said_to_be_nothing() {
    assert_eq!(run("echo a test"), ("a test\nnothing was left out\n".to_owned(), Some(0)));
}

#[test]
fn what_is_left_out_is_counted_by_reason() {
    let pairs = [("b", "no traces"), ("fio", "no nbdkit"), ("a", "no traces"), ("b", "no traces")];
    let script = pairs.map(|(check, why)| leave_out(check, why)).join("\n");
    let expected = "4 checks left out:\n  no nbdkit:\n    fio\n  no traces:\n    a\n    b\n";
    assert_eq!(run(&script), (expected.to_owned(), Some(0)));
}

#[test]
fn a_failure_stays_one() {
    let (said, status) = run(&format!("{}; exit 3", leave_out("a", "no b")));
    assert_eq!((said.as_str(), status), ("1 check left out:\n  no b:\n    a\n", Some(3)));
}
