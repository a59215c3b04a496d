//! From the description of a drive to its mechanics.

use super::hybrid::{Density, Domains, HybridSurface};
use super::interlaced::InterlacedSurface;
use super::linear::Linear;
use super::seek::SeekCurve;
use super::spindle::Spindle;
use super::surface::{Seams, Surface};
use super::{GeometryError, LayoutSpec, Mechanics, MechanicsSpec, Platters, RecordingSpec};
use crate::tracks::Tracks;

impl MechanicsSpec {
    /// The mechanics this describes, with at least `sectors` sectors. A linear recording gets just as many cylinders
    /// as that needs; a listed one has what is listed.
    ///
    /// # Errors
    /// When the numbers describe no drive, or one that is too small.
    pub fn build(&self, sectors: u64) -> Result<Mechanics, GeometryError> {
        GeometryError::check("capacity", sectors >= 1, sectors, "give the drive at least one block")?;
        let rotation_ms = self.checked_rotation_ms()?;
        self.check_times()?;
        let surface = match &self.recording {
            RecordingSpec::Listed { zones } => Surface::new(&self.layout, self.heads, zones, Seams::Index)?,
            RecordingSpec::Linear { outer_sectors_per_track, inner_sectors_per_track, zones } => {
                let (outer, inner) = (*outer_sectors_per_track, *inner_sectors_per_track);
                let linear = Linear { outer, inner, zones: *zones, density: Density::EVEN };
                let (layout, zones) = linear.lay_out(self, rotation_ms, sectors)?;
                Surface::new(&layout, self.heads, &zones, Seams::Index)?
            }
            RecordingSpec::Interlaced {} => {
                let problem = "interlaced is the recording of interlaced tracks only".into();
                return Err(GeometryError::new("recording.kind", problem, "give media of kind interlaced too"));
            }
        };
        GeometryError::check(
            "recording",
            surface.sectors() >= sectors,
            format!("{} sectors for a drive of {sectors}", surface.sectors()),
            "list more cylinders or lower the capacity",
        )?;
        self.assemble(Platters::Zoned(surface), rotation_ms)
    }

    /// The mechanics of a drive with these tracks, which have been checked, in blocks of `block_sectors` sectors.
    ///
    /// # Errors
    /// When the numbers describe no drive, or the layout or the recording is another.
    pub fn build_interlaced(&self, tracks: &Tracks, block_sectors: u32) -> Result<Mechanics, GeometryError> {
        let rotation_ms = self.checked_rotation_ms()?;
        self.check_times()?;
        for (field, is) in [
            ("layout.kind", self.layout == LayoutSpec::Interlaced {}),
            ("recording.kind", self.recording == RecordingSpec::Interlaced {}),
        ] {
            GeometryError::check(field, is, "another kind than the media's", "give kind interlaced")?;
        }
        let surface = InterlacedSurface::new(tracks, self.heads, block_sectors)?;
        self.assemble(Platters::Interlaced(Box::new(surface)), rotation_ms)
    }

    /// The mechanics of a hybrid disk of these domains. The tracks of either follow each other in cylinder-major order,
    /// and recording zones are skewed against each other as cylinders are: so no transfer loses a turn on its way.
    ///
    /// # Errors
    /// When the numbers describe no drive, or the layout or the recording is another.
    pub fn build_hybrid(&self, domains: &Domains) -> Result<Mechanics, GeometryError> {
        let rotation_ms = self.checked_rotation_ms()?;
        self.check_times()?;
        let is_plain = self.layout == LayoutSpec::CylinderMajor {};
        let remedy = "give kind cylinder-major: a hybrid disk's longest times follow from it";
        GeometryError::check("layout.kind", is_plain, "another kind", remedy)?;
        let RecordingSpec::Linear { outer_sectors_per_track, inner_sectors_per_track, zones } = self.recording else {
            let remedy = "give kind linear: the tracks of both domains follow from it";
            return Err(GeometryError::new("recording.kind", "is of another kind".into(), remedy));
        };
        let (outer, inner) = (outer_sectors_per_track, inner_sectors_per_track);
        let linear = Linear { outer, inner, zones, density: domains.density };
        let (_, zones) = linear.lay_out(self, rotation_ms, domains.wide_sectors)?;
        let surface = HybridSurface::new(self.heads, &zones, domains)?;
        self.assemble(Platters::Hybrid(Box::new(surface)), rotation_ms)
    }

    fn assemble(&self, platters: Platters, rotation_ms: f64) -> Result<Mechanics, GeometryError> {
        let seek = SeekCurve::new(&self.seek, platters.cylinders())?;
        let spindle = Spindle::new(rotation_ms);
        Ok(Mechanics::new(platters, seek, spindle, self.head_switch_ms, self.write_settle_ms))
    }

    fn check_times(&self) -> Result<(), GeometryError> {
        for (field, ms) in [("head_switch_ms", self.head_switch_ms), ("write_settle_ms", self.write_settle_ms)] {
            GeometryError::check(field, (0.0..=1000.0).contains(&ms), ms, "give a time between 0 and 1000 ms")?;
        }
        Ok(())
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mechanics::{RecordingZone, SeekSpec};

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
        let dense =
            RecordingSpec::Linear { outer_sectors_per_track: u32::MAX - 2, inner_sectors_per_track: 1 << 15, zones: 1 };
        let dense = MechanicsSpec { heads: 1000, recording: dense, ..good };
        assert_eq!(dense.build(u64::MAX).unwrap_err().field, "recording.outer_sectors_per_track");
    }

    /// Numbers at and beyond the edges of what is allowed.
    fn edge() -> impl Strategy<Value = u32> {
        prop_oneof![0u32..40, 1000u32..1050, Just(1 << 15), (1u32 << 24) - 2..(1 << 24) + 2, u32::MAX - 2..=u32::MAX]
    }

    fn layouts() -> impl Strategy<Value = LayoutSpec> {
        let serpentine = (edge(), edge()).prop_map(|(group_cylinders, section_tracks)| LayoutSpec::Serpentine {
            group_cylinders,
            section_tracks,
            track_skew_rev: 0.3,
            group_skew_rev: 0.7,
        });
        prop_oneof![Just(LayoutSpec::CylinderMajor {}), serpentine]
    }

    fn recordings() -> impl Strategy<Value = RecordingSpec> {
        let zone =
            (edge(), edge(), edge(), edge()).prop_map(|(first_cylinder, cylinders, sectors, skew)| RecordingZone {
                first_cylinder,
                cylinders,
                sectors_per_track: sectors,
                track_skew_sectors: skew,
                cylinder_skew_sectors: skew,
            });
        let listed = prop::collection::vec(zone, 0..4).prop_map(|zones| RecordingSpec::Listed { zones });
        let linear = (edge(), edge(), edge()).prop_map(|(outer, inner, zones)| RecordingSpec::Linear {
            outer_sectors_per_track: outer,
            inner_sectors_per_track: inner,
            zones,
        });
        prop_oneof![listed, linear]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn no_description_panics(
            layout in layouts(),
            recording in recordings(),
            heads in edge(),
            sectors in prop_oneof![0u64..100_000, 1u64 << 30..1 << 45, Just(u64::MAX)],
        ) {
            let spec = MechanicsSpec { heads, recording, ..spec(layout) };
            if let Ok(mut drive) = spec.build(sectors) {
                prop_assert!(drive.sectors() >= sectors);
                let last = drive.sectors() - 1;
                let cylinder = drive.locate(last).cylinder;
                prop_assert!(cylinder.max(drive.locate(last / 2).cylinder) < drive.cylinders());
                prop_assert!(drive.access(0, last, 1, true) > 0);
                prop_assert!(drive.access(1 << 50, 0, last.min(100_000), false) >= 1 << 50);
            }
            let _ = spec.scaled(sectors, 7).build(1);
        }
    }
}
