//! Recording zones of a drive that is described by its two edges and its capacity.

use super::hybrid::Density;
use super::seek::SeekCurve;
use super::surface::{MAX_CYLINDERS, MAX_SECTORS_PER_TRACK, MAX_ZONES, check_layout};
use super::{GeometryError, LayoutSpec, MechanicsSpec, RecordingZone, SeekSpec};

/// A linear recording, see [`super::RecordingSpec::Linear`].
pub(super) struct Linear {
    /// Sectors per track of the outermost recording zone.
    pub(super) outer: u32,
    /// Sectors per track of the innermost recording zone.
    pub(super) inner: u32,
    /// How many recording zones.
    pub(super) zones: u32,
    /// How much narrower the tracks are by which seeks count, and of which each recording zone has a whole number.
    pub(super) density: Density,
}

impl Linear {
    /// The layout and the recording zones of drive `spec` with at least `sectors` sectors.
    pub(super) fn lay_out(
        &self,
        spec: &MechanicsSpec,
        rotation_ms: f64,
        sectors: u64,
    ) -> Result<(LayoutSpec, Vec<RecordingZone>), GeometryError> {
        check_layout(&spec.layout, spec.heads)?;
        self.check()?;
        let cylinders = self.cylinders(spec.heads, sectors)?;
        let zones = self.zones.min(cylinders);
        let (layout, unit) = shrunken(&spec.layout, cylinders / zones);
        let unit = unit * self.density.wide;
        let skews = Skews::new(spec, rotation_ms, self.step_ns(&spec.seek, cylinders)?);
        let units = u64::from(cylinders.div_ceil(unit));
        let share = |i: u32| (u64::from(i) * units / u64::from(zones)) as u32;
        let zone = |i: u32| {
            let sectors_per_track = self.per_track(i, zones);
            let (track_skew_sectors, cylinder_skew_sectors) = skews.sectors(sectors_per_track);
            let (first_cylinder, cylinders) = (share(i) * unit, (share(i + 1) - share(i)) * unit);
            RecordingZone { first_cylinder, cylinders, sectors_per_track, track_skew_sectors, cylinder_skew_sectors }
        };
        let mut list: Vec<_> = (0..zones).map(zone).filter(|zone| zone.cylinders > 0).collect();
        top_up(&mut list, spec.heads, unit, sectors);
        Ok((layout, list))
    }

    fn check(&self) -> Result<(), GeometryError> {
        let Self { outer, inner, zones, .. } = *self;
        let remedy = "give sectors per track between 1 and 32768, outer not below inner";
        let holds = (1..=MAX_SECTORS_PER_TRACK).contains(&outer);
        GeometryError::check("recording.outer_sectors_per_track", holds, outer, remedy)?;
        GeometryError::check("recording.inner_sectors_per_track", (1..=outer).contains(&inner), inner, remedy)?;
        let remedy = "give between 1 and 65535 recording zones";
        GeometryError::check("recording.zones", (1..=MAX_ZONES).contains(&zones), zones, remedy)
    }

    /// How many cylinders hold `sectors` sectors, at the mean of the two edges.
    fn cylinders(&self, heads: u32, sectors: u64) -> Result<u32, GeometryError> {
        let per_cylinder = u64::from(heads) * u64::from(self.outer).midpoint(u64::from(self.inner));
        let cylinders = sectors.div_ceil(per_cylinder);
        let remedy = "describe a smaller drive, or one with more heads or more sectors per track";
        match u32::try_from(cylinders) {
            Ok(cylinders) if cylinders < MAX_CYLINDERS => Ok(cylinders),
            _ => Err(GeometryError::new("capacity", format!("{cylinders} cylinders are too many"), remedy)),
        }
    }

    /// The time for a step to the next cylinder on a drive of about `cylinders` cylinders.
    fn step_ns(&self, seek: &SeekSpec, cylinders: u32) -> Result<u64, GeometryError> {
        let step = self.density.step();
        // The time for one cylinder is the same on drives of any size; more take longer where there are fewer.
        let among = if step == 1 { 1 } else { cylinders.max(step) };
        let curve = SeekCurve::new(seek, among)?;
        Ok((1..=step).map(|distance| curve.ns(distance)).fold(0, u64::max))
    }

    /// Sectors per track of recording zone `i` of `zones`.
    fn per_track(&self, i: u32, zones: u32) -> u32 {
        let fall = u64::from(self.outer - self.inner) * u64::from(i) / u64::from(zones - 1).max(1);
        self.outer - fall as u32
    }
}

/// The layout for recording zones of about `cylinders` cylinders, and the cylinders it hands out at a time.
///
/// A small drive has small sections, so that its recording zones keep the proportions of the large one.
fn shrunken(layout: &LayoutSpec, cylinders: u32) -> (LayoutSpec, u32) {
    let mut layout = layout.clone();
    let LayoutSpec::Serpentine { group_cylinders, section_tracks, .. } = &mut layout else { return (layout, 1) };
    let passes = *group_cylinders / *section_tracks;
    let groups = cylinders.div_ceil(*group_cylinders).max(1);
    *section_tracks = (cylinders / (groups * passes)).max(1);
    *group_cylinders = passes * *section_tracks;
    let unit = *group_cylinders;
    (layout, unit)
}

/// Lengthens the innermost recording zone until there are `sectors` sectors: the mean of the edges is that of all
/// cylinders only if recording zones are of one size.
fn top_up(list: &mut [RecordingZone], heads: u32, unit: u32, sectors: u64) {
    let per_cylinder = |zone: &RecordingZone| u64::from(heads) * u64::from(zone.sectors_per_track);
    let have: u64 = list.iter().map(|zone| u64::from(zone.cylinders) * per_cylinder(zone)).sum();
    if let Some(last) = list.last_mut() {
        let cylinders = sectors.saturating_sub(have).div_ceil(per_cylinder(last));
        // At most one unit of the outermost tracks is missing: below 2²⁶ cylinders even of the sparsest.
        last.cylinders += cylinders.next_multiple_of(u64::from(unit)) as u32;
    }
}

/// The shortest skews of a cylinder-major layout, as fractions of a turn; a serpentine layout has its own.
struct Skews {
    track: f64,
    cylinder: f64,
}

impl Skews {
    fn new(spec: &MechanicsSpec, rotation_ms: f64, step_ns: u64) -> Self {
        if !matches!(spec.layout, LayoutSpec::CylinderMajor {}) {
            return Self { track: 0.0, cylinder: 0.0 };
        }
        let step_ms = step_ns as f64 / 1e6;
        let skew = |moved_ms: f64| (moved_ms + spec.write_settle_ms) / rotation_ms;
        Self { track: skew(spec.head_switch_ms), cylinder: skew(step_ms.max(spec.head_switch_ms)) }
    }

    /// Track and cylinder skew in whole sectors.
    fn sectors(&self, per_track: u32) -> (u32, u32) {
        let whole = |turns: f64| (turns * f64::from(per_track)).ceil() as u32;
        (whole(self.track), whole(self.cylinder))
    }
}
