//! `--html`: results as a page that explains itself, beside however else they are written.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow};
use clap::Args;
use imbrex::contents::Bars;
use imbrex::layers::LayerInfo;
use imbrex::replay::{BandsLook, Observer, QUANTILES, ReplayOptions, TraceMoment, Window, WindowOutcome};
use imbrex::trace::{TraceInfo, TraceRange};
use imbrex_page::Report;
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::progress::Progress;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::row::Row;
use crate::series;
use crate::setup::{Case, Chosen};
use crate::workload::Known;

/// Windows of a series, and looks at what lies where before the end: more than a picture shows would cost time.
const WINDOWS: u64 = 150;
const LOOKS: u64 = 9;
/// Bars of a picture.
const BARS: usize = 400;

/// Where a page of the results goes, if one is wanted.
#[derive(Args, Default)]
pub struct PageArgument {
    /// Write a page to FILE that shows the results, with what happened over time and what lay where
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A page that is being made.
pub struct Page {
    file: NewFile,
    report: Report,
}

impl PageArgument {
    /// Begins the page, if it is wanted.
    pub fn open(&self, title: &str) -> Result<Option<Page>> {
        self.html.as_deref().map(|path| Page::create(path, title)).transpose()
    }
}

impl Page {
    /// Begins a page of this title at `path`.
    pub fn create(path: &Path, title: &str) -> Result<Self> {
        let program = concat!("imbrex ", env!("CARGO_PKG_VERSION"));
        let mut report = Report::new(title, program, &QUANTILES);
        report.made_by(command());
        Ok(Self { file: NewFile::create(path)?, report })
    }

    /// Adds rows as they are written in JSON.
    pub fn add(&mut self, rows: &[impl Serialize]) -> Result<()> {
        self.add_values(values(rows)?)
    }

    /// Adds rows that were read.
    pub fn add_values(&mut self, rows: Vec<Value>) -> Result<()> {
        self.report.add(rows).map_err(Error::msg)
    }

    /// Adds a run, and what was seen of it.
    fn add_run(&mut self, row: &Row, seen: &Seen<'_>) -> Result<()> {
        self.add(&[row])?;
        let run = Some(self.report.runs() - 1);
        self.report.add_of(seen.windows()?, run).map_err(Error::msg)?;
        seen.units().into_iter().for_each(|units| self.report.add_units(units, run));
        Ok(())
    }

    /// Shows these runs, and writes the file.
    pub fn of_runs<'a>(mut self, runs: impl Iterator<Item = (&'a Row, &'a Seen<'a>)>) -> Result<()> {
        for (row, seen) in runs {
            self.add_run(row, seen)?;
        }
        self.finish()
    }

    /// Writes and completes the file.
    pub fn finish(mut self) -> Result<()> {
        let page = self.report.html();
        self.file.write_all(page.as_bytes()).map_err(|cause| anyhow!("cannot write the page: {cause}"))?;
        self.file.finish()
    }
}

/// What was typed, as a shell would read it again.
fn command() -> String {
    let quoted = |word: String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:%@+".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let words = env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("imbrex".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn values(rows: &[impl Serialize]) -> Result<Vec<Value>> {
    Ok(rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
}

/// What a page wants to see of a replay, where nothing else was chosen: as many windows and looks as it shows.
pub fn watched(options: &ReplayOptions, range: &TraceRange, has_contents: bool) -> ReplayOptions {
    let window = options.window.unwrap_or(Window::Requests(range.requests.div_ceil(WINDOWS).max(1)));
    let moments = (1..=LOOKS).map(|look| range.requests * look / (LOOKS + 1)).filter(|requests| *requests > 0);
    let bands = options.bands.clone().or_else(|| has_contents.then(|| moments.map(TraceMoment::Requests).collect()));
    ReplayOptions { window: Some(window), bands, ..options.clone() }
}

/// Replays `workload` on the layer of `case`, and sees of it what a page shows, if one is wanted.
pub fn replay<'a>(
    is_wanted: bool,
    chosen: &Chosen,
    (workload, case): (&'a Known, &Case),
    progress: &Progress,
) -> Result<(Row, Seen<'a>)> {
    let mut seen = Seen::new(&workload.info, case.layer);
    let row = if is_wanted {
        let options = watched(&chosen.options, &workload.range, chosen.says_contents(case));
        chosen.with(options).replay(workload, case, progress, &mut seen)
    } else {
        chosen.replay(workload, case, progress, &mut ())
    };
    Ok((row?, seen))
}

/// What was seen of a replay.
pub struct Seen<'a> {
    workload: &'a TraceInfo,
    layer: &'static str,
    rows: Vec<WindowOutcome>,
    /// After how many requests, whether that was the end, and what was seen.
    looks: Vec<(u64, bool, Bars)>,
}

impl<'a> Seen<'a> {
    /// Nothing yet.
    pub fn new(workload: &'a TraceInfo, layer: &LayerInfo) -> Self {
        Self { workload, layer: layer.name, rows: Vec::new(), looks: Vec::new() }
    }

    /// The windows as `--series` writes them.
    ///
    /// # Errors
    /// None that a window can cause.
    pub fn windows(&self) -> Result<Vec<Value>> {
        let point = |row| serde_json::to_value(series::point(self.workload, self.layer, row));
        Ok(self.rows.iter().map(point).collect::<Result<_, _>>()?)
    }

    /// The looks as a page draws them, if there are any.
    pub fn units(&self) -> Option<Value> {
        let (_, _, first) = self.looks.first()?;
        let names: Vec<_> = first.made_of.iter().map(|(name, _)| *name).collect();
        let look = |(requests, is_end, bars): &(u64, bool, Bars)| {
            let parts: Map<_, _> = bars.made_of.iter().map(|(name, sums)| ((*name).to_owned(), json!(sums))).collect();
            json!({ "requests": requests, "is_end": is_end, "parts": parts })
        };
        let looks: Vec<_> = self.looks.iter().map(look).collect();
        Some(json!({
            "trace": self.workload.name,
            "layer": self.layer,
            "synthetic": self.workload.is_synthetic(),
            "kind": first.kind,
            "each": first.each,
            "parts": names,
            "looks": looks,
        }))
    }
}

impl Observer for Seen<'_> {
    fn row(&mut self, row: &WindowOutcome) {
        self.rows.push(row.clone());
    }

    fn bands(&mut self, look: &BandsLook) {
        self.looks.push((look.requests, look.at.is_none(), look.contents.bars(BARS)));
    }
}
