//! The space that a layer in Python may use.

use imbrex::space::Space;
use imbrex::zones::Zones;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// A run of sequential zones, or of the erase blocks of flash.
#[pyclass(module = "imbrex", name = "Zones", frozen)]
pub struct PyZones {
    zones: Zones,
}

#[pymethods]
impl PyZones {
    /// How many there are.
    #[getter]
    fn count(&self) -> u32 {
        self.zones.count
    }

    /// Blocks of each.
    #[getter]
    fn zone_blocks(&self) -> u32 {
        self.zones.zone_blocks
    }

    /// The unit that a zone is, by its number from the first: what `Plan.reset` and `UnitRole` take.
    fn unit(&self, zone: u32) -> PyResult<u32> {
        self.check(zone)?;
        Ok(self.zones.unit(zone).index)
    }

    /// The number of the zone that a unit is, if it is one.
    fn zone(&self, unit: u32) -> Option<u32> {
        self.zones.index(imbrex::plan::Unit::disk(unit))
    }

    /// Block `offset` of a zone, as a block of the disk.
    #[pyo3(signature = (zone, offset = 0))]
    fn block(&self, zone: u32, offset: u32) -> PyResult<u64> {
        self.check(zone)?;
        Ok(self.zones.block(zone, 0).block() + u64::from(offset))
    }

    fn __repr__(&self) -> String {
        format!("Zones(count={}, zone_blocks={})", self.zones.count, self.zones.zone_blocks)
    }
}

impl PyZones {
    fn check(&self, zone: u32) -> PyResult<()> {
        if zone < self.zones.count {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("there are {} zones, and zone {zone} is none of them", self.zones.count)))
    }
}

/// The space that a layer may use: what the drive has, less what is kept for the journal.
#[pyclass(module = "imbrex", name = "Space", frozen)]
pub struct PySpace {
    space: Space,
}

impl PySpace {
    pub fn new(space: &Space) -> Self {
        Self { space: space.clone() }
    }
}

#[pymethods]
impl PySpace {
    /// The first conventional block, which is written anywhere and in place.
    #[getter]
    fn conventional(&self) -> u64 {
        self.space.conventional.block()
    }

    /// How many conventional blocks follow from there.
    #[getter]
    fn conventional_blocks(&self) -> u64 {
        self.space.conventional_blocks
    }

    /// How many of them a persistent buffer may take.
    #[getter]
    fn buffer_blocks(&self) -> u32 {
        self.space.buffer_blocks
    }

    /// The sequential zones or erase blocks, if the drive has any.
    #[getter]
    fn zones(&self) -> Option<PyZones> {
        self.space.zones.map(|zones| PyZones { zones })
    }

    fn __repr__(&self) -> String {
        let zones = self.zones().map_or_else(|| "None".to_owned(), |zones| zones.__repr__());
        let Space { conventional_blocks, buffer_blocks, .. } = self.space;
        let first = self.space.conventional.block();
        format!(
            "Space(conventional={first}, conventional_blocks={conventional_blocks}, buffer_blocks={buffer_blocks}, zones={zones})"
        )
    }
}
