//! The crash explorer: the live engine on a disk in memory, with every kind of bad luck a seed can choose.
//!
//! A run makes a tiny disk, a layer with a configuration drawn from its fields' samples, and a workload. Device
//! operations complete in any order; some fail; blocks become unreadable and zones read-only; and between any two
//! operations the power may be cut, recovery included. After each cut everything is read back and held against a model;
//! the layer's invariants and the fold of its records are checked on the way. The same seed gives the same run.
#![forbid(unsafe_code)]

mod cleaning;
mod clients;
pub mod content;
#[cfg(test)]
mod damage;
mod defect;
mod devices;
mod dice;
mod drives;
mod faults;
mod growing;
mod memory;
mod model;
mod run;
mod shape;
mod store;

pub use content::BLOCK;
pub use defect::{Defect, Stuck};
pub use devices::{Devices, DevicesError, MakeDevices};
pub use dice::Dice;
pub use drives::{RandomDrive, SpaceNeeds};
pub use shape::{ON_DISK, ON_FLASH, configuration};

use std::sync::Arc;

use imbrex_core::layer::TranslationLayer;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;
use imbrex_engine::rules::Rules;
use imbrex_layers::{ConfigError, Field, LayerInfo};

/// Makes a layer for a run.
pub type Build = Arc<dyn Fn(&Space, &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> + Send + Sync>;

/// What is explored.
pub struct Subject {
    /// The name under which failures are reported.
    pub name: String,
    /// Makes the devices of a run.
    pub devices: Arc<MakeDevices>,
}

/// A layer that is explored on random drives.
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The recording it needs.
    pub recording: Recording,
    /// The fields that runs vary.
    pub fields: &'static [Field],
    /// Makes the layer.
    pub build: Build,
    /// Pages of its map in memory, if not all of it is.
    pub map_pages: Option<u32>,
}

impl Subject {
    /// One of the layers, on drives in memory.
    #[must_use]
    pub fn layer(info: &'static LayerInfo) -> Self {
        Self::in_memory(Candidate::layer(info))
    }

    /// One of the layers with this number of its map's pages in memory, on drives in memory.
    #[must_use]
    pub fn with_map_pages(info: &'static LayerInfo, pages: u32) -> Self {
        let name = format!("{} with {pages} pages of its map", info.name);
        Self { name, ..Self::in_memory(Candidate { map_pages: Some(pages), ..Candidate::layer(info) }) }
    }

    /// A layer on drives in memory.
    #[must_use]
    pub fn in_memory(candidate: Candidate) -> Self {
        let name = candidate.name.clone();
        let devices = move |rules, dice: &mut Dice| -> Result<Box<dyn Devices>, DevicesError> {
            Ok(Box::new(memory::Memory::draw(&candidate, rules, dice)?))
        };
        Self { name, devices: Arc::new(devices) }
    }
}

impl Candidate {
    /// One of the layers.
    #[must_use]
    pub fn layer(info: &'static LayerInfo) -> Self {
        Self {
            name: info.name.to_owned(),
            recording: info.recording,
            fields: info.fields,
            build: Arc::new(|space, config| info.build(space, config)),
            map_pages: None,
        }
    }
}

/// How much is explored.
#[derive(Copy, Clone, Debug)]
pub struct Options {
    /// Power cuts to survive.
    pub cuts: u64,
    /// The seed of the first run; the others follow by ones.
    pub seed: u64,
    /// The rules that are kept: all, unless the explorer itself is under test.
    pub rules: Rules,
}

/// What an exploration came to.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Runs, each with a disk and a layer of its own.
    pub runs: u64,
    /// Power cuts survived.
    pub cuts: u64,
    /// Cuts among them that came during recovery.
    pub cuts_in_recovery: u64,
    /// Device operations carried out.
    pub operations: u64,
    /// Requests answered.
    pub requests: u64,
    /// Device operations that were made to fail.
    pub faults: u64,
    /// Epochs of the layer that ended by a failed operation.
    pub rebuilds: u64,
    /// Journal entries made durable.
    pub commits: u64,
    /// Whole checkpoints.
    pub checkpoints: u64,
    /// Redo images written again by recovery.
    pub replayed: u64,
}

/// A loss, a broken invariant or an illegal operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{subject}, seed {seed}, after {cuts} cuts and {operations} operations: {what}")]
pub struct Finding {
    /// What was explored.
    pub subject: String,
    /// The run's seed, which replays it.
    pub seed: u64,
    /// Cuts of this run before it.
    pub cuts: u64,
    /// Operations of this run before it.
    pub operations: u64,
    /// What was found, and on which devices.
    pub what: String,
    /// What was found, as a kind.
    #[serde(skip)]
    pub defect: Defect,
}

impl Tally {
    /// Whether each kind of bad luck has struck at least once: a cut during recovery, a failed operation, an epoch that
    /// ended by one. A short exploration that was lucky proves little.
    #[must_use]
    pub fn met_all_bad_luck(&self) -> bool {
        self.cuts_in_recovery > 0 && self.faults > 0 && self.rebuilds > 0
    }

    /// Adds what another exploration came to.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.cuts += other.cuts;
        self.cuts_in_recovery += other.cuts_in_recovery;
        self.operations += other.operations;
        self.requests += other.requests;
        self.faults += other.faults;
        self.rebuilds += other.rebuilds;
        self.commits += other.commits;
        self.checkpoints += other.checkpoints;
        self.replayed += other.replayed;
    }
}

/// Explores until as many cuts were survived as asked for, or `go_on` says no. `go_on` is told the tally after each
/// run.
///
/// # Errors
/// The first [`Finding`].
pub fn explore(subject: &Subject, options: &Options, mut go_on: impl FnMut(&Tally) -> bool) -> Result<Tally, Finding> {
    let mut tally = Tally::default();
    let mut seed = options.seed;
    while tally.cuts < options.cuts {
        tally.add(&run::run(subject, seed, options.rules, Dice::new(seed))?);
        seed = seed.wrapping_add(1);
        if !go_on(&tally) {
            break;
        }
    }
    Ok(tally)
}

/// One run, in which `decisions` choose the disk, the configuration, the requests, the faults and the cuts, as far as
/// the string goes: what a fuzzer needs.
///
/// # Errors
/// The [`Finding`], if there is one; its seed means nothing.
pub fn explore_bytes(subject: &Subject, decisions: &[u8]) -> Result<Tally, Finding> {
    run::run(subject, 0, Rules::all(), Dice::from_bytes(decisions))
}
