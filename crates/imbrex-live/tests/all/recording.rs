//! A volume that is served is recorded: its requests in the order in which the layer got them, in files that are complete
//! or not there, and nobody who is served waits for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use imbrex::block::Access;
use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::explore::Dice;
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{self, Configured, Device, Outcome, ReplayOptions, Simulation};
use imbrex::trace::{TraceRequest, formats};
use imbrex_live::engine::Cleaning;
use imbrex_live::record::RecordingState;
use imbrex_live::service::{Client, Service, ServiceOptions};
use imbrex_live::store_path;
use imbrex_live::superblock::{Layered, Superblock};
use imbrex_live::volume::{self, FormatOptions, Volume};
use tempfile::TempDir;

/// A volume of a layer on drives, each with its size in MiB.
fn formatted(folder: &TempDir, layer: &str, config: &str, buffer: Option<u64>, drives: &[(&str, u64)]) -> Vec<PathBuf> {
    let config: toml::Table = config.parse().unwrap();
    let options = FormatOptions {
        layer: layers::find(layer).unwrap(),
        config: &config,
        buffer: buffer.map(BufferSize::Blocks),
        journal_blocks: None,
        map_memory: None,
    };
    let (mut paths, mut prepared) = (Vec::new(), Vec::new());
    for (number, drive) in presets(drives).iter().enumerate() {
        let drive = volume::roomy(drive, number, &options, None).unwrap();
        paths.push(folder.path().join(format!("{number}.img")));
        prepared.push(store_path::prepare(&paths[number], Some(&drive), false).unwrap());
        prepared[number].make().unwrap();
    }
    volume::format(prepared.iter().map(store_path::Prepared::store).collect(), &options).unwrap();
    prepared.into_iter().for_each(store_path::Prepared::keep);
    paths
}

fn presets(drives: &[(&str, u64)]) -> Vec<DrivePreset> {
    let preset = |(name, mib): &(&str, u64)| DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap();
    drives.iter().map(preset).collect()
}

/// Served so that time decides nothing.
fn options(stores: &[PathBuf], record: &Path) -> ServiceOptions {
    let mut options = ServiceOptions { record: Some(record.to_owned()), ..ServiceOptions::default() };
    options.stores = stores.to_vec();
    options.engine.step_limit = None;
    options.engine.idle_after = Duration::from_secs(3600);
    options
}

fn served(options: &ServiceOptions) -> Arc<Service> {
    let service = Arc::new(Service::start(options).unwrap());
    service.engine().set_cleaning(Cleaning::Paused);
    service
}

/// Asks for this and that, one request after the other.
fn ask(client: &Client, requests: usize, flushes: bool) {
    let (mut dice, blocks) = (Dice::new(7), client.service().bytes() / 4096);
    for number in 0..requests {
        let place = if dice.below(4) == 0 { dice.below(blocks - 64) } else { dice.below(blocks / 16) };
        let (at, len) = (place * 4096, (1 + dice.below(8)) * 4096);
        match dice.below(16) {
            0..=2 => client.read(at, &mut vec![0; len as usize]).unwrap(),
            3 => client.trim(at, len, false).unwrap(),
            4 => client.write(at + 512, &[number as u8; 5000], false).unwrap(),
            5 if flushes => client.flush().unwrap(),
            _ => client.write(at, &vec![number as u8; len as usize], false).unwrap(),
        }
    }
}

fn simulation(drive: &DrivePreset, layered: &Layered) -> Simulation {
    let layer = layers::find(&layered.layer).unwrap();
    configured(layered).simulation(replay::disk(drive, layer.recording).unwrap(), &as_served(layered)).unwrap()
}

fn configured(layered: &Layered) -> Configured<'_> {
    let layer = layers::find(&layered.layer).unwrap();
    Configured { layer, config: &layered.config, buffer_blocks: layered.buffer_blocks }
}

fn as_served(layered: &Layered) -> ReplayOptions {
    let journal_blocks = Some(layered.journal_blocks);
    ReplayOptions {
        prefill: 0.0,
        idle: false,
        as_live: true,
        journal_blocks,
        queue_depth: Some(1),
        ..ReplayOptions::default()
    }
}

/// A recording replayed on the layers that it is of.
fn replayed(file: &Path, superblocks: &[Superblock], drives: &[DrivePreset]) -> Outcome {
    let each: Vec<_> = drives.iter().zip(superblocks).map(|(drive, of)| simulation(drive, &of.own)).collect();
    let simulation = match &superblocks[0].above {
        Some(above) => configured(above).simulation(Device::stack(each), &as_served(above)).unwrap(),
        None => each.into_iter().next().unwrap(),
    };
    simulation.run(&mut *formats::open(file).unwrap(), &mut ()).unwrap()
}

/// What the layer counted in a simulation, with the names of a status, if it was counted at all.
fn simulated_events(outcome: &Outcome) -> BTreeMap<String, u64> {
    let shared = [
        ("write_hits", outcome.write_hit_blocks),
        ("read_hits", outcome.read_hit_blocks),
        ("rmw", outcome.rmw),
        ("rmw_free", outcome.rmw_free),
        ("evicted", outcome.evicted_blocks),
        ("direct", outcome.direct_blocks),
        ("admitted", outcome.admitted_blocks),
    ];
    let own = outcome.counters.iter().map(|(counter, count)| (counter.key, count));
    let all = shared.into_iter().chain(own).filter(|(_, count)| *count > 0);
    all.map(|(name, count)| (name.to_owned(), count)).collect()
}

fn is_replayed_to_the_block(layer: &str, config: &str, buffer: Option<u64>, drives: &[(&str, u64)], requests: usize) {
    replayed_of_host((layer, config, buffer), drives, requests, true);
}

/// What a host asks for that sometimes flushes, or never does, counts in a replay as it did.
fn replayed_of_host(
    (layer, config, buffer): (&str, &str, Option<u64>),
    drives: &[(&str, u64)],
    requests: usize,
    flushes: bool,
) {
    let folder = tempfile::tempdir().unwrap();
    let stores = formatted(&folder, layer, config, buffer, drives);
    let members = stores.iter().map(|path| store_path::open(path).unwrap()).collect();
    let superblocks = Volume::open(members).unwrap().superblocks;
    let service = served(&options(&stores, &folder.path().join("r.parquet")));
    ask(&Client::of(&service), requests, flushes);
    service.stop().unwrap();
    let recording = service.status().recording.unwrap();
    assert_eq!((recording.state, recording.lost, recording.files), (RecordingState::Ended, 0, 1));
    let outcome = replayed(&folder.path().join("r-0001.parquet"), &superblocks, &presets(drives));
    assert_eq!(outcome.requests, recording.requests);

    let top = service.engine().progress().0[0];
    let events: BTreeMap<_, _> = top.tally.events(top.counters).filter(|(_, count)| *count > 0).collect();
    let events: BTreeMap<_, _> = events.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    assert_eq!(events, simulated_events(&outcome));
    assert!(layer == "log-greedy" || !events.is_empty(), "nothing is counted that could differ");
    assert_eq!(service.engine().traffic().resets, outcome.resets);
    for (why, moved) in top.tally.moved() {
        let (read, written) = (outcome.media_read_blocks.get(why), outcome.media_write_blocks.get(why));
        let is_same = match why {
            // What the devices below a cache moved is counted by the simulation as well.
            _ if drives.len() > 1 => true,
            // Blocks that nobody has written are read nowhere.
            Why::Host => moved == outcome.host_read_blocks + outcome.host_write_blocks,
            // The simulation prices the journal.
            Why::Metadata => true,
            // By way of memory, or straight.
            _ => moved == read + written || moved == read.max(written),
        };
        assert!(is_same, "{why:?}: {moved} blocks moved, {read} read and {written} written in the simulation");
    }
}

#[test]
fn what_was_recorded_of_a_log_is_replayed_to_the_block() {
    is_replayed_to_the_block("log-greedy", "", None, &[("small-zoned", 64)], 2500);
}

#[test]
fn what_was_recorded_of_a_zone_buffer_is_replayed_to_the_block() {
    is_replayed_to_the_block("fifo-log", "", Some(1024), &[("small-zoned", 64)], 800);
}

#[test]
fn what_was_recorded_of_a_track_layer_is_replayed_to_the_block() {
    is_replayed_to_the_block("seagate", "", None, &[("imr-tracklace", 1024)], 500);
}

/// Their cleaning waits until records are durable, which decides when and not what.
#[test]
fn what_was_recorded_of_mapped_tracks_is_replayed_to_the_block() {
    let drive = [("imr-tracklace", 1024)];
    is_replayed_to_the_block("track-caching", "reserved = 512\ncache_after = 1", None, &drive, 120);
    is_replayed_to_the_block("track-flipping", "flip_after = 2", None, &drive, 120);
}

/// What it finds free depends on when the records before are durable. A flush makes them so, and is not in the trace.
#[test]
fn what_was_recorded_of_a_cache_that_is_not_flushed_is_replayed_to_the_block() {
    let drives = [("ssd-pore", 64), ("conventional-7200", 128)];
    replayed_of_host(("lru-cache", "disk_layer = 'conventional'", Some(1024)), &drives, 2000, false);
}

#[test]
fn what_was_recorded_of_a_cache_is_replayed_to_the_block() {
    let drives = [("ssd-pore", 64), ("conventional-7200", 128)];
    is_replayed_to_the_block("static-sets", "disk_layer = 'conventional'", Some(2048), &drives, 800);
}

/// A volume that costs little to serve.
fn plain(folder: &TempDir) -> Vec<PathBuf> {
    formatted(folder, "log-greedy", "", None, &[("small-zoned", 64)])
}

fn requests(file: &Path) -> Vec<TraceRequest> {
    let (mut source, mut all, mut some) = (formats::open(file).unwrap(), Vec::new(), Vec::new());
    loop {
        source.fill(&mut some, 4096).unwrap();
        if some.is_empty() {
            return all;
        }
        all.append(&mut some);
    }
}

fn names(folder: &TempDir) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.contains("parquet")).collect();
    names.sort();
    names
}

#[test]
fn files_follow_each_other_and_none_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(&plain(&folder), &folder.path().join("r.parquet"));
    assert!(options.set("record-size", "4KiB").is_err());
    options.set("record-size", "64KiB").unwrap();
    let service = served(&options);
    let client = Client::of(&service);
    client.write(4096 + 512, &[1; 4096], true).unwrap();
    client.trim(0, 8192, false).unwrap();
    let reads = 9000;
    (0..reads).for_each(|block| client.read(block * 4096, &mut [0; 4096]).unwrap());
    service.stop().unwrap();
    let recording = service.status().recording.unwrap();
    // The layer was asked for what is beside a part of a block, before it was asked to write.
    assert_eq!((recording.state, recording.requests, recording.lost), (RecordingState::Ended, reads + 4, 0));
    assert_eq!(names(&folder), ["r-0001.parquet", "r-0002.parquet", "r-0003.parquet"]);
    assert_eq!(recording.last_file.unwrap(), folder.path().join("r-0003.parquet"));
    let files: Vec<_> = names(&folder).iter().map(|name| requests(&folder.path().join(name))).collect();
    let all: Vec<_> = files.concat().iter().map(|row| (row.access, row.offset_bytes, row.bytes)).collect();
    let beside = [(Access::Read, 4096, 4096), (Access::Read, 8192, 4096)];
    assert_eq!(all[..2], beside);
    assert_eq!(all[2..4], [(Access::Write, 4608, 4096), (Access::Trim, 0, 8192)]);
    assert!(all[4..].iter().copied().eq((0..reads).map(|block| (Access::Read, block * 4096, 4096))));
    // They are one trace under the recording's name.
    let one: Vec<_> = requests(&folder.path().join("r.parquet"));
    assert_eq!(one.iter().map(|row| (row.access, row.offset_bytes, row.bytes)).collect::<Vec<_>>(), all);
    assert!(one.last().unwrap().arrival_ns > files[0].last().unwrap().arrival_ns);
    let bytes: u64 = names(&folder).iter().map(|name| folder.path().join(name).metadata().unwrap().len()).sum();
    assert_eq!((recording.bytes, recording.files), (bytes, 3));

    drop(client);
    drop(service);
    let refused = Service::start(&options).err().unwrap().to_string();
    assert!(refused.contains("--record") && refused.contains("r-0003.parquet is there"), "{refused}");
    options.restarted = true;
    let service = served(&options);
    Client::of(&service).read(0, &mut [0; 512]).unwrap();
    // What nobody was told to be lost is reported by the end.
    assert!(service.stop().is_err());
    assert_eq!(requests(&folder.path().join("r-0004.parquet")).len(), 1);
}

#[test]
fn a_recording_that_finds_no_room_ends_and_the_volume_is_served_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(&plain(&folder), &folder.path().join("r.parquet"));
    options.record_least_free = u64::MAX;
    let service = served(&options);
    let client = Client::of(&service);
    let recording = || service.status().recording.unwrap();
    client.write(0, &[7; 4096], true).unwrap();
    while recording().state == RecordingState::Recording {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(recording().error.unwrap().ends_with("are kept free"));
    client.write(4096, &[8; 4096], true).unwrap();
    let mut read = [0; 8192];
    client.read(0, &mut read).unwrap();
    assert!(read[..4096] == [7; 4096] && read[4096..] == [8; 4096]);
    assert_eq!((recording().requests, recording().lost), (0, 3));
    let metrics = service.metrics();
    for line in ["imbrex_recording 0", "imbrex_recorded_requests 0", "imbrex_recording_lost_requests_total 3"] {
        assert!(metrics.lines().any(|told| told == line), "{line}");
    }
    service.stop().unwrap();
    assert!(names(&folder).is_empty());
}
