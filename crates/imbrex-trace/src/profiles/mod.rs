//! Published volumes as synthetic workloads: generated from their published statistics and a documented model.
//!
//! A [`Profile`] states which figures of a volume are *published*, which are *chosen* because they were not published,
//! and the parameters of the *model* that turns figures into requests. No disk ever saw the result, and whatever shows
//! it says *synthetic*.
//!
//! # The model
//!
//! Requests begin and end at 4 KiB blocks. Each touches one *extent*: blocks side by side that are always written or
//! read as a whole. A request either touches a new extent or one of before.
//!
//! - **New extents** do not overlap any other. A written one is *hot*, which may be written again, or written *once*.
//!   With `u` the update ratio, `m` the mean write length and `r` = `new_length_ratio` (new extents are longer than
//!   rewritten ones, as on every real volume that was looked at), the share of writes that are new is
//!   `1 / (1 + r·u / (1 − u))`, their mean length `m·(1 − u + r·u)`, and that of rewrites and so of hot extents a
//!   `r`-th of it. `hot_lba_share` then tells how many of the new extents are hot and how long the others are. What is
//!   left of `unique_offsets` are new reads. New extents come in runs of `run_extents` on average, and after a share
//!   `x` of the requests there are `x^growth` of them.
//! - **Zones**: writes, reads of written extents, and other reads each stay in a 256 MiB zone and leave it with
//!   probability `(1 − zone_persistence) / rewrite_run` a request, or when they have touched as many extents as it has;
//!   a share `excursions` of the requests goes to another zone and the next one is back. A written zone is drawn in
//!   proportion to `rank^-zone_skew`, ranks in random order of the zones; of those that only reads touch each is as
//!   likely as any. With probability `distant · scan` a stream goes on to the next zone in order instead, and other
//!   reads that are not distant go back to a zone of before. A new extent comes to the zone if that has room.
//! - **Access**: a request is of the access of its predecessor with probability 0.7, else a write with `write_ratio`.
//! - **Old extents** are touched in runs, `rewrite_run` neighbours in the order of first use on average, each once and
//!   in scattered order. Each zone goes on with its run when it is visited. A read that is not new touches a hot extent
//!   with probability `reads_of_written` and otherwise one read before. The next run of a zone is *near*: the one
//!   touched `d` runs ago, `ln d` uniform; or, with probability `distant`, far: the next one in order of first use
//!   (`scan` of the far ones), or any with equal probability. Near ones lie within 8 % of the volume's distinct
//!   offsets, split between zones as they are drawn, so that an LRU cache of 10 % hits most of them: `distant` is what
//!   makes the LRU miss ratio.
//! - **Lengths** are powers of two of blocks, up to 1 MiB; each is `q` times as frequent as its half, `q` such that the
//!   mean is right.
//! - **Places**: the range is cut into slots of 1 MiB. Written extents lie in a share `written_zones` of the zones,
//!   packed into the first `fill` of each slot in order of first use, hot ones and others in different slots, the slots
//!   of a zone in scattered order; read extents fill whole slots of the other zones. The first written extent ends the
//!   range.
//! - **Arrivals**: the mean rate is requests over duration, in bursts of 3 s with pauses of 9 s on average.
//!
//! A shortened profile keeps ratios, lengths, range and rate; the distinct offsets, and with them what "near" means,
//! shrink like the requests. A buffer that is a percentage of the range is then larger relative to what is written.

mod allocator;
mod figures;
mod generator;
mod growth;
mod lengths;
mod pool;
mod ranks;
mod recent;
mod streams;
mod volume;

use serde::{Deserialize, Serialize};

use super::TraceError;
pub use figures::{Figures, MissRatios};
pub use generator::ProfileSource;
pub use volume::Volume;

/// A published volume and how to generate one like it. Written as TOML, see `profiles/*.toml`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The volume's name.
    pub name: String,
    /// What it served, in a line.
    pub description: String,
    /// The seed: one profile, one number of requests and one seed give the same requests on every machine.
    pub seed: u64,
    /// Generate this many requests instead of as many as the volume had.
    #[serde(skip)]
    pub shortened: Option<u64>,
    /// What is known.
    pub published: Figures,
    /// What was not published and had to be chosen. Nothing that is published is chosen as well.
    pub chosen: Figures,
    /// How figures become requests.
    pub model: Model,
}

/// The parameters of the model.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Mean length of a new written extent over that of a rewritten one; at least 1.
    pub new_length_ratio: f64,
    /// Share of the range's zones that hold all written extents.
    pub written_zones: f64,
    /// Share of each of their slots that is used.
    pub fill: f64,
    /// Share of the hot extents that are in fact written again before the trace ends; `hot_lba_share` counts only
    /// these.
    #[serde(default = "all")]
    pub rewritten: f64,
    /// How many new extents come in a run on average; at least 1.
    pub run_extents: f64,
    /// After a share `x` of the requests, `x^growth` of the new extents have come; above 0 and at most 1.
    pub growth: f64,
    /// Share of the reads that are new, where the distinct offsets are not known.
    pub new_read_share: Option<f64>,
    /// Share of the other reads that touch a written extent.
    pub reads_of_written: f64,
    /// Share of the touches of old extents that go far.
    pub distant: f64,
    /// Share of those that go on in order of first use.
    pub scan: f64,
    /// How unevenly zones are used: the zone of rank `r` is drawn in proportion to `r^-zone_skew`.
    pub zone_skew: f64,
    /// Probability that after a run reads, or writes, stay in their zone.
    pub zone_persistence: f64,
    /// Share of the requests that go to a zone of their own, and the next one is back.
    pub excursions: f64,
    /// How many neighbouring old extents are touched in a run on average; at least 1.
    pub rewrite_run: f64,
}

fn all() -> f64 {
    1.0
}

macro_rules! profiles {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),*]
    };
}

/// Names and texts: the eight volumes of Amphisbaena's Table 3, then the others by name.
const BUILT_IN: &[(&str, &str)] = profiles![
    "hm_0", "prn_0", "prxy_0", "ts_0", "web_0", "src2_2", "src2_0", "usr_0", "hm_1", "mds_0", "prn_1", "proj_0",
    "proj_1", "proj_2", "rsrch_0", "src1_0", "src1_1", "src1_2", "stg_0", "usr_1", "usr_2", "wdev_0",
];

impl Profile {
    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The built-in profile called `name`.
    pub fn named(name: &str) -> Option<Result<Self, TraceError>> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(name, text)| Self::parse(name, text))
    }

    /// Reads a profile. Errors call it `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let profile: Self = toml::from_str(text)
            .map_err(|cause| TraceError::SpecSyntax { file: file.into(), cause: Box::new(cause) })?;
        Volume::of(&profile)?;
        Ok(profile)
    }

    fn wrong(&self, field: impl Into<String>, must: impl Into<String>) -> TraceError {
        TraceError::Spec { name: self.name.clone(), field: field.into(), must: must.into() }
    }
}
