//! Tencent CBS traces (SNIA IOTTA): one request a line, `Timestamp,Offset,Size,IOType,VolumeID`; timestamp in seconds,
//! offset and size in sectors of 512 bytes, type 0 for a read and 1 for a write.
//!
//! A line that names the columns may come first. All requests of a second arrive together: nothing finer is known. Five
//! numbers are no mark, so the content tells this format only when the first has the ten digits of a date after 2001.

use super::Fault;
use super::fields::{Commas, is_number, number, sectors, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use imbrex_core::block::Access;

/// Reads Tencent lines.
pub(super) struct Tencent;

impl Tencent {
    /// Whether `fields` are five numbers that could be a date, an address, a size, a type and a volume.
    pub(super) fn recognises(fields: &[&[u8]]) -> bool {
        let [timestamp, _, _, access, _] = fields else { return false };
        timestamp.len() == 10 && matches!(*access, b"0" | b"1") && fields.iter().all(|field| is_number(field))
    }
}

impl LineFormat for Tencent {
    const TICK_NS: u64 = 1_000_000_000;

    fn is_heading(line: &[u8]) -> bool {
        line.eq_ignore_ascii_case(b"timestamp,offset,size,iotype,volumeid")
    }

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Commas::of(line, "5 comma-separated");
        let [timestamp, offset, size, access, volume] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        fields.end()?;
        let ticks = number("timestamp", timestamp)?;
        let offset_bytes = sectors("offset", offset)?;
        let bytes = sectors("size", size)?;
        let access = match access {
            b"0" => Access::Read,
            b"1" => Access::Write,
            _ => return Err(wrong_word("type", access, "neither 0 (read) nor 1 (write)")),
        };
        number("volume", volume)?;
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}
