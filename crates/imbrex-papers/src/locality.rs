//! What a paper shows of its workloads themselves: how soon blocks are written again, and where.

use std::num::NonZeroU64;

use anyhow::Result;
use imbrex::block::Access;
use imbrex::buffer_size::BufferSize;
use imbrex::trace::statistics::updates::{UpdatePeriods, period_name};
use imbrex::trace::statistics::{StatisticsOptions, TraceStatistics};
use imbrex::trace::{TraceSource, Workload};
use imbrex_runs::workload::Watched;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
use imbrex_terminal::progress::Progress;
use serde::Serialize;

use super::paper::LocalityFigures;

/// Where writes are shown, as many are picked, evenly.
const SHOWN_WRITES: usize = 4000;
/// Requests read at a time.
const BATCH: usize = 4096;

/// A workload's writes.
pub struct Locality {
    pub workload: &'static str,
    pub synthetic: bool,
    pub periods: UpdatePeriods,
    pub writes: Vec<Write>,
}

/// A write, in time and space.
#[derive(Copy, Clone)]
pub struct Write {
    /// How many writes came before.
    pub number: u64,
    /// Its first byte.
    pub offset_bytes: u64,
}

impl Locality {
    /// How often it reads a workload.
    pub const PASSES: usize = 2;

    /// Reads a workload, a piece of the work that `progress` shows.
    pub fn of(
        workload: &Workload,
        name: &'static str,
        buffer: BufferSize,
        requests: Option<NonZeroU64>,
        progress: &Progress,
    ) -> Result<Self> {
        let options = StatisticsOptions { caches: Vec::new(), buffer };
        let mut source = Watched::new(workload, requests, progress)?;
        let synthetic = source.info().is_synthetic();
        let statistics = TraceStatistics::of(&mut source, &options)?;
        let every = (statistics.writes / SHOWN_WRITES as u64).max(1);
        let mut source = Watched::new(workload, requests, progress)?;
        let writes = pick(&mut source, every)?;
        Ok(Self { workload: name, synthetic, periods: statistics.update_period, writes })
    }
}

/// One write of every `every`.
fn pick(source: &mut dyn TraceSource, every: u64) -> Result<Vec<Write>> {
    let (mut picked, mut number, mut batch) = (Vec::new(), 0, Vec::new());
    loop {
        source.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            return Ok(picked);
        }
        for request in batch.iter().filter(|request| request.access == Access::Write) {
            if number % every == 0 {
                picked.push(Write { number, offset_bytes: request.offset_bytes });
            }
            number += 1;
        }
    }
}

/// The version of [`Period`].
const PERIODS: &str = "imbrex.update-periods/1";
/// The version of [`ShownWrite`].
const WRITE_RANGE: &str = "imbrex.write-range/1";

/// A class of periods.
#[derive(Serialize)]
struct Period {
    schema: &'static str,
    workload: &'static str,
    synthetic: bool,
    period: String,
    buffer_blocks: u64,
    updates: u64,
    blocks: u64,
}

/// A write that is shown.
#[derive(Serialize)]
struct ShownWrite {
    schema: &'static str,
    workload: &'static str,
    synthetic: bool,
    write: u64,
    offset_bytes: u64,
}

/// Writes the data of both figures.
pub fn write(localities: &[Locality], figures: LocalityFigures, folder: &NewFolder) -> Result<()> {
    let LocalityFigures { periods, ranges } = figures;
    let of_workload = |locality: &Locality| {
        let Locality { workload, synthetic, ref periods, .. } = *locality;
        let (schema, buffer_blocks) = (PERIODS, periods.buffer_blocks);
        let row = |(class, of): (usize, &imbrex::trace::statistics::updates::PeriodClass)| {
            let (period, updates, blocks) = (period_name(class), of.updates, of.blocks);
            Period { schema, workload, synthetic, period, buffer_blocks, updates, blocks }
        };
        periods.distribution.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<_> = localities.iter().flat_map(of_workload).collect();
    folder.write(&format!("figure-{periods}-update-periods.csv"), &csv(&rows)?)?;
    let shown = localities.iter().flat_map(|locality| {
        let (workload, synthetic) = (locality.workload, locality.synthetic);
        let shown = move |write: &Write| {
            let Write { number: write, offset_bytes } = *write;
            ShownWrite { schema: WRITE_RANGE, workload, synthetic, write, offset_bytes }
        };
        locality.writes.iter().map(shown)
    });
    folder.write(&format!("figure-{ranges}-write-range.csv"), &csv(&shown.collect::<Vec<_>>())?)
}
