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
    let csv = msr(&requests)?;
    let note = "uniform single blocks, from memory";
    for (name, file) in [
        ("MSR CSV gzip", gzip(&csv)?),
        ("MSR CSV zstd", zstd::encode_all(&csv[..], LEVEL as i32)?),
        ("MSR CSV xz", xz(&csv)?),
        ("MSR CSV", csv),
        ("VSCSI v1", vscsi(&requests)),
    ] {
        let rate = decoded(file.into(), scale)?;
        report.add(format!("decoding {name}"), rate, "requests/s", note);
    }
    if cfg!(feature = "parquet") {
        let rate = decoded_file(&parquet(&requests)?, scale)?;
        report.add("decoding Parquet", rate, "requests/s", "the same, from a file");
    }
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

/// The requests as MSR Cambridge CSV.
fn msr(requests: &[TraceRequest]) -> anyhow::Result<Vec<u8>> {
    let mut csv = String::new();
    for r in requests {
        let access = if r.access == Access::Read { "Read" } else { "Write" };
        let ticks = 128_166_372_000_000_000 + r.arrival_ns / 100;
        writeln!(csv, "{ticks},usr,0,{access},{},{},41286", r.offset_bytes, r.bytes)?;
    }
    Ok(csv.into_bytes())
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
        let command: u16 = if r.access == Access::Read { 0x28 } else { 0x2a };
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

fn xz(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), LEVEL);
    encoder.write_all(plain)?;
    encoder.finish()
}
