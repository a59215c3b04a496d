//! The statistics of a trace as lines of a table.

use imbrex::buffer_size::BufferSize;
use imbrex::trace::statistics::TraceStatistics;
use imbrex::trace::statistics::updates::{UpdatePeriods, period_name};
use imbrex::trace::statistics::windows::WindowMeans;
use imbrex_terminal::table::{bytes, count, number, percent, seconds};

/// A statistic as it is shown.
pub type Line = (String, String);

pub fn line(name: &str, value: String) -> Line {
    (name.to_owned(), value)
}

/// What is shown of a trace but its update periods; of all traces the same in the same order.
pub fn of(statistics: &TraceStatistics) -> Vec<Line> {
    [volume(statistics), addresses(statistics), rewriting(statistics), placement(statistics), locality(statistics)]
        .concat()
}

/// The update periods against a buffer, by `classes` classes; of all traces the same in the same order.
pub fn periods(periods: &UpdatePeriods, buffer: BufferSize, classes: usize) -> Vec<Line> {
    let mut lines = vec![
        line("mean update period, blocks", number(periods.mean)),
        line(&format!("buffer of {}, blocks", buffer), count(periods.buffer_blocks)),
        line("updated blocks", count(periods.updated_blocks)),
    ];
    for (name, share) in [("short", &periods.short), ("long", &periods.long)] {
        lines.push((format!("with {name} periods"), percent(share.share)));
        let updated =
            [("once", share.updated_once), ("twice", share.updated_twice), ("more often", share.updated_more)];
        lines.extend(updated.map(|(often, part)| (format!("  {name}, updated {often}"), percent(part))));
    }
    lines.extend((0..classes).map(|class| {
        let here = periods.distribution.get(class);
        let updates = here.map_or(0, |class| class.updates);
        (format!("updates after {} blocks", period_name(class)), count(updates))
    }));
    lines
}

fn volume(s: &TraceStatistics) -> Vec<Line> {
    let mended = &s.irregularities;
    vec![
        line("requests", count(s.requests)),
        line("reads", count(s.reads)),
        line("writes", count(s.writes)),
        line("trims", count(s.trims)),
        line("write ratio", percent(s.write_ratio)),
        line("read, GiB", number(s.read_gib)),
        line("written, GiB", number(s.written_gib)),
        line("blocks read and written", count(s.blocks_4k)),
        line("mean read, sectors of 512 B", number(s.read_len_sectors)),
        line("mean write, sectors of 512 B", number(s.write_len_sectors)),
        line("aligned to 4 KiB", percent(s.aligned_ratio)),
        line("duration", seconds(s.duration_seconds)),
        line("requests per second", number(s.requests_per_second)),
        line("out of order", count(mended.out_of_order)),
        line("of no bytes, left out", count(mended.zero_size)),
        line("without data, left out", count(mended.without_data)),
        line("put in order of time", count(mended.reordered)),
        line("of other volumes, left out", count(mended.other_volumes)),
    ]
}

fn addresses(s: &TraceStatistics) -> Vec<Line> {
    vec![
        line("address range", bytes(s.range_bytes)),
        line("address range, GB", number(s.range_gb)),
        line("address range, zones of 256 MiB", count(s.range_zones)),
        line("lowest to highest byte", bytes(s.span_bytes)),
        line("distinct blocks", count(s.footprint_blocks)),
        line("distinct blocks read", count(s.footprint_read_blocks)),
        line("distinct blocks written", count(s.footprint_written_blocks)),
        line("distinct blocks written, GB", number(s.footprint_gb)),
        line("distinct start offsets", count(s.unique_offsets)),
    ]
}

fn rewriting(s: &TraceStatistics) -> Vec<Line> {
    vec![
        line("block writes", count(s.written_blocks_4k)),
        line("of blocks written before", percent(s.update_ratio)),
        line("blocks written more than once", percent(s.hot_lba_share)),
        line("block writes to those", percent(s.hot_write_share)),
    ]
}

fn placement(s: &TraceStatistics) -> Vec<Line> {
    let jumps = vec![
        line("jumps of at most 64 KiB", percent(s.jumps.within_64kib)),
        line("jumps of at most 1 MiB", percent(s.jumps.within_1mib)),
        line("jumps of at most 256 MiB", percent(s.jumps.within_256mib)),
    ];
    [window(1024, &s.window_1024), window(4096, &s.window_4096), jumps].concat()
}

/// The windows of `blocks` blocks. Without one there is no figure.
fn window(blocks: u64, means: &WindowMeans) -> Vec<Line> {
    let shown = |figure: Option<f64>, show: fn(f64) -> String| figure.map_or("-".to_owned(), show);
    vec![
        line(&format!("windows of {} blocks", count(blocks)), count(means.windows)),
        line("  effective zones of 256 MiB", shown(means.effective_zones, number)),
        line("  share of the top zone", shown(means.top_zone_share, percent)),
        line("  blocks per chunk of 64 KiB", shown(means.blocks_per_chunk, number)),
        line("  writes per block", shown(means.writes_per_block, number)),
    ]
}

fn locality(s: &TraceStatistics) -> Vec<Line> {
    let misses = s.miss.iter().flat_map(|miss| {
        let name = |policy| format!("{policy} misses, cache of {}%", miss.percent);
        [("LRU", miss.lru), ("ARC", miss.arc), ("SIEVE", miss.sieve)]
            .map(|(policy, ratio)| (name(policy), percent(ratio)))
    });
    misses.collect()
}
