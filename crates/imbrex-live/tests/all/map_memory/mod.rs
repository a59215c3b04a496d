//! Volumes of which a server has a part of the map in memory.

mod forged;
mod lost;
mod paged;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use bytes::Bytes;
use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::drive::DrivePreset;
use imbrex::explore::Dice;
use imbrex::layer::MapCache;
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::pages::{PageHeader, encode_page};
use imbrex::perform::rules::Rules;
use imbrex::perform::{MapHome, Request};
use imbrex_live::explore::{Images, Sums};
use imbrex_live::image::Image;
use imbrex_live::offline::{self, Mapped, Run};
use imbrex_live::service::{Service, ServiceOptions};
use imbrex_live::store_path;
use imbrex_live::sums::Checksums;
use imbrex_live::superblock::Layered;
use imbrex_live::volume::{self, FormatOptions, Members, PAGE_OVERHEAD, Volume, VolumeError};
use paged::{INFO, PER_PAGE};
use tempfile::TempDir;

/// Memory for four pages.
const FOUR: u64 = 4 * (4096 + PAGE_OVERHEAD as u64);

fn paged() -> &'static LayerInfo {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| layers::add(&INFO).unwrap());
    layers::find(INFO.name).unwrap()
}

fn drive() -> DrivePreset {
    DrivePreset::named("small-zoned").unwrap().with_capacity(128 << 20).unwrap()
}

fn options<'a>(layer: &'static LayerInfo, config: &'a toml::Table, map_memory: Option<u64>) -> FormatOptions<'a> {
    FormatOptions { layer, config, buffer: None, journal_blocks: None, map_memory }
}

/// Whether a volume could be made of drives like these.
fn validated(layer: &'static LayerInfo, drives: &[DrivePreset], map_memory: u64) -> Result<(), VolumeError> {
    let members: Members = drives.iter().map(|drive| Arc::new(Image::draft(drive).unwrap()) as _).collect();
    volume::validate(&members, &options(layer, &toml::Table::new(), Some(map_memory)))
}

fn formatted(folder: &TempDir, checksums: Option<Checksums>) -> PathBuf {
    let path = folder.path().join("a.img");
    let mut prepared = store_path::prepare(&path, Some(&drive()), false).unwrap();
    prepared.make().unwrap();
    let config = toml::Table::new();
    volume::format_with(vec![prepared.store()], &options(paged(), &config, Some(FOUR)), checksums).unwrap();
    prepared.keep();
    path
}

fn opened(path: &Path) -> Volume {
    Volume::open(vec![store_path::open(path).unwrap()]).unwrap()
}

fn home(volume: &Volume) -> MapHome {
    volume.setup().unwrap().top.map_home.unwrap()
}

#[test]
fn a_volume_says_how_much_of_its_map_is_in_memory_and_where_the_pages_lie() {
    for checksums in [None, Some(Checksums::default())] {
        let folder = tempfile::tempdir().unwrap();
        let path = formatted(&folder, checksums);
        let mut volume = opened(&path);
        let (superblock, setup) = (&volume.superblocks[0], volume.setup().unwrap().top);
        let count = (setup.make)().cached_map().unwrap().count();
        assert_eq!((superblock.version, superblock.own.map_memory), (3, Some(FOUR)));
        assert_eq!(u64::from(superblock.own.map_blocks), MapHome::blocks(count));
        let MapHome { at, pages } = setup.map_home.unwrap();
        assert_eq!((u64::from(at.blocks), pages), (MapHome::blocks(count), 4));
        let behind = setup.journal[0].end().plus(superblock.checksum_blocks());
        assert_eq!(at.start, behind);
        let unit = volume.members[0].media().unit_of(at.end());
        assert!(!volume.members[0].media().has_pointer(unit), "they are written in place");
        // For one run.
        volume.set_map_memory(2 * FOUR).unwrap();
        assert_eq!(home(&volume), MapHome { at, pages: 8 });
        assert!(volume.set_map_memory(FOUR / 2).unwrap_err().to_string().contains("13056 bytes"));
        assert_eq!(volume.superblocks[0].own.map_memory, Some(FOUR));
        // Superblocks that make no sense.
        let own = volume.superblocks[0].own.clone();
        for (map_memory, map_blocks) in [(None, own.map_blocks), (Some(FOUR), 0), (Some(FOUR), own.map_blocks - 1)] {
            volume.superblocks[0].own = Layered { map_memory, map_blocks, ..own.clone() };
            assert!(volume.setup().is_err(), "{map_memory:?}, {map_blocks}");
        }
        drop(volume);
        assert_eq!(home(&opened(&path)), MapHome { at, pages: 4 });
    }
}

#[test]
fn memory_for_the_map_bounds_what_a_server_takes() {
    let members: Members = vec![Arc::new(Image::draft(&drive()).unwrap())];
    let config = toml::Table::new();
    let maps = |map_memory| {
        let memory = volume::memory(&members, &options(paged(), &config, Some(map_memory)), None).unwrap();
        memory.parts.iter().find(|part| part.name == "maps").unwrap().most_bytes
    };
    let (more, pages) = (maps(100 * FOUR) - maps(FOUR), 99 * 4);
    assert!((pages * 4096..=pages * (4096 + 2 * u64::from(PAGE_OVERHEAD))).contains(&more), "{more}");
}

#[test]
fn what_cannot_be_is_refused_with_what_would_do() {
    let refused = |layer: &str, drives: &[DrivePreset], memory| {
        validated(layers::find(layer).unwrap(), drives, memory).unwrap_err().to_string()
    };
    paged();
    for memory in [1, 3 * 4352 - 1] {
        let why = refused("paged-log", &[drive()], memory);
        assert!(why.contains("--map-memory") && why.contains("13056 bytes"), "{why}");
        let why = refused("log-greedy", &[drive()], memory);
        assert!(why.contains("13056 bytes"), "before the layer is asked: {why}");
    }
    for layer in ["fifo-log", "in-place", "dm-zoned"] {
        let why = refused(layer, &[drive()], FOUR);
        assert!(why.contains(layer) && why.contains("map"), "{layer}: {why}");
    }
    let flash = DrivePreset::named("ssd-pore").unwrap().with_capacity(128 << 20).unwrap();
    let disk = DrivePreset::named("small-banded").unwrap().with_capacity(64 << 20).unwrap();
    let why = refused("lru-cache", &[flash, disk], FOUR);
    assert!(why.contains("--map-memory") && why.contains("lru-cache"), "{why}");
    // One zone in a hundred is conventional, and pages take one block in 32.
    let narrow = DrivePreset::named("exos-x18z").unwrap();
    let why = refused("paged-log", &[narrow], FOUR);
    for part in ["the pages of the layer's map take", "conventional blocks", "are left", "--capacity", "--map-memory"] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn a_run_with_another_part_of_the_map_is_only_for_volumes_that_have_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.img");
    let mut prepared = store_path::prepare(&path, Some(&drive()), false).unwrap();
    prepared.make().unwrap();
    let layer = layers::find("log-greedy").unwrap();
    let made = volume::format(vec![prepared.store()], &options(layer, &toml::Table::new(), None)).unwrap();
    assert_eq!((made.superblocks[0].version, made.setup().unwrap().top.map_home), (2, None));
    prepared.keep();
    drop(made);
    let options = ServiceOptions { stores: vec![path], map_memory: Some(FOUR), ..ServiceOptions::default() };
    let why = Service::start(&options).err().unwrap().to_string();
    assert!(why.contains("formatted with all of its map in memory"), "{why}");
}

#[test]
fn pages_have_no_checksums_beside_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = formatted(&folder, Some(Checksums { region_blocks: 64 }));
    let volume = opened(&path);
    let at = home(&volume).at;
    let written = |byte: u8| Bytes::from(vec![byte; 4096]);
    let [first, last] = [at.start, at.start.plus(u64::from(at.blocks) - 1)].map(|place| Extent::new(place, 1));
    let member = &volume.members[0];
    for place in [first, last] {
        member.write(place, &written(1)).unwrap();
        member.flush().unwrap();
        member.rest().unwrap();
    }
    drop(volume);
    // Behind the back of the checksums.
    let below = store_path::open(&path).unwrap();
    [first, last].iter().for_each(|place| below.write(*place, &written(2)).unwrap());
    below.flush().unwrap();
    drop(below);
    let volume = opened(&path);
    for place in [first, last] {
        assert_eq!(volume.members[0].read(place).unwrap(), written(2));
    }
    assert!(offline::scrub(&volume, |_| true).unwrap().unneeded.is_empty());
}

/// A block of a page as it lies on the drive.
fn home_block(identity: u64, page: u64, version: u64, places: &[(u64, u64)]) -> Bytes {
    let mut content = vec![0; 8 * PER_PAGE as usize];
    for (at, place) in places {
        let from = 8 * *at as usize;
        content[from..from + 8].copy_from_slice(&Pba::disk(*place).to_raw().to_le_bytes());
    }
    encode_page(PageHeader { identity, page, version, epoch: 1 }, &content, 4096)
}

/// A volume with blocks of many pages, of which nothing has been written home.
fn used(folder: &TempDir, blocks: &[u64]) -> PathBuf {
    let path = formatted(folder, None);
    let mut solo = opened(&path).solo().unwrap();
    for lba in blocks {
        solo.call(Request::Write(Extent::new(Lba(*lba), 1), Bytes::from(vec![*lba as u8; 4096]))).unwrap();
    }
    solo.call(Request::Flush).unwrap();
    path
}

#[test]
fn a_map_is_walked_with_few_of_its_pages_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let lbas: Vec<u64> = (0..20).map(|page| page * PER_PAGE + page).collect();
    let path = used(&folder, &lbas);
    let volume = opened(&path);
    let mut states = offline::layers(&volume).unwrap();
    let layer = &mut states[0];
    let runs = Mapped::of(layer).runs;
    assert_eq!(runs.iter().map(|run| run.lba.0).collect::<Vec<_>>(), lbas);
    assert!(runs.windows(2).all(|pair| pair[0].at.end() == pair[1].at.start), "in the order of writes: {runs:?}");
    assert!(layer.layer.cached_map().unwrap().cached() <= 4);
    assert_eq!(Mapped::of(layer).runs, runs, "a second look sees the same");
    let checked = offline::check(&volume, true);
    assert!(checked.problems.is_empty() && checked.read_blocks == 20, "{checked:?}");
}

#[test]
fn the_newest_whole_block_of_a_page_counts_with_the_records_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = used(&folder, &[0, 1, PER_PAGE]);
    let volume = opened(&path);
    let before = Mapped::of(&mut offline::layers(&volume).unwrap()[0]).runs;
    let (own, other) = (before[0].at.start.block(), before[1].at.start.block());
    let (home, identity) = (home(&volume).at.start, volume.superblocks[0].identity);
    let runs = |first: Bytes, second: Bytes| {
        let both: Bytes = [first, second].concat().into();
        volume.members[0].write(Extent::new(home, 2), &both).unwrap();
        let Run { at, lba } = Mapped::of(&mut offline::layers(&volume).unwrap()[0]).runs[0];
        (lba.0, at.start.block(), at.blocks)
    };
    let none = Bytes::from(vec![0; 4096]);
    let page = |version, places: &[(u64, u64)]| home_block(identity, 0, version, places);
    let (old, new) = (page(0, &[(0, other), (9, 7)]), page(u64::MAX, &[(3, other)]));
    assert_eq!(runs(none.clone(), none.clone()), (0, own, 2), "only records");
    assert_eq!(runs(old.clone(), none.clone()), (0, own, 2), "records are newer than the old one");
    assert_eq!(runs(old.clone(), new.clone()), (3, other, 1), "all records are in the new one");
    assert_eq!(runs(new.clone(), old.clone()), (3, other, 1));
    let mut torn = new.to_vec();
    torn[64] ^= 1;
    assert_eq!(runs(torn.into(), old.clone()), (0, own, 2), "a torn one does not count");
    let of_others = [home_block(identity ^ 1, 0, u64::MAX, &[(5, 7)]), home_block(identity, 1, u64::MAX, &[(5, 7)])];
    let [another_volume, another_page] = of_others;
    assert_eq!(runs(another_volume, another_page), (0, own, 2));
    // Block 3 and the first block of the next page are in one place.
    runs(page(u64::MAX, &[(3, other)]), none);
    let checked = offline::check(&volume, false);
    let twice = checked.problems.iter().any(|problem| problem.what.contains("from 3 and from 64 on in one place"));
    assert!(twice, "{:?}", checked.problems);
}

#[test]
fn the_least_memory_is_what_every_plan_needs() {
    assert!(validated(paged(), &[drive()], u64::from(MapCache::LEAST) * 4352).is_ok());
}

#[test]
fn images_are_drawn_on_which_the_pages_of_a_map_find_room() {
    for seed in 0..10 {
        let mut dice = Dice::new(seed);
        let mut images = Images::draw_paged(paged(), Rules::all(), Sums::None, Some(5), &mut dice).unwrap();
        let volume = images.make().unwrap();
        assert_eq!(home(&volume).pages, 5);
    }
}
