//! `imbrex trace`: what can be done with traces themselves.

mod conversion;
mod convert;
mod generate;
mod lines;
mod prepopulate;
mod published;
#[cfg(target_os = "linux")]
mod record;
pub mod stat;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Look at traces, record, convert and generate them
#[derive(Args)]
pub struct Trace {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Stat(stat::Stat),
    Convert(convert::Convert),
    Generate(generate::Generate),
    Prepopulate(prepopulate::Prepopulate),
    #[cfg(target_os = "linux")]
    Record(record::Record),
}

impl Trace {
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Stat(command) => command.run(),
            Command::Convert(command) => command.run(),
            Command::Generate(command) => command.run(),
            Command::Prepopulate(command) => command.run(),
            #[cfg(target_os = "linux")]
            Command::Record(command) => command.run(),
        }
    }
}
