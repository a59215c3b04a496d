//! Recordings: their trims, and files that are one trace.

use std::fs;
use std::path::Path;

use super::*;
use crate::formats;
use crate::write::{RecordingFile, RecordingOrigin};
use imbrex_core::random::Random;

/// A recording that did not begin with its first request, of `requests` and trims of the same places.
fn recorded(requests: &[TraceRequest]) -> (Vec<TraceRequest>, Vec<u8>) {
    let trim = |request: &TraceRequest| [*request, TraceRequest { access: Access::Trim, ..*request }];
    let requests: Vec<_> = requests.iter().flat_map(trim).collect();
    let late: Vec<_> =
        requests.iter().map(|request| TraceRequest { arrival_ns: request.arrival_ns + 77, ..*request }).collect();
    let notes = vec![("layer".to_owned(), "fifo-log".to_owned())];
    let origin = RecordingOrigin { name: "/some/disk.img".to_owned(), notes };
    let mut bytes = Vec::new();
    let mut file = RecordingFile::begin(&origin, &mut bytes).unwrap();
    file.write(&late).unwrap();
    assert_eq!(file.pending(), late.len());
    assert_eq!(file.finish(&[("lost", "0".to_owned())]).unwrap().requests, late.len() as u64);
    (requests, bytes)
}

#[test]
fn a_recording_is_read_with_its_trims_and_from_its_first_request() {
    let (requests, bytes) = recorded(&generated(150).1);
    assert!(!read("t", bytes.clone()).unwrap().info().is_synthetic());
    for limit in [1 << 20, 64] {
        assert!(drain(read("t", bytes.clone()).unwrap(), limit).unwrap() == requests);
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let noticed = read("t", damaged).and_then(|source| drain(source, 64)).map_or(true, |read| read == requests);
        assert!(noticed, "byte {at} of {}", bytes.len());
    }
}

#[test]
fn a_recording_of_several_row_groups_keeps_less_than_one_in_memory() {
    let (mut requests, mut bytes) = (generated(RECORDING_GROUP_ROWS as u64 + 5000).1, Vec::new());
    // As far as numbers go, and all sizes that a dictionary knows no more.
    let mut random = Random::new(7);
    for request in &mut requests[RECORDING_GROUP_ROWS..] {
        request.offset_bytes = random.below(1 << 63);
        request.bytes = 1 + random.below(u32::MAX.into()) as u32;
    }
    let mut file = RecordingFile::begin(&RecordingOrigin::default(), &mut bytes).unwrap();
    requests.chunks(1000).for_each(|some| file.write(some).unwrap());
    assert_eq!(file.pending(), 5000);
    file.finish(&[]).unwrap();
    assert!(drain(read("t", bytes).unwrap(), 4096).unwrap() == requests);
}

#[test]
fn a_recording_of_writes_at_random_is_a_sixth_longer() {
    let (mut random, mut arrival_ns) = (Random::new(3), 0);
    let mut row = |_| {
        arrival_ns += 3000 + random.below(9000);
        TraceRequest { arrival_ns, offset_bytes: random.below(1 << 17) * 4096, bytes: 4096, access: Access::Write }
    };
    let requests: Vec<_> = (0..30_000).map(&mut row).collect();
    let mut recording = Vec::new();
    let mut file = RecordingFile::begin(&RecordingOrigin::default(), &mut recording).unwrap();
    file.write(&requests).unwrap();
    file.finish(&[]).unwrap();
    let archive = written(&generated(1).0, &requests);
    let longer = recording.len() as f64 / archive.len() as f64 - 1.0;
    assert!((0.08..0.25).contains(&longer), "{longer}: {} bytes, {}", recording.len(), archive.len());
}

/// A file of a recording of `volume` that began at `began_ms`, with a read at each of the times.
fn write_part(names: &RecordingNames, number: u32, volume: &str, began_ms: u64, times: &[u64]) {
    let notes = [("volume", volume.to_owned()), ("began_ms", began_ms.to_string()), ("file", number.to_string())];
    let origin = RecordingOrigin {
        name: "disk.img".to_owned(),
        notes: notes.map(|(key, value)| (key.to_owned(), value)).into(),
    };
    let request = |at: &u64| TraceRequest { arrival_ns: *at, offset_bytes: at * 512, bytes: 512, access: Access::Read };
    let rows: Vec<_> = times.iter().map(request).collect();
    let mut file = RecordingFile::begin(&origin, File::create(names.complete(number)).unwrap()).unwrap();
    file.write(&rows).unwrap();
    file.finish(&[("lost", (number - 1).to_string())]).unwrap();
}

fn arrivals(path: &Path) -> Result<Vec<(u64, u64)>, String> {
    let source = formats::open(path).map_err(|e| e.to_string())?;
    let all = drain(source, 2).map_err(|e| e.to_string())?;
    Ok(all.iter().map(|request| (request.arrival_ns, request.offset_bytes / 512)).collect())
}

#[test]
fn the_files_of_a_recording_are_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("load.parquet");
    let names = RecordingNames::of(&recording).unwrap();
    write_part(&names, 1, "a", 1000, &[50, 60, 70]);
    write_part(&names, 2, "a", 1000, &[80, 90]);
    // Another server went on a millisecond later, and one whose clock had been set back.
    write_part(&names, 3, "a", 1001, &[5, 6]);
    write_part(&names, 4, "a", 7, &[9]);
    let all = [(0, 50), (10, 60), (20, 70), (30, 80), (40, 90), (999_955, 5), (999_956, 6), (999_956, 9)];
    for path in [folder.path(), &recording, &folder.path().join("load")] {
        assert_eq!(arrivals(path).unwrap(), all);
    }
    assert_eq!(arrivals(&names.complete(2)).unwrap(), [(0, 80), (10, 90)]);
    let mut source = formats::open(&recording).unwrap();
    let range = crate::TraceRange::of(&mut *source).unwrap();
    assert_eq!((range.requests, range.duration_ns, range.irregularities.out_of_order), (8, 999_956, 1));
    assert_eq!(source.remarks(), ["6 requests are missing in it, which could not be recorded"]);
    assert_eq!((source.info().name.as_str(), source.share_done()), (recording.to_str().unwrap(), Some(1.0)));

    // What was taken away from the front is said; what is missing in between is an error.
    fs::remove_file(names.complete(1)).unwrap();
    assert_eq!(arrivals(&recording).unwrap()[..2], [(0, 80), (10, 90)]);
    assert_eq!(
        formats::open(&recording).unwrap().remarks()[0],
        "it begins with file 2, and the files before are not there"
    );
    fs::rename(names.complete(3), names.part(3)).unwrap();
    let refused = arrivals(&recording).unwrap_err();
    assert!(refused.contains("load-0003.parquet was not completed"), "{refused}");
    fs::remove_file(names.part(3)).unwrap();
    let refused = arrivals(folder.path()).unwrap_err();
    assert!(refused.contains("load-0003.parquet is missing"), "{refused}");
    fs::copy(names.complete(4), names.complete(3)).unwrap();
    let refused = arrivals(&recording).unwrap_err();
    assert!(refused.contains("load-0003.parquet says that it is file 4 of the volume a"), "{refused}");
    write_part(&names, 3, "b", 1001, &[5, 6]);
    let refused = arrivals(&recording).unwrap_err();
    assert!(refused.contains("is file 3 of the volume b, and not file 3 of a"), "{refused}");
    write_part(&RecordingNames::of(&folder.path().join("other")).unwrap(), 1, "a", 1000, &[5]);
    let refused = arrivals(folder.path()).unwrap_err();
    assert!(refused.contains("several recordings lie there") && refused.contains("other.parquet"), "{refused}");
}

#[test]
fn a_folder_of_other_traces_is_no_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("week-2019.parquet");
    let (info, requests) = generated(3);
    fs::write(&file, written(&info, &requests)).unwrap();
    assert_eq!(arrivals(&file).unwrap().len(), 3);
    assert!(arrivals(folder.path()).unwrap_err().ends_with("is a directory; name one of the trace files in it"));
    assert!(arrivals(&folder.path().join("week.parquet")).unwrap_err().starts_with("cannot open "));
}

#[test]
fn a_recording_in_a_folder_of_traces_is_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let names = RecordingNames::of(&folder.path().join("load")).unwrap();
    for number in 1..=2 {
        write_part(&names, number, "a", 1000, &[0]);
    }
    fs::write(names.part(3), "").unwrap();
    let foreign = written(&generated(1).0, &generated(1).1);
    // A file that is only called so is a trace by itself.
    for (name, bytes) in [("b.csv", [].as_slice()), (".hidden", &[]), ("archive-0001.parquet", &foreign)] {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    fs::create_dir(folder.path().join("another")).unwrap();
    let expected = ["archive-0001.parquet", "b.csv", "load.parquet"].map(|name| folder.path().join(name));
    assert_eq!(crate::traces_in(folder.path()).unwrap(), expected);
    assert!(formats::open(&expected[2]).is_ok());
    // Nor is there a recording to be opened where a file has its name.
    fs::write(&expected[2], &foreign).unwrap();
    assert_eq!(crate::traces_in(folder.path()).unwrap().len(), 6);
    assert!(crate::traces_in(&folder.path().join("nothing")).is_err());
}
