//! DiskSim's own work, where its program is given: a baseline for readers who know it.
//!
//! DiskSim 4.0 is run as `disksim PARAMETERS OUTPUT ascii TRACE 0` in a folder of its own, on the requests that layers
//! are replayed on: single blocks all over 256 GiB. They arrive so far apart that none waits for another, which is the
//! least work for it. Its disk has a seek curve and rotation, no cache, and nothing else that takes time. What counts is
//! the processor's time in its own code; reading the trace belongs to that.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use imbrex::block::Access;
use imbrex::trace::TraceRequest;
use nix::sys::resource::{UsageWho, getrusage};

use super::layers;
use super::{Best, Report, Scale, one_message};

/// The address range of its requests, in GiB: its disk is a little larger.
const RANGE_GIB: u64 = 256;
const SECTOR_BYTES: u64 = 512;
/// Between two arrivals, in milliseconds: longer than the disk needs for a request.
const APART_MS: u64 = 50;

/// The files that it reads beside the trace, by their names in its folder.
const FILES: [(&str, &str); 5] = [
    (PARAMETERS, include_str!("bench.parv")),
    ("bench.diskspecs", include_str!("bench.diskspecs")),
    ("bench.model", include_str!("bench.model")),
    ("bench.seek", include_str!("bench.seek")),
    ("statdefs", include_str!("statdefs")),
];
const PARAMETERS: &str = "bench.parv";
const TRACE: &str = "bench.trace";
const OUTPUT: &str = "bench.outv";
/// What its output says when all requests were served.
const END: &str = "Simulation complete";
const SERVED: &str = "Total Requests handled:";

/// Adds how many blocks `program` serves in a second of its own time, and returns that.
///
/// # Errors
/// When it cannot be run, fails, or has not served what it was given.
pub fn measure(program: &Path, scale: Scale, report: &mut Report) -> Result<f64> {
    report.begin("DiskSim");
    measured(program, scale, report).map_err(one_message)
}

fn measured(program: &Path, scale: Scale, report: &mut Report) -> Result<f64> {
    let program = found(program)?;
    let stream = layers::stream(RANGE_GIB << 30, false, scale)?;
    let requests = &stream.requests[..scale.traced as usize];
    let folder = tempfile::tempdir().context("a folder for DiskSim")?;
    for (name, text) in FILES {
        fs::write(folder.path().join(name), text).with_context(|| format!("writing DiskSim's {name}"))?;
    }
    fs::write(folder.path().join(TRACE), trace(requests)?).context("writing DiskSim's trace")?;
    let mut best = Best::default();
    for _ in 0..scale.repetitions.div_ceil(2) {
        best.rate(requests.len() as u64, run(&program, folder.path(), requests.len() as u64)?);
    }
    let note = "a second of its own processor time; the same writes, none of which waits for another";
    report.add(format!("DiskSim, {} {RANGE_GIB} GiB", stream.name), best.0, "blocks/s", note);
    Ok(best.0)
}

/// The program's path from anywhere: it is run in another folder. One without a folder is looked for as shells do.
fn found(program: &Path) -> Result<PathBuf> {
    if program.components().count() == 1 && !program.exists() {
        return Ok(program.to_owned());
    }
    fs::canonicalize(program).with_context(|| format!("--disksim {}", program.display()))
}

/// The requests as DiskSim reads them: milliseconds, device, sector, sectors, and 1 for a read.
fn trace(requests: &[TraceRequest]) -> Result<String> {
    let mut text = String::with_capacity(requests.len() * 32);
    for (request, at) in requests.iter().zip((0u64..).step_by(APART_MS as usize)) {
        let (sector, sectors) = (request.offset_bytes / SECTOR_BYTES, u64::from(request.bytes) / SECTOR_BYTES);
        writeln!(text, "{at}.000000 0 {sector} {sectors} {}", u8::from(request.access == Access::Read))?;
    }
    Ok(text)
}

/// Runs it once, and returns the seconds that it took in its own code.
fn run(program: &Path, folder: &Path, requests: u64) -> Result<f64> {
    let before = children_seconds()?;
    let mut command = Command::new(program);
    command.current_dir(folder).args([PARAMETERS, OUTPUT, "ascii", TRACE, "0"]).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("--disksim {}: it cannot be run", program.display()))?;
    let seconds = children_seconds()? - before;
    let name = program.display();
    if !output.status.success() {
        bail!("--disksim {name}: it ended with {}{}", output.status, last_words(&output));
    }
    let path = folder.join(OUTPUT);
    let text =
        fs::read(&path).with_context(|| format!("--disksim {name}: it wrote no output{}", last_words(&output)))?;
    check(&String::from_utf8_lossy(&text), requests).with_context(|| format!("--disksim {name}: its output"))?;
    if seconds <= 0.0 {
        bail!("--disksim {name}: it took no time that can be measured");
    }
    Ok(seconds)
}

/// Whether the output is that of a simulation of `requests` requests.
fn check(output: &str, requests: u64) -> Result<()> {
    if !output.lines().any(|line| line.trim() == END) {
        bail!("does not say '{END}'");
    }
    let line = output.lines().find_map(|line| line.split_once(SERVED));
    let (_, served) = line.with_context(|| format!("does not say '{SERVED}'"))?;
    let served = served.trim();
    match served.parse::<u64>() {
        Ok(number) if number == requests => Ok(()),
        _ => bail!("says that it served '{served}' requests of {requests}"),
    }
}

/// The last line that it said, if any.
fn last_words(output: &Output) -> String {
    let said = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text).into_owned());
    let last = said.iter().find_map(|text| text.lines().rfind(|line| !line.trim().is_empty()));
    last.map_or_else(String::new, |line| format!(": {}", line.trim()))
}

/// Time of this process's children that have ended, in their own code.
fn children_seconds() -> Result<f64> {
    let time = getrusage(UsageWho::RUSAGE_CHILDREN).context("the time of a process")?.user_time();
    Ok(time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_lines_of_its_trace() {
        let write = TraceRequest { arrival_ns: 7, offset_bytes: 8192, bytes: 4096, access: Access::Write };
        let requests = [write, TraceRequest { access: Access::Read, offset_bytes: 0, ..write }];
        assert_eq!(trace(&requests).unwrap(), "0.000000 0 16 8 0\n50.000000 0 0 8 1\n");
    }

    #[test]
    fn an_output_says_that_all_was_served() {
        let output = format!("loadparams complete\n{END}\nOverall I/O System {SERVED}\t3\nIOdriver {SERVED}\t3\n");
        check(&output, 3).unwrap();
        let fault = |output: &str| check(output, 3).unwrap_err().to_string();
        assert_eq!(fault("Error: no device"), "does not say 'Simulation complete'");
        assert_eq!(fault(END), "does not say 'Total Requests handled:'");
        assert_eq!(fault(&output.replace("\t3", "\t2")), "says that it served '2' requests of 3");
        assert_eq!(fault(&output.replace("\t3", "\tall")), "says that it served 'all' requests of 3");
    }

    #[test]
    fn the_disk_is_large_enough_and_its_files_agree() {
        let number = |file: &str, key: &str| -> u64 {
            let (_, text) = FILES.iter().find(|(name, _)| *name == file).unwrap();
            let line = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap();
            line.trim_matches([' ', '=', ',']).parse().unwrap()
        };
        let blocks = number("bench.model", "Block count");
        assert!(blocks * SECTOR_BYTES >= RANGE_GIB << 30 && blocks < 1 << 31, "{blocks}");
        let cylinder = number("bench.model", "Blocks per track") * number("bench.model", "Number of data surfaces");
        assert_eq!(blocks, number("bench.model", "Number of cylinders") * cylinder);
        assert_eq!(number("bench.model", "Last cylinder number") + 1, number("bench.model", "Number of cylinders"));
        assert_eq!(number("bench.diskspecs", "Avg sectors per cylinder"), cylinder);
        assert_eq!(number(PARAMETERS, "Stripe unit"), blocks);
        let curve: Vec<&str> = FILES[3].1.lines().collect();
        assert_eq!(curve[0], format!("Seek distances measured: {}", curve.len() - 1));
        assert!(curve[curve.len() - 1].starts_with(&format!("{},", number("bench.model", "Last cylinder number"))));
    }
}
