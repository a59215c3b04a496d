//! How many commits the live engine makes for writes of several clients, and how often it writes what they bring:
//! what a served volume waits for most.

use std::collections::VecDeque;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layers::{self, live_defaults};
use imbrex::perform::journal::Coding;
use imbrex::perform::rules::Rules;
use imbrex::perform::{GATHER, IoKind, IoResult, Performer, Request, Setup};
use imbrex::space::Space;

const WRITES: u64 = 1000;
/// Requests under way at a time.
const DEPTH: usize = 32;

/// So many MiB of a drive, of which the journal and the buffer take so many conventional blocks each.
struct Disk {
    preset: &'static str,
    mib: u64,
    journal: u32,
    buffer: u32,
}

/// A layer on a disk that keeps nothing but its zones' state: reads give zeros.
struct Served {
    performer: Performer,
    block_bytes: usize,
    flushes: u64,
    /// Blocks that the disk was given, and the operations that they came with.
    written: u64,
    writes: u64,
}

impl Served {
    /// On such a disk, with nothing written yet.
    fn new(layer: &str, config: &toml::Table, disk: &Disk) -> Self {
        let Disk { preset, mib, journal, buffer } = *disk;
        let layer = layers::find(layer).unwrap();
        let preset = DrivePreset::named(preset).unwrap().with_capacity(mib << 20).unwrap();
        let media = preset.media(preset.recording()).unwrap();
        let all = Space::of(media.as_ref(), buffer);
        let left = all.conventional_blocks - u64::from(journal);
        let conventional = all.conventional.plus(journal.into());
        let space = Space { conventional, conventional_blocks: left, ..all };
        let config = config.clone();
        let block_bytes = preset.block_bytes as usize;
        let setup = Setup {
            make: Box::new(move || layer.build(&space, &config).unwrap()),
            media,
            journal: vec![Extent::new(Pba::disk(0), journal)],
            map_home: None,
            block_bytes,
            coding: Coding::Compact,
            identity: 1,
            gather: GATHER,
            entry_blocks: 64,
            rules: Rules::all(),
            audit: false,
        };
        let units = setup.media.unit_report();
        let performer = Performer::format(setup).unwrap();
        let mut served = Self { performer, block_bytes, flushes: 0, written: 0, writes: 0 };
        while let Some(io) = served.performer.poll_io() {
            let result = match io.kind {
                IoKind::Report => IoResult::Report(units.clone()),
                kind => served.carry_out(&kind),
            };
            served.performer.complete(io.id, result);
        }
        assert!(served.performer.is_serving());
        served
    }

    fn carry_out(&mut self, kind: &IoKind) -> IoResult {
        match kind {
            IoKind::Read(at) => IoResult::Data(vec![0; at.blocks as usize * self.block_bytes].into()),
            IoKind::Flush => {
                self.flushes += 1;
                IoResult::Done
            }
            IoKind::Write(at, _) => {
                self.written += u64::from(at.blocks);
                self.writes += 1;
                IoResult::Done
            }
            IoKind::Reset(_) | IoKind::Report => IoResult::Done,
        }
    }

    /// Has runs of so many blocks written from these on, several at a time, each operation taking as long as any other.
    /// The flushes of the drive meanwhile, and the blocks that it was given.
    fn write(&mut self, starts: impl Iterator<Item = u64>, blocks: u32) -> (u64, u64) {
        let content = Bytes::from(vec![7; blocks as usize * self.block_bytes]);
        let mut starts = (0..).zip(starts).peekable();
        let (mut asked, mut under_way) = (0, VecDeque::new());
        (self.flushes, self.written, self.writes) = (0, 0, 0);
        loop {
            let come: Vec<(u64, u64)> = starts.by_ref().take(DEPTH - asked).collect();
            if let Some((first, _)) = come.first() {
                asked += come.len();
                let write = |(_, start): &(u64, u64)| Request::Write(Extent::new(Lba(*start), blocks), content.clone());
                self.performer.submit_all(0, *first, come.iter().map(write));
            }
            under_way.extend(std::iter::from_fn(|| self.performer.poll_io()));
            while let Some(reply) = self.performer.poll_reply() {
                reply.result.unwrap();
                asked -= 1;
            }
            if asked < DEPTH && starts.peek().is_some() {
                continue;
            }
            let Some(io) = under_way.pop_front() else { break };
            let result = self.carry_out(&io.kind);
            self.performer.complete(io.id, result);
        }
        assert_eq!(asked, 0, "requests that nobody answers");
        (self.flushes, self.written)
    }
}

/// The journal that a bottom update of a whole track needs.
const INTERLACED: Disk = Disk { preset: "imrsim", mib: 16 << 10, journal: 16_000, buffer: 0 };
const SMALL_ZONED: Disk = Disk { preset: "small-zoned", mib: 256, journal: 3000, buffer: 4000 };

/// Blocks of the bottom tracks of a drive, in no order.
fn scattered() -> impl Iterator<Item = u64> {
    (0..WRITES).map(|write| write.wrapping_mul(2_654_435_761) % (1 << 18))
}

#[test]
fn bottom_updates_that_have_nothing_in_common_share_commits() {
    for layer in ["seagate", "seagate-two-phase"] {
        let flushes = |updates: &str| {
            let config = format!("updates = \"{updates}\"").parse().unwrap();
            Served::new(layer, &config, &INTERLACED).write(scattered(), 1).0
        };
        assert!(flushes("one") >= WRITES, "{layer}: one flush at least for each update");
        let many = flushes("many");
        assert!(many <= WRITES / 6, "{layer}: {many} flushes for {WRITES} writes, {DEPTH} at a time");
    }
}

#[test]
fn updates_of_the_same_block_come_one_after_the_other() {
    let config = "updates = \"many\"".parse().unwrap();
    let (flushes, _) = Served::new("seagate", &config, &INTERLACED).write((0..50).map(|_| 5), 1);
    assert!(flushes >= 50, "{flushes} flushes: each reads what the one before wrote back");
}

#[test]
fn what_a_log_writes_of_many_clients_goes_to_the_drive_together() {
    // Where a write pointer rules, and where it does not.
    for layer in ["log-greedy", "fifo-log"] {
        let mut served = Served::new(layer, &toml::Table::new(), &SMALL_ZONED);
        let (_, written) = served.write(scattered().map(|block| block % 16_384), 1);
        let writes = served.writes;
        assert!(written >= WRITES, "{layer}: {written} blocks");
        assert!(writes <= WRITES / 8, "{layer}: {writes} operations of the drive for {WRITES} writes");
    }
}

/// Runs of 1 MiB, one behind the other.
fn in_sequence(runs: u64) -> impl Iterator<Item = u64> {
    (0..runs).map(|run| run * 256)
}

#[test]
fn a_new_volume_that_is_written_in_sequence_writes_little_more_than_that() {
    // One of each family that updates or buffers, on as much of its drive as is written.
    let drives = [
        (INTERLACED, vec!["seagate", "seagate-two-phase", "track-flipping", "track-caching", "track-mapping"]),
        (SMALL_ZONED, vec!["fifo-log", "block-lru", "loop-back", "amphisbaena", "zone-ages"]),
    ];
    for (drive, names) in drives {
        for name in names {
            let layer = layers::find(name).unwrap();
            let mut served = Served::new(name, &live_defaults::config(layer, &toml::Table::new()), &drive);
            let (_, written) = served.write(in_sequence(100), 256);
            assert!(written <= 25_600 * 11 / 10, "{name} wrote {written} blocks for 25600");
        }
    }
}

#[test]
fn as_the_papers_have_it_the_same_is_written_more_than_once() {
    for (name, drive) in [("seagate", INTERLACED), ("amphisbaena", SMALL_ZONED)] {
        let (_, written) = Served::new(name, &toml::Table::new(), &drive).write(in_sequence(100), 256);
        assert!(written >= 25_600 * 3 / 2, "{name} wrote {written} blocks for 25600");
    }
}
