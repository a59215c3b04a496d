//! Log-structured bands in the set-up of their paper: blocks of 512 bytes, two bands of RAM, no spare band.

use crate::fixture::{Listed, request};
use imbrex::block::{Access, Extent, Lba, Pba};
use imbrex::contents::BandState;
use imbrex::drive::DrivePreset;
use imbrex::layer::{Step, UnitReport};
use imbrex::layers;
use imbrex::media::{Media, Shingled, ZonedSpec};
use imbrex::plan::{Plan, Why};
use imbrex::replay::{BufferSize, Configured, Device, NoTime, Outcome, ReplayOptions, Setup, replay};
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
            StreamSpec::new(1, Pattern::Uniform),
            StreamSpec::new(1, Pattern::Zipf { theta: 0.99, scatter_kib: None }),
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
    for layer in ["log-greedy", "log-fifo", "log-cost-benefit", "log-choices"] {
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
    let survives =
        |config: &str| layer.build(&space, &config.parse().unwrap()).unwrap().facts().loses_flushed.is_none();
    assert!(survives("buffer_bands = 2") && survives("buffer_volatile = false"), "without a buffer it does not matter");
    assert!(!survives("buffer_bands = 2\nbuffer_volatile = false") && !survives("spare_bands = 0"));
}

/// Blocks moved to make room for one more in the example of the paper's Fig. 1, with bands of eight blocks: one is a
/// quarter dead and else cold (6 live blocks), another dead but for a cold and a hot block (2), a third all live, and
/// the fourth is spare.
fn moved_in_the_example(config: &str) -> u64 {
    let spec = ZonedSpec { zones: 4, zone_blocks: 8, conventional_zones: 0, max_open: 0, max_active: 0 };
    let disk = Device::new(Box::new(Shingled::new(Pba::DISK, spec)), Box::new(NoTime), 4096);
    let config = format!("spare_fraction = 0.5\ncompact_bands = 1\n{config}").parse().unwrap();
    let options = ReplayOptions { verify: true, prefill: 0.0, ..ReplayOptions::default() };
    let layer = layers::find("cold-weight").unwrap();
    let simulation = Configured { layer, config: &config, buffer_blocks: 0 }.simulation(disk, &options).unwrap();
    assert_eq!(simulation.capacity(), 16);
    let mostly_cold = 0..8;
    let mostly_dead = [0, 8, 9, 10, 11, 12, 13, 14];
    let rest = [9, 10, 11, 12, 13, 14, 1, 15];
    let blocks = mostly_cold.chain(mostly_dead).chain(rest).chain([15]);
    let requests = blocks.map(|block| request(0, Access::Write, block, 1)).collect();
    simulation.run(&mut Listed::new(requests), &mut ()).unwrap().media_write_blocks.get(Why::Migrate)
}

#[test]
fn the_weight_decides_the_papers_example_as_its_figure_does() {
    assert_eq!(moved_in_the_example("cold_weight = 1.0"), 6);
    assert_eq!(moved_in_the_example("cold_weight = 0.5"), 2);
    // With both printed weights, w = (0.75 - 0.5) / (1 - 0.5) is the same.
    assert_eq!(moved_in_the_example("cold_weight = 0.75\nhot_weight = 0.5"), 2);
    assert_eq!(moved_in_the_example("cold_weight = 0.81"), 6);
    assert_eq!(moved_in_the_example("cold_weight = 0.79"), 2);
}

/// 2 + 0.8 · 6 and 6 + 0.8 · 1 of eight are the same, though not in binary fractions.
#[test]
fn bands_that_count_alike_in_decimals_are_equal() {
    for weights in ["cold_weight = 0.8", "cold_weight = 0.82\nhot_weight = 0.1"] {
        for (equal, moved) in [("fewest", 2), ("oldest", 6), ("lowest", 6)] {
            assert_eq!(moved_in_the_example(&format!("{weights}\nequal = '{equal}'")), moved, "{weights}, {equal}");
        }
    }
}

/// Compaction does not cool what is known to be hot: it goes on with other hot blocks, and none was hot once.
#[test]
fn blocks_that_are_known_to_be_hot_stay_hot_when_they_are_moved() {
    let moved = |config: &str| {
        let spec = ZonedSpec { zones: 20, zone_blocks: 16, conventional_zones: 0, max_open: 0, max_active: 0 };
        let disk = Device::new(Box::new(Shingled::new(Pba::DISK, spec)), Box::new(NoTime), 4096);
        let config = format!("spare_fraction = 0.3\noracle = 0.25\n{config}").parse().unwrap();
        let layer = layers::find("cold-weight").unwrap();
        let simulation = Configured { layer, config: &config, buffer_blocks: 0 }
            .simulation(disk, &ReplayOptions::default())
            .unwrap();
        assert_eq!(simulation.capacity(), 224);
        // Three of four writes go to the hot quarter.
        let block = |n: u64| if n.is_multiple_of(4) { 56 + n * 29 % 168 } else { n * n * 13 % 56 };
        let requests = (0..4000).map(|n| request(0, Access::Write, block(n), 1)).collect();
        simulation.run(&mut Listed::new(requests), &mut ()).unwrap().media_write_blocks.get(Why::Migrate)
    };
    let apart = moved("open_bands = 2");
    assert_eq!(apart, moved("open_bands = 3"));
    assert_eq!(apart, moved("open_bands = 2\ncooling = 'halve'"));
    assert_ne!(apart, moved(""));
}

/// None is when the write buffer has become empty.
#[test]
fn no_band_is_opened_before_something_is_written_there() {
    let spec = ZonedSpec { zones: 6, zone_blocks: 8, conventional_zones: 0, max_open: 0, max_active: 0 };
    let media = Shingled::new(Pba::DISK, spec);
    let units: UnitReport = media.unit_report();
    let disk = Device::new(Box::new(media), Box::new(NoTime), 4096);
    let space = imbrex::replay::space(&disk, 0, &ReplayOptions::default()).unwrap();
    for open_bands in [1, 3] {
        let config = format!("buffer_bands = 1\nopen_bands = {open_bands}").parse().unwrap();
        let mut layer = layers::find("cold-weight").unwrap().build(&space, &config).unwrap();
        let mut plan = Plan::new();
        layer.recovered(&units, &mut plan).unwrap();
        assert_eq!(layer.write(Extent::new(Lba(0), 8).into(), &mut plan), 8);
        let steps = (0..9).find(|_| layer.flush(&mut plan) == Step::Done);
        assert!(steps.is_some(), "the write buffer is not emptied");
        let states: Vec<BandState> = layer.contents().unwrap().bands().iter().map(|band| band.state).collect();
        assert_eq!(states[..2], [BandState::Closed, BandState::Empty], "{open_bands}");
    }
}
