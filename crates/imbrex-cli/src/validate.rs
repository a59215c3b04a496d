//! `imbrex validate`: times and counts against numbers that the simulator had no part in.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use imbrex::validate::{self, Comparison, Verdict};
use imbrex_terminal::output::{Format, OutputArguments};
use imbrex_terminal::progress::Progress;
use imbrex_terminal::say::note;
use imbrex_terminal::table::{paragraphs, table};
use serde::Serialize;

use crate::parallel;

/// The version of [`Check`].
const SCHEMA: &str = "imbrex.check/1";

/// Hold the simulator against published seek curves, closed forms and DiskSim
#[derive(Args)]
pub struct Validate {
    /// A folder with DiskSim's measurements, one folder per disk; without it seek curves and closed forms are checked
    #[arg(long, value_name = "DIR")]
    disksim: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// What can be checked without files, in the order in which it is shown.
const GROUPS: [fn() -> Result<Vec<Comparison>>; 9] = [
    || Ok(validate::seek_curves()?),
    || Ok(validate::drive_managed()?),
    || Ok(validate::band_rewrite()?),
    || Ok(validate::random_writes()?),
    || Ok(validate::interlaced()?),
    || Ok(validate::log_cleaning()?),
    || Ok(validate::greedy_pages()?),
    || Ok(validate::loop_of_writes()?),
    || Ok(validate::cache_over_bands()?),
];

/// A comparison with its verdict in a word.
#[derive(Serialize)]
pub struct Check {
    schema: &'static str,
    disk: String,
    check: String,
    expected: Option<f64>,
    measured: Option<f64>,
    error: Option<f64>,
    unit: &'static str,
    verdict: &'static str,
    note: String,
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

impl Check {
    /// Pieces of work that all of them take.
    pub const PIECES: usize = GROUPS.len();

    /// All of them, with those against DiskSim's measurements if their folder is named. They are
    /// [`Check::PIECES`] of the work that `progress` shows.
    ///
    /// # Errors
    /// What is wrong with the measurements, or with a drive or layer that is checked; a check that fails is none.
    pub fn all(disksim: Option<&Path>, progress: &Progress) -> Result<Vec<Self>> {
        let of_disksim = disksim.map(validate::disksim).transpose()?;
        let groups = parallel::each(parallel::cores(), &GROUPS, |group| {
            if progress.is_stopped() {
                bail!("stopped");
            }
            let rows = group()?;
            progress.piece().reach(1.0);
            Ok(rows)
        })?;
        let rows = groups.into_iter().flatten().chain(of_disksim.into_iter().flatten());
        Ok(rows.map(Self::from).collect())
    }
}

impl From<Comparison> for Check {
    fn from(row: Comparison) -> Self {
        let Comparison { disk, check, expected, measured, error, unit, verdict, note } = row;
        let (verdict, note) = match verdict {
            Verdict::Pass => ("pass", note),
            Verdict::Fail => ("fail", note),
            Verdict::Skipped(why) => ("skipped", why),
        };
        Self { schema: SCHEMA, disk, check, expected, measured, error, unit, verdict, note }
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
