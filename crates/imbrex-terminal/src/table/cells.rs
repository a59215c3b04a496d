//! What stands in a cell: numbers as people write them.

/// A whole number with its thousands apart.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number to three digits or, above a hundred, to one.
pub fn number(value: f64) -> String {
    match value {
        _ if value.abs() < 10.0 => format!("{value:.2}"),
        _ if value.abs() < 100.0 => format!("{value:.1}"),
        _ if value < 0.0 => format!("-{}", count(-value.round() as u64)),
        _ => count(value.round() as u64),
    }
}

/// A ratio in percent.
pub fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// A size in binary units.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let steps = bytes.checked_ilog2().map_or(0, |bits| bits / 10) as usize;
    let value = bytes as f64 / (1u64 << (10 * steps)) as f64;
    let digits = usize::from(steps > 0 && value.fract() != 0.0);
    format!("{value:.digits$} {}", units[steps])
}

/// Units of time in nanoseconds, and how many of each are written as the next larger one: no minutes before there are
/// two of them.
const TIMES: [(&str, f64, f64); 4] = [("µs", 1e3, 1e3), ("ms", 1e6, 1e3), ("s", 1e9, 120.0), ("min", 60e9, 120.0)];

/// A time in the unit in which people read it.
fn lasting(ns: f64) -> String {
    if ns == 0.0 {
        return "0".to_owned();
    }
    // What is rounded to the next larger unit is written in that.
    let fits = |(_, unit, most): &&(&str, f64, f64)| ns / unit < most - most / 2e3;
    let (name, unit) = TIMES.iter().find(fits).map_or(("h", 3600e9), |(name, unit, _)| (*name, *unit));
    format!("{} {name}", number(ns / unit))
}

/// A time given in milliseconds.
pub fn milliseconds(ms: f64) -> String {
    lasting(ms * 1e6)
}

/// A time given in seconds.
pub fn seconds(seconds: f64) -> String {
    lasting(seconds * 1e9)
}

/// A time given in whole nanoseconds.
pub fn nanoseconds(ns: u64) -> String {
    lasting(ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_people_write_them() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 8.756, 87.56, 8756.4].map(number), ["0.00", "8.76", "87.6", "8,756"]);
        assert_eq!([-8.756, -87.56, -8756.4].map(number), ["-8.76", "-87.6", "-8,756"]);
        assert_eq!([0, 512, 1536, 16 << 30].map(bytes), ["0 B", "512 B", "1.5 KiB", "16 GiB"]);
    }

    #[test]
    fn times_are_shown_in_the_unit_that_people_read() {
        assert_eq!([0.0, 0.00042, 0.0876, 0.9999].map(milliseconds), ["0", "0.42 µs", "87.6 µs", "1.00 ms"]);
        assert_eq!([1.0, 12.34, 999.4, 999.6].map(milliseconds), ["1.00 ms", "12.3 ms", "999 ms", "1.00 s"]);
        assert_eq!([59.97, 119.0, 180.0, 7200.0].map(seconds), ["60.0 s", "119 s", "3.00 min", "2.00 h"]);
        assert_eq!([1_500, 2_000_000_000, 150_172_191_000_000].map(nanoseconds), ["1.50 µs", "2.00 s", "41.7 h"]);
    }
}
