//! Times on the command line.

/// Units of time, in nanoseconds. A longer suffix comes before one that it ends in.
const UNITS: [(&str, u64); 4] =
    [("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000), ("h", 3_600_000_000_000)];

/// A whole number above 0.
pub fn whole(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|n| *n > 0)
}

/// A time in nanoseconds, written as `500ms`, `60s`, `5min` or `1h`.
pub fn nanoseconds(text: &str) -> Option<u64> {
    UNITS.iter().find_map(|(suffix, ns)| text.strip_suffix(suffix).and_then(whole)?.checked_mul(*ns))
}

/// A number of nanoseconds as it would be read; what is less than a millisecond of it is left out.
pub fn written(ns: u64) -> String {
    format!("{}ms", ns / 1_000_000)
}

/// A number of nanoseconds, in the largest unit of which they are a whole number; in seconds if there is none.
pub fn shown(ns: u64) -> String {
    match UNITS.iter().rev().find(|(_, unit)| ns.is_multiple_of(*unit)) {
        Some((suffix, unit)) => format!("{} {suffix}", ns / unit),
        None => format!("{} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, ns, said) in [
            ("500ms", 500_000_000, "500 ms"),
            ("60s", 60_000_000_000, "1 min"),
            ("5min", 300_000_000_000, "5 min"),
            ("2h", 7_200_000_000_000, "2 h"),
        ] {
            assert_eq!(nanoseconds(text), Some(ns));
            assert_eq!(shown(ns), said);
            assert_eq!(nanoseconds(&written(ns)), Some(ns));
        }
        assert_eq!(shown(1), "0.000000001 s");
        for text in ["", "5", "0s", "-1s", "1.5h", "99999999999h"] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
