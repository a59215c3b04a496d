//! Replays of a spatial sample: of so many neighbouring blocks one is read and written, on a drive whose blocks are as long
//! as all of them together.
//!
//! So the drive keeps its zones and its bytes, and what is counted in blocks is nearly as many bytes as in a replay of
//! everything. What a layer's configuration says in blocks is said of the longer ones. A request takes no time, since its
//! length is not what it was. `docs/simulation.md` says how far counts are off.

use std::fmt;

use anyhow::Result;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers::{self, ConfigError, Family, LayerInfo};
use imbrex::recording::Recording;
use toml::{Table, Value};

use crate::case::Case;
use crate::written::Written;
use crate::wrong::Wrong;

/// The most blocks of which one is followed: blocks of 4 KiB are then as long as a block may be.
const MOST: u32 = 256;
/// A zone of fewer blocks is too coarse to stand for one of more: which is best to clean is then a matter of chance.
const FEWEST_OF_ZONE: u32 = 256;

/// One block of so many neighbours.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// How many; a power of two.
    pub of: u32,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", self.of)
    }
}

impl Written for Sample {
    fn read(text: &str) -> Result<Self, String> {
        let of = text.strip_prefix("1/").and_then(|of| of.parse().ok());
        let of = of.filter(|of: &u32| of.is_power_of_two() && (2..=MOST).contains(of));
        of.map(|of| Self { of }).ok_or_else(|| format!("write 1/2, 1/4, 1/8 and so on up to 1/{MOST}"))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Sample {
    /// Refuses layers of which a sample says nothing: all but logs, which move block by block. A zone that is rewritten
    /// for one buffered block is not rewritten at all where that block is not followed; others work by whole requests,
    /// chunks or tracks.
    pub(crate) fn check(cases: &[Case]) -> Result<(), Wrong> {
        let is_followed = |layer: &LayerInfo| match layer.recording {
            Recording::Conventional => true,
            Recording::Zoned => layer.family == Some(Family::Banded),
            _ => false,
        };
        let Some(Case { layer, .. }) = cases.iter().find(|case| !is_followed(case.layer)) else { return Ok(()) };
        let followed: Vec<_> = layers::known().filter(|layer| is_followed(layer)).map(|layer| layer.name).collect();
        let why = format!(
            "{} does not move block by block, so a sample of blocks says nothing of it; choose from {} with --layers",
            layer.name,
            followed.join(",")
        );
        Err(Wrong::new(&["sample"], why))
    }

    /// `drive` in blocks that are as long as those that one stands for.
    pub(crate) fn drive(self, drive: &DrivePreset) -> Result<DrivePreset> {
        let media = match drive.media {
            MediaSpec::Conventional { blocks } => MediaSpec::Conventional { blocks: blocks / u64::from(self.of) },
            MediaSpec::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active } => {
                let fewer = zone_blocks / self.of;
                if fewer < FEWEST_OF_ZONE || !zone_blocks.is_multiple_of(self.of) {
                    let why = format!(
                        "of zones of {zone_blocks} blocks, {self} are not {FEWEST_OF_ZONE} or more; take a larger part, or \
                         longer zones with --zone-size"
                    );
                    return Err(Wrong::new(&["sample"], why).into());
                }
                MediaSpec::Zoned { zones, zone_blocks: fewer, conventional_zones, max_open, max_active }
            }
            _ => {
                let why = format!("{} is neither zoned nor conventional; choose another with --drive", drive.name);
                return Err(Wrong::new(&["sample"], why).into());
            }
        };
        let longer = DrivePreset { block_bytes: drive.block_bytes.saturating_mul(self.of), media, ..drive.clone() };
        longer.validate()?;
        Ok(longer)
    }

    /// The configuration of a layer for the longer blocks: what it has in blocks, by default or because it was set, is
    /// fewer of them, and at least one where it was any.
    pub(crate) fn config(self, layer: &LayerInfo, config: &Table) -> Result<Table, ConfigError> {
        let mut longer = layer.settled(config)?.into_owned();
        for field in layer.fields.iter().filter(|field| field.key.ends_with("_blocks")) {
            let set = longer.get(field.key).map_or_else(|| field.default.parse().ok(), Value::as_integer);
            // What is no number of blocks is left to the layer, which says so.
            if let Some(blocks) = set.filter(|blocks| *blocks > 0) {
                let of = i64::from(self.of);
                longer.insert(field.key.to_owned(), (blocks / of).max(1).into());
            }
        }
        Ok(longer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fields_say_in_blocks_is_said_of_the_longer_ones() {
        let log = layers::find("log-greedy").unwrap();
        let step =
            |config: &str| Sample { of: 16 }.config(log, &config.parse().unwrap()).unwrap()["step_blocks"].clone();
        assert_eq!(step(""), Value::from(256), "the default, too");
        assert_eq!(step("step_blocks = 64"), Value::from(4));
        assert_eq!(step("step_blocks = 7"), Value::from(1), "a step moves something");
        assert_eq!(step("step_blocks = \"many\""), Value::from("many"), "the log says what is wrong");
        let loop_back = layers::find("loop-back").unwrap();
        let chosen = Sample { of: 16 }.config(loop_back, &Table::new()).unwrap();
        assert!(!chosen.contains_key("requeue_blocks"), "0 stands for a choice of the layer's");
    }
}
