//! `imbrex validate`: times and counts against numbers that the simulator had no part in.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use imbrex_runs::checks::Check;
use imbrex_terminal::output::{Format, OutputArguments};
use imbrex_terminal::progress::Progress;
use imbrex_terminal::say::note;
use imbrex_terminal::table::{paragraphs, table};

/// Hold the simulator against published seek curves, closed forms and DiskSim
#[derive(Args)]
pub struct Validate {
    /// A folder with DiskSim's measurements, one folder per disk; without it seek curves and closed forms are checked
    #[arg(long, value_name = "DIR")]
    disksim: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

impl Validate {
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let progress = Progress::of_pieces("checking", Check::PIECES);
        let checks = Check::all(self.disksim.as_deref(), &progress)?;
        drop(progress);
        let of = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
        let mut summary = format!("{} passed, {} failed, {} skipped", of("pass"), of("fail"), of("skipped"));
        if self.disksim.is_none() {
            summary += "; name DiskSim's measurements with --disksim to check the mechanics request by request";
        }
        if self.output.format != Format::Table {
            note(&summary);
        }
        output.write(&checks, || format!("{}\n\n{}", shown(&checks), paragraphs(&summary)))?;
        if of("fail") > 0 {
            bail!("{} of {} checks failed", of("fail"), checks.len());
        }
        Ok(())
    }
}

fn shown(checks: &[Check]) -> String {
    let value = |number: Option<f64>| match number {
        None => "-".to_owned(),
        Some(whole) if whole.fract() == 0.0 => format!("{whole}"),
        Some(small) if small.abs() < 0.001 => format!("{small:.1e}"),
        Some(number) => format!("{number:.3}"),
    };
    let cells = |c: &Check| {
        let numbers = [c.expected, c.measured, c.error].map(value);
        let [expected, measured, error] = numbers;
        let (disk, check, note) = (c.disk.clone(), c.check.clone(), c.note.clone());
        [disk, check, expected, measured, error, c.unit.into(), c.verdict.into(), note]
    };
    let headings = ["disk", "check", ">expected", ">measured", ">error", "unit", "verdict", "rule"];
    table(headings, checks.iter().map(cells))
}
