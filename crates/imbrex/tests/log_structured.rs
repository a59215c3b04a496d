//! Log-structured bands in the set-up of their paper: blocks of 512 bytes, two bands of RAM, no spare band.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BufferSize, Outcome, ReplayOptions, Setup, replay};
use imbrex::trace::Workload;
use imbrex::trace::synthetic::{ArrivalSpec, Pattern, SizeShare, StreamSpec, SyntheticSpec};

/// Requests of eight blocks, half of them to a sixteenth of the range.
fn hot_and_cold(range_bytes: u64) -> SyntheticSpec {
    SyntheticSpec {
        name: "hot and cold".to_owned(),
        description: String::new(),
        seed: 5,
        requests: 60_000,
        range_bytes,
        grain_kib: 4,
        write_ratio: 0.9,
        sizes: vec![SizeShare { kib: 4, weight: 1 }],
        arrivals: ArrivalSpec { mean_rate: 100.0, bursts: None },
        streams: vec![
            StreamSpec { weight: 1, pattern: Pattern::Uniform },
            StreamSpec { weight: 1, pattern: Pattern::Zipf { theta: 0.99, scatter_kib: None } },
        ],
    }
}

/// Replays, every read verified, on 13 bands of which the host gets 95 %.
fn outcome(layer: &str, config: &str) -> Outcome {
    let drive = DrivePreset::named("cold-weight-40m").unwrap().with_capacity(14 * 78_125 * 512).unwrap();
    assert_eq!(drive.block_bytes, 512);
    let config = format!("buffer_bands = 2\nspare_fraction = 0.05\nsequence = 'heat'\n{config}").parse().unwrap();
    let workload = Workload::Synthetic(hot_and_cold(400 << 20));
    let layer = layers::find(layer).unwrap();
    let setup = Setup { drive: &drive, layer, config: &config, buffer: BufferSize::Bytes(0), workload: &workload };
    let options = ReplayOptions { verify: true, ..ReplayOptions::default() };
    replay(&setup, &options, &mut ()).unwrap()
}

fn moved(config: &str) -> u64 {
    let outcome = outcome("log-greedy", config);
    let moved = outcome.media_write_blocks.get(Why::Migrate);
    assert!(moved > 0, "{config}: nothing was compacted");
    moved
}

#[test]
fn blocks_of_512_bytes_are_compacted_under_every_score() {
    for layer in ["log-greedy", "log-fifo", "log-cost-benefit"] {
        let outcome = outcome(layer, "spare_bands = 0\nbuffer_volatile = false");
        assert!(outcome.media_write_blocks.get(Why::Migrate) > 0, "{layer}");
        assert!(outcome.media_write_blocks.get(Why::Destage) > 0, "{layer}");
    }
}

/// An older copy of a block in the buffer is compacted as long as a power cut could need it.
#[test]
fn a_buffer_that_outlives_the_power_saves_moves() {
    let volatile = moved("spare_bands = 0\nbuffer_volatile = true");
    let lasting = moved("spare_bands = 0\nbuffer_volatile = false");
    assert!(lasting < volatile, "{lasting} and {volatile} moved blocks");
}

#[test]
fn heat_in_the_buffer_and_the_number_of_victims_move_the_count() {
    let counts = ["", "buffered_heat = false", "compact_bands = 4"];
    let mut counts = counts.map(|config| moved(&format!("spare_bands = 0\nbuffer_volatile = false\n{config}")));
    counts.sort_unstable();
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
}

#[test]
fn what_cannot_survive_a_power_cut_is_said() {
    let drive = DrivePreset::named("cold-weight-40m").unwrap();
    let layer = layers::find("log-greedy").unwrap();
    let disk = imbrex::replay::disk(&drive, layer.recording).unwrap();
    let space = imbrex::replay::space(&disk, 0, &ReplayOptions::default()).unwrap();
    let survives = |config: &str| layer.build(&space, &config.parse().unwrap()).unwrap().survives_power_loss().is_ok();
    assert!(survives("buffer_bands = 2") && survives("buffer_volatile = false"), "without a buffer it does not matter");
    assert!(!survives("buffer_bands = 2\nbuffer_volatile = false") && !survives("spare_bands = 0"));
}
