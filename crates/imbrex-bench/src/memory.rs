//! What a layer's maps weigh.

use anyhow::Context;
use imbrex::block::{Address, Extent, Lba};
use imbrex::drive::DrivePreset;
use imbrex::layer::TranslationLayer;
use imbrex::layers::{self, LayerInfo};
use imbrex::plan::Record;
use imbrex::recording::Recording;
use imbrex::replay::{ReplayOptions, disk, space};

use super::Report;
use super::layers::{BUFFER_PERCENT, DRIVE};
use super::requests::BLOCK_BYTES;

const RANGE_BLOCKS: u64 = (256 << 30) / BLOCK_BYTES;

/// Adds what a layer with a buffer before zones holds whose buffer is full of blocks from all over 256 GiB: the worst
/// case of a sparse map.
pub fn measure(report: &mut Report) -> anyhow::Result<()> {
    if status_bytes("VmRSS:").is_err() {
        report.add("a buffered block", f64::NAN, "bytes", "not available on this system");
        return Ok(());
    }
    // What a layer gave back to the allocator could serve the next one without growing the process, so all are kept.
    let on_zones = |info: &&LayerInfo| info.buffered && info.recording == Recording::Zoned;
    let buffered = layers::ALL.iter().filter(on_zones);
    let _kept = buffered.map(|info| measure_layer(info, report)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(())
}

fn measure_layer(info: &LayerInfo, report: &mut Report) -> anyhow::Result<Box<dyn TranslationLayer>> {
    let buffer = (RANGE_BLOCKS * BUFFER_PERCENT / 100) as u32;
    let disk = disk(&DrivePreset::named(DRIVE)?, info.recording)?;
    let space = space(&disk, buffer, &ReplayOptions::default())?;
    let before = status_bytes("VmRSS:")?;
    let mut layer = info.build(&space, &toml::Table::new())?;
    let empty = status_bytes("VmRSS:")? - before;
    for slot in 0..u64::from(buffer) {
        // An odd factor maps different slots to different blocks of a range that is a power of two.
        let lba = Lba(slot.wrapping_mul(0x9e37_79b9_7f4a_7c15) % RANGE_BLOCKS);
        layer.apply(&Record::Map { at: Extent::new(lba, 1), to: space.conventional.plus(slot) })?;
    }
    let full = status_bytes("VmRSS:")? - before;
    let (name, blocks, range) = (info.name, f64::from(buffer), RANGE_BLOCKS as f64);
    let note = format!("resident, on an 18 TB drive with {buffer} slots, before the first request");
    report.add(format!("{name}, empty"), empty, "bytes", note);
    report.add(format!("{name}, a buffered block"), full / blocks, "bytes", "resident, 1 % of 256 GiB, all over it");
    report.add(format!("{name}, a block of the range"), full / range, "bytes", "the same, over the 256 GiB touched");
    Ok(layer)
}

/// Adds the most memory this process has had, if the system says it.
pub fn peak(report: &mut Report) {
    match status_bytes("VmHWM:") {
        Ok(bytes) => report.add("peak memory", bytes, "bytes", "of this whole run, its tables and streams included"),
        Err(_) => report.add("peak memory", f64::NAN, "bytes", "not available on this system"),
    }
}

/// A figure of `/proc/self/status`, which is in KiB.
pub fn status_bytes(key: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)).context("there is no such line")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0)
}
