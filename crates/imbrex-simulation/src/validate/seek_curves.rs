//! Seek curves against what is published about them.

use super::{Comparison, Numbers};
use imbrex_core::drive::{DriveError, DrivePreset, DriveTiming, TimingSpec};
use imbrex_core::mechanics::{Mechanics, SeekSpec};

/// From this number of cylinders on, a three-point curve is held to a µs.
const CONTINUUM: u32 = 50_000;

/// Compares the seek curves of the built-in presets with published closed forms: Ruemmler and Wilkes' HP 97560 (IEEE
/// Computer, 1994), and the three-point curves of large drives with the three numbers they were made from.
///
/// # Errors
/// When a built-in preset is broken.
pub fn seek_curves() -> Result<Vec<Comparison>, DriveError> {
    let mut rows = Vec::new();
    for (name, text) in DrivePreset::built_in() {
        let preset = DrivePreset::parse(name, text)?;
        let (DriveTiming::Disk(drive), TimingSpec::Disk(spec)) = (preset.timing()?, &preset.timing) else { continue };
        let cylinders = drive.cylinders();
        let mut compare = |check: &str, expected, measured, tolerance| {
            rows.push(Comparison::close(name, check, Numbers { expected, measured }, tolerance, "ms"));
        };
        let seek_ms = |distance| drive.seek_ns(distance) as f64 / 1e6;
        if *name == "hp97560" {
            // Published to two decimals.
            compare("mean seek", 12.83, mean_seek_ms(&drive), 0.005);
            compare("full stroke", 23.70, seek_ms(cylinders), 0.005);
        }
        let SeekSpec::ThreePoint { single_cylinder_ms, average_ms, full_stroke_ms } = spec.seek else {
            continue;
        };
        // The fit takes the cylinders for a continuum; on the small drives for tests that is off by more than rounding.
        if cylinders >= CONTINUUM {
            compare("single-cylinder seek", single_cylinder_ms, seek_ms(1), 1e-6);
            compare("mean seek", average_ms, mean_seek_ms(&drive), 0.001);
            compare("full stroke", full_stroke_ms, seek_ms(cylinders), 0.001);
        }
    }
    Ok(rows)
}

/// Mean seek time between two uniformly random cylinders: `2·(C − d)` of the `C²` pairs are `d` apart.
fn mean_seek_ms(drive: &Mechanics) -> f64 {
    let cylinders = u64::from(drive.cylinders());
    let weighted = |d: u32| u128::from(drive.seek_ns(d)) * u128::from(2 * (cylinders - u64::from(d)));
    let total: u128 = (1..drive.cylinders()).map(weighted).sum();
    total as f64 / (cylinders * cylinders) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;

    #[test]
    fn built_in_curves_are_as_published() {
        let rows = seek_curves().unwrap();
        assert_eq!(rows.len(), 20);
        for row in rows {
            println!("{row:?}");
            assert_eq!(row.verdict, Verdict::Pass, "{row:?}");
        }
    }

    #[test]
    fn a_wrong_curve_fails() {
        let text = DrivePreset::built_in().iter().find(|(name, _)| *name == "hp97560").unwrap().1;
        let wrong = DrivePreset::parse("wrong", &text.replace("knee_cylinders = 383", "knee_cylinders = 300")).unwrap();
        let mean = mean_seek_ms(&wrong.mechanics().unwrap());
        let numbers = Numbers { expected: 12.83, measured: mean };
        assert_eq!(Comparison::close("wrong", "mean seek", numbers, 0.005, "ms").verdict, Verdict::Fail);
    }
}
