//! A volume that grows while it is served: under a load that never pauses, over restarts, and no faster than is durable.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::layer::Growth;
use imbrex::layers;
use imbrex_live::engine::{Cleaning, Engine, EngineOptions, NotGrowing};
use imbrex_live::image::Image;
use imbrex_live::store::Store;
use imbrex_live::volume::{FormatOptions, Members, Volume, format};

/// Blocks of a zone of the drive.
const ZONE: u64 = 1024;
/// Native zones: of 20 realms of 2 conventional zones or 3 sequential ones, one realm is kept empty.
const AT_FIRST: u64 = 19 * 2 * ZONE;
const AT_LAST: u64 = 19 * 3 * ZONE;
/// How long a test waits for what it expects.
const PATIENCE: Duration = Duration::from_secs(120);

/// A hybrid drive that is conventional, with a buffer of so many blocks.
fn members(buffer: u64) -> Members {
    let preset = DrivePreset::named("small-hybrid").unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let members: Members = vec![Arc::new(Image::create(file, &preset).unwrap()) as Arc<dyn Store>];
    let layer = layers::find("zone-alloy").unwrap();
    let (config, buffer) = (toml::Table::new(), Some(BufferSize::Bytes(buffer * 4096)));
    format(members.clone(), &FormatOptions { layer, config: &config, buffer, journal_blocks: None, map_memory: None })
        .unwrap();
    members
}

/// A server that offers no idle time by itself, and gives cleaning so much of the time.
fn serve(members: Members, throttle: u8) -> Engine {
    let options = EngineOptions { idle_after: Duration::from_secs(3600), throttle, ..EngineOptions::default() };
    let engine = Engine::start(Volume::open(members).unwrap(), options).unwrap();
    engine.wait_until_serving().unwrap();
    engine
}

fn growth(engine: &Engine) -> Option<Growth> {
    engine.progress().0[0].growth
}

fn await_growth(engine: &Engine, capacity: u64) {
    let since = Instant::now();
    while growth(engine).is_some() || engine.capacity() < capacity {
        assert!(since.elapsed() < PATIENCE, "it does not come to an end: {:?}", growth(engine));
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(engine.capacity(), capacity);
}

fn byte(block: u64) -> u8 {
    (block * 31 % 251) as u8 + 1
}

fn write(engine: &Engine, block: u64) {
    engine.write_bytes(1, block * 4096, &[byte(block); 4096]).unwrap();
}

fn holds(engine: &Engine, block: u64) {
    let mut back = [0; 4096];
    engine.read_bytes(1, block * 4096, &mut back).unwrap();
    assert!(back.iter().all(|found| *found == byte(block)), "block {block}");
}

#[test]
fn it_grows_as_soon_as_nobody_asks_for_anything_and_is_as_large_when_it_is_served_again() {
    let members = members(512);
    let engine = serve(members.clone(), 100);
    assert_eq!(engine.capacity(), AT_FIRST);
    (0..AT_FIRST).step_by(61).for_each(|block| write(&engine, block));
    engine.grow(AT_LAST - AT_FIRST).unwrap();
    await_growth(&engine, AT_LAST);
    (AT_FIRST..AT_LAST).step_by(61).for_each(|block| write(&engine, block));
    assert!(engine.write_bytes(1, AT_LAST * 4096 - 512, &[0; 1024]).is_err());
    engine.stop().unwrap();
    let engine = serve(members, 100);
    assert_eq!(engine.capacity(), AT_LAST);
    (0..AT_FIRST).step_by(61).chain((AT_FIRST..AT_LAST).step_by(61)).for_each(|block| holds(&engine, block));
    assert!(matches!(engine.grow(1), Err(NotGrowing::Layer(_))), "all of it is sequential");
}

#[test]
fn a_growth_that_was_asked_for_goes_on_when_the_volume_is_served_again() {
    let members = members(512);
    let engine = serve(members.clone(), 1);
    engine.set_cleaning(Cleaning::Paused);
    engine.grow(AT_LAST - AT_FIRST).unwrap();
    let asked = growth(&engine).unwrap();
    assert_eq!((asked.capacity, asked.zones_left, engine.capacity()), (AT_LAST, 38, AT_FIRST));
    assert_eq!(asked.bound_ns, Some(100_000_000));
    thread::sleep(Duration::from_millis(50));
    assert_eq!(growth(&engine), Some(asked), "not while cleaning is paused");
    // What a server that is killed leaves: nothing but what is durable.
    std::mem::forget(engine);
    let engine = serve(members, 100);
    assert_eq!(growth(&engine).map(|growth| growth.capacity), Some(AT_LAST));
    await_growth(&engine, AT_LAST);
}

/// Writers that never pause, to zones that are converted first, so that most writes rewrite a zone to find room.
#[test]
fn it_grows_under_a_load_that_never_pauses_whose_writes_wait_for_room() {
    let engine = serve(members(256), 100);
    let done = AtomicBool::new(false);
    let blocked = thread::scope(|scope| {
        for client in 0..32 {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || {
                let mut round = client;
                while !done.load(Ordering::Relaxed) {
                    write(engine, AT_FIRST - 1 - round * 7919 % (4 * ZONE));
                    round += 32;
                }
            });
        }
        engine.grow(3 * ZONE).unwrap();
        let (since, mut blocked) = (Instant::now(), 0);
        while growth(&engine).is_some() && since.elapsed() < PATIENCE {
            blocked += engine.progress().0[0].blocked;
            thread::sleep(Duration::from_millis(2));
        }
        done.store(true, Ordering::Relaxed);
        blocked
    });
    assert_eq!(growth(&engine), None, "it has no end");
    assert!(blocked > 0, "no write waited for room, and so nothing is proved");
}

#[test]
fn cleaning_that_is_asked_for_again_and_again_does_not_hold_a_growth_up() {
    let engine = serve(members(512), 100);
    engine.grow(AT_LAST - AT_FIRST).unwrap();
    let since = Instant::now();
    while growth(&engine).is_some() {
        engine.set_cleaning(Cleaning::Now);
        thread::yield_now();
        assert!(since.elapsed() < PATIENCE, "{:?}", growth(&engine));
    }
}

/// The second time while the first is under way, and the third when all of that is there.
#[test]
fn it_grows_as_often_as_it_is_asked_to() {
    let engine = serve(members(512), 100);
    engine.set_cleaning(Cleaning::Paused);
    engine.grow(3 * ZONE).unwrap();
    assert_eq!(growth(&engine).map(|growth| growth.capacity), Some(AT_FIRST + 3 * ZONE));
    engine.grow(2 * ZONE).unwrap();
    assert_eq!(growth(&engine).map(|growth| growth.capacity), Some(AT_FIRST + 5 * ZONE));
    engine.set_cleaning(Cleaning::WhenIdle);
    await_growth(&engine, AT_FIRST + 5 * ZONE);
    engine.grow(AT_LAST - AT_FIRST - 5 * ZONE).unwrap();
    await_growth(&engine, AT_LAST);
}
