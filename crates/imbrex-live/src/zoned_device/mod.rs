//! A host-managed disk: a zoned block device of Linux, through the kernel's requests about zones.
//!
//! The media is a [`Shingled`] kept in step with the drive: it refuses what the drive would refuse, and after an
//! operation that failed the drive is asked how far the zone is written now. Conventional zones come first, as the
//! layers need them; other drives are refused with the zone that is not as it has to be.
//!
//! The blocks of zones that end in a gap, as those of flash do, are numbered without it; `places` knows where they lie.

mod ioctl;
mod places;
mod shape;

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::layer::UnitReport;
use imbrex::media::{Media, Shingled};
use imbrex::plan::Unit;
use imbrex::recording::Recording;

use crate::active;
use crate::direct::{DeviceError, DirectDevice};
use crate::store::{Store, StoreError};
use places::Places;
use shape::{Limits, SECTOR_BYTES};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: u32 = 4096;
const BLOCK_SECTORS: u64 = BLOCK_BYTES as u64 / SECTOR_BYTES;

/// A zoned block device.
pub struct ZonedDevice {
    device: DirectDevice,
    places: Places,
    media: Mutex<Shingled>,
}

impl ZonedDevice {
    /// Takes a device that has zones.
    ///
    /// # Errors
    /// When its zones are not as they have to be.
    pub fn new(device: DirectDevice) -> Result<Self, DeviceError> {
        device.suits(BLOCK_BYTES)?;
        let limit = |name: &str| device.number(name).map(|limit| u32::try_from(limit).unwrap_or(0));
        let limits = Limits { open: limit("max_open_zones")?, active: limit("max_active_zones")? };
        let zones = ioctl::zones(device.file(), 0, usize::MAX);
        let zones = zones.map_err(|source| DeviceError::Unknown { what: "its zones".to_owned(), source })?;
        let spec = shape::spec(&zones, BLOCK_SECTORS, limits)?;
        let places = Places { zone_blocks: spec.zone_blocks, zone_bytes: zones[0].len * SECTOR_BYTES };
        let mut media = Shingled::new(Pba::DISK, spec);
        mirror(&mut media, 0, &zones);
        Ok(Self { device, places, media: Mutex::new(media) })
    }

    fn media(&self) -> MutexGuard<'_, Shingled> {
        self.media.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the drive for the states of `zones` of its zones from `first` on.
    fn look(&self, first: u32, zones: u32) -> io::Result<()> {
        let mut media = self.media();
        let (start, _) = self.sectors(Unit::disk(first));
        mirror(&mut media, first, &ioctl::zones(self.device.file(), start, zones as usize)?);
        Ok(())
    }

    /// The first sector of a zone, and how many it has.
    fn sectors(&self, unit: Unit) -> (u64, u64) {
        let sectors = self.places.zone_bytes / SECTOR_BYTES;
        (u64::from(unit.index) * sectors, sectors)
    }

    /// What an operation on a unit came to. After one that failed, only the drive knows how far the unit is written.
    fn outcome(&self, unit: Unit, result: io::Result<()>, doing: &str) -> Result<(), StoreError> {
        result.map_err(|source| {
            self.ask(unit);
            StoreError::Io { doing: format!("{doing} zone {}", unit.index), source }
        })
    }

    /// Asks the drive for the state of a unit of which an operation failed.
    fn ask(&self, unit: Unit) {
        if let Err(error) = self.look(unit.index, 1) {
            tracing::warn!(zone = unit.index, %error, "the drive does not say how far the zone is written");
        }
    }
}

/// Brings the zones from the one of number `first` on to the state that the drive reports.
fn mirror(media: &mut Shingled, first: u32, zones: &[ioctl::Zone]) {
    let spec = media.spec();
    for (unit, zone) in (first..spec.zones).map(Unit::disk).zip(zones) {
        shape::mirror(media, unit, shape::state(zone, BLOCK_SECTORS, spec.zone_blocks));
    }
}

/// Whether a device has zones that it writes one block after the other only.
///
/// # Errors
/// When the kernel does not say.
pub fn is_zoned(device: &DirectDevice) -> Result<bool, DeviceError> {
    Ok(device.attribute("zoned")? != "none")
}

/// The zones of a device, by their kinds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ZoneCounts {
    /// Bytes of the first zone.
    pub zone_bytes: u64,
    /// Bytes of a sequential zone that can be written, which are fewer where zones end in a gap.
    pub writable_bytes: u64,
    /// Zones that are written anywhere.
    pub conventional: u32,
    /// The others.
    pub sequential: u32,
}

/// Counts the zones of a device, whether or not it could be served.
///
/// # Errors
/// When the kernel does not report them.
pub fn count_zones(device: &DirectDevice) -> Result<ZoneCounts, DeviceError> {
    let zones = ioctl::zones(device.file(), 0, usize::MAX);
    let zones = zones.map_err(|source| DeviceError::Unknown { what: "its zones".to_owned(), source })?;
    let conventional = zones.iter().filter(|zone| shape::is_conventional(zone)).count();
    let sequential = zones.get(conventional).or(zones.first());
    Ok(ZoneCounts {
        zone_bytes: zones.first().map_or(0, |zone| zone.len) * SECTOR_BYTES,
        writable_bytes: sequential.map_or(0, |zone| zone.capacity) * SECTOR_BYTES,
        conventional: conventional as u32,
        sequential: (zones.len() - conventional) as u32,
    })
}

impl Store for ZonedDevice {
    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn recording(&self) -> Recording {
        Recording::Zoned
    }

    fn media(&self) -> Box<dyn Media> {
        Box::new(self.media().clone())
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        let unit = {
            let media = self.media();
            media.read(at)?;
            media.unit_of(at.start)
        };
        let read = self.places.read(at, |len, offset| self.device.read(len, offset)).inspect_err(|_| self.ask(unit));
        read.map_err(StoreError::of("reading", at))
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        let unit = {
            let mut media = self.media();
            media.write(at)?;
            media.unit_of(at.start)
        };
        let written = self.places.write(at, content, |content, offset| self.device.write(content, offset));
        self.outcome(unit, written, "writing to")
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        self.media().reset(unit)?;
        let (sector, sectors) = self.sectors(unit);
        self.outcome(unit, ioctl::reset(self.device.file(), sector, sectors), "emptying")
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.device.flush().map_err(|source| StoreError::Io { doing: "flushing".to_owned(), source })
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        let all = self.media().spec().zones;
        let io = |source| StoreError::Io { doing: "asking for the state of the zones".to_owned(), source };
        self.look(0, all).map_err(io)?;
        let crowding = active::crowding(&*self.media());
        for unit in &crowding {
            let (sector, sectors) = self.sectors(*unit);
            self.outcome(*unit, ioctl::finish(self.device.file(), sector, sectors), "finishing")?;
        }
        if !crowding.is_empty() {
            self.look(0, all).map_err(io)?;
        }
        Ok(self.media().unit_report())
    }
}
