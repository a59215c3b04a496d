//! `imbrex grow`: more space of a volume that is served.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use imbrex_live::service::control::{self, Question, Reply};
use imbrex_runs::values::size;
use imbrex_terminal::output::print_line;

use super::{socket, status};

/// Add space to a served volume while it is used (online resize); clients see the new size when they connect again
#[derive(Args)]
pub struct Grow {
    /// The server's socket, its control socket, or the volume's first store
    socket: PathBuf,
    /// By how much at least, such as 25GiB; that it is to grow is durable when the command ends
    #[arg(value_name = "SIZE", value_parser = size)]
    bytes: u64,
}

impl Grow {
    /// Asks for more space.
    ///
    /// # Errors
    /// When no server answers, or the layer cannot grow.
    pub fn run(self) -> Result<()> {
        let control = socket::control_of(&self.socket);
        match control::ask(&control, Question::Grow { bytes: self.bytes })? {
            Reply::Status(status) => print_line(status::shown(&status).trim_end_matches('\n'))?,
            _ => bail!("the server answers what it was not asked"),
        }
        Ok(())
    }
}
