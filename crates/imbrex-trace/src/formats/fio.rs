//! fio's iolog: the line `fio version 2 iolog` or `fio version 3 iolog`, then one action a line, with blanks between
//! the fields.
//!
//! | version | files | the disk |
//! |---|---|---|
//! | 2 | `FILE add\|open\|close` | `FILE ACTION OFFSET LENGTH` |
//! | 3 | `TIME FILE add\|open\|close` | `TIME FILE ACTION OFFSET LENGTH` |
//!
//! Offset and length are in bytes, times in microseconds since the log began. `read`, `write` and `trim` are requests;
//! `sync`, `datasync`, `syncfs` and `sync_file_range` are commands without data. Version 2 knows time only from its
//! action `wait`, whose offset is the microseconds to pass since the `wait` before; below 100 they are not waited for,
//! as fio's manual has it. What stands between two waits arrives at once. Version 3 has no `wait`. A volume is a file.

use super::fields::{Blanks, number, text, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use super::{Fault, Problem, too_large};
use imbrex_core::block::Access;

/// The shortest wait that is one.
const SHORTEST_WAIT_US: u64 = 100;

/// Reads actions.
#[derive(Default)]
pub(super) struct Fio {
    /// None before the first line.
    version: Option<Version>,
    /// Microseconds waited, in version 2.
    waited: u64,
}

#[derive(Copy, Clone, PartialEq)]
enum Version {
    Two,
    Three,
}

impl Fio {
    /// Whether `line` begins a log, be it of a known version or not.
    pub(super) fn recognises(line: &[u8]) -> bool {
        line.starts_with(b"fio version ") && line.trim_ascii_end().ends_with(b" iolog")
    }

    fn wait<'a>(&mut self, duration: &[u8]) -> Result<Line<'a>, Fault> {
        let us = number("wait", duration)?;
        if us >= SHORTEST_WAIT_US {
            self.waited = self.waited.checked_add(us).ok_or_else(|| too_large("wait", us))?;
        }
        Ok(Line::Remark)
    }
}

impl LineFormat for Fio {
    const TICK_NS: u64 = 1_000;

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let Some(version) = self.version else {
            self.version = Some(version(line)?);
            return Ok(Line::Remark);
        };
        let (mut fields, ticks) = match version {
            Version::Two => (Blanks::of(line, "4 blank-separated"), self.waited),
            Version::Three => {
                let mut fields = Blanks::of(line, "5 blank-separated");
                let Some(time) = fields.find() else { return Ok(Line::Remark) };
                (fields, number("time", time)?)
            }
        };
        let Some(volume) = fields.find() else { return Ok(Line::Remark) };
        let access = match fields.next()? {
            b"read" => Access::Read,
            b"write" => Access::Write,
            b"trim" => Access::Trim,
            b"sync" | b"datasync" | b"syncfs" | b"sync_file_range" => return Ok(Line::WithoutData),
            b"add" | b"open" | b"close" => return Ok(Line::Remark),
            b"wait" if version == Version::Two => return self.wait(fields.next()?),
            b"wait" => return Err(wrong_word("action", b"wait", "which version 3 does not have")),
            other => return Err(wrong_word("action", other, "none that fio writes")),
        };
        let [offset, length] = [fields.next()?, fields.next()?];
        fields.end()?;
        let offset_bytes = number("offset", offset)?;
        let bytes = number("length", length)?;
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}

fn version(line: &[u8]) -> Result<Version, Fault> {
    match line.trim_ascii_end() {
        b"fio version 2 iolog" => Ok(Version::Two),
        b"fio version 3 iolog" => Ok(Version::Three),
        other => Err(Problem::IologVersion { text: text(other) }.into()),
    }
}
