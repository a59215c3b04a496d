//! A live engine over two devices that keep everything they are given and fail when they are told to.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layer::{TranslationLayer, UnitReport};
use imbrex::media::Joined;
use imbrex::perform::journal::Coding;
use imbrex::perform::rules::Rules;
use imbrex::perform::{Failure, IoKind, IoResult, Performer, Reply, Request, Setup};
use imbrex::space::{Home, Space};

use super::sides::Sides;

pub const BLOCK: usize = 1024;
pub const JOURNAL: u32 = 200;
pub const BLOCKS: u32 = 4;
pub const CLIENT: u32 = 0;
/// The device on which no journal lies: what is read there is data.
pub const SECOND: u8 = Pba::DISK + 1;

/// A layer over two devices that keep everything they are given.
pub struct Served {
    pub performer: Performer,
    units: UnitReport,
    kept: BTreeMap<Pba, Bytes>,
    requests: u64,
}

/// What a runner of a layer on so many blocks of each device is made of. The journal lies before those of the first.
pub fn setup_of(make: impl Fn(&Space) -> Box<dyn TranslationLayer> + Send + 'static, blocks: u32) -> Setup {
    let space = Space {
        conventional: Pba::disk(u64::from(JOURNAL)),
        conventional_blocks: u64::from(blocks),
        zones: None,
        bands: None,
        tracks: None,
        realms: None,
        home: Some(Home { start: Pba::new(SECOND, 0), ..Home::behind(blocks.into()) }),
        buffer_blocks: blocks,
        spares_ram: false,
        map_cache: None,
    };
    Setup {
        media: Box::new(Joined::new([u64::from(JOURNAL + blocks), u64::from(blocks)])),
        make: Box::new(move || make(&space)),
        journal: vec![Extent::new(Pba::disk(0), JOURNAL)],
        map_home: None,
        block_bytes: BLOCK,
        identity: 1,
        gather: 8,
        entry_blocks: 1,
        coding: Coding::Compact,
        rules: Rules::all(),
        audit: false,
    }
}

impl Served {
    /// `Sides`.
    pub fn new() -> Self {
        Self::of(setup_of(|space| Box::new(Sides::new(space)), BLOCKS))
    }

    pub fn of(setup: Setup) -> Self {
        let units = setup.media.unit_report();
        let performer = Performer::format(setup).unwrap();
        let mut served = Self { performer, units, kept: BTreeMap::new(), requests: 0 };
        served.settle(|_, _| false);
        served
    }

    /// Carries out what the runner asks for, but what `fails`.
    pub fn settle(&mut self, mut fails: impl FnMut(&mut Performer, &IoKind) -> bool) {
        while let Some(io) = self.performer.poll_io() {
            let failed = fails(&mut self.performer, &io.kind);
            let result = if failed { IoResult::Failed } else { self.carry_out(io.kind) };
            self.performer.complete(io.id, result);
        }
    }

    fn carry_out(&mut self, kind: IoKind) -> IoResult {
        match kind {
            IoKind::Read(at) => {
                let blank = Bytes::from(vec![0; BLOCK]);
                let content = at.iter().flat_map(|block| self.kept.get(&block).unwrap_or(&blank).to_vec());
                IoResult::Data(content.collect())
            }
            IoKind::Write(at, data) => {
                self.kept.extend((0..).zip(at.iter()).map(|(i, at)| (at, data.slice(i * BLOCK..(i + 1) * BLOCK))));
                IoResult::Done
            }
            IoKind::Report => IoResult::Report(self.units.clone()),
            IoKind::Reset(_) | IoKind::Flush => IoResult::Done,
        }
    }

    /// Has a place hold a byte over and over.
    pub fn put(&mut self, place: Pba, byte: u8) {
        self.kept.insert(place, vec![byte; BLOCK].into());
    }

    pub fn ask(&mut self, request: Request) -> Result<Bytes, Failure> {
        self.ask_as(CLIENT, request)
    }

    pub fn ask_as(&mut self, client: u32, request: Request) -> Result<Bytes, Failure> {
        self.requests += 1;
        self.performer.submit(client, self.requests, request);
        self.settle(|_, _| false);
        let Reply { id, result } = self.performer.poll_reply().unwrap();
        assert_eq!(id, self.requests);
        result
    }

    /// Brings every block to the second device.
    pub fn fill(&mut self) {
        let content: Vec<u8> = (1..=BLOCKS as u8).flat_map(|byte| [byte; BLOCK]).collect();
        let all = Extent::new(Lba(0), BLOCKS);
        assert_eq!(self.ask(Request::Write(all, content.into())), Ok(Bytes::new()));
        assert_eq!(self.ask(Request::Flush), Ok(Bytes::new()));
    }

    pub fn read(&mut self, block: u32) -> Result<Bytes, Failure> {
        self.ask(Request::Read(Extent::new(Lba(block.into()), 1)))
    }
}
