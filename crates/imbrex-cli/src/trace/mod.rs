//! `imbrex trace`: what there is to do with traces besides replaying them.

mod conversion;
mod convert;
mod generate;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Convert and generate traces
#[derive(Args)]
pub struct Trace {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Convert(convert::Convert),
    Generate(generate::Generate),
}

impl Trace {
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Convert(command) => command.run(),
            Command::Generate(command) => command.run(),
        }
    }
}
