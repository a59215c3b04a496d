//! `imbrex trace generate`: a synthetic workload as a file.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use imbrex::trace::{FileOptions, Workload};

use super::conversion::{self, Target};

/// Write the requests of a synthetic workload to a file
#[derive(Args)]
pub struct Generate {
    /// A synthetic workload ending in .toml, or a name from `imbrex list workloads`
    workload: String,
    /// The file to write; it appears, or replaces the one there, when it is complete
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    to: PathBuf,
    /// Draw the requests from this seed instead of the workload's own
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    target: Target,
}

impl Generate {
    pub fn run(self) -> Result<()> {
        let workload = self.target.named(&self.workload, self.seed, &FileOptions::default())?;
        if let Workload::File(_) = workload {
            bail!("{} is a trace file and no workload to generate; imbrex trace convert takes it", self.workload);
        }
        conversion::write(&workload, &self.to, &self.target)
    }
}
