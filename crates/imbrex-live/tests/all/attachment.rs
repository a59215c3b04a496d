//! A cache that comes to a volume and leaves it, and power cuts while it does.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::drive::DrivePreset;
use imbrex::explore::Dice;
use imbrex::layers;
use imbrex::perform::Request;
use imbrex_live::explore::{Ends, Volatile};
use imbrex_live::image::Image;
use imbrex_live::solo::Solo;
use imbrex_live::store::Store;
use imbrex_live::sums::Checksums;
use imbrex_live::volume::{self, Attachment, Drain, FormatOptions, Volume, VolumeError};

const CACHES: [&str; 5] = ["lru-cache", "static-sets", "pore", "sac", "band-cache"];
/// Blocks that are written.
const BLOCKS: u64 = 64;

/// The files of a flash and a disk, and what was written through the volume on them.
struct Drives {
    flash: Volatile,
    disk: Volatile,
    written: BTreeMap<u64, u8>,
}

fn drive(name: &str, mib: u64) -> DrivePreset {
    DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap()
}

fn options<'a>(layer: &str, config: &'a toml::Table) -> FormatOptions<'a> {
    let layer = layers::find(layer).unwrap();
    FormatOptions { layer, config, buffer: None, journal_blocks: None, map_memory: None }
}

impl Drives {
    /// An empty flash, and a disk with a volume of its own on which something is written.
    fn new(disk_layer: &str, checksums: Option<Checksums>) -> Self {
        let (flash, disk) = (drive("ssd-pore", 32), drive("small-zoned", 32));
        let file = |preset: &DrivePreset| Volatile::new(Image::<Volatile>::len(preset).unwrap() as usize, false);
        let files = (file(&flash), file(&disk));
        drop(Image::create(files.0.clone(), &flash).unwrap());
        let image: Arc<dyn Store> = Arc::new(Image::create(files.1.clone(), &disk).unwrap());
        let config = toml::Table::new();
        let made = volume::format_with(vec![image], &options(disk_layer, &config), checksums).unwrap();
        let mut drives = Self { flash: files.0, disk: files.1, written: BTreeMap::new() };
        drives.write(&made, 1);
        drives
    }

    /// A copy of all of it, as after a power cut with nothing under way.
    fn copied(&self) -> Self {
        Self { flash: self.flash.copied(), disk: self.disk.copied(), written: self.written.clone() }
    }

    fn images(&self) -> [Arc<dyn Store>; 2] {
        [&self.flash, &self.disk].map(|file| Arc::new(Image::open(file.clone()).unwrap()) as Arc<dyn Store>)
    }

    /// The volume that the disk is by itself.
    fn alone(&self) -> Result<Volume, VolumeError> {
        let [_, disk] = self.images();
        Volume::open(vec![disk])
    }

    fn cached(&self) -> Result<Volume, VolumeError> {
        Volume::open(self.images().into())
    }

    fn attach(&self, cache: &str) -> Result<Volume, VolumeError> {
        let config = toml::Table::new();
        let [flash, _] = self.images();
        Attachment::new(&flash, &self.alone()?, &options(cache, &config))?.make()
    }

    /// Writes every third block anew, scattered, and flushes.
    fn write(&mut self, volume: &Volume, round: u8) {
        let mut solo = volume.solo().unwrap();
        for number in 0..BLOCKS / 3 {
            let block = number * 29 % BLOCKS;
            let byte = round.wrapping_mul(67).wrapping_add(block as u8);
            let content = Bytes::from(vec![byte; 4096]);
            solo.call(Request::Write(Extent::new(Lba(block), 1), content)).unwrap();
            self.written.insert(block, byte);
        }
        solo.call(Request::Flush).unwrap();
    }

    /// Whether a volume has what was written.
    fn holds(&self, volume: &Volume) -> bool {
        let mut solo = volume.solo().unwrap();
        self.written.iter().all(|(block, byte)| is_all(&mut solo, *block, *byte))
    }

    /// Cuts the power of both drives.
    fn cut(&self, dice: &mut Dice) {
        self.flash.cut(dice);
        self.disk.cut(dice);
    }
}

fn is_all(solo: &mut Solo, block: u64, byte: u8) -> bool {
    let read = solo.call(Request::Read(Extent::new(Lba(block), 1))).unwrap();
    read.iter().all(|found| *found == byte)
}

/// Writes all that is newer in the cache to the disk, and takes the cache away.
fn detach(volume: &Volume) -> Result<Volume, VolumeError> {
    let mut drain = Drain::begin(volume)?;
    while drain.dirty() > 0 {
        drain.step()?;
    }
    assert_eq!(drain.end()?, 0);
    let (alone, left) = volume::detach(volume)?;
    left.map_or(Ok(alone), Err)
}

#[test]
fn a_cache_comes_and_goes_and_nothing_is_lost() {
    for (cache, disk_layer, checksums) in CACHES
        .into_iter()
        .flat_map(|cache| [(cache, "log-greedy", None), (cache, "fifo-log", Some(Checksums::default()))])
    {
        let mut drives = Drives::new(disk_layer, checksums);
        let capacity = |volume: &Volume| volume.solo().unwrap().stack.top().layer().unwrap().capacity();
        let before = capacity(&drives.alone().unwrap());
        for round in 2..4 {
            let cached = drives.attach(cache).unwrap();
            assert!(drives.alone().is_err() && drives.holds(&cached), "{cache}");
            drives.write(&cached, round);
            assert_eq!(capacity(&cached), before);
            let dirty = Drain::begin(&cached).unwrap().dirty();
            assert!((1..=BLOCKS / 3).contains(&dirty), "{cache}: {dirty} blocks are dirty");
            let refused = volume::detach(&cached).err().unwrap().to_string();
            assert!(refused.starts_with(&format!("{dirty} blocks are newer in the cache")), "{refused}");
            let alone = detach(&drives.cached().unwrap()).unwrap();
            assert!(drives.holds(&alone) && drives.cached().is_err(), "{cache}");
            drives.write(&alone, round + 10);
        }
    }
}

#[test]
fn a_cache_that_is_lost_leaves_what_the_disk_has() {
    let mut drives = Drives::new("log-greedy", None);
    let before = drives.written.clone();
    let cached = drives.attach("lru-cache").unwrap();
    drives.write(&cached, 2);
    let [flash, disk] = drives.images();
    assert!(volume::detach_lost(flash).is_err(), "this is the cache");
    let alone = volume::detach_lost(Arc::clone(&disk)).unwrap();
    drives.written = before;
    assert!(drives.holds(&alone));
    assert!(volume::detach_lost(disk).is_err(), "it has none any more");
    assert!(drives.cached().is_err(), "the cache is of a time that is over");
    assert!(drives.attach("sac").is_ok());
}

#[test]
fn what_does_not_suit_is_refused_before_anything_is_written() {
    let drives = Drives::new("log-greedy", None);
    let (none, disk_layer) = (toml::Table::new(), toml::from_str("disk_layer = \"sepbit\"").unwrap());
    let [flash, _] = drives.images();
    let refused = |volume: &Volume, layer, config| {
        Attachment::new(&flash, volume, &options(layer, config)).err().unwrap().to_string()
    };
    let alone = drives.alone().unwrap();
    assert_eq!(refused(&alone, "sepbit", &none), "sepbit is no cache; choose one with --layer");
    let text = "the disk keeps the layer that it has, log-greedy; leave --set pore.disk_layer out";
    assert_eq!(refused(&alone, "pore", &disk_layer), text);
    assert!(drives.holds(&alone));
    let cached = drives.attach("pore").unwrap();
    assert_eq!(refused(&cached, "pore", &none), "the volume has a cache already; detach that first");
    assert!(Drain::begin(&Drives::new("log-greedy", None).alone().unwrap()).is_err(), "it has none");
}

/// Cuts the power after every number of operations of either drive while `change` is under way: then it is a volume with
/// the cache or without it, and has all that was written. How often it was which.
fn cut_everywhere(begin: &Drives, change: impl Fn(&Drives) -> Result<Volume, VolumeError>) -> [u32; 2] {
    assert!(change(&begin.copied()).is_ok());
    let (mut dice, mut was, mut operations) = (Dice::new(7), [0; 2], 0);
    loop {
        let mut has_ended = true;
        for fails_disk in [false, true] {
            let drives = begin.copied();
            let file = if fails_disk { &drives.disk } else { &drives.flash };
            file.fail_after(operations, Ends::ForGood);
            has_ended &= change(&drives).is_ok();
            drives.cut(&mut dice);
            let found = [drives.alone(), drives.cached()];
            let what = format!("after {operations} operations of the {}", if fails_disk { "disk" } else { "flash" });
            assert_ne!(found[0].is_ok(), found[1].is_ok(), "{what}: {:?}", found.map(Result::err));
            for (count, volume) in was.iter_mut().zip(&found) {
                if let Ok(volume) = volume {
                    assert!(drives.holds(volume), "{what}");
                    *count += 1;
                }
            }
        }
        if has_ended {
            return was;
        }
        operations += 1;
    }
}

#[test]
fn a_power_cut_leaves_the_volume_with_the_cache_or_without() {
    let mut drives = Drives::new("log-greedy", None);
    let was = cut_everywhere(&drives, |drives| drives.attach("lru-cache"));
    assert!(was.iter().all(|count| *count > 0), "{was:?}");
    let cached = drives.attach("lru-cache").unwrap();
    drives.write(&cached, 2);
    let was = cut_everywhere(&drives, |drives| detach(&drives.cached()?));
    assert!(was.iter().all(|count| *count > 0), "{was:?}");
}
