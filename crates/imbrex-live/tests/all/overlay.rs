//! An overlay behaves like the drive below it, leaves that as it is, and keeps no more than it may.

use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::plan::Unit;
use imbrex_live::engine::{Cleaning, Engine, EngineOptions};
use imbrex_live::image::Image;
use imbrex_live::overlay::{KEEPS, Overlay};
use imbrex_live::store::Store;
use imbrex_live::volume::{FormatOptions, Members, Volume, format};

fn image(name: &str, mib: u64) -> (File, Arc<dyn Store>) {
    let preset = DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let same = file.try_clone().unwrap();
    (file, Arc::new(Image::create(same, &preset).unwrap()))
}

/// Everything in a file.
fn content(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0).unwrap();
    bytes
}

fn run(block: u64, blocks: u32) -> Extent<Pba> {
    Extent::new(Pba::disk(block), blocks)
}

fn filled(store: &dyn Store, blocks: u32, byte: u8) -> Bytes {
    vec![byte; (blocks * store.block_bytes()) as usize].into()
}

/// Does the same to two drives and finds them equal, though one is an overlay over a drive in the state the other was
/// in.
#[test]
fn it_behaves_like_the_drive_below() {
    for name in ["tiny-zoned", "tiny-conventional", "tiny-interlaced", "tiny-hybrid", "tiny-flash"] {
        let preset = DrivePreset::named(name).unwrap();
        let drive = || {
            let file = tempfile::tempfile().unwrap();
            file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
            Arc::new(Image::create(file, &preset).unwrap())
        };
        let (plain, below) = (drive(), drive());
        let blocks = plain.media().blocks();
        let before = |store: &dyn Store| {
            (0..blocks).step_by(3).for_each(|block| drop(store.write(run(block, 2), &filled(store, 2, block as u8))));
        };
        before(plain.as_ref());
        before(below.as_ref());
        let over = Overlay::new(below, KEEPS);
        let mut state = 7_u64;
        for step in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = run((state >> 33) % blocks, 1 + (state >> 20) as u32 % 5);
            let both: [&dyn Store; 2] = [plain.as_ref(), &over];
            let realms = plain.media().realms();
            let unit = match realms.filter(|_| state >> 40 & 1 == 0) {
                Some(realms) if state >> 41 & 1 == 0 => realms.to_sequential((state >> 42) as u32 % realms.count),
                Some(realms) => realms.to_conventional((state >> 42) as u32 % realms.count),
                None => plain.media().unit_of(at.start),
            };
            let [a, b] = both.map(|store| match state >> 61 {
                0 => store.reset(unit).is_ok().then(Bytes::new),
                1..4 => store.write(at, &filled(store, at.blocks, step as u8)).is_ok().then(Bytes::new),
                _ => store.read(at).ok(),
            });
            // A drive may keep what an emptied unit held; an overlay says zeros. Nobody may ask for it.
            let readable = plain.media().has_pointer(plain.media().unit_of(at.start)) || state >> 61 < 4;
            assert!(a == b || !readable, "{name}, step {step}: {at:?}");
        }
        assert_eq!(format!("{:?}", plain.report().unwrap()), format!("{:?}", over.report().unwrap()), "{name}");
    }
}

#[test]
fn a_volume_is_served_without_a_change_to_its_store() {
    let (file, store) = image("small-zoned", 128);
    let members: Members = vec![store];
    let options = FormatOptions {
        layer: layers::find("fifo-log").unwrap(),
        config: &toml::Table::new(),
        buffer: None,
        journal_blocks: None,
        map_memory: None,
    };
    let engine = Engine::start(format(members.clone(), &options).unwrap(), EngineOptions::default()).unwrap();
    let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at / 977) as u8).collect();
    engine.write_bytes(0, 4096, &bytes).unwrap();
    engine.flush(0).unwrap();
    engine.stop().unwrap();
    let before = content(&file);

    let over: Members =
        members.iter().map(|below| Arc::new(Overlay::new(below.clone(), KEEPS)) as Arc<dyn Store>).collect();
    let engine = Engine::start(Volume::open(over).unwrap(), EngineOptions::default()).unwrap();
    engine.set_cleaning(Cleaning::Paused);
    let mut back = vec![0; bytes.len()];
    engine.read_bytes(0, 4096, &mut back).unwrap();
    assert!(back == bytes);
    engine.write_bytes(0, 0, &[9; 5000]).unwrap();
    engine.stop().unwrap();
    assert!(content(&file) == before);
    // Without an overlay a new life is in the journal.
    Engine::start(Volume::open(members).unwrap(), EngineOptions::default()).unwrap().stop().unwrap();
    assert!(content(&file) != before);
}

#[test]
fn zones_that_crowd_out_a_new_life_are_full_above_and_as_they_were_below() {
    let media = MediaSpec::Zoned { zones: 32, zone_blocks: 512, conventional_zones: 0, max_open: 0, max_active: 6 };
    let small = DrivePreset::named("small-zoned").unwrap().with_capacity(64 << 20).unwrap();
    let preset = DrivePreset { media, ..small };
    let file = tempfile::tempfile().unwrap();
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let store: Arc<dyn Store> = Arc::new(Image::create(file, &preset).unwrap());
    for zone in 0..5 {
        store.write(run(zone * 512, 3), &filled(store.as_ref(), 3, 7)).unwrap();
    }
    let over = Overlay::new(store.clone(), KEEPS);
    over.report().unwrap();
    let content = over.read(run(512, 512)).unwrap();
    assert!(content[..3 * 4096].iter().all(|byte| *byte == 7) && content[3 * 4096..].iter().all(|byte| *byte == 0));
    assert!((10..16).all(|zone| over.write(run(zone * 512, 1), &filled(&over, 1, 1)).is_ok()), "all that are allowed");
    assert!(store.read(run(512, 4)).is_err(), "below nothing is written there");
}

#[test]
fn it_keeps_no_more_than_it_may() {
    let (_, store) = image("small-zoned", 64);
    let over = Overlay::new(store, 5 * 4096);
    over.write(run(0, 5), &filled(&over, 5, 1)).unwrap();
    over.write(run(1, 4), &filled(&over, 4, 2)).unwrap();
    let refused = over.write(run(4, 2), &filled(&over, 2, 3)).unwrap_err().to_string();
    assert!(refused.contains("20480 bytes"), "{refused}");
    assert_eq!(
        over.read(run(0, 6)).unwrap()[..],
        [filled(&over, 1, 1), filled(&over, 4, 2), filled(&over, 1, 0)].concat()
    );
    assert_eq!(over.kept_bytes(), 5 * 4096);
    assert!(over.reset(Unit::disk(0)).is_err(), "conventional");
}
