//! The size of a persistent buffer as it is asked for: a number of bytes or blocks, or a part of an address range.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The size of a persistent buffer.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum BufferSize {
    /// A percentage of the workload's address range, from 0 to the end of the highest block touched. (Amphisbaena §6.1:
    /// "1 % of the trace's maximum access range".)
    Percent(f64),
    /// A number of bytes.
    Bytes(u64),
    /// A number of blocks of the drive.
    Blocks(u64),
}

impl BufferSize {
    /// The size in blocks, rounded up, at least one.
    #[must_use]
    pub fn blocks(self, range_bytes: u64, block_bytes: u32) -> u64 {
        let block = u64::from(block_bytes);
        match self {
            Self::Percent(percent) => {
                let range = range_bytes.div_ceil(block);
                // Rounded before rounding up, so that 1 % of 6400 blocks is 64 and not the 65 of a last binary digit.
                let exact = range as f64 * percent / 100.0;
                let near = exact.round();
                (if (exact - near).abs() < 1e-6 { near } else { exact.ceil() }) as u64
            }
            Self::Bytes(bytes) => bytes.div_ceil(block),
            Self::Blocks(blocks) => blocks,
        }
        .max(1)
    }
}

/// A text that is no buffer size.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadBufferSize {
    /// It is nothing of the kind.
    #[error(
        "'{0}' is no buffer size; write a percentage of the address range as 1%, a size as 64MiB, 1GiB or 2GB, or a \
         whole number of blocks as 4096blocks"
    )]
    Unknown(String),
    /// A number without a unit.
    #[error("{0} of what? write {0}MiB, {0}GiB or {0}blocks, or {0}B for bytes")]
    NoUnit(String),
    /// More than there is.
    #[error("{0}% is more than the whole address range; write at most 100%, or a size as 64GiB")]
    MoreThanAll(String),
}

/// Suffixes and their bytes, in the order in which they are tried: the longer ones first, so that `MiB` is not taken for
/// `B`. Upper and lower case are alike.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// What stands before a suffix, in upper or lower case.
fn before<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let (digits, end) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    end.eq_ignore_ascii_case(suffix).then(|| digits.trim_end())
}

impl FromStr for BufferSize {
    type Err = BadBufferSize;

    fn from_str(text: &str) -> Result<Self, BadBufferSize> {
        let text = text.trim();
        let bad = || BadBufferSize::Unknown(text.to_owned());
        let number = |digits: &str| match digits.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(bad()),
        };
        if let Some(digits) = before(text, "%") {
            return match number(digits)? {
                percent if percent > 100.0 => Err(BadBufferSize::MoreThanAll(digits.to_owned())),
                percent => Ok(Self::Percent(percent)),
            };
        }
        if let Some(digits) = before(text, "blocks") {
            return digits.parse().ok().filter(|blocks| *blocks > 0).map(Self::Blocks).ok_or_else(bad);
        }
        for (suffix, bytes) in UNITS {
            if let Some(digits) = before(text, suffix) {
                return Ok(Self::Bytes((number(digits)? * bytes as f64).ceil() as u64));
            }
        }
        Err(number(text).map_or_else(|bad| bad, |_| BadBufferSize::NoUnit(text.to_owned())))
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Blocks(blocks) => write!(f, "{blocks}blocks"),
            Self::Bytes(bytes) => {
                let (suffix, unit) = UNITS[..4].iter().rev().find(|(_, unit)| bytes % unit == 0).unwrap_or(&UNITS[8]);
                write!(f, "{}{suffix}", bytes / unit)
            }
        }
    }
}

/// A number of bytes in the unit in which `like` is a whole number, rounded down; as it is where little would be left.
#[must_use]
pub fn size_as(like: u64, bytes: u64) -> String {
    let is_whole = |(_, unit): &&(&str, u64)| like >= *unit && like.is_multiple_of(*unit);
    let (suffix, unit) = UNITS.iter().filter(is_whole).max_by_key(|(_, unit)| *unit).unwrap_or(&UNITS[8]);
    match u128::from(bytes) * 1000 / u128::from(*unit) {
        thousandths if thousandths >= 100 || bytes == 0 => format!("{}{suffix}", thousandths as f64 / 1e3),
        _ => BufferSize::Bytes(bytes).to_string(),
    }
}

impl Serialize for BufferSize {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BufferSize {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, size) in [
            ("1%", BufferSize::Percent(1.0)),
            ("0.5 %", BufferSize::Percent(0.5)),
            ("64MiB", BufferSize::Bytes(64 << 20)),
            ("1.5GiB", BufferSize::Bytes(3 << 29)),
            ("2GB", BufferSize::Bytes(2_000_000_000)),
            ("512B", BufferSize::Bytes(512)),
            ("64gib", BufferSize::Bytes(64 << 30)),
            ("2 KB", BufferSize::Bytes(2000)),
            ("100%", BufferSize::Percent(100.0)),
            ("4096blocks", BufferSize::Blocks(4096)),
            ("7 blocks", BufferSize::Blocks(7)),
        ] {
            let read: BufferSize = text.parse().unwrap();
            assert_eq!(read, size);
            assert_eq!(read.to_string().parse(), Ok(size));
        }
        for text in ["", "%", "-1%", "0", "1 parsec", "infB", "NaN%", "blocks", "0blocks", "1.5blocks", "-1blocks"] {
            assert!(matches!(text.parse::<BufferSize>(), Err(BadBufferSize::Unknown(_))), "{text}");
        }
        assert_eq!("64".parse::<BufferSize>(), Err(BadBufferSize::NoUnit("64".to_owned())));
        assert_eq!("200 %".parse::<BufferSize>(), Err(BadBufferSize::MoreThanAll("200".to_owned())));
    }

    #[test]
    fn percentages_round_up_to_blocks() {
        assert_eq!(BufferSize::Percent(1.0).blocks(6400 * 4096, 4096), 64);
        assert_eq!(BufferSize::Percent(1.0).blocks(6400 * 4096 + 1, 4096), 65);
        assert_eq!(BufferSize::Percent(1.0).blocks(0, 4096), 1);
        assert_eq!(BufferSize::Bytes(4097).blocks(0, 4096), 2);
        assert_eq!(BufferSize::Blocks(4097).blocks(1, 512), 4097);
    }

    #[test]
    fn a_size_is_told_in_the_unit_of_another_and_rounded_down() {
        let told = [
            (8 << 30, (24 << 30) + (1 << 28)),
            (2_000_000_000_000, 1_999_999_999_999),
            (1 << 40, 1 << 24),
            (4097, 512),
        ];
        assert_eq!(told.map(|(like, bytes)| size_as(like, bytes)), ["24.25GiB", "1.999TB", "16MiB", "512B"]);
        assert_eq!(size_as(1 << 30, 0), "0GiB");
    }
}
