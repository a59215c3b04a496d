//! An image of a hybrid drive: which span of a realm is active outlives the program and power cuts.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::explore::Dice;
use imbrex::layer::Condition;
use imbrex::media::Illegal;
use imbrex::space::Realms;
use imbrex_live::explore::{Ends, Volatile};
use imbrex_live::image::Image;
use imbrex_live::store::{Store, StoreError};

fn preset(name: &str) -> DrivePreset {
    DrivePreset::named(name).unwrap()
}

fn realms(store: &dyn Store) -> Realms {
    store.media().realms().unwrap()
}

fn run(first: Pba, blocks: u32) -> Extent<Pba> {
    Extent::new(first, blocks)
}

fn write(store: &dyn Store, first: Pba, blocks: u32, byte: u8) -> Result<(), StoreError> {
    store.write(run(first, blocks), &Bytes::from(vec![byte; (blocks * store.block_bytes()) as usize]))
}

/// The condition and the pointer of a zone of the realms.
fn zone(store: &dyn Store, zone: u32) -> (Condition, u32) {
    let state = store.media().report()[realms(store).zones().unit(zone).index as usize];
    (state.condition, state.pointer)
}

/// How many zones of both spans of a realm are in a condition.
fn count(store: &dyn Store, realm: u32, condition: Condition) -> usize {
    let of = realms(store).conventional_of(realm).chain(realms(store).sequential_of(realm));
    of.filter(|index| zone(store, *index).0 == condition).count()
}

#[test]
fn realms_are_as_they_were_when_an_image_is_opened_again() {
    let (preset, file) = (preset("small-hybrid"), tempfile::tempfile().unwrap());
    file.set_len(Image::<File>::len(&preset).unwrap()).unwrap();
    let image = Image::create(file.try_clone().unwrap(), &preset).unwrap();
    let of = realms(&image);
    let (wide, narrow) = (of.conventional(3).start, of.sequential(3).start);
    for realm in [3, 5] {
        write(&image, of.conventional(realm).start, 2048, 7).unwrap();
    }
    let before = file.metadata().unwrap().blocks();
    image.reset(of.to_sequential(3)).unwrap();
    image.reset(of.to_sequential(4)).unwrap();
    image.reset(of.to_conventional(4)).unwrap();
    write(&image, narrow, 5, 9).unwrap();
    image.flush().unwrap();
    drop(image);
    assert!(before - file.metadata().unwrap().blocks() > 2000 * 8, "the room of an inactive span is given back");
    let image = Image::open(file).unwrap();
    assert_eq!(zone(&image, of.sequential_of(3).start), (Condition::Sequential, 5));
    let inactive = image.read(run(wide, 1)).unwrap_err();
    assert!(matches!(inactive, StoreError::Illegal(Illegal::Bad { condition: Condition::Inactive, .. })));
    assert!(write(&image, wide, 1, 1).is_err() && write(&image, narrow, 1, 1).is_err());
    assert_eq!(image.read(run(narrow, 5)).unwrap(), vec![9; 5 * 4096]);
    assert_eq!(image.read(run(of.conventional(5).start, 1)).unwrap(), vec![7; 4096], "another realm");
    assert_eq!(count(&image, 4, Condition::Conventional), 2, "there and back");
    let refused = image.reset(of.to_conventional(3)).unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");
    write(&image, Pba::disk(narrow.block() + 5), 1, 1).unwrap();
}

/// An image in memory, empty.
fn volatile() -> (Volatile, Image<Volatile>) {
    let preset = preset("tiny-hybrid");
    let file = Volatile::new(Image::<Volatile>::len(&preset).unwrap() as usize, false);
    let image = Image::create(file.clone(), &preset).unwrap();
    (file, image)
}

/// Turns realm 0 there, writes, turns it back, and so on, until the power goes.
fn turn(image: &Image<Volatile>, dice: &mut Dice) -> Result<(), StoreError> {
    let of = realms(image);
    let zones = of.sequential_of(0).map(|zone| of.zones().unit(zone));
    let mut perhaps_flush = |image: &Image<Volatile>| if dice.one_in(2) { image.flush() } else { Ok(()) };
    loop {
        image.reset(of.to_sequential(0))?;
        perhaps_flush(image)?;
        write(image, of.sequential(0).start, 3, 9)?;
        perhaps_flush(image)?;
        zones.clone().try_for_each(|zone| image.reset(zone))?;
        image.reset(of.to_conventional(0))?;
        perhaps_flush(image)?;
    }
}

#[test]
fn a_power_cut_leaves_one_span_of_a_realm_and_nothing_of_the_other() {
    let (mut seen, mut written) = ([0; 2], 0);
    for seed in 0..600 {
        let (file, image) = volatile();
        let dice = &mut Dice::new(seed);
        file.fail_after(dice.below(40), Ends::ForGood);
        assert!(turn(&image, dice).is_err(), "the power goes");
        drop(image);
        file.cut(dice);
        let image = Image::open(file.clone()).unwrap();
        let of = realms(&image);
        let is_sequential = count(&image, 0, Condition::Sequential) == 3;
        let [active, inactive] = if is_sequential { [3, 2] } else { [2, 3] };
        let condition = if is_sequential { Condition::Sequential } else { Condition::Conventional };
        assert_eq!([count(&image, 0, condition), count(&image, 0, Condition::Inactive)], [active, inactive]);
        seen[usize::from(is_sequential)] += 1;
        written += u32::from(is_sequential && zone(&image, of.sequential_of(0).start).1 > 0);
        if !is_sequential {
            image.reset(of.to_sequential(0)).unwrap();
            let pointers = of.sequential_of(0).map(|index| zone(&image, index).1);
            assert_eq!(pointers.sum::<u32>(), 0, "seed {seed}: a zone is empty when it becomes active");
            drop(image);
            file.cut(dice);
            let image = Image::open(file).unwrap();
            let pointers = of.sequential_of(0).map(|index| zone(&image, index).1);
            assert_eq!(pointers.sum::<u32>(), 0, "seed {seed}: and after another cut");
        }
    }
    assert!(seen.iter().all(|times| *times > 100) && written > 20, "{seen:?}, {written}");
}

#[test]
fn a_flushed_activation_survives_every_cut() {
    for seed in 0..100 {
        let (file, image) = volatile();
        let of = realms(&image);
        image.reset(of.to_sequential(1)).unwrap();
        image.flush().unwrap();
        image.reset(of.to_sequential(2)).unwrap();
        drop(image);
        file.cut(&mut Dice::new(seed));
        let image = Image::open(file).unwrap();
        assert_eq!([0, 1].map(|realm| count(&image, realm, Condition::Sequential)), [0, 3]);
    }
}
