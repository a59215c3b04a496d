//! The description of a drive's mechanics, as drive presets write it.

use serde::{Deserialize, Serialize};

use super::seek::SeekCurve;
use super::spindle::Spindle;
use super::surface::{MAX_CYLINDERS, MAX_SECTORS_PER_TRACK, MAX_ZONES, Surface, check_layout};
use super::{GeometryError, Mechanics};

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
    /// shorter than a head switch. A *section* is `section_tracks` tracks of one surface; the next section lies under the
    /// next head and runs back. Once every head had its section, the next ones return head by head over the cylinders
    /// that follow, until `group_cylinders` are full; then the next group begins at head 0.
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
    /// many cylinders as the capacity needs. In cylinder-major order the skews are the smallest that cover a head switch
    /// and a seek of one cylinder, each with the settling of a write.
    Linear {
        /// Sectors per track of the outermost recording zone.
        outer_sectors_per_track: u32,
        /// Sectors per track of the innermost recording zone.
        inner_sectors_per_track: u32,
        /// How many recording zones, if there are enough cylinders.
        zones: u32,
    },
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

const TOO_LARGE: &str = "needs more than 16 million cylinders";

impl MechanicsSpec {
    /// The mechanics this describes, with at least `sectors` sectors. A linear recording gets just as many cylinders
    /// as that needs; a listed one has what is listed.
    ///
    /// # Errors
    /// When the numbers describe no drive, or one that is too small.
    pub fn build(&self, sectors: u64) -> Result<Mechanics, GeometryError> {
        GeometryError::check("capacity", sectors >= 1, sectors, "give the drive at least one block")?;
        let rotation_ms = self.checked_rotation_ms()?;
        for (field, ms) in [("head_switch_ms", self.head_switch_ms), ("write_settle_ms", self.write_settle_ms)] {
            GeometryError::check(field, (0.0..=1000.0).contains(&ms), ms, "give a time between 0 and 1000 ms")?;
        }
        let surface = match &self.recording {
            RecordingSpec::Listed { zones } => Surface::new(&self.layout, self.heads, zones)?,
            RecordingSpec::Linear { .. } => {
                let (layout, zones) = self.linear(rotation_ms, sectors)?;
                Surface::new(&layout, self.heads, &zones)?
            }
        };
        GeometryError::check(
            "recording",
            surface.sectors() >= sectors,
            format!("{} sectors for a drive of {sectors}", surface.sectors()),
            "list more cylinders or lower the capacity",
        )?;
        let seek = SeekCurve::new(&self.seek, surface.cylinders())?;
        let spindle = Spindle::new(rotation_ms);
        Ok(Mechanics::new(surface, seek, spindle, self.head_switch_ms, self.write_settle_ms))
    }

    /// Duration of a turn in ms, from whichever of the two fields is given.
    fn checked_rotation_ms(&self) -> Result<f64, GeometryError> {
        let (field, ms) = match (self.rpm, self.rotation_ms) {
            (Some(rpm), None) => ("rpm", 60_000.0 / rpm),
            (None, Some(ms)) => ("rotation_ms", ms),
            _ => return Err(GeometryError::new("rpm", "is not the only speed".into(), "give rpm or rotation_ms")),
        };
        let remedy = "give a speed between 60 and 60000 turns per minute";
        GeometryError::check(field, Spindle::ROTATION_MS.contains(&ms), format!("{ms} ms per turn"), remedy)?;
        Ok(ms)
    }

    /// The layout and the recording zones of a linear recording with `sectors` sectors.
    fn linear(&self, rotation_ms: f64, sectors: u64) -> Result<(LayoutSpec, Vec<RecordingZone>), GeometryError> {
        let RecordingSpec::Linear { outer_sectors_per_track: outer, inner_sectors_per_track: inner, zones } =
            self.recording
        else {
            return Err(GeometryError::new("recording.kind", "is not linear".into(), "list the recording zones"));
        };
        check_layout(&self.layout, self.heads)?;
        let remedy = "give sectors per track between 1 and 32768, outer not below inner";
        GeometryError::check(
            "recording.inner_sectors_per_track",
            (1..=outer.min(MAX_SECTORS_PER_TRACK)).contains(&inner),
            inner,
            remedy,
        )?;
        let per_cylinder = |per_track: u32| u64::from(self.heads) * u64::from(per_track);
        let cylinders = sectors.div_ceil(per_cylinder(outer).midpoint(per_cylinder(inner)));
        let remedy = "describe a smaller drive, or one with more heads or more sectors per track";
        let cylinders = u32::try_from(cylinders).ok().filter(|&c| c < MAX_CYLINDERS);
        let cylinders = cylinders.ok_or_else(|| GeometryError::new("capacity", TOO_LARGE.into(), remedy))?;
        let remedy = "give between 1 and 65535 recording zones";
        GeometryError::check("recording.zones", (1..=MAX_ZONES).contains(&zones), zones, remedy)?;
        let zones = zones.min(cylinders);
        let (layout, unit) = self.shrunken_layout(cylinders / zones);
        let units = cylinders.div_ceil(unit);
        let skew = |ms: f64, per_track: u32| (ms / rotation_ms * f64::from(per_track)).ceil() as u32;
        // One cylinder's seek is the only one asked for, and it does not depend on the cylinder count.
        let step_ms = SeekCurve::new(&self.seek, 1)?.ns(1) as f64 / 1e6;
        let cylinder_major = matches!(layout, LayoutSpec::CylinderMajor {});
        let mut list: Vec<RecordingZone> = Vec::with_capacity(zones as usize);
        for i in 0..u64::from(zones) {
            let share = |n: u64| (n * u64::from(units) / u64::from(zones)) as u32;
            let fall = u64::from(outer - inner) * i / u64::from(zones - 1).max(1);
            let per_track = outer - fall as u32;
            let skews = if cylinder_major { per_track } else { 0 };
            list.push(RecordingZone {
                first_cylinder: share(i) * unit,
                cylinders: (share(i + 1) - share(i)) * unit,
                sectors_per_track: per_track,
                track_skew_sectors: skew(self.head_switch_ms + self.write_settle_ms, skews),
                cylinder_skew_sectors: skew(step_ms.max(self.head_switch_ms) + self.write_settle_ms, skews),
            });
        }
        // The mean is exact only for zones of the same size; the innermost takes what the rounding left out.
        list.retain(|zone| zone.cylinders > 0);
        let have: u64 = list.iter().map(|z| u64::from(z.cylinders) * per_cylinder(z.sectors_per_track)).sum();
        if let Some(last) = list.last_mut() {
            let missing = sectors.saturating_sub(have).div_ceil(per_cylinder(last.sectors_per_track));
            let units = missing.div_ceil(u64::from(unit));
            // At most one unit of the outermost tracks is missing: below 2²⁶ cylinders even of the sparsest.
            last.cylinders += units as u32 * unit;
        }
        Ok((layout, list))
    }

    /// The layout for recording zones of about `cylinders` cylinders, and the cylinders it hands out at a time.
    ///
    /// A small drive has small sections, so that its recording zones keep the proportions of the large one.
    fn shrunken_layout(&self, cylinders: u32) -> (LayoutSpec, u32) {
        let mut layout = self.layout.clone();
        let LayoutSpec::Serpentine { group_cylinders, section_tracks, .. } = &mut layout else { return (layout, 1) };
        let passes = *group_cylinders / *section_tracks;
        let groups = cylinders.div_ceil(*group_cylinders).max(1);
        *section_tracks = (cylinders / (groups * passes)).max(1);
        *group_cylinders = passes * *section_tracks;
        let unit = *group_cylinders;
        (layout, unit)
    }

    /// The same drive with `numerator/denominator` of the cylinders: rates, head count and skews stay. A linear
    /// recording needs no change, since it follows the capacity.
    #[must_use]
    pub(crate) fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        let mut scaled = self.clone();
        let unit = match self.layout {
            LayoutSpec::CylinderMajor {} => 1,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(layout: LayoutSpec) -> MechanicsSpec {
        MechanicsSpec {
            rpm: Some(7200.0),
            rotation_ms: None,
            heads: 4,
            head_switch_ms: 0.3,
            write_settle_ms: 0.1,
            seek: SeekSpec::ThreePoint { single_cylinder_ms: 0.5, average_ms: 8.0, full_stroke_ms: 16.0 },
            layout,
            recording: RecordingSpec::Linear { outer_sectors_per_track: 1000, inner_sectors_per_track: 500, zones: 11 },
        }
    }

    #[test]
    fn a_linear_recording_follows_the_capacity() {
        let serpentine = LayoutSpec::Serpentine {
            group_cylinders: 64,
            section_tracks: 32,
            track_skew_rev: 0.1,
            group_skew_rev: 0.2,
        };
        for layout in [LayoutSpec::CylinderMajor {}, serpentine] {
            for sectors in [1, 999, 100_000, 1_000_000, 50_000_000, 7_000_000_000] {
                let drive = spec(layout.clone()).build(sectors).unwrap();
                assert!(drive.sectors() >= sectors);
                if sectors >= 1_000_000 {
                    let excess = drive.sectors() - sectors;
                    assert!(excess * 10 < sectors, "{layout:?}: {excess} sectors above {sectors}");
                    assert_eq!(drive.locate(0).sectors_per_track, 1000);
                    assert_eq!(drive.locate(sectors - 1).sectors_per_track, 500);
                }
            }
        }
    }

    #[test]
    fn impossible_geometry_names_the_field() {
        let good = spec(LayoutSpec::CylinderMajor {});
        let field = |change: fn(&mut MechanicsSpec)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.build(1000).unwrap_err().field
        };
        assert_eq!(field(|s| s.rpm = Some(0.0)), "rpm");
        assert_eq!(field(|s| s.rotation_ms = Some(8.0)), "rpm");
        assert_eq!(field(|s| s.heads = 0), "heads");
        assert_eq!(field(|s| s.head_switch_ms = f64::NAN), "head_switch_ms");
        let empty = RecordingSpec::Listed { zones: vec![] };
        assert_eq!(MechanicsSpec { recording: empty, ..good.clone() }.build(1).unwrap_err().field, "recording.zones");
        let (sections, skew) = (7, 0.0);
        let layout = LayoutSpec::Serpentine {
            group_cylinders: 16,
            section_tracks: sections,
            track_skew_rev: skew,
            group_skew_rev: skew,
        };
        let one = RecordingZone {
            first_cylinder: 0,
            cylinders: 16,
            sectors_per_track: 9,
            track_skew_sectors: 0,
            cylinder_skew_sectors: 0,
        };
        let listed = MechanicsSpec { layout, recording: RecordingSpec::Listed { zones: vec![one] }, ..good.clone() };
        assert_eq!(listed.build(1).unwrap_err().field, "layout.group_cylinders");
        assert_eq!(good.build(u64::MAX).unwrap_err().field, "capacity");
    }
}
