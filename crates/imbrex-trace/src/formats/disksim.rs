//! DiskSim's ASCII traces: one request a line, `time device sector sectors flags` between blanks; time in milliseconds,
//! sectors of 512 bytes, flags in hexadecimal, of which the lowest bit is set for a read.
//!
//! A volume is a device. A time without a fraction is no mark of this format, since any five numbers would then be one;
//! such a file is read when the format is named.

use super::Fault;
use super::fields::{Blanks, decimal, is_decimal, is_number, number, sectors, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use imbrex_core::block::Access;

const FIELDS: &str = "5 blank-separated";
/// Decimal places from a millisecond to a nanosecond.
const PLACES: usize = 6;

/// Reads DiskSim lines.
pub(super) struct DiskSim;

impl DiskSim {
    /// Whether `line` is five numbers, the first with a fraction.
    pub(super) fn recognises(line: &[u8]) -> bool {
        let mut fields = Blanks::of(line, FIELDS);
        let mut next = || fields.find().unwrap_or_default();
        let found = [next(), next(), next(), next(), next()];
        let [time, numbers @ .., flags] = found;
        fields.end().is_ok() && is_decimal(time, true) && numbers.into_iter().all(is_number) && is_read(flags).is_some()
    }
}

impl LineFormat for DiskSim {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Blanks::of(line, FIELDS);
        let [time, volume, sector, count, flags] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        fields.end()?;
        let ticks = decimal("time", time, PLACES)?;
        number("device", volume)?;
        let offset_bytes = sectors("sector", sector)?;
        let bytes = sectors("sectors", count)?;
        let access = match is_read(flags) {
            Some(true) => Access::Read,
            Some(false) => Access::Write,
            None => return Err(wrong_word("flags", flags, "not a hexadecimal number of up to 8 digits")),
        };
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}

/// Whether flags, if they are such, have the bit of a read.
#[inline]
fn is_read(flags: &[u8]) -> Option<bool> {
    let digits = flags.strip_prefix(b"0x").unwrap_or(flags);
    let valid = (1..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    let last = char::from(*digits.last()?).to_digit(16)?;
    valid.then_some(last & 1 == 1)
}
