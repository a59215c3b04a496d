//! All statistics against a plain computation from their definitions, and a few by hand.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::{Compression, TraceFormat, TraceInfo};
use caches::MissRatios;
use jumps::JumpShares;
use updates::{PeriodClass, PeriodShare};

struct Given {
    info: TraceInfo,
    requests: Vec<TraceRequest>,
}

impl TraceSource for Given {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.requests.drain(..limit.min(self.requests.len())));
        Ok(())
    }

    fn irregularities(&self) -> Irregularities {
        Irregularities { out_of_order: 3, zero_size: 2, without_data: 1, ..Irregularities::default() }
    }
}

fn statistics(requests: &[TraceRequest], options: &StatisticsOptions) -> TraceStatistics {
    let info =
        TraceInfo { name: "given".into(), format: TraceFormat::Msr, compression: Compression::None, synthetic: false };
    TraceStatistics::of(&mut Given { info, requests: requests.to_vec() }, options).unwrap()
}

fn of(requests: &[TraceRequest], access: Access) -> Vec<TraceRequest> {
    requests.iter().filter(|request| request.access == access).copied().collect()
}

fn blocks(requests: &[TraceRequest]) -> Vec<u64> {
    let blocks = |r: &TraceRequest| r.offset_bytes / 4096..=(r.offset_bytes + u64::from(r.bytes) - 1) / 4096;
    requests.iter().flat_map(blocks).collect()
}

fn bytes(requests: &[TraceRequest]) -> u64 {
    requests.iter().map(|request| u64::from(request.bytes)).sum()
}

fn distinct(blocks: &[u64]) -> u64 {
    blocks.iter().collect::<BTreeSet<_>>().len() as u64
}

fn part(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The periods of each updated block, by looking through everything written since.
fn plain_periods(written: &[u64]) -> BTreeMap<u64, Vec<u64>> {
    let mut periods: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (i, block) in written.iter().enumerate() {
        if let Some(before) = written[..i].iter().rposition(|other| other == block) {
            periods.entry(*block).or_default().push(distinct(&written[before + 1..i]));
        }
    }
    periods
}

fn plain_share(of: &[&Vec<u64>], all: usize) -> PeriodShare {
    let updated =
        |is: fn(usize) -> bool| part(of.iter().filter(|periods| is(periods.len())).count() as u64, of.len() as u64);
    PeriodShare {
        blocks: of.len() as u64,
        share: part(of.len() as u64, all as u64),
        updated_once: updated(|n| n == 1),
        updated_twice: updated(|n| n == 2),
        updated_more: updated(|n| n > 2),
    }
}

fn plain_update_periods(written: &[u64], buffer_blocks: u64) -> UpdatePeriods {
    let periods = plain_periods(written);
    let mean = |periods: &Vec<u64>| periods.iter().sum::<u64>() as f64 / periods.len() as f64;
    let (short, long): (Vec<_>, Vec<_>) = periods.values().partition(|p| mean(p) <= buffer_blocks as f64);
    let all: Vec<u64> = periods.values().flatten().copied().collect();
    let longest = all.iter().max().map_or(0, |longest| longest + 1);
    let classes = (0..).map(|class| if class == 0 { 0..1 } else { 1u64 << (class - 1)..1 << class });
    let class = |class: std::ops::Range<u64>| PeriodClass {
        updates: all.iter().filter(|period| class.contains(period)).count() as u64,
        blocks: periods.values().filter(|p| class.contains(&(mean(p) as u64))).count() as u64,
    };
    UpdatePeriods {
        buffer_blocks,
        updates: all.len() as u64,
        mean: part(all.iter().sum(), all.len() as u64),
        updated_blocks: periods.len() as u64,
        short: plain_share(&short, periods.len()),
        long: plain_share(&long, periods.len()),
        distribution: classes.take_while(|class| class.start < longest).map(class).collect(),
    }
}

fn plain_windows(distinct: usize, writes: &[TraceRequest]) -> WindowMeans {
    let blocks: Vec<_> = writes.iter().map(|write| blocks(&[*write])).collect();
    windows::tests::plain(distinct, &blocks)
}

fn plain_jumps(requests: &[TraceRequest]) -> JumpShares {
    let jump = |pair: &[TraceRequest]| i128::from(pair[1].offset_bytes) - i128::from(pair[0].end_bytes());
    let jumps: Vec<_> = requests.windows(2).map(jump).collect();
    let within = |most: i128| part(jumps.iter().filter(|jump| jump.abs() <= most).count() as u64, jumps.len() as u64);
    JumpShares { within_64kib: within(65_536), within_1mib: within(1 << 20), within_256mib: within(1 << 28) }
}

fn plain(requests: &[TraceRequest], percent: f64, buffer_blocks: u64) -> TraceStatistics {
    let [reads, writes, trims] = [Access::Read, Access::Write, Access::Trim].map(|access| of(requests, access));
    let both: Vec<TraceRequest> = requests.iter().filter(|r| r.access != Access::Trim).copied().collect();
    let [n, reads_n, writes_n, both_n] = [requests, &reads, &writes, &both].map(|r| r.len() as u64);
    let range_bytes = both.iter().map(TraceRequest::end_bytes).max().unwrap_or(0);
    let lowest = both.iter().map(|r| r.offset_bytes).min().unwrap_or(0);
    let written = blocks(&writes);
    let (written_n, written_distinct) = (written.len() as u64, distinct(&written));
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    written.iter().for_each(|block| *times.entry(*block).or_default() += 1);
    let hot: Vec<u64> = times.values().copied().filter(|times| *times > 1).collect();
    let offsets: Vec<u64> = both.iter().map(|r| r.offset_bytes).collect();
    let duration_seconds = requests.last().map_or(0.0, |last| last.arrival_ns as f64 / 1e9);
    TraceStatistics {
        requests: n,
        reads: reads_n,
        writes: writes_n,
        trims: trims.len() as u64,
        write_ratio: part(writes_n, both_n),
        read_bytes: bytes(&reads),
        written_bytes: bytes(&writes),
        read_gib: bytes(&reads) as f64 / f64::powi(2.0, 30),
        written_gib: bytes(&writes) as f64 / f64::powi(2.0, 30),
        blocks_4k: blocks(&both).len() as u64,
        written_blocks_4k: written_n,
        read_len_sectors: part(bytes(&reads), reads_n) / 512.0,
        write_len_sectors: part(bytes(&writes), writes_n) / 512.0,
        aligned_ratio: part(
            both.iter().filter(|r| r.offset_bytes % 4096 == 0 && r.bytes % 4096 == 0).count() as u64,
            both_n,
        ),
        duration_seconds,
        requests_per_second: if duration_seconds == 0.0 { 0.0 } else { n as f64 / duration_seconds },
        irregularities: Irregularities { out_of_order: 3, zero_size: 2, without_data: 1, ..Irregularities::default() },
        range_bytes,
        range_gb: range_bytes as f64 / 1e9,
        range_zones: range_bytes.div_ceil(1 << 28),
        span_bytes: range_bytes - lowest,
        footprint_blocks: distinct(&blocks(&both)),
        footprint_read_blocks: distinct(&blocks(&reads)),
        footprint_written_blocks: written_distinct,
        footprint_gb: written_distinct as f64 * 4096.0 / 1e9,
        update_ratio: part(written_n - written_distinct, written_n),
        hot_lba_share: part(hot.len() as u64, written_distinct),
        hot_write_share: part(hot.iter().sum(), written_n),
        window_1024: plain_windows(1024, &writes),
        window_4096: plain_windows(4096, &writes),
        jumps: plain_jumps(&both),
        unique_offsets: distinct(&offsets),
        miss: vec![plain_misses(&offsets, percent)],
        update_period: plain_update_periods(&written, buffer_blocks),
    }
}

/// The policies have their own tests; here it matters that they are run on the right offsets.
fn plain_misses(offsets: &[u64], percent: f64) -> MissRatios {
    let seen: BTreeSet<u64> = offsets.iter().copied().collect();
    let numbers: BTreeMap<u64, u32> = seen.iter().zip(0..).map(|(offset, number)| (*offset, number)).collect();
    let numbers: Vec<u32> = offsets.iter().map(|offset| numbers[offset]).collect();
    let sequence = Sequence { numbers, distinct: seen.len() as u32 };
    MissRatios::of(&sequence, percent, &mut |_| Ok::<_, ()>(())).unwrap()
}

prop_compose! {
    /// A request at one of a few places: near each other, across borders of pages and lines, and far away.
    fn request()(
        kind in 0u8..10, place in 0u64..6, at in 0u64..200, bytes in 1u32..300_000, whole: bool, far in 0u64..4, gap in 0u64..3,
    ) -> (u64, TraceRequest) {
        let base = [0, 0, 62 * 4096, 1 << 33, 1 << 50, u64::MAX - (1 << 40)][place as usize];
        let (offset, bytes) = if whole { (at / 4 * 4096, bytes / 4096 * 4096 + 4096) } else { (at * 512, bytes % 9000 + 1) };
        let access = [Access::Read, Access::Write, Access::Trim][usize::from(kind > 3) + usize::from(kind > 8)];
        let offset_bytes = base / 4096 * 4096 + offset + if place == 3 { far << 18 } else { 0 };
        (gap * 1000, TraceRequest { arrival_ns: 0, offset_bytes, bytes, access })
    }
}

/// Lets each request arrive its gap after the one before.
fn arriving(requests: Vec<(u64, TraceRequest)>) -> Vec<TraceRequest> {
    let mut now = 0;
    let arrive = |(gap, request)| {
        now += gap;
        TraceRequest { arrival_ns: now, ..request }
    };
    requests.into_iter().map(arrive).collect()
}

proptest! {
    #[test]
    fn all_statistics_are_as_defined(
        requests in prop::collection::vec(request(), 0..120), percent in 1.0f64..100.0, buffer_blocks in 1u64..100,
    ) {
        let requests = arriving(requests);
        let options = StatisticsOptions { caches: vec![percent], buffer: BufferSize::Bytes(buffer_blocks * 4096) };
        prop_assert_eq!(statistics(&requests, &options), plain(&requests, percent, buffer_blocks));
    }
}

fn writes_of(blocks: &[u64]) -> Vec<TraceRequest> {
    let write =
        |block: &u64| TraceRequest { arrival_ns: 0, offset_bytes: block * 4096, bytes: 4096, access: Access::Write };
    blocks.iter().map(write).collect()
}

#[test]
fn update_periods_by_hand() {
    // 5 after 6 7, then after itself: a mean of 1. 6 after 7 5: 2. 7 is not updated.
    let options = StatisticsOptions { caches: Vec::new(), buffer: BufferSize::Bytes(4096) };
    let statistics = statistics(&writes_of(&[5, 6, 7, 5, 5, 6]), &options);
    let periods = &statistics.update_period;
    assert_eq!((periods.updates, periods.updated_blocks), (3, 2));
    assert_eq!((periods.short.blocks, periods.short.updated_twice), (1, 1.0));
    assert_eq!((periods.long.blocks, periods.long.updated_once), (1, 1.0));
    let shown: Vec<_> = periods.distribution.iter().map(|class| (class.updates, class.blocks)).collect();
    assert_eq!(shown, [(1, 0), (0, 1), (2, 1)]);
    assert_eq!(
        [statistics.update_ratio, statistics.hot_lba_share, statistics.hot_write_share],
        [0.5, 2.0 / 3.0, 5.0 / 6.0]
    );
}

#[test]
fn windows_and_jumps_by_hand() {
    // Writes of 1 MiB into zones in turn, with a read between that moves the head, and a trim that counts nowhere.
    let mut requests: Vec<TraceRequest> = (0..16u64)
        .map(|i| TraceRequest {
            arrival_ns: 0,
            offset_bytes: (i % 2) * (1 << 28) + (i / 2) * (1 << 20),
            bytes: 1 << 20,
            access: Access::Write,
        })
        .collect();
    let far = TraceRequest { arrival_ns: 0, offset_bytes: 1 << 40, bytes: 4096, access: Access::Read };
    requests.insert(8, far);
    requests.insert(3, TraceRequest { access: Access::Trim, ..far });
    let statistics = statistics(&requests, &StatisticsOptions::default());
    let window = |windows| WindowMeans {
        windows,
        effective_zones: Some(2.0),
        top_zone_share: Some(0.5),
        blocks_per_chunk: Some(16.0),
        writes_per_block: Some(1.0),
    };
    assert_eq!((statistics.window_1024, statistics.window_4096), (window(4), window(1)));
    // Two of 16 jumps lead to the read and back, eight a zone up less 1 MiB, six back by a zone.
    let jumps = JumpShares { within_64kib: 0.0, within_1mib: 0.0, within_256mib: 14.0 / 16.0 };
    assert_eq!(statistics.jumps, jumps);
}

#[test]
fn the_buffer_is_a_part_of_the_address_range() {
    let statistics = statistics(&writes_of(&[999, 0]), &StatisticsOptions::default());
    assert_eq!((statistics.range_bytes, statistics.range_zones), (1000 * 4096, 1));
    assert_eq!(statistics.update_period.buffer_blocks, 10);
}

#[test]
fn a_trace_of_nothing_has_no_ratios() {
    let statistics = statistics(&[], &StatisticsOptions::default());
    assert_eq!((statistics.requests, statistics.write_ratio, statistics.update_period.mean), (0, 0.0, 0.0));
    assert_eq!(statistics.miss[0].lru, 0.0);
    assert_eq!((statistics.window_1024, statistics.jumps), (WindowMeans::default(), JumpShares::default()));
}
