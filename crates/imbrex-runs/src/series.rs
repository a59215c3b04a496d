//! What happens over time, written while it happens.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, anyhow};
use imbrex::layers::LayerInfo;
use imbrex::replay::{self, Observer};
use imbrex::trace::TraceInfo;
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::output::{Format, cell, columns};
use serde::Serialize;

/// The version of [`Point`].
const SCHEMA: &str = "imbrex.series/2";

/// A window's numbers and what they belong to.
#[derive(Serialize)]
struct Point<'a> {
    schema: &'static str,
    trace: &'a str,
    synthetic: bool,
    layer: &'static str,
    #[serde(flatten)]
    row: &'a replay::WindowOutcome,
}

/// A window of a workload on a layer, as it is written.
pub fn point<'a>(workload: &'a TraceInfo, layer: &'static str, row: &'a replay::WindowOutcome) -> impl Serialize + 'a {
    let (trace, synthetic) = (workload.name.as_str(), workload.is_synthetic());
    Point { schema: SCHEMA, trace, synthetic, layer, row }
}

/// The file of a series, if one is wanted.
pub struct Series<'a>(Option<Writing<'a>>);

struct Writing<'a> {
    file: NewFile,
    as_json: bool,
    workload: &'a TraceInfo,
    layer: &'static str,
    rows: u64,
    /// The first write that failed: an observer cannot say so.
    failed: Option<io::Error>,
}

impl<'a> Series<'a> {
    /// Begins the series at `path`.
    ///
    /// # Errors
    /// When the file cannot be written, or its ending is of something else than data.
    pub fn create(path: Option<&Path>, workload: &'a TraceInfo, layer: &LayerInfo) -> Result<Self> {
        let Some(path) = path else { return Ok(Self(None)) };
        let as_json = Format::of_data("--series", path)? == Format::Json;
        let file = NewFile::create(path)?;
        Ok(Self(Some(Writing { file, as_json, workload, layer: layer.name, rows: 0, failed: None })))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn finish(self) -> Result<()> {
        let Some(mut writing) = self.0 else { return Ok(()) };
        let end = match (writing.as_json, writing.rows) {
            (true, 0) => "[]\n",
            (true, _) => "\n]\n",
            (false, _) => "",
        };
        let ended = writing.failed.map_or(Ok(()), Err).and_then(|()| writing.file.write_all(end.as_bytes()));
        ended.map_err(|cause| anyhow!("cannot write the series: {cause}"))?;
        writing.file.finish()
    }
}

impl Observer for Series<'_> {
    fn row(&mut self, row: &replay::WindowOutcome) {
        let Some(writing) = &mut self.0 else { return };
        if writing.failed.is_none() {
            writing.failed = writing.write(row).err();
        }
    }
}

impl Writing<'_> {
    fn write(&mut self, row: &replay::WindowOutcome) -> io::Result<()> {
        let point = point(self.workload, self.layer, row);
        let is_first = self.rows == 0;
        self.rows += 1;
        if self.as_json {
            self.file.write_all(if is_first { b"[\n" } else { b",\n" })?;
            return Ok(serde_json::to_writer(&mut self.file, &point)?);
        }
        let columns = columns(&point).map_err(io::Error::other)?;
        let mut csv = csv::Writer::from_writer(&mut self.file);
        if is_first {
            csv.write_record(columns.keys())?;
        }
        csv.write_record(columns.values().map(|value| cell(Some(value))))?;
        csv.flush()
    }
}
