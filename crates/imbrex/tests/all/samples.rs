//! The readers on a sample of each format. What a sample holds is known from how it was made, by a crate that knows no
//! reader.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use imbrex::block::Access;
use imbrex::trace::statistics::{StatisticsOptions, TraceStatistics};
use imbrex::trace::{BlockEvent, FORMATS, FileOptions, Irregularities, TraceFile, TraceRequest, Workload};
use test_material::traces::{Kind, Packing, Request, Sample, View, packed, samples};

const REQUESTS: usize = 900;

fn expected(view: &View) -> (Vec<TraceRequest>, Irregularities) {
    let access = |kind| match kind {
        Kind::Read => Access::Read,
        Kind::Write => Access::Write,
        Kind::Trim => Access::Trim,
    };
    let request = |&Request { arrival_ns, kind, offset_bytes, bytes }: &Request| TraceRequest {
        arrival_ns,
        offset_bytes,
        bytes,
        access: access(kind),
    };
    let m = &view.mended;
    let irregularities = Irregularities {
        out_of_order: m.out_of_order,
        zero_size: m.zero_size,
        without_data: m.without_data,
        reordered: m.reordered,
        other_volumes: m.other_volumes,
        unwritten: 0,
    };
    (view.requests.iter().map(request).collect(), irregularities)
}

fn workload(path: PathBuf, view: &View) -> Workload {
    let event = view.event.map(|letter| letter.to_string().parse::<BlockEvent>().expect("a known event"));
    let options = FileOptions { volume: view.volume.map(str::to_owned), event, ..FileOptions::default() };
    Workload::File(TraceFile { options, ..path.into() })
}

/// What the library reads from a workload, whose format it has to tell by itself.
fn read(workload: &Workload, format: &str) -> (Vec<TraceRequest>, Irregularities) {
    let mut source = workload.open().expect("a sample");
    let known = FORMATS.iter().find(|info| info.key == format).expect("a known format");
    assert_eq!(source.info().format, known.format);
    assert!(!source.info().is_synthetic());
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, 100).expect("a sample");
        if batch.is_empty() {
            return (requests, source.irregularities());
        }
        requests.append(&mut batch);
    }
}

fn write(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).expect("a sample can be written");
    path
}

#[test]
fn every_format_but_parquet_has_a_sample() {
    // Files of Parquet, of this writer and of others, are in the tests beside its reader.
    let missing = FORMATS.iter().filter(|info| samples(20).iter().all(|sample| sample.format != info.key));
    assert_eq!(missing.map(|info| info.key).collect::<Vec<_>>(), ["parquet"]);
}

#[test]
fn every_sample_is_read_as_it_was_made() {
    let folder = tempfile::tempdir().expect("a folder");
    for Sample { name, format, content, views } in samples(REQUESTS) {
        let path = write(folder.path(), name, &content);
        for view in &views {
            let workload = workload(path.clone(), view);
            let (requests, irregularities) = expected(view);
            assert!(
                read(&workload, format) == (requests, irregularities),
                "{name}, {:?}: {:?}",
                view.volume,
                view.event
            );
            let range = workload.range().expect("a sample");
            assert_eq!((range.requests, range.irregularities), (view.requests.len() as u64, irregularities), "{name}");
            let end = view.requests.iter().map(|request| request.offset_bytes + u64::from(request.bytes)).max();
            assert_eq!(Some(range.range_bytes), end, "{name}");
            assert_eq!(Some(range.duration_ns), view.requests.last().map(|request| request.arrival_ns), "{name}");
        }
    }
}

#[test]
fn compression_changes_nothing_of_any_format() {
    let folder = tempfile::tempdir().expect("a folder");
    for Sample { name, format, content, views } in samples(REQUESTS) {
        for packing in Packing::ALL {
            let path = write(folder.path(), "packed", &packed(&content, packing));
            let found = read(&workload(path, &views[0]), format);
            assert!(found == expected(&views[0]), "{name} through {packing:?}");
        }
    }
}

/// Counted here one 4 KiB block after another.
#[test]
fn statistics_of_every_sample() {
    let folder = tempfile::tempdir().expect("a folder");
    for Sample { name, content, views, .. } in samples(REQUESTS) {
        let mut source = workload(write(folder.path(), name, &content), &views[0]).open().expect("a sample");
        let statistics = TraceStatistics::of(&mut *source, &StatisticsOptions::default()).expect("a sample");
        let of = |kind| views[0].requests.iter().filter(move |request| request.kind == kind);
        let [reads, writes] = [Kind::Read, Kind::Write].map(|kind| of(kind).count() as u64);
        assert_eq!((statistics.reads, statistics.writes), (reads, writes), "{name}");
        assert_eq!(statistics.written_bytes, of(Kind::Write).map(|request| u64::from(request.bytes)).sum(), "{name}");
        let blocks = |request: &Request| {
            request.offset_bytes / 4096..(request.offset_bytes + u64::from(request.bytes)).div_ceil(4096)
        };
        let mut seen = HashSet::new();
        let written: Vec<u64> = of(Kind::Write).flat_map(blocks).collect();
        let updates = written.iter().filter(|&&block| !seen.insert(block)).count() as u64;
        assert_eq!(statistics.written_blocks_4k, written.len() as u64, "{name}");
        assert_eq!(statistics.update_period.updates, updates, "{name}");
        assert_eq!(statistics.footprint_written_blocks, seen.len() as u64, "{name}");
        assert!(updates > 100, "{name} has only {updates} updates");
    }
}
