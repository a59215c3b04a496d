use super::INFO;
use super::counters;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::{CannotGrow, Condition, Freed, Pressure, Step, TranslationLayer};
use imbrex_core::media::{Hybrid, Media};
use imbrex_core::plan::{Event, Op, Place, Plan, Record, Unit};
use imbrex_core::space::{RealmTimes, Realms, Space};

/// Blocks of a zone, and of the buffer, which has the first two zones.
const ZONE: u32 = 8;
const SLOTS: u32 = 16;

/// `count` realms of two conventional zones or three sequential ones.
fn realms(count: u32) -> Realms {
    let times = RealmTimes { positioning_ns: 0, block_ns: 1, turn_ns: 1, activation_ns: 0 };
    let (conventional_zones, sequential_zones) = (2, 3);
    Realms { first: Unit::disk(2), count, conventional_zones, sequential_zones, zone_blocks: ZONE, times }
}

/// A layer on a disk that performs its plans, and what was planned.
struct Run {
    layer: Box<dyn TranslationLayer>,
    media: Hybrid,
    config: String,
    ops: Vec<Op>,
    /// Resets and frees whose time has not come; none are kept back unless that is asked for.
    later: Vec<Op>,
    keeps_back: bool,
}

impl Run {
    fn new(media: Hybrid, config: &str) -> Self {
        let layer = INFO.build(&Space::of(&media, SLOTS), &config.parse().unwrap()).unwrap();
        let (config, ops, later) = (config.to_owned(), Vec::new(), Vec::new());
        let mut run = Self { layer, media, config, ops, later, keeps_back: false };
        run.begin();
        run
    }

    fn begin(&mut self) {
        let mut plan = Plan::new();
        self.layer.recovered(&self.media.unit_report(), &mut plan).unwrap();
        self.perform(&plan);
    }

    /// Another epoch, after a power cut in which what was kept back was lost.
    fn again(self) -> Self {
        let layer = INFO.build(&Space::of(&self.media, SLOTS), &self.config.parse().unwrap()).unwrap();
        let mut run = Self { layer, later: Vec::new(), keeps_back: false, ..self };
        for record in run.records() {
            run.layer.apply(&record).unwrap();
        }
        run.begin();
        run.layer.check().unwrap();
        run
    }

    fn perform(&mut self, plan: &Plan) {
        for op in plan.ops() {
            match *op {
                Op::Move { from, to, blocks, .. } => {
                    on_disk(from).iter().for_each(|at| self.media.read(Extent::new(*at, blocks)).unwrap());
                    on_disk(to).iter().for_each(|at| self.media.write(Extent::new(*at, blocks)).unwrap());
                }
                Op::Reset(_) | Op::Free(_) if self.keeps_back => self.later.push(*op),
                Op::Reset(_) | Op::Free(_) => self.take_effect(op),
                Op::Record { .. } | Op::Count(..) => {}
            }
        }
        self.ops.extend(plan.ops());
    }

    fn take_effect(&mut self, op: &Op) {
        match *op {
            Op::Reset(unit) => {
                self.media.reset(unit).unwrap();
                self.layer.freed(self.media.extent_of(unit), Freed::GivenUp);
            }
            Op::Free(space) => self.layer.freed(space, Freed::GivenUp),
            _ => unreachable!("only resets and frees take effect later"),
        }
    }

    /// What was kept back takes effect.
    fn release(&mut self) {
        let later = std::mem::take(&mut self.later);
        later.iter().for_each(|op| self.take_effect(op));
    }

    fn step(&mut self, why: Pressure) -> Step {
        let mut plan = Plan::new();
        let step = self.layer.clean(why, &[], &mut plan);
        self.perform(&plan);
        step
    }

    /// A step of a growth.
    fn quantum(&mut self) -> Step {
        self.step(Pressure::Idle { ns: 0 })
    }

    fn grow(&mut self, zones: u32) -> Result<(), CannotGrow> {
        let mut plan = Plan::new();
        let done = self.layer.growing().unwrap().grow(u64::from(zones * ZONE), &mut plan);
        self.perform(&plan);
        done
    }

    fn grow_to_the_end(&mut self) {
        while self.layer.standing().growth.is_some() {
            assert_eq!(self.quantum(), Step::Hold);
            self.layer.check().unwrap();
        }
    }

    /// Plans a write of one block of a native zone after another; true when it was taken.
    fn try_write(&mut self, at: Extent<Lba>) -> bool {
        let mut plan = Plan::new();
        let taken = self.layer.write(at.into(), &mut plan);
        self.perform(&plan);
        taken == at.blocks
    }

    /// Writes all of it, with as much cleaning as that takes.
    fn write(&mut self, at: Extent<Lba>) {
        for lba in at.iter() {
            let one = Extent::new(lba, 1);
            while !self.try_write(one) {
                while !matches!(self.step(Pressure::Blocked(one)), Step::Done) {}
            }
        }
    }

    fn zones(&self) -> u32 {
        (self.layer.capacity() / u64::from(ZONE)) as u32
    }

    fn records(&self) -> Vec<Record> {
        let record = |op: &Op| if let Op::Record { record, .. } = op { Some(*record) } else { None };
        self.ops.iter().filter_map(record).collect()
    }

    fn count(&self, event: Event) -> u32 {
        let times =
            |op: &Op| if let Op::Count(counted, times) = op { (*counted == event).then_some(*times) } else { None };
        self.ops.iter().filter_map(times).sum()
    }

    /// What became of zones since `from`: where they went, and what was given up or emptied. A slot is no zone.
    fn moves_of_zones(&self, from: usize) -> Vec<Op> {
        let is_about_zones = |op: &&Op| match op {
            Op::Record { record, .. } => matches!(record, Record::Unit { .. }),
            Op::Free(space) => space.blocks == ZONE,
            Op::Reset(_) => true,
            _ => false,
        };
        self.ops[from..].iter().filter(is_about_zones).copied().collect()
    }
}

fn on_disk(place: Place) -> Option<Pba> {
    match place {
        Place::At(at) => (!at.is_ram()).then_some(at),
        _ => None,
    }
}

/// The blocks of a native zone.
fn native(zone: u32) -> Extent<Lba> {
    Extent::new(Lba(u64::from(zone * ZONE)), ZONE)
}

fn lies_in(native: u32, unit: Unit) -> Op {
    Op::Record { record: Record::Unit { unit, is: native }, redo: false }
}

fn blocking(count: u32, config: &str) -> Run {
    Run::new(Hybrid::new(realms(count)), &format!("bound_ms = 0.0\n{config}"))
}

#[test]
fn half_as_many_zones_are_gained_as_are_converted() {
    for (gain, converted) in [(1, 2), (4, 8), (100, 200)] {
        let mut run = blocking(110, "");
        assert_eq!(run.zones(), 218, "all conventional zones but those of the realm that is kept");
        let before = run.ops.len();
        run.grow(gain).unwrap();
        assert_eq!(run.layer.standing().growth.map(|growth| growth.zones_left), Some(converted));
        run.grow_to_the_end();
        assert_eq!((run.zones(), run.count(Event::Converted)), (218 + gain, converted));
        let activated = run.moves_of_zones(before).iter().filter(|op| matches!(op, Op::Reset(_))).count() as u32;
        assert_eq!(activated * 2, converted, "two zones a realm");
    }
}

/// Where a realm gains two zones at once, the second is there for the next growth.
#[test]
fn a_realm_that_gains_two_zones_is_counted_once() {
    let wide = Realms { conventional_zones: 3, sequential_zones: 5, ..realms(6) };
    let mut run = Run::new(Hybrid::new(wide), "bound_ms = 0.0");
    let before = run.zones();
    run.grow(3).unwrap();
    assert_eq!(run.layer.standing().growth.unwrap().zones_left, 6, "two realms");
    run.grow_to_the_end();
    assert_eq!((run.zones() - before, run.count(Event::Converted)), (3, 6));
    run.grow(1).unwrap();
    assert_eq!((run.zones() - before, run.layer.standing().growth), (4, None), "it was free");
}

#[test]
fn conventional_zones_that_are_free_are_given_first_and_then_sequential_ones() {
    // Six conventional zones and nine sequential ones, of which three are kept.
    let mut run = blocking(6, "converted = 0.5\nfirst_zones = 4");
    let before = run.ops.len();
    run.grow(3).unwrap();
    assert_eq!((run.zones(), run.layer.standing().growth), (7, None));
    let (fourth, fifth) = (realms(6).zones().unit(4), realms(6).zones().unit(5));
    let moves = run.moves_of_zones(before);
    assert_eq!(moves[..2], [lies_in(4, fourth), lies_in(5, fifth)], "from the outer edge inwards");
    run.grow(6).unwrap();
    assert_eq!((run.zones(), run.count(Event::Converted)), (12, 0));
    run.grow_to_the_end();
    assert_eq!((run.zones(), run.count(Event::Converted)), (13, 2));
}

#[test]
fn more_than_the_disk_has_is_refused_with_what_would_do() {
    let mut run = blocking(6, "");
    assert_eq!(run.zones(), 10);
    let refused = run.grow(6).unwrap_err();
    assert!(refused.to_string().starts_with("no more than 40 blocks can be added"), "{refused}");
    assert!(refused.to_bytes(1 << 20, 4 << 20).starts_with("1MiB cannot be added: 160MiB are left until"));
    assert!(refused.to_bytes(3 << 30, 4 << 20).contains("0.156GiB are left"), "rounded down");
    assert_eq!((run.zones(), run.layer.standing().growth), (10, None));
    run.grow(5).unwrap();
    run.grow_to_the_end();
    assert_eq!(run.zones(), 15);
    let refused = run.grow(1).unwrap_err();
    assert!(refused.to_bytes(1 << 30, 4096).starts_with("nothing can be added any more"), "{refused}");
}

/// Four conventional native zones and three sequential ones, all of them full.
fn full_halves() -> Run {
    let mut run = blocking(4, "converted = 0.5");
    (4..7).for_each(|zone| run.write(native(zone)));
    run
}

/// What a full buffer does not take when [`about_to_swap`].
fn blocked() -> Extent<Lba> {
    native(6).skip(1).first(1)
}

/// [`full_halves`] when the turn of native zone 5 has come, which is to change places with native zone 0: when the log
/// had been gone round zone 5 was in half of it.
fn about_to_swap() -> Run {
    let mut run = full_halves();
    run.write(native(4));
    run.write(native(5).first(7));
    assert_eq!(run.count(Event::Rmw), 0);
    run.write(native(6).first(1));
    run.write(native(4).first(7));
    assert_eq!((run.count(Event::Rmw), run.count(counters::ZONE_SWAP)), (1, 0), "zone 4 has left and come back");
    assert!(!run.try_write(blocked()));
    run
}

#[test]
fn the_partner_moves_before_its_place_is_taken() {
    let mut run = about_to_swap();
    let (before, zones) = (run.ops.len(), realms(4).zones());
    let blocked = Pressure::Blocked(blocked());
    run.keeps_back = true;
    while run.step(blocked) != Step::Wait {}
    let outer = Op::Free(zones.extent(0));
    let empty = run.moves_of_zones(before)[0];
    assert_eq!(run.moves_of_zones(before), [empty, outer]);
    assert!(matches!(empty, Op::Record { record: Record::Unit { unit, is: 0 }, .. } if unit.index >= 2 + 8 + 6));
    assert_eq!(run.step(blocked), Step::Wait, "its place may still be needed");
    assert_eq!(run.count(counters::ZONE_SWAP), 0);
    run.release();
    run.step(blocked);
    let moves = run.moves_of_zones(before);
    assert_eq!(moves[2..], [lies_in(5, zones.unit(0)), Op::Reset(zones.unit(15))]);
    assert_eq!((run.count(counters::ZONE_SWAP), run.count(Event::Rmw)), (1, 2));
    run.release();
    run.layer.check().unwrap();
    assert!(run.try_write(native(5)), "in place");
}

#[test]
fn after_a_cut_in_the_middle_of_a_swap_the_next_zone_that_is_rewritten_takes_the_place() {
    let mut run = about_to_swap();
    let blocked = Pressure::Blocked(blocked());
    run.keeps_back = true;
    while run.step(blocked) != Step::Wait {}
    let mut run = run.again();
    let (before, zones) = (run.ops.len(), realms(4).zones());
    run.write(native(6));
    let moves = run.moves_of_zones(before);
    assert!(
        matches!(moves[0], Op::Record { record: Record::Unit { unit, .. }, .. } if unit == zones.unit(0)),
        "{moves:?}"
    );
    assert_eq!(run.count(counters::ZONE_SWAP), 0);
    run.layer.check().unwrap();
}

#[test]
fn an_activation_that_was_lost_is_made_again() {
    let mut run = blocking(4, "");
    run.grow(1).unwrap();
    run.keeps_back = true;
    let activation = Op::Reset(realms(4).to_sequential(2));
    while !run.later.contains(&activation) {
        if run.quantum() == Step::Wait {
            run.release();
        }
    }
    assert_eq!(run.quantum(), Step::Wait, "until it has taken effect");
    let mut run = run.again();
    assert_eq!(run.layer.standing().growth.unwrap().zones_left, 0, "nothing is left to move");
    let before = run.ops.len();
    run.grow_to_the_end();
    assert_eq!(run.moves_of_zones(before)[0], activation);
    assert_eq!((run.zones(), run.count(Event::Converted)), (7, 2), "no zone moved again");
}

#[test]
fn the_realm_that_is_sequential_from_the_first_is_activated_again_too() {
    let media = Hybrid::new(realms(4));
    let run = Run::new(media.clone(), "");
    let first = Op::Reset(realms(4).to_sequential(3));
    assert_eq!(run.ops, [first]);
    // The first epoch saw it take effect, but it was lost.
    let run = Run { media, ..run }.again();
    assert_eq!(run.ops, [first, first]);
}

#[test]
fn realms_with_a_broken_zone_stay_as_they_are() {
    for (zone, condition) in [(4, Condition::ReadOnly), (8 + 2 * 3 + 1, Condition::Offline)] {
        let mut media = Hybrid::new(realms(4));
        media.fail(realms(4).zones().unit(zone), condition);
        let mut run = Run::new(media, "bound_ms = 0.0");
        assert!(
            run.grow(3).is_err_and(|why| matches!(why, CannotGrow::TooMuch { most: 16, .. })),
            "two realms are left to convert"
        );
        run.grow(2).unwrap();
        run.grow_to_the_end();
        assert_eq!((run.zones(), run.count(Event::Converted)), (8, 4));
        assert!(run.ops.contains(&Op::Reset(realms(4).to_sequential(1))));
        assert!(!run.ops.contains(&Op::Reset(realms(4).to_sequential(2))));
    }
}

/// The realm that is sequential from the first, when one of its zones fails before its activation, which was lost, is
/// made again: the drive refuses it from now on, and the native zones there were never written.
#[test]
fn native_zones_of_a_realm_that_was_never_activated_are_empty() {
    for zone in [6, 8 + 3 * 3, 8 + 3 * 3 + 2] {
        let mut media = Hybrid::new(realms(4));
        let run = Run::new(media.clone(), "converted = 0.5");
        media.fail(realms(4).zones().unit(zone), Condition::ReadOnly);
        let mut run = Run { media, ..run }.again();
        let mut plan = Plan::new();
        for zone in 0..run.zones() {
            run.layer.read(native(zone), &mut plan);
        }
        run.perform(&plan);
        run.write(native(run.zones() - 1).first(1));
        run.layer.check().unwrap();
    }
}

/// No zone that the drive reports says which span of the realm is active.
#[test]
fn a_realm_all_of_whose_zones_failed_is_what_lies_there() {
    let mut run = blocking(4, "");
    run.grow(1).unwrap();
    run.grow_to_the_end();
    for realm in 0..4 {
        let mut media = run.media.clone();
        let zones = realms(4).conventional_of(realm).chain(realms(4).sequential_of(realm));
        zones.for_each(|zone| media.fail(realms(4).zones().unit(zone), Condition::Offline));
        let mut plan = Plan::new();
        let mut layer = INFO.build(&Space::of(&media, SLOTS), &run.config.parse().unwrap()).unwrap();
        run.records().iter().for_each(|record| layer.apply(record).unwrap());
        layer.recovered(&media.unit_report(), &mut plan).unwrap();
        layer.check().unwrap();
    }
}

#[test]
fn a_zone_that_moves_is_written_in_place_behind_what_was_read() {
    let mut run = blocking(4, "batch_blocks = 3");
    run.grow(1).unwrap();
    assert_eq!(run.quantum(), Step::Hold);
    // The innermost zone moves first; three of its blocks have been read.
    let (zone, before) = (native(5), run.ops.len());
    assert!(!run.try_write(zone.skip(1).first(4)), "what is written alike is taken at a time");
    assert!(run.try_write(zone.skip(3).first(2)));
    let targets: Vec<Place> = run.ops[before..].iter().filter_map(target).collect();
    let home = realms(4).zones().block(5, 0);
    assert_eq!(targets, [Place::At(Pba::disk(0)), Place::At(home.plus(3))]);
    assert_eq!((run.count(Event::Direct), run.layer.standing().occupancy.unwrap().used), (2, 2));
    run.grow_to_the_end();
    let mut plan = Plan::new();
    run.layer.read(zone.first(4), &mut plan);
    let sources: Vec<Pba> = plan.ops().iter().filter_map(source).collect();
    let moved = realms(4).sequential_of(3).map(|zone| realms(4).zones().block(zone, 0)).collect::<Vec<_>>();
    assert!(moved.contains(&sources[0]), "{sources:?}");
    assert_eq!(sources[1..], [Pba::disk(0), sources[0].plus(3)], "two blocks from the buffer");
}

fn target(op: &Op) -> Option<Place> {
    if let Op::Move { to, .. } = op { Some(*to) } else { None }
}

fn source(op: &Op) -> Option<Pba> {
    if let Op::Move { from: Place::At(from), .. } = op { Some(*from) } else { None }
}
