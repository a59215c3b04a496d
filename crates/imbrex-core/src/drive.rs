//! Drives: media and their timing together, described by a preset in TOML.
//!
//! `drives/*.toml` in this package holds the built-in presets. This module holds the description; reading
//! a file that a user names is left to the program.

mod banded;
mod hybrid;
mod interlaced;
mod media_spec;
mod shape;
mod sizing;
mod written;

use serde::{Deserialize, Serialize};

use crate::block::Pba;
use crate::mechanics::{GeometryError, Mechanics, SECTOR_BYTES};
use crate::media::{Banded, Conventional, Flash, FlashShape, Hybrid, Interlaced, Media, Shingled, ZonedSpec};
use crate::recording::Recording;
pub use hybrid::HybridSpec;
pub use media_spec::MediaSpec;
pub use shape::{BadConventionalZones, ConventionalZones, Shape};
use written::Written;
pub use written::{DriveTiming, TimingSpec};

/// A drive's description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct DrivePreset {
    /// What the preset is called: the name it was parsed under.
    pub name: String,
    /// One line on what drive this is.
    pub description: String,
    /// Bytes of a block, a multiple of 512; of flash, of a page.
    pub block_bytes: u32,
    /// What may be written where.
    pub media: MediaSpec,
    /// How long it takes.
    pub timing: TimingSpec,
}

/// A preset that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// No built-in preset has this name.
    #[error("no drive is called {name}; the built-in ones are {}", built_in_names())]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
    /// The text is no preset.
    #[error("drive {name}: {source}")]
    Syntax {
        /// The preset.
        name: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// The numbers describe no drive.
    #[error("drive {name}: {source}")]
    Impossible {
        /// The preset.
        name: String,
        /// Which number, and why.
        source: GeometryError,
    },
    /// The drive records otherwise than the layer needs.
    #[error("drive {name} is {is}, and this needs {needed}; choose another drive")]
    Unsuited {
        /// The preset.
        name: String,
        /// What it is.
        is: &'static str,
        /// What is needed.
        needed: &'static str,
    },
}

/// The presets of `drives/`: name and text.
const BUILT_IN: &[(&str, &str)] = &[
    ("cold-weight-40m", include_str!("../drives/cold-weight-40m.toml")),
    ("conventional-7200", include_str!("../drives/conventional-7200.toml")),
    ("exos-x18z", include_str!("../drives/exos-x18z.toml")),
    ("hp97560", include_str!("../drives/hp97560.toml")),
    ("imr-tracklace", include_str!("../drives/imr-tracklace.toml")),
    ("imrsim", include_str!("../drives/imrsim.toml")),
    ("small-banded", include_str!("../drives/small-banded.toml")),
    ("small-hybrid", include_str!("../drives/small-hybrid.toml")),
    ("small-zoned", include_str!("../drives/small-zoned.toml")),
    ("ssd-pore", include_str!("../drives/ssd-pore.toml")),
    ("ssd-sata", include_str!("../drives/ssd-sata.toml")),
    ("st8000as0002", include_str!("../drives/st8000as0002.toml")),
    ("tiny-conventional", include_str!("../drives/tiny-conventional.toml")),
    ("tiny-interlaced", include_str!("../drives/tiny-interlaced.toml")),
    ("tiny-flash", include_str!("../drives/tiny-flash.toml")),
    ("tiny-hybrid", include_str!("../drives/tiny-hybrid.toml")),
    ("tiny-zoned", include_str!("../drives/tiny-zoned.toml")),
    ("zn540", include_str!("../drives/zn540.toml")),
    ("zonealloy", include_str!("../drives/zonealloy.toml")),
];

fn built_in_names() -> String {
    BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl DrivePreset {
    /// Name and text of every built-in preset.
    #[must_use]
    pub const fn built_in() -> &'static [(&'static str, &'static str)] {
        BUILT_IN
    }

    /// The built-in preset called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Self, DriveError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(name, text),
            None => Err(DriveError::Unknown { name: name.into() }),
        }
    }

    /// The preset that `text` describes, to be called `name`.
    ///
    /// # Errors
    /// When the text is not a preset, or describes no possible drive.
    pub fn parse(name: &str, text: &str) -> Result<Self, DriveError> {
        let syntax = |source| DriveError::Syntax { name: name.into(), source: Box::new(source) };
        let preset = Self { name: name.into(), ..toml::from_str(text).map_err(syntax)? };
        preset.validate()?;
        Ok(preset)
    }

    /// Checks that the numbers can be those of a drive, its timing included.
    ///
    /// # Errors
    /// The first number that cannot.
    pub fn validate(&self) -> Result<(), DriveError> {
        self.timing().map(drop)
    }

    /// Blocks of the drive's address space.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.media.blocks()
    }

    /// Bytes of the drive's address space.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blocks() * u64::from(self.block_bytes)
    }

    /// Bytes that the drive holds at most, as [`MediaSpec::capacity`] counts them: what the drive is sold by.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.media.capacity() * u64::from(self.block_bytes)
    }

    /// How long the drive takes; a disk's mechanics have at least the sectors of the media.
    ///
    /// # Errors
    /// When a number is impossible.
    pub fn timing(&self) -> Result<DriveTiming, DriveError> {
        let build = || {
            self.validate_block_size()?;
            self.media.validate()?;
            Ok(match (&self.timing, &self.media) {
                (TimingSpec::Disk(mechanics), MediaSpec::Interlaced(tracks)) => {
                    DriveTiming::Disk(mechanics.build_interlaced(tracks, self.block_bytes / SECTOR_BYTES)?)
                }
                (TimingSpec::Disk(mechanics), MediaSpec::Hybrid(hybrid)) => {
                    DriveTiming::Disk(mechanics.build_hybrid(&hybrid.domains(self.block_bytes / SECTOR_BYTES))?)
                }
                (TimingSpec::Disk(mechanics), _) => {
                    DriveTiming::Disk(mechanics.build(self.bytes() / u64::from(SECTOR_BYTES))?)
                }
                (TimingSpec::Flash(flash), _) => DriveTiming::Flash(flash.build(self.block_bytes)?),
            })
        };
        build().map_err(|source| DriveError::Impossible { name: self.name.clone(), source })
    }

    /// What the drive records like, so that [`DrivePreset::media`] gives it all of its rules.
    #[must_use]
    pub fn recording(&self) -> Recording {
        match self.media {
            MediaSpec::Conventional { .. } => Recording::Conventional,
            MediaSpec::Zoned { .. } => Recording::Zoned,
            MediaSpec::Banded { .. } => Recording::Banded,
            MediaSpec::Interlaced(_) => Recording::Interlaced,
            MediaSpec::Hybrid(_) => Recording::Hybrid,
            MediaSpec::Flash { .. } => Recording::Flash,
        }
    }

    /// The media, empty, as a layer for `recording` sees it: for a conventional one the platters are taken without
    /// overlap, zones, bands and realms or not, and pages as if they could be rewritten. Where the drive is not what a layer is
    /// for, the layer says so.
    ///
    /// # Errors
    /// When the drive is of a kind on which the recording has no meaning.
    pub fn media(&self, recording: Recording) -> Result<Box<dyn Media>, DriveError> {
        Ok(match (recording, &self.media) {
            (Recording::Interlaced, MediaSpec::Interlaced(tracks)) => Box::new(Interlaced::new(Pba::DISK, *tracks)),
            (Recording::Banded, MediaSpec::Banded { cache_blocks, bands }) => {
                Box::new(Banded::new(Pba::DISK, *cache_blocks, bands))
            }
            (
                Recording::Zoned | Recording::WholeZones,
                MediaSpec::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active },
            ) => {
                let (zones, zone_blocks, conventional_zones) = (*zones, *zone_blocks, *conventional_zones);
                let (max_open, max_active) = (*max_open, *max_active);
                let spec = ZonedSpec { zones, zone_blocks, conventional_zones, max_open, max_active };
                Box::new(Shingled::new(Pba::DISK, spec))
            }
            (Recording::Hybrid, MediaSpec::Hybrid(hybrid)) => {
                let bounds = self.mechanics()?.bounds(self.block_bytes / SECTOR_BYTES);
                Box::new(Hybrid::new(hybrid.realms(&bounds.ok_or_else(|| self.unsuited("realms"))?)))
            }
            (Recording::Flash, MediaSpec::Flash { erase_blocks, pages, rewritable_erase_blocks }) => {
                let (erase_blocks, pages, rewritable_erase_blocks) = (*erase_blocks, *pages, *rewritable_erase_blocks);
                Box::new(Flash::new(Pba::DISK, FlashShape { erase_blocks, pages, rewritable_erase_blocks }))
            }
            // Where the drive is not what the layer is for, the layer says so.
            (Recording::Conventional | Recording::Interlaced | Recording::Banded, _)
            | (
                Recording::Zoned | Recording::WholeZones,
                MediaSpec::Conventional { .. }
                | MediaSpec::Interlaced(_)
                | MediaSpec::Banded { .. }
                | MediaSpec::Hybrid(_),
            ) => Box::new(Conventional::new(Pba::DISK, self.media.conventional())),
            (Recording::Zoned | Recording::WholeZones, MediaSpec::Flash { .. }) => {
                return Err(self.unsuited("sequential zones"));
            }
            (Recording::Hybrid, _) => return Err(self.unsuited("realms")),
            (Recording::Flash, _) => return Err(self.unsuited("flash")),
            (Recording::Cached, _) => return Err(self.unsuited("flash with a disk behind it")),
        })
    }

    /// The mechanics of a disk.
    ///
    /// # Errors
    /// When a number is impossible or the drive is flash.
    pub fn mechanics(&self) -> Result<Mechanics, DriveError> {
        match self.timing()? {
            DriveTiming::Disk(mechanics) => Ok(mechanics),
            DriveTiming::Flash(_) => Err(self.unsuited("a disk")),
        }
    }

    /// The error that this drive is of the wrong kind.
    pub(crate) fn unsuited(&self, needed: &'static str) -> DriveError {
        let is = match self.media {
            MediaSpec::Conventional { .. } => "a conventional disk",
            MediaSpec::Zoned { .. } => "a zoned disk",
            MediaSpec::Banded { .. } => "a drive-managed disk",
            MediaSpec::Interlaced(_) => "an interlaced disk",
            MediaSpec::Hybrid(_) => "a hybrid disk",
            MediaSpec::Flash { .. } => "flash",
        };
        DriveError::Unsuited { name: self.name.clone(), is, needed }
    }

    fn validate_block_size(&self) -> Result<(), GeometryError> {
        let bytes = self.block_bytes;
        let whole = bytes.is_multiple_of(SECTOR_BYTES) && (SECTOR_BYTES..=MAX_BLOCK_BYTES).contains(&bytes);
        GeometryError::check("block_bytes", whole, bytes, "give a multiple of 512 up to 1 MiB")
    }
}

/// The largest block.
const MAX_BLOCK_BYTES: u32 = 1 << 20;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_mechanics_for_its_media() {
        for (name, text) in DrivePreset::built_in() {
            let preset = DrivePreset::parse(name, text).unwrap();
            if let DriveTiming::Disk(mechanics) = preset.timing().unwrap() {
                let sectors = preset.bytes() / 512;
                let excess = mechanics.sectors() - sectors;
                assert!(excess * 20 <= sectors, "{name}: {excess} sectors more than {sectors}");
            }
            let again = DrivePreset::parse(name, &toml::to_string(&preset).unwrap()).unwrap();
            assert_eq!(again, preset, "{name} does not survive being written");
        }
        assert!(DrivePreset::named("exos").unwrap_err().to_string().contains("exos-x18z"));
    }

    /// MB/s of reading `mib` MiB from `sector` on.
    fn rate(drive: &mut Mechanics, sector: u64, mib: u64) -> f64 {
        let begin = drive.access(0, sector, 1, false);
        let end = drive.access(begin, sector + 1, mib * 2048, false);
        (mib * 2048 * 512) as f64 * 1e3 / (end - begin) as f64
    }

    #[test]
    fn the_exos_is_the_size_and_speed_of_its_data_sheet() {
        let preset = DrivePreset::named("exos-x18z").unwrap();
        assert_eq!(preset.bytes(), 67_056 << 28);
        let mut drive = preset.mechanics().unwrap();
        let last = preset.bytes() / 512 - (2 << 30) / 512;
        let (outer, inner) = (rate(&mut drive, 0, 1024), rate(&mut drive, last, 1024));
        assert!((outer - 270.0).abs() < 2.7, "{outer} MB/s at the outer edge");
        assert!((inner - 135.0).abs() < 2.7, "{inner} MB/s at the inner edge");
    }

    #[test]
    fn a_smaller_drive_keeps_rates_and_shares() {
        for (name, _) in DrivePreset::built_in() {
            let full = DrivePreset::named(name).unwrap();
            let half = full.with_capacity(full.capacity_bytes() / 2 + 1).unwrap();
            // Interlaced tracks keep the conventional ones, and whole groups if they have several. A realm is whole.
            let unit = match &full.media {
                MediaSpec::Interlaced(tracks) => tracks.blocks().min(1 << 16),
                MediaSpec::Hybrid(hybrid) => u64::from(hybrid.sequential_zones * hybrid.zone_blocks),
                _ => 0,
            };
            assert!((full.capacity_bytes() / 2 - half.capacity_bytes()) / 4096 <= unit, "{name}");
            let (DriveTiming::Disk(full), DriveTiming::Disk(half)) = (full.timing().unwrap(), half.timing().unwrap())
            else {
                continue;
            };
            assert_eq!(half.locate(0).sectors_per_track, full.locate(0).sectors_per_track);
            let ratio = f64::from(half.cylinders()) / f64::from(full.cylinders());
            assert!((0.49..0.55).contains(&ratio), "{name}: {ratio} of the cylinders");
        }
        let exos = DrivePreset::named("exos-x18z").unwrap();
        let MediaSpec::Zoned { zones, conventional_zones, .. } = exos.with_capacity(64 << 30).unwrap().media else {
            panic!("not zoned");
        };
        assert_eq!((zones, conventional_zones), (256, 3));
    }

    #[test]
    fn impossible_drives_are_refused_by_field() {
        let text = DrivePreset::built_in().iter().find(|(name, _)| *name == "tiny-zoned").unwrap().1;
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from));
            DrivePreset::parse("test", &text.replace(from, to)).unwrap_err().to_string()
        };
        assert!(refused("conventional_zones = 4", "conventional_zones = 16").contains("media.conventional_zones"));
        assert!(refused("zone_blocks = 32", "zone_blocks = 0").contains("media.zone_blocks"));
        assert!(refused("zone_blocks = 32", "zone_block = 32").contains("zone_block"));
        assert!(refused("description", "block_bytes = 1000\ndescription").contains("block_bytes"));
        assert!(refused("rpm = 7200", "rpm = -1").contains("rpm"));
        assert!(refused("[mechanics]", "[flash]").contains("unknown field"));
        let both = "[flash]\nread_ms = 1.0\nprogram_ms = 1.0\nerase_ms = 1.0\n[mechanics]";
        assert!(refused("[mechanics]", both).contains("no other"));
        let preset = DrivePreset::parse("test", text).unwrap();
        assert!(preset.with_capacity(32 * 4096).is_err());
        assert!(preset.with_capacity(u64::MAX).is_err());
    }
}
