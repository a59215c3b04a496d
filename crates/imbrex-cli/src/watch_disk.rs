//! `--watch-disk`: what the disk does in a few seconds of a replay, as a picture that moves.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use imbrex::layers::LayerInfo;
use imbrex::media::Media;
use imbrex::recording::Recording;
use imbrex::replay::{DiskStep, ReplayOptions, Scheduler, TraceMoment};
use imbrex::trace::{TraceInfo, TraceRange};
use imbrex_runs::moment::Moment;
use imbrex_runs::row::called;
use imbrex_runs::steps::Story;
use imbrex_runs::written::Written;
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::output::ending;

/// Where the picture goes, and from when on the disk is watched.
#[derive(Args)]
pub struct WatchArguments {
    /// Write what the disk does around the first cleaning to FILE.svg, step by step, as a picture that moves; a page shows
    /// it too
    #[arg(long, value_name = "FILE.svg")]
    watch_disk: Option<PathBuf>,
    /// Look for cleaning from this moment on: after PERCENT of the requests such as 25%, after N requests, or at a TIME
    /// such as 2h
    #[arg(long, value_name = "PERCENT|N|TIME", value_parser = Moment::read)]
    watch_disk_at: Option<Moment>,
}

impl WatchArguments {
    /// Refuses what makes no sense, before any work.
    pub fn check(&self, has_page: bool) -> Result<()> {
        if self.watch_disk_at.is_some() && self.watch_disk.is_none() && !has_page {
            bail!("--watch-disk-at: nobody watches; add --watch-disk FILE.svg or --html FILE");
        }
        match &self.watch_disk {
            Some(path) if ending(path) != Some("svg") => {
                bail!("--watch-disk {}: it is a picture; write it as .svg", path.display())
            }
            _ => Ok(()),
        }
    }

    /// The options under which the disk is watched, if the picture is wanted, or a page can show it.
    pub fn watched(
        &self,
        options: &ReplayOptions,
        range: &TraceRange,
        page_of: Option<&LayerInfo>,
    ) -> Result<ReplayOptions> {
        let is_asked = self.watch_disk.is_some() || self.watch_disk_at.is_some();
        let is_single =
            |layer: &LayerInfo| layer.recording != Recording::Cached && options.scheduler == Scheduler::Fcfs;
        let is_watched = is_asked || page_of.is_some_and(is_single);
        let at = self.watch_disk_at.map_or(TraceMoment::Requests(0), |at| at.of(range));
        let options = ReplayOptions { watch_disk: is_watched.then_some(at), ..options.clone() };
        options.check_watch(range)?;
        Ok(options)
    }

    /// Begins the picture, if it is wanted.
    pub fn create<'a>(
        &self,
        workload: &'a TraceInfo,
        layer: &'static LayerInfo,
        block_bytes: u32,
    ) -> Result<Watch<'a>> {
        let file = self.watch_disk.as_deref().map(NewFile::create).transpose()?;
        Ok(Watch { file, workload, layer, block_bytes, stories: None })
    }
}

type Tell = fn(&[DiskStep], &dyn Media, &LayerInfo, u32) -> Story;

/// What is seen of the disk, and the picture of it.
pub struct Watch<'a> {
    file: Option<NewFile>,
    workload: &'a TraceInfo,
    layer: &'static LayerInfo,
    block_bytes: u32,
    /// What a page shows, and what the picture does.
    pub stories: Option<[Story; 2]>,
}

impl Watch<'_> {
    /// Takes what the disk did.
    pub fn see(&mut self, steps: &[DiskStep], media: &dyn Media) {
        let told = [Story::of, Story::short].map(|tell: Tell| tell(steps, media, self.layer, self.block_bytes));
        self.stories = Some(told);
    }

    /// Writes and completes the picture.
    pub fn finish(self) -> Result<()> {
        let Some((mut file, [_, story])) = self.file.zip(self.stories) else { return Ok(()) };
        let title = format!("{} on {}", called(&self.workload.name, self.workload.is_synthetic()), self.layer.name);
        let written = file.write_all(story.picture(&title).as_bytes());
        written.map_err(|cause| anyhow!("cannot write the picture of the disk: {cause}"))?;
        file.finish()
    }
}
