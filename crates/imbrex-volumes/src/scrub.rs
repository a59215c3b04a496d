//! `imbrex scrub`: whether the data of a volume with checksums is what was written.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use imbrex_live::offline;
use imbrex_live::scrub::{Blocks, Found, MemberBlocks};
use imbrex_live::service::control::{self, Question, Reply};
use imbrex_live::service::{ScrubStatus, Status};
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::{count, paragraphs, table};
use serde::Serialize;

use super::check::{DAMAGED, found};
use super::{socket, volume_to_read};

/// The version of [`Report`].
const SCHEMA: &str = "imbrex.scrubbed/1";
/// How often a server is asked how far it is.
const OFTEN: Duration = Duration::from_millis(100);
/// Runs of blocks that are shown in words.
const SHOWN: usize = 100;

/// Read everything that has a checksum, of a volume that is served or of one that is not, and name the blocks
/// that are damaged
///
/// The status is 0 when every block that somebody may read is what was written, 4 when some are not, and 1 when that
/// could not be told. Nothing is written.
#[derive(Args)]
pub struct Scrub {
    /// The volume's stores, in order, or the server's socket
    #[arg(required = true, num_args = 1..=2)]
    stores: Vec<PathBuf>,
    /// How much of the time it may take while the volume is served
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=100))]
    throttle: u8,
    #[command(flatten)]
    output: OutputArguments,
}

/// What a scrub came to.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    layer: String,
    served: bool,
    verified_blocks: u64,
    unsettled_blocks: u64,
    lost_sums: u64,
    /// Logical blocks; null if they cannot be told.
    damaged: Option<Vec<Blocks>>,
    /// Physical blocks that no logical one needs, or of which that cannot be told.
    unneeded: Vec<MemberBlocks>,
}

impl Scrub {
    /// Reads everything that has a checksum.
    ///
    /// # Errors
    /// When the volume cannot be opened, or when something is damaged.
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        stop::on_ctrl_c();
        let control = socket::control_of(&self.stores[0]);
        let is_served = is_socket(&control) && control::ask(&control, Question::Status).is_ok();
        let report = if is_served { self.served(&control)? } else { self.offline()? };
        output.write(std::slice::from_ref(&report), || shown(&report))?;
        let blocks = |runs: &[Blocks]| runs.iter().map(|run| run.blocks).sum::<u64>();
        match &report.damaged {
            Some(damaged) if !damaged.is_empty() => {
                found(DAMAGED, format!("{} blocks of the volume are damaged", blocks(damaged)))
            }
            None => found(
                DAMAGED,
                "blocks of the stores are damaged; end the server and scrub the stores to learn which of the volume's",
            ),
            Some(_) if report.lost_sums > 0 => found(DAMAGED, "checksums are damaged"),
            Some(_) => Ok(()),
        }
    }

    fn offline(&self) -> Result<Report> {
        let volume = volume_to_read(&self.stores)?;
        let layer = volume.layer().to_owned();
        let summed = volume.members.iter().filter(|member| member.summed().is_some());
        let progress = Progress::new("scrubbing", summed.map(|member| member.media().blocks()).sum());
        let go_on = |blocks| {
            progress.add(blocks);
            !stop::is_asked_for()
        };
        let Found { verified, unsettled, sums_lost, damaged, unneeded } = offline::scrub(&volume, go_on)?;
        if stop::is_asked_for() {
            bail!("stopped");
        }
        Ok(Report {
            schema: SCHEMA,
            layer,
            served: false,
            verified_blocks: verified,
            unsettled_blocks: unsettled,
            lost_sums: sums_lost,
            damaged: Some(damaged),
            unneeded,
        })
    }

    /// Has the server do it. It goes on when nobody waits for it any more.
    fn served(&self, control: &Path) -> Result<Report> {
        let mut status = ask(control, Question::Scrub { percent: self.throttle })?;
        let (mut progress, mut shown) = (None, 0);
        loop {
            let Some(scrub) = status.scrub else { bail!("the server does not say how the scrub stands") };
            let bar = progress.get_or_insert_with(|| Progress::new("scrubbing", scrub.of_blocks));
            bar.add(scrub.done_blocks.saturating_sub(shown));
            shown = shown.max(scrub.done_blocks);
            match scrub.state.as_str() {
                "running" if stop::is_asked_for() => bail!("stopped waiting; the server goes on"),
                "running" => thread::sleep(OFTEN),
                "done" => return Ok(of_served(status.layer, scrub)),
                other => bail!("the scrub is {other}"),
            }
            status = ask(control, Question::Status)?;
        }
    }
}

fn of_served(layer: String, scrub: ScrubStatus) -> Report {
    let ScrubStatus { verified_blocks, lost_sums, damaged, unneeded, .. } = scrub;
    Report { schema: SCHEMA, layer, served: true, verified_blocks, unsettled_blocks: 0, lost_sums, damaged, unneeded }
}

fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

fn ask(control: &Path, question: Question) -> Result<Status> {
    match control::ask(control, question)? {
        Reply::Status(status) => Ok(*status),
        _ => bail!("the server answers what it was not asked"),
    }
}

fn shown(report: &Report) -> String {
    let damaged = report.damaged.iter().flatten();
    let rows = [
        ("blocks read that have a checksum", report.verified_blocks),
        ("blocks that were being written, not checked", report.unsettled_blocks),
        ("damaged blocks of the volume", damaged.clone().map(|run| run.blocks).sum()),
        ("damaged blocks that nobody needs", report.unneeded.iter().map(|run| run.blocks).sum()),
        ("damaged sectors of checksums", report.lost_sums),
    ];
    let counted = table([report.layer.as_str(), ">"], rows.map(|(what, number)| [what.to_owned(), count(number)]));
    let logical = damaged.map(|run| format!("damaged: {}", named(run.first, run.blocks)));
    let physical = report.unneeded.iter().map(|run| {
        let needed = if report.damaged.is_some() { "which nobody needs" } else { "perhaps needed" };
        format!("damaged: {} of member {}, {needed}", named(run.first, run.blocks), run.member)
    });
    let mut lines: Vec<String> = logical.chain(physical).collect();
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("and {} more runs, which --format json names", count(more as u64)));
    }
    lines.iter().fold(counted, |text, line| format!("{text}\n{}", paragraphs(line)))
}

fn named(first: u64, blocks: u64) -> String {
    if blocks == 1 { format!("block {first}") } else { format!("blocks {first} to {}", first + blocks - 1) }
}
