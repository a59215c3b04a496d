//! Write amplification on interlaced disks against closed forms.
//!
//! A uniform workload writes every block equally often, so the amplification is the mean, over all blocks, of what a
//! write brings along. Where a bottom block lies under one block of each neighbour, that is the share of the bottom
//! blocks times their mean number of neighbours. Where the arcs decide and requests begin and end with whole blocks on
//! all tracks, a bottom write rewrites on each neighbour as many bytes as the top track is shorter; so every allocated
//! top byte is rewritten as often as each of the two bottom arcs under it is written.

use super::writes::uniform;
use super::{Comparison, Numbers};
use crate::replay::{self, ReplayError, ReplayOptions, Setup};
use imbrex_core::buffer_size::BufferSize;
use imbrex_core::drive::DrivePreset;
use imbrex_core::plan::Why;
use imbrex_layers as layers;
use imbrex_trace::Workload;

/// Requests of a check: enough that chance moves the result by a third of a percent.
const REQUESTS: u64 = 200_000;
/// How far the measured number may be from the expected one, in percent of it.
const PERCENT: f64 = 1.0;
/// The disks are taken this small; what one end of a group is to the whole disk is then below a thousandth.
const DISK_BYTES: u64 = 16 << 30;
/// Block share of the bottom tracks where 5 bottom blocks take the arc of 4 top blocks.
const BOTTOM_SHARE: f64 = 5.0 / 9.0;

/// Uniform writes over a disk that is allocated in part.
struct Case {
    drive: &'static str,
    layer: &'static str,
    /// The part that is allocated.
    utilisation: f64,
    /// The size of requests; they begin at multiples of it.
    kib: u32,
    expected: f64,
}

/// The amplification where a bottom block lies under one block of each neighbour, in groups of 64 bottom tracks of 568
/// blocks and 64 top tracks of 456, of which one bottom track has one neighbour.
fn one_block_each() -> f64 {
    1.0 + 568.0 / (568.0 + 456.0) * (2.0 * 63.0 + 1.0) / 64.0
}

/// The amplification in bytes when a part of a disk with tracks of 5 to 4 is allocated: all bottom tracks first.
fn in_bytes(utilisation: f64) -> f64 {
    1.0 + 2.0 * (utilisation - BOTTOM_SHARE).max(0.0) / utilisation
}

/// The amplification of single blocks on such tracks: of five bottom blocks two lie under one block, three under two.
fn single_blocks() -> f64 {
    1.0 + BOTTOM_SHARE * 2.0 * (2.0 + 3.0 * 2.0) / 5.0
}

fn cases() -> Vec<Case> {
    let (imrsim, tracklace) = ("imrsim", "imr-tracklace");
    let case = |drive, layer, utilisation, kib, expected| Case { drive, layer, utilisation, kib, expected };
    let mut cases = vec![
        case(imrsim, "seagate", 1.0, 4, one_block_each()),
        case(imrsim, "seagate-two-phase", 1.0, 4, one_block_each()),
        case(tracklace, "seagate", 1.0, 4, single_blocks()),
    ];
    for utilisation in [0.5, 0.6, 0.8, 0.95, 1.0] {
        cases.push(case(tracklace, "seagate", utilisation, 20, in_bytes(utilisation)));
    }
    cases.push(case(tracklace, "seagate-two-phase", 0.8, 20, in_bytes(0.8)));
    cases
}

/// Replays uniform writes on the layers for interlaced disks and compares their write amplification with closed forms.
///
/// # Errors
/// When a built-in preset is broken, or a layer.
pub fn interlaced() -> Result<Vec<Comparison>, ReplayError> {
    let row = |case: &Case| {
        let drive = DrivePreset::named(case.drive)?.with_capacity(DISK_BYTES)?;
        let Case { layer, utilisation, kib, expected, .. } = *case;
        let check = format!("{layer}, {kib} KiB writes, {:.0} % allocated: WA", 100.0 * utilisation);
        let numbers = Numbers { expected, measured: case.measured(&drive)? };
        Ok(Comparison::within_percent(case.drive, &check, numbers, PERCENT, "x"))
    };
    cases().iter().map(row).collect()
}

impl Case {
    /// Media blocks written for each block of the host.
    fn measured(&self, drive: &DrivePreset) -> Result<f64, ReplayError> {
        let config = toml::Table::from_iter([("utilisation".to_owned(), toml::Value::Float(self.utilisation))]);
        let options = ReplayOptions { prefill: 0.0, ..ReplayOptions::default() };
        let layer = layers::find(self.layer)?;
        let disk = replay::disk(drive, layer.recording)?;
        let capacity = layer.build(&replay::space(&disk, 0, &options)?, &config)?.capacity();
        let grain_bytes = u64::from(self.kib) << 10;
        let range_bytes = capacity * u64::from(drive.block_bytes) / grain_bytes * grain_bytes;
        let workload = Workload::Synthetic(uniform(range_bytes, self.kib, REQUESTS));
        let buffer = BufferSize::Bytes(0);
        let setup = Setup { drive, layer, config: &config, buffer, workload: &workload };
        let outcome = replay::replay(&setup, &options, &mut ())?;
        let written = &outcome.media_write_blocks;
        let own = written.get(Why::Host) + written.get(Why::Neighbour);
        Ok(own as f64 / outcome.host_write_blocks as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;
    use imbrex_core::drive::MediaSpec;
    use imbrex_core::tracks::{Overlap, Tracks};

    #[test]
    fn closed_forms_hold() {
        assert!((one_block_each() - 2.1007).abs() < 5e-5);
        let published = [0.6, 0.8, 0.95, 1.0].map(|u| (in_bytes(u) * 100.0).round() / 100.0);
        assert_eq!(published, [1.15, 1.61, 1.83, 1.89]);
        for row in interlaced().unwrap() {
            println!("{row:?}");
            assert_eq!(row.verdict, Verdict::Pass, "{row:?}");
        }
    }

    /// The verdict on a case with the drive's tracks changed.
    fn verdict(case: &Case, change: fn(Tracks) -> Tracks) -> Verdict {
        let mut drive = DrivePreset::named(case.drive).unwrap().with_capacity(DISK_BYTES).unwrap();
        let MediaSpec::Interlaced(tracks) = &mut drive.media else { panic!("an interlaced drive") };
        *tracks = change(*tracks);
        let measured = case.measured(&drive).unwrap();
        let numbers = Numbers { expected: case.expected, measured };
        Comparison::within_percent("wrong", "WA", numbers, PERCENT, "x").verdict
    }

    #[test]
    fn a_wrong_model_fails() {
        let [first, .., last] = &cases()[..] else { panic!("there are cases") };
        for case in [first, last] {
            assert_eq!(verdict(case, |tracks| tracks), Verdict::Pass);
            assert_eq!(verdict(case, |t| Tracks { overlap: Overlap::Track, ..t }), Verdict::Fail);
            assert_eq!(verdict(case, |t| Tracks { top_blocks: t.top_blocks / 2, ..t }), Verdict::Fail);
        }
        assert_eq!(verdict(first, |t| Tracks { overlap: Overlap::Angle, ..t }), Verdict::Fail);
        assert_eq!(verdict(first, |t| Tracks { bottom_tracks: 8, top_tracks: 7, ..t }), Verdict::Fail);
    }
}
