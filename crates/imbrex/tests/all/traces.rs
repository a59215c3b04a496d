//! The readers on real traces, where they are at hand: their owners' terms forbid shipping them. `samples.rs` is what
//! the repository itself can hold the readers against.

use std::collections::HashSet;

use imbrex::block::Access;
use imbrex::trace::statistics::windows::WindowMeans;
use imbrex::trace::statistics::{StatisticsOptions, TraceStatistics};
use imbrex::trace::{
    BlockEvent, FileOptions, Irregularities, TraceFile, TraceFormat, TraceRange, TraceRequest, Workload,
};
use test_material::beside;

/// Traces in a folder of their own.
const MORE: [&str; 4] =
    ["desktop.disksim.zst", "ssdsim-example.ascii.zst", "tpcc-small.mqsim.zst", "hp-ajw-1week.srt.zst"];

const GIB: f64 = (1u64 << 30) as f64;

/// A trace; `None`, and a word about it, where the traces are missing.
fn workload(file: &str, options: FileOptions) -> Option<Workload> {
    let folder =
        beside(&format!("the readers on {file}"), if MORE.contains(&file) { "more-traces" } else { "traces" })?;
    Some(Workload::File(TraceFile { options, ..folder.join(file).into() }))
}

/// A clean trace's requests and what a range pass says of it.
fn load(file: &str, format: TraceFormat) -> Option<(Vec<TraceRequest>, TraceRange)> {
    let (requests, range) = load_with(file, format, FileOptions::default())?;
    assert_eq!(range.irregularities, Irregularities::default());
    Some((requests, range))
}

fn load_with(file: &str, format: TraceFormat, options: FileOptions) -> Option<(Vec<TraceRequest>, TraceRange)> {
    let workload = workload(file, options)?;
    let range = workload.range().expect("a real trace");
    let mut source = workload.open().expect("a real trace");
    assert_eq!(source.info().format, format);
    assert!(!source.info().is_synthetic());
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, 1000).expect("a real trace");
        if batch.is_empty() {
            break;
        }
        requests.append(&mut batch);
    }
    assert_eq!(requests.len() as u64, range.requests);
    Some((requests, range))
}

fn statistics(workload: &Workload) -> TraceStatistics {
    let mut source = workload.open().expect("a real trace");
    TraceStatistics::of(&mut *source, &StatisticsOptions::default()).expect("a real trace")
}

fn writes(requests: &[TraceRequest]) -> usize {
    requests.iter().filter(|request| request.access == Access::Write).count()
}

#[test]
fn msr_rsrch_1() {
    let Some((requests, range)) = load("msr-rsrch_1.csv.zst", TraceFormat::Msr) else { return };
    assert_eq!((requests.len(), writes(&requests)), (13_780, 13_738));
    assert_eq!((range.range_bytes as f64 / GIB).floor(), 178.0);
    let days = range.duration_ns as f64 / 86_400e9;
    assert!((6.5..7.5).contains(&days), "{days} days");
}

#[test]
fn msr_wdev_1() {
    let Some((requests, _)) = load("msr-wdev_1.csv", TraceFormat::Msr) else { return };
    assert_eq!((requests.len(), writes(&requests)), (1_055, 1_055));
}

#[test]
fn msr_hm_0_excerpt() {
    let Some((requests, range)) = load("msr-hm_0-excerpt.csv.gz", TraceFormat::Msr) else { return };
    assert_eq!((requests.len(), writes(&requests)), (7_016, 1_196));
    assert_eq!((range.duration_ns as f64 / 1e9).round(), 148.0);
}

#[test]
fn msr_hm_1_writes() {
    let Some((requests, _)) = load("msr-hm_1-writes.csv.zst", TraceFormat::Msr) else { return };
    assert_eq!((requests.len(), writes(&requests)), (13_069, 13_069));
}

#[test]
fn cloudphysics() {
    let Some((requests, _)) = load("cloudphysics.vscsi.zst", TraceFormat::Vscsi1) else { return };
    assert_eq!((requests.len(), writes(&requests)), (113_872, 66_898));
    let writes = || requests.iter().filter(|request| request.access == Access::Write);
    // 2.24 GiB, or 2.28 with every length rounded up to 4 KiB. An independent decoder counts the same.
    assert_eq!(writes().map(|request| u64::from(request.bytes)).sum::<u64>(), 2_408_565_760);
    let mut seen = HashSet::new();
    let pages: Vec<_> = writes().flat_map(|request| request.blocks(4096).iter()).collect();
    let rewrites = pages.iter().filter(|&&page| !seen.insert(page)).count();
    assert_eq!((pages.len(), rewrites), (656_169, 447_473));
}

/// What is said of these traces elsewhere, and what an independent decoder counts.
#[test]
fn statistics_of_cloudphysics() {
    let Some(workload) = workload("cloudphysics.vscsi.zst", FileOptions::default()) else { return };
    let statistics = statistics(&workload);
    assert_eq!((statistics.requests, statistics.reads, statistics.writes), (113_872, 46_974, 66_898));
    assert_eq!((statistics.written_bytes, statistics.written_blocks_4k), (2_408_565_760, 656_169));
    assert_eq!(statistics.footprint_written_blocks, 656_169 - 447_473);
    assert_eq!(statistics.update_period.updates, 447_473);
    assert_eq!(format!("{:.3} {:.2}", statistics.write_ratio, statistics.update_ratio), "0.587 0.68");
    assert_eq!(statistics.duration_seconds.round(), 7200.0);
}

#[test]
fn statistics_of_rsrch_1() {
    let Some(workload) = workload("msr-rsrch_1.csv.zst", FileOptions::default()) else { return };
    let statistics = statistics(&workload);
    assert_eq!((statistics.requests, statistics.writes), (13_780, 13_738));
    assert_eq!(format!("{:.3}", statistics.write_ratio), "0.997");
    assert_eq!((statistics.range_bytes >> 30, statistics.range_zones), (178, 714));
    let all = statistics.update_period.short.blocks + statistics.update_period.long.blocks;
    assert_eq!(all, statistics.update_period.updated_blocks);
}

/// The windows of a trace, and the table of docs/trace-stat.md: blocks per chunk, effective zones, the top zone's share
/// and writes per block. The first three of each trace's window that an independent program measured too, rounded to
/// the digits that it gives, are what it says: 3.2, 5.2, .40 of hm_0; 10.2, 1.8, .76; 10.9, 2.9, .54; 14.3, 2.6, .65.
#[test]
fn where_writes_land() {
    let known = [
        ("msr-hm_0-excerpt.csv.gz", ["1: 3.15 5.18 0.397 1.65", "0:"]),
        ("msr-hm_1-writes.csv.zst", ["52: 9.48 1.53 0.821 1.26", "12: 10.15 1.75 0.758 1.23"]),
        ("msr-rsrch_1.csv.zst", ["36: 9.14 2.20 0.671 1.12", "7: 10.90 2.85 0.536 1.22"]),
        ("msr-wdev_1.csv", ["0:", "0:"]),
        ("cloudphysics.vscsi.zst", ["564: 14.02 1.78 0.842 1.13", "140: 14.28 2.55 0.653 1.12"]),
    ];
    let shown = |window: WindowMeans| {
        let figures = window.blocks_per_chunk.zip(window.effective_zones);
        let others = window.top_zone_share.zip(window.writes_per_block);
        let figures = figures
            .zip(others)
            .map(|((fill, zones), (top, writes))| format!(" {fill:.2} {zones:.2} {top:.3} {writes:.2}"));
        format!("{}:{}", window.windows, figures.unwrap_or_default())
    };
    for (file, windows) in known {
        let Some(workload) = workload(file, FileOptions::default()) else { continue };
        let statistics = statistics(&workload);
        assert_eq!([statistics.window_1024, statistics.window_4096].map(shown), windows, "{file}");
    }
}

/// The jumps of at most 64 KiB, 1 MiB and 256 MiB, as a program counts them that shares nothing with this one.
#[test]
fn how_far_requests_jump() {
    let known = [
        ("msr-hm_0-excerpt.csv.gz", "0.310 0.503 0.661"),
        ("msr-hm_1-writes.csv.zst", "0.066 0.256 0.651"),
        ("msr-rsrch_1.csv.zst", "0.220 0.463 0.739"),
        ("msr-wdev_1.csv", "0.369 0.376 0.891"),
        ("cloudphysics.vscsi.zst", "0.322 0.364 0.594"),
    ];
    for (file, shares) in known {
        let Some(workload) = workload(file, FileOptions::default()) else { continue };
        let jumps = statistics(&workload).jumps;
        let measured = [jumps.within_64kib, jumps.within_1mib, jumps.within_256mib];
        assert_eq!(measured.map(|share| format!("{share:.3}")).join(" "), shares, "{file}");
    }
}

#[test]
fn financial1() {
    let Some((requests, range)) = load("financial1-head.disksim.zst", TraceFormat::DiskSim) else { return };
    assert_eq!((requests.len(), writes(&requests)), (50_000, 20_801));
    assert_eq!(requests[2].arrival_ns, 52_429_000);
    assert!(range.range_bytes <= (1_002_911 + 1024) * 512, "{}", range.range_bytes);
}

#[test]
fn hadoop() {
    let file = "hadoop.blkparse.zst";
    let Some((requests, range)) = load(file, TraceFormat::Blkparse) else { return };
    assert_eq!((requests.len(), writes(&requests)), (15_524, 15_444));
    assert_eq!(range.duration_ns, 9_378_427_326 - 1_850);
    let issued = FileOptions { event: Some(BlockEvent::Issued), ..FileOptions::default() };
    let (requests, range) = load_with(file, TraceFormat::Blkparse, issued).expect("a real trace");
    assert_eq!((requests.len(), range.irregularities), (170, Irregularities::default()));
}

#[test]
fn systor17() {
    let options = FileOptions::default();
    let Some((requests, range)) = load_with("systor17-sample.csv", TraceFormat::Systor17, options) else { return };
    assert_eq!(requests.len(), 999);
    assert_eq!(range.irregularities, Irregularities { reordered: 287, ..Irregularities::default() });
    // The second line of the file was the first to arrive.
    assert_eq!((requests[0].offset_bytes, requests[0].bytes), (4_256_049_987_072, 122_880));
}

#[test]
fn tencent() {
    let file = "tencent-cbs-sample.csv.zst";
    let Some((first, range)) = load_with(file, TraceFormat::Tencent, FileOptions::default()) else { return };
    assert_eq!((range.requests, range.irregularities.other_volumes), (669, 20_000 - 669));
    assert_eq!(first[0].offset_bytes, 73_267_936 * 512);
    let other = FileOptions { volume: Some("1063".into()), ..FileOptions::default() };
    let (other, range) = load_with(file, TraceFormat::Tencent, other).expect("a real trace");
    assert_eq!(range.requests + range.irregularities.other_volumes, 20_000);
    assert_eq!(other[0].offset_bytes, 13_896_880 * 512);
}

/// What is read of a trace of several volumes: requests, writes, ns from the first to the last, bytes up to the highest
/// one touched, requests of other volumes. Another program that shares nothing with this one counts the same.
#[test]
fn traces_of_several_volumes() {
    let known = [
        ("ssdsim-example.ascii.zst", TraceFormat::SsdSim, None, "19: 1435 0 112590843750 42925568 8565"),
        ("tpcc-small.mqsim.zst", TraceFormat::SsdSim, None, "12: 491 182 133272000 193384723456 6508"),
        ("hp-ajw-1week.srt.zst", TraceFormat::Srt, None, "0: 42252 31365 603064553613000 334876672 2267"),
        ("hp-ajw-1week.srt.zst", TraceFormat::Srt, Some("1"), "1: 2267 114 603007304115000 1710080 42252"),
    ];
    for (file, format, volume, figures) in known {
        let options = FileOptions { volume: volume.map(str::to_owned), ..FileOptions::default() };
        let Some((requests, range)) = load_with(file, format, options.clone()) else { continue };
        let other_volumes = range.irregularities.other_volumes;
        assert_eq!(range.irregularities, Irregularities { other_volumes, ..Irregularities::default() });
        let mut source = workload(file, options).expect("a real trace").open().expect("a real trace");
        source.fill(&mut Vec::new(), 1).expect("a real trace");
        let volume = source.volume().expect("a volume");
        let (duration_ns, range_bytes) = (range.duration_ns, range.range_bytes);
        let (count, writes) = (requests.len(), writes(&requests));
        let measured = format!("{volume}: {count} {writes} {duration_ns} {range_bytes} {other_volumes}");
        assert_eq!(measured, figures, "{file}");
        assert_eq!(source.remarks().len(), usize::from(format == TraceFormat::SsdSim), "{file}");
    }
}

#[test]
fn desktop() {
    let Some((requests, range)) = load("desktop.disksim.zst", TraceFormat::DiskSim) else { return };
    assert_eq!((requests.len(), writes(&requests)), (32_527, 20_060));
    assert_eq!(range.duration_ns, 8_877_875_250_000 - 640_875_000);
}
