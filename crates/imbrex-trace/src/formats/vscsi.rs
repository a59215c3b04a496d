//! CloudPhysics VSCSI: fixed little-endian records, one SCSI command each, lengths in bytes, addresses in 512-byte
//! sectors, times in microseconds.
//!
//! | field | v1 (32 bytes) | v2 (40 bytes) |
//! |---|---|---|
//! | command, u16 | 12 | 0 |
//! | version, u16: high byte 1 or 2 | 14 | 2 |
//! | serial number, u32 | 0 | 4 |
//! | length, u32 | 4 | 8 |
//! | scatter-gather elements, u32 | 8 | 12 |
//! | sector, u64 | 16 | 16 |
//! | issued at, u64 | 24 | 24 |
//! | response time, u64 | – | 32 |
//!
//! Reads and writes of 6, 10, 12 and 16 bytes are requests. Commands that move no data of the disk's blocks (a test, an
//! inquiry, a cache flush, a reservation) are left out and counted. Anything else, such as UNMAP or WRITE SAME, changes
//! blocks that the record does not name, and is an error.

use super::{Fault, Format, Input, Position, Problem, Record, too_large};
use crate::TraceFormat;
use imbrex_core::block::Access;

const SECTOR_BYTES: u64 = 512;

/// Where a version keeps its fields. Sector and time stand in one place in both.
struct Layout {
    version: u8,
    record_bytes: usize,
    command: usize,
    version_at: usize,
    length: usize,
}

const V1: Layout = Layout { version: 1, record_bytes: 32, command: 12, version_at: 14, length: 4 };
const V2: Layout = Layout { version: 2, record_bytes: 40, command: 0, version_at: 2, length: 8 };
const SECTOR: usize = 16;
const TIME: usize = 24;

impl Layout {
    fn version_of(&self, record: &[u8]) -> u16 {
        u16::from_le_bytes(bytes_at(record, self.version_at))
    }

    /// Whether the first two records in `head`, or as much of them as is there, are of this version.
    fn fits(&self, head: &[u8]) -> bool {
        let mut records = head.chunks(self.record_bytes).take(2).filter(|record| record.len() >= SECTOR).peekable();
        records.peek().is_some() && records.all(|record| self.version_of(record) >> 8 == u16::from(self.version))
    }
}

/// Reads VSCSI records.
pub(super) struct Vscsi {
    layout: &'static Layout,
    /// Where the next record begins.
    next_byte: u64,
    /// Where the record taken last began.
    byte: u64,
}

impl Vscsi {
    /// The version that wrote `head`, if one did. Version 1 goes first: where its version stands, version 2 has the
    /// high bytes of the number of scatter-gather elements, which are zero.
    pub(super) fn recognise(head: &[u8]) -> Option<TraceFormat> {
        [TraceFormat::Vscsi1, TraceFormat::Vscsi2].into_iter().find(|format| Self::new(*format).layout.fits(head))
    }

    /// Reads version 1 or, if `format` is [`TraceFormat::Vscsi2`], version 2.
    pub(super) fn new(format: TraceFormat) -> Self {
        let layout = if format == TraceFormat::Vscsi2 { &V2 } else { &V1 };
        Self { layout, next_byte: 0, byte: 0 }
    }
}

impl Format for Vscsi {
    const TICK_NS: u64 = 1_000;

    #[inline]
    fn next(&mut self, input: &mut Input) -> Result<Record, Fault> {
        let layout = self.layout;
        let record = input.record(layout.record_bytes)?;
        self.byte = self.next_byte;
        self.next_byte += record.len() as u64;
        if record.is_empty() {
            return Ok(Record::End);
        }
        if record.len() < layout.record_bytes {
            return Err(Problem::Truncated { found: record.len(), record: layout.record_bytes }.into());
        }
        let version = layout.version_of(record);
        if version >> 8 != u16::from(layout.version) {
            return Err(Problem::Version { found: version, expected: layout.version }.into());
        }
        let Some(access) = access(u16::from_le_bytes(bytes_at(record, layout.command)))? else {
            return Ok(Record::WithoutData);
        };
        let sector = u64::from_le_bytes(bytes_at(record, SECTOR));
        let Some(offset_bytes) = sector.checked_mul(SECTOR_BYTES) else { return Err(too_large("sector", sector)) };
        let bytes = u32::from_le_bytes(bytes_at(record, layout.length));
        let ticks = u64::from_le_bytes(bytes_at(record, TIME));
        Ok(Record::Request { ticks, access, offset_bytes, bytes })
    }

    fn position(&self) -> Position {
        Position::Byte(self.byte)
    }
}

/// What a SCSI command does to the blocks its record names; `None` for nothing.
fn access(command: u16) -> Result<Option<Access>, Fault> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Ok(Some(Access::Read)),
        0x0a | 0x2a | 0xaa | 0x8a => Ok(Some(Access::Write)),
        // TEST UNIT READY, REQUEST SENSE, INQUIRY, RESERVE, RELEASE, MODE SENSE, START STOP UNIT, READ CAPACITY,
        // SYNCHRONIZE CACHE, LOG SENSE, PERSISTENT RESERVE, REPORT LUNS.
        0x00 | 0x03 | 0x12 | 0x16 | 0x17 | 0x1a | 0x5a | 0x1b | 0x25 | 0x35 | 0x91 | 0x4d | 0x5e | 0x5f | 0xa0 => {
            Ok(None)
        }
        code => Err(Problem::Command { code }.into()),
    }
}

/// The `N` bytes of `record` from `at`, which is inside it.
#[inline]
fn bytes_at<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    *record[at..].first_chunk().expect("every field ends inside its record")
}
