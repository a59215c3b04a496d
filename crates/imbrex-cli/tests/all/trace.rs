//! `imbrex trace`: traces converted and generated.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::program::imbrex;
use test_material::{beside, traces};

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What the program says on standard error when it succeeds and prints nothing else.
fn done(arguments: &str) -> String {
    let output = imbrex(arguments);
    assert!(output.status.success() && output.stdout.is_empty(), "imbrex {arguments}: {}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    said(&output)
}

/// What it says last: notes on times may come before.
fn made(arguments: &str) -> String {
    let output = imbrex(arguments);
    assert!(output.status.success() && output.stdout.is_empty(), "imbrex {arguments}: {}", said(&output));
    said(&output).lines().last().expect("a line").to_owned()
}

fn refused(arguments: &str, code: i32, message: &str) {
    let output = imbrex(arguments);
    assert_eq!(output.status.code(), Some(code), "imbrex {arguments}: {}", said(&output));
    assert!(said(&output).contains(message), "imbrex {arguments}: {}", said(&output));
}

/// A folder and how files in it are named on the command line.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn files(&self) -> usize {
        fs::read_dir(self.0.path()).unwrap().count()
    }
}

/// The real traces; none, and a word about it, where they are missing.
fn real_traces() -> Vec<PathBuf> {
    let Some(folder) = beside("imbrex trace convert on real traces", "traces") else { return Vec::new() };
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_none_or(|ending| ending != "md")).collect()
}

fn is_converted_and_back(trace: &Path) {
    let (folder, from) = (Folder::new(), trace.display());
    let [parquet, csv, direct, again] = ["a.parquet", "b.csv", "c.csv", "d.parquet"].map(|name| folder.path(name));
    made(&format!("trace convert {from} {parquet}"));
    // SYSTOR lines keep every nanosecond: there and back, by whatever way.
    made(&format!("trace convert {parquet} {csv} --to systor17"));
    made(&format!("trace convert {from} {direct} --to systor17"));
    assert!(folder.read("b.csv") == folder.read("c.csv"), "{from} comes out of Parquet changed");
    made(&format!("trace convert {csv} {direct} --to systor17"));
    assert!(folder.read("b.csv") == folder.read("c.csv"), "{from} comes out of CSV changed");
    made(&format!("trace convert {parquet} {csv}"));
    made(&format!("trace convert {from} {direct}"));
    assert!(folder.read("b.csv") == folder.read("c.csv"), "{from} comes out of Parquet changed");
    made(&format!("trace convert {from} {again}"));
    assert!(folder.read("a.parquet") == folder.read("d.parquet"), "{from} gives different bytes");
    assert_eq!(folder.files(), 4);
}

#[test]
fn every_sample_is_converted_and_back() {
    let folder = Folder::new();
    // What trims is refused: no format that is written has a word for it.
    for sample in traces::samples(1000).into_iter().filter(|sample| sample.format != "fio") {
        let path = folder.path(sample.name);
        fs::write(&path, sample.content).unwrap();
        is_converted_and_back(path.as_ref());
    }
}

#[test]
fn every_real_trace_is_converted_and_back() {
    real_traces().iter().for_each(|trace| is_converted_and_back(trace));
}

#[test]
fn a_generated_trace_stays_synthetic_wherever_it_goes() {
    let folder = Folder::new();
    let [parquet, csv, zstd, systor] = ["a.parquet", "b.csv", "c.csv.zst", "d.csv"].map(|name| folder.path(name));
    let line = done(&format!("trace generate zipf --requests 3000 -o {parquet}"));
    assert!(line.contains("3,000 synthetic requests as Parquet, ") && line.contains("from zipf (synthetic)"), "{line}");
    let line = done(&format!("trace convert {parquet} {csv}"));
    assert!(line.contains("3,000 synthetic requests as MSR CSV") && line.contains(" cut to the format's 100 ns"));
    done(&format!("trace convert {csv} {zstd}"));
    let line = done(&format!("trace convert {parquet} {systor} --to systor17"));
    assert!(line.contains("3,000 synthetic requests as SYSTOR'17 CSV"), "{line}");
    let compare = "compare --layers conventional --format csv";
    let cells = |from: &str| {
        let output = imbrex(&format!("{compare} {from}"));
        assert!(output.status.success(), "{}", said(&output));
        let row: HashMap<String, String> =
            csv::Reader::from_reader(&output.stdout[..]).deserialize().next().unwrap().unwrap();
        ["synthetic", "host_write_blocks", "latency_ms.mean"].map(|name| row[name].clone())
    };
    let [synthetic, blocks, mean] = cells("zipf --requests 3000");
    assert_eq!(synthetic, "true");
    for from in [&parquet, &systor] {
        let expected = [synthetic.clone(), blocks.clone(), mean.clone()];
        assert_eq!(cells(from), expected, "{from} is replayed as the workload itself");
    }
    for from in [&csv, &zstd] {
        let [labelled, written, _] = cells(from);
        assert_eq!([labelled, written], [synthetic.clone(), blocks.clone()]);
    }
    let table = String::from_utf8(imbrex(&format!("compare {parquet} --layers conventional")).stdout).unwrap();
    assert!(table.contains("a.parquet (synthetic)"), "{table}");
}

#[test]
fn seed_and_number_of_requests_decide_the_bytes() {
    let folder = Folder::new();
    for (name, arguments) in [("a", ""), ("b", ""), ("c", "--seed 7")] {
        let to = folder.path(&format!("{name}.parquet"));
        done(&format!("trace generate uniform --requests 500 {arguments} -o {to}"));
    }
    assert!(folder.read("a.parquet") == folder.read("b.parquet"));
    assert!(folder.read("a.parquet") != folder.read("c.parquet"));
    let [from, to] = ["a.parquet", "d.csv"].map(|name| folder.path(name));
    assert!(done(&format!("trace convert {from} {to} --requests 20")).contains(": 20 synthetic requests"));
    assert_eq!(String::from_utf8(folder.read("d.csv")).unwrap().lines().count(), 20);
}

#[test]
fn a_profile_is_generated_by_its_name() {
    let folder = Folder::new();
    let [parquet, csv] = ["a.parquet", "b.csv"].map(|name| folder.path(name));
    let line = done(&format!("trace generate hm_0 --requests 2000 -o {parquet}"));
    assert!(line.contains(": 2,000 synthetic requests as Parquet"), "{line}");
    assert!(done(&format!("trace convert {parquet} {csv}")).contains(": 2,000 synthetic requests as MSR CSV"));
}

#[test]
fn the_volume_to_convert_can_be_chosen() {
    let folder = Folder::new();
    let [from, to] = ["a.csv", "b.csv"].map(|name| folder.path(name));
    fs::write(&from, "5,h,0,Write,0,512,0\n6,h,1,Read,4096,512,0\n7,h,1,Read,0,512,0\n").unwrap();
    let line = done(&format!("trace convert {from} {to} --trace-format msr --volume h,0"));
    assert!(line.contains(": 1 requests") && line.contains("2 requests of other volumes than h,0 left out"), "{line}");
    // The busiest is taken where none is chosen.
    let line = done(&format!("trace convert {from} {to}"));
    assert!(line.contains(": 2 requests") && line.contains("1 requests of other volumes than h,1 left out"), "{line}");
    assert_eq!(folder.read("b.csv"), b"0,trace,0,Read,4096,512,0\n1,trace,0,Read,0,512,0\n");
}

#[test]
fn parquet_can_be_named_and_has_no_volumes() {
    let folder = Folder::new();
    let [parquet, csv] = ["a.parquet", "b.csv"].map(|name| folder.path(name));
    done(&format!("trace generate zipf --requests 50 -o {parquet}"));
    done(&format!("trace convert {parquet} {csv} --trace-format parquet"));
    let convert = format!("trace convert {parquet} {csv}");
    refused(&format!("{convert} --volume h,0"), 1, "a.parquet is Parquet, which has no volume to choose");
    refused(&format!("{convert} --event Q"), 1, "a.parquet is Parquet, which has no event to choose");
    refused(&format!("{convert} --trace-format msr"), 1, "a.parquet, line 1: expected 7 comma-separated fields");
    refused(&format!("trace convert {csv} {parquet} --trace-format parquet"), 1, "b.csv: footer does not decode");
}

#[test]
fn what_was_mended_is_said() {
    let folder = Folder::new();
    let [from, parquet, systor] = ["a.csv", "a.parquet", "b.csv"].map(|name| folder.path(name));
    fs::write(&from, "5,h,0,Write,0,512,0\n3,h,0,Read,0,512,0\n6,h,0,Read,0,0,0\n").unwrap();
    let line = done(&format!("trace convert {from} {parquet}"));
    assert!(line.contains(": 2 requests as Parquet, ") && line.contains("(MSR CSV, 56 B)"), "{line}");
    assert!(line.contains("1 requests stamped earlier") && line.contains("1 requests of no bytes left out"), "{line}");
    done(&format!("trace convert {from} {systor} --to systor17"));
    assert!(folder.read("b.csv").starts_with(b"Timestamp,Response,IOType,LUN,Offset,Size\n0.000000000,"));
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let [from, bad, out] = ["a.csv", "bad.csv", "out.parquet"].map(|name| folder.path(name));
    fs::write(&from, "5,h,0,Write,0,512,0\n").unwrap();
    fs::write(&bad, "5,h,0,Write,0,512,0\n6,h,0,Write,0,many,0\n").unwrap();
    let refused = |arguments: String, code, message| {
        refused(&arguments, code, message);
        assert_eq!(folder.files(), 2, "imbrex {arguments} leaves a file");
    };
    refused(format!("trace convert {bad} {out}"), 1, "line 2: size is \"many\"");
    refused(format!("trace convert {from} {from}"), 1, "would replace the trace it is made from; name another file");
    refused(format!("trace convert {from} {out}.zst"), 1, "Parquet compresses its columns itself");
    refused(format!("trace convert {from} {}", folder.path("a.bin")), 1, "end it in .parquet or .csv, or say --to");
    refused(format!("trace convert {from} {out} --to vscsi"), 2, "possible values: parquet, msr, systor17");
    refused(format!("trace convert {from}"), 2, "<OUT>");
    refused(format!("trace generate {from} -o {out}"), 1, "a.csv is a trace file and no workload to generate");
    refused(format!("trace generate {from} -o {out} --seed 3"), 1, "a.csv is no synthetic workload");
    refused(format!("trace generate zipf -o {out} --volume h,0"), 2, "--volume");
    refused(format!("trace convert zipf {out} --volume h,0"), 1, "zipf is no trace file");
    refused("trace generate nonsense -o x.parquet".to_owned(), 1, "no built-in workload nonsense");
    refused("trace".to_owned(), 2, "convert");
}

#[test]
fn a_damaged_file_is_an_error_and_no_output() {
    let folder = Folder::new();
    let [whole, cut, out] = ["a.parquet", "cut.parquet", "out.csv"].map(|name| folder.path(name));
    done(&format!("trace generate uniform --requests 500 -o {whole}"));
    let mut bytes = folder.read("a.parquet");
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    refused(&format!("trace convert {cut} {out}"), 1, "cut.parquet: footer does not decode");
    bytes[700] ^= 1;
    fs::write(&cut, bytes).unwrap();
    refused(&format!("trace convert {cut} {out}"), 1, "cut.parquet");
    fs::write(&cut, zstd::encode_all(&folder.read("a.parquet")[..], 1).unwrap()).unwrap();
    refused(&format!("trace convert {cut} {out}"), 1, "cut.parquet is Parquet in a stream");
    assert_eq!(folder.files(), 2);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing() {
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    let to = folder.path("a.parquet");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("imbrex"))
        .args(["trace", "generate", "uniform", "--requests", "1000000000000", "-o", &to])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The file under its other name is there only after the handler is.
    while folder.files() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(130), "error: stopped\n"));
    assert_eq!(folder.files(), 0);
}

#[test]
fn a_trace_is_put_behind_writes_of_its_own() {
    let folder = Folder::new();
    let [from, aged, again] = ["a.csv", "b.csv", "c.csv"].map(|name| folder.path(name));
    let line = |i: u64| {
        let kind = if i.is_multiple_of(3) { "Read" } else { "Write" };
        format!("{},h,0,{kind},{},4096,0\n", i * 5_000_000, i * 8192)
    };
    fs::write(&from, (0..300).map(line).collect::<String>()).unwrap();
    let line = done(&format!("trace prepopulate {from} --share 50% --seed 4 -o {aged}"));
    assert!(line.contains(": 400 requests") && line.contains("--warm-up 100 leaves out"), "{line}");
    done(&format!("trace prepopulate {from} --share 50% --seed 4 -o {again}"));
    assert!(folder.read("b.csv") == folder.read("c.csv"), "a seed gives other bytes");
    let text = String::from_utf8(folder.read("b.csv")).unwrap();
    assert!(text.lines().take(100).all(|line| line.contains("Write")), "{text}");
    let columns = folder.path("d.parquet");
    done(&format!("trace prepopulate {from} --share 50% --seed 4 -o {columns}"));
    done(&format!("trace convert {columns} {again} --to msr"));
    assert!(folder.read("b.csv") == folder.read("c.csv"), "another format gives other requests");
    refused(&format!("trace prepopulate {from} --share 120% -o {aged}"), 2, "a percentage from 0% to 100%");
    refused(&format!("trace prepopulate {from} -o {from}"), 1, "would replace the trace it is made from");
}

#[test]
fn written_blocks_are_numbered() {
    let folder = Folder::new();
    let [from, dense] = ["a.csv", "b.csv"].map(|name| folder.path(name));
    let text = "5,h,0,Write,81920,4096,0\n6,h,0,Read,0,8192,0\n7,h,0,Write,4096,4096,0\n8,h,0,Read,8192,512,0\n";
    fs::write(&from, text).unwrap();
    let line = done(&format!("trace convert {from} {dense} --dense 4KiB"));
    assert!(line.contains("1 requests for blocks that are never written left out"), "{line}");
    let expected = b"0,trace,0,Write,4096,4096,0\n1,trace,0,Read,0,4096,0\n2,trace,0,Write,0,4096,0\n";
    assert_eq!(folder.read("b.csv"), expected);
    refused(&format!("trace convert {from} {dense} --dense 1000"), 2, "a power of two");
    let setup = "--layers conventional --dense --untimed --format json";
    let output = imbrex(&format!("compare {from} {setup}"));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&run[0]["range_bytes"], &run[0]["dense"]), (&8192.into(), &true.into()), "{run}");
    assert_eq!((&run[0]["irregularities"]["unwritten"], &run[0]["requests"]), (&1.into(), &3.into()), "{run}");
    assert_eq!((&run[0]["options"]["untimed"], &run[0]["latency_ms"]["max"]), (&true.into(), &0.0.into()), "{run}");
    let table = String::from_utf8(imbrex(&format!("compare {from} --layers conventional --untimed")).stdout).unwrap();
    assert!(table.contains("moved") && !table.contains("p99"), "{table}");
}

#[test]
fn a_drive_is_made_as_large_as_the_workload_needs() {
    let setup = "compare uniform --requests 3000 --layers log-greedy --drive cold-weight-40m --dense --untimed";
    let output = imbrex(&format!("{setup} --capacity fit --prefill 0 --format json"));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    let blocks = |field: &str| run[0][field].as_u64().unwrap();
    let needed = blocks("range_bytes").div_ceil(512);
    assert!(blocks("capacity_blocks") >= needed, "{run}");
    assert!(blocks("capacity_blocks") < needed + 3 * 78_125, "{run}");
    refused(&format!("{setup} --capacity most"), 2, "such as 64GiB or 2TB, or fit");
}
