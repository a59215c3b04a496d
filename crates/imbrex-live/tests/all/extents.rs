//! What clients are told of zeros without reading them: never of what they wrote, and of what they gave up where the
//! layer's map says so.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::perform::Failure;
use imbrex::recording::Recording;
use imbrex_live::engine::{Engine, EngineOptions, Known};
use imbrex_live::image::Image;
use imbrex_live::volume::{FormatOptions, Volume, format};

const BLOCK: u64 = 4096;
/// What is looked at: more than the zones and bands of these drives have.
const LOOKED_AT: u64 = 3000 * BLOCK;

fn image(layer: &str, drive: &str) -> Arc<Image<File>> {
    image_as(layer, drive, "")
}

fn image_as(layer: &str, drive: &str, config: &str) -> Arc<Image<File>> {
    let info = layers::find(layer).unwrap();
    let preset = DrivePreset::named(drive).unwrap().with_capacity(256 << 20).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let image = Arc::new(Image::create(file, &preset).unwrap());
    let needs_some = info.buffered || info.recording == Recording::WholeZones;
    let buffer = needs_some.then(|| "4MiB".parse().unwrap());
    let config = config.parse().unwrap();
    format(
        vec![image.clone()],
        &FormatOptions { layer: info, config: &config, buffer, journal_blocks: None, map_memory: None },
    )
    .unwrap();
    image
}

fn start(image: &Arc<Image<File>>) -> Engine {
    let options = EngineOptions { idle_after: Duration::from_secs(3600), ..EngineOptions::default() };
    let engine = Engine::start(Volume::open(vec![image.clone()]).unwrap(), options).unwrap();
    engine.wait_until_serving().unwrap();
    engine
}

/// What is known of all that is looked at.
fn known(engine: &Engine) -> Vec<Known> {
    let (mut all, mut next) = (Vec::<Known>::new(), 0);
    while next < LOOKED_AT {
        for run in engine.known_zeros(next, LOOKED_AT - next).unwrap() {
            assert_eq!(run.offset, next, "no gap");
            assert!(run.bytes > 0 && run.offset + run.bytes <= LOOKED_AT);
            next += run.bytes;
            match all.last_mut() {
                Some(last) if last.zeros == run.zeros => last.bytes += run.bytes,
                _ => all.push(run),
            }
        }
    }
    all
}

/// The runs that are known to be zeros, in blocks, each of which reads so.
fn zeros(engine: &Engine) -> Vec<(u64, u64)> {
    let runs: Vec<_> = known(engine).into_iter().filter(|run| run.zeros).collect();
    for run in &runs {
        let mut content = vec![1; run.bytes as usize];
        engine.read_bytes(0, run.offset, &mut content).unwrap();
        assert!(content.iter().all(|byte| *byte == 0), "{run:?}");
    }
    runs.iter().map(|run| (run.offset / BLOCK, run.bytes / BLOCK)).collect()
}

fn write(engine: &Engine, first: u64, blocks: u64) {
    engine.write_bytes(0, first * BLOCK, &vec![7; (blocks * BLOCK) as usize]).unwrap();
}

fn trim(engine: &Engine, first: u64, blocks: u64) {
    engine.trim_bytes(0, first * BLOCK, blocks * BLOCK).unwrap();
}

const BLOCKS: u64 = LOOKED_AT / BLOCK;

/// Zeros over whole blocks take nothing but records where the layer's map says that a block was given up, and are there
/// after another start; the parts of blocks beside them are written.
#[test]
fn zeros_are_trimmed_where_a_map_knows_of_them_and_written_elsewhere() {
    for (layer, drive, are_fast) in [
        ("log-greedy", "small-zoned", true),
        ("dm-zoned", "small-zoned", true),
        ("page-ftl", "ssd-pore", true),
        ("fifo-log", "small-zoned", false),
    ] {
        let image = image(layer, drive);
        let engine = start(&image);
        assert_eq!(engine.zeros_are_fast(), are_fast, "{layer}");
        write(&engine, 10, 100);
        let before = engine.traffic();
        engine.zero_bytes(0, 20 * BLOCK, 50 * BLOCK).unwrap();
        let after = engine.traffic();
        assert_eq!(after.host_written - before.host_written, 50 * BLOCK, "{layer}");
        assert_eq!(after.media_written == before.media_written, are_fast, "{layer}");
        engine.zero_bytes(0, 80 * BLOCK + 7, 2 * BLOCK).unwrap();
        assert_eq!(engine.zero_bytes(0, engine.capacity() * BLOCK - 1, 2), Err(Failure::OutOfRange));
        engine.flush(0).unwrap();
        engine.stop().unwrap();
        drop(engine);
        let mut content = vec![0; 100 * BLOCK as usize];
        start(&image).read_bytes(0, 10 * BLOCK, &mut content).unwrap();
        let blocks = BLOCK as usize;
        let is_zero =
            |at: usize| (10 * blocks..60 * blocks).contains(&at) || (70 * blocks + 7..72 * blocks + 7).contains(&at);
        let wrong = (0..content.len()).find(|at| content[*at] != if is_zero(*at) { 0 } else { 7 });
        assert_eq!(wrong, None, "{layer}");
    }
}

#[test]
fn a_map_of_every_block_knows_what_was_written_and_given_up() {
    for (layer, drive) in [("log-greedy", "small-zoned"), ("dm-zoned", "small-zoned"), ("page-ftl", "ssd-pore")] {
        let image = image(layer, drive);
        let engine = start(&image);
        assert_eq!(zeros(&engine), [(0, BLOCKS)], "{layer} is new");
        write(&engine, 10, 5);
        write(&engine, 2000, 1);
        let expected = [(0, 10), (15, 1985), (2001, BLOCKS - 2001)];
        assert_eq!(zeros(&engine), expected, "{layer}: a write that was answered is known of");
        trim(&engine, 11, 2);
        let expected = [(0, 10), (11, 2), (15, 1985), (2001, BLOCKS - 2001)];
        assert_eq!(zeros(&engine), expected, "{layer}: what was given up");
        engine.stop().unwrap();
        assert_eq!(zeros(&start(&image)), expected, "{layer}, after another start");
    }
}

#[test]
fn a_buffer_before_zones_knows_what_lies_behind_write_pointers() {
    let image = image("fifo-log", "small-zoned");
    let engine = start(&image);
    assert_eq!(zeros(&engine), [(0, BLOCKS)]);
    write(&engine, 0, 20);
    write(&engine, 100, 3);
    let expected = [(20, 80), (103, BLOCKS - 103)];
    assert_eq!(zeros(&engine), expected, "at a pointer, and in the buffer");
    trim(&engine, 5, 2);
    assert_eq!(zeros(&engine), expected, "the zone cannot forget a single block");
    trim(&engine, 100, 3);
    assert_eq!(zeros(&engine), [(20, BLOCKS - 20)], "under what was buffered lies nothing older");
    engine.stop().unwrap();
    assert_eq!(zeros(&start(&image)), [(20, BLOCKS - 20)]);
}

#[test]
fn nothing_is_known_where_there_is_no_map() {
    let image = image("conventional", "tiny-conventional");
    let engine = start(&image);
    let bytes = engine.capacity() * BLOCK;
    let nothing = Known { offset: 1, bytes: bytes - 1, zeros: false };
    assert_eq!(engine.known_zeros(1, bytes - 1).unwrap(), [nothing]);
}

#[test]
fn runs_begin_and_end_where_they_were_asked_for() {
    let image = image("log-greedy", "small-zoned");
    let engine = start(&image);
    write(&engine, 1, 1);
    let run = |offset, bytes, zeros| Known { offset, bytes, zeros };
    let found = engine.known_zeros(100, 3 * BLOCK - 200).unwrap();
    let expected = [run(100, BLOCK - 100, true), run(BLOCK, BLOCK, false), run(2 * BLOCK, BLOCK - 100, true)];
    assert_eq!(found, expected);
    let end = engine.capacity() * BLOCK;
    let whole = [run(0, BLOCK, true), run(BLOCK, BLOCK, false), run(2 * BLOCK, end - 2 * BLOCK, true)];
    assert_eq!(engine.known_zeros(0, end).unwrap(), whole, "one answer, however often the layer is asked for it");
    assert_eq!(engine.known_zeros(end - 1, 2), Err(Failure::OutOfRange));
    assert_eq!(engine.known_zeros(u64::MAX, 2), Err(Failure::OutOfRange));
}

/// To give blocks up, a server asks the layer where they lie. That is no read of the host's: it must not renew them in a
/// buffer that keeps what was read, which a zone with older content goes on to hold.
#[test]
fn what_a_server_asks_for_itself_is_no_use_of_a_block() {
    const EACH: u64 = 400;
    let engine = start(&image_as("block-lru", "small-zoned", "reads_count = true"));
    let zone = u64::from(engine.contents()[0].as_ref().unwrap().zones()[0].blocks);
    let homes = [0, zone, 2 * zone];
    for home in homes {
        write(&engine, home, EACH + 1);
    }
    let [oldest, newer, last] = homes;
    write(&engine, oldest, EACH);
    write(&engine, newer, EACH);
    trim(&engine, oldest, EACH);
    let buffered = || {
        let contents = engine.contents();
        [0, 1].map(|zone| u64::from(contents[0].as_ref().unwrap().zones()[zone].buffered))
    };
    assert_eq!(buffered(), [EACH; 2], "a zone cannot forget a part");
    let mut writes = last..last + EACH;
    while buffered() == [EACH; 2] {
        write(&engine, writes.next().expect("the buffer is full by then"), 1);
    }
    assert_eq!(buffered()[1], EACH, "who was written last stays");
}
