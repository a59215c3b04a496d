//! A hybrid disk in numbers: what is possible, and the same disk in another size.

use serde::{Deserialize, Serialize};

use super::sizing::too_small;
use crate::mechanics::{Bounds, Density, Domains, GeometryError};
use crate::plan::Unit;
use crate::zones::{RealmTimes, Realms};

/// Realms that are conventional at first and are activated as sequential zones one by one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HybridSpec {
    /// How many conventional zones belong to no realm. They are the outermost ones.
    pub fixed_zones: u32,
    /// How many realms.
    pub realms: u32,
    /// Conventional zones of a realm.
    #[serde(default = "default_conventional_zones")]
    pub conventional_zones: u32,
    /// Sequential zones of a realm, which take the same place on the platters.
    #[serde(default = "default_sequential_zones")]
    pub sequential_zones: u32,
    /// Blocks of a zone.
    pub zone_blocks: u32,
    /// How long an activation takes, in ms.
    #[serde(default = "default_activation_ms")]
    pub activation_ms: u32,
}

const fn default_conventional_zones() -> u32 {
    2
}

const fn default_sequential_zones() -> u32 {
    3
}

const fn default_activation_ms() -> u32 {
    50
}

/// The most zones of a span: a product with a number of tracks fits 64 bits by far.
const MAX_SPAN_ZONES: u32 = 1 << 10;
/// The most zones and activations of a drive: their numbers fit those of units.
const MAX_UNITS: u64 = 1 << 31;
/// The longest activation: a minute.
const MAX_ACTIVATION_MS: u32 = 60_000;

impl HybridSpec {
    /// Blocks of the zones that belong to no realm and of `of_realm` zones of each realm.
    fn with_zones(&self, of_realm: u64) -> u64 {
        let zones = u64::from(self.realms).saturating_mul(of_realm).saturating_add(self.fixed_zones.into());
        zones.saturating_mul(self.zone_blocks.into())
    }

    /// Blocks of the address space.
    pub(super) fn blocks(&self) -> u64 {
        self.with_zones(u64::from(self.conventional_zones) + u64::from(self.sequential_zones))
    }

    /// Blocks that are usable when all realms are sequential.
    pub(super) fn capacity(&self) -> u64 {
        self.with_zones(self.sequential_zones.into())
    }

    /// Blocks that are usable when all realms are conventional.
    pub(super) fn conventional(&self) -> u64 {
        self.with_zones(self.conventional_zones.into())
    }

    /// Checks that the numbers go together.
    pub(super) fn check(&self) -> Result<(), GeometryError> {
        let Self { fixed_zones, realms, conventional_zones, sequential_zones, zone_blocks, activation_ms } = *self;
        let remedy = "give at least one: superblocks and journals need a place that stays conventional";
        GeometryError::check("media.fixed_zones", fixed_zones >= 1, fixed_zones, remedy)?;
        GeometryError::check("media.realms", realms >= 1, realms, "give at least one")?;
        GeometryError::check("media.zone_blocks", zone_blocks >= 1, zone_blocks, "give at least one")?;
        let holds = (1..MAX_SPAN_ZONES).contains(&conventional_zones);
        GeometryError::check("media.conventional_zones", holds, conventional_zones, "give between 1 and 1023")?;
        let remedy = "give more than conventional_zones, which take as much of the platters, and at most 1024";
        let holds = (conventional_zones + 1..=MAX_SPAN_ZONES).contains(&sequential_zones);
        GeometryError::check("media.sequential_zones", holds, sequential_zones, remedy)?;
        let remedy = "give less than 2^32 blocks to the sequential zones of a realm";
        let holds = sequential_zones.checked_mul(zone_blocks).is_some();
        GeometryError::check("media.zone_blocks", holds, zone_blocks, remedy)?;
        let of_realm = u64::from(conventional_zones) + u64::from(sequential_zones) + 2;
        let units = u64::from(realms) * of_realm + u64::from(fixed_zones);
        let remedy = "describe larger zones or a smaller drive: zones and activations are at most 2^31";
        GeometryError::check("media.realms", units <= MAX_UNITS, realms, remedy)?;
        let holds = activation_ms <= MAX_ACTIVATION_MS;
        GeometryError::check("media.activation_ms", holds, activation_ms, "give at most 60000")
    }

    /// How many zones there are when all realms are sequential, and how many of them belong to no realm.
    pub(super) fn zones(&self) -> (u32, u32) {
        let in_realms = self.realms.saturating_mul(self.sequential_zones);
        (in_realms.saturating_add(self.fixed_zones), self.fixed_zones)
    }

    /// This disk with at most `zones` zones of `zone_blocks` blocks when all realms are sequential.
    pub(super) fn of_zones(&self, zones: u32, fixed_zones: u32, zone_blocks: u32) -> Result<Self, GeometryError> {
        match zones.saturating_sub(fixed_zones) / self.sequential_zones.max(1) {
            0 => Err(too_small(u64::from(zones) * u64::from(zone_blocks))),
            realms => Ok(Self { fixed_zones, realms, zone_blocks, ..*self }),
        }
    }

    /// What of the platters the domains take, in blocks of `block_sectors` sectors.
    pub(super) fn domains(&self, block_sectors: u32) -> Domains {
        let sectors = u64::from(block_sectors);
        Domains {
            fixed_sectors: u64::from(self.fixed_zones) * u64::from(self.zone_blocks) * sectors,
            wide_sectors: self.conventional() * sectors,
            density: Density::new(self.conventional_zones, self.sequential_zones),
        }
    }

    /// The realms of a disk that takes no longer than `bounds` say.
    pub(super) fn realms(&self, bounds: &Bounds) -> Realms {
        Realms {
            first: Unit::disk(self.fixed_zones),
            count: self.realms,
            conventional_zones: self.conventional_zones,
            sequential_zones: self.sequential_zones,
            zone_blocks: self.zone_blocks,
            times: RealmTimes {
                positioning_ns: bounds.positioning_ns,
                block_ns: bounds.block_ns,
                turn_ns: bounds.turn_ns,
                activation_ns: u64::from(self.activation_ms) * 1_000_000,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{DrivePreset, MediaSpec, Shape};
    use crate::recording::Recording;

    fn spec(preset: &DrivePreset) -> HybridSpec {
        let MediaSpec::Hybrid(hybrid) = preset.media else { panic!("{} is hybrid", preset.name) };
        hybrid
    }

    #[test]
    fn the_papers_disk_is_the_size_and_speed_that_it_says() {
        let preset = DrivePreset::named("zonealloy").unwrap();
        assert_eq!(preset.recording(), Recording::Hybrid);
        assert_eq!(preset.capacity_bytes() / 1_000_000, 999_922, "1 TB in whole realms");
        assert_eq!(preset.bytes(), (8 + 1239 * 5) << 28);
        let mut drive = preset.mechanics().unwrap();
        let innermost = preset.bytes() / 512 - (1 << 22);
        for first in [0, innermost] {
            let begin = drive.access(0, first, 1, false);
            let ns = drive.access(begin, first + 1, (1 << 30) / 512, false) - begin;
            let rate = f64::from(1 << 30) * 1e3 / ns as f64;
            assert!((rate - 250.0).abs() < 2.5, "{rate} MB/s from sector {first} on");
        }
        let realms = preset.media(Recording::Hybrid).unwrap().realms().unwrap();
        assert_eq!((realms.first, realms.count, realms.times.activation_ns), (Unit::disk(8), 1239, 50_000_000));
        assert!((25_000_000..26_000_000).contains(&realms.times.positioning_ns), "{:?}", realms.times);
        let slowest = 4096.0 * 1e3 / realms.times.block_ns as f64;
        assert!((247.5..252.5).contains(&slowest), "{slowest} MB/s to count with");
    }

    #[test]
    fn a_layer_that_knows_no_realms_sees_what_is_conventional() {
        let preset = DrivePreset::named("tiny-hybrid").unwrap();
        assert_eq!(preset.media(Recording::Conventional).unwrap().blocks(), 18 * 32);
        assert_eq!(preset.media(Recording::Hybrid).unwrap().blocks(), 42 * 32);
        let zoned = DrivePreset::named("tiny-zoned").unwrap();
        let refused = zoned.media(Recording::Hybrid).err().unwrap().to_string();
        assert!(refused.contains("tiny-zoned is a zoned disk, and this needs realms"), "{refused}");
        assert!(preset.media(Recording::Flash).err().unwrap().to_string().contains("a hybrid disk"));
    }

    #[test]
    fn another_size_is_whole_realms_and_keeps_the_share_of_other_zones() {
        let preset = DrivePreset::named("zonealloy").unwrap();
        let shaped = |capacity_bytes, zone_bytes, conventional: Option<&str>| {
            let conventional_zones = conventional.map(|text| text.parse().unwrap());
            let spec = spec(&preset.shaped(&Shape { capacity_bytes, zone_bytes, conventional_zones }).unwrap());
            (spec.fixed_zones, spec.realms, spec.zone_blocks)
        };
        assert_eq!(shaped(None, None, None), (8, 1239, 65_536));
        assert_eq!(shaped(Some(500_000_000_000), None, None), (4, 619, 65_536));
        assert_eq!(shaped(Some(64 << 30), None, None), (1, 85, 65_536));
        assert_eq!(shaped(Some(64 << 30), None, Some("10")), (10, 82, 65_536));
        assert_eq!(shaped(Some(64 << 30), Some(64 << 20), None), (2, 340, 16_384));
        let too_small = preset.with_capacity(3 << 28).unwrap_err().to_string();
        assert!(too_small.contains("too few"), "{too_small}");
    }

    #[test]
    fn impossible_realms_are_refused_by_field() {
        let text = DrivePreset::built_in().iter().find(|(name, _)| *name == "tiny-hybrid").unwrap().1;
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from));
            DrivePreset::parse("test", &text.replace(from, to)).unwrap_err().to_string()
        };
        assert!(refused("fixed_zones = 2", "fixed_zones = 0").contains("media.fixed_zones: 0 is impossible"));
        assert!(refused("realms = 8", "realms = 0").contains("media.realms"));
        assert!(refused("realms = 8", "realms = 4294967295").contains("media.realms"));
        assert!(refused("zone_blocks = 32", "zone_blocks = 0").contains("media.zone_blocks"));
        assert!(refused("zone_blocks = 32", "zone_blocks = 4294967295").contains("less than 2^32 blocks"));
        assert!(refused("realms = 8", "realms = 8\nconventional_zones = 0").contains("media.conventional_zones"));
        assert!(refused("realms = 8", "realms = 8\nsequential_zones = 2").contains("media.sequential_zones: 2"));
        assert!(refused("realms = 8", "realms = 8\nactivation_ms = 60001").contains("media.activation_ms"));
        assert!(refused("realms = 8", "realms = 8\nzones = 8").contains("unknown field"));
        assert!(refused("\"cylinder-major\"", "\"interlaced\"").contains("layout.kind"));
    }
}
