//! `--bands`: what each band or track of a layer holds, at the end of a replay and at chosen moments, as data and as a picture.

mod row;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use imbrex::contents::Contents;
use imbrex::replay::{BandsAt, BandsLook};
use imbrex::trace::{TraceInfo, TraceRange};
use serde::Serialize;

use crate::duration::{nanoseconds, whole};
use crate::new_file::NewFile;
use crate::output::csv;
#[cfg(feature = "pictures")]
use crate::pictures;
#[cfg(feature = "pictures")]
use crate::row::called;
#[cfg(feature = "pictures")]
use crate::table::count;
use row::Track;
pub use row::{Band, Of};

/// When bands are looked at and where to that goes.
#[derive(Args)]
pub struct BandsArguments {
    /// Write what each band of a log, or each track of an interlaced disk, holds at the end to FILE: as a picture if it
    /// ends in .svg, as JSON in .json, and else as CSV; may be repeated
    #[arg(long = "bands", visible_alias = "tracks", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// At these moments too: after PERCENT of the requests such as 25%, after so many of them, or at a TIME such as 2h
    #[arg(long = "bands-at", visible_alias = "tracks-at", value_name = "PERCENT|N|TIME", value_delimiter = ',', value_parser = moment)]
    #[arg(requires = "files")]
    at: Vec<Moment>,
}

/// A moment on the command line.
#[derive(Copy, Clone)]
enum Moment {
    /// After that part of the requests.
    Part(f64),
    /// At one that does not depend on the workload.
    At(BandsAt),
}

fn moment(text: &str) -> Result<Moment, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let part = percent.map(|percent: f64| percent / 100.0).filter(|part| (0.0..=1.0).contains(part)).map(Moment::Part);
    let requests = || whole(text).map(|requests| Moment::At(BandsAt::Requests(requests)));
    let time = || nanoseconds(text).map(|ns| Moment::At(BandsAt::Ns(ns)));
    let remedy =
        || "write a percentage such as 25%, a number of requests such as 10000, or a time such as 30s, 10min or 2h";
    part.or_else(requests).or_else(time).ok_or_else(|| remedy().to_owned())
}

impl BandsArguments {
    /// Whether anybody looks, before it is known when.
    pub fn wanted(&self) -> Option<Vec<BandsAt>> {
        (!self.files.is_empty()).then(Vec::new)
    }

    /// When somebody looks, on a workload of this range. The end, all of the requests, comes anyway.
    pub fn moments(&self, range: &TraceRange) -> Option<Vec<BandsAt>> {
        let at = |moment: &Moment| match *moment {
            Moment::Part(part) => BandsAt::Requests((part * range.requests as f64) as u64),
            Moment::At(at) => at,
        };
        let is_before_the_end = |at: &BandsAt| *at != BandsAt::Requests(range.requests);
        self.wanted().map(|_| self.at.iter().map(at).filter(is_before_the_end).collect())
    }

    /// Begins the files for what a layer with blocks of so many bytes makes of a workload.
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

impl BandMap<'_> {
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
        match form {
            Form::Picture => self.picture(),
            Form::Csv if self.is_of_tracks() => csv(&self.tracks()),
            Form::Csv => csv(&self.bands()),
            Form::Json if self.is_of_tracks() => json(&self.tracks()),
            Form::Json => json(&self.bands()),
        }
    }

    /// A layer says the one or the other, always.
    fn is_of_tracks(&self) -> bool {
        self.looks.iter().any(|look| matches!(look.contents, Contents::Tracks(_)))
    }

    fn of(&self) -> Of<'_> {
        let (trace, synthetic) = (self.workload.name.as_str(), self.workload.is_synthetic());
        Of { trace, synthetic, layer: self.layer, block_bytes: self.block_bytes }
    }

    fn bands(&self) -> Vec<Band<'_>> {
        let all = |look| Band::all(self.of(), moment_of(look), look.contents.bands());
        self.looks.iter().flat_map(all).collect()
    }

    fn tracks(&self) -> Vec<Track<'_>> {
        let all = |look| Track::all(self.of(), moment_of(look), look.contents.tracks());
        self.looks.iter().flat_map(all).collect()
    }

    #[cfg(feature = "pictures")]
    fn picture(&self) -> Result<Vec<u8>> {
        let workload = called(&self.workload.name, self.workload.is_synthetic());
        let title = format!("{workload} on {}", self.layer);
        let caption = |look: &BandsLook| {
            let when = if look.at.is_some() { "after" } else { "at the end, after" };
            format!("{when} {} requests", count(look.requests))
        };
        if self.is_of_tracks() {
            let panels: Vec<_> = self.looks.iter().map(|look| (caption(look), look.contents.tracks())).collect();
            return pictures::tracks(&title, &panels);
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
