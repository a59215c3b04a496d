//! What makes a layer clean that had nothing to clean: the command that was typed, with another choice.

use imbrex_terminal::table;

use crate::command::Command;
use crate::room::Room;
use crate::row::Row;

/// How many times more has to be written than a buffer holds, so that it does not just become full.
const FULL: u64 = 4;
/// The same of space that is filled once.
const FILLED: f64 = 1.5;
/// The smallest buffer that is proposed where a workload can be longer instead: below it every write is cleaned at once,
/// and layers hardly differ.
const LEAST_BUFFER: u64 = 256 << 10;
/// The smallest at all, in blocks.
const LEAST_BLOCKS: u64 = 16;
/// By how many times longer a workload may have to be before a smaller drive is proposed.
const MUCH_LONGER: u64 = 20;
/// Zones or bands that a log keeps beside its part of the disk, at most, and their blocks where a drive does not say.
const KEPT_ZONES: u64 = 8;
const BAND_BLOCKS: u64 = 1 << 16;
/// A log on fewer zones than this cleans all of them again and again; zones are then proposed of which it has
/// [`SMALL_ZONES`], but none below [`LEAST_ZONE`] bytes.
const FEW_ZONES: u64 = 16;
const SMALL_ZONES: u64 = 64;
const LEAST_ZONE: u64 = 1 << 20;

/// Choices that make layers clean.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Remedy {
    /// Bytes of a buffer.
    buffer: Option<u64>,
    /// Whether the drive is to be no larger than the workload needs.
    fits: bool,
    /// Bytes of a zone.
    zone: Option<u64>,
    /// How many times as many requests, of a workload that can have more.
    longer: Option<u64>,
    /// How often the workload is to be replayed.
    repeat: Option<u64>,
}

/// Blocks that a layer took in: those that were not there already, and that it did not let pass.
pub(crate) fn taken(row: &Row) -> u64 {
    let outcome = &row.outcome;
    match outcome.admitted_blocks {
        0 => outcome.host_write_blocks.saturating_sub(outcome.write_hit_blocks + outcome.direct_blocks),
        admitted => admitted,
    }
}

/// What the layer of a row has room in.
pub(crate) fn room(row: &Row) -> Room {
    Room::of(row.layer, [row.drive_blocks, row.capacity_blocks, row.buffer_blocks], row.options.prefill)
}

impl Remedy {
    /// For a layer that had nothing to clean, if anything helps.
    pub fn of(row: &Row) -> Option<Self> {
        let (taken, block_bytes) = (taken(row), u64::from(row.block_bytes));
        // How many requests were typed a sample does not know.
        if taken == 0 || row.sample.is_some() {
            return None;
        }
        if row.buffer.is_some() {
            return Self::smaller_buffer(row, taken * block_bytes);
        }
        let room = room(row).blocks();
        let range = row.range_bytes.div_ceil(block_bytes);
        let times = times(room, taken);
        if times <= MUCH_LONGER || row.capacity_blocks / 2 < range {
            return Self::default().with_times(row, times);
        }
        let of_range = (room as f64 / row.drive_blocks as f64 * range as f64) as u64;
        let zone = row.zone_blocks.map_or(BAND_BLOCKS, u64::from);
        let is_coarse = row.zone_blocks.is_some() && range < FEW_ZONES * zone;
        let small = || 1 << (row.range_bytes / SMALL_ZONES).max(LEAST_ZONE).ilog2();
        let small = is_coarse.then(small).filter(|bytes| *bytes < zone * block_bytes);
        let kept = KEPT_ZONES * small.map_or(zone, |bytes| bytes / block_bytes);
        let kept = if row.buffer_blocks > 0 { 0 } else { kept };
        Self { fits: true, zone: small, ..Self::default() }.with_times(row, self::times(of_range + kept, taken))
    }

    /// A buffer that is small for what was taken in; where nearly nothing was, more requests.
    fn smaller_buffer(row: &Row, taken_bytes: u64) -> Option<Self> {
        let block_bytes = u64::from(row.block_bytes);
        let buffer_bytes = row.buffer_blocks * block_bytes;
        let small = 1 << (taken_bytes / FULL).max(1).ilog2();
        if small < LEAST_BUFFER && can_be_longer(row) {
            let buffer = Some(LEAST_BUFFER).filter(|least| *least < buffer_bytes);
            let times = times(LEAST_BUFFER.max(buffer.unwrap_or(buffer_bytes)) * FULL, taken_bytes);
            return Self { buffer, ..Self::default() }.with_times(row, times);
        }
        Some(Self { buffer: Some(small.max(LEAST_BLOCKS * block_bytes)), ..Self::default() })
    }

    /// With a workload so many times as long; none if that does not help. Requests that come again are no news to a layer
    /// that lets in only some, and a layer that is to become steady has them again anyway.
    fn with_times(self, row: &Row, times: u64) -> Option<Self> {
        match times {
            0 | 1 => Some(self),
            _ if can_be_longer(row) => Some(Self { longer: Some(times), ..self }),
            _ if row.outcome.admitted_blocks > 0 => None,
            _ if row.steady.is_some() => Some(self).filter(|remedy| *remedy != Self::default()),
            _ => Some(Self { repeat: Some(times.saturating_mul(row.repeat.unwrap_or(1))), ..self }),
        }
    }

    /// What helps where this does and where `other` does.
    pub fn and(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self {
            buffer: least(self.buffer, other.buffer),
            fits: self.fits || other.fits,
            zone: least(self.zone, other.zone),
            longer: self.longer.max(other.longer),
            repeat: self.repeat.max(other.repeat),
        }
    }

    /// The command with these choices, for a workload of so many requests.
    pub fn command(self, typed: &Command, requests: u64) -> Command {
        let mut command = typed.clone();
        if self.fits {
            command = command.with("--capacity", "fit");
        }
        let size = |bytes: u64| table::bytes(bytes).replace(' ', "");
        if let Some(zone) = self.zone {
            command = command.with("--zone-size", &size(zone));
        }
        if let Some(buffer) = self.buffer {
            command = command.with("--buffer", &size(buffer));
        }
        if let Some(times) = self.longer {
            command = command.with("--requests", &rounded_up(requests.saturating_mul(times)));
        }
        if let Some(times) = self.repeat {
            command = command.with("--repeat", &times.to_string());
        }
        command
    }
}

/// Whether a workload can have more requests than it had.
fn can_be_longer(row: &Row) -> bool {
    row.seed.is_some() && !row.dense
}

/// How many times as much has to be taken in until so much room is full.
fn times(room: u64, taken: u64) -> u64 {
    (room as f64 * FILLED / taken as f64).ceil() as u64
}

/// A number of requests as people write it, not below `requests`.
fn rounded_up(requests: u64) -> String {
    let power = 10_u64.pow(requests.max(1).ilog10());
    let round =
        [1, 2, 5, 10].map(|times| times * power).into_iter().find(|round| *round >= requests).unwrap_or(requests);
    match round {
        _ if round.is_multiple_of(1_000_000) => format!("{}M", round / 1_000_000),
        _ if round.is_multiple_of(1000) => format!("{}k", round / 1000),
        _ => round.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_rounded_up() {
        let all = [1, 999, 1000, 1001, 60_001, 760_000, 1_000_001, 9_000_000].map(rounded_up);
        assert_eq!(all, ["1", "1k", "1k", "2k", "100k", "1M", "2M", "10M"]);
    }
}
