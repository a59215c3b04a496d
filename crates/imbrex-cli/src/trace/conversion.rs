//! What `convert` and `generate` share: requests go from a source to a new file.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::slice;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use imbrex::trace::write::{self, TraceWriter, WriteError, WriteFormat, Written};
use imbrex::trace::{Compression, FileOptions, TraceInfo, TraceSource, Workload};
use imbrex_runs::row::mended;
use imbrex_runs::values::{requests, size};
use imbrex_runs::workload::{self, Known, Watched};
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::say::note;
use imbrex_terminal::stop;
use imbrex_terminal::table::{bytes, count};

/// Requests that are read and written together.
const BATCH: usize = 4096;

/// What is written.
#[derive(Args, Default)]
pub struct Target {
    /// The format to write, if the file's ending (.parquet, .csv, .csv.zst, .csv.gz, .csv.xz) does not tell
    #[arg(long = "to", value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write only the first N requests; of a synthetic workload, generate N
    #[arg(long, value_name = "N", value_parser = requests)]
    requests: Option<NonZeroU64>,
    /// Number the blocks of BYTES that are written from 0 on, in the order of their addresses
    #[arg(long, value_name = "BYTES", value_parser = block_bytes)]
    dense: Option<u32>,
}

/// The length of a block on the command line.
fn block_bytes(text: &str) -> Result<u32, String> {
    let bytes = text.parse().ok().or_else(|| size(text).ok());
    let block = bytes.and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| bytes.is_power_of_two());
    block
        .filter(|bytes| *bytes >= 512)
        .ok_or_else(|| "write a power of two from 512 on, such as 4096 or 4KiB".to_owned())
}

#[derive(Copy, Clone, ValueEnum)]
enum Format {
    /// Columns for pandas, polars and the like; decodes fastest
    Parquet,
    /// MSR Cambridge CSV, arrivals in 100 ns
    Msr,
    /// SYSTOR '17 CSV, arrivals in nanoseconds
    Systor17,
}

impl Target {
    /// The workload called `name`, drawn from `seed` or read as `options` say.
    pub fn named(&self, name: &str, seed: Option<u64>, options: &FileOptions) -> Result<Workload> {
        Ok(workload::named(slice::from_ref(&name.to_owned()), self.requests, seed, options)?.remove(0))
    }

    /// How many requests are taken.
    pub fn requests(&self) -> Option<NonZeroU64> {
        self.requests
    }

    /// This target, with all requests that there are.
    pub fn whole(&self) -> Self {
        Self { requests: None, ..*self }
    }

    fn format(&self, to: &Path) -> Result<(WriteFormat, Compression)> {
        let name = to.to_string_lossy();
        let (compression, stem) = Compression::of_name(&name);
        let format = match (self.format, Path::new(stem).extension().and_then(|ending| ending.to_str())) {
            (Some(Format::Parquet), _) | (None, Some("parquet")) => WriteFormat::Parquet,
            (Some(Format::Msr), _) | (None, Some("csv")) => WriteFormat::Msr,
            (Some(Format::Systor17), _) => WriteFormat::Systor17,
            (None, _) => bail!("{name} does not tell its format; end it in .parquet or .csv, or say --to FORMAT"),
        };
        Ok((format, compression))
    }
}

/// A trace must not replace the one that it is made from.
pub fn refuse_same_file(from: &Path, to: &Path) -> Result<()> {
    let is_same = fs::metadata(from).is_ok_and(|is| is.is_file())
        && matches!((fs::canonicalize(from), fs::canonicalize(to)), (Ok(a), Ok(b)) if a == b);
    if is_same {
        bail!("{} would replace the trace it is made from; name another file", to.display());
    }
    Ok(())
}

/// Writes the requests of `workload` to the file `to` and says what it wrote; Ctrl-C stops it.
pub fn write(workload: &Workload, to: &Path, target: &Target) -> Result<()> {
    stop::on_ctrl_c();
    write_when(workload, to, target, || Ok(()))
}

/// The same, where `is_whole` says when all has been read whether the file shall appear, and Ctrl-C is somebody else's.
pub fn write_when(
    workload: &Workload,
    to: &Path,
    target: &Target,
    is_whole: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let (format, compression) = target.format(to)?;
    let mut file = NewFile::create(to)?;
    let progress = Progress::of_pieces("writing", Known::passes(target.dense));
    let (workload, requests) = match target.dense {
        Some(block_bytes) => (&workload::dense(workload, target.requests, block_bytes, &progress)?, None),
        None => (workload, target.requests),
    };
    let mut source = Watched::new(workload, requests, &progress)?;
    let info = source.info().clone();
    let written = transfer(&mut source, write::begin(format, compression, &info, &mut file));
    let written = written.map_err(|e| match e.downcast::<WriteError>() {
        Ok(cause) => anyhow!("cannot write {}: {cause}", to.display()),
        Err(other) => other,
    })?;
    source.tell();
    let mended = mended(&source.irregularities(), source.volume().as_deref());
    is_whole()?;
    file.finish()?;
    drop(progress);
    note(summary(workload, to, format, &info, written, mended));
    Ok(())
}

/// Hands all requests to the writer.
fn transfer(source: &mut impl TraceSource, writer: Result<Box<dyn TraceWriter + '_>, WriteError>) -> Result<Written> {
    let mut writer = writer?;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            return Ok(writer.finish()?);
        }
        writer.write(&batch)?;
    }
}

fn summary(
    workload: &Workload,
    to: &Path,
    format: WriteFormat,
    source: &TraceInfo,
    written: Written,
    mended: Option<String>,
) -> String {
    let size = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|is| bytes(is.len()));
    let synthetic = if source.is_synthetic() { "synthetic " } else { "" };
    let mut line = format!("{}: {} {synthetic}requests as {format}", to.display(), count(written.requests));
    if let Some(size) = size(to) {
        line += &format!(", {size}");
    }
    let from = workload.file().and_then(|file| size(&file.path));
    line += &format!(" from {} ({}", source.name, source.format);
    line += &from.map_or(")".to_owned(), |size| format!(", {size})"));
    if let Workload::Prepopulated(prepopulated) = workload {
        let before = prepopulated.before().requests();
        line += &format!("; the first {} are the prepopulation, which --warm-up {before} leaves out", count(before));
    }
    if written.rounded > 0 {
        line += &format!("; {} arrivals cut to the format's 100 ns", count(written.rounded));
    }
    if let Some(mended) = mended {
        line += &format!("; {mended}");
    }
    line
}
