//! `--bands`: what each band, track or zone of a layer holds, at the end of a replay and at chosen moments, as data and as a picture.

mod row;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use imbrex::contents::Contents;
use imbrex::replay::{BandsLook, TraceMoment};
use imbrex::trace::{TraceInfo, TraceRange};
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::output::csv;
#[cfg(feature = "pictures")]
use imbrex_terminal::table::count;
use serde::Serialize;

use crate::moment::{Moment, moment};
#[cfg(feature = "pictures")]
use crate::pictures;
#[cfg(feature = "pictures")]
use crate::row::called;
use row::Track;
use row::Zone;
pub use row::{Band, Of};

/// When bands are looked at and where to that goes.
#[derive(Args)]
pub struct BandsArguments {
    /// Write what each band of a log, each track of an interlaced disk, or each zone behind a buffer holds at the end to FILE: as a picture if it
    /// ends in .svg, as JSON in .json, and else as CSV; may be repeated
    #[arg(long = "bands", visible_alias = "tracks", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write it at these moments too: after PERCENT of the requests such as 25%, after N requests, or at a TIME such as
    /// 2h
    #[arg(long = "bands-at", visible_alias = "tracks-at", value_name = "PERCENT|N|TIME", value_delimiter = ',', value_parser = moment)]
    #[arg(requires = "files")]
    at: Vec<Moment>,
}

impl BandsArguments {
    /// Whether anybody looks, before it is known when.
    pub fn wanted(&self) -> Option<Vec<TraceMoment>> {
        (!self.files.is_empty()).then(Vec::new)
    }

    /// When somebody looks, on a workload of this range. The end, all of the requests, comes anyway.
    pub fn moments(&self, range: &TraceRange) -> Option<Vec<TraceMoment>> {
        let is_before_the_end = |at: &TraceMoment| *at != TraceMoment::Requests(range.requests);
        self.wanted().map(|_| self.at.iter().map(|moment| moment.of(range)).filter(is_before_the_end).collect())
    }

    /// Begins the files for what a layer with blocks of `block_bytes` bytes makes of a workload.
    pub fn create<'a>(&self, workload: &'a TraceInfo, layer: &'static str, block_bytes: u32) -> Result<BandMap<'a>> {
        let file = |path: &PathBuf| Ok((Form::of(path)?, NewFile::create(path)?));
        let files = self.files.iter().map(file).collect::<Result<_>>()?;
        Ok(BandMap { files, workload, layer, block_bytes, looks: Vec::new() })
    }
}

/// What a file is to be.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Form {
    Picture,
    Json,
    Csv,
}

impl Form {
    fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") if cfg!(feature = "pictures") => Ok(Self::Picture),
            Some("svg") => bail!("--bands {}: this program was built without pictures", path.display()),
            Some("json") => Ok(Self::Json),
            Some("parquet") => bail!("--bands {}: results are not written as Parquet; choose .csv", path.display()),
            _ => Ok(Self::Csv),
        }
    }
}

impl Form {
    /// Rows as data.
    fn of_rows(self, rows: &[impl Serialize]) -> Result<Vec<u8>> {
        if self == Self::Json { json(rows) } else { csv(rows) }
    }
}

/// After how many requests a look was taken, and whether that was the end.
fn moment_of(look: &BandsLook) -> (u64, bool) {
    (look.requests, look.at.is_none())
}

fn json(rows: &[impl Serialize]) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(rows)?;
    text.push(b'\n');
    Ok(text)
}

/// The files of a band map, which appear when it is complete.
pub struct BandMap<'a> {
    files: Vec<(Form, NewFile)>,
    workload: &'a TraceInfo,
    layer: &'static str,
    block_bytes: u32,
    looks: Vec<BandsLook>,
}

impl<'a> BandMap<'a> {
    /// One that goes to no file.
    pub fn in_memory(workload: &'a TraceInfo, layer: &'static str, block_bytes: u32) -> Self {
        Self { files: Vec::new(), workload, layer, block_bytes, looks: Vec::new() }
    }
}

impl BandMap<'_> {
    /// All rows as they are written.
    pub fn values(&self) -> Result<Vec<serde_json::Value>> {
        Ok(serde_json::from_slice(&self.content(Form::Json)?)?)
    }

    /// Takes a look.
    pub fn add(&mut self, look: &BandsLook) {
        self.looks.push(look.clone());
    }

    /// Writes and completes the files.
    pub fn finish(mut self) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        let mut written = Vec::new();
        for (form, mut file) in files {
            let content = self.content(form)?;
            file.write_all(&content).map_err(|cause| anyhow!("cannot write the bands: {cause}"))?;
            written.push(file);
        }
        written.into_iter().try_for_each(NewFile::finish)
    }

    fn content(&self, form: Form) -> Result<Vec<u8>> {
        let kind = self.looks.first().map(|look| &look.contents);
        match (form, kind) {
            (Form::Picture, _) => self.picture(),
            (form, Some(Contents::Tracks(_))) => {
                form.of_rows(&self.rows(|of, at, look| Track::all(of, at, look.tracks()).collect::<Vec<_>>()))
            }
            (form, Some(Contents::Zones(_))) => {
                form.of_rows(&self.rows(|of, at, look| Zone::all(of, at, look.zones()).collect::<Vec<_>>()))
            }
            (form, _) => form.of_rows(&self.rows(|of, at, look| Band::all(of, at, look.bands()).collect::<Vec<_>>())),
        }
    }

    fn of(&self) -> Of<'_> {
        Of::new(self.workload, self.layer, self.block_bytes)
    }

    /// Rows of all looks, as `of_look` makes them.
    fn rows<'a, T>(&'a self, of_look: impl Fn(Of<'a>, (u64, bool), &'a Contents) -> Vec<T>) -> Vec<T> {
        self.looks.iter().flat_map(|look| of_look(self.of(), moment_of(look), &look.contents)).collect()
    }

    #[cfg(feature = "pictures")]
    fn picture(&self) -> Result<Vec<u8>> {
        let workload = called(&self.workload.name, self.workload.is_synthetic());
        let title = format!("{workload} on {}", self.layer);
        let caption = |look: &BandsLook| {
            let when = if look.at.is_some() { "after" } else { "at the end, after" };
            format!("{when} {} requests", count(look.requests))
        };
        if matches!(self.looks.first().map(|look| &look.contents), Some(Contents::Tracks(_))) {
            let panels: Vec<_> = self.looks.iter().map(|look| (caption(look), look.contents.tracks())).collect();
            return pictures::tracks(&title, &panels);
        }
        if matches!(self.looks.first().map(|look| &look.contents), Some(Contents::Zones(_))) {
            let panels: Vec<_> = self.looks.iter().map(|look| (caption(look), look.contents.zones())).collect();
            return pictures::zones(&title, &panels);
        }
        let panel = |look| pictures::BandsPanel { caption: caption(look), bands: look.contents.bands().to_vec() };
        let panels: Vec<_> = self.looks.iter().map(panel).collect();
        pictures::bands(&title, &panels)
    }

    #[cfg(not(feature = "pictures"))]
    fn picture(&self) -> Result<Vec<u8>> {
        bail!("this program was built without pictures")
    }
}
