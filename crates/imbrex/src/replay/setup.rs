//! From a drive, a layer and a workload to a running simulation.

use std::ops::ControlFlow;
use std::time::Instant;

use super::Observer;
use super::device::{Device, Timing};
use super::error::ReplayError;
use super::options::ReplayOptions;
use super::outcome::Outcome;
use super::series::Row;
use super::simulation::Simulation;
use super::stack;
use crate::block::{Address, Pba};
use crate::buffer_size::BufferSize;
use crate::drive::{DriveError, DrivePreset, DriveTiming};
use crate::layers::{LayerInfo, Recording};
use crate::mechanics::{FlashTimes, Mechanics};
use crate::space::Space;
use crate::trace::{TraceSource, Workload};

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
        let disk = match self.layer.recording {
            Recording::Cached => stack::device(self, buffer_blocks, options)?,
            recording => disk(self.drive, recording)?,
        };
        Simulation::of((self.layer, self.config), buffer_blocks, disk, options)
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

    fn row(&mut self, row: &Row) {
        self.observer.row(row);
    }
}

impl Simulation {
    /// Like [`Simulation::run`], and measures how long that takes on the wall's clock, without the warm-up.
    ///
    /// # Errors
    /// Those of [`Simulation::run`].
    pub fn run_timed(self, source: &mut dyn TraceSource, observer: &mut dyn Observer) -> Result<Outcome, ReplayError> {
        let mut watch = Stopwatch { observer, begun: Instant::now() };
        let outcome = self.run(source, &mut watch)?;
        Ok(outcome.timed(watch.begun.elapsed().as_secs_f64()))
    }

    /// A layer of the library as configured, with a buffer of so many blocks, on an empty `disk`.
    ///
    /// # Errors
    /// When the layer or the disk refuses.
    pub fn of(
        (layer, config): (&LayerInfo, &toml::Table),
        buffer_blocks: u32,
        disk: Device,
        options: &ReplayOptions,
    ) -> Result<Self, ReplayError> {
        let built = layer.build(&space(&disk, buffer_blocks, options)?, config)?;
        Self::new(layer.name, built, disk, options)
    }
}

impl Timing for Mechanics {
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64 {
        Self::access(self, now_ns, first_sector, sectors, write)
    }

    fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64 {
        Self::positioning_ns(self, now_ns, first_sector, write)
    }
}

impl Timing for FlashTimes {
    fn access(&mut self, now_ns: u64, _first_sector: u64, sectors: u64, write: bool) -> u64 {
        Self::access(self, now_ns, sectors, write)
    }

    fn positioning_ns(&self, _now_ns: u64, _first_sector: u64, _write: bool) -> u64 {
        0
    }

    fn reset(&mut self, now_ns: u64, _first_sector: u64, _sectors: u64) -> u64 {
        self.erase(now_ns)
    }
}

/// The drive of a preset, as [`DrivePreset::media`] gives its media.
///
/// # Errors
/// When the preset describes no possible drive, or one of another kind.
pub fn disk(drive: &DrivePreset, recording: Recording) -> Result<Device, DriveError> {
    let media = drive.media(recording)?;
    let timing: Box<dyn Timing> = match drive.timing()? {
        DriveTiming::Disk(mechanics) => Box::new(mechanics),
        DriveTiming::Flash(times) => Box::new(times),
    };
    Ok(Device::new(media, timing, drive.block_bytes))
}

/// Where the journal begins: at the front of the conventional space.
pub(super) const JOURNAL_START: Pba = Pba::disk(0);

/// The space of `disk` that a layer may use under these options: all but the journal that `as_live` prices.
///
/// # Errors
/// When the journal does not fit.
pub fn space(disk: &Device, buffer_blocks: u32, options: &ReplayOptions) -> Result<Space, ReplayError> {
    let mut space = whole(disk, buffer_blocks);
    if options.as_live {
        let blocks = u64::from(options.journal_blocks);
        let Some(rest) = space.conventional_blocks.checked_sub(blocks) else {
            let have = space.conventional_blocks;
            let reason = format!("its {blocks} blocks do not fit the drive's {have} conventional blocks; choose less");
            return Err(ReplayError::Option { option: "journal_blocks", reason });
        };
        space.conventional = JOURNAL_START.plus(blocks);
        space.conventional_blocks = rest;
    }
    Ok(space)
}

/// All of the disk. Of a stack the first device is the cache, the second the home of all blocks.
fn whole(disk: &Device, buffer_blocks: u32) -> Space {
    let space = Space::of(disk.media(), buffer_blocks);
    match disk.below() {
        [cache, home, ..] => space.cached(cache.capacity(), home.capacity()),
        _ => space,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{Conventional, Shingled, ZonedSpec};
    use crate::plan::Unit;
    use crate::replay::NoTime;
    use crate::space::Zones;

    fn zoned() -> Device {
        let spec = ZonedSpec { zones: 10, zone_blocks: 64, conventional_zones: 3, max_open: 0, max_active: 0 };
        Device::new(Box::new(Shingled::new(1, spec)), Box::new(NoTime), 512)
    }

    #[test]
    fn the_journal_is_taken_off_the_front() {
        let options = ReplayOptions { as_live: true, journal_blocks: 4, ..ReplayOptions::default() };
        let space = space(&zoned(), 7, &options).unwrap();
        assert_eq!((space.conventional, space.conventional_blocks), (Pba::disk(4), 188));
        assert_eq!(space.zones, Some(Zones { first: Unit::disk(3), count: 7, zone_blocks: 64 }));
        assert_eq!(space.buffer_blocks, 7);
        let too_long = ReplayOptions { journal_blocks: 193, ..options };
        assert!(super::space(&zoned(), 7, &too_long).is_err());
    }

    #[test]
    fn a_conventional_disk_has_no_zones() {
        let disk = Device::new(Box::new(Conventional::new(1, 1 << 33)), Box::new(NoTime), 4096);
        let space = space(&disk, 0, &ReplayOptions::default()).unwrap();
        assert_eq!((space.conventional_blocks, space.zones), (1 << 33, None));
    }
}
