//! The description of a drive's mechanics, as drive presets write it.

use serde::{Deserialize, Serialize};

/// Speeds and geometry of a disk drive. Times are in ms, arcs in turns, sectors are 512 bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanicsSpec {
    /// Turns per minute; this or `rotation_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpm: Option<f64>,
    /// Duration of a turn; this or `rpm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation_ms: Option<f64>,
    /// Heads, that is, surfaces.
    pub heads: u32,
    /// Time until another head reads. It overlaps the seek: the longer of the two counts.
    pub head_switch_ms: f64,
    /// What a write waits longer than a read after a seek or a head switch, until the head is steady.
    #[serde(default)]
    pub write_settle_ms: f64,
    /// Seek time by distance.
    pub seek: SeekSpec,
    /// The order of the tracks.
    pub layout: LayoutSpec,
    /// The sectors of each track.
    pub recording: RecordingSpec,
}

/// A seek curve.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SeekSpec {
    /// `single + a·√(d−1) + b·(d−1)` through the three numbers of a data sheet. It stretches with the drive: the full
    /// stroke takes as long on a drive with fewer cylinders.
    ThreePoint {
        /// Time for one cylinder.
        single_cylinder_ms: f64,
        /// Mean time between uniformly random positions.
        average_ms: f64,
        /// Time over all cylinders.
        full_stroke_ms: f64,
    },
    /// `short_ms + short_ms_per_root·√d` below the knee, `long_ms + long_ms_per_cylinder·d` from there on.
    RuemmlerWilkes {
        /// The first distance of the second piece.
        knee_cylinders: u32,
        /// Constant of the first piece.
        short_ms: f64,
        /// Slope of the first piece over the root of the distance.
        short_ms_per_root: f64,
        /// Constant of the second piece.
        long_ms: f64,
        /// Slope of the second piece.
        long_ms_per_cylinder: f64,
    },
    /// Measured times, linear in between and extrapolated past the end.
    Table {
        /// Distance and time, by increasing distance from 1 on.
        rows: Vec<(u32, f64)>,
    },
}

/// The order in which tracks follow each other inside a recording zone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayoutSpec {
    /// All tracks of a cylinder, then the next cylinder. The skew is part of the recording zones.
    CylinderMajor {},
    /// Runs of neighbouring tracks on one surface, as drives with narrow tracks prefer: a step to the next track is
    /// shorter than a head switch. A *section* is `section_tracks` tracks of one surface; the next section lies under
    /// the next head and runs back. Once every head had its section, the next ones return head by head over the
    /// cylinders that follow, until `group_cylinders` are full; then the next group begins at head 0.
    Serpentine {
        /// Cylinders of a group, a multiple of `section_tracks`.
        group_cylinders: u32,
        /// Tracks of a section.
        section_tracks: u32,
        /// How much later, in turns, a track of a section begins than the one before it.
        track_skew_rev: f64,
        /// How much later, in turns, a group begins than the one before it.
        group_skew_rev: f64,
    },
    /// The groups of interlaced tracks, each on one surface, the next one under the next head. The skew is part of the
    /// media, since what lies over what depends on it.
    Interlaced {},
}

/// Sectors per track, from the outermost track inwards.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RecordingSpec {
    /// Every recording zone by itself.
    Listed {
        /// The recording zones, outermost first.
        zones: Vec<RecordingZone>,
    },
    /// Recording zones of about the same number of cylinders, with the sectors per track falling linearly. There are as
    /// many cylinders as the capacity needs. In cylinder-major order the skews are the smallest that cover a head
    /// switch and a seek of one cylinder, each with the settling of a write.
    Linear {
        /// Sectors per track of the outermost recording zone.
        outer_sectors_per_track: u32,
        /// Sectors per track of the innermost recording zone.
        inner_sectors_per_track: u32,
        /// How many recording zones, if there are enough cylinders.
        zones: u32,
    },
    /// The tracks are the media's bottom and top tracks.
    Interlaced {},
}

/// Neighbouring cylinders with the same number of sectors per track.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingZone {
    /// The outermost cylinder. Cylinders between two recording zones are unused.
    pub first_cylinder: u32,
    /// How many cylinders.
    pub cylinders: u32,
    /// Sectors per track.
    pub sectors_per_track: u32,
    /// By how many sectors a track begins later than the one before it in the same cylinder.
    #[serde(default)]
    pub track_skew_sectors: u32,
    /// By how many sectors a cylinder begins later than the last track of the one before it.
    #[serde(default)]
    pub cylinder_skew_sectors: u32,
}

impl MechanicsSpec {
    /// This drive with `numerator/denominator` of the cylinders: rates, head count and skews stay. A linear
    /// recording needs no change, since it follows the capacity.
    #[must_use]
    pub(crate) fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        let mut scaled = self.clone();
        let unit = match self.layout {
            LayoutSpec::CylinderMajor {} | LayoutSpec::Interlaced {} => 1,
            LayoutSpec::Serpentine { group_cylinders, .. } => u128::from(group_cylinders.max(1)),
        };
        let RecordingSpec::Listed { zones } = &mut scaled.recording else { return scaled };
        let mut next = 0;
        for zone in zones {
            let exact = u128::from(zone.cylinders) * u128::from(numerator);
            let units = exact.div_ceil(u128::from(denominator) * unit).max(1);
            zone.cylinders = u32::try_from(units * unit).unwrap_or(u32::MAX);
            zone.first_cylinder = next;
            next = next.saturating_add(zone.cylinders);
        }
        scaled
    }
}
