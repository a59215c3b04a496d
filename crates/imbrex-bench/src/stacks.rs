//! Stacks of devices: a cache on flash in front of a disk, each device simulated whole.

use imbrex::layers;
use imbrex::replay::ReplayOptions;

use super::layers::{drive_for, replay, stream};
use super::{Best, Report, Scale};

/// The caches, over the devices that they have by default.
const LAYERS: [&str; 2] = ["lru-cache", "pore"];
/// A range that is written again and again, so that the cache, the flash and the disk all clean.
const RANGE_GIB: u64 = 10;

/// Adds how fast stacks are replayed.
pub fn measure(scale: Scale, report: &mut Report) -> anyhow::Result<()> {
    for skewed in [false, true] {
        let stream = stream(RANGE_GIB << 30, skewed, scale)?;
        let name = format!("{} {RANGE_GIB} GiB", stream.name);
        report.begin(&format!("stacks, {name}"));
        let mut rates = [Best::default(); LAYERS.len()];
        // Half as often as other things: a block of the host is several of the devices.
        for _ in 0..scale.repetitions.div_ceil(2) {
            for (layer, best) in LAYERS.iter().zip(&mut rates) {
                let layer = layers::find(layer)?;
                let seconds = replay(layer, &drive_for(layer, &stream)?, &stream, ReplayOptions::default(), scale)?;
                best.rate(scale.requests - scale.lead_in, seconds);
            }
        }
        for (layer, best) in LAYERS.iter().zip(rates) {
            let note = "a stack of flash and a disk, replayed with prefetching; aim: at least 1 M";
            report.add(format!("{layer} stacked, {name}"), best.0, "blocks/s", note);
        }
    }
    Ok(())
}
