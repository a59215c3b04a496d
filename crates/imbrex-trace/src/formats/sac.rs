//! The `.req` files of the authors of SAC and PORE: one request a line, `action number block` between blanks; action 0
//! for a read and 1 for a write, each of one block of 4096 bytes. Their program does not look at the number.
//!
//! There are no times and no volumes: all requests arrive at once.

use super::Fault;
use super::fields::{Blanks, is_number, number, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use super::too_large;
use imbrex_core::block::Access;

const BLOCK_BYTES: u64 = 4096;
/// Lines from which on their form says something.
const TELLING_LINES: usize = 10;

/// Reads SAC's requests.
pub(super) struct Sac;

impl Sac {
    /// Whether `lines` are many and all of three numbers, the first 0 or 1.
    pub(super) fn recognises(lines: &[&[u8]]) -> bool {
        let fits = |line: &&[u8]| {
            let mut fields = Blanks::of(line, "");
            let mut next = || fields.find().unwrap_or_default();
            let [action, other, block] = [next(), next(), next()];
            fields.end().is_ok() && matches!(action, b"0" | b"1") && is_number(other) && is_number(block)
        };
        lines.len() >= TELLING_LINES && lines.iter().all(fits)
    }
}

impl LineFormat for Sac {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Blanks::of(line, "3 blank-separated");
        let [action, _, block] = [fields.next()?, fields.next()?, fields.next()?];
        fields.end()?;
        let access = match action {
            b"0" => Access::Read,
            b"1" => Access::Write,
            _ => return Err(wrong_word("action", action, "neither 0 (read) nor 1 (write)")),
        };
        let block = number("block", block)?;
        let offset_bytes = block.checked_mul(BLOCK_BYTES).ok_or_else(|| too_large("block", block))?;
        Ok(Line::Request(LineRequest { volume: b"", ticks: 0, access, offset_bytes, bytes: BLOCK_BYTES }))
    }
}
