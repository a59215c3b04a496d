//! A simulated disk to probe: a drive and what runs inside it, timed by the modelled time.

use imbrex::block::{Access, Extent, Lba, Request};
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layer::Condition;
use imbrex::layers;
use imbrex::mechanics::SECTOR_BYTES;
use imbrex::replay::{Configured, ReplayOptions, Simulation, Timing, disk, timing};
use toml::Table;

use crate::disk::{Disk, Facts, ProbeError, Zones};

/// A drive of a preset. A layer runs inside it where one does in such disks: `skylight` in a drive-managed one, `seagate`
/// in an interlaced one, `page-ftl` in flash, none in those that leave their zones to the host.
pub struct Simulated {
    facts: Facts,
    inside: Inside,
    now_ns: u64,
}

/// What answers.
enum Inside {
    Layer(Box<Simulation>),
    /// The mechanics alone. What may be written where is the host's to know.
    Bare {
        timing: Box<dyn Timing>,
        sectors_per_block: u64,
    },
}

/// The layer inside a drive that has one.
#[must_use]
pub fn layer_inside(drive: &DrivePreset) -> Option<&'static str> {
    match drive.media {
        MediaSpec::Conventional { .. } => Some("conventional"),
        MediaSpec::Banded { .. } => Some("skylight"),
        MediaSpec::Interlaced(_) => Some("seagate"),
        MediaSpec::Flash { .. } => Some("page-ftl"),
        MediaSpec::Zoned { .. } | MediaSpec::Hybrid(_) => None,
    }
}

impl Simulated {
    /// The disk that `drive` describes, written once from end to end, with fields of the layer inside.
    ///
    /// # Errors
    /// When the drive or the layer cannot be.
    pub fn new(drive: &DrivePreset, config: &Table) -> Result<Self, ProbeError> {
        let wrong = |e: &dyn std::fmt::Display| ProbeError::Simulated(e.to_string());
        let block_bytes = drive.block_bytes;
        let is_flash = matches!(drive.media, MediaSpec::Flash { .. });
        let (inside, blocks) = match layer_inside(drive) {
            Some(name) => {
                let layer = layers::find(name).map_err(|e| wrong(&e))?;
                let device = disk(drive, layer.recording).map_err(|e| wrong(&e))?;
                let configured = Configured { layer, config, buffer_blocks: 0 };
                let made = configured.simulation(device, &ReplayOptions::default()).map_err(|e| wrong(&e))?;
                let blocks = made.capacity();
                (Inside::Layer(Box::new(made)), blocks)
            }
            None => {
                let sectors_per_block = u64::from(block_bytes / SECTOR_BYTES);
                (Inside::Bare { timing: timing(drive).map_err(|e| wrong(&e))?, sectors_per_block }, drive.blocks())
            }
        };
        let facts = Facts {
            model: Some(format!("simulated {}", drive.name)),
            bytes: blocks * u64::from(block_bytes),
            block_bytes,
            rotational: Some(!is_flash),
            zones: zones(drive).map_err(|e| wrong(&e))?,
        };
        Ok(Self { facts, inside, now_ns: 0 })
    }

    fn serve(&mut self, access: Access, at: u64, blocks: u32) -> Result<u64, ProbeError> {
        let begun = self.now_ns;
        self.now_ns = match &mut self.inside {
            Inside::Layer(simulation) => {
                let request = Request { access, at: Extent::new(Lba(at), blocks) };
                simulation.serve_at(request, begun).map_err(|e| ProbeError::Simulated(e.to_string()))?
            }
            Inside::Bare { timing, sectors_per_block } => {
                let (first, sectors) = (at * *sectors_per_block, u64::from(blocks) * *sectors_per_block);
                timing.access(begun, first, sectors, access == Access::Write)
            }
        };
        Ok(self.now_ns - begun)
    }
}

impl Disk for Simulated {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn read(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError> {
        self.serve(Access::Read, at, blocks)
    }

    fn write(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError> {
        self.serve(Access::Write, at, blocks)
    }

    fn rest(&mut self, ns: u64) -> Result<(), ProbeError> {
        self.now_ns += ns;
        Ok(())
    }

    fn clock_ns(&self) -> u64 {
        self.now_ns
    }
}

/// What a drive whose zones are the host's reports about them.
fn zones(drive: &DrivePreset) -> Result<Option<Zones>, imbrex::drive::DriveError> {
    let (zone_blocks, max_open, max_active) = match &drive.media {
        MediaSpec::Zoned { zone_blocks, max_open, max_active, .. } => (*zone_blocks, *max_open, *max_active),
        MediaSpec::Hybrid(hybrid) => (hybrid.zone_blocks, 0, 0),
        _ => return Ok(None),
    };
    let report = drive.media(drive.recording())?.report();
    let count = |is: Condition| report.iter().filter(|zone| zone.condition == is).count() as u32;
    let zone_bytes = u64::from(zone_blocks) * u64::from(drive.block_bytes);
    Ok(Some(Zones {
        host_managed: true,
        zone_bytes,
        writable_bytes: zone_bytes,
        conventional: count(Condition::Conventional),
        sequential: count(Condition::Sequential),
        inactive: count(Condition::Inactive),
        max_open,
        max_active,
    }))
}
