use crate::find;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Freed, Pressure, Step, TranslationLayer, UnitReport};
use imbrex_core::media::Interlaced;
use imbrex_core::plan::{Op, Place, Plan, Record, Why};
use imbrex_core::space::Space;
use imbrex_core::tracks::{Overlap, Tracks};

/// Four bottom tracks of five blocks and four top tracks of four. Bottom track *i* begins at block 9 *i*, logical block
/// 5 *i*; its top track five blocks later.
const TRACKS: Tracks = Tracks {
    conventional_tracks: 0,
    groups: 1,
    bottom_tracks: 4,
    top_tracks: 4,
    bottom_blocks: 5,
    top_blocks: 4,
    skew_blocks: 0,
    overlap: Overlap::Angle,
};

fn layer(name: &str, config: &str) -> Box<dyn TranslationLayer> {
    let space = Space::of(&Interlaced::new(Pba::DISK, TRACKS), 0);
    find(name).unwrap().build(&space, &config.parse().unwrap()).unwrap()
}

/// Source, target, blocks and whether it is a redo move.
fn moves(plan: &Plan) -> Vec<(u64, u64, u32, bool)> {
    let number = |place| match place {
        Place::At(pba) => pba.block(),
        other => panic!("{other:?}"),
    };
    let moves = plan.ops().iter().filter_map(|op| match *op {
        Op::Move { from, to, blocks, redo, .. } => Some((number(from), number(to), blocks, redo)),
        _ => None,
    });
    moves.collect()
}

fn records(plan: &Plan) -> Vec<(Record, bool)> {
    let records = plan.ops().iter().filter_map(|op| match *op {
        Op::Record { record, redo } => Some((record, redo)),
        _ => None,
    });
    records.collect()
}

const fn map(lba: u64, to: u64) -> Record {
    Record::Map { at: Extent::new(Lba(lba), 4), to: Pba::disk(to) }
}

#[test]
fn two_tracks_change_places_in_one_plan_which_saves_the_other_neighbour() {
    let mut flipping = layer("track-flipping", "utilisation = 1.0\nflip_after = 1");
    let (at, mut plan) = (Extent::new(Lba(5), 1), Plan::new());
    for _ in 0..2 {
        assert_eq!((flipping.write(at.into(), &mut plan), plan.ops().len()), (0, 0), "an exchange comes first");
    }
    assert_eq!(flipping.clean(Pressure::Blocked(at), &[], &mut plan), Step::Done);
    // RAM: the cell below, the one above, and what lies over four of five blocks on the top track before.
    let (reads, writes) =
        ([(9, 0, 4, false), (14, 4, 4, false), (5, 8, 4, false)], [(4, 9, 4, true), (8, 5, 4, true), (0, 14, 4, true)]);
    assert_eq!(moves(&plan), [reads, writes].concat());
    assert_eq!(records(&plan), [(map(5, 14), true), (map(28, 9), true)]);
    plan.clear();
    assert_eq!(flipping.write(at.into(), &mut plan), 1);
    let host = Op::Move { from: Place::Host(0), to: Place::At(Pba::disk(14)), blocks: 1, why: Why::Host, redo: false };
    assert_eq!(plan.ops()[0], host);
    plan.clear();
    // The tail has not moved.
    flipping.read(Extent::new(Lba(8), 2), &mut plan);
    let from: Vec<u64> = plan.ops().iter().filter_map(source).collect();
    assert_eq!(from, [17, 13]);
}

fn source(op: &Op) -> Option<u64> {
    match *op {
        Op::Move { from: Place::At(pba), .. } => Some(pba.block()),
        _ => None,
    }
}

/// One top track of two is reserved: those that begin at blocks 5 and 23.
#[test]
fn a_reserved_track_is_taken_again_when_it_is_durable_that_it_was_left() {
    let mut caching = layer("track-caching", "utilisation = 1.0\nreserved = 2\ncache_after = 1\nzone_tracks = 4");
    let mut step = |at: Extent<Lba>, expected: Step| {
        let mut plan = Plan::new();
        assert_eq!(caching.write(at.into(), &mut plan), 0);
        assert_eq!(caching.clean(Pressure::Blocked(at), &[], &mut plan), expected);
        if expected == Step::Done {
            assert_eq!(caching.write(at.into(), &mut Plan::new()), 1);
        }
        plan
    };
    let copied = step(Extent::new(Lba(5), 1), Step::Done);
    assert_eq!((moves(&copied), records(&copied)), (vec![(9, 5, 4, false)], vec![(map(5, 5), false)]));
    let other = Extent::new(Lba(0), 1);
    let home = step(other, Step::More);
    assert_eq!(records(&home), [(Record::Unmap(Extent::new(Lba(5), 4)), true)]);
    let left = Extent::new(Pba::disk(5), 4);
    assert!(home.ops().contains(&Op::Free(left)));
    // A runner may try the write again between the steps: it waits for the copy.
    assert_eq!(caching.write(other.into(), &mut Plan::new()), 0);
    assert_eq!(caching.clean(Pressure::Blocked(other), &[], &mut Plan::new()), Step::Wait);
    assert_eq!(caching.write(other.into(), &mut Plan::new()), 0);
    caching.freed(left, Freed::GivenUp);
    let mut plan = Plan::new();
    assert_eq!(caching.write(other.into(), &mut plan), 0);
    assert_eq!(caching.clean(Pressure::Blocked(other), &[], &mut plan), Step::Done);
    assert_eq!(records(&plan), [(map(0, 5), false)]);
    assert_eq!(caching.check(), Ok(()));
}

#[test]
fn records_that_contradict_the_tracks_are_refused() {
    let mut mapping = layer("track-mapping", "utilisation = 0.9");
    for (record, wrong) in [
        (map(5, 10), "not the same part"),
        (map(6, 14), "not the same part"),
        (map(5, 40), "no interlaced track"),
        (map(5, 32), "takes no part"),
        (Record::Note { key: 0, value: 0 }, "cannot take"),
    ] {
        let refused = mapping.apply(&record).unwrap_err().to_string();
        assert!(refused.contains(wrong), "{record:?}: {refused}");
    }
    // One half of an exchange.
    mapping.apply(&map(5, 14)).unwrap();
    let refused = mapping.recovered(&UnitReport::default(), &mut Plan::new()).unwrap_err();
    assert!(refused.to_string().contains("two cells"), "{refused}");
    mapping.apply(&map(28, 9)).unwrap();
    assert_eq!(mapping.recovered(&UnitReport::default(), &mut Plan::new()), Ok(()));
}
