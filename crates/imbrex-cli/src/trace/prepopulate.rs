//! `imbrex trace prepopulate`: a trace that meets an aged disk.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use imbrex::trace::Workload;
use imbrex::trace::derived::prepopulated::{Prepopulated, Prepopulation};
use imbrex_runs::trace_files::TraceFiles;
use imbrex_runs::workload::Watched;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;

use super::conversion::{self, Target};

/// Write a trace behind writes of its own in another order, which age the disk that it meets
///
/// The writes are cut into chunks of ten seconds in which something is written, the chunks are shuffled, and as many of
/// them as hold the share that is asked for come before the trace.
#[derive(Args)]
pub struct Prepopulate {
    /// A trace file, a synthetic workload ending in .toml, or a name from `imbrex list workloads`
    #[arg(value_name = "TRACE|WORKLOAD")]
    workload: String,
    /// The file to write; it appears, or replaces the one there, when it is complete
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    to: PathBuf,
    /// How many of the writes come before the trace, such as 50%
    #[arg(long, value_name = "PERCENT", default_value = "100%", value_parser = share)]
    share: f64,
    /// Shuffle as this seed says
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    file: TraceFiles,
}

impl Prepopulate {
    pub fn run(self) -> Result<()> {
        stop::on_ctrl_c();
        let workload = self.target.named(&self.workload, None, &self.file.options())?;
        if let Some(from) = workload.file() {
            conversion::refuse_same_file(&from.path, &self.to)?;
        }
        let before = {
            let reading = Progress::of_pieces("reading", 1);
            let mut source = Watched::new(&workload, self.target.requests(), &reading)?;
            Prepopulation::of(&mut source, self.share, self.seed)?
        };
        let prepopulated = Workload::Prepopulated(Box::new(Prepopulated::new(workload, before)));
        conversion::write(&prepopulated, &self.to, &self.target.whole())
    }
}

fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let share = percent.map(|percent: f64| percent / 100.0).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a percentage from 0% to 100%".to_owned())
}
