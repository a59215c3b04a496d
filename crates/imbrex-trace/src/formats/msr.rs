//! MSR Cambridge CSV (SNIA IOTTA): one request a line,
//! `timestamp,host,disk,Read|Write,offset,size,response`; timestamp and response in 100 ns, offset and size in bytes.
//!
//! A line that names the columns may come first. A volume is `host,disk`. The response time is the original disk's and
//! is not looked at. A host called `synthetic` says that no host ever made these requests.

use super::Fault;
use super::fields::{Commas, is_number, number, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use imbrex_core::block::Access;

/// Reads MSR lines.
pub(super) struct Msr;

impl Msr {
    /// Whether `fields` are seven, with a type, and numbers where there must be.
    pub(super) fn recognises(fields: &[&[u8]]) -> bool {
        let [timestamp, _, _, access, offset, size, _] = fields else { return false };
        parse_access(access).is_some() && [timestamp, offset, size].into_iter().all(|field| is_number(field))
    }
}

impl LineFormat for Msr {
    const TICK_NS: u64 = 100;

    fn is_heading(line: &[u8]) -> bool {
        let fields = line.split(|&byte| byte == b',').count();
        fields == 7 && line.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"timestamp,"))
    }

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Commas::of(line, "7 comma-separated");
        let timestamp = fields.next()?;
        let volume = fields.pair()?;
        let [access, offset, size] = [fields.next()?, fields.next()?, fields.next()?];
        fields.next()?;
        fields.end()?;
        let ticks = number("timestamp", timestamp)?;
        let Some(access) = parse_access(access) else {
            return Err(wrong_word("type", access, "neither Read nor Write"));
        };
        let offset_bytes = number("offset", offset)?;
        let bytes = number("size", size)?;
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}

#[inline]
fn parse_access(word: &[u8]) -> Option<Access> {
    match word {
        b"Read" => Some(Access::Read),
        b"Write" => Some(Access::Write),
        _ if word.eq_ignore_ascii_case(b"read") => Some(Access::Read),
        _ if word.eq_ignore_ascii_case(b"write") => Some(Access::Write),
        _ => None,
    }
}
