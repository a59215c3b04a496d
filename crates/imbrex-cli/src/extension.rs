//! `--extend`: space that a layer is asked for in the middle of a replay.

use imbrex::replay::{Extension, GrowthOutcome};
use imbrex::trace::TraceRange;
use imbrex_terminal::table::{bytes, count, milliseconds, seconds};

use crate::moment::{Moment, moment};
use crate::values::size;

/// `SIZE@MOMENT`.
#[derive(Copy, Clone, Debug)]
pub struct ExtensionArgument {
    bytes: u64,
    at: Moment,
}

impl ExtensionArgument {
    /// What is asked for, on a workload of this range.
    pub fn of(self, range: &TraceRange) -> Extension {
        Extension { bytes: self.bytes, at: self.at.of(range) }
    }
}

/// Reads one.
pub fn extension(text: &str) -> Result<ExtensionArgument, String> {
    let remedy = || "write a size and a moment, such as 25GiB@10%, 25GiB@1000 or 25GiB@1h".to_owned();
    let (bytes, at) = text.split_once('@').ok_or_else(remedy)?;
    Ok(ExtensionArgument { bytes: size(bytes)?, at: moment(at)? })
}

/// What became of it, as rows of a table.
pub fn facts(growth: &GrowthOutcome, block_bytes: u32) -> [(&'static str, String); 9] {
    [
        ("asked for after", seconds(growth.begun_s)),
        ("space gained", bytes(growth.gained_blocks * u64::from(block_bytes))),
        ("zones converted", count(growth.converted_zones)),
        ("until all was there", seconds(growth.seconds)),
        ("steps that were not interrupted", count(growth.steps)),
        ("all of them together", seconds(growth.step_seconds)),
        ("longest step", milliseconds(growth.longest_step_ms)),
        ("requests that came during one", count(growth.delayed_requests)),
        ("longest that one waited for its end", milliseconds(growth.longest_delay_ms)),
    ]
}
