//! The fields of caches in which a replacement policy says who leaves.

use crate::layers::flash_cache::config::CacheConfig;
use crate::layers::{ConfigError, Field, LayerInfo};
use crate::parts::replacement::{Kind, Shares};

pub const REPLACEMENT: Field = Field {
    key: "replacement",
    default: "\"lru\"",
    meaning: "who leaves: \"lru\", \"clock\", \"lirs\", \"arc\", \"s3-fifo\" or \"sieve\"",
    samples: &["\"lru\"", "\"clock\"", "\"lirs\"", "\"arc\"", "\"s3-fifo\"", "\"sieve\""],
};

pub const READS_COUNT: Field = Field {
    key: "reads_count",
    default: "true",
    meaning: "whether a read is a use of a block",
    samples: &["true", "false"],
};

pub const EVICT_BLOCKS: Field = Field {
    key: "evict_blocks",
    default: "1",
    meaning: "coldest blocks that leave together; at most step_blocks do",
    samples: &["1", "3", "7"],
};

pub const READ_RESERVE: Field = Field {
    key: "read_reserve",
    default: "64",
    meaning: "frames that a read leaves free for the next one, at most half of them",
    samples: &["64", "0", "2", "4"],
};

pub const S3_SMALL: Field = Field {
    key: "s3_small",
    default: "0.1",
    meaning: "the part of the cache that is the small queue of s3-fifo",
    samples: &["0.1", "0.5"],
};

pub const LIRS_HIR: Field = Field {
    key: "lirs_hir",
    default: "0.01",
    meaning: "the part of the cache that lirs keeps for blocks whose uses lie far apart",
    samples: &["0.01", "0.3"],
};

pub const LIRS_GHOSTS: Field = Field {
    key: "lirs_ghosts",
    default: "1.0",
    meaning: "blocks that lirs remembers when they have left, as a part of the cache; at most 4",
    samples: &["1.0", "0.0", "0.25"],
};

/// The values of these fields.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default)]
pub struct ReplacedConfig {
    #[serde(flatten)]
    pub cache: CacheConfig,
    pub replacement: Kind,
    pub reads_count: bool,
    pub evict_blocks: u32,
    pub read_reserve: u32,
    s3_small: f64,
    lirs_hir: f64,
    lirs_ghosts: f64,
}

impl Default for ReplacedConfig {
    fn default() -> Self {
        let Shares { s3_small, lirs_hir, lirs_ghosts } = Shares::default();
        Self {
            cache: CacheConfig::default(),
            replacement: Kind::Lru,
            reads_count: true,
            evict_blocks: 1,
            read_reserve: 64,
            s3_small,
            lirs_hir,
            lirs_ghosts,
        }
    }
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
