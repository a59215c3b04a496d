//! The simulating runner, which prices the plans of layers, and how its model is validated.
#![forbid(unsafe_code)]

pub mod replay;
pub mod validate;
