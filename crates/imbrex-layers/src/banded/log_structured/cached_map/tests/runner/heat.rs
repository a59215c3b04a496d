//! How hot each block should be: a model that shares no code with the layer.

use imbrex_core::block::{Extent, Lba};

/// Overwrites of each block since it was last compacted.
pub struct Heat {
    pub blocks: Vec<u32>,
    /// Overwrites that make a block hot.
    pub hot_from: u32,
    /// Whether compaction leaves half of them.
    pub is_halved: bool,
}

impl Heat {
    pub fn new(blocks: usize, config: &str) -> Self {
        let config: toml::Table = config.parse().unwrap();
        let hot_from = config.get("hot_from").map_or(1, |from| from.as_integer().unwrap() as u32);
        let is_halved = config.get("cooling").is_some_and(|cooling| cooling.as_str() == Some("halve"));
        Self { blocks: vec![0; blocks], hot_from, is_halved }
    }

    fn of(&mut self, at: Extent<Lba>) -> &mut [u32] {
        &mut self.blocks[at.start.0 as usize..][..at.blocks as usize]
    }

    pub fn overwritten(&mut self, lba: Lba) {
        self.blocks[lba.0 as usize] += 1;
    }

    pub fn compacted(&mut self, at: Extent<Lba>) {
        let is_halved = self.is_halved;
        self.of(at).iter_mut().for_each(|heat| *heat = if is_halved { *heat / 2 } else { 0 });
    }

    pub fn forgotten(&mut self, at: Extent<Lba>) {
        self.of(at).fill(0);
    }

    pub fn is_hot(&self, lba: usize) -> bool {
        self.blocks[lba] >= self.hot_from
    }
}
