//! What `blkparse` prints without a format of its own: one event a line,
//! `MAJOR,MINOR CPU SEQUENCE SECONDS.NANOSECONDS PID ACTION RWBS SECTOR + SECTORS [PROCESS]`, sectors of 512 bytes.
//!
//! A request passes through many events. Those of one action are taken for requests: `Q` (queued) or, if chosen, `D`
//! (issued); all others are passed over. RWBS says what is asked for: after an `F` for a flush that goes first, `R` is
//! a read and `W` a write, whatever letters follow; anything else, such as `D` (discard), and an event without sectors,
//! such as a flush, is a command without data. A volume is `MAJOR,MINOR`. The names of input files before the events
//! and the summary after them are passed over.

use super::Fault;
use super::fields::{Blanks, decimal, is_decimal, is_number, sectors, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use crate::{BlockEvent, TraceError};
use imbrex_core::block::Access;

const FIELDS: &str = "at least 7 blank-separated";
/// Decimal places from a second to a nanosecond.
const PLACES: usize = 9;
/// How a line begins that names an input file.
const INPUT_FILE: &[u8] = b"Input file ";

/// Reads events.
pub(super) struct Blkparse {
    event: BlockEvent,
    action: [u8; 1],
    in_summary: bool,
}

impl Blkparse {
    /// Takes events of kind `event` for requests.
    pub(super) fn new(event: BlockEvent) -> Self {
        Self { event, action: [event.letter() as u8], in_summary: false }
    }

    /// Whether `line` may stand before the events.
    pub(super) fn is_preface(line: &[u8]) -> bool {
        line.starts_with(INPUT_FILE)
    }

    /// Whether `line` begins as an event does.
    pub(super) fn recognises(line: &[u8]) -> bool {
        let mut fields = Blanks::of(line, FIELDS);
        let mut next = || fields.find().unwrap_or_default();
        let [device, cpu, sequence, time, process, action, rwbs] =
            [next(), next(), next(), next(), next(), next(), next()];
        is_device(device)
            && [cpu, sequence, process].into_iter().all(is_number)
            && is_decimal(time, true)
            && (1..=2).contains(&action.len())
            && action.iter().all(u8::is_ascii_alphabetic)
            && is_rwbs(rwbs)
    }

    /// What a line says that is no event.
    fn remark(&mut self, line: &[u8], first: &[u8]) -> Result<Line<'static>, Fault> {
        // The summary begins with one of these and goes on to the end, or to the events of a file that was appended.
        self.in_summary |= first.starts_with(b"CPU") || first == b"Total";
        if self.in_summary || first.is_empty() || Self::is_preface(line) {
            return Ok(Line::Remark);
        }
        Err(wrong_word("device", first, "not MAJOR,MINOR as blkparse prints it by default"))
    }
}

impl LineFormat for Blkparse {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Blanks::of(line, FIELDS);
        let volume = fields.find().unwrap_or_default();
        if !is_device(volume) {
            return self.remark(line, volume);
        }
        self.in_summary = false;
        let [_cpu, _sequence, time, _process, action, rwbs] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        if action != self.action {
            return Ok(Line::Remark);
        }
        let ticks = decimal("time", time, PLACES)?;
        if !is_rwbs(rwbs) {
            return Err(wrong_word("RWBS", rwbs, "not the letters of a command"));
        }
        let Some(access) = access(rwbs) else { return Ok(Line::WithoutData) };
        let Some([sector, count]) = place(&mut fields)? else { return Ok(Line::WithoutData) };
        let (offset_bytes, bytes) = (sectors("sector", sector)?, sectors("sectors", count)?);
        if bytes == 0 {
            return Ok(Line::WithoutData);
        }
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }

    fn nothing(&self, file: &str) -> Option<TraceError> {
        Some(TraceError::NoEvents { file: file.into(), event: self.event.letter() })
    }
}

/// Whether `field` is `MAJOR,MINOR`.
#[inline]
fn is_device(field: &[u8]) -> bool {
    let Some(comma) = field.iter().position(|&byte| byte == b',') else { return false };
    is_number(&field[..comma]) && is_number(&field[comma + 1..])
}

#[inline]
fn is_rwbs(field: &[u8]) -> bool {
    !field.is_empty() && field.iter().all(u8::is_ascii_uppercase)
}

#[inline]
fn access(rwbs: &[u8]) -> Option<Access> {
    match rwbs {
        [b'R', ..] | [b'F', b'R', ..] => Some(Access::Read),
        [b'W', ..] | [b'F', b'W', ..] => Some(Access::Write),
        _ => None,
    }
}

/// The sector and the number of them; none where the process follows at once, or after the bytes of a packet command.
#[inline]
fn place<'a>(fields: &mut Blanks<'a>) -> Result<Option<[&'a [u8]; 2]>, Fault> {
    let sector = fields.next()?;
    if sector.starts_with(b"[") {
        return Ok(None);
    }
    match fields.next()? {
        b"+" => Ok(Some([sector, fields.next()?])),
        [b'(' | b'[', ..] if is_number(sector) => Ok(None),
        other => Err(wrong_word("what follows the sector", other, "not + and a number of sectors")),
    }
}
