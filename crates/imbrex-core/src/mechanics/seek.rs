//! How long the arm takes to move by a number of cylinders.

use std::sync::Arc;

use super::{GeometryError, SeekSpec};

/// Seek time as a function of distance; 0 for distance 0.
///
/// The formulas are evaluated at each seek: one square root takes less time than a miss in a table of half a million
/// cylinders, and leaves the cache to the maps of the layers. Only `+ − × ÷ √` are used, which IEEE 754 rounds
/// exactly, so a seek takes the same number of ns on every machine.
#[derive(Clone, Debug)]
pub(super) enum SeekCurve {
    /// `base + root·√(d−1) + linear·(d−1)`, in ns.
    Fitted { base: f64, root: f64, linear: f64 },
    /// `short + root·√d` below `knee` cylinders, `long + linear·d` from there on, in ns.
    TwoPiece { knee: u32, short: f64, root: f64, long: f64, linear: f64 },
    /// Time in ns for every distance the surface has.
    Table(Arc<[u32]>),
}

impl SeekCurve {
    /// The curve that `spec` describes, for distances up to `cylinders`.
    pub(super) fn new(spec: &SeekSpec, cylinders: u32) -> Result<Self, GeometryError> {
        match spec {
            SeekSpec::ThreePoint { single_cylinder_ms, average_ms, full_stroke_ms } => {
                Self::three_point(*single_cylinder_ms, *average_ms, *full_stroke_ms, cylinders)
            }
            SeekSpec::RuemmlerWilkes { knee_cylinders, short_ms, short_ms_per_root, long_ms, long_ms_per_cylinder } => {
                Self::two_piece(*knee_cylinders, *short_ms, *short_ms_per_root, *long_ms, *long_ms_per_cylinder)
            }
            SeekSpec::Table { rows } => Self::table(rows, cylinders),
        }
    }

    /// Time for `distance` cylinders, in ns.
    #[inline]
    pub(super) fn ns(&self, distance: u32) -> u64 {
        if distance == 0 {
            return 0;
        }
        match self {
            Self::Fitted { base, root, linear } => {
                let steps = f64::from(distance - 1);
                rounded(base + root * steps.sqrt() + linear * steps)
            }
            Self::TwoPiece { knee, short, root, long, linear } => {
                let d = f64::from(distance);
                rounded(if distance < *knee { short + root * d.sqrt() } else { long + linear * d })
            }
            Self::Table(ns) => u64::from(ns[distance as usize]),
        }
    }

    /// The longest time for any distance up to `cylinders`, in ns.
    pub(super) fn longest_ns(&self, cylinders: u32) -> u64 {
        match self {
            Self::Fitted { .. } => self.ns(cylinders),
            // Each piece rises, but the second may begin below the end of the first.
            Self::TwoPiece { knee, .. } => self.ns(cylinders).max(self.ns(cylinders.min(knee.saturating_sub(1)))),
            Self::Table(ns) => ns.iter().take(cylinders as usize + 1).max().copied().unwrap_or(0).into(),
        }
    }

    /// The curve through a data sheet's three numbers: the square root is the arm's acceleration, the linear part its
    /// coasting. The mean is over uniformly random pairs of positions.
    fn three_point(min: f64, avg: f64, max: f64, cylinders: u32) -> Result<Self, GeometryError> {
        for (field, ms) in [("seek.single_cylinder_ms", min), ("seek.average_ms", avg), ("seek.full_stroke_ms", max)] {
            check_ms(field, ms)?;
        }
        let c = f64::from(cylinders.max(1));
        let root = (15.0 * avg - 10.0 * min - 5.0 * max) / (3.0 * c.sqrt());
        let linear = (7.0 * min + 8.0 * max - 15.0 * avg) / (3.0 * c);
        if root < 0.0 {
            return Err(GeometryError::new(
                "seek.average_ms",
                format!("{avg} ms is too short between {min} ms for one cylinder and {max} ms for all"),
                "raise it or lower full_stroke_ms: 15·average ≥ 10·single_cylinder + 5·full_stroke must hold",
            ));
        }
        if linear < 0.0 {
            return Err(GeometryError::new(
                "seek.full_stroke_ms",
                format!("{max} ms is too short for an average of {avg} ms"),
                "raise it or lower average_ms: 8·full_stroke ≥ 15·average − 7·single_cylinder must hold",
            ));
        }
        Ok(Self::Fitted { base: min * 1e6, root: root * 1e6, linear: linear * 1e6 })
    }

    /// Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994.
    fn two_piece(knee: u32, short: f64, root: f64, long: f64, linear: f64) -> Result<Self, GeometryError> {
        for (field, ms) in [
            ("seek.short_ms", short),
            ("seek.short_ms_per_root", root),
            ("seek.long_ms", long),
            ("seek.long_ms_per_cylinder", linear),
        ] {
            check_ms(field, ms)?;
        }
        Ok(Self::TwoPiece { knee, short: short * 1e6, root: root * 1e6, long: long * 1e6, linear: linear * 1e6 })
    }

    /// Measured times: linear between rows, extrapolated from the last two rows past the end.
    fn table(rows: &[(u32, f64)], cylinders: u32) -> Result<Self, GeometryError> {
        let bad = |problem: String, remedy| Err(GeometryError::new("seek.rows", problem, remedy));
        if rows.first().is_none_or(|row| row.0 != 1) {
            return bad("no time for one cylinder".into(), "begin the table with distance 1");
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            let (before, after) = (pair[0].0, pair[1].0);
            return bad(format!("distance {after} follows {before}"), "sort the rows and name each distance once");
        }
        for &(_, ms) in rows {
            check_ms("seek.rows", ms)?;
        }
        let mut ns = Vec::with_capacity(cylinders as usize + 1);
        ns.push(0);
        let mut row = 0;
        for distance in 1..=cylinders {
            while row + 2 < rows.len() && rows[row + 1].0 < distance {
                row += 1;
            }
            let (d0, t0) = rows[row];
            let (d1, t1) = *rows.get(row + 1).unwrap_or(&(d0 + 1, t0));
            let ms = t0 + (t1 - t0) * ((f64::from(distance) - f64::from(d0)) / (f64::from(d1) - f64::from(d0)));
            if !(0.0..=MAX_MS).contains(&ms) {
                return bad(format!("the last two rows extrapolate to {ms} ms"), "extend the table to the full stroke");
            }
            ns.push((ms * 1e6 + 0.5) as u32);
        }
        Ok(Self::Table(ns.into()))
    }
}

/// No seek takes longer; in ns it fits 32 bits.
const MAX_MS: f64 = 4000.0;

fn check_ms(field: &'static str, ms: f64) -> Result<(), GeometryError> {
    GeometryError::check(field, (0.0..=MAX_MS).contains(&ms), ms, "give a time between 0 and 4000 ms")
}

/// By way of a signed number, which processors convert to.
#[inline]
fn rounded(ns: f64) -> u64 {
    (ns + 0.5) as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, f64)]) -> Result<SeekCurve, GeometryError> {
        SeekCurve::new(&SeekSpec::Table { rows: rows.to_vec() }, 100)
    }

    #[test]
    fn a_table_is_linear_between_and_past_its_rows() {
        let t = table(&[(1, 1.0), (3, 2.0), (10, 5.5)]).unwrap();
        let ms: Vec<u64> = [0, 1, 2, 3, 4, 10, 100].iter().map(|&d| t.ns(d) / 1000).collect();
        assert_eq!(ms, [0, 1000, 1500, 2000, 2500, 5500, 50500]);
        assert_eq!(table(&[(1, 2.5)]).unwrap().ns(60), 2_500_000);
    }

    #[test]
    fn impossible_tables_are_refused() {
        assert!(table(&[]).is_err());
        assert!(table(&[(2, 1.0)]).is_err());
        assert!(table(&[(1, 1.0), (1, 2.0)]).is_err());
        assert!(table(&[(1, 1.0), (2, f64::NAN)]).is_err());
        let falling = table(&[(1, 2.0), (2, 1.0)]).unwrap_err();
        assert!(falling.to_string().contains("extrapolate"), "{falling}");
    }

    #[test]
    fn three_points_that_do_not_fit_are_refused() {
        let fit = |single_cylinder_ms, average_ms, full_stroke_ms| {
            SeekCurve::new(&SeekSpec::ThreePoint { single_cylinder_ms, average_ms, full_stroke_ms }, 1000)
        };
        assert!(fit(1.0, 8.0, 16.0).is_ok());
        assert!(fit(1.0, 5.0, 16.0).unwrap_err().to_string().contains("average"));
        assert!(fit(1.0, 8.0, 9.0).unwrap_err().to_string().contains("full_stroke"));
        assert!(fit(-1.0, 8.0, 16.0).is_err());
    }
}
