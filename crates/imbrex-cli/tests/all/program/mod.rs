//! Runs the program and looks at what it leaves.

use std::process::Output;

use assert_cmd::Command;

/// What the program did with these arguments, separated by spaces.
pub fn imbrex(arguments: &str) -> Output {
    Command::cargo_bin("imbrex").unwrap().args(arguments.split_whitespace()).output().unwrap()
}
