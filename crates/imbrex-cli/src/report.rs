//! `imbrex report`: results that are there already, as a page.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use imbrex_runs::page::Page;
use imbrex_runs::saved;

/// Make a page of results: one file that shows them in charts and tables and loads nothing from anywhere
#[derive(Args)]
pub struct ReportCommand {
    /// Files that --format json, --series or --bands wrote, or folders with such files, as `reproduce` makes them
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<PathBuf>,
    /// The page's file, which appears when it is complete; as PDF if it ends in .pdf, where a browser is there to print it
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    file: PathBuf,
    /// What stands above it, instead of the names of the files
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

impl ReportCommand {
    pub fn run(self) -> Result<()> {
        let title = self.title.unwrap_or_else(|| saved::title(&self.results));
        let mut page = Page::at(&self.file, &title)?;
        saved::add(&mut page, &self.results)?;
        page.finish()
    }
}
