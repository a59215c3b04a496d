//! What a performing runner makes of a device below that has ended a life of its own: errors that were not about the blocks,
//! and content that may be gone.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::media::Joined;
use imbrex::perform::rules::Rules;
use imbrex::perform::{Failure, IoKind, IoResult, Performer, Reply, Request, Setup};
use imbrex::space::{Home, Space};

use crate::sides::Sides;

const BLOCK: usize = 1024;
const JOURNAL: u32 = 200;
const BLOCKS: u32 = 4;
const CLIENT: u32 = 0;
/// The device on which no journal lies: what is read there is data.
const SECOND: u8 = Pba::DISK + 1;

/// `Sides` over two devices that keep everything they are given.
struct Served {
    performer: Performer,
    kept: BTreeMap<Pba, Bytes>,
    requests: u64,
}

fn setup() -> Setup {
    let space = Space {
        conventional: Pba::disk(u64::from(JOURNAL)),
        conventional_blocks: u64::from(BLOCKS),
        zones: None,
        bands: None,
        tracks: None,
        home: Some(Home { start: Pba::new(SECOND, 0), blocks: u64::from(BLOCKS) }),
        buffer_blocks: BLOCKS,
    };
    Setup {
        media: Box::new(Joined::new([u64::from(JOURNAL + BLOCKS), u64::from(BLOCKS)])),
        make: Box::new(move || Box::new(Sides::new(&space))),
        journal: vec![Extent::new(Pba::disk(0), JOURNAL)],
        block_bytes: BLOCK,
        identity: 1,
        gather: 8,
        entry_blocks: 1,
        rules: Rules::all(),
        audit: false,
    }
}

impl Served {
    fn new() -> Self {
        let mut served = Self { performer: Performer::format(setup()).unwrap(), kept: BTreeMap::new(), requests: 0 };
        served.settle(|_, _| false);
        served
    }

    /// Carries out what the runner asks for, but what `fails`.
    fn settle(&mut self, mut fails: impl FnMut(&mut Performer, &IoKind) -> bool) {
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
            IoKind::Report => IoResult::Report(setup().media.unit_report()),
            IoKind::Reset(_) | IoKind::Flush => IoResult::Done,
        }
    }

    fn ask(&mut self, request: Request) -> Result<Bytes, Failure> {
        self.requests += 1;
        self.performer.submit(CLIENT, self.requests, request);
        self.settle(|_, _| false);
        let Reply { id, result } = self.performer.poll_reply().unwrap();
        assert_eq!(id, self.requests);
        result
    }

    /// Brings every block to the second device.
    fn fill(&mut self) {
        let content: Vec<u8> = (1..=BLOCKS as u8).flat_map(|byte| [byte; BLOCK]).collect();
        let all = Extent::new(Lba(0), BLOCKS);
        assert_eq!(self.ask(Request::Write(all, content.into())), Ok(Bytes::new()));
        assert_eq!(self.ask(Request::Flush), Ok(Bytes::new()));
    }

    fn read(&mut self, block: u32) -> Result<Bytes, Failure> {
        self.ask(Request::Read(Extent::new(Lba(block.into()), 1)))
    }
}

/// Has idle cleaning fail to read block 0 from the second device, and then the first probe of it, before which the device
/// says that it `restarts`, or does not. How often the block was probed.
fn probed_once_in_vain(served: &mut Served, restarts: bool) -> u32 {
    let suspect = Extent::new(Pba::new(SECOND, 0), 1);
    let mut probes = 0;
    served.performer.idle(1);
    served.settle(|performer, kind| match kind {
        IoKind::Read(at) if at.start == suspect.start && performer.counts().rebuilds == 0 => true,
        IoKind::Read(at) if *at == suspect => {
            probes += 1;
            if probes == 1 && restarts {
                performer.device_restarted();
            }
            probes == 1
        }
        _ => false,
    });
    assert_eq!(served.performer.counts().rebuilds, 1);
    assert!(served.performer.is_serving());
    probes
}

fn lost_blocks(served: &mut Served) -> Vec<u32> {
    let mut lost = Vec::new();
    for block in 0..BLOCKS {
        match served.read(block) {
            Ok(content) => assert_eq!(content, vec![block as u8 + 1; BLOCK]),
            Err(failure) => {
                assert_eq!(failure, Failure::Io);
                lost.push(block);
            }
        }
    }
    lost
}

#[test]
fn a_block_that_cannot_be_probed_is_lost() {
    let mut served = Served::new();
    served.fill();
    assert_eq!(probed_once_in_vain(&mut served, false), 1);
    assert_eq!(lost_blocks(&mut served), [0]);
}

#[test]
fn a_block_is_probed_again_when_its_device_has_restarted_meanwhile() {
    let mut served = Served::new();
    served.fill();
    assert_eq!(probed_once_in_vain(&mut served, true), 2);
    assert_eq!(lost_blocks(&mut served), [0_u32; 0]);
}

#[test]
fn after_a_restart_below_the_next_flush_fails() {
    let mut served = Served::new();
    served.fill();
    served.performer.device_restarted();
    assert_eq!(served.performer.counts().rebuilds, 1);
    served.settle(|_, _| false);
    assert!(served.performer.is_serving());
    assert_eq!(served.ask(Request::Flush), Err(Failure::Io));
    assert_eq!(served.ask(Request::Flush), Ok(Bytes::new()));
    assert_eq!(lost_blocks(&mut served), [0_u32; 0]);
}
