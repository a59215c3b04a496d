//! `--bands`: what each band, track or zone of a layer holds, at the end of a replay and at chosen moments, as data
//! and as a picture.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;
#[cfg(feature = "pictures")]
use imbrex::contents::Contents;
use imbrex::replay::BandsLook;
use imbrex::trace::TraceInfo;
#[cfg(feature = "pictures")]
use imbrex_pictures::Panel;
use imbrex_runs::bands::Looks;
use imbrex_runs::moment::Moment;
#[cfg(feature = "pictures")]
use imbrex_runs::row::called;
use imbrex_runs::written::Written;
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::output::{Format, ending};
#[cfg(feature = "pictures")]
use imbrex_terminal::table::count;

/// When bands are looked at and where to that goes.
#[derive(Args)]
pub struct BandsArguments {
    /// Write what each band of a log, each track of an interlaced disk, or each zone behind a buffer holds at the end to FILE: as a picture if it
    /// ends in .svg, as JSON in .json, as CSV in .csv; may be repeated
    #[arg(long = "bands", visible_alias = "tracks", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write it at these moments too: after PERCENT of the requests such as 25%, after N requests, or at a TIME such as
    /// 2h
    #[arg(long = "bands-at", visible_alias = "tracks-at", value_name = "PERCENT|N|TIME", value_delimiter = ',', value_parser = Moment::read)]
    #[arg(requires = "files")]
    at: Vec<Moment>,
}

impl BandsArguments {
    /// When somebody looks beside the end, if anybody does.
    pub fn moments(&self) -> Option<Vec<Moment>> {
        (!self.files.is_empty()).then(|| self.at.clone())
    }

    /// Begins the files for what a layer with blocks of `block_bytes` bytes makes of a workload.
    pub fn create<'a>(&self, workload: &'a TraceInfo, layer: &'static str, block_bytes: u32) -> Result<BandMap<'a>> {
        let forms = self.files.iter().map(|path| Form::of(path)).collect::<Result<Vec<_>>>()?;
        let file = |(path, form): (&PathBuf, Form)| Ok((form, NewFile::create(path)?));
        let files = self.files.iter().zip(forms).map(file).collect::<Result<_>>()?;
        Ok(BandMap { files, looks: Looks::new(workload, layer, block_bytes) })
    }
}

/// What a file is to be.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Form {
    Picture,
    Data(Format),
}

impl Form {
    fn of(path: &Path) -> Result<Self> {
        match ending(path) {
            Some("svg") if cfg!(feature = "pictures") => Ok(Self::Picture),
            Some("svg") => bail!("--bands {}: this program was built without pictures", path.display()),
            Some("csv" | "json") | None => Ok(Self::Data(Format::of_data("--bands", path)?)),
            Some(_) => bail!("--bands {}: write a picture as .svg, or data as .csv or .json", path.display()),
        }
    }
}

/// The files of a band map, which appear when it is complete.
pub struct BandMap<'a> {
    files: Vec<(Form, NewFile)>,
    looks: Looks<'a>,
}

impl BandMap<'_> {
    /// Takes a look.
    pub fn add(&mut self, look: &BandsLook) {
        self.looks.add(look);
    }

    /// Writes and completes the files.
    pub fn finish(self) -> Result<()> {
        let mut written = Vec::new();
        for (form, mut file) in self.files {
            let content = content(&self.looks, form)?;
            file.write_all(&content).map_err(|cause| anyhow!("cannot write the bands: {cause}"))?;
            written.push(file);
        }
        written.into_iter().try_for_each(NewFile::finish)
    }
}

fn content(looks: &Looks<'_>, form: Form) -> Result<Vec<u8>> {
    match form {
        Form::Picture => picture(looks),
        Form::Data(format) => format.written(&looks.rows()?),
    }
}

#[cfg(feature = "pictures")]
fn picture(looks: &Looks<'_>) -> Result<Vec<u8>> {
    let of = looks.of();
    let title = format!("{} on {}", called(of.trace, of.synthetic), of.layer);
    let caption = |look: &BandsLook| {
        let when = if look.at.is_some() { "after" } else { "at the end, after" };
        format!("{when} {} requests", count(look.requests))
    };
    let all = || looks.all().iter();
    match looks.all().first().map(|look| &look.contents) {
        Some(Contents::Tracks(_)) => {
            let panel = |look| Panel { caption: caption(look), units: look.contents.tracks() };
            imbrex_pictures::tracks(&title, &all().map(panel).collect::<Vec<_>>())
        }
        Some(Contents::Zones(_)) => {
            let panel = |look| Panel { caption: caption(look), units: look.contents.zones() };
            imbrex_pictures::zones(&title, &all().map(panel).collect::<Vec<_>>())
        }
        _ => {
            let panel = |look| Panel { caption: caption(look), units: look.contents.bands() };
            imbrex_pictures::bands(&title, &all().map(panel).collect::<Vec<_>>())
        }
    }
}

#[cfg(not(feature = "pictures"))]
fn picture(_: &Looks<'_>) -> Result<Vec<u8>> {
    bail!("this program was built without pictures")
}
