//! Real traces, where they are at hand, written in every format and read again.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, reason = "clippy takes the helpers of an integration test for library code")]

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use imbrex::trace::write::{self, WriteFormat};
use imbrex::trace::{Compression, TraceInfo, TraceRequest, Workload};

fn load(path: &Path) -> (TraceInfo, Vec<TraceRequest>) {
    let mut source = Workload::File(path.to_path_buf().into()).open().unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, 1000).unwrap();
        if batch.is_empty() {
            return (source.info().clone(), all);
        }
        all.append(&mut batch);
    }
}

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces"));
    let Ok(entries) = folder.read_dir() else {
        // Written past the test harness, which hides what a passing test prints.
        let _ = writeln!(io::stderr(), "skipped the samples: there is no folder {}", folder.display());
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_none_or(|ending| ending != "md")).collect()
}

fn rewritten(format: WriteFormat, info: &TraceInfo, requests: &[TraceRequest], path: &Path) -> Vec<TraceRequest> {
    let file = File::create(path).unwrap();
    let mut writer = write::begin(format, Compression::None, info, file).unwrap();
    requests.chunks(777).for_each(|chunk| writer.write(chunk).unwrap());
    writer.finish().unwrap();
    let (again, requests) = load(path);
    assert_eq!(again.is_synthetic(), info.is_synthetic());
    requests
}

#[test]
fn every_sample_survives_being_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    for sample in samples() {
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let (info, requests) = load(&sample);
        for format in [WriteFormat::Parquet, WriteFormat::Systor17] {
            let again = rewritten(format, &info, &requests, &folder.path().join("t"));
            assert!(again == requests, "{name} comes out of {format} changed");
        }
        let msr = rewritten(WriteFormat::Msr, &info, &requests, &folder.path().join("t"));
        let cut = |r: &TraceRequest| TraceRequest { arrival_ns: r.arrival_ns / 100 * 100, ..*r };
        assert!(msr.iter().copied().eq(requests.iter().map(cut)), "{name} comes out of MSR CSV changed");
    }
}
