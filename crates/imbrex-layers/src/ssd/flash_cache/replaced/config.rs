//! The fields of caches in which a replacement policy says which block leaves.

use crate::parts::replacement::{PolicyKind, Shares};
use crate::ssd::flash_cache::config::CacheConfig;
use crate::{ConfigError, LayerInfo};
use imbrex_core::config::Configuration;

/// The fields of these caches.
#[derive(Clone, Debug, Configuration)]
pub struct ReplacedConfig {
    /// which block leaves: "lru", "clock", "lirs", "arc", "s3-fifo" or "sieve"
    #[field(default = "lru", samples = ["lru", "clock", "lirs", "arc", "s3-fifo", "sieve"])]
    pub replacement: PolicyKind,
    #[field(flatten)]
    pub cache: CacheConfig,
    #[field(flatten)]
    pub reads: Reads,
    /// coldest blocks that leave together; at most step_blocks do
    #[field(default = 1, samples = [1, 3, 7])]
    pub evict_blocks: u32,
    /// frames that a read leaves free for the next one, at most half of them
    #[field(default = 64, samples = [64, 0, 2, 4])]
    pub read_reserve: u32,
    /// the part of the cache that is the small queue of s3-fifo
    #[field(default = 0.1, samples = [0.1, 0.5])]
    s3_small: f64,
    /// the part of the cache that lirs keeps for blocks whose uses lie far apart
    #[field(default = 0.01, samples = [0.01, 0.3])]
    lirs_hir: f64,
    /// blocks that lirs remembers when they have left, as a part of the cache; at most 4
    #[field(default = 1.0, samples = [1.0, 0.0, 0.25])]
    lirs_ghosts: f64,
}

/// What is a use of a block: reads or not.
#[derive(Clone, Debug, Configuration)]
pub struct Reads {
    /// whether a read is a use of a block
    #[field(default = true, samples = [true, false])]
    pub reads_count: bool,
}

impl ReplacedConfig {
    /// Checks the values.
    pub fn check(&self, layer: &LayerInfo) -> Result<(), ConfigError> {
        let wrong = |reason: &str| Err(ConfigError::Field { layer: layer.name, reason: reason.to_owned() });
        if self.evict_blocks == 0 {
            return wrong("evict_blocks must be at least 1");
        }
        if ![self.s3_small, self.lirs_hir].iter().all(|part| *part > 0.0 && *part < 1.0) {
            return wrong("s3_small and lirs_hir are parts of the blocks of the cache, more than 0 and less than 1");
        }
        if !(0.0..=4.0).contains(&self.lirs_ghosts) {
            return wrong("lirs_ghosts is a part of the blocks of the cache, between 0 and 4");
        }
        Ok(())
    }

    /// The parts of the policies.
    pub fn shares(&self) -> Shares {
        let &Self { s3_small, lirs_hir, lirs_ghosts, .. } = self;
        Shares { s3_small, lirs_hir, lirs_ghosts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults of the policies are what the sources have.
    #[test]
    fn shares_are_by_default_those_of_the_policies() {
        let both = [ReplacedConfig::default().shares(), Shares::default()];
        let [fields, policies] = both.map(|of| (of.s3_small, of.lirs_hir, of.lirs_ghosts));
        assert_eq!(fields, policies);
    }
}
