//! Zone-bit recording: where on the platters a sector lies.

use std::sync::Arc;

use super::reciprocal::{MAX_DIVIDEND, Reciprocal};
use super::spec::RecordingZone;
use super::spindle::{Angle, angle_of};
use super::{GeometryError, LayoutSpec};

/// Where a sector lies.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// Cylinder, 0 outermost.
    pub cylinder: u32,
    /// Head, that is, the surface.
    pub head: u32,
    /// Sector of the track.
    pub sector: u32,
    /// Sectors of the track.
    pub sectors_per_track: u32,
    /// Where the sector begins, as a fraction of a turn in units of 2⁻⁶⁴.
    pub angle: Angle,
    /// The arc of one sector.
    pub(super) sector_angle: Angle,
}

/// All surfaces of a drive: recording zones from the outermost inwards, and the order of their tracks.
#[derive(Clone, Debug)]
pub(super) struct Surface {
    recordings: Arc<[Recording]>,
    /// The first recording zone that has sectors at or after `i << shift`.
    index: Arc<[u16]>,
    shift: u32,
    order: Order,
    sectors: u64,
    cylinders: u32,
}

/// A recording zone: neighbouring cylinders with the same number of sectors per track.
#[derive(Copy, Clone, Debug)]
struct Recording {
    first_sector: u64,
    end_sector: u64,
    first_cylinder: u32,
    /// Where its first track begins.
    first_angle: Angle,
    sectors_per_track: u32,
    by: Divisors,
    sector_angle: Angle,
    /// Skew per head, in cylinder-major order.
    head_angle: Angle,
    /// Skew per cylinder, in cylinder-major order.
    cylinder_angle: Angle,
}

/// What sectors of a recording zone are divided by: as many as lie in a track, a section of tracks, a pass over all
/// heads, and a group of passes. Each quotient is taken of the sector, not of another quotient: they do not wait for each
/// other.
#[derive(Copy, Clone, Debug)]
struct Divisors {
    track: Reciprocal,
    section: Reciprocal,
    pass: Reciprocal,
    group: Reciprocal,
}

/// The order in which tracks follow each other inside a recording zone.
#[derive(Copy, Clone, Debug)]
enum Order {
    /// All tracks of a cylinder, then the next cylinder.
    CylinderMajor { heads: u32 },
    /// Sections of `section` tracks on one surface, alternately inwards and outwards, and `passes` passes over all
    /// heads to a group; see [`LayoutSpec::Serpentine`].
    Serpentine { heads: u32, section: u32, passes: u32, track_skew: Angle, group_skew: Angle },
}

/// Where the first track of a recording zone begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Seams {
    /// At the index mark: passing from one recording zone to the next may cost a turn.
    Index,
    /// Later than the last track of the zone before it by the skew from one cylinder of that zone to the next. In
    /// cylinder-major order only.
    Skewed,
}

/// At most this many entries index the recording zones: 2 KiB, so that the index stays in the first-level cache.
const INDEX_ENTRIES: u64 = 1024;

impl Surface {
    /// The surfaces of `heads` heads with these recording zones, outermost first.
    pub(super) fn new(
        layout: &LayoutSpec,
        heads: u32,
        zones: &[RecordingZone],
        seams: Seams,
    ) -> Result<Self, GeometryError> {
        let order = Order::new(layout, heads)?;
        let mut recordings = Vec::with_capacity(zones.len());
        let (mut first_sector, mut first_free, mut first_angle) = (0, 0, 0);
        for zone in zones {
            let recording = Recording { first_angle, ..Recording::new(zone, &order, first_sector, first_free)? };
            order.check(zone)?;
            if seams == Seams::Skewed {
                let turned = recording.cylinder_angle.wrapping_mul(zone.cylinders.into());
                first_angle = recording.first_angle.wrapping_add(turned);
            }
            first_sector = recording.end_sector;
            first_free = zone.first_cylinder + zone.cylinders;
            recordings.push(recording);
        }
        GeometryError::check(
            "recording.zones",
            !recordings.is_empty() && recordings.len() <= MAX_ZONES as usize,
            recordings.len(),
            "give between 1 and 65535 recording zones",
        )?;
        let (shift, index) = index(&recordings, first_sector);
        let cylinders = first_free;
        Ok(Self { recordings: recordings.into(), index, shift, order, sectors: first_sector, cylinders })
    }

    /// How many sectors there are.
    #[inline]
    pub(super) const fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How many cylinders there are, unused ones between recording zones included.
    pub(super) const fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Where sector `sector`, which is below [`Surface::sectors`], lies.
    #[inline(always)]
    pub(super) fn locate(&self, sector: u64) -> Location {
        let mut at = usize::from(self.index[(sector >> self.shift) as usize]);
        while self.recordings[at].end_sector <= sector {
            at += 1;
        }
        let zone = &self.recordings[at];
        let number = sector - zone.first_sector;
        let (track, sector) = zone.by.track.divide(number);
        let (cylinder, head, track_angle) = self.order.track(number, track, zone);
        Location {
            cylinder,
            head,
            sector: sector as u32, // below sectors_per_track
            sectors_per_track: zone.sectors_per_track,
            angle: zone.first_angle.wrapping_add(track_angle).wrapping_add(sector * zone.sector_angle),
            sector_angle: zone.sector_angle,
        }
    }
}

/// The index of recording zones by sector number, and how far to shift a sector number to use it.
fn index(recordings: &[Recording], sectors: u64) -> (u32, Arc<[u16]>) {
    let mut shift = 0;
    while (sectors - 1) >> shift >= INDEX_ENTRIES {
        shift += 1;
    }
    let mut at = 0;
    let index = (0..=(sectors - 1) >> shift).map(|i| {
        while recordings[at].end_sector <= i << shift {
            at += 1;
        }
        at as u16 // below MAX_ZONES
    });
    (shift, index.collect())
}

impl Recording {
    fn new(zone: &RecordingZone, order: &Order, first_sector: u64, first_free: u32) -> Result<Self, GeometryError> {
        let (per_track, heads) = (zone.sectors_per_track, order.heads());
        GeometryError::check(
            "recording.zones.first_cylinder",
            zone.first_cylinder >= first_free,
            zone.first_cylinder,
            "list recording zones from the outside inwards, without overlap",
        )?;
        GeometryError::check(
            "recording.zones.cylinders",
            zone.cylinders >= 1 && zone.cylinders < MAX_CYLINDERS && zone.first_cylinder < MAX_CYLINDERS,
            zone.cylinders,
            "give between 1 and 16 million cylinders",
        )?;
        GeometryError::check(
            "recording.zones.sectors_per_track",
            (1..=MAX_SECTORS_PER_TRACK).contains(&per_track),
            per_track,
            "give between 1 and 32768 sectors per track",
        )?;
        // Below 2⁶⁰: cylinders, heads and sectors per track have just been bounded.
        let sectors = u64::from(zone.cylinders) * u64::from(heads) * u64::from(per_track);
        let end_sector = first_sector + sectors;
        let remedy = "describe a smaller drive: up to 2 PB are modelled";
        GeometryError::check("recording.zones", end_sector < MAX_DIVIDEND, end_sector, remedy)?;
        // One sector less than the quotient of a turn would do as well: what is lost is below 2⁻⁴⁹ of a turn.
        let sector_angle = u64::MAX / u64::from(per_track);
        let skew = |sectors: u32| sector_angle.wrapping_mul(u64::from(sectors));
        Ok(Self {
            first_sector,
            end_sector,
            first_cylinder: zone.first_cylinder,
            first_angle: 0,
            sectors_per_track: per_track,
            by: order.divisors(per_track),
            sector_angle,
            head_angle: skew(zone.track_skew_sectors),
            cylinder_angle: skew(zone.track_skew_sectors)
                .wrapping_mul(u64::from(heads - 1))
                .wrapping_add(skew(zone.cylinder_skew_sectors)),
        })
    }
}

/// The most recording zones: what the index can tell apart.
pub(super) const MAX_ZONES: u32 = u16::MAX as u32;
/// Cylinder numbers lie below twice this.
pub(super) const MAX_CYLINDERS: u32 = 1 << 24;
/// The densest track: at 60 000 rpm its sectors take 30 ns, still longer than the spindle's slack.
pub(super) const MAX_SECTORS_PER_TRACK: u32 = 1 << 15;
/// More heads than any drive has.
const MAX_HEADS: u32 = 1024;
/// The most cylinders of a group.
const MAX_GROUP_CYLINDERS: u32 = 1024;

/// Whether a drive can have this number of heads.
pub(super) fn check_heads(heads: u32) -> Result<(), GeometryError> {
    GeometryError::check("heads", (1..=MAX_HEADS).contains(&heads), heads, "give between 1 and 1024 heads")
}

/// Whether tracks can be ordered like this.
pub(super) fn check_layout(layout: &LayoutSpec, heads: u32) -> Result<(), GeometryError> {
    Order::new(layout, heads).map(drop)
}

impl Order {
    fn new(layout: &LayoutSpec, heads: u32) -> Result<Self, GeometryError> {
        check_heads(heads)?;
        match *layout {
            LayoutSpec::Interlaced {} => Err(GeometryError::new(
                "layout.kind",
                "interlaced is the order of interlaced tracks only".into(),
                "give recording and media of kind interlaced too, or another layout",
            )),
            LayoutSpec::CylinderMajor {} => Ok(Self::CylinderMajor { heads }),
            LayoutSpec::Serpentine { group_cylinders, section_tracks, track_skew_rev, group_skew_rev } => {
                for (field, rev) in
                    [("layout.track_skew_rev", track_skew_rev), ("layout.group_skew_rev", group_skew_rev)]
                {
                    let remedy = "give a fraction of a turn from 0 up to 1";
                    GeometryError::check(field, (0.0..1.0).contains(&rev), rev, remedy)?;
                }
                let passes = group_cylinders.checked_div(section_tracks).unwrap_or(0);
                GeometryError::check(
                    "layout.group_cylinders",
                    passes >= 1
                        && group_cylinders.is_multiple_of(section_tracks)
                        && group_cylinders <= MAX_GROUP_CYLINDERS,
                    group_cylinders,
                    "give a multiple of section_tracks, at most 1024",
                )?;
                Ok(Self::Serpentine {
                    heads,
                    section: section_tracks,
                    passes,
                    track_skew: angle_of(track_skew_rev),
                    group_skew: angle_of(group_skew_rev),
                })
            }
        }
    }

    /// Whether a recording zone can be laid out in this order.
    fn check(&self, zone: &RecordingZone) -> Result<(), GeometryError> {
        let Self::Serpentine { section, passes, .. } = self else { return Ok(()) };
        let group = passes * section;
        GeometryError::check(
            "recording.zones.cylinders",
            zone.cylinders.is_multiple_of(group),
            zone.cylinders,
            "give a multiple of layout.group_cylinders",
        )?;
        GeometryError::check(
            "recording.zones.track_skew_sectors",
            zone.track_skew_sectors == 0 && zone.cylinder_skew_sectors == 0,
            zone.track_skew_sectors,
            "a serpentine layout is skewed by layout.track_skew_rev and layout.group_skew_rev; leave out skews in sectors",
        )
    }

    fn heads(&self) -> u32 {
        match *self {
            Self::CylinderMajor { heads } | Self::Serpentine { heads, .. } => heads,
        }
    }

    /// What the sectors of a recording zone with `per_track` to a track are divided by. A cylinder is a pass over all
    /// heads.
    fn divisors(&self, per_track: u32) -> Divisors {
        // At most 2⁴⁵: of more than there can be, the quotient is 0 as well.
        let of = |tracks: u32| Reciprocal::new((u64::from(per_track) * u64::from(tracks)).min(MAX_DIVIDEND));
        let (section, pass, group) = match *self {
            Self::CylinderMajor { heads } => (1, heads, heads),
            Self::Serpentine { heads, section, passes, .. } => (section, section * heads, section * heads * passes),
        };
        Divisors { track: of(1), section: of(section), pass: of(pass), group: of(group) }
    }

    /// Cylinder, head and start angle of a recording zone's track `track`, in which sector `number` of the zone lies.
    #[inline(always)]
    fn track(&self, number: u64, track: u64, zone: &Recording) -> (u32, u32, Angle) {
        match *self {
            Self::CylinderMajor { heads } => {
                let cylinder = zone.by.pass.quotient(number);
                let head = track - cylinder * u64::from(heads);
                let angle = head.wrapping_mul(zone.head_angle).wrapping_add(cylinder.wrapping_mul(zone.cylinder_angle));
                (zone.first_cylinder + cylinder as u32, head as u32, angle)
            }
            Self::Serpentine { heads, section, passes, track_skew, group_skew } => {
                let (sections, group) = (zone.by.section.quotient(number), zone.by.group.quotient(number));
                let all_passes = zone.by.pass.quotient(number);
                let i = (track - sections * u64::from(section)) as u32;
                // A group is passed over once or more; each pass visits every head, in turn upwards and downwards.
                let step = (sections - all_passes * u64::from(heads)) as u32;
                let pass = (all_passes - group * u64::from(passes)) as u32;
                let head = if pass.is_multiple_of(2) { step } else { heads - 1 - step };
                let is_inwards = (pass * heads + step).is_multiple_of(2);
                let offset = if is_inwards { i } else { section - 1 - i };
                let angle = group.wrapping_mul(group_skew).wrapping_add(u64::from(i).wrapping_mul(track_skew));
                (zone.first_cylinder + all_passes as u32 * section + offset, head, angle)
            }
        }
    }
}
