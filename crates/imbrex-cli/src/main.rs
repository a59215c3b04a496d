//! The `imbrex` program.

mod bench;

use clap::{Parser, Subcommand};

/// Translation layers for overlapped-track hard disks.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures how fast imbrex is on this machine.
    Bench(bench::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Bench(args) => bench::run(&args),
    }
}
