//! The `imbrex` program, with the layers that it comes with.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    imbrex_cli::run_with(&[])
}
