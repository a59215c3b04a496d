//! `imbrex trace convert`: a trace in another format.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use imbrex_runs::trace_files::TraceFiles;

use super::conversion::{self, Target};

/// Write a trace or workload in another format
#[derive(Args)]
pub struct Convert {
    /// A trace file, a synthetic workload ending in .toml, or a name from `imbrex list workloads`
    #[arg(value_name = "IN")]
    from: String,
    /// The file to write; it appears, or replaces the one there, when it is complete
    #[arg(value_name = "OUT")]
    to: PathBuf,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    file: TraceFiles,
}

impl Convert {
    pub fn run(self) -> Result<()> {
        let workload = self.target.named(&self.from, None, &self.file.options())?;
        if let Some(from) = workload.file() {
            conversion::refuse_same_file(&from.path, &self.to)?;
        }
        conversion::write(&workload, &self.to, &self.target)
    }
}
