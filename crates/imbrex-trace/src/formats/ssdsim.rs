//! SSDsim's and MQSim's ASCII traces: one request a line, `time device sector sectors operation` between blanks; time in
//! whole nanoseconds, sectors of 512 bytes, operation 0 for a write and 1 for a read.
//!
//! A volume is a device. A line looks like DiskSim's but for the unit of time, so only many lines tell the two apart.

use super::Fault;
use super::fields::{Blanks, is_number, number, sectors, wrong_word};
use super::lines::{Line, LineFormat, LineRequest};
use imbrex_core::block::Access;

/// Lines from which on their times say something.
const TELLING_LINES: usize = 10;
/// The least usual gap between stamps that tells nanoseconds. In milliseconds, half of the pauses of a trace would be of
/// ten seconds or more; in nanoseconds they are of 10 µs.
const TELLING_GAP: u64 = 10_000;

/// Reads lines of SSDsim and MQSim.
pub(super) struct SsdSim;

/// Reads the five fields as they may be read before the format is known.
fn fields(line: &[u8]) -> Option<[&[u8]; 5]> {
    let mut fields = Blanks::of(line, "");
    let found = [fields.find()?, fields.find()?, fields.find()?, fields.find()?, fields.find()?];
    fields.end().ok()?;
    Some(found)
}

impl SsdSim {
    /// Whether `line` is five whole numbers, which could be milliseconds of DiskSim as well.
    pub(super) fn may_be(line: &[u8]) -> bool {
        fields(line).is_some_and(|fields| fields.into_iter().all(is_number))
    }

    /// Whether the times in `lines` are nanoseconds by all evidence: whole numbers far apart, on lines that all fit.
    pub(super) fn recognises(lines: &[&[u8]]) -> bool {
        let stamp = |line: &&[u8]| {
            let [time, .., operation] = fields(line).filter(|fields| fields.iter().all(|field| is_number(field)))?;
            matches!(operation, b"0" | b"1").then(|| number("time", time).ok()).flatten()
        };
        let Some(stamps) = lines.iter().map(stamp).collect::<Option<Vec<_>>>() else { return false };
        let mut gaps: Vec<_> = stamps.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        gaps.retain(|gap| *gap > 0);
        gaps.sort_unstable();
        stamps.len() >= TELLING_LINES && gaps.get(gaps.len() / 2).is_some_and(|usual| *usual >= TELLING_GAP)
    }
}

impl LineFormat for SsdSim {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let mut fields = Blanks::of(line, "5 blank-separated");
        let [time, volume, sector, count, operation] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?];
        fields.end()?;
        let ticks = number("time", time)?;
        number("device", volume)?;
        let offset_bytes = sectors("sector", sector)?;
        let bytes = sectors("sectors", count)?;
        let access = match operation {
            b"0" => Access::Write,
            b"1" => Access::Read,
            _ => return Err(wrong_word("operation", operation, "neither 0 (write) nor 1 (read)")),
        };
        Ok(Line::Request(LineRequest { volume, ticks, access, offset_bytes, bytes }))
    }
}
