//! Pages of a log's map that are whole and say what is not so, and pages that are damaged.

use super::*;
use imbrex::perform::Fatal;
use imbrex::perform::pages::newest_page;

/// Bytes of an entry.
const ENTRY: usize = 5;
/// Entries of a page.
const ENTRIES: u64 = (4096 - 64) / ENTRY as u64;
/// An entry that is not set.
const NOT: u64 = (1 << 40) - 1;

/// A log with blocks of many pages, all of which are at home: the journal knows nothing of them any more.
fn log(folder: &TempDir) -> (PathBuf, Volume) {
    let path = folder.path().join("log.img");
    let mut prepared = store_path::prepare(&path, Some(&drive()), false).unwrap();
    prepared.make().unwrap();
    let greedy = layers::find("log-greedy").unwrap();
    volume::format(vec![prepared.store()], &options(greedy, &toml::Table::new(), Some(FOUR))).unwrap();
    prepared.keep();
    let mut solo = opened(&path).solo().unwrap();
    for turn in 0..400 {
        let write = Request::Write(Extent::new(Lba(turn * 37), 1), Bytes::from(vec![turn as u8; 4096]));
        solo.call(write).unwrap();
        if turn % 40 == 39 {
            solo.call(Request::Flush).unwrap();
        }
    }
    solo.stack.checkpoint();
    solo.settle();
    solo.call(Request::Flush).unwrap();
    let mut awaited = 0;
    drop(solo);
    let volume = opened(&path);
    offline::layers(&volume).unwrap()[0].layer.cached_map().unwrap().awaited(&mut |_| awaited += 1);
    assert_eq!(awaited, 0, "all pages are at home");
    (path, volume)
}

/// The blocks of a page.
fn blocks(volume: &Volume, page: u64) -> Extent<Pba> {
    Extent::new(home(volume).at.start.plus(2 * page), 2)
}

/// Changes the entries of a page; its checksum is right. What was there before.
fn forge(volume: &Volume, page: u64, change: impl FnOnce(&mut Vec<u64>)) -> Bytes {
    let (at, identity) = (blocks(volume, page), volume.superblocks[0].identity);
    let before = volume.members[0].read(at).unwrap();
    let newest = newest_page([Some(&before[..4096]), Some(&before[4096..])], identity, page).unwrap();
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let mut entries: Vec<u64> = newest.page.content.chunks_exact(ENTRY).map(number).collect();
    change(&mut entries);
    let content: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()[..ENTRY].to_owned()).collect();
    let header = PageHeader { identity, page, version: u64::MAX, epoch: newest.epoch };
    volume.members[0].write(at.first(1), &encode_page(header, &content, 4096)).unwrap();
    before
}

/// What a check says.
fn said(volume: &Volume) -> Vec<String> {
    offline::check(volume, false).problems.into_iter().map(|problem| problem.what).collect()
}

/// The places of a log's bands.
struct Places {
    first: Pba,
    band: u64,
    all: u64,
    /// The first page that says what places were written with.
    page: u64,
}

fn places(volume: &Volume) -> Places {
    let states = offline::layers(volume).unwrap();
    let (map, mut bands) = (states[0].layer.cached_map().unwrap(), Vec::new());
    map.counted(&mut |at, _| bands.push(at));
    let band = u64::from(bands[0].blocks);
    Places { first: bands[0].start, band, all: bands.len() as u64 * band, page: map.of_places().start }
}

impl Places {
    /// The page that says what a place was written with, and the entry there.
    fn page_of(&self, place: Pba) -> (u64, usize) {
        let slot = place.since(self.first);
        let (band, offset) = (slot / self.band, slot % self.band);
        (self.page + band * self.band.div_ceil(ENTRIES) + offset / ENTRIES, (offset % ENTRIES) as usize)
    }
}

/// Serves the volume, and gives why that has ended.
fn ended(path: &Path, request: Request) -> Fatal {
    let mut solo = opened(path).solo().unwrap();
    assert!(solo.call(request).is_err());
    solo.stack.dead().unwrap().clone()
}

fn written(lba: u64) -> Request {
    Request::Write(Extent::new(Lba(lba), 1), Bytes::from(vec![1; 4096]))
}

fn read(lba: u64) -> Request {
    Request::Read(Extent::new(Lba(lba), 1))
}

/// One past the last place that is written of the last band that is.
fn end(volume: &Volume) -> Pba {
    let runs = Mapped::of(&mut offline::layers(volume).unwrap()[0]).runs;
    runs.iter().map(|run| run.at.end()).max().unwrap()
}

#[test]
fn a_forged_page_is_named_by_a_check_and_ends_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let (path, volume) = log(&folder);
    assert!(offline::check(&volume, true).problems.is_empty());
    let (places, end) = (places(&volume), end(&volume));
    let capacity = (volume.setup().unwrap().top.make)().capacity();
    let (all, behind, last) = (places.all, end.since(places.first), places.page_of(Pba::disk(end.block() - 1)));
    let forged = [
        (0, 37, all, format!("puts block 37 at place {all} of the bands, where no band is"), read(37)),
        (0, 37, behind, format!("puts block 37 at place {behind} of the bands, where nothing is written"), written(37)),
        (0, 3, NOT - 1, format!("puts block 3 at place {} of the bands", NOT - 1), read(37)),
        (last.0, last.1, capacity, format!("was written with block {capacity}, beyond the capacity"), written(0)),
    ];
    drop(volume);
    for (page, entry, value, named, request) in forged {
        let volume = opened(&path);
        let before = forge(&volume, page, |entries| entries[entry] = value);
        let said = said(&volume);
        assert!(said.len() == 1 && said[0].contains(&format!("page {page} ")) && said[0].contains(&named), "{said:?}");
        drop(volume);
        let why = ended(&path, request);
        assert!(matches!(&why, Fatal::Corrupt(why) if said[0].ends_with(&why.0)), "{why}");
        let volume = opened(&path);
        volume.members[0].write(blocks(&volume, page), &before).unwrap();
    }
    assert!(said(&opened(&path)).is_empty());
}

#[test]
fn a_map_that_contradicts_itself_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (_, volume) = log(&folder);
    let (places, end) = (places(&volume), end(&volume));
    let (last, entry) = places.page_of(Pba::disk(end.block() - 1));
    let is_found = |page, change: &dyn Fn(&mut Vec<u64>), parts: &[&str]| {
        let before = forge(&volume, page, change);
        let said = said(&volume);
        let has = |part: &&str| said.iter().any(|what| what.contains(*part));
        assert!(said.len() == parts.len() && parts.iter().all(has), "{said:?}");
        volume.members[0].write(blocks(&volume, page), &before).unwrap();
    };
    is_found(0, &|entries| entries[37] = NOT, &["blocks on the band that begins at block"]);
    is_found(last, &|entries| entries[entry] -= 1, &["that were written with others"]);
    is_found(last, &|entries| entries[entry] = NOT, &["that were written with others"]);
    // Two blocks have changed places: there are as many as before.
    is_found(0, &|entries| entries.swap(37, 74), &["that were written with others"]);
    let both = ["from 0 and from 37 on in one place", "that were written with others"];
    is_found(0, &|entries| entries[37] = entries[0], &both);
    assert!(said(&volume).is_empty());
}

#[test]
fn a_page_that_is_damaged_is_named_by_a_check_and_ends_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let (path, volume) = log(&folder);
    let mut torn = volume.members[0].read(blocks(&volume, 0)).unwrap().to_vec();
    for block in torn.chunks_mut(4096) {
        block[100] ^= 1;
    }
    volume.members[0].write(blocks(&volume, 0), &Bytes::from(torn)).unwrap();
    let said = said(&volume);
    assert!(said.len() == 1 && said[0].contains("page 0 of the map is damaged"), "{said:?}");
    drop(volume);
    let why = ended(&path, read(37));
    assert!(matches!(why, Fatal::PageDamaged { page: 0, .. }), "{why}");
}
