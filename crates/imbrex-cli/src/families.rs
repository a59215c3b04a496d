//! The families of disks, and for each the layers and the drives to compare them on.

use anyhow::Result;
use clap::ValueEnum;
use imbrex::layers;

use crate::setup::{Case, Fit, named_drive};

/// A family of disks.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// Host-managed shingled disks: sequential zones beside conventional ones
    Shingled,
    /// Bands: behind the cache of a drive-managed disk, or as a log with a whole map
    Banded,
    /// Interlaced disks: top tracks over bottom tracks
    Interlaced,
    /// Flash, and flash in front of a drive-managed disk
    Ssd,
    /// All of them
    All,
}

/// Layers that are compared on one drive.
struct Part {
    family: Family,
    drive: &'static str,
    fit: Fit,
    layers: &'static [&'static str],
}

/// A layer that maps every block of its disk gets one that is as large as the workload: of the presets, most of the map
/// would stay empty. The conventional layer is the yardstick of its drive.
const PARTS: &[Part] = &[
    Part {
        family: Family::Shingled,
        drive: "exos-x18z",
        fit: Fit::Own,
        layers: &[
            "conventional",
            "in-place",
            "fifo-log",
            "loop-back",
            "block-lru",
            "hashed-zones",
            "amphisbaena",
            "dm-zoned",
        ],
    },
    Part { family: Family::Banded, drive: "st8000as0002", fit: Fit::Own, layers: &["conventional", "skylight"] },
    Part {
        family: Family::Banded,
        drive: "exos-x18z",
        fit: Fit::Workload,
        layers: &["conventional", "log-greedy", "log-fifo", "log-cost-benefit", "log-choices"],
    },
    Part {
        family: Family::Interlaced,
        drive: "imr-tracklace",
        fit: Fit::Own,
        layers: &["conventional", "seagate", "seagate-two-phase"],
    },
    Part { family: Family::Ssd, drive: "ssd-pore", fit: Fit::Workload, layers: &["conventional", "page-ftl"] },
    Part {
        family: Family::Ssd,
        drive: "st8000as0002",
        fit: Fit::Own,
        layers: &["conventional", "skylight", "lru-cache", "static-sets"],
    },
];

impl Family {
    /// What to compare, without repetition.
    pub fn cases(self, capacity: Option<u64>) -> Result<Vec<Case>> {
        let mut cases: Vec<Case> = Vec::new();
        for part in PARTS.iter().filter(|part| self == Self::All || part.family == self) {
            let mut drive = named_drive(part.drive)?;
            if let Some(bytes) = capacity {
                drive = drive.with_capacity(bytes)?;
            }
            for name in part.layers {
                let fit = if capacity.is_some() { Fit::Given } else { part.fit };
                let case = Case { layer: layers::find(name)?, drive: drive.clone(), fit };
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
        let all = Family::All.cases(None).unwrap();
        for info in layers::ALL {
            assert!(all.iter().any(|case| case.layer.name == info.name), "{} is in no family", info.name);
        }
        let repeated = |at: usize| all[..at].iter().any(|other| other.is_same(&all[at]));
        assert!(!(0..all.len()).any(repeated), "nothing is compared twice");
    }
}
