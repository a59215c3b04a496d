//! The engine on images: many threads at once, odd byte ranges, restarts, and every layer that can be served.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use imbrex::buffer_size::BufferSize;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers::{self, LayerInfo};
use imbrex::plan::Why;
use imbrex::recording::Recording;
use imbrex::samples::ample_space;
use imbrex::space::{Space, Zones};
use imbrex_live::engine::{Cleaning, Engine, EngineOptions};
use imbrex_live::image::Image;
use imbrex_live::store::Store;
use imbrex_live::volume::{FormatOptions, Members, Volume, VolumeError, format};

fn image(preset: &DrivePreset) -> Arc<dyn Store> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(preset).unwrap()).unwrap();
    Arc::new(Image::create(file, preset).unwrap())
}

/// Drives that a layer can stand on, small ones.
fn members(recording: Recording) -> Members {
    let preset = |name: &str, mib: u64| DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap();
    match recording {
        Recording::Conventional => vec![image(&preset("conventional-7200", 64))],
        Recording::Zoned | Recording::WholeZones => vec![image(&preset("small-zoned", 256))],
        Recording::Banded => vec![image(&preset("small-banded", 256))],
        Recording::Interlaced => vec![image(&preset("imr-tracklace", 256))],
        Recording::Hybrid => vec![image(&preset("small-hybrid", 256))],
        Recording::Flash => vec![image(&preset("ssd-pore", 256))],
        Recording::Cached => vec![image(&preset("ssd-pore", 256)), image(&preset("small-banded", 256))],
    }
}

fn start(members: Members) -> Engine {
    let options = EngineOptions { idle_after: Duration::from_millis(1), ..EngineOptions::default() };
    let engine = Engine::start(Volume::open(members).unwrap(), options).unwrap();
    engine.wait_until_serving().unwrap();
    engine
}

/// A zoned drive of 64 MiB, in zones of 2 MiB.
fn zoned(conventional_zones: u32, max_active: u32) -> Arc<dyn Store> {
    let small = DrivePreset::named("small-zoned").unwrap().with_capacity(64 << 20).unwrap();
    let media =
        MediaSpec::Zoned { zones: 32, zone_blocks: 512, conventional_zones, max_open: max_active.min(2), max_active };
    image(&DrivePreset { media, ..small })
}

fn formatted(info: &'static LayerInfo, members: Members) -> Result<(), VolumeError> {
    let options = FormatOptions {
        layer: info,
        config: &toml::Table::new(),
        buffer: None,
        journal_blocks: None,
        map_memory: None,
    };
    format(members, &options).map(drop)
}

#[test]
fn layers_that_need_no_conventional_zones_are_served_without() {
    let mut served = 0;
    for info in on_zones() {
        let members = vec![zoned(0, 0)];
        let needs_some = info.buffered || info.recording == Recording::WholeZones;
        match formatted(info, members.clone()) {
            Ok(()) => {
                assert!(!needs_some, "{}", info.name);
                serves(members, 4);
                served += 1;
            }
            Err(e) => assert!(needs_some && e.to_string().contains(info.name), "{e}"),
        }
    }
    assert!(served > 0);
}

fn on_zones() -> impl Iterator<Item = &'static LayerInfo> {
    layers::ALL.iter().filter(|info| matches!(info.recording, Recording::Zoned | Recording::WholeZones))
}

/// How many zones a layer says that it keeps active at most, with about as many as the members here have.
fn most_active(info: &LayerInfo) -> Option<u32> {
    let ample = ample_space();
    let space = Space { zones: ample.zones.map(|zones| Zones { count: 28, ..zones }), ..ample };
    info.build(&space, &toml::Table::new()).unwrap().facts().most_active
}

#[test]
fn limits_on_active_zones_are_kept_or_refused() {
    for conventional in [0, 4] {
        // The journal's two, where it lies in zones.
        let beside = if conventional == 0 { 2 } else { 0 };
        for info in on_zones() {
            // Twice as many: the life before may have left some.
            let needed = most_active(info).map(|most| 2 * (most + beside));
            let members = vec![zoned(conventional, needed.unwrap_or(6))];
            match formatted(info, members.clone()) {
                // Many lives, each of which may leave zones behind.
                Ok(()) => (0..8).for_each(|_| serves(members.clone(), 2)),
                Err(e) => assert!(needed.is_none() && e.to_string().contains(info.name), "{e}"),
            }
            if let Some(fewer) = needed.and_then(|needed| needed.checked_sub(1)).filter(|fewer| *fewer > 0) {
                assert!(formatted(info, vec![zoned(conventional, fewer)]).is_err(), "{}", info.name);
            }
        }
        let log = layers::find("log-greedy").unwrap();
        assert!(formatted(log, vec![zoned(conventional, 1)]).unwrap_err().to_string().contains("1 active zones"));
    }
}

#[test]
fn every_layer_serves_and_is_found_again() {
    for info in layers::ALL {
        let members = members(info.recording);
        if let Err(e) = formatted(info, members.clone()) {
            panic!("{}: {e}", info.name);
        }
        serves(members, 4);
    }
}

/// Whether a layer buffers what clients write and can do without; a cache on flash keeps what it has, and a hybrid disk
/// that has not grown is written in place.
fn empties_a_buffer(info: &LayerInfo) -> bool {
    match info.recording {
        Recording::Cached | Recording::Hybrid => false,
        Recording::Banded => true,
        _ => info.buffered,
    }
}

#[test]
fn cleaning_that_was_asked_for_ends_and_leaves_buffers_empty() {
    for info in layers::ALL {
        let members = members(info.recording);
        formatted(info, members.clone()).unwrap();
        let options = EngineOptions { idle_after: Duration::from_secs(3600), ..EngineOptions::default() };
        let engine = Engine::start(Volume::open(members).unwrap(), options).unwrap();
        for block in 0..200_u64 {
            engine.write_bytes(0, block * block % 4001 * 4096, &[block as u8; 4096]).unwrap();
        }
        let used = || engine.progress().0[0].occupancy.map_or(0, |occupancy| occupancy.used);
        assert!(used() > 0 || !empties_a_buffer(info), "{}", info.name);
        engine.set_cleaning(Cleaning::Now);
        while engine.cleaning() == Cleaning::Now {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(used() == 0 || !empties_a_buffer(info), "{}: {} blocks are left", info.name, used());
        engine.stop().unwrap();
    }
}

/// Writes so many MiB several times over, in threads, and finds them again after a restart.
fn serves(members: Members, mib: u64) {
    let engine = start(members.clone());
    let region = (engine.capacity() * u64::from(engine.block_bytes())).min(mib << 20);
    let threads = 4_u32;
    thread::scope(|scope| {
        for number in 0..threads {
            let engine = &engine;
            scope.spawn(move || churn(engine, number, region / u64::from(threads)));
        }
    });
    engine.flush(0).unwrap();
    assert_eq!(engine.traffic().failures, 0);
    engine.stop().unwrap();
    drop(engine);
    let engine = start(members);
    for number in 0..threads {
        verify(&engine, number, region / u64::from(threads));
    }
}

/// The byte at an offset after `churn`.
fn byte(number: u32, offset: u64) -> u8 {
    (offset.wrapping_mul(31) >> 3) as u8 ^ (offset >> 9) as u8 ^ (number as u8).wrapping_mul(77)
}

/// Writes a thread's part of the device several times over in odd pieces, its last version in the end.
fn churn(engine: &Engine, number: u32, len: u64) {
    let base = u64::from(number) * len;
    let mut state = 0x9e37_79b9_u64 + u64::from(number);
    for _ in 0..150 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (state >> 20) % len;
        let piece = 1 + (state >> 50) % 9000;
        let piece = piece.min(len - offset);
        let bytes: Vec<u8> = (offset..offset + piece).map(|at| byte(number, base + at)).collect();
        engine.write_bytes(number, base + offset, &bytes).unwrap();
        let mut back = vec![0; bytes.len()];
        engine.read_bytes(number, base + offset, &mut back).unwrap();
        assert_eq!(back, bytes);
    }
    let bytes: Vec<u8> = (0..len).map(|at| byte(number, base + at)).collect();
    for (piece, at) in bytes.chunks(100_001).zip((0..).step_by(100_001)) {
        engine.write_bytes(number, base + at, piece).unwrap();
    }
}

fn verify(engine: &Engine, number: u32, len: u64) {
    let base = u64::from(number) * len;
    let mut back = vec![0; len as usize];
    engine.read_bytes(number, base, &mut back).unwrap();
    assert!((0..).zip(&back).all(|(at, b)| *b == byte(number, base + at)), "part {number}");
}

/// A whole block and a part of it, written at the same time while writes wait for room: whichever comes last, what lies
/// beside the part is the whole block's.
#[test]
fn a_part_of_a_block_does_not_bring_back_what_a_whole_one_replaces() {
    let members = vec![zoned(8, 0)];
    let config = toml::Table::from_iter([("step_blocks".to_owned(), 8.into())]);
    let buffer = Some(BufferSize::Bytes(1 << 20));
    let layer = layers::find("fifo-log").unwrap();
    format(members.clone(), &FormatOptions { layer, config: &config, buffer, journal_blocks: None, map_memory: None })
        .unwrap();
    let engine = start(members);
    for round in 0..600_u64 {
        let block = round * 7919 % engine.capacity() * 4096;
        let value = round as u8 | 1;
        thread::scope(|scope| {
            scope.spawn(|| engine.write_bytes(1, block, &[value; 4096]).unwrap());
            scope.spawn(|| engine.write_bytes(2, block + 3584, &[0xee; 512]).unwrap());
        });
        let mut back = [0; 4096];
        engine.read_bytes(0, block, &mut back).unwrap();
        assert!(back[..3584].iter().all(|byte| *byte == value), "round {round}");
        assert!(back[3584..].iter().all(|byte| *byte == value || *byte == 0xee), "round {round}");
    }
}

/// Blocks moved for any reason but a host's.
fn cleaned(engine: &Engine) -> u64 {
    let (runners, _) = engine.progress();
    runners.iter().flat_map(|runner| runner.tally.moved()).filter(|(why, _)| *why != Why::Host).map(|(_, n)| n).sum()
}

#[test]
fn a_layer_that_wants_more_idle_time_than_is_first_offered_gets_it() {
    let members = members(Recording::Banded);
    let config = toml::Table::from_iter([("idle_ms".to_owned(), 300.into())]);
    let layer = layers::find("skylight").unwrap();
    format(
        members.clone(),
        &FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None },
    )
    .unwrap();
    let engine = start(members);
    for block in 0..40 {
        engine.write_bytes(0, block * 61 * 4096, &[7; 4096]).unwrap();
    }
    let looks = (0..1200).map(|_| thread::sleep(Duration::from_millis(50)));
    assert!(looks.take_while(|()| cleaned(&engine) == 0).count() < 1200, "nothing is cleaned in a minute");
}

#[test]
fn cleaning_that_was_asked_for_ends_while_clients_go_on_and_what_was_paused_is_paused_again() {
    let members = vec![zoned(8, 0)];
    formatted(layers::find("fifo-log").unwrap(), members.clone()).unwrap();
    let engine = start(members);
    engine.set_cleaning(Cleaning::Paused);
    for block in 0..200 {
        engine.write_bytes(0, block * 61 % engine.capacity() * 4096, &[7; 4096]).unwrap();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for client in 0..3 {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || {
                let mut block = [0; 4096];
                while !done.load(Ordering::Relaxed) {
                    engine.read_bytes(client, u64::from(client) * 4096, &mut block).unwrap();
                }
            });
        }
        engine.set_cleaning(Cleaning::Now);
        let looks = (0..2000).map(|_| thread::sleep(Duration::from_millis(10)));
        let ended = looks.take_while(|()| engine.cleaning() == Cleaning::Now).count() < 2000;
        done.store(true, Ordering::Relaxed);
        assert!(ended, "cleaning has no end");
    });
    assert!(cleaned(&engine) > 0);
    assert_eq!(engine.cleaning(), Cleaning::Paused);
}

/// What goes by the size of requests goes by the client's bytes, not by the blocks that they touch: twelve bytes across
/// a border of blocks are a small request after one of a block, and only small ones go to the hot buffer at once.
#[test]
fn a_request_for_parts_of_blocks_is_as_large_as_the_client_made_it() {
    let hot_hits = |sizes: &str| {
        let members = vec![zoned(8, 0)];
        let config = format!("sizes = {sizes:?}").parse().unwrap();
        let info = layers::find("amphisbaena").unwrap();
        let options =
            FormatOptions { layer: info, config: &config, buffer: None, journal_blocks: None, map_memory: None };
        format(members.clone(), &options).unwrap();
        let engine = start(members);
        let block = u64::from(engine.block_bytes());
        engine.write_bytes(0, 10 * block, &vec![1; block as usize]).unwrap();
        (0..2).for_each(|_| engine.write_bytes(0, 20 * block - 6, &[2; 12]).unwrap());
        let (runners, _) = engine.progress();
        let mut events = runners.iter().flat_map(|runner| runner.tally.events(runner.counters));
        events.find(|(event, _)| *event == "hot_hit_blocks").unwrap().1
    };
    assert_eq!([hot_hits("bytes"), hot_hits("blocks")], [2, 0]);
}
