//! `imbrex trace`: what can be done with traces themselves.

mod published;
mod stat;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Look at traces
#[derive(Args)]
pub struct Trace {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Stat(stat::Stat),
}

impl Trace {
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Stat(command) => command.run(),
        }
    }
}
