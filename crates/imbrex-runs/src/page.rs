//! `--html`: results as a page that explains itself, beside however else they are written.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow};
use clap::Args;
use imbrex::replay::QUANTILES;
pub use imbrex_page::About;
use imbrex_page::Report;
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::output::ending;
use serde::Serialize;
use serde_json::Value;

use crate::command::Command;
use crate::pdf::Browser;
use crate::row::Row;
use crate::seen::Seen;

/// Where a page of the results goes, if one is wanted.
#[derive(Args, Default)]
pub struct PageArgument {
    /// Write a page to FILE that shows the results, with what happened over time and what lay where
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write that page to FILE as PDF, printed by a browser: Chromium, or one like it that IMBREX_BROWSER names
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
}

/// A page that is being made.
pub struct Page {
    html: Option<NewFile>,
    pdf: Option<(Browser, NewFile)>,
    report: Report,
}

impl PageArgument {
    /// Whether one is.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.html.is_some() || self.pdf.is_some()
    }

    /// Begins the page, if it is wanted.
    ///
    /// # Errors
    /// When a file cannot be written, or no browser is there to print one.
    pub fn open(&self, title: &str) -> Result<Option<Page>> {
        self.is_wanted().then(|| Page::create(self.html.as_deref(), self.pdf.as_deref(), title)).transpose()
    }
}

impl Page {
    /// Begins a page of this title at `path`, as PDF if that is its ending.
    ///
    /// # Errors
    /// When the file cannot be written, or no browser is there to print it.
    pub fn at(path: &Path, title: &str) -> Result<Self> {
        match ending(path) {
            Some("pdf") => Self::create(None, Some(path), title),
            _ => Self::create(Some(path), None, title),
        }
    }

    fn create(html: Option<&Path>, pdf: Option<&Path>, title: &str) -> Result<Self> {
        let program = concat!("imbrex ", env!("CARGO_PKG_VERSION"));
        let mut report = Report::new(title, program, &QUANTILES);
        report.made_by(Command::typed().shown());
        let browser = pdf.map(|_| Browser::find()).transpose()?;
        let [html, pdf] = [html, pdf].map(|path| path.map(NewFile::create).transpose());
        Ok(Self { html: html?, pdf: browser.zip(pdf?), report })
    }

    /// Adds rows as they are written in JSON.
    ///
    /// # Errors
    /// When they are no rows of results.
    pub fn add(&mut self, rows: &[impl Serialize]) -> Result<()> {
        self.report.add(values(rows)?).map_err(Error::msg)
    }

    /// Says this before everything else, a paragraph each.
    pub fn say(&mut self, paragraphs: &[String]) {
        self.report.say(paragraphs);
    }

    /// Adds rows that were read from a file, which is called `source`.
    ///
    /// # Errors
    /// When they are no rows of results.
    pub fn add_read(&mut self, source: String, rows: Vec<Value>) -> Result<()> {
        self.report.read_from(source);
        self.report.add(rows).map_err(Error::msg)
    }

    /// Adds a run, and what was seen of it.
    fn add_run(&mut self, row: &Row, seen: &Seen<'_>, about: About) -> Result<()> {
        self.add(&[row])?;
        self.report.tell(about);
        let run = Some(self.report.runs() - 1);
        self.report.add_of(seen.windows()?, run).map_err(Error::msg)?;
        seen.steps().into_iter().for_each(|steps| self.report.add_steps(steps, run));
        seen.units().into_iter().for_each(|units| self.report.add_units(units, run));
        Ok(())
    }

    /// Shows these runs, and writes the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn of_runs<'a>(self, runs: impl Iterator<Item = (&'a Row, &'a Seen<'a>)>) -> Result<()> {
        self.of_told(runs.map(|(row, seen)| (row, seen, About::default())))
    }

    /// Shows these runs, and what is told of each, and writes the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn of_told<'a>(mut self, runs: impl Iterator<Item = (&'a Row, &'a Seen<'a>, About)>) -> Result<()> {
        for (row, seen, about) in runs {
            self.add_run(row, seen, about)?;
        }
        self.finish()
    }

    /// Writes and completes the file.
    ///
    /// # Errors
    /// When a file cannot be written, or the browser does not print.
    pub fn finish(self) -> Result<()> {
        let page = self.report.html();
        let printed = self.pdf.map(|(browser, file)| Ok::<_, Error>((browser.print(&page)?, file))).transpose()?;
        self.html.map_or(Ok(()), |file| complete(file, page.as_bytes()))?;
        printed.map_or(Ok(()), |(content, file)| complete(file, &content))
    }
}

fn complete(mut file: NewFile, content: &[u8]) -> Result<()> {
    file.write_all(content).map_err(|cause| anyhow!("cannot write the page: {cause}"))?;
    file.finish()
}

fn values(rows: &[impl Serialize]) -> Result<Vec<Value>> {
    Ok(rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
}
