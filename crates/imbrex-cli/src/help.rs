//! `imbrex help`: of a command what its options are, and of a layer what can be set.

use std::slice;

use anyhow::{Result, bail};
use clap::{Args, Command};
use imbrex::layers;
use imbrex_terminal::output::{Format, Output};

use crate::list::list_layers;

/// Explain a command or a layer
#[derive(Args)]
pub struct Help {
    /// A command, or a layer from `imbrex list layers`; without it, all commands
    #[arg(value_name = "COMMAND|LAYER")]
    about: Option<String>,
}

impl Help {
    /// Explains what it is about, of `program`.
    pub fn run(self, program: Command) -> Result<()> {
        if let Some(name) = self.about.as_ref().filter(|name| program.find_subcommand(name).is_none()) {
            if layers::find(name).is_err() {
                bail!("there is no command and no layer '{name}'; see `imbrex help` and `imbrex list layers`");
            }
            return list_layers(Output::standard(Format::Table), slice::from_ref(name), true);
        }
        let words = [Some("imbrex"), self.about.as_deref(), Some("--help")].into_iter().flatten();
        // What stands in place of options is then the help.
        program.try_get_matches_from(words).err().map_or(Ok(()), |help| Ok(help.print()?))
    }
}
