//! How long flash takes: a time for each page that is read or programmed, and one for each erase block.
//!
//! There is nothing to position. An erase block is spread over all channels, its pages in turn, so that the pages of
//! one access overlap as far as they lie on different channels, and an erase takes its time once. Accesses follow each
//! other. The time on the bus is part of the page's.

use serde::{Deserialize, Serialize};

use super::{GeometryError, SECTOR_BYTES};

/// Speeds of flash, in ms.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Time to read a page.
    pub read_ms: f64,
    /// Time to program a page.
    pub program_ms: f64,
    /// Time to erase an erase block.
    pub erase_ms: f64,
    /// Pages that can be read or programmed at a time.
    #[serde(default = "default_channels")]
    pub channels: u32,
    /// Pages that can be programmed at a time, if not as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_channels: Option<u32>,
}

const fn default_channels() -> u32 {
    1
}

/// The times of one flash drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlashTimes {
    page_sectors: u64,
    channels: u64,
    program_channels: u64,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
}

impl FlashSpec {
    /// The times this describes, for pages of `page_bytes`.
    ///
    /// # Errors
    /// When a number is no time.
    pub fn build(&self, page_bytes: u32) -> Result<FlashTimes, GeometryError> {
        let ns = |field, ms: f64| {
            GeometryError::check(field, (0.0..=1000.0).contains(&ms), ms, "give a time between 0 and 1000 ms")?;
            Ok((ms * 1e6).round() as u64)
        };
        let program_channels = self.program_channels.unwrap_or(self.channels);
        for (field, channels) in [("flash.channels", self.channels), ("flash.program_channels", program_channels)] {
            GeometryError::check(field, channels >= 1, channels, "give at least one")?;
        }
        Ok(FlashTimes {
            page_sectors: u64::from(page_bytes / SECTOR_BYTES).max(1),
            channels: u64::from(self.channels),
            program_channels: u64::from(program_channels),
            read_ns: ns("flash.read_ms", self.read_ms)?,
            program_ns: ns("flash.program_ms", self.program_ms)?,
            erase_ns: ns("flash.erase_ms", self.erase_ms)?,
        })
    }
}

impl FlashTimes {
    /// When an access to `sectors` sectors is done that begins at `now_ns`.
    #[inline]
    #[must_use]
    pub fn access(&self, now_ns: u64, sectors: u64, write: bool) -> u64 {
        let (page_ns, channels) =
            if write { (self.program_ns, self.program_channels) } else { (self.read_ns, self.channels) };
        now_ns + sectors.div_ceil(self.page_sectors).div_ceil(channels) * page_ns
    }

    /// When an erase block is empty whose erasing begins at `now_ns`.
    #[must_use]
    pub fn erase(&self, now_ns: u64) -> u64 {
        now_ns + self.erase_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_takes_its_time() {
        let spec = FlashSpec { read_ms: 0.2, program_ms: 1.3, erase_ms: 1.5, channels: 1, program_channels: None };
        let times = spec.build(4096).unwrap();
        assert_eq!(times.access(7, 8, false), 200_007);
        assert_eq!(times.access(0, 24, true), 3_900_000);
        assert_eq!(times.access(0, 1, false), 200_000, "a page is read whole");
        assert_eq!(times.erase(5), 1_500_005);
        let spread = FlashSpec { channels: 4, ..spec.clone() }.build(4096).unwrap();
        assert_eq!(spread.access(0, 4 * 8, false), 200_000);
        assert_eq!(spread.access(0, 9 * 8, false), 600_000, "one channel has three of nine pages");
        assert_eq!(spread.access(0, 9 * 8, true), 3_900_000);
        assert_eq!(spread.erase(0), 1_500_000);
        let uneven = FlashSpec { channels: 4, program_channels: Some(2), ..spec.clone() }.build(4096).unwrap();
        assert_eq!(uneven.access(0, 9 * 8, false), 600_000);
        assert_eq!(uneven.access(0, 9 * 8, true), 5 * 1_300_000);
        let none = FlashSpec { program_channels: Some(0), ..spec.clone() };
        assert_eq!(none.build(4096).unwrap_err().field, "flash.program_channels");
        assert_eq!(FlashSpec { channels: 0, ..spec.clone() }.build(4096).unwrap_err().field, "flash.channels");
        let wrong = FlashSpec { erase_ms: f64::NAN, ..spec };
        assert_eq!(wrong.build(4096).unwrap_err().field, "flash.erase_ms");
    }
}
