//! `tracklace` against lists of tracks, slots and pairs, for each of its switches.
//!
//! The model places every block by enumerating tracks, finds what a write destroys by comparing arcs, and searches its
//! lists where the layer keeps maps. It draws from the same stream, and keeps the order of the tracks it draws from as
//! the layer says it is.

pub mod disk;
mod frames;
mod model;
mod settings;

use std::fmt::Write as _;
use std::path::Path;

use imbrex::block::Access;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::random::Random;
use imbrex::replay::{BufferSize, Outcome, ReplayOptions, Setup, replay};
use imbrex::trace::Workload;
use imbrex::trace::synthetic::SyntheticSpec;
use imbrex::tracks::{Overlap, Tracks};

use crate::counts::requests;
use model::{Counts, Model};
use settings::Settings;

fn counted(outcome: &Outcome) -> Counts {
    Counts {
        host: outcome.media_write_blocks.get(Why::Host),
        updates: outcome.rmw,
        rewritten: outcome.media_write_blocks.get(Why::Neighbour),
        hits: outcome.write_hit_blocks,
        hot_hits: outcome.counters.get("hot_hit_blocks").unwrap(),
        direct: outcome.direct_blocks,
        collected: outcome.media_read_blocks.get(Why::Collect),
        destaged: outcome.media_write_blocks.get(Why::Destage),
        evicted: outcome.evicted_blocks,
        swap_reads: outcome.media_read_blocks.get(Why::Swap),
        swap_writes: outcome.media_write_blocks.get(Why::Swap),
    }
}

/// Writes of the workload, most of them to few blocks, over so many bytes.
pub fn workload(range_bytes: u64, seed: u64) -> Workload {
    let spec = format!(
        r#"
        name = "mixed"
        seed = {seed}
        requests = 3000
        range_bytes = {range_bytes}
        write_ratio = 0.95
        sizes = [{{ kib = 4, weight = 6 }}, {{ kib = 12, weight = 2 }}, {{ kib = 140, weight = 1 }}]
        arrivals.mean_rate = 100.0
        streams = [
            {{ weight = 1, pattern = "uniform" }},
            {{ weight = 3, pattern.zipf = {{ theta = 0.9, scatter_kib = 4 }} }},
        ]
        "#
    );
    Workload::Synthetic(SyntheticSpec::parse("mixed", &spec).expect("a workload"))
}

/// The same workload, a quarter of whose requests are trims, most of them of few blocks and some of half the range.
fn trimming(range_bytes: u64, seed: u64) -> Workload {
    let mut random = Random::new(seed);
    let mut log = "fio version 3 iolog\n0 disk open\n".to_owned();
    for request in requests(&workload(range_bytes, seed)) {
        let (at, mut blocks, mut action) = (request.blocks(4096), u64::from(request.blocks(4096).blocks), "write");
        if random.below(4) == 0 {
            let most = if random.below(50) == 0 { range_bytes / 8192 } else { 4 * blocks };
            (blocks, action) = (1 + random.below(most), "trim");
        } else if request.access == Access::Read {
            action = "read";
        }
        let (first, time) = (at.start.0, request.arrival_ns / 1000);
        let bytes = blocks.min(range_bytes / 4096 - first) * 4096;
        writeln!(log, "{time} disk {action} {} {bytes}", first * 4096).expect("a text takes it");
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trims-{range_bytes}-{seed}.iolog"));
    std::fs::write(&path, log).expect("a file can be written");
    Workload::File(path.into())
}

/// On a disk that was never written, and on a full one: filling it is no history, and makes all of it needed.
fn compare(workload: &Workload, tracks: Tracks, settings: &Settings) -> Counts {
    compare_filled(workload, tracks, settings, 1.0);
    compare_filled(workload, tracks, settings, 0.0)
}

fn compare_filled(workload: &Workload, tracks: Tracks, settings: &Settings, prefill: f64) -> Counts {
    let mut drive = DrivePreset::named("tiny-interlaced").expect("a preset");
    drive.media = MediaSpec::Interlaced(tracks);
    let config = settings.config();
    let options = ReplayOptions { verify: true, check_every: 64, prefill, ..ReplayOptions::default() };
    let layer = layers::find("tracklace").expect("a layer");
    let setup = Setup { drive: &drive, layer, config: &config, buffer: BufferSize::Bytes(0), workload };
    let outcome = replay(&setup, &options, &mut ()).expect("it replays");
    let unwritten = settings.unwritten || prefill > 0.0;
    let mut model = Model::new(tracks, Settings { unwritten, ..settings.clone() });
    for request in requests(workload) {
        let at = request.blocks(4096);
        match request.access {
            Access::Read => {}
            Access::Write => model.write(at.start.0, u64::from(at.blocks)),
            Access::Trim => model.trim(at.start.0, u64::from(at.blocks)),
        }
    }
    assert_eq!(counted(&outcome), model.counts, "{config} on {tracks:?}, filled to {prefill}");
    assert_eq!(outcome.media_read_blocks.get(Why::Neighbour), model.counts.rewritten);
    model.counts
}

pub fn tiny() -> Tracks {
    let MediaSpec::Interlaced(tracks) = DrivePreset::named("tiny-interlaced").expect("a preset").media else {
        panic!("an interlaced drive")
    };
    tracks
}

/// The bytes of what is allocated, which a workload may touch.
fn range(tracks: Tracks, utilisation: f64) -> u64 {
    (tracks.interlaced_blocks() as f64 * utilisation) as u64 * 4096
}

/// The seven configurations of the paper's Figure 6, on a disk of a few tracks.
fn figure_6(utilisation: f64) -> [(&'static str, Settings); 7] {
    let sg = Settings { utilisation, ..Settings::default() };
    let za = Settings { zig_zag: true, ..sg.clone() };
    let bf = Settings { percent: 20.0, slowest: 1, ..za.clone() };
    let ab = Settings { slowest: 128, ..bf.clone() };
    let sw = Settings { swap: true, ..ab.clone() };
    let vf = Settings { frame_tracks: 11, ..sw.clone() };
    let our = Settings { phases: 6, ..vf.clone() };
    [("sg", sg), ("z-a", za), ("+bf", bf), ("+ab", ab), ("+sw", sw), ("+vf", vf), ("our", our)]
}

#[test]
fn every_mechanism_agrees() {
    let shapes = [
        tiny(),
        Tracks { overlap: Overlap::Track, skew_blocks: 0, top_tracks: 7, ..tiny() },
        Tracks { groups: 1, bottom_tracks: 18, top_tracks: 17, bottom_blocks: 23, ..tiny() },
    ];
    let mut seen = std::collections::HashSet::new();
    for tracks in shapes {
        for utilisation in [0.7, 0.9] {
            for (name, settings) in figure_6(utilisation) {
                let counts = compare(&workload(range(tracks, utilisation), 5), tracks, &settings);
                assert_eq!(counts.evicted > 0, settings.percent > 0.0, "{name}: {counts:?}");
                assert_eq!(counts.swap_writes > 0, settings.swap && utilisation > 0.8, "{name}: {counts:?}");
                seen.insert((counts.rewritten, counts.updates));
            }
        }
    }
    assert!(seen.len() > 30, "what differs must count differently: {}", seen.len());
}

#[test]
fn every_reading_agrees() {
    let our = |utilisation| figure_6(utilisation)[6].1.clone();
    let mut seen = Vec::new();
    for (utilisation, readings) in [
        (0.92, ["end", "replace", "gain"].map(|when_full| Settings { when_full, ..our(0.92) })),
        (1.0, ["end", "replace", "gain"].map(|when_full| Settings { when_full, percent: 8.0, ..our(1.0) })),
        (0.95, ["end", "replace", "gain"].map(|when_full| Settings { when_full, frame_tracks: 0, ..our(0.95) })),
        (0.95, [3, 40, 200].map(|halve_after| Settings { halve_after, ..our(0.95) })),
        (0.9, [0, 7, 11].map(|frame_tracks| Settings { opens: "gain", frame_tracks, ..our(0.9) })),
        (1.0, [0.0, 0.25, 1.0].map(|watched| Settings { watched, percent: 40.0, frame_tracks: 0, ..our(1.0) })),
        (0.85, [1, 3, 7].map(|update_blocks| Settings { update_blocks, hits: "append", ..our(0.85) })),
        (0.75, [4, 6, 9].map(|frame_tracks| Settings { frame_tracks, percent: 9.0, ..our(0.75) })),
        (0.6, ["place", "room", "append"].map(|hits| Settings { hits, percent: 40.0, frame_tracks: 0, ..our(0.6) })),
        (0.85, [60, 100, 1000].map(|least| Settings { least, percent: 2.0, frame_tracks: 0, ..our(0.85) })),
    ] {
        for settings in readings {
            let counts = compare(&workload(range(tiny(), utilisation), 7), tiny(), &settings);
            assert!(!seen.contains(&counts), "{settings:?}: {counts:?}");
            seen.push(counts);
        }
    }
}

#[test]
fn trims_agree_in_every_configuration() {
    let shapes = [
        tiny(),
        Tracks { overlap: Overlap::Track, skew_blocks: 0, top_tracks: 7, ..tiny() },
        Tracks { groups: 1, bottom_tracks: 18, top_tracks: 17, bottom_blocks: 23, ..tiny() },
    ];
    for (tracks, seed) in shapes.into_iter().zip(11..) {
        for utilisation in [0.7, 0.9, 1.0] {
            for (name, settings) in figure_6(utilisation) {
                let workload = trimming(range(tracks, utilisation), seed);
                let swaps = settings.swap;
                let without = Settings { trim: false, ..settings.clone() };
                let written = Settings { unwritten: false, ..settings.clone() };
                let [kept, trimmed, new] =
                    [without, settings, written].map(|settings| compare(&workload, tracks, &settings).rewritten);
                let is_less = if swaps { trimmed != kept } else { new < trimmed && trimmed < kept };
                assert!(is_less, "{name} at {utilisation}: {new}, {trimmed}, {kept}");
            }
        }
    }
}

#[test]
fn trims_agree_in_every_reading() {
    let our = |utilisation| figure_6(utilisation)[6].1.clone();
    let mut seen = Vec::new();
    for (utilisation, readings) in [
        (0.92, ["end", "replace", "gain"].map(|when_full| Settings { when_full, ..our(0.92) })),
        (1.0, ["end", "replace", "gain"].map(|when_full| Settings { when_full, percent: 8.0, ..our(1.0) })),
        (0.85, [1, 3, 7].map(|update_blocks| Settings { update_blocks, hits: "append", ..our(0.85) })),
        (0.75, [4, 6, 9].map(|frame_tracks| Settings { frame_tracks, percent: 9.0, ..our(0.75) })),
    ] {
        for settings in readings {
            let counts = compare(&trimming(range(tiny(), utilisation), 7), tiny(), &settings);
            assert!(!seen.contains(&counts), "{settings:?}: {counts:?}");
            seen.push(counts);
        }
    }
}

/// The first of the seven configurations is the other layer.
#[test]
fn the_baseline_counts_as_seagate_does() {
    let workload = workload(range(tiny(), 0.9), 9);
    let (_, sg) = &figure_6(0.9)[0];
    let ours = compare(&workload, tiny(), sg);
    let drive = DrivePreset::named("tiny-interlaced").expect("a preset");
    let (config, layer) = ("utilisation = 0.9".parse().expect("TOML"), layers::find("seagate").expect("a layer"));
    let setup = Setup { drive: &drive, layer, config: &config, buffer: BufferSize::Bytes(0), workload: &workload };
    let options = ReplayOptions { prefill: 0.0, ..ReplayOptions::default() };
    let seagate = replay(&setup, &options, &mut ()).expect("it replays");
    assert_eq!((seagate.rmw, seagate.media_write_blocks.get(Why::Neighbour)), (ours.updates, ours.rewritten));
}
