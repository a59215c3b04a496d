//! What a drive is to do is known to be for the request that it is for, through the layers between them.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layers::{self, LayerInfo};
use imbrex::media::{Joined, Media};
use imbrex::perform::{Io, IoKind, IoResult, Reply, Request, Setup, Stack, StackSetup, Waiting};

use super::served::{BLOCK, JOURNAL, setup_of};

/// Frames of the cache, and blocks of the disk behind it.
const BLOCKS: u32 = 24;

fn of(info: &'static LayerInfo, blocks: u32) -> Setup {
    setup_of(move |space| info.build(space, &toml::Table::new()).unwrap(), blocks)
}

/// A cache over two drives, each behind a layer that writes in place.
struct Cached {
    stack: Stack,
    kept: [BTreeMap<Pba, Bytes>; 2],
}

impl Cached {
    fn new() -> Self {
        let in_place = |blocks| {
            let mut setup = of(layers::find("conventional").unwrap(), blocks);
            setup.media = Box::new(Joined::new([u64::from(JOURNAL + blocks)]));
            StackSetup { top: setup, below: Vec::new() }
        };
        let top = of(layers::find("lru-cache").unwrap(), BLOCKS);
        let stack = Stack::format(StackSetup { top, below: vec![in_place(JOURNAL + BLOCKS), in_place(BLOCKS)] });
        let mut cached = Self { stack: stack.unwrap(), kept: Default::default() };
        while let Some((drive, io)) = cached.stack.poll_io() {
            cached.carry_out(drive, io);
        }
        assert!(cached.stack.is_serving());
        cached
    }

    fn carry_out(&mut self, drive: usize, Io { id, kind, .. }: Io) {
        let kept = &mut self.kept[drive];
        let blank = Bytes::from(vec![0; BLOCK]);
        let result = match kind {
            IoKind::Read(at) => {
                let content = at.iter().flat_map(|block| kept.get(&block).unwrap_or(&blank).to_vec());
                IoResult::Data(content.collect())
            }
            IoKind::Write(at, data) => {
                kept.extend((0..).zip(at.iter()).map(|(i, at)| (at, data.slice(i * BLOCK..(i + 1) * BLOCK))));
                IoResult::Done
            }
            IoKind::Report => IoResult::Report(Joined::new([u64::from(JOURNAL + BLOCKS)]).unit_report()),
            IoKind::Reset(_) | IoKind::Flush => IoResult::Done,
        };
        self.stack.complete(id, result);
    }

    /// Carries a request out by what is said to be for it, and nothing else. Its answer.
    fn alone(&mut self, id: u64, request: Request) -> Bytes {
        self.stack.submit(0, id, request);
        loop {
            if let Some(Reply { id: answered, result }) = self.stack.poll_reply() {
                assert_eq!(answered, id);
                return result.unwrap();
            }
            assert!(self.stack.waiting(16).iter().any(|waiting| waiting.request == Some(id)));
            assert!(self.stack.poll_io_for(&(id + 1..id + 2)).is_none());
            let (drive, io) = self.stack.poll_io_for(&(id..id + 1)).unwrap();
            assert_eq!(io.request, Some(id));
            self.carry_out(drive, io);
        }
    }
}

#[test]
fn what_a_drive_does_is_for_a_request() {
    let mut cached = Cached::new();
    let at = Extent::new(Lba(5), 2);
    let content = Bytes::from(vec![7; 2 * BLOCK]);
    cached.alone(7, Request::Write(at, content.clone()));
    assert_eq!(cached.alone(9, Request::Read(at)), content);
    assert_eq!(cached.alone(11, Request::Read(Extent::new(Lba(9), 1))), vec![0; BLOCK], "from home");
}

#[test]
fn what_is_done_for_several_is_for_none() {
    let mut cached = Cached::new();
    cached.alone(7, Request::Write(Extent::new(Lba(5), 1), vec![7; BLOCK].into()));
    cached.stack.submit(0, 8, Request::Flush);
    assert_eq!(cached.stack.waiting(16), [Waiting { request: None, is_read: false }]);
    assert_eq!(cached.stack.poll_io().unwrap().1.request, None);
}
