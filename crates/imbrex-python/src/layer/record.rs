//! Records, as the layer's class sees them.

use imbrex::block::{Extent, Lba, Pba};
use imbrex::plan::{Record, Unit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::place::block;

/// Blocks lie at a place of the disk now.
#[pyclass(module = "imbrex", frozen, eq, hash, get_all)]
#[derive(PartialEq, Hash)]
pub struct Map {
    lba: u64,
    blocks: u32,
    to: u64,
}

/// Blocks lie nowhere: they were never written, or trimmed.
#[pyclass(module = "imbrex", frozen, eq, hash, get_all)]
#[derive(PartialEq, Hash)]
pub struct Unmap {
    lba: u64,
    blocks: u32,
}

/// The content of blocks is lost: they read as an error until they are written again.
#[pyclass(module = "imbrex", frozen, eq, hash, get_all)]
#[derive(PartialEq, Hash)]
pub struct Lost {
    lba: u64,
    blocks: u32,
}

/// A unit has another role; the layer says what `role` means.
#[pyclass(module = "imbrex", frozen, eq, hash, get_all)]
#[derive(PartialEq, Hash)]
pub struct UnitRole {
    unit: u32,
    role: u32,
}

/// A number under a key; the layer says what both mean.
#[pyclass(module = "imbrex", frozen, eq, hash, get_all)]
#[derive(PartialEq, Hash)]
pub struct Note {
    key: u32,
    value: u64,
}

macro_rules! record_class {
    ($class:ident, $($field:ident: $kind:ty),*) => {
        #[pymethods]
        impl $class {
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
                PyTuple::new(py, [$(stringify!($field)),*])
            }

            #[new]
            fn new($($field: $kind),*) -> Self {
                Self { $($field),* }
            }

            fn __repr__(&self) -> String {
                let fields: &[String] = &[$(format!("{}={}", stringify!($field), self.$field)),*];
                format!("{}({})", stringify!($class), fields.join(", "))
            }
        }
    };
}

record_class!(Map, lba: u64, blocks: u32, to: u64);
record_class!(Unmap, lba: u64, blocks: u32);
record_class!(Lost, lba: u64, blocks: u32);
record_class!(UnitRole, unit: u32, role: u32);
record_class!(Note, key: u32, value: u64);

/// Logical blocks that a record names.
fn extent(lba: u64, blocks: u32) -> PyResult<Extent<Lba>> {
    if blocks == 0 || lba.checked_add(blocks.into()).is_none_or(|end| end >= 1 << 56) {
        return Err(PyValueError::new_err(format!("no record is of {blocks} blocks from {lba}")));
    }
    Ok(Extent::new(Lba(lba), blocks))
}

/// The record that an object is.
pub fn record_of(object: &Bound<'_, PyAny>) -> PyResult<Record> {
    if let Ok(map) = object.cast::<Map>() {
        let Map { lba, blocks, to } = *map.get();
        Ok(Record::Map { at: extent(lba, blocks)?, to: block(to)? })
    } else if let Ok(unmap) = object.cast::<Unmap>() {
        Ok(Record::Unmap(extent(unmap.get().lba, unmap.get().blocks)?))
    } else if let Ok(lost) = object.cast::<Lost>() {
        Ok(Record::Lost(extent(lost.get().lba, lost.get().blocks)?))
    } else if let Ok(role) = object.cast::<UnitRole>() {
        Ok(Record::Unit { unit: Unit::disk(role.get().unit), is: role.get().role })
    } else if let Ok(note) = object.cast::<Note>() {
        Ok(Record::Note { key: note.get().key, value: note.get().value })
    } else {
        let known = "Map, Unmap, Lost, UnitRole or Note";
        Err(PyTypeError::new_err(format!("{} is no record: neither {known}", object.repr()?)))
    }
}

/// A record for Python; nothing for one about another device than the disk, which no layer in Python has.
pub fn object<'py>(py: Python<'py>, record: &Record) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match *record {
        Record::Map { at, to } if to.device() == Pba::DISK => {
            Bound::new(py, Map { lba: at.start.0, blocks: at.blocks, to: to.block() })?.into_any()
        }
        Record::Unit { unit, is } if unit.device == Pba::DISK => {
            Bound::new(py, UnitRole { unit: unit.index, role: is })?.into_any()
        }
        Record::Map { .. } | Record::Copy { .. } | Record::Unit { .. } => return Ok(None),
        Record::Unmap(at) => Bound::new(py, Unmap { lba: at.start.0, blocks: at.blocks })?.into_any(),
        Record::Lost(at) => Bound::new(py, Lost { lba: at.start.0, blocks: at.blocks })?.into_any(),
        Record::Note { key, value } => Bound::new(py, Note { key, value })?.into_any(),
    }))
}
