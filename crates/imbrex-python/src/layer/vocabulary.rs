//! What a layer in Python is asked, and what it answers.

use imbrex::layer::{Pressure, Step};
use pyo3::prelude::*;

/// What a call of `clean` or `flush` came to.
#[pyclass(module = "imbrex", name = "Step", frozen, eq, hash, from_py_object, rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
pub enum PyStep {
    /// What was asked for is there.
    Done,
    /// Call again; others may be served first.
    More,
    /// Call again; nobody is served before.
    Hold,
    /// Nothing to plan until space that was reset or freed comes back.
    Wait,
    /// Idle or asked: clean enough. Blocked: the device is full.
    Nothing,
}

impl From<PyStep> for Step {
    fn from(step: PyStep) -> Self {
        match step {
            PyStep::Done => Self::Done,
            PyStep::More => Self::More,
            PyStep::Hold => Self::Hold,
            PyStep::Wait => Self::Wait,
            PyStep::Nothing => Self::Nothing,
        }
    }
}

/// Why `clean` is called.
#[pyclass(module = "imbrex", name = "Pressure", frozen, get_all)]
pub struct PyPressure {
    /// `blocked`: a write took no block; `idle`: the disk is; `asked`: somebody asked for cleaning; `ahead`: writes are
    /// expected.
    kind: &'static str,
    /// The blocked write.
    lba: u64,
    blocks: u32,
    /// How long the disk has been idle, in nanoseconds.
    idle_ns: u64,
    /// Blocks of room that writes are expected to need.
    room: u64,
}

#[pymethods]
impl PyPressure {
    fn __repr__(&self) -> String {
        match self.kind {
            "blocked" => format!("Pressure(blocked, lba={}, blocks={})", self.lba, self.blocks),
            "idle" => format!("Pressure(idle, idle_ns={})", self.idle_ns),
            "ahead" => format!("Pressure(ahead, room={})", self.room),
            kind => format!("Pressure({kind})"),
        }
    }
}

impl From<Pressure> for PyPressure {
    fn from(pressure: Pressure) -> Self {
        let none = Self { kind: "asked", lba: 0, blocks: 0, idle_ns: 0, room: 0 };
        match pressure {
            Pressure::Blocked(at) => Self { kind: "blocked", lba: at.start.0, blocks: at.blocks, ..none },
            Pressure::Idle { ns } => Self { kind: "idle", idle_ns: ns, ..none },
            Pressure::Asked => none,
            Pressure::Ahead { room } => Self { kind: "ahead", room, ..none },
        }
    }
}
