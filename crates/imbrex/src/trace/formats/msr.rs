//! MSR Cambridge CSV (SNIA IOTTA): one request a line,
//! `timestamp,host,disk,Read|Write,offset,size,response`; timestamp and response in 100 ns, offset and size in bytes.
//!
//! A line that names the columns may come first; lines without any character are passed over. All requests are of one
//! volume. The response time is the original disk's and is not looked at. A host called `synthetic` says that no host ever
//! made these requests: so the label survives in files that Imbrex writes.

use super::{Fault, Format, Input, Position, Problem, Record, too_large};
use crate::block::Access;

/// The commas of a line.
const COMMAS: usize = 6;

/// The host of requests that were generated.
pub(in crate::trace) const SYNTHETIC_HOST: &str = "synthetic";

/// Reads MSR lines.
#[derive(Default)]
pub(super) struct Msr {
    line: u64,
    /// `host,disk` of the first request; empty before it.
    volume: Vec<u8>,
}

impl Msr {
    /// Whether `head` begins with a line of seven fields of text.
    pub(super) fn recognises(head: &[u8]) -> bool {
        let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.iter().filter(|&&byte| byte == b',').count() == COMMAS
            && line.iter().all(|byte| (b' '..=b'~').contains(byte))
    }

    fn parse(&mut self, line: &[u8]) -> Result<Record, Fault> {
        let (timestamp, rest) = field(line, line)?;
        let ticks = number("timestamp", timestamp)?;
        let (access, rest) = field(line, self.after_volume(line, rest)?)?;
        let access = parse_access(access)?;
        let (offset, rest) = field(line, rest)?;
        let (size, response) = field(line, rest)?;
        if response.contains(&b',') {
            return Err(wrong_fields(line));
        }
        let offset_bytes = number("offset", offset)?;
        let size = number("size", size)?;
        let Ok(bytes) = u32::try_from(size) else { return Err(too_large("size", size)) };
        Ok(Record::Request { ticks, access, offset_bytes, bytes })
    }

    /// What follows host and disk, which must be those of the first request.
    fn after_volume<'a>(&mut self, line: &[u8], rest: &'a [u8]) -> Result<&'a [u8], Fault> {
        // Compared as one string, since only the first line's need be split.
        if let Some([b',', after @ ..]) = rest.strip_prefix(self.volume.as_slice())
            && !self.volume.is_empty()
        {
            return Ok(after);
        }
        let (_, after_host) = field(line, rest)?;
        let (_, after) = field(line, after_host)?;
        let volume = &rest[..rest.len() - after.len() - 1];
        if !self.volume.is_empty() {
            return Err(Problem::Volume { found: text(volume), first: text(&self.volume) }.into());
        }
        debug_assert!(volume.contains(&b','), "never empty");
        self.volume.extend_from_slice(volume);
        Ok(after)
    }
}

/// Whether the first request of `head` is of the host of generated ones.
pub(super) fn is_synthetic(head: &[u8]) -> bool {
    let lines = head.split(|&byte| byte == b'\n').enumerate();
    let mut requests = lines.filter(|(i, line)| line.len() > 1 && (*i > 0 || !names_columns(line)));
    let host = requests.next().and_then(|(_, line)| line.split(|&byte| byte == b',').nth(1));
    host == Some(SYNTHETIC_HOST.as_bytes())
}

fn names_columns(first_line: &[u8]) -> bool {
    first_line.get(..9).is_some_and(|word| word.eq_ignore_ascii_case(b"timestamp"))
}

impl Format for Msr {
    const TICK_NS: u64 = 100;

    fn next(&mut self, input: &mut Input) -> Result<Record, Fault> {
        loop {
            self.line += 1;
            let Some(line) = input.line()? else { return Ok(Record::End) };
            let is_header = self.line == 1 && names_columns(line);
            if !line.is_empty() && !is_header {
                return self.parse(line);
            }
        }
    }

    fn position(&self) -> Position {
        Position::Line(self.line)
    }
}

/// The first field of `rest` and what follows its comma. `line` is the whole line, for the error.
#[inline]
fn field<'a>(line: &[u8], rest: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Fault> {
    match rest.iter().position(|&byte| byte == b',') {
        Some(comma) => Ok((&rest[..comma], &rest[comma + 1..])),
        None => Err(wrong_fields(line)),
    }
}

fn parse_access(word: &[u8]) -> Result<Access, Fault> {
    match word {
        b"Read" => Ok(Access::Read),
        b"Write" => Ok(Access::Write),
        _ if word.eq_ignore_ascii_case(b"read") => Ok(Access::Read),
        _ if word.eq_ignore_ascii_case(b"write") => Ok(Access::Write),
        _ => Err(Problem::Access { text: text(word) }.into()),
    }
}

#[inline]
fn number(name: &'static str, digits: &[u8]) -> Result<u64, Fault> {
    let mut value = 0u64;
    let mut wrong = digits.is_empty();
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        wrong |= digit > 9;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    // Nineteen digits always fit.
    if wrong || digits.len() > 19 { long_number(name, digits) } else { Ok(value) }
}

#[cold]
fn long_number(name: &'static str, digits: &[u8]) -> Result<u64, Fault> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Problem::Number { field: name, text: text(digits) }.into());
    }
    text(digits).parse().map_err(|_| too_large(name, text(digits)))
}

#[cold]
fn wrong_fields(line: &[u8]) -> Fault {
    Problem::Fields { found: line.iter().filter(|&&byte| byte == b',').count() + 1 }.into()
}

/// Bytes as they are shown in an error: the beginning of them.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned()
}
