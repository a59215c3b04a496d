//! A checkpoint that one commit has to hold, because lives that ended early have filled the journal: it is written piece
//! by piece, and counts whole or not at all.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layer::TranslationLayer;
use imbrex::layers::find;
use imbrex::media::{Media, Shingled, ZonedSpec};
use imbrex::perform::journal::{Coding, Header, decode_block};
use imbrex::perform::rules::Rules;
use imbrex::perform::{Io, IoKind, IoResult, JournalNeed, Performer, Request, Setup};
use imbrex::space::Space;

const BLOCK: usize = 512;
const SPEC: ZonedSpec = ZonedSpec { zones: 60, zone_blocks: 64, conventional_zones: 20, max_open: 0, max_active: 0 };
/// Blocks that the host gets, of which every one is mapped by itself.
const CAPACITY: u64 = 1280;
/// What a life writes.
const NEW: u8 = 250;

fn layer() -> Box<dyn TranslationLayer> {
    let all = Space::of(&Shingled::new(Pba::DISK, SPEC), 0);
    find("log-greedy").unwrap().build(&all, &"spare_fraction = 0.5".parse().unwrap()).unwrap()
}

fn setup() -> Setup {
    let need = JournalNeed::of(&layer().facts().journal, BLOCK, 1, Coding::Compact).blocks() as u32;
    Setup {
        make: Box::new(layer),
        media: Box::new(Shingled::new(Pba::DISK, SPEC)),
        journal: vec![Extent::new(Pba::disk(0), need), Extent::new(Pba::disk(u64::from(need)), need)],
        map_home: None,
        block_bytes: BLOCK,
        identity: 1,
        gather: 1,
        entry_blocks: 1,
        coding: Coding::Compact,
        rules: Rules::all(),
        audit: true,
    }
}

/// What outlives the power.
#[derive(Clone)]
struct Drive {
    media: Shingled,
    kept: BTreeMap<Pba, Bytes>,
}

/// A drive and a runner on it.
struct Bench {
    performer: Performer,
    drive: Drive,
    requests: u64,
    /// Writes until the power fails.
    left: usize,
    /// Of the longest commit: the most journal blocks that were asked for together, and how many it has.
    longest: (usize, usize),
    /// The same of the last one.
    commit: (usize, usize),
}

impl Bench {
    fn new() -> Self {
        let drive = Drive { media: Shingled::new(Pba::DISK, SPEC), kept: BTreeMap::new() };
        let performer = Performer::format(setup()).unwrap();
        let (requests, left) = (0, usize::MAX);
        let mut bench = Self { performer, drive, requests, left, longest: (0, 0), commit: (0, 0) };
        bench.settle();
        bench
    }

    /// A life in which a block is written and made durable, unless the power fails after so many writes. Whether there
    /// were as many.
    fn live(&mut self, at: u64, writes: usize) -> bool {
        (self.left, self.longest) = (writes, (0, 0));
        self.performer = Performer::open(setup()).unwrap();
        self.settle();
        self.write(at, NEW);
        self.flush();
        self.performer.is_serving() && self.left > 0
    }

    /// Carries out everything, unless the power fails.
    fn settle(&mut self) {
        let mut held: Vec<Io> = Vec::new();
        loop {
            held.extend(std::iter::from_fn(|| self.performer.poll_io()));
            if held.is_empty() || self.left == 0 {
                return;
            }
            let journal = |io: &&Io| matches!(&io.kind, IoKind::Write(_, data) if decode_block(data, None).is_some());
            let together = held.iter().filter(journal).count() / 2;
            let Io { id, kind, .. } = held.remove(0);
            if let IoKind::Write(_, data) = &kind {
                self.left -= 1;
                decode_block(data, None).into_iter().for_each(|block| self.count(together, &block.header));
            }
            let result = self.carry_out(kind);
            self.performer.complete(id, result);
        }
    }

    fn count(&mut self, together: usize, header: &Header) {
        let before = (header.start - header.durable) as usize;
        let most = if before == 0 { 0 } else { self.commit.0 };
        self.commit = (most.max(together), before + 1);
        if self.commit.1 > self.longest.1 {
            self.longest = self.commit;
        }
    }

    fn carry_out(&mut self, kind: IoKind) -> IoResult {
        match kind {
            IoKind::Read(at) => {
                let blocks =
                    at.iter().map(|block| self.drive.kept.get(&block).map_or(&[0; BLOCK][..], |content| content));
                IoResult::Data(blocks.collect::<Vec<_>>().concat().into())
            }
            IoKind::Write(at, data) => {
                self.drive.media.write(at).unwrap();
                self.drive.kept.extend(at.iter().zip(data.chunks(BLOCK).map(Bytes::copy_from_slice)));
                IoResult::Done
            }
            IoKind::Reset(unit) => self.drive.media.reset(unit).map(|()| IoResult::Done).unwrap(),
            IoKind::Flush => IoResult::Done,
            IoKind::Report => IoResult::Report(self.drive.media.unit_report()),
        }
    }

    fn submit(&mut self, request: Request) {
        self.requests += 1;
        self.performer.submit(0, self.requests, request);
    }

    fn write(&mut self, at: u64, byte: u8) {
        self.submit(Request::Write(Extent::new(Lba(at), 1), vec![byte; BLOCK].into()));
        self.settle();
    }

    fn flush(&mut self) {
        self.submit(Request::Flush);
        self.settle();
    }

    fn holds(&mut self, content: &BTreeMap<u64, u8>) {
        while self.performer.poll_reply().is_some() {}
        for (at, byte) in content {
            self.submit(Request::Read(Extent::new(Lba(*at), 1)));
            self.settle();
            let read = self.performer.poll_reply().unwrap().result.unwrap();
            assert!(read.iter().all(|read| read == byte), "block {at}");
        }
        self.performer.check().unwrap();
    }
}

#[test]
fn a_checkpoint_in_pieces_counts_whole_or_not_at_all() {
    let mut bench = Bench::new();
    let mut content = BTreeMap::new();
    for at in (0..CAPACITY).map(|i| i * 577 % CAPACITY) {
        content.insert(at, (at % u64::from(NEW)) as u8);
        bench.write(at, (at % u64::from(NEW)) as u8);
    }
    bench.flush();
    let mut in_pieces = 0;
    for life in 0..60 {
        let at = life * 31 % CAPACITY;
        let before = bench.drive.clone();
        assert!(bench.live(at, usize::MAX));
        let (together, blocks) = bench.longest;
        content.insert(at, NEW);
        bench.holds(&content);
        if blocks < 5 || in_pieces == 2 {
            continue;
        }
        assert!(2 * together < blocks, "{together} of {blocks} blocks of a commit are in memory together");
        in_pieces += 1;
        let after = bench.drive.clone();
        for writes in 0.. {
            bench.drive = before.clone();
            if bench.live(at, writes) {
                break;
            }
            assert!(bench.live(at, usize::MAX), "{:?}", bench.performer.dead());
            bench.holds(&content);
        }
        bench.drive = after;
    }
    assert_eq!(in_pieces, 2);
}
