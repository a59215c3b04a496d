//! What can be chosen about the set-up of the paper, where it is silent or large.

use anyhow::{Error, Result, bail};
use clap::{Args, ValueEnum};
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex_runs::case::named_drive;
use imbrex_runs::values::size;

use super::paper::TABLES;

const DRIVE: &str = "cold-weight-40m";

/// Options of `reproduce cold-weight` alone.
#[derive(Args, Default)]
pub struct ColdWeightArguments {
    /// cold-weight: the length of a block, which the paper does not say; otherwise 4 KiB
    #[arg(long, value_enum, value_name = "SIZE")]
    block_size: Option<BlockSize>,
    /// cold-weight: the length of a band; otherwise 40 MB, as in the paper
    #[arg(long, value_name = "SIZE", value_parser = size)]
    band_size: Option<u64>,
    /// cold-weight: how much of the writes comes before the trace, a table each; otherwise 0%,25%,50%,75%,100%
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = level)]
    prepopulation: Option<Vec<u32>>,
    /// cold-weight: run what goes beyond the paper too: a weight that is found, hot blocks apart, decay, other rules
    #[arg(long)]
    pub beyond: bool,
    /// cold-weight: stop a run when it has moved N times as many blocks as Empty, the greedy baseline; otherwise twice as
    /// many times as in the paper, and at least 5
    #[arg(long, value_name = "N", value_parser = times)]
    stop_at: Option<f64>,
}

/// A run goes on until it has moved this many times as many blocks as Empty...
const STOP_AT_LEAST_AT: f64 = 5.0;
/// ...and this many times the paper's number of times, which is beyond the tolerance of its claims.
const STOP_BEYOND_PAPER: f64 = 2.0;

#[derive(Copy, Clone, ValueEnum)]
enum BlockSize {
    /// A sector of the trace; of the two, what makes the paper's counts possible. Takes eight times as long
    #[value(name = "512B")]
    Sector,
    /// What most disks have today
    #[value(name = "4KiB")]
    Page,
}

fn level(text: &str) -> Result<u32, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let level = percent.filter(|percent| TABLES.iter().any(|table| table.level == *percent));
    level.ok_or_else(|| "the paper has 0%, 25%, 50%, 75% and 100%".to_owned())
}

fn times(text: &str) -> Result<f64, String> {
    let times = text.parse().ok().filter(|times| *times >= 1.0);
    times.ok_or_else(|| "choose a number from 1 on".to_owned())
}

impl ColdWeightArguments {
    /// Refuses them for another paper.
    pub fn refuse(&self, paper: &str) -> Result<()> {
        let chosen = [
            ("--block-size", self.block_size.is_some()),
            ("--band-size", self.band_size.is_some()),
            ("--prepopulation", self.prepopulation.is_some()),
            ("--beyond", self.beyond),
            ("--stop-at", self.stop_at.is_some()),
        ];
        match chosen.iter().find(|(_, is)| *is) {
            Some((option, _)) => bail!("{option}: {paper} has none; it is an option of cold-weight"),
            None => Ok(()),
        }
    }

    /// The prepopulations, in percent and in the order of the tables.
    pub fn levels(&self) -> Vec<u32> {
        let is_chosen = |level: &u32| self.prepopulation.as_ref().is_none_or(|chosen| chosen.contains(level));
        TABLES.iter().map(|table| table.level).filter(is_chosen).collect()
    }

    /// How many times the blocks of Empty a run moves before it is stopped, if it moved `in_paper` times as many there.
    pub fn stop_at(&self, in_paper: f64) -> f64 {
        self.stop_at.unwrap_or(STOP_AT_LEAST_AT.max(STOP_BEYOND_PAPER * in_paper))
    }

    /// The drive of the paper with these blocks, and with bands `times` as long; its size follows from the workload.
    pub fn drive(&self, times: u64) -> Result<DrivePreset> {
        let mut drive = named_drive(DRIVE)?;
        let MediaSpec::Zoned { zone_blocks, .. } = &mut drive.media else {
            return Err(Error::msg(format!("{DRIVE} has no bands")));
        };
        let band_bytes = self.band_size.unwrap_or(u64::from(*zone_blocks) * u64::from(drive.block_bytes));
        let band_bytes = band_bytes.saturating_mul(times);
        drive.block_bytes = match self.block_size.unwrap_or(BlockSize::Page) {
            BlockSize::Sector => 512,
            BlockSize::Page => 4096,
        };
        let blocks = (band_bytes as f64 / f64::from(drive.block_bytes)).round() as u64;
        match u32::try_from(blocks) {
            Ok(blocks) if blocks > 0 => *zone_blocks = blocks,
            _ => bail!("--band-size: bands of {band_bytes} bytes cannot be; choose from a block to a terabyte"),
        }
        Ok(drive)
    }
}
