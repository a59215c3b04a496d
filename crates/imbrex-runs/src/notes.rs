//! What a reader should know of runs before their numbers are compared: that a layer had nothing to clean, or that the
//! workload asks more of a disk than it can do.

use imbrex::plan::Why;
use imbrex_terminal::names::Names;
use imbrex_terminal::table::{bytes, milliseconds};

use crate::row::Row;

/// What makes a buffer too small for what is written, as a part of it. Most workloads write a few blocks again and again,
/// so a buffer of a tenth may hold all of them.
const SMALL_BUFFER: u64 = 64;
/// The smallest buffer that is proposed: below it every write is cleaned at once, and layers hardly differ.
const LEAST_BUFFER: u64 = 1 << 20;
/// By how many times longer a workload may have to be before a smaller drive is proposed instead.
const MUCH_LONGER: u64 = 1000;
/// A disk that lets requests wait so long, on average, has more to do than it can.
const LONG_WAIT_MS: f64 = 1000.0;

/// The notes, each a sentence or two. What was mended in a trace comes last.
#[must_use]
pub fn notes<'a>(rows: impl IntoIterator<Item = &'a Row>, names: &Names) -> Vec<String> {
    let rows: Vec<_> = rows.into_iter().collect();
    let mut notes: Vec<_> = rows.iter().filter_map(|row| overloaded(row, names)).collect();
    notes.extend(uncleaned(&rows));
    notes.extend(rows.iter().filter_map(|row| row.mended(names)));
    notes.dedup();
    notes
}

/// Says so if a conventional disk cannot serve the requests as they come.
fn overloaded(row: &Row, names: &Names) -> Option<String> {
    let mean = row.outcome.latency_ms.all.mean;
    let is_too_much = row.layer == "conventional" && (row.behind().is_some() || mean > LONG_WAIT_MS);
    (is_too_much && row.options.queue_depth.is_none() && !row.options.untimed).then(|| {
        format!(
            "{} overloads even a conventional disk, where a request waits {} on average: latencies say how long the \
             queue is. --queue-depth 1 ignores the trace's times and sends a request when the one before is done.",
            row.called(names),
            milliseconds(mean)
        )
    })
}

/// Which layers had nothing to clean, and what would change that.
fn uncleaned(rows: &[&Row]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows.iter().filter(|row| had_nothing_to_clean(row)) {
        let remedy = remedy(row);
        match groups.iter_mut().find(|(other, _)| *other == remedy) {
            Some((_, layers)) if layers.contains(&row.layer) => {}
            Some((_, layers)) => layers.push(row.layer),
            None => groups.push((remedy, vec![row.layer])),
        }
    }
    let said = |(remedy, layers): (String, Vec<&str>)| {
        format!("Nothing had to be cleaned by {}: there is room for all that was written. {remedy}", layers.join(", "))
    };
    groups.into_iter().map(said).collect()
}

/// Whether the layer moved no block and rewrote nothing though something was written. The conventional one never does.
fn had_nothing_to_clean(row: &Row) -> bool {
    let outcome = &row.outcome;
    let moved = |why: &Why| why.is_cleaning() && outcome.media_write_blocks.get(*why) > 0;
    let cleaned = outcome.rmw + outcome.rmw_free > 0 || Why::ALL.iter().any(moved);
    row.layer != "conventional" && outcome.host_write_blocks > 0 && !cleaned
}

/// What would make the layer clean.
fn remedy(row: &Row) -> String {
    let bytes_of = |blocks: u64| blocks * u64::from(row.block_bytes);
    let (written, buffer) = (bytes_of(row.outcome.host_write_blocks), bytes_of(row.buffer_blocks));
    let small = 1 << (written / SMALL_BUFFER).max(1).ilog2();
    let room = match row.buffer {
        Some(_) if (LEAST_BUFFER..buffer).contains(&small) => {
            return format!("--buffer {} is small enough for that to change.", bytes(small).replace(' ', ""));
        }
        Some(_) => SMALL_BUFFER * LEAST_BUFFER,
        None => buffer.max(bytes_of(row.drive_blocks.saturating_sub(row.capacity_blocks))),
    };
    match room.div_ceil(written) {
        0 => "More --requests may change that.".to_owned(),
        times if times <= MUCH_LONGER => {
            format!("--requests {} may change that.", rounded_up(row.outcome.requests.saturating_mul(times)))
        }
        _ => "A smaller drive changes that: --capacity fit, with more --requests.".to_owned(),
    }
}

/// A number of requests as people write it, not below `requests`.
fn rounded_up(requests: u64) -> String {
    let power = 10_u64.pow(requests.max(1).ilog10());
    let round =
        [1, 2, 5, 10].map(|times| times * power).into_iter().find(|round| *round >= requests).unwrap_or(requests);
    match round {
        _ if round.is_multiple_of(1_000_000) => format!("{}M", round / 1_000_000),
        _ if round.is_multiple_of(1000) => format!("{}k", round / 1000),
        _ => round.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_rounded_up() {
        let all = [1, 999, 1000, 1001, 60_001, 760_000, 1_000_001, 9_000_000].map(rounded_up);
        assert_eq!(all, ["1", "1k", "1k", "2k", "100k", "1M", "2M", "10M"]);
    }
}
