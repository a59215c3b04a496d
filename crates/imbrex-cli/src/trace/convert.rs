//! `imbrex trace convert`: a trace in another format.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use imbrex::trace::Workload;

use super::conversion::{self, Target};
use crate::trace_file::TraceFileArguments;

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
    file: TraceFileArguments,
}

impl Convert {
    pub fn run(self) -> Result<()> {
        let workload = self.target.named(&self.from, None, &self.file.options())?;
        if let Workload::File(from) = &workload
            && is_same_file(&from.path, &self.to)
        {
            bail!("{} would replace the trace it is made from; name another file", self.to.display());
        }
        conversion::write(&workload, &self.to, &self.target)
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    fs::metadata(a).is_ok_and(|is| is.is_file())
        && matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
