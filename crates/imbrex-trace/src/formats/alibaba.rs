//! Alibaba block traces: one request a line, `device_id,opcode,offset,length,timestamp`; opcode `R` or `W`, offset and
//! length in bytes, timestamp in microseconds.
//!
//! A line that names the columns may come first. A volume is a device.

use super::Fault;
use super::fields::{Commas, access_letter, is_letter, is_number, number};
use super::lines::{Line, LineFormat, LineRequest};

/// Reads Alibaba lines.
pub(super) struct Alibaba;

impl Alibaba {
    /// Whether `fields` are a number, a letter and three numbers.
    pub(super) fn recognises(fields: &[&[u8]]) -> bool {
        let [device, opcode, numbers @ ..] = fields else { return false };
        numbers.len() == 3 && is_letter(opcode) && numbers.iter().chain([device]).all(|field| is_number(field))
    }
}

impl LineFormat for Alibaba {
    const TICK_NS: u64 = 1_000;

    fn is_heading(line: &[u8]) -> bool {
        line.eq_ignore_ascii_case(b"device_id,opcode,offset,length,timestamp")
    }

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Commas::of(line, "5 comma-separated");
        let [volume, opcode, offset, length, timestamp] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        fields.end()?;
        number("device_id", volume)?;
        let access = access_letter("opcode", opcode)?;
        let offset_bytes = number("offset", offset)?;
        let bytes = number("length", length)?;
        let ticks = number("timestamp", timestamp)?;
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}
