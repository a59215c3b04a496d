//! A block device without zones: a disk or an SSD that takes writes anywhere.

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::layer::UnitReport;
use imbrex::layers::Recording;
use imbrex::media::{Conventional, Media};
use imbrex::plan::Unit;

use crate::direct::{DeviceError, DirectDevice};
use crate::store::{Store, StoreError};
use crate::zoned_device::BLOCK_BYTES;

/// A block device.
pub struct BlockDevice {
    device: DirectDevice,
    media: Conventional,
}

impl BlockDevice {
    /// Takes a device that has no zones.
    ///
    /// # Errors
    /// When its blocks do not fit.
    pub fn new(device: DirectDevice) -> Result<Self, DeviceError> {
        device.suits(BLOCK_BYTES)?;
        let blocks = device.bytes()? / u64::from(BLOCK_BYTES);
        Ok(Self { device, media: Conventional::new(Pba::DISK, blocks) })
    }
}

impl Store for BlockDevice {
    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn recording(&self) -> Recording {
        Recording::Conventional
    }

    fn media(&self) -> Box<dyn Media> {
        self.media.copy()
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        self.media.read(at)?;
        let len = at.blocks as usize * BLOCK_BYTES as usize;
        self.device.read(len, offset(at)).map_err(StoreError::of("reading", at))
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        self.media.clone().write(at)?;
        self.device.write(content, offset(at)).map_err(StoreError::of("writing", at))
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        Ok(self.media.clone().reset(unit)?)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.device.flush().map_err(|source| StoreError::Io { doing: "flushing".to_owned(), source })
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        Ok(self.media.unit_report())
    }
}

fn offset(at: Extent<Pba>) -> u64 {
    at.start.block() * u64::from(BLOCK_BYTES)
}
