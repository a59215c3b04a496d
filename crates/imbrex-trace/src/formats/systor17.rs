//! SYSTOR '17 CSV (SNIA IOTTA): one request a line, `Timestamp,Response,IOType,LUN,Offset,Size`; times in seconds,
//! offset and size in bytes, the type `R` or `W`.
//!
//! A line that names the columns may come first. A volume is a LUN; `synthetic` in the place of its number says that
//! no host ever made these requests. Lines stand in order of completion, timestamps are of
//! the arrival: requests are put in order of time. The response time may be missing and is not looked at.

use super::fields::{Commas, access_letter, decimal, is_decimal, is_letter, is_number, number};
use super::lines::{Line, LineFormat, LineRequest};
use super::{Fault, SYNTHETIC_VOLUME};

/// Decimal places from a second to a nanosecond.
const PLACES: usize = 9;

/// Reads SYSTOR '17 lines.
pub(super) struct Systor17;

impl Systor17 {
    /// Whether `fields` are a time, a time or nothing, a letter and three numbers.
    pub(super) fn recognises(fields: &[&[u8]]) -> bool {
        let [timestamp, response, access, numbers @ ..] = fields else { return false };
        numbers.len() == 3
            && is_decimal(timestamp, false)
            && (response.is_empty() || is_decimal(response, false))
            && is_letter(access)
            && is_volume(numbers[0])
            && numbers[1..].iter().all(|field| is_number(field))
    }
}

fn is_volume(lun: &[u8]) -> bool {
    is_number(lun) || lun == SYNTHETIC_VOLUME.as_bytes()
}

impl LineFormat for Systor17 {
    const TICK_NS: u64 = 1;
    const BY_COMPLETION: bool = true;

    fn is_heading(line: &[u8]) -> bool {
        line.eq_ignore_ascii_case(b"timestamp,response,iotype,lun,offset,size")
    }

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Commas::of(line, "6 comma-separated");
        let timestamp = fields.next()?;
        fields.next()?;
        let [access, volume, offset, size] = [fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        fields.end()?;
        let ticks = decimal("timestamp", timestamp, PLACES)?;
        let access = access_letter("type", access)?;
        if !is_volume(volume) {
            number("LUN", volume)?;
        }
        let offset_bytes = number("offset", offset)?;
        let bytes = number("size", size)?;
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}
