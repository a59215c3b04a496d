//! What is trimmed gives its room on the host back, and nothing that is needed is lost by that.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layers::{self, LayerInfo};
use imbrex::plan::Why;
use imbrex::recording::Recording;
use imbrex_live::engine::{Cleaning, Engine, EngineOptions};
use imbrex_live::image::Image;
use imbrex_live::store::Store;
use imbrex_live::volume::{FormatOptions, Volume, format};

const BLOCK: u64 = 4096;
/// Blocks that are written: more than any buffer has.
const BLOCKS: u64 = 4096;
/// Blocks of a zone of `small-zoned`.
const ZONE: u64 = 1024;
/// Blocks of a request.
const RUN: u64 = 16;

/// Layers on drives with write pointers.
fn on_pointers() -> impl Iterator<Item = (&'static LayerInfo, &'static str)> {
    layers::ALL.iter().filter_map(|info| match info.recording {
        Recording::Zoned | Recording::WholeZones => Some((info, "small-zoned")),
        Recording::Banded => Some((info, "small-banded")),
        Recording::Flash => Some((info, "ssd-pore")),
        _ => None,
    })
}

fn formatted(info: &'static LayerInfo, drive: &str) -> Arc<Image<File>> {
    let preset = DrivePreset::named(drive).unwrap().with_capacity(256 << 20).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let image = Arc::new(Image::create(file, &preset).unwrap());
    let needs_some = info.buffered || info.recording == Recording::WholeZones;
    let buffer = needs_some.then(|| "4MiB".parse().unwrap());
    let rewrites = info.fields.iter().any(|field| field.key == "spare_zones");
    let config = if rewrites { "spare_zones = 2".parse().unwrap() } else { toml::Table::new() };
    format(
        vec![image.clone()],
        &FormatOptions { layer: info, config: &config, buffer, journal_blocks: None, map_memory: None },
    )
    .unwrap();
    image
}

fn start(image: &Arc<Image<File>>) -> Engine {
    let options = EngineOptions { idle_after: Duration::from_millis(1), ..EngineOptions::default() };
    let engine = Engine::start(Volume::open(vec![image.clone()]).unwrap(), options).unwrap();
    engine.wait_until_serving().unwrap();
    engine
}

fn content(block: u64, version: u64) -> Vec<u8> {
    let word = (block << 16 | version).to_le_bytes();
    word.repeat(BLOCK as usize / word.len())
}

fn write(engine: &Engine, first: u64, version: u64) {
    let bytes = (first..first + RUN).map(|block| content(block, version)).collect::<Vec<_>>().concat();
    engine.write_bytes(0, first * BLOCK, &bytes).unwrap();
}

/// Bytes that the image takes on the host.
fn taken(image: &Image<File>) -> u64 {
    image.backing().metadata().unwrap().blocks() * 512
}

#[test]
fn a_volume_that_is_trimmed_takes_less_room() {
    for (info, drive) in on_pointers() {
        let image = formatted(info, drive);
        let engine = start(&image);
        (0..BLOCKS).step_by(RUN as usize).for_each(|first| write(&engine, first, 1));
        engine.set_cleaning(Cleaning::Now);
        while engine.cleaning() == Cleaning::Now {
            std::thread::sleep(Duration::from_millis(1));
        }
        engine.flush(0).unwrap();
        let full = taken(&image);
        engine.trim_bytes(0, 0, BLOCKS * BLOCK).unwrap();
        engine.flush(0).unwrap();
        let given_back = full.saturating_sub(taken(&image));
        assert!(given_back >= BLOCKS * BLOCK * 3 / 4, "{}: {given_back} bytes of {full}", info.name);
        engine.stop().unwrap();
    }
}

/// Layers before whose zones a buffer lies that trims empty.
fn with_buffers() -> impl Iterator<Item = (&'static LayerInfo, &'static str)> {
    on_pointers().filter(|(info, _)| info.fields.iter().any(|field| field.key == "empty_trimmed"))
}

/// Blocks that have been written to zones behind a buffer.
fn destaged(engine: &Engine) -> u64 {
    let tally = engine.progress().0[0].tally;
    tally.moved().filter(|(why, _)| *why == Why::Destage).map(|(_, blocks)| blocks).sum()
}

/// What lies in a buffer leaves it with its zone, in whichever order the pieces come, and is not copied first.
#[test]
fn a_buffer_is_empty_when_everything_is_trimmed() {
    assert!(with_buffers().count() >= 5);
    for (info, drive) in with_buffers() {
        let image = formatted(info, drive);
        let engine = start(&image);
        engine.set_cleaning(Cleaning::Paused);
        (0..BLOCKS).step_by(RUN as usize).for_each(|first| write(&engine, first, 1));
        let mut dice = 11;
        (0..40).for_each(|_| write(&engine, next(&mut dice) % (BLOCKS / RUN) * RUN, 2));
        let used = |engine: &Engine| engine.progress().0[0].occupancy.unwrap().used;
        assert!(used(&engine) > 100, "{}: {} blocks are buffered", info.name, used(&engine));
        let (before, pieces) = (destaged(&engine), 16);
        let piece = BLOCKS * BLOCK / pieces;
        (0..pieces).for_each(|i| engine.trim_bytes(0, i * 5 % pieces * piece, piece).unwrap());
        engine.flush(0).unwrap();
        engine.set_cleaning(Cleaning::Now);
        while engine.cleaning() == Cleaning::Now {
            std::thread::sleep(Duration::from_millis(1));
        }
        engine.flush(0).unwrap();
        assert_eq!(used(&engine), 0, "{}", info.name);
        // An eviction that was under way goes on to its end.
        assert!(destaged(&engine) - before <= ZONE, "{}", info.name);
        let left = taken(&image);
        engine.stop().unwrap();
        drop(engine);
        let engine = start(&image);
        let mut bytes = vec![1; (BLOCKS * BLOCK) as usize];
        engine.read_bytes(0, 0, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0), "{}: {left} bytes are left", info.name);
        engine.stop().unwrap();
    }
}

/// A number that follows from the one before it.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Writes and trims at random, with cleaning in between: what is not trimmed is as it was written, and what is trimmed
/// is that or zeros.
#[test]
fn nothing_that_is_needed_is_given_back() {
    for (info, drive) in on_pointers() {
        let image = formatted(info, drive);
        let mut engine = start(&image);
        let (mut dice, runs) = (7, BLOCKS / RUN);
        let mut held = vec![(0, true); runs as usize];
        for version in 1..=300 {
            let run = next(&mut dice) % runs;
            if next(&mut dice).is_multiple_of(3) {
                engine.trim_bytes(0, run * RUN * BLOCK, RUN * BLOCK).unwrap();
                held[run as usize].1 = true;
            } else {
                write(&engine, run * RUN, version);
                held[run as usize] = (version, false);
            }
            if version % 100 == 0 {
                engine.stop().unwrap();
                drop(engine);
                engine = start(&image);
            }
        }
        let mut bytes = vec![0; BLOCK as usize];
        for block in 0..BLOCKS {
            let (version, trimmed) = held[(block / RUN) as usize];
            engine.read_bytes(0, block * BLOCK, &mut bytes).unwrap();
            let may_be_zeros = trimmed && bytes.iter().all(|byte| *byte == 0);
            assert!(may_be_zeros || bytes == content(block, version), "{}: block {block} is lost", info.name);
        }
        engine.stop().unwrap();
    }
}

/// What a write of `at` destroys on an interlaced disk.
fn destroyed(image: &Image<File>, at: Extent<Pba>) -> Vec<Extent<Pba>> {
    let mut destroyed = Vec::new();
    image.media().destroys(at, &mut |gone| destroyed.push(gone));
    destroyed
}

#[test]
fn what_a_write_destroys_is_overwritten_where_it_held_something_and_takes_no_room_where_not() {
    let preset = DrivePreset::named("imr-tracklace").unwrap().with_capacity(256 << 20).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let image = Image::create(file, &preset).unwrap();
    let runs = (0..preset.blocks() / 8).map(|run| Extent::new(Pba::disk(run * 8), 8));
    let over = runs.map(|run| (run, destroyed(&image, run))).find(|(_, over)| over.iter().any(|gone| gone.blocks > 4));
    let (bottom, over) = over.unwrap();
    let of = |byte: u8, blocks: u32| Bytes::from(vec![byte; blocks as usize * BLOCK as usize]);
    let before = taken(&image);
    image.write(bottom, &of(1, 8)).unwrap();
    assert_eq!(taken(&image) - before, 8 * BLOCK);
    let top = *over.iter().find(|gone| gone.blocks > 4).unwrap();
    let (first, written) = (top.first(2), top.skip(2));
    image.write(written, &of(2, written.blocks)).unwrap();
    image.write(bottom, &of(3, 8)).unwrap();
    assert!(image.read(bottom).unwrap() == of(3, 8), "and what destroys it does not suffer");
    assert!(image.read(first).unwrap() == of(0, 2), "nothing was there");
    assert!(image.read(written).unwrap() == of(0xdb, written.blocks));
    assert_eq!(taken(&image) - before, (8 + u64::from(written.blocks)) * BLOCK);
}
