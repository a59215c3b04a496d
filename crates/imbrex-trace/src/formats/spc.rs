//! The Storage Performance Council's trace format, in which the UMass repository publishes: one request a line,
//! `ASU,LBA,size,opcode,timestamp` and whatever fields follow; addresses in blocks of 512 bytes, size in bytes, opcode
//! `r` or `w` in either case, timestamp in seconds.
//!
//! A volume is an application-specific unit (ASU).

use super::Fault;
use super::fields::{Commas, access_letter, decimal, is_decimal, is_letter, is_number, number, sectors};
use super::lines::{Line, LineFormat, LineRequest};

/// Decimal places from a second to a nanosecond.
const PLACES: usize = 9;

/// Reads SPC lines.
pub(super) struct Spc;

impl Spc {
    /// Whether `fields` begin with a unit, an address, a size, a letter and a time.
    pub(super) fn recognises(fields: &[&[u8]]) -> bool {
        let [numbers @ .., opcode, timestamp] = fields.get(..5).unwrap_or_default() else { return false };
        numbers.iter().all(|field| is_number(field)) && is_letter(opcode) && is_decimal(timestamp, false)
    }
}

impl LineFormat for Spc {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Commas::of(line, "at least 5 comma-separated");
        let [volume, lba, size, opcode, timestamp] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        number("ASU", volume)?;
        let offset_bytes = sectors("LBA", lba)?;
        let bytes = number("size", size)?;
        let access = access_letter("opcode", opcode)?;
        let ticks = decimal("timestamp", timestamp, PLACES)?;
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}
