//! What a request waits for while a step of cleaning is under way: for the operations of that step that it conflicts
//! with, and for no other step.

use std::collections::BTreeMap;

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layers::find;
use imbrex::media::{Media, Shingled, ZonedSpec};
use imbrex::perform::journal::Coding;
use imbrex::perform::rules::Rules;
use imbrex::perform::{Io, IoKind, IoResult, Offered, Performer, Reply, Request, Setup};
use imbrex::space::Space;

const BLOCK: usize = 512;
const ZONE: u32 = 512;
const JOURNAL: u32 = 1024;
const BUFFER: u32 = 64;
/// Blocks of a step by the configuration.
const STEP: u64 = 16;
const SECOND_NS: u64 = 1_000_000_000;
/// Old content of a step's blocks, newer content, and the writes.
const PASSES: u64 = 3;

/// A runner on a drive that carries out what it is told to, one operation at a time.
struct Bench {
    performer: Performer,
    media: Box<dyn Media>,
    content: BTreeMap<Pba, Bytes>,
    /// Operations that were fetched and are not carried out, oldest first.
    held: Vec<Io>,
    replies: Vec<Reply>,
    requests: u64,
}

impl Bench {
    fn new() -> Self {
        let spec = ZonedSpec { zones: 12, zone_blocks: ZONE, conventional_zones: 4, max_open: 0, max_active: 0 };
        let media = Shingled::new(Pba::DISK, spec);
        let all = Space::of(&media, BUFFER);
        let space = Space {
            conventional: Pba::disk(u64::from(JOURNAL)),
            conventional_blocks: all.conventional_blocks - u64::from(JOURNAL),
            ..all
        };
        let config: toml::Table = format!("idle_free = 1.0\nstep_blocks = {STEP}").parse().unwrap();
        let setup = Setup {
            make: Box::new(move || find("fifo-log").unwrap().build(&space, &config).unwrap()),
            media: Box::new(media.clone()),
            journal: vec![Extent::new(Pba::disk(0), JOURNAL)],
            map_home: None,
            block_bytes: BLOCK,
            identity: 1,
            gather: 40,
            entry_blocks: 4,
            coding: Coding::Compact,
            rules: Rules::all(),
            audit: true,
        };
        let performer = Performer::format(setup).unwrap();
        let mut bench = Self {
            performer,
            media: Box::new(media),
            content: BTreeMap::new(),
            held: Vec::new(),
            replies: Vec::new(),
            requests: 0,
        };
        bench.finish();
        assert!(bench.performer.is_serving());
        bench
    }

    fn fetch(&mut self) {
        self.held.extend(std::iter::from_fn(|| self.performer.poll_io()));
        self.replies.extend(std::iter::from_fn(|| self.performer.poll_reply()));
    }

    /// Carries out one of the operations that are held.
    fn carry_out(&mut self, index: usize) {
        let Io { id, kind, .. } = self.held.remove(index);
        let result = match kind {
            IoKind::Read(at) => {
                let blocks = at.iter().map(|block| self.content.get(&block).map_or(&[0; BLOCK][..], |content| content));
                IoResult::Data(blocks.collect::<Vec<_>>().concat().into())
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
        self.fetch();
    }

    /// Carries out everything.
    fn finish(&mut self) {
        self.fetch();
        while !self.held.is_empty() {
            self.carry_out(0);
        }
    }

    fn submit(&mut self, request: Request) -> u64 {
        self.requests += 1;
        self.performer.submit(0, self.requests, request);
        self.fetch();
        self.requests
    }

    fn is_answered(&self, id: u64) -> bool {
        self.replies.iter().any(|reply| reply.id == id && reply.result.is_ok())
    }

    /// Carries out what is for a request, and nothing else; whether it is answered then.
    fn serve(&mut self, id: u64) -> bool {
        while let Some(index) = self.held.iter().position(|io| io.request == Some(id)) {
            self.carry_out(index);
        }
        self.is_answered(id)
    }

    fn write(&mut self, zone: u32, offset: u32, blocks: u32) -> u64 {
        let at = Extent::new(Lba(u64::from(zone * ZONE + offset)), blocks);
        self.submit(Request::Write(at, Bytes::from(vec![1; blocks as usize * BLOCK])))
    }

    fn read(&mut self, zone: u32, offset: u32) -> u64 {
        self.submit(Request::Read(Extent::new(Lba(u64::from(zone * ZONE + offset)), 1)))
    }

    /// Two full zones, of which one has blocks in the buffer, and a third that is empty.
    fn fill(&mut self) {
        for zone in 0..2 {
            self.write(zone, 0, ZONE);
        }
        self.finish();
        for offset in [0, 3, 100, 400] {
            self.write(0, offset, 1);
        }
        self.finish();
    }

    fn begun(&self) -> u64 {
        self.performer.steps().begun
    }

    fn is_under_way(&self) -> bool {
        self.performer.steps().under_way > 0
    }
}

#[test]
fn what_concerns_no_step_does_not_wait_for_it() {
    let mut bench = Bench::new();
    bench.fill();
    assert_eq!((bench.performer.idle(SECOND_NS), bench.is_under_way()), (Offered::Taken, true));
    bench.fetch();
    let held = bench.held.len();
    let requests = [bench.read(1, 7), bench.read(0, 7), bench.read(0, 100), bench.write(1, 9, 1), bench.write(2, 0, 4)];
    for id in requests {
        assert!(bench.serve(id), "request {id}");
    }
    assert_eq!((bench.begun(), bench.is_under_way()), (1, true));
    let of_step = bench.held.iter().filter(|io| matches!(io.kind, IoKind::Read(_))).count();
    assert_eq!(of_step, held, "nothing of the step was carried out");
}

#[test]
fn who_conflicts_with_a_step_waits_for_that_one_only() {
    let mut bench = Bench::new();
    bench.fill();
    assert_eq!(bench.performer.idle(SECOND_NS), Offered::Taken);
    bench.fetch();
    // The step reads the slot of that block.
    let id = bench.write(0, 3, 1);
    assert!(!bench.serve(id), "its slot is being read");
    while bench.is_under_way() {
        assert_eq!(bench.performer.idle(SECOND_NS), Offered::Later, "one step at a time");
        let of_step = bench.held.iter().position(|io| io.request.is_none()).unwrap();
        bench.carry_out(of_step);
    }
    assert_eq!(bench.begun(), 1, "no other step has begun");
    // Nor does one that begins now come before it.
    assert_eq!(bench.performer.idle(SECOND_NS), Offered::Taken);
    bench.fetch();
    assert_eq!(bench.begun(), 2);
    assert!(bench.serve(id));
}

#[test]
fn a_write_that_finds_no_room_waits_for_steps_between_which_others_are_served() {
    let mut bench = Bench::new();
    bench.fill();
    for block in 0..BUFFER - 4 {
        bench.write(0, 101 + block, 1);
    }
    bench.finish();
    let blocked = bench.write(1, 5, 1);
    let mut served = 0;
    while !bench.is_answered(blocked) {
        let begun = bench.begun();
        let read = bench.read(1, 7);
        assert!(bench.serve(read), "after {begun} steps");
        served += 1;
        bench.carry_out(0);
    }
    assert_eq!(bench.begun(), u64::from(ZONE) / STEP, "the whole zone, a step at a time");
    assert!(served > bench.begun());
}

#[test]
fn a_bound_makes_steps_smaller_and_outlives_the_layer() {
    let mut bench = Bench::new();
    assert_eq!(bench.performer.facts().step_blocks, Some(STEP as u32));
    bench.fill();
    let step = |bench: &mut Bench| {
        let before = bench.performer.steps();
        assert_eq!(bench.performer.idle(SECOND_NS), Offered::Taken);
        let after = bench.performer.steps();
        assert_eq!(after.begun, before.begun + 1);
        bench.finish();
        after.moved - before.moved
    };
    assert!((2 * STEP..=PASSES * STEP).contains(&step(&mut bench)));
    bench.performer.bound_step(5);
    assert!((10..=PASSES * 5).contains(&step(&mut bench)), "in the middle of a job");
    bench.performer.bound_step(0);
    assert!((2..=PASSES).contains(&step(&mut bench)), "at least a block");
    bench.performer.bound_step(u32::MAX);
    assert!((2 * STEP..=PASSES * STEP).contains(&step(&mut bench)), "at most what is configured");

    bench.performer.bound_step(5);
    bench.submit(Request::Flush);
    bench.finish();
    bench.performer.device_restarted();
    bench.finish();
    assert_eq!((bench.performer.counts().rebuilds, bench.performer.is_serving()), (1, true));
    assert!((10..=PASSES * 5).contains(&step(&mut bench)));
}
