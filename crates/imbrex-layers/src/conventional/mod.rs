//! `conventional`: a disk whose tracks do not overlap, the baseline of every other layer.
//!
//! A block lies where its number says. There is no durable state, no cleaning and nothing to recover: what a flush
//! acknowledged is on the media, and what it did not is old or new sector by sector, as on any disk.

use crate::{ConfigError, LayerInfo};
use imbrex_core::block::{Address, Extent, Lba, Pba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::layer::{
    Corrupt, Facts, Freed, Pressure, Step, TranslationLayer, UnitReport, Unwritten, Violation, Write,
};
use imbrex_core::plan::{Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "conventional",
    family: None,
    source: "the baseline of every paper",
    summary: "Blocks lie where their numbers say and are overwritten in place.",
    recording: Recording::Conventional,
    buffered: false,
    fields: ConventionalConfig::FIELDS,
    make: &|space, config| Ok(Box::new(Conventional::new(space, config)?)),
};

#[derive(Configuration)]
struct ConventionalConfig {}

struct Conventional {
    first: Pba,
    blocks: u64,
}

impl Conventional {
    fn new(space: &Space, config: &toml::Table) -> Result<Self, ConfigError> {
        let ConventionalConfig {} = INFO.read(config)?;
        if space.conventional_blocks == 0 {
            let reason = "it needs conventional blocks and the drive has none".to_owned();
            return Err(ConfigError::Space { layer: INFO.name, reason });
        }
        Ok(Self { first: space.conventional, blocks: space.conventional_blocks })
    }

    fn place(&self, at: Extent<Lba>) -> Place {
        debug_assert!(at.end().0 <= self.blocks);
        Place::At(self.first.plus(at.start.0))
    }
}

impl TranslationLayer for Conventional {
    fn facts(&self) -> Facts {
        Facts { unwritten: Unwritten::OldContent, ..Facts::default() }
    }

    fn capacity(&self) -> u64 {
        self.blocks
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        plan.copy(self.place(at), Place::Host(0), at.blocks, Why::Host);
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        plan.copy(Place::Host(0), self.place(at), at.blocks, Why::Host);
        at.blocks
    }

    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }

    fn clean(&mut self, _why: Pressure, _waiting: &[Request], _plan: &mut Plan) -> Step {
        Step::Nothing
    }

    fn freed(&mut self, _space: Extent<Pba>, _why: Freed) {}

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        Err(Corrupt(format!("the conventional layer has no records, yet there is {record:?}")))
    }

    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        Ok(())
    }

    fn checkpoint(&self, _from: u64, _plan: &mut Plan) -> Option<u64> {
        None
    }

    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}
