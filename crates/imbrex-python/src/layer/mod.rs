//! Layers in Python: a class with the methods of the interface, as a layer like any other.

mod adapter;
mod info;
mod place;
mod plan;
mod raised;
mod record;
mod space;
mod vocabulary;

pub use info::find;
pub use place::{Constant, Host, Ram};
pub use plan::PyPlan;
pub use raised::Raised;
pub use record::{Lost, Map, Note, UnitRole, Unmap};
pub use space::{PySpace, PyZones};
pub use vocabulary::{PyPressure, PyStep};
