//! From a drive, a layer and a workload to a running simulation.

use std::ops::ControlFlow;
use std::time::Instant;

use super::bands::BandsLook;
use super::configured::{self, Configured};
use super::device::Device;
use super::error::ReplayError;
use super::options::ReplayOptions;
use super::outcome::Outcome;
use super::room;
use super::scheduler::Scheduler;
use super::series::WindowOutcome;
use super::simulation::Simulation;
use super::steps::DiskStep;
use super::{Observer, ServedRequest};
use imbrex_core::buffer_size::BufferSize;
use imbrex_core::drive::DrivePreset;
use imbrex_core::media::Media;
use imbrex_core::recording::Recording;
use imbrex_core::space::HomeCosts;
use imbrex_layers::below::BelowConfig;
use imbrex_layers::{self as layers, LayerInfo};
use imbrex_trace::{TraceSource, Workload};

/// What is replayed on what.
#[derive(Copy, Clone)]
pub struct Setup<'a> {
    /// The drive.
    pub drive: &'a DrivePreset,
    /// The layer.
    pub layer: &'a LayerInfo,
    /// The layer's configuration.
    pub config: &'a toml::Table,
    /// The size of the layer's persistent buffer, if it has one.
    pub buffer: BufferSize,
    /// The requests.
    pub workload: &'a Workload,
}

/// Replays a workload. When the buffer is a percentage of the workload's address range and the layer has a buffer, the
/// workload is first read once from end to end.
///
/// # Errors
/// When the set-up makes no sense, the workload cannot be read, or the layer or the drive refuses; see [`ReplayError`].
pub fn replay(setup: &Setup<'_>, options: &ReplayOptions, observer: &mut dyn Observer) -> Result<Outcome, ReplayError> {
    let simulation = setup.simulation(options)?;
    let mut source = setup.workload.open()?;
    simulation.run_timed(&mut *source, observer)
}

impl Setup<'_> {
    /// The layer on its drive, filled and ready to serve.
    ///
    /// # Errors
    /// When the set-up makes no sense or the layer or the drive refuses.
    pub fn simulation(&self, options: &ReplayOptions) -> Result<Simulation, ReplayError> {
        let buffer_blocks = self.buffer_blocks()?;
        let configured = Configured { layer: self.layer, config: self.config, buffer_blocks };
        let recording = self.layer.recording;
        let drive = configured.roomy(self.drive, options)?;
        let disk = match recording {
            Recording::Cached => stack(self, &configured, options)?,
            _ if options.untimed => room::untimed(&drive, recording)?,
            _ => room::disk(&drive, recording)?,
        };
        configured.simulation(disk, options)
    }

    fn buffer_blocks(&self) -> Result<u32, ReplayError> {
        if !self.layer.buffered {
            return Ok(0);
        }
        let range_bytes = match self.buffer {
            BufferSize::Percent(_) => self.workload.range()?.range_bytes,
            BufferSize::Bytes(_) | BufferSize::Blocks(_) => 0,
        };
        let blocks = self.buffer.blocks(range_bytes, self.drive.block_bytes);
        u32::try_from(blocks).map_err(|_| ReplayError::Option {
            option: "buffer",
            reason: format!("{} are {blocks} blocks, more than a buffer holds; choose a smaller one", self.buffer),
        })
    }
}

/// The devices under `setup.layer`, filled and ready: flash on which the layer there leaves room for the cache and for
/// the journal, and the disk.
fn stack(setup: &Setup<'_>, cache: &Configured<'_>, options: &ReplayOptions) -> Result<Device, ReplayError> {
    let below = BelowConfig::read(setup.layer, setup.config)?;
    let flash = configured::flash(cache, &below, setup.drive, options)?;
    let (flash_layer, disk_layer) = (layers::find(&below.flash_layer)?, layers::find(&below.disk_layer)?);
    let flash = Setup {
        drive: &flash,
        layer: flash_layer,
        config: &below.flash_config,
        // A buffer would be part of the flash; no layer for flash has one.
        buffer: BufferSize::Bytes(0),
        workload: setup.workload,
    };
    let options = configured::below_journal(options);
    let options = ReplayOptions {
        queue_depth: None,
        paced: false,
        scheduler: Scheduler::Fcfs,
        window: None,
        each_request: false,
        watch_disk: None,
        ..options
    };
    let disk = Setup { layer: disk_layer, config: &below.disk_config, buffer: below.disk_buffer, ..*setup };
    let costs = home_costs(flash.drive, disk.drive, disk_layer)?;
    Ok(Device::stack(vec![flash.simulation(&options)?, disk.simulation(&options)?]).costing(costs))
}

/// What it costs to write to a disk behind flash.
fn home_costs(flash: &DrivePreset, disk: &DrivePreset, disk_layer: &LayerInfo) -> Result<HomeCosts, ReplayError> {
    let (page_ns, seek_ns) = (flash.timing()?.write_ns(), disk.timing()?.write_ns());
    let pages = (seek_ns + page_ns / 2).checked_div(page_ns).unwrap_or(u64::MAX);
    let seek_pages = u32::try_from(pages).unwrap_or(u32::MAX).max(1);
    Ok(HomeCosts { seek_pages, rewrites: layers::shingled::rewrites(disk_layer) })
}

/// Notes when the measured part of a replay begins.
struct Stopwatch<'a> {
    observer: &'a mut dyn Observer,
    begun: Instant,
}

impl Observer for Stopwatch<'_> {
    fn progress(&mut self, requests: u64) -> ControlFlow<()> {
        self.observer.progress(requests)
    }

    fn warmed_up(&mut self) {
        self.begun = Instant::now();
        self.observer.warmed_up();
    }

    fn request(&mut self, request: &ServedRequest) {
        self.observer.request(request);
    }

    fn row(&mut self, row: &WindowOutcome) {
        self.observer.row(row);
    }

    fn bands(&mut self, look: &BandsLook) {
        self.observer.bands(look);
    }

    fn steps(&mut self, steps: &[DiskStep], media: &dyn Media) {
        self.observer.steps(steps, media);
    }
}

impl Simulation {
    /// Like [`Simulation::run`], and measures how long that takes on the wall's clock, without the warm-up.
    ///
    /// # Errors
    /// The errors of [`Simulation::run`].
    pub fn run_timed(self, source: &mut dyn TraceSource, observer: &mut dyn Observer) -> Result<Outcome, ReplayError> {
        let mut watch = Stopwatch { observer, begun: Instant::now() };
        let outcome = self.run(source, &mut watch)?;
        Ok(outcome.timed(watch.begun.elapsed().as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seek over a third of the cylinders takes 10 ms, and half a turn at 5980 rpm 5; a page takes 1.3 ms, and 28 µs.
    #[test]
    fn a_cache_knows_how_its_devices_compare() {
        let drive = |name| DrivePreset::named(name).unwrap();
        let costs = |flash, disk_layer| {
            home_costs(&drive(flash), &drive("st8000as0002"), layers::find(disk_layer).unwrap()).unwrap()
        };
        assert_eq!(costs("ssd-pore", "skylight"), HomeCosts { seek_pages: 12, rewrites: false });
        assert_eq!(costs("ssd-sata", "zone-ages"), HomeCosts { seek_pages: 543, rewrites: false });
        assert_eq!(costs("ssd-pore", "in-place"), HomeCosts { seek_pages: 12, rewrites: true });
    }
}
