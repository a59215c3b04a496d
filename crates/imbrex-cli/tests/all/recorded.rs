//! `imbrex trace record` on programs that stand for blktrace and blkparse; the check of real disks has the real ones.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::{env, thread};

use assert_cmd::cargo::CommandCargoExt;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use test_material::left_out;

use crate::program::imbrex;

/// What a device was asked for first, and what blktrace says when it is to end.
const FIRST: &str = "  8,0    1        1     0.000000000   697  D  WS 8 + 8 [dd]";
const LAST: &str = "  8,0    1        2     0.500000000   697  D   R 800 + 16 [dd]";

/// A folder with `blktrace` and `blkparse`, scripts.
fn programs(blktrace: &str, blkparse: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in [("blktrace", blktrace), ("blkparse", blkparse)] {
        if !script.is_empty() {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\ncd {}\n{script}\n", folder.path().display())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    folder
}

/// `imbrex trace record` with these programs before those of the system, or instead of them.
fn record(programs: &TempDir, arguments: &str, is_alone: bool) -> Command {
    let mut command = Command::cargo_bin("imbrex").unwrap();
    let path = programs.path().display().to_string();
    let others = env::var("PATH").unwrap_or_default();
    command.env("PATH", if is_alone { path } else { format!("{path}:{others}") });
    command.args(["trace", "record"]).args(arguments.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A block device, which nobody opens here.
fn device(check: &str) -> Option<PathBuf> {
    let is_device = |path: &PathBuf| fs::metadata(path).is_ok_and(|is| is.file_type().is_block_device());
    let found = fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap().path()).find(is_device);
    if found.is_none() {
        left_out(check, "there is no block device in /dev");
    }
    found
}

#[test]
fn a_recording_ends_with_a_signal_and_has_what_came_until_then() {
    let Some(device) = device("recording until a signal") else { return };
    // It goes on when it is asked to end, and says more before it does.
    let blktrace = format!(
        "echo \"$@\" > arguments\ntrap 'echo \"{LAST}\"; echo late >&2; exit 0' TERM\necho '{FIRST}'\n: > begun\n\
         while :; do sleep 0.02; done"
    );
    let programs = programs(&blktrace, "exec cat");
    let trace = programs.path().join("disk.parquet");
    let arguments = format!("{} -o {} --for 10min --event D", device.display(), trace.display());
    let recording = record(&programs, &arguments, false).spawn().unwrap();
    let begun = programs.path().join("begun");
    while !begun.exists() {
        thread::yield_now();
    }
    assert!(!trace.exists());
    kill_process(Pid::from_child(&recording), Signal::TERM).unwrap();
    let output = recording.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("blktrace: late") && said(&output).contains("2 requests"), "{}", said(&output));
    let csv = programs.path().join("disk.csv");
    let arguments = format!("trace convert {} {}", trace.display(), csv.display());
    assert!(imbrex(&arguments).status.success());
    let rows = fs::read_to_string(&csv).unwrap();
    let rows: Vec<_> = rows.lines().map(|row| row.split(',').skip(3).take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(rows, ["Write 4096 4096", "Read 409600 8192"]);
    let asked = fs::read_to_string(programs.path().join("arguments")).unwrap();
    assert_eq!(asked.trim_end(), format!("-d {} -a issue -o - -w 600", device.display()));
}

#[test]
fn a_second_signal_ends_a_blktrace_that_goes_on() {
    let Some(device) = device("recording until two signals") else { return };
    let blktrace = "trap ': > asked' TERM\n: > begun\nwhile :; do sleep 0.02; done";
    let programs = programs(blktrace, "exec cat");
    let trace = programs.path().join("disk.parquet");
    let arguments = format!("{} -o {}", device.display(), trace.display());
    let recording = record(&programs, &arguments, false).spawn().unwrap();
    for sign in ["begun", "asked"] {
        while !programs.path().join(sign).exists() {
            thread::yield_now();
        }
        kill_process(Pid::from_child(&recording), Signal::TERM).unwrap();
    }
    let output = recording.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("blktrace failed: signal: 9") && !trace.exists(), "{}", said(&output));
}

#[test]
fn a_recording_that_failed_leaves_no_file() {
    let Some(device) = device("recordings that fail") else { return };
    let failing = "echo 'BLKTRACESETUP(2) failed: 2/No such file' >&2\nexit 1";
    let half = format!("echo '{FIRST}'\n{failing}");
    for (blktrace, blkparse, why) in [
        (failing, "exec cat", "blktrace failed: BLKTRACESETUP(2) failed: 2/No such file; it needs root"),
        (half.as_str(), "exec cat", "blktrace failed: BLKTRACESETUP(2)"),
        ("exit 0", "echo wrong >&2; exit 3", "blkparse failed: wrong"),
        ("echo nonsense", "exec cat", "line 1"),
        ("", "exec cat", "blktrace is not installed; the package blktrace of distributions has it"),
        ("exec sleep 1000", "", "blkparse is not installed"),
    ] {
        let programs = programs(blktrace, blkparse);
        let trace = programs.path().join("disk.csv");
        let arguments = format!("{} -o {} --event D", device.display(), trace.display());
        // Where a program is to be missing, that of the system must not be found.
        let is_alone = blktrace.is_empty() || blkparse.is_empty();
        let output = record(&programs, &arguments, is_alone).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{why}: {}", said(&output));
        assert!(said(&output).contains(why), "{why}: {}", said(&output));
        assert!(!trace.exists());
    }
}

#[test]
fn what_is_no_device_is_not_recorded() {
    let programs = programs("exit 1", "exit 1");
    let file = programs.path().join("blktrace").display().to_string();
    for (arguments, why) in [
        (format!("{file} -o out.parquet"), "is no block device; name one, such as /dev/sda"),
        (format!("{file}/none -o out.parquet"), "cannot open"),
        (format!("{file} -o out.parquet --for 1500ms"), "write a time in whole seconds"),
        (format!("{file} -o out.parquet --event X"), "X"),
    ] {
        let output = record(&programs, &arguments, false).output().unwrap();
        assert!(!output.status.success() && said(&output).contains(why), "{arguments}: {}", said(&output));
    }
}
