//! What the commands do, for a program that has no command line: workloads and drives by name, layers on them, and
//! results as rows.
//!
//! A run is a [`Known`] workload on a [`Case`], a layer on a drive, under what is [`Chosen`]; it gives a [`Row`]. All rows
//! serialize with the fields of `docs/json.md`, and errors are the program's messages. Nothing is printed, but for the
//! bars of [`Progress`] that tells no [`Listener`].

pub use imbrex_terminal::output::columns;
pub use imbrex_terminal::progress::{Listener, Progress};
pub use imbrex_terminal::say::one_line;

pub use crate::families::Families;
pub use crate::list::recording_of;
pub use crate::page::{Seen, watched};
pub use crate::parallel::{cores, each};
pub use crate::row::Row;
pub use crate::scripted::{Configured, Run, Words};
pub use crate::setup::{Case, Chosen, Fit, named_drive};
pub use crate::trace::stat::TraceReport;
pub use crate::validate::Check;
pub use crate::workload::{Known, Watched, dense, named as named_workloads};
