//! A host whose file system is full: writes are refused for that reason, what was flushed can be read all the while, and
//! writes go on when there is room again, without anybody starting the server anew.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use imbrex::drive::DrivePreset;
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::Failure;
use imbrex::recording::Recording;
use imbrex_live::backing::Backing;
use imbrex_live::engine::{Engine, EngineOptions, KEPT};
use imbrex_live::image::Image;
use imbrex_live::store::Store;
use imbrex_live::volume::{FormatOptions, Members, Volume, format};

const BLOCK: u64 = 4096;
/// Blocks that are flushed before the host is full.
const BLOCKS: u64 = 1024;
/// Blocks of a write.
const RUN: u64 = 32;
/// Bytes that are left for clients when the host is about to be full.
const LITTLE: i64 = 1 << 20;
/// More than anybody writes; what is discarded comes on top.
const AMPLE: i64 = i64::MAX / 2;
/// How long it may take until writes go on.
const SOON: Duration = Duration::from_secs(60);

/// The room of a host, in bytes.
type Room = Arc<AtomicI64>;

/// A file on a host that has room for so much more.
struct Bounded {
    file: File,
    pages: Mutex<BTreeSet<u64>>,
    room: Room,
}

impl Bounded {
    /// Takes room for the pages that have none yet.
    fn take(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut pages = self.pages.lock().unwrap();
        for page in offset / BLOCK..(offset + len).div_ceil(BLOCK) {
            if !pages.contains(&page) {
                if self.room.load(Ordering::Relaxed) < BLOCK as i64 {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                self.room.fetch_sub(BLOCK as i64, Ordering::Relaxed);
                pages.insert(page);
            }
        }
        Ok(())
    }
}

impl Backing for Bounded {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        Backing::read_at(&self.file, bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.take(offset, bytes.len() as u64)?;
        Backing::write_at(&self.file, bytes, offset)
    }

    fn discard(&self, offset: u64, len: u64) {
        self.file.discard(offset, len);
        let mut pages = self.pages.lock().unwrap();
        for page in offset.div_ceil(BLOCK)..(offset + len) / BLOCK {
            if pages.remove(&page) {
                self.room.fetch_add(BLOCK as i64, Ordering::Relaxed);
            }
        }
    }

    fn reserve(&self, offset: u64, len: u64) -> io::Result<()> {
        self.take(offset, len)
    }

    fn available(&self) -> Option<u64> {
        Some(self.room.load(Ordering::Relaxed).max(0) as u64)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Drives for a layer on a host with so much room.
fn members(recording: Recording, room: &Room) -> Members {
    let drives: &[(&str, u64)] = match recording {
        Recording::Conventional => &[("conventional-7200", 64)],
        Recording::Zoned | Recording::WholeZones => &[("small-zoned", 256)],
        Recording::Banded => &[("small-banded", 256)],
        Recording::Interlaced => &[("imr-tracklace", 256)],
        Recording::Hybrid => &[("small-hybrid", 256)],
        Recording::Flash => &[("ssd-pore", 256)],
        Recording::Cached => &[("ssd-pore", 256), ("small-banded", 256)],
    };
    let image = |(name, mib): &(&str, u64)| {
        let preset = DrivePreset::named(name).unwrap().with_capacity(mib << 20).unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(Image::<Bounded>::len(&preset).unwrap()).unwrap();
        let backing = Bounded { file, pages: Mutex::default(), room: Arc::clone(room) };
        Arc::new(Image::create(backing, &preset).unwrap()) as Arc<dyn Store>
    };
    drives.iter().map(image).collect()
}

fn formatted(info: &'static LayerInfo, room: &Room) -> Volume {
    let needs_some = info.buffered || info.recording == Recording::WholeZones;
    let buffer = needs_some.then(|| "4MiB".parse().unwrap());
    let rewrites = info.fields.iter().any(|field| field.key == "spare_zones");
    let config = if rewrites { "spare_zones = 2".parse().unwrap() } else { toml::Table::new() };
    let members = members(info.recording, room);
    format(members, &FormatOptions { layer: info, config: &config, buffer, journal_blocks: None, map_memory: None })
        .unwrap()
}

fn content(block: u64, version: u64) -> Vec<u8> {
    let word = (block << 16 | version).to_le_bytes();
    word.repeat(BLOCK as usize / word.len())
}

fn write(engine: &Engine, first: u64, version: u64) -> Result<(), Failure> {
    let bytes = (first..first + RUN).map(|block| content(block, version)).collect::<Vec<_>>().concat();
    engine.write_bytes(0, first * BLOCK, &bytes)
}

fn expect(engine: &Engine, name: &str, blocks: impl Iterator<Item = u64>, version: u64) {
    let mut bytes = vec![0; BLOCK as usize];
    for block in blocks {
        let read = engine.read_bytes(0, block * BLOCK, &mut bytes);
        assert_eq!(read, Ok(()), "{name}: block {block}");
        assert!(bytes == content(block, version), "{name}: block {block} is wrong");
    }
}

/// Writes to new places until that is refused, and the reason is that there is no room.
fn fill(engine: &Engine, name: &str) {
    for first in (BLOCKS..engine.capacity() - RUN).step_by(RUN as usize) {
        match write(engine, first, 2).and_then(|()| engine.flush(0)) {
            Ok(()) => {}
            Err(Failure::Full) => return,
            Err(other) => panic!("{name}: a full host is said to be: {other}"),
        }
    }
    panic!("{name}: the host was never full");
}

/// A volume whose first blocks are flushed when the host has room for `left` bytes more.
fn nearly_full(info: &'static LayerInfo, room: &Room, left: i64) -> Engine {
    let options = EngineOptions { idle_after: Duration::from_millis(20), ..EngineOptions::default() };
    let engine = Engine::start(formatted(info, room), options).unwrap();
    engine.wait_until_serving().unwrap();
    for first in (0..BLOCKS).step_by(RUN as usize) {
        write(&engine, first, 1).unwrap();
    }
    engine.flush(0).unwrap();
    room.store(left, Ordering::Relaxed);
    engine
}

/// Has the host become full, so that `left` bytes can still be written. `reads` says whether reads go on then.
fn survives(info: &'static LayerInfo, left: i64, reads: bool) {
    let (name, room) = (info.name, Room::new(AtomicI64::new(AMPLE)));
    let engine = nearly_full(info, &room, left);
    fill(&engine, name);
    for _ in 0..3 {
        assert_eq!(write(&engine, BLOCKS, 3), Err(Failure::Full), "{name}");
        if reads {
            expect(&engine, name, 0..BLOCKS, 1);
        }
    }
    room.store(AMPLE, Ordering::Relaxed);
    let since = Instant::now();
    let all = || {
        (0..BLOCKS * 2)
            .step_by(RUN as usize)
            .try_for_each(|first| write(&engine, first, 4))
            .and_then(|()| engine.flush(0))
    };
    while let Err(failure) = all() {
        assert!(since.elapsed() < SOON, "{name}: writes do not come back: {failure}");
        std::thread::sleep(Duration::from_millis(20));
    }
    expect(&engine, name, 0..BLOCKS * 2, 4);
    assert_eq!(engine.dead(), None, "{name}");
    engine.stop().unwrap();
}

#[test]
fn reads_go_on_and_writes_come_back_on_a_host_that_a_volume_fills() {
    for info in layers::ALL {
        survives(info, KEPT as i64 + LITTLE, true);
    }
}

/// Layers that write with redo images, and those above a flash translation layer, need room for a new life.
#[test]
fn writes_come_back_on_a_host_that_others_fill() {
    for info in layers::ALL {
        survives(info, LITTLE, !matches!(info.recording, Recording::Interlaced | Recording::Cached));
    }
}

#[test]
fn what_waits_for_room_does_not_keep_a_server_from_ending() {
    for name in ["seagate", "lru-cache"] {
        let room = Room::new(AtomicI64::new(AMPLE));
        let engine = Arc::new(nearly_full(layers::find(name).unwrap(), &room, LITTLE));
        fill(&engine, name);
        let (reader, stopped) = (Arc::clone(&engine), std::sync::mpsc::channel());
        let read = std::thread::spawn(move || reader.read_bytes(0, 0, &mut [0; BLOCK as usize]));
        std::thread::sleep(Duration::from_millis(200));
        engine.wait_no_more();
        let _ = read.join().unwrap();
        std::thread::spawn(move || stopped.0.send(engine.stop()));
        assert!(stopped.1.recv_timeout(SOON).is_ok(), "{name} does not end");
    }
}
