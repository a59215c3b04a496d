//! How fast requests come in: generated, and decoded from each format and compression.

use std::fmt::Write as _;
use std::io::{Cursor, Write};
use std::sync::Arc;

use imbrex::block::Access;
use imbrex::trace::synthetic::{Generator, Pattern};
use imbrex::trace::write::{self, WriteFormat};
use imbrex::trace::{Compression, TraceRequest, TraceSource, formats};
use tempfile::NamedTempFile;

use super::requests::{InMemory, drain, generate, spec};
use super::{Best, Report, Scale};

/// What compresses fast is decoded as fast as what compresses well.
const LEVEL: u32 = 1;

/// Adds the rates of the generator and of the readers.
pub fn measure(scale: Scale, report: &mut Report) -> anyhow::Result<()> {
    report.begin("trace decoding");
    let zipf = Pattern::Zipf { theta: 0.99, scatter_kib: Some(4) };
    for (name, pattern) in [("uniform", Pattern::Uniform), ("zipf 0.99", zipf)] {
        let spec = spec(pattern, 256 << 30, scale.traced);
        let mut best = Best::default();
        for _ in 0..scale.repetitions {
            best.of(scale.traced, || drain(&mut Generator::new(&spec)?, |_| ()))?;
        }
        report.add(format!("generator, {name}"), best.0, "requests/s", "");
    }
    let requests = generate(&spec(Pattern::Uniform, 256 << 30, scale.traced))?;
    let csv = text(&requests, msr)?;
    let mut files = vec![("MSR CSV gzip", gzip(&csv)?)];
    #[cfg(feature = "compression")]
    files.extend([("MSR CSV zstd", zstd::encode_all(&csv[..], LEVEL as i32)?), ("MSR CSV xz", xz(&csv)?)]);
    files.extend([("MSR CSV", csv), ("VSCSI v1", vscsi(&requests))]);
    for (name, file) in files {
        add(name, file, scale, report)?;
    }
    for (name, write) in TEXTS {
        add(name, text(&requests, *write)?, scale, report)?;
    }
    if cfg!(feature = "parquet") {
        let rate = decoded_file(&parquet(&requests)?, scale)?;
        report.add("decoding Parquet", rate, "requests/s", "the same, from a file");
    }
    Ok(())
}

fn add(name: &str, file: Vec<u8>, scale: Scale, report: &mut Report) -> anyhow::Result<()> {
    let bytes_per_request = file.len() as f64 / scale.traced as f64;
    let rate = decoded(file.into(), scale)?;
    let note = format!("uniform single blocks, from memory; {:.0} MB/s", rate * bytes_per_request / 1e6);
    report.add(format!("decoding {name}"), rate, "requests/s", note);
    Ok(())
}

/// Parquet is read from its end, and so from a file.
fn decoded_file(file: &NamedTempFile, scale: Scale) -> anyhow::Result<f64> {
    best_of(scale, || Ok(formats::open(file.path())?))
}

fn decoded(file: Arc<[u8]>, scale: Scale) -> anyhow::Result<f64> {
    best_of(scale, || Ok(formats::read("bench", Cursor::new(Arc::clone(&file)))?))
}

fn best_of(scale: Scale, open: impl Fn() -> anyhow::Result<Box<dyn TraceSource>>) -> anyhow::Result<f64> {
    let mut best = Best::default();
    for _ in 0..scale.repetitions {
        let mut count = 0;
        best.of(scale.traced, || anyhow::Ok(drain(&mut *open()?, |batch| count += batch.len() as u64)?))?;
        anyhow::ensure!(count == scale.traced, "{count} of {} requests were decoded", scale.traced);
    }
    Ok(best.0)
}

/// How a format writes a request.
type Writer = fn(&mut String, &TraceRequest) -> std::fmt::Result;

/// The other formats of text.
const TEXTS: &[(&str, Writer)] = &[
    ("DiskSim ASCII", |text, r| {
        let (ms, fraction) = (r.arrival_ns / 1_000_000, r.arrival_ns % 1_000_000);
        writeln!(text, "{ms}.{fraction:06}\t0\t{}\t{}\t{}", sector(r), r.bytes / 512, u8::from(is_read(r)))
    }),
    ("SSDsim/MQSim ASCII", |text, r| {
        writeln!(text, "{} 0 {} {} {}", r.arrival_ns, sector(r), r.bytes / 512, u8::from(is_read(r)))
    }),
    ("FIU", |text, r| {
        let (at, count, letter) = (sector(r), r.bytes / 512, letter(r));
        writeln!(text, "{} 4892 gzip {at} {count} {letter} 6 0 531e779e39068c10f3988515559f0c8b", r.arrival_ns)
    }),
    ("SPC", |text, r| {
        let (s, fraction) = seconds(r);
        writeln!(text, "0,{},{},{},{s}.{:06}", sector(r), r.bytes, letter(r), fraction / 1000)
    }),
    ("blkparse", |text, r| {
        let (s, fraction) = seconds(r);
        let (at, count, rwbs) = (sector(r), r.bytes / 512, letter(r));
        writeln!(text, "  8,16   5        2 {s:5}.{fraction:09} 18615  Q   {rwbs} {at} + {count} [java]")
    }),
    ("SYSTOR'17 CSV", |text, r| {
        let (s, fraction) = seconds(r);
        let s = 1_456_095_145 + s;
        writeln!(text, "{s}.{fraction:09},0.000806000,{},0,{},{}", letter(r), r.offset_bytes, r.bytes)
    }),
    ("Alibaba CSV", |text, r| {
        let us = 1_577_808_144_360_767 + r.arrival_ns / 1000;
        writeln!(text, "419,{},{},{},{us}", letter(r), r.offset_bytes, r.bytes)
    }),
    ("Tencent CSV", |text, r| {
        let s = 1_538_323_200 + r.arrival_ns / 1_000_000_000;
        writeln!(text, "{s},{},{},{},1058", sector(r), r.bytes / 512, u8::from(!is_read(r)))
    }),
    ("fio iolog", |text, r| {
        if text.is_empty() {
            text.push_str("fio version 3 iolog\n");
        }
        let action = if is_read(r) { "read" } else { "write" };
        writeln!(text, "{} /dev/sdb {action} {} {}", r.arrival_ns / 1000, r.offset_bytes, r.bytes)
    }),
];

/// A request as MSR Cambridge CSV.
fn msr(text: &mut String, r: &TraceRequest) -> std::fmt::Result {
    let access = if is_read(r) { "Read" } else { "Write" };
    let ticks = 128_166_372_000_000_000 + r.arrival_ns / 100;
    writeln!(text, "{ticks},usr,0,{access},{},{},41286", r.offset_bytes, r.bytes)
}

fn text(requests: &[TraceRequest], write: Writer) -> anyhow::Result<Vec<u8>> {
    let mut text = String::new();
    for request in requests {
        write(&mut text, request)?;
    }
    Ok(text.into_bytes())
}

fn is_read(r: &TraceRequest) -> bool {
    r.access == Access::Read
}

fn letter(r: &TraceRequest) -> char {
    if is_read(r) { 'R' } else { 'W' }
}

fn sector(r: &TraceRequest) -> u64 {
    r.offset_bytes / 512
}

/// Whole seconds and the nanoseconds that follow.
fn seconds(r: &TraceRequest) -> (u64, u64) {
    (r.arrival_ns / 1_000_000_000, r.arrival_ns % 1_000_000_000)
}

/// The requests as Parquet.
fn parquet(requests: &[TraceRequest]) -> anyhow::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    let info = InMemory::new(Arc::default()).info().clone();
    let mut writer = write::begin(WriteFormat::Parquet, Compression::None, &info, &mut file)?;
    writer.write(requests)?;
    writer.finish()?;
    Ok(file)
}

/// The requests as CloudPhysics VSCSI, version 1.
fn vscsi(requests: &[TraceRequest]) -> Vec<u8> {
    let record = |(number, r): (usize, &TraceRequest)| {
        let command: u16 = if is_read(r) { 0x28 } else { 0x2a };
        let mut record = [0; 32];
        record[0..4].copy_from_slice(&(number as u32).to_le_bytes());
        record[4..8].copy_from_slice(&r.bytes.to_le_bytes());
        record[8..12].copy_from_slice(&1u32.to_le_bytes());
        record[12..14].copy_from_slice(&command.to_le_bytes());
        record[14..16].copy_from_slice(&0x0100u16.to_le_bytes());
        record[16..24].copy_from_slice(&(r.offset_bytes / 512).to_le_bytes());
        record[24..32].copy_from_slice(&(r.arrival_ns / 1000).to_le_bytes());
        record
    };
    requests.iter().enumerate().flat_map(record).collect()
}

fn gzip(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(LEVEL));
    encoder.write_all(plain)?;
    encoder.finish()
}

#[cfg(feature = "compression")]
fn xz(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), LEVEL);
    encoder.write_all(plain)?;
    encoder.finish()
}
