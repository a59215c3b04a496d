//! A runner that performs every plan at once and makes the quanta of a growth when it is told to, so that no count
//! depends on time.

use imbrex::block::{Extent, Lba};
use imbrex::layer::{Freed, Pressure, Step, TranslationLayer};
use imbrex::layers;
use imbrex::layers::hybrid::zone_alloy::counters;
use imbrex::media::{Hybrid, Media};
use imbrex::plan::{Event, Op, Place, Plan, Why};
use imbrex::space::Space;

use super::model::Seen;

pub struct ByHand {
    layer: Box<dyn TranslationLayer>,
    media: Hybrid,
    plan: Plan,
    seen: Seen,
}

impl ByHand {
    pub fn new(media: Hybrid, slots: u32, config: &toml::Table) -> Self {
        let info = layers::find("zone-alloy").expect("a layer");
        let layer = info.build(&Space::of(&media, slots), config).expect("it can be built");
        let mut run = Self { layer, media, plan: Plan::new(), seen: Seen::default() };
        run.layer.recovered(&run.media.unit_report(), &mut run.plan).expect("it begins");
        run.perform();
        run
    }

    pub fn capacity(&self) -> u64 {
        self.layer.capacity()
    }

    pub fn seen(&self) -> Seen {
        Seen { capacity: self.capacity(), ..self.seen.clone() }
    }

    pub fn write(&mut self, first: u64, blocks: u32) {
        let mut rest = Extent::new(Lba(first), blocks);
        while !rest.is_empty() {
            let taken = self.layer.write(rest.into(), &mut self.plan);
            self.perform();
            rest = rest.skip(taken);
            if taken == 0 {
                self.make_room(rest);
            }
        }
        self.layer.check().expect("the invariants hold");
    }

    fn make_room(&mut self, blocked: Extent<Lba>) {
        loop {
            let step = self.layer.clean(Pressure::Blocked(blocked), &[], &mut self.plan);
            self.perform();
            match step {
                Step::Done => return,
                Step::More | Step::Hold => {}
                Step::Wait | Step::Nothing => panic!("{step:?} while a write of {blocked:?} is blocked"),
            }
        }
    }

    pub fn read(&mut self, first: u64, blocks: u32) {
        self.layer.read(Extent::new(Lba(first), blocks), &mut self.plan);
        self.perform();
    }

    pub fn trim(&mut self, first: u64, blocks: u32) {
        let all = self.layer.trim(Extent::new(Lba(first), blocks), &mut self.plan);
        assert_eq!(all, blocks);
        self.perform();
    }

    pub fn grow(&mut self, blocks: u64) -> bool {
        let growing = self.layer.growing().unwrap();
        let is_possible = growing.grow(blocks, &mut self.plan).is_ok();
        self.perform();
        is_possible
    }

    pub fn is_growing(&self) -> bool {
        self.layer.standing().growth.is_some()
    }

    /// One step of the growth under way, and one before it that only sends the head back.
    pub fn grow_on(&mut self) {
        for _ in 0..2 {
            let step = self.layer.clean(Pressure::Idle { ns: 0 }, &[], &mut self.plan);
            assert!(matches!(step, Step::More | Step::Hold), "{step:?}");
            let only_sends_back = self.plan.ops().iter().any(sends_head_back);
            self.perform();
            self.layer.check().expect("the invariants hold");
            if !only_sends_back {
                return;
            }
        }
        panic!("the head was sent back twice");
    }

    fn perform(&mut self) {
        let plan = std::mem::take(&mut self.plan);
        for op in plan.ops() {
            match *op {
                Op::Move { from, to, blocks, why, .. } => self.copy(from, to, blocks, why),
                Op::Reset(unit) => {
                    self.media.reset(unit).expect("the drive allows it");
                    self.layer.freed(self.media.extent_of(unit), Freed::GivenUp);
                }
                Op::Free(space) => self.layer.freed(space, Freed::GivenUp),
                Op::Count(event, times) => self.count(event, u64::from(times)),
                Op::Record { .. } => {}
            }
        }
    }

    fn copy(&mut self, from: Place, to: Place, blocks: u32, why: Why) {
        let number = u64::from(blocks);
        if let Place::At(at) = from
            && !at.is_ram()
        {
            self.media.read(Extent::new(at, blocks)).expect("the drive allows it");
            // Where the head is is nothing that is counted.
            self.seen.read[why as usize] += if why == Why::Migrate { 0 } else { number };
        }
        if let Place::At(at) = to
            && !at.is_ram()
        {
            self.media.write(Extent::new(at, blocks)).expect("the drive allows it");
            self.seen.written[why as usize] += number;
        }
        self.seen.counts.padding = self.seen.written[Why::Pad as usize];
        self.seen.counts.requeued = self.seen.written[Why::Migrate as usize];
    }

    fn count(&mut self, event: Event, times: u64) {
        let counts = &mut self.seen.counts;
        *match event {
            Event::WriteHit => &mut counts.hits,
            Event::Direct => &mut counts.direct,
            Event::Rmw => &mut counts.rmw,
            Event::RmwFree => &mut counts.rmw_free,
            Event::Evicted => &mut counts.evicted,
            Event::ReadHit => &mut self.seen.read_hits,
            counters::ZONE_SWAP => &mut self.seen.swaps,
            Event::Converted => &mut self.seen.converted,
            other => panic!("{other:?} is counted"),
        } += times;
    }
}

/// Whether an operation reads a block for no other reason than to have the head where it lies.
fn sends_head_back(op: &Op) -> bool {
    matches!(op, Op::Move { from: Place::At(from), blocks: 1, why: Why::Migrate, .. } if !from.is_ram())
}
