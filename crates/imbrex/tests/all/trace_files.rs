//! Samples of every format, and real traces where they are at hand, written in every format and read again.
#![cfg(feature = "parquet")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use imbrex::trace::write::{self, WriteFormat};
use imbrex::trace::{Compression, TraceInfo, TraceRequest, Workload};
use test_material::{beside, traces};

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

/// The real traces; none, and a word about it, where they are missing.
fn real_traces() -> Vec<PathBuf> {
    let Some(folder) = beside("real traces written in every format", "traces") else { return Vec::new() };
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
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

fn survives_being_rewritten(trace: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let name = trace.display();
    let (info, requests) = load(trace);
    for format in [WriteFormat::Parquet, WriteFormat::Systor17] {
        let again = rewritten(format, &info, &requests, &folder.path().join("t"));
        assert!(again == requests, "{name} comes out of {format} changed");
    }
    let msr = rewritten(WriteFormat::Msr, &info, &requests, &folder.path().join("t"));
    let cut = |r: &TraceRequest| TraceRequest { arrival_ns: r.arrival_ns / 100 * 100, ..*r };
    assert!(msr.iter().copied().eq(requests.iter().map(cut)), "{name} comes out of MSR CSV changed");
}

#[test]
fn every_sample_survives_being_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    // What trims is refused: no format that is written has a word for it.
    for sample in traces::samples(3000).into_iter().filter(|sample| sample.format != "fio") {
        let path = folder.path().join(sample.name);
        fs::write(&path, sample.content).unwrap();
        survives_being_rewritten(&path);
    }
}

#[test]
fn every_real_trace_survives_being_rewritten() {
    real_traces().iter().for_each(|trace| survives_being_rewritten(trace));
}
