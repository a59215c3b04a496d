//! How long the model of a drive-managed drive takes for a write when its cache is full, against what was measured on
//! the drive.
//!
//! The measurement: fio wrote 4 KiB at random over a part of a drive, one after the other, for three minutes, and for
//! five more in which it noted the latency of each. The logs are published beside the source of the SAC cache (ASPLOS
//! 2020; `paperexps/iolog_*.log_lat.log`, made by `test_RMW_lat.sh`), which recommends the ST8000AS0002. What is taken
//! from a log is how many writes it has for its 300 s, reckoned from its length to some 3 %. Nothing of the model is
//! fitted to it.

use super::writes::{BLOCK, uniform};
use super::{Comparison, Numbers, ValidateError, Verdict};
use crate::replay::{self, BufferSize, ReplayError, ReplayOptions, Setup, WarmUp};
use imbrex_core::drive::DrivePreset;
use imbrex_layers as layers;
use imbrex_trace::Workload;

const DRIVE: &str = "st8000as0002";
/// The entries that the map of the cache has, by default as on the drive.
const ENTRIES: f64 = 250_000.0;
/// How far a time may be from the measured one, in percent of it.
const PERCENT: f64 = 20.0;

/// A range, the writes that its log has, and whether the model answers for it.
struct Run {
    range: &'static str,
    bytes: u64,
    writes: u64,
    is_judged: bool,
}

/// Duration of each log.
const LOG_MS: f64 = 300_000.0;
const RUNS: [Run; 3] = [
    Run { range: "4 TiB", bytes: 4 << 40, writes: 1320, is_judged: true },
    Run { range: "128 GiB", bytes: 128 << 30, writes: 17_900, is_judged: true },
    Run { range: "8 GiB", bytes: 8 << 30, writes: 35_400, is_judged: false },
];

/// Compares the mean time of a random write on the `skylight` layer, its cache being full, with that on the drive.
///
/// # Errors
/// When the preset is broken, or the layer or the disk refuses.
pub fn random_writes() -> Result<Vec<Comparison>, ValidateError> {
    rows(&toml::Table::new())
}

fn rows(config: &toml::Table) -> Result<Vec<Comparison>, ValidateError> {
    let row = |run: &Run| {
        let measured = run.write_ms(config).map_err(|source| ValidateError::Replay {
            disk: DRIVE.into(),
            run: run.range.to_owned(),
            source: Box::new(source),
        })?;
        let check = format!("random write over {}, cache full", run.range);
        let numbers = Numbers { expected: LOG_MS / run.writes as f64, measured };
        let row = Comparison::within_percent(DRIVE, &check, numbers, PERCENT, "ms");
        if run.is_judged {
            return Ok(row);
        }
        let why = "for information: in which order the drive gathers a thousand blocks is not known";
        Ok(Comparison { verdict: Verdict::Skipped(why.to_owned()), ..row })
    };
    RUNS.iter().map(row).collect()
}

impl Run {
    /// Random writes until the cache holds as many different blocks as its map has entries.
    fn until_full(&self) -> u64 {
        let blocks = (self.bytes / u64::from(BLOCK)) as f64;
        (-blocks * (-ENTRIES / blocks).ln_1p()) as u64
    }

    fn write_ms(&self, config: &toml::Table) -> Result<f64, ReplayError> {
        let drive = DrivePreset::named(DRIVE)?;
        let layer = layers::find("skylight")?;
        let options = ReplayOptions {
            queue_depth: Some(1),
            idle: false,
            warm_up: Some(WarmUp::Requests(self.until_full())),
            ..ReplayOptions::default()
        };
        let workload = Workload::Synthetic(uniform(self.bytes, 4, self.until_full() + self.writes));
        let setup = Setup { drive: &drive, layer, config, buffer: BufferSize::Bytes(0), workload: &workload };
        let outcome = replay::replay(&setup, &options, &mut ())?;
        Ok(outcome.simulated_seconds * 1e3 / self.writes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(config: &str) -> usize {
        let rows = rows(&config.parse().unwrap()).unwrap();
        println!("{config:?}: {rows:#?}");
        rows.iter().filter(|row| row.verdict == Verdict::Fail).count()
    }

    #[test]
    fn times_are_near_the_drives() {
        assert_eq!(failed(""), 0);
    }

    #[test]
    fn another_mechanism_fails() {
        assert_eq!(failed("scratch = false"), 2, "two transfers");
        assert_eq!(failed("entries = \"writes\""), 2, "entries that come back behind the tail");
    }
}
