//! Units that wear out: what lies elsewhere is served, what was lost reads as an error and never as something else, and
//! layers stay away from the unit.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use imbrex::block::Pba;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layer::Condition;
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::Failure;
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use imbrex_live::backing::Backing;
use imbrex_live::engine::{Engine, EngineOptions};
use imbrex_live::image::Image;
use imbrex_live::offline::{check, repair};
use imbrex_live::store::Store;
use imbrex_live::volume::{FormatOptions, Volume, format};

const BLOCK: u64 = 4096;
/// Blocks that are written.
const BLOCKS: u64 = 2400;
/// Blocks of a write.
const RUN: u64 = 32;
/// How often a request is repeated that fails because another one's failure ended a life.
const TRIES: u32 = 8;

fn image() -> Arc<Image<File>> {
    drive_with(4)
}

/// A drive of 32 zones.
fn drive_with(conventional_zones: u32) -> Arc<Image<File>> {
    let media = MediaSpec::Zoned { zones: 32, zone_blocks: 512, conventional_zones, max_open: 0, max_active: 0 };
    let small = DrivePreset::named("small-zoned").unwrap().with_capacity(64 << 20).unwrap();
    let preset = DrivePreset { media, ..small };
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    Arc::new(Image::create(file, &preset).unwrap())
}

fn start(image: &Arc<Image<File>>) -> Engine {
    let options = EngineOptions { idle_after: Duration::from_millis(1), ..EngineOptions::default() };
    let engine = Engine::start(Volume::open(vec![image.clone()]).unwrap(), options).unwrap();
    engine.wait_until_serving().unwrap();
    engine
}

/// What a block holds in a version.
fn content(block: u64, version: u64) -> Vec<u8> {
    let word = (block << 16 | version).to_le_bytes();
    word.repeat(BLOCK as usize / word.len())
}

/// A request, repeated while it fails.
fn insist(what: &str, mut request: impl FnMut() -> Result<(), Failure>) {
    let failures: Vec<Failure> = (0..TRIES).map_while(|_| request().err()).collect();
    assert!(failures.len() < TRIES as usize, "{what}: {failures:?}");
}

/// Writes every block, a third of them twice, so that something has to be cleaned; all of it again when a flush says
/// that what was answered may be lost.
fn write_all(engine: &Engine, name: &str, version: u64) {
    let runs = BLOCKS / RUN;
    insist(name, || {
        for first in (0..runs).chain((0..runs).step_by(3)).map(|run| run * RUN) {
            let bytes = (first..first + RUN).map(|block| content(block, version)).collect::<Vec<_>>().concat();
            insist(name, || engine.write_bytes(0, first * BLOCK, &bytes));
        }
        engine.flush(0)
    });
}

/// The blocks that cannot be read. All others hold one of the versions.
fn unreadable(engine: &Engine, name: &str, versions: &[u64]) -> u64 {
    let mut bytes = vec![0; BLOCK as usize];
    let mut failed = 0;
    for block in 0..BLOCKS {
        match engine.read_bytes(0, block * BLOCK, &mut bytes) {
            Ok(()) => assert!(versions.iter().any(|v| bytes == content(block, *v)), "{name}: block {block} is wrong"),
            Err(Failure::Io) => failed += 1,
            Err(other) => panic!("{name}: {other}"),
        }
    }
    failed
}

/// The sequential unit of which the most is written.
fn fullest(image: &Image<File>) -> Unit {
    let report = image.report().unwrap();
    let units = report.devices[1].iter().zip(0..).filter(|(state, _)| state.condition == Condition::Sequential);
    Unit::disk(units.max_by_key(|(state, _)| state.pointer).unwrap().1)
}

fn survives(info: &'static LayerInfo, condition: Condition, while_serving: bool) -> u64 {
    let image = image();
    let buffer = info.buffered.then(|| "2MiB".parse().unwrap());
    let rewrites = info.fields.iter().any(|field| field.key == "spare_zones");
    let config = if rewrites { "spare_zones = 2".parse().unwrap() } else { toml::Table::new() };
    drop(
        format(
            vec![image.clone()],
            &FormatOptions { layer: info, config: &config, buffer, journal_blocks: None, map_memory: None },
        )
        .unwrap(),
    );
    let mut engine = start(&image);
    write_all(&engine, info.name, 1);
    if while_serving {
        image.fail(fullest(&image), condition).unwrap();
    } else {
        engine.stop().unwrap();
        drop(engine);
        image.fail(fullest(&image), condition).unwrap();
        engine = start(&image);
    }
    let lost = unreadable(&engine, info.name, &[1]);
    assert!(lost < BLOCKS / 2, "{}: {lost} blocks are lost", info.name);
    write_all(&engine, info.name, 2);
    assert_eq!(unreadable(&engine, info.name, &[2]), 0, "{}: what is written again can be read", info.name);
    engine.stop().unwrap();
    drop(engine);
    assert_eq!(unreadable(&start(&image), info.name, &[2]), 0, "{}: after a restart", info.name);
    lost
}

fn zoned() -> impl Iterator<Item = &'static LayerInfo> {
    layers::ALL.iter().filter(|info| matches!(info.recording, Recording::Zoned | Recording::WholeZones))
}

#[test]
fn zones_that_become_read_only_lose_nothing() {
    for info in zoned() {
        for while_serving in [false, true] {
            assert_eq!(survives(info, Condition::ReadOnly, while_serving), 0, "{}", info.name);
        }
    }
}

#[test]
fn zones_that_go_offline_lose_what_lies_in_them() {
    let mut lost = 0;
    for info in zoned() {
        for while_serving in [false, true] {
            lost += survives(info, Condition::Offline, while_serving);
        }
    }
    assert!(lost > 0, "no zone that went offline held anything, so nothing was tested");
}

#[test]
fn a_copy_that_cannot_be_written_does_not_keep_others_from_being_mended() {
    let image = drive_with(0);
    let options = FormatOptions {
        layer: layers::find("log-greedy").unwrap(),
        config: &toml::Table::new(),
        buffer: None,
        journal_blocks: None,
        map_memory: None,
    };
    format(vec![image.clone()], &options).unwrap();
    let spoil = |block: u64| image.backing().write_at(&[0; 100], image.offset(Pba::disk(block))).unwrap();
    // The second superblock, whose zone takes nothing any more, and the first block of the first journal.
    spoil(31 * 512);
    image.fail(Unit::disk(31), Condition::ReadOnly).unwrap();
    spoil(512);
    let volume = Volume::open(vec![image.clone()]).unwrap();
    let checked = check(&volume, true);
    assert_eq!(checked.problems.len(), 2, "{checked:?}");
    let left = repair(&volume, &checked).unwrap();
    assert!(left.len() == 1 && left[0].contains("superblock 1 of member 1"), "{left:?}");
    let again = check(&Volume::open(vec![image]).unwrap(), true).problems;
    assert!(again.len() == 1 && again[0].what.contains("superblock"), "{again:?}");
}
