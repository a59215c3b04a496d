//! `imbrex check`: whether a volume that is not served is whole, and its repair.

use std::fmt;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use imbrex_live::offline::{self, Checked};
use imbrex_live::volume::Volume;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::say::note;
use imbrex_terminal::table::{count, paragraphs, table};
use serde::Serialize;

use super::{volume_to_read, volume_to_write};

/// The version of [`Report`].
const SCHEMA: &str = "imbrex.checked/1";

/// Check a volume that is not served: every copy of what it says about itself, its journals, and where its blocks lie
///
/// The status is 0 when the volume is whole, 3 when it was damaged and is repaired, 4 when it is damaged, and 1 when it
/// could not be checked. Nothing is written without --repair.
#[derive(Args)]
pub struct Check {
    /// Its stores, in order
    #[arg(required = true, num_args = 1..=2)]
    stores: Vec<PathBuf>,
    /// Read every block that something is mapped to
    #[arg(long)]
    read_data: bool,
    /// Write damaged copies anew from good ones, and put blocks that cannot be read on record as lost (with
    /// --read-data)
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// The status when what was damaged is repaired.
const REPAIRED: u8 = 3;
/// The status when something is damaged.
pub const DAMAGED: u8 = 4;

/// A volume is or was damaged; with the program's status for that.
#[derive(Debug)]
pub struct Found {
    /// The exit status of the program.
    pub status: u8,
    what: String,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Found {}

/// What ends the program with that status.
pub fn found(status: u8, what: impl Into<String>) -> Result<()> {
    Err(Found { status, what: what.into() }.into())
}

/// What a check came to.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    layer: String,
    problems: Vec<String>,
    repaired: bool,
    /// What is left after a repair.
    remaining: Vec<String>,
    mapped_blocks: u64,
    lost_blocks: u64,
    read_blocks: u64,
}

impl Check {
    /// Checks the volume.
    ///
    /// # Errors
    /// When it cannot be opened, or when something is wrong: then a [`Found`].
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let volume = if self.repair { volume_to_write(&self.stores)? } else { volume_to_read(&self.stores)? };
        let report = self.report(volume)?;
        output.write(std::slice::from_ref(&report), || shown(&report))?;
        match (report.problems.len(), report.remaining.len()) {
            (0, _) => Ok(()),
            (_, 0) if report.repaired => found(REPAIRED, "the volume was damaged, and is repaired"),
            (_, 0) => found(DAMAGED, "the volume is damaged; repair it with: imbrex check --repair"),
            (_, left) => found(DAMAGED, format!("the volume is damaged: {left} problems are beyond repair")),
        }
    }

    fn report(&self, volume: Volume) -> Result<Report> {
        let checked = offline::check(&volume, self.read_data);
        let is_repairable = checked.problems.iter().all(|problem| problem.is_repairable);
        let repaired = self.repair && is_repairable && !checked.problems.is_empty();
        let layer = volume.layer().to_owned();
        let remaining = if repaired {
            for left in offline::repair(&volume, &checked)? {
                note(format_args!("warning: not written: {left}"));
            }
            let members = volume.members;
            texts(&offline::check(&Volume::open(members)?, self.read_data))
        } else {
            checked.problems.iter().filter(|problem| !problem.is_repairable).map(|p| p.what.clone()).collect()
        };
        let Checked { mapped_blocks, lost_blocks, read_blocks, .. } = checked;
        let problems = texts(&checked);
        Ok(Report { schema: SCHEMA, layer, problems, repaired, remaining, mapped_blocks, lost_blocks, read_blocks })
    }
}

fn texts(checked: &Checked) -> Vec<String> {
    checked.problems.iter().map(|problem| problem.what.clone()).collect()
}

fn shown(report: &Report) -> String {
    let rows = [
        ("blocks that lie somewhere", report.mapped_blocks),
        ("blocks on record as lost", report.lost_blocks),
        ("blocks read", report.read_blocks),
        ("problems", report.problems.len() as u64),
    ];
    let counted = table([report.layer.as_str(), ">"], rows.map(|(what, number)| [what.to_owned(), count(number)]));
    let what = if report.repaired { "repaired" } else { "damaged" };
    report
        .problems
        .iter()
        .fold(counted, |text, problem| format!("{text}\n{}", paragraphs(&format!("{what}: {problem}"))))
}
