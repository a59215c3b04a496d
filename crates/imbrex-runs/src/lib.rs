//! What programs run: a [`Specification`](specification::Specification) of workloads, layers and drives, which a
//! command line, a JSON object or a program fills, and a [`Row`](row::Row) for each run that comes of it.
//!
//! A run is a [`Known`](workload::Known) workload on a [`Case`](case::Case), a layer on a drive, under what is
//! [`Chosen`](chosen::Chosen). All rows serialize with the fields of `docs/json.md`, and errors are the program's
//! messages. Nothing is printed, but for bars of progress of which nobody else is told.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod bands;
pub mod bounds;
pub mod case;
pub mod checks;
pub mod chosen;
pub mod command;
mod described;
pub mod extension;
pub mod families;
pub mod moment;
pub mod notes;
pub mod page;
pub mod parallel;
mod pdf;
pub mod plan;
mod remedy;
mod room;
pub mod row;
pub mod run;
pub mod sampled;
pub mod saved;
pub mod schema;
pub mod search;
pub mod seen;
pub mod series;
pub mod settings;
pub mod settled;
pub mod setup;
pub mod specification;
mod standard_input;
pub mod steady;
pub mod steps;
pub mod trace_files;
pub mod trace_report;
pub mod values;
pub mod workload;
pub mod written;
pub mod wrong;
