//! FIU's traces with digests (SNIA IOTTA 391): one request a line, `time pid process lba size type major minor digest…`
//! between blanks; time in nanoseconds, address and size in blocks of 512 bytes, type `R` or `W`.
//!
//! A volume is `MAJOR MINOR`, with the blank that stands between them. The name of a process may have blanks, so its end
//! is where two numbers, a type and two numbers follow. Digests, of which a line may have several, are not looked at.

use super::fields::{access_letter, is_letter, is_number, number, sectors, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use super::{Fault, Problem};

/// Words that the name of a process has at most: it is 15 bytes long.
const NAME_WORDS: usize = 8;

/// Reads FIU lines.
pub(super) struct Fiu;

/// Where the fields of a line stand, as far as the name of the process may reach.
struct Spans {
    spans: [(usize, usize); Spans::MOST],
    count: usize,
}

impl Spans {
    /// Before the name, the name, and five after it.
    const MOST: usize = 2 + NAME_WORDS + 5;

    fn of(line: &[u8]) -> Self {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let (mut found, mut from) = (Self { spans: [(0, 0); Self::MOST], count: 0 }, 0);
        while found.count < Self::MOST {
            let Some(start) = line[from..].iter().position(|byte| !is_blank(byte)).map(|at| from + at) else { break };
            from = line[start..].iter().position(is_blank).map_or(line.len(), |at| start + at);
            found.spans[found.count] = (start, from);
            found.count += 1;
        }
        found
    }

    fn field<'a>(&self, line: &'a [u8], at: usize) -> &'a [u8] {
        let (start, end) = self.spans[at];
        &line[start..end]
    }

    /// Which field is the address.
    fn address(&self, line: &[u8]) -> Option<usize> {
        let is = |at: usize| {
            let field = |next| self.field(line, at + next);
            [field(0), field(1), field(3), field(4)].into_iter().all(is_number) && is_letter(field(2))
        };
        (3..self.count.saturating_sub(4)).find(|at| is(*at))
    }
}

impl Fiu {
    /// Whether `line` is a time, a process by number and name, a place, a letter and a device.
    pub(super) fn recognises(line: &[u8]) -> bool {
        let spans = Spans::of(line);
        spans.address(line).is_some() && [0, 1].into_iter().all(|at| is_number(spans.field(line, at)))
    }
}

impl LineFormat for Fiu {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let spans = Spans::of(line);
        if spans.count < 8 {
            return Err(Problem::Fields { expected: "at least 8 blank-separated", found: spans.count }.into());
        }
        let ticks = number("time", spans.field(line, 0))?;
        // Without such a place, the fields of a name without blanks say what is wrong.
        let at = spans.address(line).unwrap_or(3);
        let offset_bytes = sectors("lba", spans.field(line, at))?;
        let bytes = sectors("size", spans.field(line, at + 1))?;
        let access = access_letter("type", spans.field(line, at + 2))?;
        let [major, minor] = [at + 3, at + 4];
        if ![major, minor].into_iter().all(|at| is_number(spans.field(line, at))) {
            return Err(wrong_word("device", spans.field(line, major), "not a major and a minor number"));
        }
        let volume = &line[spans.spans[major].0..spans.spans[minor].1];
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}
