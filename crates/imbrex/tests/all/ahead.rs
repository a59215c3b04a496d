//! A layer that says how much room it has is cleaned before a write finds none: then no write waits.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layer::Outlook;
use imbrex::layers::find;
use imbrex::media::{Hybrid, Media, Shingled, ZonedSpec};
use imbrex::perform::journal::Coding;
use imbrex::perform::rules::Rules;
use imbrex::perform::{Io, IoKind, IoResult, Offered, Performer, Request, Setup};
use imbrex::plan::{Unit, Why};
use imbrex::random::Random;
use imbrex::recording::Recording;
use imbrex::space::Space;
use imbrex::zones::{RealmTimes, Realms};

const BLOCK: usize = 512;
const ZONE: u32 = 64;
const JOURNAL: u32 = 1024;
/// Blocks of a write.
const WRITE: u32 = 4;
/// Writes that each layer is given.
const WRITES: usize = 3000;

/// A drive of 20 sequential zones or so, and twice as much conventional space.
fn media(recording: Recording) -> Box<dyn Media> {
    if recording == Recording::Hybrid {
        let times = RealmTimes { positioning_ns: 0, block_ns: 0, turn_ns: 0, activation_ns: 0 };
        let (first, count, zone_blocks) = (Unit::disk(40), 7, ZONE);
        return Box::new(Hybrid::new(Realms {
            first,
            count,
            conventional_zones: 2,
            sequential_zones: 3,
            zone_blocks,
            times,
        }));
    }
    let spec = ZonedSpec { zones: 60, zone_blocks: ZONE, conventional_zones: 40, max_open: 0, max_active: 0 };
    Box::new(Shingled::new(Pba::DISK, spec))
}

/// A runner on a drive in memory that carries out at once what it is told to.
struct Disk {
    performer: Performer,
    media: Box<dyn Media>,
    content: BTreeMap<Pba, Bytes>,
    requests: u64,
}

impl Disk {
    fn new(layer: &str, config: &str) -> Self {
        let layer = find(layer).unwrap();
        let media = media(layer.recording);
        let all = Space::of(media.as_ref(), 1024);
        let (conventional, conventional_blocks) =
            (Pba::disk(u64::from(JOURNAL)), all.conventional_blocks - u64::from(JOURNAL));
        let space = Space { conventional, conventional_blocks, ..all };
        // Or all of it is planned together, and the write with it.
        let config: toml::Table = format!("step_blocks = 8\n{config}").parse().unwrap();
        let setup = Setup {
            make: Box::new(move || layer.build(&space, &config).unwrap()),
            media: media.copy(),
            journal: vec![Extent::new(Pba::disk(0), JOURNAL)],
            map_home: None,
            block_bytes: BLOCK,
            coding: Coding::Compact,
            identity: 1,
            gather: 40,
            entry_blocks: 4,
            rules: Rules::all(),
            audit: true,
        };
        let performer = Performer::format(setup).unwrap();
        let mut disk = Self { performer, media, content: BTreeMap::new(), requests: 0 };
        disk.work();
        assert!(disk.performer.is_serving());
        disk
    }

    /// Carries out what there is, until there is nothing.
    fn work(&mut self) {
        while let Some(Io { id, kind, .. }) = self.performer.poll_io() {
            let result = match kind {
                IoKind::Read(at) => {
                    let of = |block| self.content.get(&block).map_or(&[0; BLOCK][..], |content| content);
                    IoResult::Data(at.iter().map(of).collect::<Vec<_>>().concat().into())
                }
                IoKind::Write(at, data) => {
                    self.media.write(at).unwrap();
                    self.content.extend(at.iter().zip(data.chunks(BLOCK).map(Bytes::copy_from_slice)));
                    IoResult::Done
                }
                IoKind::Reset(unit) => self.media.reset(unit).map(|()| IoResult::Done).unwrap(),
                IoKind::Flush => IoResult::Done,
                IoKind::Report => IoResult::Report(self.media.unit_report()),
            };
            self.performer.complete(id, result);
        }
    }

    /// Submits a write; whether it finds room.
    fn write(&mut self, lba: u64) -> bool {
        self.requests += 1;
        let content = Bytes::from(vec![self.requests as u8; BLOCK * WRITE as usize]);
        self.performer.submit(0, self.requests, Request::Write(Extent::new(Lba(lba), WRITE), content));
        let finds_room = self.performer.progress().blocked == 0;
        self.work();
        assert!(self.performer.poll_reply().unwrap().result.is_ok());
        finds_room
    }

    /// Cleans until there is so much room.
    fn make_room(&mut self, room: u64) {
        let mut idle = 0;
        while self.outlook().room < room && idle < 100 {
            idle = if self.performer.clean_ahead(room) == Offered::Taken { 0 } else { idle + 1 };
            self.work();
        }
    }

    fn outlook(&self) -> Outlook {
        self.performer.layer().unwrap().standing().outlook.unwrap()
    }

    /// Writes at random all over the disk, with so much room made ahead: how many writes find none, and how many blocks
    /// are written.
    fn overwrite(&mut self, room: u64) -> (usize, u64) {
        let mut random = Random::new(7);
        let places = self.performer.layer().unwrap().capacity() / u64::from(WRITE);
        let mut without = 0;
        for _ in 0..WRITES {
            self.make_room(room);
            // Space that was given up comes back with a commit.
            self.requests += 1;
            self.performer.submit(0, self.requests, Request::Flush);
            self.work();
            self.performer.poll_reply().unwrap();
            without += usize::from(!self.write(random.below(places) * u64::from(WRITE)));
        }
        self.performer.check().unwrap();
        let cleans = |why| matches!(why, Why::Migrate | Why::Destage | Why::Collect);
        let tally = self.performer.progress().tally;
        (without, tally.moved().filter(|(why, _)| cleans(*why)).map(|(_, blocks)| blocks).sum())
    }
}

/// Layers, and a configuration that leaves them something to gain.
const LAYERS: [(&str, &str); 9] = [
    ("log-greedy", "spare_fraction = 0.3"),
    ("log-cost-benefit", "spare_fraction = 0.3"),
    ("log-fifo", "spare_fraction = 0.3\ncompact_bands = 1"),
    ("fifo-log", ""),
    ("loop-back", ""),
    ("block-lru", ""),
    ("zone-ages", ""),
    ("amphisbaena", "chunk_blocks = 4"),
    ("zone-alloy", "converted = 1.0\nbound_ms = 0.0"),
];

#[test]
fn no_write_waits_where_room_is_made_ahead_and_some_do_where_it_is_not() {
    for (layer, config) in LAYERS {
        let (waited, least) = Disk::new(layer, config).overwrite(0);
        assert!(waited > 10, "{layer}: {waited} writes found no room");
        let (waited, moved) = Disk::new(layer, config).overwrite(u64::from(2 * WRITE));
        assert_eq!(waited, 0, "{layer}: writes that found no room");
        assert!(moved * 2 < least * 3, "{layer}: {moved} blocks are moved ahead, and {least} are when writes wait");
    }
}

/// Which stream the next block goes to is not known, so a stream that got few may need a band when there is none.
#[test]
fn hardly_a_write_waits_where_the_host_writes_to_several_bands() {
    let config = "spare_fraction = 0.5";
    let (waited, _) = Disk::new("sepbit", config).overwrite(0);
    let (waited_ahead, _) = Disk::new("sepbit", config).overwrite(u64::from(2 * WRITE));
    assert!(waited > 10 && waited_ahead * 10 < waited, "{waited_ahead} writes found no room, and {waited} not ahead");
}

#[test]
fn what_is_under_way_is_less_work_with_each_step_and_the_room_comes_at_its_end() {
    for (layer, config) in LAYERS {
        let mut disk = Disk::new(layer, config);
        disk.overwrite(0);
        let room = disk.outlook().room + 1;
        let mut works = Vec::new();
        while disk.outlook().room < room && works.len() < 1000 {
            disk.performer.clean_ahead(room);
            disk.work();
            works.push(disk.outlook().work);
        }
        assert!(disk.outlook().room >= room, "{layer}");
        assert!(works.windows(2).any(|pair| pair[1] < pair[0]) || works.len() < 3, "{layer}: {works:?}");
    }
}

/// Pacing shares out the time that the rest takes: where that grew and shrank, writes would be held back by turns.
#[test]
fn what_a_log_has_to_move_until_room_comes_is_never_more_than_before() {
    let mut disk = Disk::new("log-greedy", "spare_fraction = 0.3");
    disk.overwrite(0);
    let room = disk.outlook().room + 1;
    let mut works = Vec::new();
    loop {
        disk.performer.clean_ahead(room);
        disk.work();
        if disk.outlook().room >= room {
            break;
        }
        works.push(disk.outlook().work);
    }
    assert!(works.len() > 3 && works.is_sorted_by(|a, b| a >= b), "{works:?}");
}

/// The slots of a circular log come back when all zones have gone that hold its tail up, and not with each of them. Who
/// spread writes over the next zone alone would find no room long before it comes.
#[test]
fn the_room_of_a_log_comes_with_the_work_that_was_said_and_not_before() {
    for layer in ["fifo-log", "loop-back"] {
        let mut disk = Disk::new(layer, "");
        disk.overwrite(0);
        let all = 1 << 20;
        disk.performer.clean_ahead(all);
        disk.work();
        let (said, moved) = (disk.outlook(), disk.performer.steps().moved);
        while disk.outlook().room < said.room + said.gain {
            assert_eq!(disk.performer.clean_ahead(all), Offered::Taken, "{layer}: {said:?}");
            disk.work();
        }
        let took = disk.performer.steps().moved - moved;
        // Newer blocks are read beside the zone's own, and the step that makes room is whole.
        assert!(took <= said.work * 3 / 2 + u64::from(ZONE), "{layer}: {said:?}, and it took {took}");
        assert!(took * 3 >= said.work, "{layer}: {said:?}, and it took {took} only");
    }
}
