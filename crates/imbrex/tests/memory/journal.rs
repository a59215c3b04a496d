//! What a runner has of its journal in memory stays within what it says, however long the journal is and whatever it
//! holds.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::layers::find;
use imbrex::media::{Media, Shingled, ZonedSpec};
use imbrex::perform::journal::{Coding, Entry, Header, encode, entry_blocks};
use imbrex::perform::rules::Rules;
use imbrex::perform::{GATHER, IoKind, IoResult, Performer, Request, Setup};
use imbrex::random::Random;
use imbrex::space::Space;

use super::{BYTES, MOST};

const BLOCK: usize = 4096;
const SPEC: ZonedSpec = ZonedSpec { zones: 400, zone_blocks: 4096, conventional_zones: 20, max_open: 0, max_active: 0 };
/// Blocks of a copy of the journal.
const RING: u32 = 40_000;
/// Blocks of an entry, and how many of them the journal holds: 125 MiB in each copy.
const ENTRY: u32 = 64;
const ENTRIES: u64 = 500;
/// Images of each of them.
const IMAGES: usize = 62;
/// What the runner may say, and whatever else it has beside its journal.
const FEW: i64 = 32 << 20;
const ITS_OWN: i64 = 1 << 20;

fn setup(layer: &'static str) -> Setup {
    let mut space = Space::of(&Shingled::new(Pba::DISK, SPEC), 0);
    let journals = 2 * u64::from(RING);
    space.conventional = space.conventional.plus(journals);
    space.conventional_blocks -= journals;
    space.buffer_blocks = 1000;
    space.spares_ram = true;
    let configuration = toml::Table::new();
    Setup {
        make: Box::new(move || find(layer).unwrap().build(&space, &configuration).unwrap()),
        media: Box::new(Shingled::new(Pba::DISK, SPEC)),
        journal: vec![Extent::new(Pba::disk(0), RING), Extent::new(Pba::disk(RING.into()), RING)],
        map_home: None,
        block_bytes: BLOCK,
        identity: 1,
        gather: GATHER,
        entry_blocks: ENTRY as usize,
        coding: Coding::Compact,
        rules: Rules::all(),
        audit: false,
    }
}

/// An entry of images, each of which is done when the next one has begun.
fn entry(number: u64) -> Vec<Bytes> {
    let start = number * u64::from(ENTRY);
    let header =
        Header { identity: 1, start, epoch: 1, durable: start, redone: start, closes: true, ..Header::default() };
    let images = (0..IMAGES).map(|i| (Pba::disk(2 * u64::from(RING) + i as u64), Bytes::from(vec![i as u8; BLOCK])));
    encode(&Entry { records: Vec::new(), images: images.collect() }, header, BLOCK)
}

/// A drive that keeps single blocks alone, which the first commits of epochs are.
#[derive(Default)]
struct Drive {
    kept: BTreeMap<Pba, Bytes>,
    /// Whether its journal holds entries, each of which is made when it is read.
    is_full: bool,
    entry: Option<(u64, Vec<Bytes>)>,
    written: u64,
}

impl Drive {
    fn read(&mut self, at: Pba) -> Bytes {
        let number = at.block() % u64::from(RING);
        let (of, index) = (number / u64::from(ENTRY), number % u64::from(ENTRY));
        if !self.is_full || of >= ENTRIES {
            return self.kept.get(&at).map_or(Bytes::from_static(&[0; BLOCK]), Bytes::clone);
        }
        if self.entry.as_ref().is_none_or(|(last, _)| *last != of) {
            self.entry = Some((of, entry(of)));
        }
        self.entry.as_ref().unwrap().1[index as usize].clone()
    }

    /// Carries out all that is asked for.
    fn settle(&mut self, performer: &mut Performer) {
        while let Some(io) = performer.poll_io() {
            let result = match io.kind {
                IoKind::Read(at) => {
                    let blocks: Vec<Bytes> = at.iter().map(|block| self.read(block)).collect();
                    IoResult::Data(blocks.concat().into())
                }
                IoKind::Write(at, content) => {
                    self.written += u64::from(at.blocks);
                    if at.blocks == 1 && at.start.block() < 2 * u64::from(RING) {
                        self.kept.insert(at.start, content);
                    }
                    IoResult::Done
                }
                IoKind::Reset(_) | IoKind::Flush => IoResult::Done,
                IoKind::Report => IoResult::Report(Shingled::new(Pba::DISK, SPEC).unit_report()),
            };
            performer.complete(io.id, result);
        }
        while let Some(reply) = performer.poll_reply() {
            reply.result.unwrap();
        }
    }
}

/// How much more memory `act` takes for a time.
fn taken(act: impl FnOnce()) -> i64 {
    let before = BYTES.get();
    MOST.set(before);
    act();
    MOST.get() - before
}

#[test]
fn recovery_keeps_none_of_what_a_journal_holds() {
    assert_eq!(entry_blocks(0, IMAGES, BLOCK), ENTRY as usize);
    let stated = setup("fifo-log").memory().journal.most as i64;
    let mut drive = Drive { is_full: true, ..Drive::default() };
    let mut performer = None;
    let most = taken(|| {
        let performer = performer.insert(Performer::open(setup("fifo-log")).unwrap());
        drive.settle(performer);
        assert!(performer.is_serving(), "{:?}", performer.dead());
    });
    let counts = performer.unwrap().counts();
    assert_eq!((counts.entries_read, counts.replayed), (ENTRIES, IMAGES as u64));
    println!("{most} bytes, {stated} stated");
    assert!(most <= stated + ITS_OWN, "recovery takes {most} bytes and says {stated}");
    assert!(stated < FEW, "{stated} bytes are stated");
}

#[test]
fn a_checkpoint_is_made_piece_by_piece() {
    const WRITES: u64 = 400_000;
    let mut performer = Performer::format(setup("log-greedy")).unwrap();
    let mut drive = Drive::default();
    drive.settle(&mut performer);
    let (mut random, blocks) = (Random::new(1), performer.layer().unwrap().capacity());
    let content = Bytes::from(vec![1; BLOCK]);
    for id in 0..WRITES {
        performer.submit(0, id, Request::Write(Extent::new(Lba(random.below(blocks)), 1), content.clone()));
        drive.settle(&mut performer);
    }
    performer.submit(0, WRITES, Request::Flush);
    drive.settle(&mut performer);
    let (stated, before) = (setup("log-greedy").memory().journal.most as i64, performer.counts().checkpoints);
    let written = drive.written;
    let most = taken(|| {
        performer.checkpoint();
        performer.submit(0, WRITES + 1, Request::Flush);
        drive.settle(&mut performer);
    });
    let written = drive.written - written;
    println!("{most} bytes, {stated} stated, {written} blocks");
    assert_eq!(performer.counts().checkpoints, before + 1);
    assert!(most <= stated, "a checkpoint takes {most} bytes and says {stated}");
    assert!(stated < FEW, "{stated} bytes are stated");
}

#[test]
fn after_many_starts_a_checkpoint_leaves_one_run() {
    let (mut drive, mut used) = (Drive::default(), Vec::new());
    drive.settle(&mut Performer::format(setup("fifo-log")).unwrap());
    let checkpoints = |life: u64| {
        let mut performer = Performer::open(setup("fifo-log")).unwrap();
        drive.settle(&mut performer);
        assert!(performer.is_serving(), "{life}: {:?}", performer.dead());
        used.push(performer.progress().journal_used);
        performer.counts().checkpoints
    };
    let lives: Vec<u64> = (0..1030).map(checkpoints).collect();
    assert_eq!(lives.iter().position(|checkpoints| *checkpoints > 0), Some(1024));
    assert_eq!(lives.iter().sum::<u64>(), 1);
    assert!(used[1023] == 1025 && used[1029] < 10, "{used:?}");
}
