//! Zones with a write pointer, and the realms of a hybrid disk: which units they are and where they lie.

use std::ops::Range;

use crate::block::{Extent, Pba};
use crate::plan::Unit;

/// A run of sequential zones, or of the erase blocks of flash: units with a write pointer that are emptied whole.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Zones {
    /// The first.
    pub first: Unit,
    /// How many.
    pub count: u32,
    /// Blocks of each.
    pub zone_blocks: u32,
}

/// Realms of a hybrid disk, in the words of ZBC-2: stretches of its platters of which each has a span in the domain of
/// conventional zones and one, of more zones, in the domain of sequential ones. One of the two is active, and the zones
/// of the other are inactive. At first all conventional spans are.
///
/// The domain of conventional zones comes first, and in each domain the realms from the outer edge inwards. The reset of
/// a unit beyond the zones activates a span, which is empty then, and destroys what the other held.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Realms {
    /// The first conventional zone of the first realm.
    pub first: Unit,
    /// How many realms there are.
    pub count: u32,
    /// Zones of a conventional span.
    pub conventional_zones: u32,
    /// Zones of a sequential span.
    pub sequential_zones: u32,
    /// Blocks of a zone.
    pub zone_blocks: u32,
    /// How long the drive takes at most.
    pub times: RealmTimes,
}

/// How long a hybrid disk takes at most. The length of a migration that delays no request follows from these times.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RealmTimes {
    /// From the beginning of an access to that of its transfer, in ns: the longest seek, settling, a whole turn.
    pub positioning_ns: u64,
    /// One block of a long transfer, in ns, where the tracks are shortest, changes of track included.
    pub block_ns: u64,
    /// A turn of the platters, in ns.
    pub turn_ns: u64,
    /// An activation, in ns.
    pub activation_ns: u64,
}

impl Realms {
    /// All zones of both domains, conventional ones first.
    #[must_use]
    #[inline]
    pub fn zones(&self) -> Zones {
        let count = self.count * (self.conventional_zones + self.sequential_zones);
        Zones { first: self.first, count, zone_blocks: self.zone_blocks }
    }

    /// How many of these zones are in the conventional domain.
    #[must_use]
    #[inline]
    pub fn all_conventional(&self) -> u32 {
        self.count * self.conventional_zones
    }

    /// The numbers, among all zones, of the conventional zones of a realm.
    #[must_use]
    #[inline]
    pub fn conventional_of(&self, realm: u32) -> Range<u32> {
        let first = realm * self.conventional_zones;
        first..first + self.conventional_zones
    }

    /// The numbers, among all zones, of the sequential zones of a realm.
    #[must_use]
    #[inline]
    pub fn sequential_of(&self, realm: u32) -> Range<u32> {
        let first = self.all_conventional() + realm * self.sequential_zones;
        first..first + self.sequential_zones
    }

    /// The realm of a zone, by its number among all zones.
    #[must_use]
    #[inline]
    pub fn realm_of(&self, zone: u32) -> u32 {
        match zone.checked_sub(self.all_conventional()) {
            None => zone / self.conventional_zones,
            Some(zone) => zone / self.sequential_zones,
        }
    }

    /// The blocks of the conventional span of a realm.
    #[must_use]
    #[inline]
    pub fn conventional(&self, realm: u32) -> Extent<Pba> {
        self.span(&self.conventional_of(realm))
    }

    /// The blocks of the sequential span of a realm.
    #[must_use]
    #[inline]
    pub fn sequential(&self, realm: u32) -> Extent<Pba> {
        self.span(&self.sequential_of(realm))
    }

    fn span(&self, zones: &Range<u32>) -> Extent<Pba> {
        Extent::new(self.zones().block(zones.start, 0), zones.len() as u32 * self.zone_blocks)
    }

    /// The unit whose reset activates the sequential span of a realm.
    #[must_use]
    #[inline]
    pub fn to_sequential(&self, realm: u32) -> Unit {
        self.zones().unit(self.zones().count + realm)
    }

    /// The unit whose reset activates the conventional span of a realm. The drive refuses it while a sequential zone of
    /// the realm is not empty.
    #[must_use]
    #[inline]
    pub fn to_conventional(&self, realm: u32) -> Unit {
        self.zones().unit(self.zones().count + self.count + realm)
    }

    /// The realm whose span the reset of `unit` activates, and whether that is the sequential one.
    #[must_use]
    #[inline]
    pub fn activated_by(&self, unit: Unit) -> Option<(u32, bool)> {
        let zones = self.zones();
        let number = unit.index.checked_sub(zones.first.index)?.checked_sub(zones.count)?;
        let of = (number % self.count, number < self.count);
        (unit.device == self.first.device && number < 2 * self.count).then_some(of)
    }
}

impl Zones {
    /// The unit of the zone numbered `index` from the first.
    #[must_use]
    #[inline]
    pub fn unit(&self, index: u32) -> Unit {
        Unit { device: self.first.device, index: self.first.index + index }
    }

    /// The number of the zone, from the first, that `unit` is.
    #[must_use]
    #[inline]
    pub fn index(&self, unit: Unit) -> Option<u32> {
        let index = unit.index.checked_sub(self.first.index)?;
        (unit.device == self.first.device && index < self.count).then_some(index)
    }

    /// Block `offset` of the zone numbered `index` from the first.
    #[must_use]
    #[inline]
    pub fn block(&self, index: u32, offset: u32) -> Pba {
        let zone = u64::from(self.first.index) + u64::from(index);
        Pba::new(self.first.device, zone * u64::from(self.zone_blocks) + u64::from(offset))
    }

    /// The zone, from the first, and the offset in it of a block.
    #[must_use]
    #[inline]
    pub fn locate(&self, block: Pba) -> Option<(u32, u32)> {
        let zone = u32::try_from(block.block() / u64::from(self.zone_blocks)).ok()?;
        let index = self.index(Unit { device: block.device(), index: zone })?;
        Some((index, (block.block() % u64::from(self.zone_blocks)) as u32))
    }

    /// All blocks of the zone numbered `index` from the first.
    #[must_use]
    #[inline]
    pub fn extent(&self, index: u32) -> Extent<Pba> {
        Extent::new(self.block(index, 0), self.zone_blocks)
    }
}
