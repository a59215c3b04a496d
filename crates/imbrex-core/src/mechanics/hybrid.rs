//! A hybrid disk: where on the platters a sector of either domain lies.
//!
//! The sequential span of a realm lies where its conventional one does, on tracks that are as long and narrower. So each
//! domain is a surface of its own, with the same recording zones: what is one track of the wide surface is as much of
//! the narrow one as the density says. Both count cylinders of the narrow one.

use super::surface::{Location, Seams, Surface};
use super::{GeometryError, LayoutSpec, Mechanics, Platters, RecordingZone};

/// How many narrow tracks lie where a number of wide ones do, in lowest terms.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Density {
    pub(super) wide: u32,
    pub(super) narrow: u32,
}

impl Density {
    /// Tracks of one width.
    pub(super) const EVEN: Self = Self { wide: 1, narrow: 1 };

    /// `narrow` zones in the place of `wide` ones, each at least 1.
    #[must_use]
    pub const fn new(wide: u32, narrow: u32) -> Self {
        let (mut divisor, mut rest) = (wide, narrow);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self { wide: wide / divisor, narrow: narrow / divisor }
    }

    /// The narrow track at which wide track `track` begins.
    #[inline]
    const fn narrow_track(self, track: u32) -> u64 {
        track as u64 * self.narrow as u64 / self.wide as u64
    }

    /// How many narrow tracks are at most stepped over from one wide track to the next.
    pub(super) const fn step(self) -> u32 {
        self.narrow.div_ceil(self.wide)
    }
}

/// What the rounding of a completion to whole ns, and a sector that is caught late, may add to any time.
const ROUNDING_NS: u64 = 5;

/// What of the platters the two domains take.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Domains {
    /// Sectors at the outer edge that are on wide tracks only.
    pub fixed_sectors: u64,
    /// Sectors of all wide tracks, those included: the conventional domain.
    pub wide_sectors: u64,
    /// How much narrower the tracks of the sequential domain are. Its sectors follow from that.
    pub density: Density,
}

impl Domains {
    /// Sectors of the sequential domain.
    fn narrow_sectors(&self) -> u64 {
        let wide = u128::from(self.wide_sectors - self.fixed_sectors);
        (wide * u128::from(self.density.narrow) / u128::from(self.density.wide)) as u64 // checked with the preset
    }

    /// The sector of the narrow surface at which the sequential domain begins.
    fn narrow_start(&self) -> u64 {
        let narrow = u128::from(self.fixed_sectors) * u128::from(self.density.narrow);
        narrow.div_ceil(u128::from(self.density.wide)) as u64
    }
}

/// How long a hybrid disk takes at most. An access to blocks of one domain that follow each other ends within
/// `positioning_ns` and `block_ns` for each of them, wherever the head is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// From the beginning of an access to that of its transfer, in ns: the longest seek or the head switch, settling, a
    /// whole turn, and one change of track, since a transfer may begin at the end of one.
    pub positioning_ns: u64,
    /// One block of a long transfer, in ns, where the tracks are shortest, changes of track included.
    pub block_ns: u64,
    /// A turn, in ns.
    pub turn_ns: u64,
}

/// Both surfaces of a hybrid disk. The conventional domain comes first.
#[derive(Clone, Debug)]
pub(super) struct HybridSurface {
    wide: Surface,
    narrow: Surface,
    density: Density,
    wide_sectors: u64,
    /// The sector of the narrow surface at which the sequential domain begins.
    narrow_start: u64,
    sectors: u64,
    slowest: Slowest,
}

/// What the longest times of a transfer follow from, in turns.
#[derive(Copy, Clone, Debug)]
struct Slowest {
    /// A sector with its share of the change to the next track.
    sector: f64,
    /// A change to the next track.
    change: f64,
}

impl Slowest {
    fn of(zones: &[RecordingZone]) -> Self {
        let change = |zone: &RecordingZone| {
            let skew = zone.track_skew_sectors.max(zone.cylinder_skew_sectors);
            f64::from(skew) / f64::from(zone.sectors_per_track)
        };
        let sector = |zone: &RecordingZone| (1.0 + change(zone)) / f64::from(zone.sectors_per_track);
        Self {
            sector: zones.iter().map(sector).fold(0.0, f64::max),
            change: zones.iter().map(change).fold(0.0, f64::max),
        }
    }
}

impl HybridSurface {
    /// The surfaces of `heads` heads. `zones` are those of the wide surface; each has a multiple of as many cylinders
    /// as the density counts wide tracks.
    pub(super) fn new(heads: u32, zones: &[RecordingZone], domains: &Domains) -> Result<Self, GeometryError> {
        let layout = LayoutSpec::CylinderMajor {};
        let density = domains.density;
        let narrow = |tracks: u32| u32::try_from(density.narrow_track(tracks)).unwrap_or(u32::MAX);
        let narrow = |zone: &RecordingZone| RecordingZone {
            first_cylinder: narrow(zone.first_cylinder),
            cylinders: narrow(zone.cylinders),
            ..*zone
        };
        let narrow: Vec<_> = zones.iter().map(narrow).collect();
        debug_assert!(zones.iter().all(|zone| zone.cylinders.is_multiple_of(density.wide)));
        let (wide, narrow) = (
            Surface::new(&layout, heads, zones, Seams::Skewed)?,
            Surface::new(&layout, heads, &narrow, Seams::Skewed)?,
        );
        debug_assert!(domains.wide_sectors <= wide.sectors());
        debug_assert!(domains.narrow_start() + domains.narrow_sectors() <= narrow.sectors());
        let sectors = domains.wide_sectors + domains.narrow_sectors();
        let (wide_sectors, narrow_start) = (domains.wide_sectors, domains.narrow_start());
        Ok(Self { wide, narrow, density, wide_sectors, narrow_start, sectors, slowest: Slowest::of(zones) })
    }

    pub(super) const fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(super) const fn cylinders(&self) -> u32 {
        self.narrow.cylinders()
    }

    /// Where sector `sector`, which is below [`HybridSurface::sectors`], lies.
    #[inline]
    pub(super) fn locate(&self, sector: u64) -> Location {
        match sector.checked_sub(self.wide_sectors) {
            Some(sector) => self.narrow.locate(self.narrow_start + sector),
            None => {
                let at = self.wide.locate(sector);
                Location { cylinder: self.density.narrow_track(at.cylinder) as u32, ..at }
            }
        }
    }
}

impl Mechanics {
    /// The longest times of a hybrid disk in blocks of `block_sectors` sectors; of another they are not known.
    #[must_use]
    pub fn bounds(&self, block_sectors: u32) -> Option<Bounds> {
        let Platters::Hybrid(surface) = &self.platters else { return None };
        let turn = self.spindle.turn_ns();
        let ns = |turns: f64| (turns * turn as f64).ceil() as u64 + ROUNDING_NS;
        let arm_ns = self.seek.longest_ns(surface.cylinders()).max(self.head_switch_ns) + self.write_settle_ns;
        Some(Bounds {
            positioning_ns: arm_ns + turn + ns(surface.slowest.change),
            block_ns: ns(surface.slowest.sector * f64::from(block_sectors)),
            turn_ns: turn,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mechanics::{MechanicsSpec, RecordingSpec, SeekSpec};

    fn spec(heads: u32, zones: u32) -> MechanicsSpec {
        MechanicsSpec {
            rpm: Some(7200.0),
            rotation_ms: None,
            heads,
            head_switch_ms: 0.5,
            write_settle_ms: 0.1,
            seek: SeekSpec::ThreePoint { single_cylinder_ms: 0.25, average_ms: 8.2, full_stroke_ms: 16.0 },
            layout: LayoutSpec::CylinderMajor {},
            recording: RecordingSpec::Linear { outer_sectors_per_track: 512, inner_sectors_per_track: 256, zones },
        }
    }

    /// Sectors of a zone.
    const ZONE: u64 = 8192;
    const REALMS: u64 = 40;
    const FIXED: u64 = 3;

    /// 3 zones beside 40 realms of 2 wide zones or 3 narrow ones.
    fn disk() -> Mechanics {
        let wide_sectors = (FIXED + 2 * REALMS) * ZONE;
        let domains = Domains { fixed_sectors: FIXED * ZONE, wide_sectors, density: Density::new(2, 3) };
        spec(2, 8).build_hybrid(&domains).unwrap()
    }

    /// Where the two spans of a realm begin.
    fn spans(realm: u64) -> [u64; 2] {
        [(FIXED + 2 * realm) * ZONE, (FIXED + 2 * REALMS + 3 * realm) * ZONE]
    }

    #[test]
    fn both_spans_of_a_realm_lie_at_the_same_place() {
        let disk = disk();
        assert_eq!(disk.sectors(), (FIXED + 5 * REALMS) * ZONE);
        let mut last = 0;
        for realm in 0..REALMS {
            let [wide, narrow] = spans(realm);
            for share in 0..8 {
                let [wide, narrow] = [wide + share * ZONE / 4, narrow + share * ZONE * 3 / 8].map(|at| disk.locate(at));
                assert!(wide.cylinder.abs_diff(narrow.cylinder) <= 2, "realm {realm}: {wide:?}, {narrow:?}");
                assert_eq!(wide.sectors_per_track, narrow.sectors_per_track, "realm {realm}");
                assert!(wide.cylinder >= last, "inwards");
                last = wide.cylinder;
            }
        }
        assert!(last < disk.cylinders() && last > disk.cylinders() * 9 / 10, "{last} of {}", disk.cylinders());
    }

    /// How long a transfer of `sectors` sectors takes once it has begun, in ns.
    fn transfer(disk: &mut Mechanics, first: u64, sectors: u64) -> u64 {
        let begin = disk.access(0, first, 1, true);
        disk.access(begin, first + 1, sectors - 1, true) - begin
    }

    #[test]
    fn a_realm_is_as_fast_in_either_domain_and_faster_at_the_outer_edge() {
        let mut disk = disk();
        let mut times = Vec::new();
        for realm in [0, 1, 7, 20, 38] {
            let [wide, narrow] = spans(realm).map(|first| transfer(&mut disk, first, 2 * ZONE) as f64);
            assert!((wide / narrow - 1.0).abs() < 0.02, "realm {realm}: {wide} and {narrow} ns");
            times.push(wide);
        }
        assert!(times.is_sorted() && times[4] > 1.9 * times[0], "{times:?}");
    }

    #[test]
    fn a_seek_between_the_domains_is_as_long_as_the_way() {
        let mut disk = disk();
        let mut way = |from: u64, to: u64| {
            disk.access(0, from, 1, false);
            let before = disk.travelled();
            disk.access(0, to, 1, false);
            disk.travelled() - before
        };
        let [outer, inner] = [spans(0), spans(REALMS - 1)];
        assert!(way(outer[0], outer[1]) <= 2 && way(inner[1], inner[0]) <= 2);
        let (between, within) = (way(outer[0], inner[1]), way(outer[0], inner[0]));
        assert!(within > 100 && between.abs_diff(within) <= 4, "{between} and {within} cylinders");
    }

    #[test]
    fn long_transfers_come_near_their_bound_and_lose_no_turn_on_their_way() {
        let mut disk = disk();
        let bounds = disk.bounds(8).unwrap();
        let [wide, narrow] = spans(REALMS - 2);
        for first in [wide, narrow] {
            let took = transfer(&mut disk, first, 4 * ZONE) as f64;
            let bound = (bounds.block_ns * ZONE / 2) as f64;
            assert!(took <= bound && took > 0.97 * bound, "{took} ns of {bound}");
        }
        let begins = |sector: &u64| disk.locate(*sector).sectors_per_track != disk.locate(sector - 1).sectors_per_track;
        let seams: Vec<_> = (1..disk.sectors()).filter(begins).collect();
        assert_eq!(seams.len(), 15, "7 in each domain, and 1 between them");
        for seam in seams.into_iter().filter(|seam| *seam != spans(0)[1]) {
            let took = transfer(&mut disk, seam - 1, 2);
            assert!(took < bounds.turn_ns / 4, "{took} ns for the sector behind {seam}");
        }
    }

    #[test]
    fn another_order_of_tracks_is_refused() {
        let domains = Domains { fixed_sectors: 8, wide_sectors: 80, density: Density::new(2, 4) };
        assert_eq!(domains.density, Density::new(1, 2));
        let refused = |change: fn(&mut MechanicsSpec)| {
            let mut spec = spec(2, 1);
            change(&mut spec);
            spec.build_hybrid(&domains).unwrap_err()
        };
        assert_eq!(refused(|s| s.layout = LayoutSpec::Interlaced {}).field, "layout.kind");
        let listed = refused(|s| s.recording = RecordingSpec::Listed { zones: vec![] });
        assert!(listed.field == "recording.kind" && listed.remedy.contains("linear"));
        assert!(spec(2, 1).build(80).unwrap().bounds(8).is_none());
    }

    proptest! {
        /// No access takes longer than the bounds say, wherever the head is and whatever the shape of the disk.
        #[test]
        fn bounds_hold(
            (heads, zones, wide, more) in (1u32..5, 1u32..9, 1u32..4, 1u32..4),
            accesses in prop::collection::vec((0u64..1 << 20, 0.0..1.0f64, 1u64..200_000, any::<bool>()), 1..40),
        ) {
            let density = Density::new(wide, wide + more);
            let (fixed_sectors, realms) = (2 * 512, 50);
            let domains = Domains { fixed_sectors, wide_sectors: fixed_sectors + realms * u64::from(wide) * 512, density };
            let mut disk = spec(heads, zones).build_hybrid(&domains).unwrap();
            let bounds = disk.bounds(1).unwrap();
            let mut now = 0;
            for (idle, share, length, write) in accesses {
                let first = (share * disk.sectors() as f64) as u64;
                let domain = if first < domains.wide_sectors { domains.wide_sectors } else { disk.sectors() };
                let sectors = length.min(domain - first);
                now += idle;
                let done = disk.access(now, first, sectors, write);
                let bound = bounds.positioning_ns + sectors * bounds.block_ns;
                prop_assert!(done - now <= bound, "{} of {bound} ns for {sectors} at {first}", done - now);
                now = done;
            }
        }
    }
}
