//! A store with checksums: what it gives, what it refuses, and what it makes of a power cut.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::explore::Dice;
use imbrex::plan::Unit;
use imbrex_live::explore::Volatile;
use imbrex_live::image::Image;
use imbrex_live::store::{Store, StoreError, Summed};
use imbrex_live::sums::{Checked, Checksums, SumsSetup};

const BLOCK: usize = 4096;
/// Behind the checksums.
const FIRST: u64 = 4000;

fn preset() -> DrivePreset {
    DrivePreset::named("small-zoned").unwrap().with_capacity(256 << 20).unwrap()
}

fn file() -> Volatile {
    let file = Volatile::new(Image::<Volatile>::len(&preset()).unwrap() as usize, false);
    Image::create(file.clone(), &preset()).unwrap();
    file
}

fn setup(image: &Image<Volatile>, keeps_intents: bool) -> SumsSetup {
    let checksums = Checksums { region_blocks: 64 };
    let place = checksums.place(image.media().blocks(), BLOCK as u32, Pba::disk(10)).unwrap();
    SumsSetup { checksums, place, identity: 7, exempt: vec![Extent::new(Pba::disk(0), 10)], keeps_intents }
}

fn made(file: &Volatile) -> Checked {
    let image = Image::open(file.clone()).unwrap();
    let setup = setup(&image, true);
    Checked::create(Arc::new(image), setup).unwrap()
}

fn opened(file: &Volatile, keeps_intents: bool) -> Checked {
    let image = Image::open(file.clone()).unwrap();
    let setup = setup(&image, keeps_intents);
    Checked::open(Arc::new(image), setup)
}

fn at(block: u64, blocks: u32) -> Extent<Pba> {
    Extent::new(Pba::disk(FIRST + block), blocks)
}

fn content(byte: u8, blocks: u32) -> Bytes {
    vec![byte; BLOCK * blocks as usize].into()
}

fn is_mismatch(read: &Result<Bytes, StoreError>) -> bool {
    matches!(read, Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidData)
}

/// Changes a byte of a block in the file.
fn flip(file: &Volatile, block: u64) {
    let image = Image::open(file.clone()).unwrap();
    file.flip(image.offset(Pba::disk(block)) + 77, 4);
}

#[test]
fn a_block_that_changed_is_an_error_until_it_is_written() {
    let file = file();
    let store = made(&file);
    store.write(at(0, 4), &content(1, 4)).unwrap();
    store.rest().unwrap();
    drop(store);
    flip(&file, FIRST + 2);
    let store = opened(&file, true);
    assert!(is_mismatch(&store.read(at(0, 4))) && is_mismatch(&store.read(at(2, 1))));
    assert_eq!(store.read(at(0, 2)).unwrap(), content(1, 2));
    assert_eq!(store.verify(at(0, 8)), (4, vec![Pba::disk(FIRST + 2)]));
    assert_eq!((store.counts().damaged, store.counts().verified), (2, 7));
    store.write(at(2, 1), &content(2, 1)).unwrap();
    assert_eq!(store.read(at(2, 1)).unwrap(), content(2, 1));
    assert_eq!(store.read(at(100, 1)).unwrap(), content(0, 1), "a block that was never written has no checksum");
}

#[test]
fn a_block_in_the_place_of_another_is_found() {
    let file = file();
    let store = made(&file);
    store.write(at(0, 1), &content(1, 1)).unwrap();
    store.write(at(1, 1), &content(2, 1)).unwrap();
    store.rest().unwrap();
    let image = Image::open(file.clone()).unwrap();
    image.write(at(1, 1), &content(1, 1)).unwrap();
    assert!(is_mismatch(&store.read(at(1, 1))), "though the content is another block's");
}

#[test]
fn what_was_being_written_at_a_power_cut_is_summed_anew_and_nothing_else() {
    let mut alarms = 0;
    for (seed, keeps_intents) in (0..20).flat_map(|seed| [(seed, true), (seed, false)]) {
        let file = file();
        let store = made(&file);
        for region in [0, 10] {
            store.write(at(region * 64, 64), &content(1, 64)).unwrap();
        }
        store.rest().unwrap();
        drop(store);
        let store = opened(&file, keeps_intents);
        store.flush().unwrap();
        store.write(at(3, 8), &content(2, 8)).unwrap();
        drop(store);
        flip(&file, FIRST + 645);
        file.cut(&mut Dice::new(seed));
        let store = opened(&file, true);
        assert!(is_mismatch(&store.read(at(645, 1))), "it was not being written");
        let before = store.read(at(3, 8)).is_err();
        store.flush().unwrap();
        let alarm = before || store.read(at(3, 8)).is_err();
        assert!(!(keeps_intents && alarm), "seed {seed}");
        alarms += u32::from(alarm);
        assert_eq!(store.read(at(20, 8)).unwrap(), content(1, 8));
        assert_eq!(keeps_intents, store.counts().regions_dirty > 0);
    }
    assert!(alarms > 10, "without the map blocks are taken for damaged");
}

#[test]
fn what_is_emptied_has_no_checksum() {
    let file = file();
    let store = made(&file);
    let media = store.media();
    let zone = (0..).map(Unit::disk).find(|unit| media.has_pointer(*unit)).unwrap();
    let zone_at = media.extent_of(zone);
    store.write(zone_at.first(16), &content(1, 16)).unwrap();
    store.flush().unwrap();
    store.reset(zone).unwrap();
    assert_eq!(store.verify(zone_at.first(16)), (0, vec![]));
    store.write(zone_at.first(8), &content(2, 8)).unwrap();
    store.rest().unwrap();
    drop(store);
    let store = opened(&file, true);
    assert_eq!(store.verify(zone_at.first(16)), (8, vec![]));
    assert_eq!(store.counts().regions_dirty, 0, "an orderly end leaves none");
}

#[test]
fn damaged_checksums_are_counted_and_accuse_nobody() {
    let file = file();
    let store = made(&file);
    store.write(at(0, 200), &content(1, 200)).unwrap();
    store.rest().unwrap();
    let setup = setup(&Image::open(file.clone()).unwrap(), true);
    drop(store);
    // The last sector of the page with the sums of the first of them.
    let page = setup.place.table.start.plus(FIRST / 1008);
    file.flip(Image::open(file.clone()).unwrap().offset(page) + 7 * 512 + 77, 4);
    let store = opened(&file, true);
    assert_eq!(store.read(at(0, 200)).unwrap(), content(1, 200));
    let left = 200 - (1008 - FIRST % 1008);
    assert_eq!((store.verify(at(0, 200)), store.counts().sums_lost), ((left, vec![]), 1));
    flip(&file, setup.place.map.start.block());
    let store = opened(&file, true);
    assert!(store.counts().unsettled_blocks > 0, "all counts as being written");
    store.flush().unwrap();
    assert_eq!((store.read(at(0, 200)).unwrap(), store.counts().unsettled_blocks), (content(1, 200), 0));
}
