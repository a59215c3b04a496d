//! A drive in another size, or with other zones.

use std::fmt;
use std::str::FromStr;

use super::interlaced;
use super::sizing::with_units;
use super::{DriveError, DrivePreset, MediaSpec, TimingSpec};
use crate::mechanics::GeometryError;
use crate::recording::Recording;
use crate::space::{Space, superblock_blocks};

/// What of a drive is to be another than its preset says.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
pub struct Shape {
    /// Bytes of the drive; of a hybrid one, when all realms are sequential.
    pub capacity_bytes: Option<u64>,
    /// Bytes of a zone of a zoned or hybrid drive.
    pub zone_bytes: Option<u64>,
    /// How many zones of a zoned drive are conventional; of a hybrid one, how many always are.
    pub conventional_zones: Option<ConventionalZones>,
}

/// How many zones of a drive, from the first on, are conventional.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum ConventionalZones {
    /// This number of zones.
    Count(u32),
    /// A percentage of all zones, rounded to the nearest; above 0, at least one.
    Percent(f64),
}

/// A text that is no number of conventional zones.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is no number of zones; write one such as 64, or a percentage of all zones such as 1%")]
pub struct BadConventionalZones(String);

impl FromStr for ConventionalZones {
    type Err = BadConventionalZones;

    fn from_str(text: &str) -> Result<Self, BadConventionalZones> {
        let read = match text.trim().strip_suffix('%') {
            Some(percent) => {
                percent.trim().parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(Self::Percent)
            }
            None => text.trim().parse().ok().map(Self::Count),
        };
        read.ok_or_else(|| BadConventionalZones(text.to_owned()))
    }
}

impl fmt::Display for ConventionalZones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(zones) => write!(f, "{zones}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl ConventionalZones {
    /// How many of `zones` zones that are.
    fn of(self, zones: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                ((f64::from(zones) * percent / 100.0).round() as u32).max(u32::from(percent > 0.0))
            }
        }
    }
}

impl DrivePreset {
    /// This drive with another capacity: `bytes` rounded down to whole blocks, zones, realms or erase blocks.
    /// Conventional zones and rewritable erase blocks keep their share. The mechanics keep rates and heads and change their
    /// cylinders, so the drive is the same in small; a seek curve from three data-sheet numbers is stretched over them.
    ///
    /// # Errors
    /// When nothing is left of the drive or of one of its kinds of zone.
    pub fn with_capacity(&self, bytes: u64) -> Result<Self, DriveError> {
        self.shaped(&Shape { capacity_bytes: Some(bytes), ..Shape::default() })
    }

    /// This disk with at least `blocks` conventional blocks, if it is an interlaced one and can have them; any other
    /// stays as it is. An interlaced disk has them where it leaves top tracks empty: nothing lies over the bottom tracks
    /// there. It loses the blocks of those top tracks, and everything takes as long as before.
    #[must_use]
    pub fn with_conventional(&self, blocks: u64) -> Self {
        let media = match &self.media {
            MediaSpec::Interlaced(tracks) => interlaced::with_conventional(tracks, blocks).map(MediaSpec::Interlaced),
            _ => None,
        };
        Self { media: media.unwrap_or_else(|| self.media.clone()), ..self.clone() }
    }

    /// This disk with conventional blocks for what a volume of one layer keeps beside the layer's own: superblocks,
    /// journals of the length that `journal` finds for the whole disk, and `sums` blocks of checksums. Any disk that is
    /// not an interlaced one stays as it is.
    ///
    /// # Errors
    /// What `journal` fails with.
    pub fn with_room<E>(&self, sums: u64, journal: impl FnOnce(&Space) -> Result<u32, E>) -> Result<Self, E> {
        let Ok(media) = self.media(Recording::Interlaced) else { return Ok(self.clone()) };
        let journal_blocks = journal(&Space::of(media.as_ref(), 0))?;
        Ok(self.with_conventional(Space::beside_one(superblock_blocks(self.block_bytes), journal_blocks) + sums))
    }

    /// This drive with another capacity, as [`DrivePreset::with_capacity`] says, and other zones. Zones of another
    /// size leave conventional zones their share unless their number is given; what is left of the capacity beyond
    /// whole zones falls away.
    ///
    /// # Errors
    /// When the drive has no zones of one size to be changed, or what is asked for describes no possible drive.
    pub fn shaped(&self, shape: &Shape) -> Result<Self, DriveError> {
        let scaled = || {
            let media = self.shaped_media(shape)?;
            let timing = match &self.timing {
                TimingSpec::Disk(mechanics) => {
                    TimingSpec::Disk(mechanics.scaled(media.conventional(), self.media.conventional()))
                }
                TimingSpec::Flash(flash) => TimingSpec::Flash(flash.clone()),
            };
            Ok(Self { media, timing, ..self.clone() })
        };
        if *shape == Shape::default() {
            return Ok(self.clone());
        }
        let scaled = scaled().map_err(|source| DriveError::Impossible { name: self.name.clone(), source })?;
        scaled.validate()?;
        Ok(scaled)
    }

    fn shaped_media(&self, shape: &Shape) -> Result<MediaSpec, GeometryError> {
        let blocks =
            shape.capacity_bytes.map_or(self.media.capacity(), |bytes| bytes / u64::from(self.block_bytes.max(1)));
        if shape.zone_bytes.is_none() && shape.conventional_zones.is_none() {
            return self.media.with_blocks(blocks);
        }
        let Some((zone_blocks, (old_zones, old_conventional))) = self.media.zones() else {
            let remedy = "choose a zoned drive such as exos-x18z; bands and tracks are described in a drive file";
            return Err(GeometryError::new("zones", "the drive has no sequential zones to change".to_owned(), remedy));
        };
        let zone_blocks = shape.zone_bytes.map_or(Ok(zone_blocks), |bytes| self.zone_blocks(bytes))?;
        let (zones, conventional_zones) = match shape.conventional_zones {
            None => with_units(blocks, zone_blocks, old_zones, old_conventional)?,
            Some(conventional) => {
                let (zones, _) = with_units(blocks, zone_blocks, 1, 0)?;
                (zones, conventional.of(zones))
            }
        };
        self.media.with_zones(zones, conventional_zones, zone_blocks)
    }

    /// Blocks of a zone of `bytes` bytes.
    fn zone_blocks(&self, bytes: u64) -> Result<u32, GeometryError> {
        let block = u64::from(self.block_bytes.max(1));
        let whole = u32::try_from(bytes / block).ok().filter(|blocks| *blocks > 0 && bytes.is_multiple_of(block));
        let remedy = "give a multiple of the size of a block, less than 2^32 blocks";
        whole.ok_or_else(|| {
            let problem = format!("{bytes} bytes are no number of blocks of {block} bytes");
            GeometryError::new("zone size", problem, remedy)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Zones, blocks of each and conventional ones of the zoned preset in another shape.
    fn shaped(
        capacity: Option<u64>,
        zone: Option<u64>,
        conventional: Option<&str>,
    ) -> Result<(u32, u32, u32), DriveError> {
        let conventional_zones = conventional.map(|text| text.parse().unwrap());
        let shape = Shape { capacity_bytes: capacity, zone_bytes: zone, conventional_zones };
        let drive = DrivePreset::named("exos-x18z").unwrap().shaped(&shape)?;
        let MediaSpec::Zoned { zones, zone_blocks, conventional_zones, .. } = drive.media else { panic!("not zoned") };
        Ok((zones, zone_blocks, conventional_zones))
    }

    #[test]
    fn zones_of_another_size_keep_the_capacity_and_the_share_of_conventional_ones() {
        assert_eq!(shaped(None, None, None).unwrap(), (67_056, 65_536, 720));
        assert_eq!(shaped(None, Some(GIB), None).unwrap(), (16_764, 262_144, 180));
        assert_eq!(shaped(Some(64 * GIB), Some(GIB / 16), None).unwrap(), (1024, 16_384, 11));
        assert_eq!(
            shaped(Some(GIB / 4), Some(1 << 20), None).unwrap(),
            (256, 256, 3),
            "smaller than a zone of the preset"
        );
        assert_eq!(shaped(Some(10 * GIB + 5), Some(3 * GIB), Some("1")).unwrap(), (3, 786_432, 1));
    }

    #[test]
    fn conventional_zones_are_a_number_or_a_share() {
        assert_eq!(shaped(Some(64 * GIB), None, Some("40")).unwrap(), (256, 65_536, 40));
        assert_eq!(shaped(Some(64 * GIB), None, Some("25%")).unwrap(), (256, 65_536, 64));
        assert_eq!(shaped(Some(64 * GIB), None, Some("0.01 %")).unwrap(), (256, 65_536, 1));
        assert_eq!(shaped(Some(64 * GIB), None, Some("0%")).unwrap(), (256, 65_536, 0));
        for text in ["", "%", "-1", "1.5", "101%", "NaN%"] {
            assert!(text.parse::<ConventionalZones>().is_err(), "{text}");
        }
        for shown in ["64", "1.5%"] {
            assert_eq!(shown.parse::<ConventionalZones>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn an_impossible_shape_is_refused_with_its_remedy() {
        let refused = |capacity, zone, conventional| shaped(capacity, zone, conventional).unwrap_err().to_string();
        assert!(refused(None, Some(1000), None).contains("zone size: 1000 bytes are no number of blocks"));
        assert!(refused(None, Some(0), None).contains("give a multiple"));
        assert!(refused(None, Some(1 << 45), None).contains("less than 2^32 blocks"));
        assert!(refused(Some(GIB), Some(2 * GIB), None).contains("too few"));
        assert!(refused(Some(GIB), None, Some("4")).contains("media.conventional_zones"));
        assert!(refused(Some(GIB), None, Some("100%")).contains("leave at least one sequential zone"));
        assert!(refused(None, Some(4096), None).contains("too many"));
        let banded = DrivePreset::named("st8000as0002").unwrap();
        let shape = Shape { zone_bytes: Some(GIB), ..Shape::default() };
        let refused = banded.shaped(&shape).unwrap_err().to_string();
        assert!(refused.contains("no sequential zones") && refused.contains("choose a zoned drive"), "{refused}");
    }
}
