//! Hits, rewrites, evictions, padding and re-queued blocks of each buffered layer against a count that shares nothing
//! with it.
//!
//! The models keep lists, sets and a write pointer for each zone; they know no plan, no drive and no time. Layer and
//! model must agree on every count for every reading that the layer offers. Layers for interlaced and hybrid disks and
//! logs over bands have models of their own.

mod amphisbaena;
mod buffers;
mod dm_zoned;
mod drive_managed;
mod flash_cache;
mod in_place;
mod interlaced;
mod logs;
mod map_pages;
mod mapped_tracks;
mod model;
mod readings;
mod tracklace;
mod zone_ages;
mod zone_alloy;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use imbrex::block::Access;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BufferSize, Outcome, ReplayOptions, Setup, replay};
use imbrex::trace::{TraceRequest, Workload};
use test_material::{beside, cases};

use amphisbaena::{Amphisbaena, Readings};
use buffers::{BlockLru, FifoLog, HashedZones, LoopBack};
use dm_zoned::{DmZoned, Settings};
use in_place::InPlace;
use model::{Buffer, Buffered, Counts, Disk, Model};
use zone_ages::ZoneAges;

/// Blocks that prefilling writes at a time.
const PREFILL_BLOCKS: u64 = 1 << 16;

/// The readings that move a count, beside the defaults.
const READINGS: [(&str, &[&str]); 7] = [
    ("fifo-log", &["clean_for = 'request'", "at_pointer = 'buffered'", "spare_zones = 0", "step_blocks = 7"]),
    (
        "loop-back",
        &[
            "clean_for = 'request'",
            "at_pointer = 'buffered'",
            "spare_zones = 0\nstep_blocks = 7",
            "requeue_blocks = 1",
            "requeue_blocks = 30\nreads_count = true",
        ],
    ),
    (
        "block-lru",
        &[
            "clean_for = 'request'",
            "at_pointer = 'buffered'",
            "spare_zones = 0\nstep_blocks = 7",
            "reads_count = true",
            "allocate = 'lowest'",
        ],
    ),
    (
        "hashed-zones",
        &["zone_slots = 17", "at_pointer = 'buffered'\nzone_slots = 40", "spare_zones = 0\nstep_blocks = 7"],
    ),
    (
        "amphisbaena",
        &[
            "period = 50\nchunk_blocks = 4",
            "period = 200\nreturn_if = 'some'\nround_up = true\nlambda = 0.3\ndemote_to = 'mru'",
            "period = 100\nchunk_blocks = 3\nmost_remembered = inf\nhot_most = 1.0\nvictims = 'lightest'",
            "period = 100\nchunk_blocks = 2\nmost_remembered = 0.3\ndensity = 'printed'\nbypass = 'pointer'",
            "period = 30\ndemote_when = 'literal'\nhot_below = true\nwindow = 10\nstep_blocks = 7",
            "phase_two = false\nvictims = 'fifo'\nspare_zones = 0",
            "period = 100\ncold_hits = false\ncold_known = false\nhot_start = 0.5\nchunk_blocks = 1\ncheckpoints = false",
            "period = 100\nchunk_blocks = 4\nsizes = 'blocks'\nhot_most_is = 'nearest'\nreturn_order = 'lowest'",
            "period = 60\nchunk_blocks = 2\ndensity = 'none'\ndemote_when = 'hit'\nreturn_when = 'always'",
            "period = 40\nchunk_blocks = 3\nused_by = 'hit'\nresize_when = 'after'\ncheckpoint_for = 'rest'",
        ],
    ),
    (
        "dm-zoned",
        &[
            "until = 'high'\nreclaim_low = 40\nreclaim_high = 70",
            "throttle = 10\nstep_blocks = 7",
            "in_use = 'wait'\nreads_count = false",
            "reserved_zones = 1\nmetadata_zones = 'none'",
        ],
    ),
    ("zone-ages", &["spare_zones = 0\nstep_blocks = 7", "step_blocks = 100\ninterruptible = false"]),
];

fn counted(outcome: &Outcome) -> Counts {
    Counts {
        hits: outcome.write_hit_blocks,
        direct: outcome.direct_blocks,
        rmw: outcome.rmw,
        rmw_free: outcome.rmw_free,
        evicted: outcome.evicted_blocks,
        padding: outcome.padding_blocks,
        padding_again: outcome.padding_again_blocks,
        requeued: outcome.media_write_blocks.get(Why::Migrate),
        hot_cold: layers::shingled::amphisbaena::counters::ALL
            .iter()
            .map(|counter| outcome.counters.get(counter.key).unwrap_or(0))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap(),
    }
}

/// The model of a layer in one of its configurations.
fn model(layer: &str, disk: Disk, slots: u64, config: &toml::Table) -> Box<dyn Model> {
    fn buffered(disk: Disk, buffer: impl Buffer + 'static, config: &toml::Table) -> Box<dyn Model> {
        let for_request = config.get("clean_for").is_some_and(|v| v.as_str() == Some("request"));
        let reads_count = config.get("reads_count").is_some_and(|v| v.as_bool() == Some(true));
        Box::new(Buffered { disk, buffer: Box::new(buffer), for_request, reads_count })
    }
    let number = |key: &str| config.get(key).and_then(toml::Value::as_integer).map(|n| n as u64);
    match layer {
        "fifo-log" => buffered(disk, FifoLog::new(slots), config),
        "loop-back" => buffered(disk, LoopBack::new(slots, number("requeue_blocks").unwrap_or(0)), config),
        "block-lru" => buffered(disk, BlockLru::new(slots), config),
        "hashed-zones" => Box::new(HashedZones::new(disk, slots, number("zone_slots").unwrap_or(0))),
        "zone-ages" => Box::new(ZoneAges::new(disk, slots)),
        _ => panic!("{layer} has no model"),
    }
}

/// The readings of zones that are rewritten in place.
const IN_PLACE: [&str; 6] = [
    "",
    "ahead = 'pad'\nstep_blocks = 7",
    "spare_zones = 0",
    "gather = 'zone'",
    "gather = 'zone'\nahead = 'pad'\nstep_blocks = 7",
    "gather = 'zone'\nspare_zones = 0",
];

/// The model of dm-zoned on a drive. The capacity says how many zones are not reserved and hold no metadata.
fn dm_zoned(media: &MediaSpec, capacity: u64, filled: u64, config: &toml::Table) -> Box<dyn Model> {
    let MediaSpec::Zoned { zones, zone_blocks, conventional_zones, .. } = *media else { panic!("a zoned drive") };
    let number =
        |key: &str, default: i64| config.get(key).map_or(default, |v| v.as_integer().expect("a number")) as u64;
    let is = |key: &str, text: &str| config.get(key).is_some_and(|v| v.as_str() == Some(text));
    let low = number("reclaim_low", 30);
    let settings = Settings {
        step: number("step_blocks", 4096),
        low,
        stop: if is("until", "high") { number("reclaim_high", 50) - 1 } else { low },
        throttle: number("throttle", 75),
        give_up: !is("in_use", "wait"),
        reads_count: config.get("reads_count").is_none_or(|v| v.as_bool() == Some(true)),
    };
    let (zone_blocks, all) = (u64::from(zone_blocks), u64::from(conventional_zones));
    let reserved = number("reserved_zones", 16).min(all - 1);
    let sequential = u64::from(zones) - all;
    let conventional = capacity / zone_blocks + reserved - sequential;
    let mut model = DmZoned::new(zone_blocks, conventional, sequential, reserved, settings);
    model.fill(filled, PREFILL_BLOCKS);
    Box::new(model)
}

fn requests(workload: &Workload) -> Vec<TraceRequest> {
    let mut source = workload.open().expect("the workload opens");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, 4096).expect("the workload decodes");
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch);
    }
}

fn compare(
    layer: &str,
    workload: &Workload,
    drive: &DrivePreset,
    buffer: BufferSize,
    prefill: f64,
    config: &str,
) -> Counts {
    compare_at(layer, workload, drive, buffer, prefill, 1, config)
}

/// With more than one request outstanding all of them have to be writes: reads overtake.
fn compare_at(
    layer: &str,
    workload: &Workload,
    drive: &DrivePreset,
    buffer: BufferSize,
    prefill: f64,
    outstanding: u32,
    config: &str,
) -> Counts {
    let config: toml::Table = config.parse().expect("a TOML table");
    let info = layers::find(layer).expect("a layer");
    let options = ReplayOptions { prefill, queue_depth: Some(outstanding), ..ReplayOptions::default() };
    let setup = Setup { drive, layer: info, config: &config, buffer, workload };
    let capacity = setup.simulation(&options).expect("it fits").capacity();
    let outcome = replay(&setup, &options, &mut ()).expect("it replays");
    let MediaSpec::Zoned { zone_blocks, .. } = drive.media else { panic!("a zoned drive") };
    let zone_blocks = u64::from(zone_blocks);
    let filled = (capacity as f64 * prefill) as u64 / zone_blocks * zone_blocks;
    let pointer =
        (0..capacity / zone_blocks).map(|z| filled.saturating_sub(z * zone_blocks).min(zone_blocks)).collect();
    let direct_first = config.get("at_pointer").and_then(|v| v.as_str()) != Some("buffered");
    let (buffered, padding) = (BTreeSet::new(), BTreeSet::new());
    let disk = Disk { zone_blocks, pointer, buffered, padding, direct_first, counts: Counts::default() };
    let slots = buffer.blocks(workload.range().expect("a range").range_bytes, drive.block_bytes);
    let mut model = match layer {
        "dm-zoned" => dm_zoned(&drive.media, capacity, filled, &config),
        "amphisbaena" => {
            let mut model = Amphisbaena::new(capacity / zone_blocks, zone_blocks, slots, Readings(config.clone()));
            model.fill(filled, PREFILL_BLOCKS);
            Box::new(model)
        }
        "in-place" => {
            let is = |key: &str, text: &str| config.get(key).is_some_and(|value| value.as_str() == Some(text));
            Box::new(InPlace { disk, gathers: is("gather", "zone"), pads: is("ahead", "pad") })
        }
        _ => model(layer, disk, slots, &config),
    };
    let all = requests(workload);
    let blocks = |request: &TraceRequest| {
        let at = request.blocks(drive.block_bytes);
        (at.start.0, u64::from(at.blocks))
    };
    for (number, request) in all.iter().enumerate() {
        let (first, length) = blocks(request);
        let behind = all[number + 1..].iter().take(outstanding as usize - 1);
        match request.access {
            Access::Write => {
                let waiting: Vec<_> = behind.map(blocks).collect();
                model.write_of(first, length, u64::from(request.bytes), &waiting);
            }
            Access::Read => model.read(first, length),
            Access::Trim => {}
        }
    }
    let counts = counted(&outcome);
    assert_eq!(counts, *model.counts(), "{layer}, {config:?} at {prefill}");
    counts
}

/// Uniform, sequential and popular writes of two sizes.
fn mixed() -> Workload {
    synthetic(
        r#"
        seed = 3
        range_bytes = 40000000
        write_ratio = 0.9
        sizes = [{ kib = 4, weight = 3 }, { kib = 28, weight = 1 }]
        streams = [
            { weight = 1, pattern = "uniform" },
            { weight = 1, pattern.sequential = { run_requests = 30.0 } },
            { weight = 1, pattern.zipf = { theta = 0.99 } },
        ]
    "#,
    )
}

/// A workload of 10 000 requests, or of 20 000 where nobody waits, that is otherwise as `own` says.
fn synthetic(own: &str) -> Workload {
    let requests = cases(10_000, 20_000);
    let spec = format!("name = \"own\"\ndescription = \"\"\nrequests = {requests}\narrivals.mean_rate = 100.0\n{own}");
    Workload::Synthetic(imbrex::trace::synthetic::SyntheticSpec::parse("own", &spec).expect("a workload"))
}

#[test]
fn counts_agree_on_synthetic_workloads() {
    let workload = mixed();
    let drive = DrivePreset::named("small-zoned").unwrap();
    for (layer, readings) in READINGS {
        let mut seen = Counts::default();
        for prefill in [1.0, 0.4, 0.0] {
            for config in std::iter::once(&"").chain(readings) {
                // Whole zones are no buffer of blocks.
                let sizes = if layer == "dm-zoned" { &[1 << 20][..] } else { &[1 << 20, 100 << 10] };
                for &buffer in sizes {
                    seen.add(&compare(layer, &workload, &drive, BufferSize::Bytes(buffer), prefill, config));
                }
            }
        }
        println!("{layer}: {seen:?}");
        assert!(
            [seen.rmw, seen.rmw_free, seen.padding, seen.hits, seen.direct].into_iter().all(|n| n > 20),
            "{seen:?}"
        );
        // dm-zoned moves what is mapped, and no padding with it.
        assert_eq!(seen.padding_again > 20, layer != "dm-zoned", "{seen:?}");
        assert_eq!(seen.requeued > 20, ["loop-back", "amphisbaena", "dm-zoned"].contains(&layer), "{seen:?}");
        // With one request at a time none waits, so no collection is stopped.
        let happened = seen.hot_cold.map(|times| times > 20);
        let expected = [true, true, true, false, true, true, true, true].map(|does| does && layer == "amphisbaena");
        assert_eq!(happened, expected, "{seen:?}");
    }
}

#[test]
fn counts_of_zones_without_a_buffer_agree() {
    let drive = DrivePreset::named("small-zoned").unwrap();
    for prefill in [1.0, 0.4, 0.0] {
        let mut seen = Vec::new();
        for config in IN_PLACE {
            let counts = compare("in-place", &mixed(), &drive, BufferSize::Bytes(1 << 20), prefill, config);
            println!("{config:?} at {prefill}: {counts:?}");
            assert!(counts.rmw > 1000, "{config:?} at {prefill}: {counts:?}");
            seen.push(counts.rmw);
        }
        assert!(seen[3] < seen[0], "what is gathered for a zone shares a rewrite");
    }
}

/// A trace in which 5 blocks of each of 20 zones take 19 of 20 writes, and 30 other zones the rest, behind so many zones
/// that nobody writes.
fn hot_zones(idle: u64) -> Workload {
    let mut random = 1u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    let mut lines = String::new();
    for time in 0..200_000 {
        let (zone, blocks) = if below(20) > 0 { (below(20), 5) } else { (20 + below(30), 1024) };
        let offset = ((idle + zone) * 1024 + below(blocks)) * 4096;
        lines += &format!("{},hot,0,Write,{offset},4096,0\n", 1000 * time);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hot-zones-{idle}.csv"));
    std::fs::write(&path, lines).expect("a file can be written");
    Workload::File(path.into())
}

/// What the loop-back log is for: evicting a zone that is written all the time gains nothing.
#[test]
fn re_queueing_saves_the_rewrites_of_hot_zones() {
    let (workload, drive) = (hot_zones(0), DrivePreset::named("small-zoned").unwrap());
    let count = |layer| compare(layer, &workload, &drive, BufferSize::Bytes(4 << 20), 1.0, "");
    let [fifo, loop_back] = ["fifo-log", "loop-back"].map(count);
    println!("{fifo:?} {loop_back:?}");
    assert!(loop_back.requeued > 300 && loop_back.rmw * 3 < fifo.rmw * 2, "{fifo:?} {loop_back:?}");
}

/// Holds every layer against its model on a trace file and a large drive; returns what each counted.
fn compare_on_file(path: PathBuf, buffer: &str) -> Vec<Counts> {
    let drive = DrivePreset::named("exos-x18z").expect("a known drive");
    let buffer = buffer.parse().expect("a size");
    let name = path.display().to_string();
    let workload = Workload::File(path.into());
    let mut all = Vec::new();
    for (layer, readings) in READINGS {
        for config in ["", readings[0]].into_iter().take(cases(1, 2)) {
            // The model of dm-zoned keeps every block that was ever written in a set.
            let prefill = if layer == "dm-zoned" { 0.0 } else { 1.0 };
            let counts = compare(layer, &workload, &drive, buffer, prefill, config);
            println!("{name}, {layer} {config:?}: {counts:?}");
            all.push(counts);
        }
    }
    all
}

/// Writes a sample of a format to a file.
fn sample(format: &str, requests: usize) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{format}.sample"));
    std::fs::write(&path, test_material::traces::sample(format, requests).content).expect("a file can be written");
    path
}

#[test]
fn counts_agree_on_samples() {
    for (format, buffer) in [("vscsi1", "16MiB"), ("msr", "4MiB")] {
        let counts = compare_on_file(sample(format, 8000), buffer);
        assert!(counts.iter().all(|counts| counts.hits > 200), "{counts:?}");
        // All but dm-zoned rewrite zones; its buffer is not filled by so few writes.
        let rewriting = counts.iter().filter(|counts| counts.rmw > 100).count();
        assert_eq!(rewriting, counts.len() - cases(1, 2), "{counts:?}");
    }
}

#[test]
fn counts_agree_on_real_traces() {
    let Some(folder) = beside("the counts of zone buffers on real traces", "traces") else { return };
    for (name, buffer) in
        [("cloudphysics.vscsi.zst", "1%"), ("msr-rsrch_1.csv.zst", "16MiB"), ("msr-hm_1-writes.csv.zst", "4MiB")]
    {
        compare_on_file(folder.join(name), buffer);
    }
}
