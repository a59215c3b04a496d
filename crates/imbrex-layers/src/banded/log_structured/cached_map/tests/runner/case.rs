//! What a case is, and what blocks read as in it.

use crate::find;
use imbrex_core::block::Pba;
use imbrex_core::layer::{MAP_PAGE_HEADER, MapCache, TranslationLayer};
use imbrex_core::plan::Unit;
use imbrex_core::space::{Space, Zones};

/// What the case is.
#[derive(Clone, Debug)]
pub struct Case {
    pub layer: &'static str,
    /// Fields beside those below.
    pub fields: &'static str,
    pub bands: u32,
    pub band: u32,
    pub spare_bands: u32,
    pub compact_bands: u32,
    pub step_blocks: u32,
    pub entries: u32,
    pub pages: u32,
    pub spares_ram: bool,
    pub seed: u64,
    /// Whether the power fails while the log is cleaned.
    pub is_fragile: bool,
    /// Whether each plan is committed at once, and nothing else happens in between.
    pub is_quiet: bool,
}

impl Case {
    pub fn space(&self) -> Space {
        Space {
            conventional: Pba::disk(0),
            conventional_blocks: 0,
            zones: Some(Zones { first: Unit::disk(0), count: self.bands, zone_blocks: self.band }),
            bands: None,
            tracks: None,
            realms: None,
            home: None,
            buffer_blocks: 0,
            spares_ram: self.spares_ram,
            map_cache: Some(MapCache { page_bytes: MAP_PAGE_HEADER + 5 * self.entries, pages: self.pages }),
        }
    }

    pub fn make(&self) -> Box<dyn TranslationLayer> {
        self.make_in(&self.space())
    }

    /// The same with all of its map in memory.
    pub fn make_whole(&self) -> Box<dyn TranslationLayer> {
        self.make_in(&Space { map_cache: None, ..self.space() })
    }

    fn make_in(&self, space: &Space) -> Box<dyn TranslationLayer> {
        let Self { fields, spare_bands, compact_bands, step_blocks, .. } = self;
        let spare = if fields.contains("spare_fraction") { "" } else { "spare_fraction = 0.35\n" };
        let config = format!(
            "{spare}spare_bands = {spare_bands}\ncompact_bands = {compact_bands}\nstep_blocks = {step_blocks}\nidle_bands = 1\n{fields}"
        );
        find(self.layer).unwrap().build(space, &config.parse().unwrap()).unwrap()
    }
}

/// What a block reads as.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Content {
    Zero,
    Lost,
    /// What the write of that number left.
    Tag(u64),
}
