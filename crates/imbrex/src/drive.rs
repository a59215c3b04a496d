//! Drives: media and their timing together, described by a preset in TOML.
//!
//! `drives/*.toml` at the root of the workspace holds the built-in presets. This module holds the description; reading a
//! file that a user names is left to the program.

mod interlaced;
mod written;

use serde::{Deserialize, Serialize};

use crate::mechanics::{GeometryError, Mechanics, SECTOR_BYTES};
use crate::tracks::Tracks;
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

/// The rules of a recording, in numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MediaSpec {
    /// Every block may be written at any time.
    Conventional {
        /// How many blocks.
        blocks: u64,
    },
    /// Zones with a write pointer, behind conventional ones.
    Zoned {
        /// How many zones, conventional ones included.
        zones: u32,
        /// Blocks of a zone.
        zone_blocks: u32,
        /// How many zones from the first on are conventional.
        conventional_zones: u32,
        /// How many zones may be open at a time; 0 for any number.
        #[serde(default)]
        max_open: u32,
        /// How many zones may be open or closed, that is, neither empty nor full; 0 for any number.
        #[serde(default)]
        max_active: u32,
    },
    /// Top tracks over the boundaries of bottom tracks.
    Interlaced(Tracks),
    /// Erase blocks of pages, which are programmed once after an erase.
    Flash {
        /// How many erase blocks, rewritable ones included.
        erase_blocks: u32,
        /// Pages of an erase block.
        #[serde(default = "default_pages")]
        pages: u32,
        /// How many erase blocks from the first on can be rewritten in place: a small memory for the journal.
        #[serde(default)]
        rewritable_erase_blocks: u32,
    },
}

const fn default_pages() -> u32 {
    64
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
    ("conventional-7200", include_str!("../../../drives/conventional-7200.toml")),
    ("exos-x18z", include_str!("../../../drives/exos-x18z.toml")),
    ("hp97560", include_str!("../../../drives/hp97560.toml")),
    ("imr-tracklace", include_str!("../../../drives/imr-tracklace.toml")),
    ("imrsim", include_str!("../../../drives/imrsim.toml")),
    ("small-zoned", include_str!("../../../drives/small-zoned.toml")),
    ("ssd-pore", include_str!("../../../drives/ssd-pore.toml")),
    ("tiny-conventional", include_str!("../../../drives/tiny-conventional.toml")),
    ("tiny-interlaced", include_str!("../../../drives/tiny-interlaced.toml")),
    ("tiny-flash", include_str!("../../../drives/tiny-flash.toml")),
    ("tiny-zoned", include_str!("../../../drives/tiny-zoned.toml")),
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

    /// Blocks of the drive.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.media.blocks()
    }

    /// Bytes of the drive.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.blocks() * self.block_bytes as u64
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
                (TimingSpec::Disk(mechanics), _) => {
                    DriveTiming::Disk(mechanics.build(self.bytes() / u64::from(SECTOR_BYTES))?)
                }
                (TimingSpec::Flash(flash), _) => DriveTiming::Flash(flash.build(self.block_bytes)?),
            })
        };
        build().map_err(|source| DriveError::Impossible { name: self.name.clone(), source })
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
            MediaSpec::Interlaced(_) => "an interlaced disk",
            MediaSpec::Flash { .. } => "flash",
        };
        DriveError::Unsuited { name: self.name.clone(), is, needed }
    }

    /// The same drive with another capacity: `bytes` rounded down to whole blocks, zones or erase blocks. Conventional zones
    /// and rewritable erase blocks keep their share. The mechanics keep rates and heads and change their cylinders, so the drive is the same in small;
    /// a seek curve from three data-sheet numbers is stretched over them.
    ///
    /// # Errors
    /// When nothing is left of the drive or of one of its kinds of zone.
    pub fn with_capacity(&self, bytes: u64) -> Result<Self, DriveError> {
        let scaled = || {
            let media = self.media.with_blocks(bytes / u64::from(self.block_bytes.max(1)))?;
            let timing = match &self.timing {
                TimingSpec::Disk(mechanics) => TimingSpec::Disk(mechanics.scaled(media.blocks(), self.blocks())),
                TimingSpec::Flash(flash) => TimingSpec::Flash(flash.clone()),
            };
            Ok(Self { media, timing, ..self.clone() })
        };
        let scaled = scaled().map_err(|source| DriveError::Impossible { name: self.name.clone(), source })?;
        scaled.validate()?;
        Ok(scaled)
    }

    fn validate_block_size(&self) -> Result<(), GeometryError> {
        let bytes = self.block_bytes;
        let whole = bytes.is_multiple_of(SECTOR_BYTES) && (SECTOR_BYTES..=MAX_BLOCK_BYTES).contains(&bytes);
        GeometryError::check("block_bytes", whole, bytes, "give a multiple of 512 up to 1 MiB")
    }
}

/// The largest block.
const MAX_BLOCK_BYTES: u32 = 1 << 20;
/// The most blocks of a drive; bytes of the largest block then fit 64 bits.
const MAX_BLOCKS: u64 = 1 << 43;

impl MediaSpec {
    /// How many blocks there are.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        match *self {
            Self::Conventional { blocks } => blocks,
            Self::Zoned { zones, zone_blocks, .. } => zones as u64 * zone_blocks as u64,
            Self::Interlaced(ref tracks) => tracks.blocks(),
            Self::Flash { erase_blocks, pages, .. } => erase_blocks as u64 * pages as u64,
        }
    }

    /// Checks that the numbers go together.
    ///
    /// # Errors
    /// The first that does not.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let at_least_one = "give at least one";
        if let Self::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active } = *self {
            GeometryError::check("media.zones", zones >= 1, zones, at_least_one)?;
            GeometryError::check("media.zone_blocks", zone_blocks >= 1, zone_blocks, at_least_one)?;
            let remedy = "leave at least one sequential zone, or use media of kind conventional";
            GeometryError::check("media.conventional_zones", conventional_zones < zones, conventional_zones, remedy)?;
            let remedy = "an open zone is active: give at most max_active";
            GeometryError::check("media.max_open", max_active == 0 || max_open <= max_active, max_open, remedy)?;
        }
        if let Self::Interlaced(tracks) = self {
            interlaced::check(tracks)?;
        }
        if let Self::Flash { erase_blocks, pages, rewritable_erase_blocks } = *self {
            GeometryError::check("media.erase_blocks", erase_blocks >= 1, erase_blocks, at_least_one)?;
            GeometryError::check("media.pages", pages >= 1, pages, at_least_one)?;
            let remedy = "leave at least one erase block that is not rewritable";
            let fits = rewritable_erase_blocks < erase_blocks;
            GeometryError::check("media.rewritable_erase_blocks", fits, rewritable_erase_blocks, remedy)?;
        }
        let blocks = self.blocks();
        GeometryError::check(
            "media.blocks",
            (1..=MAX_BLOCKS).contains(&blocks),
            blocks,
            "give between 1 and 2^43 blocks",
        )
    }

    /// The same media with at most `blocks` blocks.
    fn with_blocks(&self, blocks: u64) -> Result<Self, GeometryError> {
        match *self {
            Self::Conventional { .. } if blocks == 0 => Err(too_small(blocks)),
            Self::Conventional { .. } => Ok(Self::Conventional { blocks }),
            Self::Interlaced(ref tracks) => {
                interlaced::with_blocks(tracks, blocks).map(Self::Interlaced).ok_or_else(|| too_small(blocks))
            }
            Self::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active } => {
                let (zones, conventional_zones) = with_units(blocks, zone_blocks, (zones, conventional_zones))?;
                Ok(Self::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active })
            }
            Self::Flash { erase_blocks, pages, rewritable_erase_blocks } => {
                let (erase_blocks, rewritable_erase_blocks) =
                    with_units(blocks, pages, (erase_blocks, rewritable_erase_blocks))?;
                Ok(Self::Flash { erase_blocks, pages, rewritable_erase_blocks })
            }
        }
    }
}

fn too_small(blocks: u64) -> GeometryError {
    let remedy = "give room for a block, or for one sequential zone or erase block beside those written in place";
    GeometryError::new("capacity", format!("{blocks} blocks are too few"), remedy)
}

/// How many units of `unit_blocks` fit `blocks` blocks, and how many of them are written in place, when so many of the units
/// were.
fn with_units(blocks: u64, unit_blocks: u32, (units, in_place): (u32, u32)) -> Result<(u32, u32), GeometryError> {
    let remedy = "describe larger zones or erase blocks, or a smaller drive";
    let new = u32::try_from(blocks / u64::from(unit_blocks.max(1)))
        .map_err(|_| GeometryError::new("capacity", format!("{blocks} blocks are too many"), remedy))?;
    // Rounded to the nearest, but a drive that had units written in place keeps one.
    let share = u64::from(new) * u64::from(in_place) + u64::from(units) / 2;
    let kept = ((share / u64::from(units.max(1))) as u32).max(u32::from(in_place > 0));
    if new <= kept { Err(too_small(blocks)) } else { Ok((new, kept)) }
}

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
            let half = full.with_capacity(full.bytes() / 2 + 1).unwrap();
            // Interlaced tracks keep the conventional ones, and whole groups if they have several.
            let unit = if let MediaSpec::Interlaced(tracks) = &full.media { tracks.blocks().min(1 << 16) } else { 0 };
            assert!((full.bytes() / 2 - half.bytes()) / 4096 <= unit, "{name}");
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
