//! Where a move begins or ends.

use imbrex::block::Pba;
use imbrex::plan::Place;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The first block that no device has.
const BLOCKS: u64 = 1 << 56;

/// Block `at` of the request that is being served, counted from its front.
#[pyclass(module = "imbrex", frozen, eq, hash)]
#[derive(PartialEq, Hash)]
pub struct Host {
    #[pyo3(get)]
    at: u32,
}

#[pymethods]
impl Host {
    #[new]
    #[pyo3(signature = (at = 0))]
    fn new(at: u32) -> Self {
        Self { at }
    }

    fn __repr__(&self) -> String {
        format!("Host({})", self.at)
    }
}

/// Block `block` of RAM, of which a layer has `ram_blocks()`. It is gone with the power.
#[pyclass(module = "imbrex", frozen, eq, hash)]
#[derive(PartialEq, Hash)]
pub struct Ram {
    #[pyo3(get)]
    block: u32,
}

#[pymethods]
impl Ram {
    #[new]
    fn new(block: u32) -> Self {
        Self { block }
    }

    fn __repr__(&self) -> String {
        format!("Ram({})", self.block)
    }
}

/// `ZERO`, which reads as zeros, and `LOST`, whose reading is an error.
#[pyclass(module = "imbrex", frozen, eq, hash, rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(PartialEq, Hash, Clone, Copy)]
pub enum Constant {
    /// Zeros.
    Zero,
    /// What is known to be lost.
    Lost,
}

/// A block of the disk.
pub fn block(number: u64) -> PyResult<Pba> {
    if number < BLOCKS {
        return Ok(Pba::disk(number));
    }
    Err(PyValueError::new_err(format!("no disk has a block {number}")))
}

/// The place that an object means: a whole number is a block of the disk.
pub fn place(object: &Bound<'_, PyAny>) -> PyResult<Place> {
    if let Ok(number) = object.extract::<u64>() {
        block(number).map(Place::At)
    } else if let Ok(host) = object.cast::<Host>() {
        Ok(Place::Host(host.get().at))
    } else if let Ok(ram) = object.cast::<Ram>() {
        Ok(Place::At(Pba::ram(ram.get().block.into())))
    } else if let Ok(constant) = object.cast::<Constant>() {
        Ok(match constant.get() {
            Constant::Zero => Place::Zero,
            Constant::Lost => Place::Lost,
        })
    } else {
        Err(PyTypeError::new_err(format!(
            "{} is no place: neither a block nor Host, Ram, ZERO or LOST",
            object.repr()?
        )))
    }
}
