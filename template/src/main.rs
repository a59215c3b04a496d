//! `imbrex` with this layer: every command of the program knows it by its name.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    imbrex_cli::run_with(&[&imbrex_front::INFO])
}
