//! A log on a drive of 18 TB with a part of its map in memory takes what it says, whatever is mapped, and starts again
//! by what its journal holds.
//!
//! The drive keeps no content of the host's but which write each block is of, and what is not the host's in files.
//! `IMBREX_MAPPED=67108864 cargo test --release -p imbrex --test memory map` writes more blocks than the test does
//! without.

mod store;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::layer::{Condition, MapCache, UnitReport, UnitState};
use imbrex::layers::find;
use imbrex::media::{Shingled, ZonedSpec};
use imbrex::perform::journal::Coding;
use imbrex::perform::rules::Rules;
use imbrex::perform::{GATHER, Io, IoKind, IoResult, JournalLength, MapHome, Performer, Reply, Request, Setup};
use imbrex::random::Random;
use imbrex::space::Space;

use super::{BYTES, MOST};
use store::Store;

const BLOCK: usize = 4096;
/// As `exos-x18z` has them.
const SPEC: ZonedSpec =
    ZonedSpec { zones: 67_056, zone_blocks: 65_536, conventional_zones: 671, max_open: 0, max_active: 0 };
/// Of so many blocks that are written one has a page in memory at most, and never more than 512 MiB of pages are.
const OF_BLOCKS: u64 = 8;
const MOST_PAGES: u64 = (512 << 20) / (BLOCK as u64 + 256);
/// Blocks that are written, unless a number is given.
const BLOCKS: u64 = 20_000;
/// Requests under way.
const DEPTH: u64 = 32;
/// What the test itself takes, and the vectors of requests.
const ITS_OWN: i64 = 4 << 20;

/// Blocks of the journal, and of the map's pages.
struct Sizes {
    journal: u32,
    map: u64,
    pages: u32,
}

fn space(sizes: &Sizes) -> Space {
    let mut space = Space::of(&Shingled::new(Pba::DISK, SPEC), 0);
    let taken = u64::from(sizes.journal) + sizes.map;
    space.conventional = space.conventional.plus(taken);
    space.conventional_blocks -= taken;
    space.spares_ram = true;
    space.map_cache = Some(MapCache { page_bytes: BLOCK as u32, pages: sizes.pages });
    space
}

fn sizes(layer: &str, pages: u32) -> Sizes {
    let make = |space: &Space| find(layer).unwrap().build(space, &toml::Table::new()).unwrap();
    let map = MapHome::blocks(make(&space(&Sizes { journal: 0, map: 0, pages })).cached_map().unwrap().count());
    let length = JournalLength::AtLeast(4096).settle(BLOCK as u32, GATHER, |journal| {
        Ok::<_, imbrex::perform::JournalTooShort>(make(&space(&Sizes { journal, map, pages })))
    });
    Sizes { journal: length.unwrap().0, map, pages }
}

fn setup(layer: &'static str, sizes: &Sizes) -> Setup {
    let space = space(sizes);
    Setup {
        make: Box::new(move || find(layer).unwrap().build(&space, &toml::Table::new()).unwrap()),
        media: Box::new(Shingled::new(Pba::DISK, SPEC)),
        journal: vec![Extent::new(Pba::disk(0), sizes.journal)],
        map_home: Some(MapHome {
            at: Extent::new(Pba::disk(sizes.journal.into()), sizes.map as u32),
            pages: sizes.pages,
        }),
        block_bytes: BLOCK,
        identity: 1,
        gather: GATHER,
        entry_blocks: 64,
        coding: Coding::Compact,
        rules: Rules::all(),
        audit: false,
    }
}

/// The drive.
struct Drive {
    /// Blocks below this number are not the host's.
    metadata: u64,
    kept: Store,
    /// Eight bytes of each of the host's blocks.
    tags: File,
    pointers: Vec<u32>,
    reads: u64,
    writes: u64,
}

impl Drive {
    fn new(sizes: &Sizes) -> Self {
        let metadata = u64::from(sizes.journal) + sizes.map;
        let pointers = vec![0; SPEC.zones as usize];
        Self { metadata, kept: Store::new(BLOCK), tags: tempfile::tempfile().unwrap(), pointers, reads: 0, writes: 0 }
    }

    fn report(&self) -> UnitReport {
        let zone = |(zone, pointer): (u32, &u32)| UnitState {
            condition: if zone < SPEC.conventional_zones { Condition::Conventional } else { Condition::Sequential },
            pointer: *pointer,
        };
        UnitReport { devices: vec![Vec::new(), (0..).zip(&self.pointers).map(zone).collect()] }
    }

    fn carry_out(&mut self, kind: IoKind) -> IoResult {
        match kind {
            IoKind::Read(at) => {
                let mut content = vec![0; at.blocks as usize * BLOCK];
                if at.start.block() < self.metadata {
                    self.reads += u64::from(at.blocks);
                    self.kept.read(at.start.block(), &mut content);
                } else {
                    for (block, bytes) in at.iter().zip(content.chunks_mut(BLOCK)) {
                        store::read(&self.tags, &mut bytes[..8], block.block() * 8);
                    }
                }
                IoResult::Data(content.into())
            }
            IoKind::Write(at, content) => {
                if at.start.block() < self.metadata {
                    self.writes += u64::from(at.blocks);
                    self.kept.write(at.start.block(), &content);
                } else {
                    let (zone, offset) = (at.start.block() / 65_536, (at.start.block() % 65_536) as u32);
                    assert_eq!(self.pointers[zone as usize], offset);
                    self.pointers[zone as usize] = offset + at.blocks;
                    let tags: Vec<u8> = content.chunks(BLOCK).flat_map(|block| &block[..8]).copied().collect();
                    self.tags.write_all_at(&tags, at.start.block() * 8).unwrap();
                }
                IoResult::Done
            }
            IoKind::Reset(unit) => {
                self.pointers[unit.index as usize] = 0;
                IoResult::Done
            }
            IoKind::Flush => IoResult::Done,
            IoKind::Report => IoResult::Report(self.report()),
        }
    }

    fn perform(&mut self, performer: &mut Performer, io: Io) {
        let result = self.carry_out(io.kind);
        performer.complete(io.id, result);
    }

    /// Carries out all that is asked for; the answers.
    fn settle(&mut self, performer: &mut Performer) -> Vec<Reply> {
        while let Some(io) = performer.poll_io() {
            self.perform(performer, io);
        }
        std::iter::from_fn(|| performer.poll_reply()).collect()
    }
}

fn tag(lba: u64, turn: u64) -> u64 {
    lba << 24 | (turn & 0xff_ffff)
}

fn write(performer: &mut Performer, drive: &mut Drive, blocks: &[u64]) {
    for (turn, lba) in (0..).zip(blocks) {
        let mut content = vec![0; BLOCK];
        content[..8].copy_from_slice(&tag(*lba, turn).to_le_bytes());
        performer.submit(0, turn, Request::Write(Extent::new(Lba(*lba), 1), content.into()));
        if (turn + 1).is_multiple_of(DEPTH) {
            drive.settle(performer).into_iter().for_each(|reply| drop(reply.result.unwrap()));
        }
    }
    performer.submit(0, u64::MAX, Request::Flush);
    drive.settle(performer).into_iter().for_each(|reply| drop(reply.result.unwrap()));
}

fn check(performer: &mut Performer, drive: &mut Drive, blocks: &[u64]) {
    let step = (blocks.len() / 2000).max(1);
    for (turn, lba) in (0..).zip(blocks).step_by(step) {
        performer.submit(0, turn, Request::Read(Extent::new(Lba(*lba), 1)));
        let content: Bytes = drive.settle(performer).remove(0).result.unwrap();
        assert_eq!(content[..8], tag(*lba, turn).to_le_bytes(), "block {lba}");
    }
}

#[test]
fn a_log_of_18_tb_takes_what_it_says() {
    let count = std::env::var("IMBREX_MAPPED").map_or(BLOCKS, |count| count.parse().unwrap());
    for layer in ["log-greedy", "sepbit"] {
        let sizes = sizes(layer, (count / OF_BLOCKS).min(MOST_PAGES) as u32);
        let mut drive = Drive::new(&sizes);
        let memory = setup(layer, &sizes).memory();
        let stated = (memory.maps.most + memory.content.most + memory.journal.most) as i64;
        let before = BYTES.get();
        let mut performer = Performer::format(setup(layer, &sizes)).unwrap();
        drive.settle(&mut performer);
        let (mut random, capacity) = (Random::new(1), performer.layer().unwrap().capacity());
        let mut blocks: Vec<u64> = (0..count).map(|_| random.below(capacity)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let mixed = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        order.sort_by_key(|at| mixed(*at));
        let blocks: Vec<u64> = order.into_iter().map(|at| blocks[at]).collect();
        let own = (blocks.capacity() * 8) as i64 + ITS_OWN;
        MOST.set(BYTES.get());
        let began = Instant::now();
        write(&mut performer, &mut drive, &blocks);
        let (writing, reads, writes) = (began.elapsed(), drive.reads, drive.writes);
        let most = MOST.get() - before - own;
        // As after `kill -9`: the next start has what the drive was told.
        drop(performer);
        (drive.reads, drive.writes) = (0, 0);
        MOST.set(BYTES.get());
        let began = Instant::now();
        let mut performer = Performer::open(setup(layer, &sizes)).unwrap();
        while !performer.is_serving() {
            let io = performer.poll_io().unwrap_or_else(|| panic!("{layer}: {:?}", performer.dead()));
            drive.perform(&mut performer, io);
        }
        let (starting, starts) = (began.elapsed(), drive.reads);
        drive.settle(&mut performer);
        let at_start = MOST.get() - before - own;
        check(&mut performer, &mut drive, &blocks);
        let per_block = |metadata: u64| metadata as f64 / blocks.len() as f64;
        println!(
            "{layer}: {} blocks in {writing:?}, {} pages in memory; {most} bytes, {at_start} at a start, {stated} \
             stated; {:.2} blocks of metadata read and {:.2} written for each; started in {starting:?}, {starts} read",
            blocks.len(),
            sizes.pages,
            per_block(reads),
            per_block(writes)
        );
        assert!(most <= stated && at_start <= stated, "{layer}: {most} bytes, {at_start} at a start, {stated} stated");
        // The journal, twice, and some pages; not the map.
        assert!(starts < 2 * u64::from(sizes.journal) + 4096, "{layer}: a start reads {starts} blocks");
    }
}
