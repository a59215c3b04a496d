//! Which disk and which layer serve a workload, and at what cost: `imbrex advise`.
//!
//! `kinds` says what can be bought and what a buyer may vary, `prices` what it costs, `demand` what it has to do.
//! `trial` runs a layer on such a disk, `stages` decides what is run, `choice` what of it is recommended, and `bound` how
//! far that is from what is possible; `row` is a
//! run as it is written, `words` says it to people, and `pages` shows it. `command` puts them together.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bound;
mod choice;
mod command;
mod demand;
mod kinds;
mod pages;
mod prices;
mod row;
mod settings;
mod stages;
mod trial;
mod words;

#[cfg(test)]
mod tests;

pub use command::Advise;
