//! Several devices that are written in place: what a layer over devices with layers of their own sees.

use super::{Conventional, Illegal, Media};
use crate::block::{Extent, Pba};
use crate::layer::{Condition, UnitReport, UnitState};
use crate::plan::Unit;

/// Conventional devices side by side, numbered from [`Pba::DISK`].
#[derive(Clone, Debug)]
pub struct Joined {
    devices: Vec<Conventional>,
}

impl Joined {
    /// A device for each of these numbers of blocks; at least one.
    #[must_use]
    pub fn new(blocks: impl IntoIterator<Item = u64>) -> Self {
        let devices = (Pba::DISK..).zip(blocks).map(|(device, blocks)| Conventional::new(device, blocks)).collect();
        Self { devices }
    }

    fn index(device: u8) -> Option<usize> {
        usize::from(device).checked_sub(usize::from(Pba::DISK))
    }

    fn device(&self, at: Extent<Pba>) -> Result<&Conventional, Illegal> {
        let device = Self::index(at.start.device()).and_then(|index| self.devices.get(index));
        device.ok_or(Illegal::Beyond { at, blocks: 0 })
    }
}

impl Media for Joined {
    fn blocks(&self) -> u64 {
        self.devices.iter().map(Media::blocks).sum()
    }

    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal> {
        self.device(at)?.read(at)
    }

    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal> {
        // Writing in place changes nothing that is kept here.
        self.device(at)?.clone().write(at)
    }

    fn reset(&mut self, unit: Unit) -> Result<(), Illegal> {
        Err(Illegal::NoReset { unit })
    }

    fn destroys(&self, _write: Extent<Pba>, _destroyed: &mut dyn FnMut(Extent<Pba>)) {}

    fn unit_of(&self, block: Pba) -> Unit {
        Unit { device: block.device(), index: 0 }
    }

    fn extent_of(&self, unit: Unit) -> Extent<Pba> {
        match Self::index(unit.device).and_then(|index| self.devices.get(index)) {
            Some(device) => device.extent_of(unit),
            None => Extent::new(Pba::new(unit.device, 0), 0),
        }
    }

    fn has_pointer(&self, _unit: Unit) -> bool {
        false
    }

    fn report(&self) -> Vec<UnitState> {
        self.devices.iter().flat_map(Media::report).collect()
    }

    fn unit_report(&self) -> UnitReport {
        let devices = std::iter::once(Vec::new()).chain(self.devices.iter().map(Media::report)).collect();
        UnitReport { devices }
    }

    fn copy(&self) -> Box<dyn Media> {
        Box::new(self.clone())
    }

    fn fail(&mut self, unit: Unit, condition: Condition) {
        if let Some(device) = Self::index(unit.device).and_then(|index| self.devices.get_mut(index)) {
            device.fail(unit, condition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_its_own_length() {
        let mut joined = Joined::new([10, 100]);
        let at = |device, block, blocks| Extent::new(Pba::new(device, block), blocks);
        assert_eq!((joined.read(at(1, 9, 1)), joined.write(at(2, 99, 1))), (Ok(()), Ok(())));
        assert_eq!(joined.write(at(1, 9, 2)), Err(Illegal::Beyond { at: at(1, 9, 2), blocks: 10 }));
        assert!(joined.read(at(3, 0, 1)).is_err() && joined.write(at(2, 100, 1)).is_err());
        let report = joined.unit_report();
        assert_eq!(report.devices.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 1]);
        let second = Unit { device: 2, index: 0 };
        assert_eq!((joined.unit_of(Pba::new(2, 7)), joined.extent_of(second)), (second, at(2, 0, 100)));
        joined.fail(second, Condition::ReadOnly);
        assert!(joined.write(at(2, 0, 1)).is_err() && joined.write(at(1, 0, 1)).is_ok());
    }
}
