//! The families of disks, and for each the layers and the drives to compare them on.

use std::borrow::Cow;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use imbrex::layers::{self, Family, LayerInfo};
use imbrex::recording::Recording;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::case::{Case, Fit, named_drive};
use crate::values::Capacity;
use crate::written::Written;

/// What `--family` takes.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Families {
    /// One of them.
    Of(Family),
    /// All of them.
    All,
}

impl ValueEnum for Families {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self::Of(Family::ALL[0]),
                Self::Of(Family::ALL[1]),
                Self::Of(Family::ALL[2]),
                Self::Of(Family::ALL[3]),
                Self::Of(Family::ALL[4]),
                Self::All,
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Of(Family::Shingled) => "Host-managed shingled disks: sequential zones beside conventional ones",
            Self::Of(Family::Banded) => "Bands: behind the cache of a drive-managed disk, or as a log with a whole map",
            Self::Of(Family::Interlaced) => "Interlaced disks: top tracks over bottom tracks",
            Self::Of(Family::Hybrid) => "Hybrid disks: realms that turn from conventional to shingled zones",
            Self::Of(Family::Ssd) => "Flash, and flash in front of a drive-managed disk",
            Self::All => "All of them",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}

impl Written for Families {
    fn read(text: &str) -> Result<Self, String> {
        let known = || Self::value_variants().iter().map(|family| family.name()).collect::<Vec<_>>().join(", ");
        Self::from_str(text, false).map_err(|_| format!("there is no family '{text}'; known are {}", known()))
    }

    fn text(&self) -> String {
        self.name().to_owned()
    }
}

impl JsonSchema for Families {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Families".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::value_variants().iter().map(|family| family.name()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// The layers of a family that are compared on one drive: all that are for these recordings.
struct Part {
    family: Family,
    recordings: &'static [Recording],
    drive: &'static str,
    fit: Fit,
    /// What they are compared with, which is not of the family or not for these recordings.
    baselines: &'static [&'static str],
}

/// A layer that maps every block of its disk gets one that is as large as the workload: of the presets, most of the map
/// would stay empty. The conventional layer is the baseline of its drive.
const PARTS: &[Part] = &[
    Part {
        family: Family::Shingled,
        recordings: &[Recording::Zoned, Recording::WholeZones],
        drive: "exos-x18z",
        fit: Fit::Own,
        baselines: &["conventional"],
    },
    Part {
        family: Family::Banded,
        recordings: &[Recording::Banded],
        drive: "st8000as0002",
        fit: Fit::Own,
        baselines: &["conventional"],
    },
    Part {
        family: Family::Banded,
        recordings: &[Recording::Zoned],
        drive: "exos-x18z",
        fit: Fit::Workload,
        baselines: &["conventional"],
    },
    Part {
        family: Family::Interlaced,
        recordings: &[Recording::Interlaced],
        drive: "imr-tracklace",
        fit: Fit::Own,
        baselines: &["conventional"],
    },
    Part {
        family: Family::Hybrid,
        recordings: &[Recording::Hybrid],
        drive: "zonealloy",
        fit: Fit::Own,
        baselines: &["conventional"],
    },
    Part {
        family: Family::Ssd,
        recordings: &[Recording::Flash],
        drive: "ssd-pore",
        fit: Fit::Workload,
        baselines: &["conventional"],
    },
    Part {
        family: Family::Ssd,
        recordings: &[Recording::Cached],
        drive: "st8000as0002",
        fit: Fit::Own,
        baselines: &["conventional", "skylight"],
    },
];

impl Part {
    /// The baselines, and the layers in the order in which they are listed.
    fn layers(&self) -> Result<Vec<&'static LayerInfo>> {
        let baselines = self.baselines.iter().map(|name| layers::find(name)).collect::<Result<Vec<_>, _>>()?;
        let is_compared =
            |info: &&LayerInfo| info.family == Some(self.family) && self.recordings.contains(&info.recording);
        Ok(baselines.into_iter().chain(layers::known().filter(is_compared)).collect())
    }
}

impl Families {
    /// The family of a layer; the baseline is in all of them.
    #[must_use]
    pub fn of(family: Option<Family>) -> Self {
        family.map_or(Self::All, Self::Of)
    }

    /// How it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Of(family) => family.name(),
            Self::All => "all",
        }
    }

    /// What to compare, without repetition. Layers that were added come where those of their family and recording are.
    ///
    /// # Errors
    /// When a drive cannot have that size.
    pub fn cases(self, capacity: Option<Capacity>) -> Result<Vec<Case>> {
        let mut cases: Vec<Case> = Vec::new();
        for part in PARTS.iter().filter(|part| [Self::All, Self::Of(part.family)].contains(&self)) {
            let mut drive = named_drive(part.drive)?;
            if let Some(bytes) = capacity.and_then(Capacity::bytes) {
                drive = drive.with_capacity(bytes)?;
            }
            for layer in part.layers()? {
                let fit = capacity.map_or(part.fit, Fit::from);
                let case = Case { layer, drive: drive.clone(), fit };
                if !cases.iter().any(|other| other.is_same(&case)) {
                    cases.push(case);
                }
            }
        }
        Ok(cases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_is_in_a_family() {
        let all = Families::All.cases(None).unwrap();
        for info in layers::ALL {
            let own = Families::of(info.family).cases(None).unwrap();
            assert!(own.iter().any(|case| case.layer.name == info.name), "{} is not in its family", info.name);
        }
        let repeated = |at: usize| all[..at].iter().any(|other| other.is_same(&all[at]));
        assert!(!(0..all.len()).any(repeated), "nothing is compared twice");
    }
}
