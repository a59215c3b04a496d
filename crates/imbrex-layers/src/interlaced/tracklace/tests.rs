//! The numbers of the paper on a group of a few tracks, and what a trimmed block costs.

use super::counters;
use super::*;
use crate::interlaced::in_place_tracks::Care;
use imbrex_core::contents::TrackContent;
use imbrex_core::media::Interlaced;
use imbrex_core::plan::Op;
use imbrex_core::tracks::{Overlap, Tracks};

fn group(bottom_tracks: u32, bottom_blocks: u32) -> Tracks {
    Tracks {
        conventional_tracks: 0,
        groups: 1,
        bottom_tracks,
        top_tracks: bottom_tracks,
        bottom_blocks,
        top_blocks: 400,
        skew_blocks: 0,
        overlap: Overlap::Angle,
    }
}

fn layer(tracks: Tracks, config: &str) -> TrackLace {
    let space = Space::of(&Interlaced::new(Pba::DISK, tracks), 0);
    TrackLace::new(&space, &config.parse().unwrap()).unwrap()
}

/// Blocks that a write of `blocks` blocks from `first` on brings to the disk.
fn written(layer: &mut TrackLace, first: u64, blocks: u32) -> u32 {
    let mut plan = Plan::new();
    assert_eq!(layer.write(Extent::new(Lba(first), blocks).into(), &mut plan), blocks);
    layer.check().unwrap();
    let blocks = |op: &Op| match *op {
        Op::Move { to: Place::At(to), blocks, .. } if !to.is_ram() => blocks,
        _ => 0,
    };
    plan.ops().iter().map(blocks).sum()
}

#[test]
fn a_bottom_update_writes_what_the_arcs_say() {
    let in_place = |utilisation: f64| format!("utilisation = {utilisation}\nbuffer_percent = 0.0\nphases = 3");
    let fifth = 5 * 500;
    let mut full = layer(group(12, 500), &in_place(1.0));
    assert_eq!(full.capacity(), 10_800);
    assert_eq!(written(&mut full, fifth + 100, 5), 13, "2.6 times as much");
    assert_eq!(written(&mut full, fifth + 101, 1), 5);
    let mut second_phase = layer(group(12, 500), &in_place(8400.0 / 10_800.0));
    assert_eq!(second_phase.capacity(), 8400);
    assert_eq!(written(&mut second_phase, fifth + 100, 5), 9, "1.8 times as much");
    let mut bottoms = layer(group(12, 500), &in_place(6000.0 / 10_800.0));
    assert_eq!(bottoms.capacity(), 6000);
    assert_eq!(written(&mut bottoms, fifth + 100, 5), 5);
}

#[test]
fn the_buffer_and_the_swaps_share_a_budget() {
    let full = layer(group(1000, 600), "utilisation = 0.99\nleast_entries = 0");
    assert_eq!(full.moved.entries().2, 20_000);
    assert_eq!((full.frames.slots().0, full.moved.most_pairs), (10_000, 5_000));
    let wide = layer(group(1000, 600), "utilisation = 0.9\nleast_entries = 0");
    assert_eq!((wide.frames.slots().0, wide.moved.most_pairs), (20_000, 0), "the buffer can use all of the map");
    let virtually = layer(group(1000, 600), "utilisation = 1.0\nleast_entries = 0");
    assert_eq!((virtually.frames.slots(), virtually.moved.most_pairs), ((0, 20_000), 10_000));
    assert!(virtually.frames.logs[0].is_virtual);
    let budget = |config: &str| layer(group(1000, 600), config).moved.entries().2;
    assert_eq!(budget("least_entries = 100000"), 100_000);
    assert_eq!(budget("least_entries = 500000"), 250_000, "no more than a quarter");
    assert_eq!(budget("least_entries = 100000\nbuffer_percent = 30.0"), 300_000);
    assert_eq!(budget("least_entries = 100000\nbuffer_percent = 0.0"), 0);
}

#[test]
fn idle_time_keeps_a_part_of_the_log_empty() {
    for (config, left) in
        [("idle_free = 0.25", 10), ("idle_free = 0.8", 2), ("idle_free = 1.0", 1), ("idle_free = 0.0", 14)]
    {
        let mut layer = layer(Tracks { top_blocks: 4, ..group(32, 5) }, &format!("utilisation = 0.8\n{config}"));
        let mut plan = Plan::new();
        let bottoms = (0..32 * 5).take_while(|&lba| {
            assert_eq!(layer.write(Extent::new(Lba(lba), 1).into(), &mut plan), 1);
            layer.frames.logs[0].used < 14
        });
        assert!(bottoms.count() < 100, "the log is full");
        while layer.clean(Pressure::Idle { ns: 0 }, &[], &mut plan) != Step::Nothing {}
        assert_eq!(layer.frames.logs[0].used, left, "{config}");
        layer.check().unwrap();
    }
}

#[test]
fn a_bottom_write_is_buffered_and_written_again_in_its_slot() {
    // Nine of twelve top tracks are allocated whole.
    let mut layer = layer(group(12, 500), &format!("utilisation = {}\nhits = 'place'", 9600.5 / 10_800.0));
    assert_eq!(written(&mut layer, 700, 5), 5);
    assert_eq!(layer.moved.entries().1, 5);
    assert_eq!((written(&mut layer, 700, 5), layer.moved.entries().1), (5, 5));
    let beside = layer.frames.place_of(0).block();
    let bottom = layer.places.order.tracks().locate(beside).unwrap().0.index;
    let whole = u64::from(bottom) * 500;
    let saved = written(&mut layer, whole, 500) - 500;
    assert_eq!(saved % 400, 5, "buffered blocks are saved as others are");
}

#[test]
fn what_was_trimmed_is_neither_read_nor_saved() {
    let mut layer = layer(group(12, 500), "utilisation = 1.0\nbuffer_percent = 0.0\nphases = 2\ndirection = 'inwards'");
    let home = layer.home_place(Lba(6000 + 4 * 400 + 80));
    assert_eq!(written(&mut layer, 2600, 5), 13);
    let mut plan = Plan::new();
    assert_eq!(layer.trim(Extent::new(Lba(6000 + 4 * 400), 400), &mut plan), 400);
    let Some(Op::Free(mark)) = plan.ops().last().copied() else { panic!("{plan:?}") };
    let care =
        |layer: &mut TrackLace| layer.places.find(Track { group: 0, side: Side::Bottom, index: 4 }, 100, 5, None);
    assert_eq!(care(&mut layer), Care::Save);
    assert!(layer.places.needed.any_pending(home.block(), 1), "it may be needed after a power cut");
    assert_eq!(written(&mut layer, 2600, 5), 9, "one neighbour is saved");
    layer.freed(mark, Freed::GivenUp);
    assert!(!layer.places.needed.any_pending(home.block(), 1));
    let all = Extent::new(Lba(6000), 4800);
    let mut rest = all;
    while !rest.is_empty() {
        rest = rest.skip(layer.trim(rest, &mut plan));
    }
    assert_eq!(care(&mut layer), Care::Order, "nothing is saved, but the write comes after the records");
    plan.ops().iter().filter(|op| matches!(op, Op::Free(_))).for_each(|_| layer.freed(mark, Freed::GivenUp));
    assert_eq!(care(&mut layer), Care::None);
    assert_eq!(written(&mut layer, 2600, 5), 5);
    plan.clear();
    layer.read(all.first(1), &mut plan);
    assert!(matches!(plan.ops(), [Op::Move { from: Place::Zero, .. }]), "{plan:?}");
    assert_eq!(
        (written(&mut layer, 6000 + 4 * 400 + 80, 4), written(&mut layer, 2600, 5)),
        (4, 9),
        "it is needed again"
    );
}

#[test]
fn a_map_beyond_the_budget_is_noticed() {
    let mut layer = layer(group(12, 500), "utilisation = 0.9\nbuffer_percent = 10.0");
    let slots = layer.frames.slots().0;
    let place = |slot: u64| layer.frames.place_of(slot as u32);
    let records: Vec<Record> = [0, slots - 1]
        .iter()
        .map(|&slot| (slot, place(slot)))
        .map(|(slot, to)| Record::Map { at: Extent::new(Lba(slot), 1), to })
        .collect();
    records.iter().for_each(|record| layer.apply(record).unwrap());
    assert!(layer.check().is_err(), "no log holds these slots");
    layer.recovered(&UnitReport::default(), &mut Plan::new()).unwrap();
    layer.check().unwrap();
    layer.moved.set_budget(1);
    assert!(layer.check().unwrap_err().0.contains("2 entries of 1"));
}

#[test]
fn half_a_pair_is_corrupt() {
    let mut layer = layer(group(12, 500), "utilisation = 1.0\nbuffer_percent = 10.0");
    let [bottom, top] = [layer.home_place(Lba(3)), layer.home_place(Lba(7000))];
    let map = |lba, to| Record::Map { at: Extent::new(Lba(lba), 1), to };
    layer.apply(&map(3, top)).unwrap();
    assert!(layer.apply(&map(4, bottom)).is_err(), "two bottom blocks cannot change places");
    assert!(layer.recovered(&UnitReport::default(), &mut Plan::new()).is_err());
    layer.apply(&map(7000, bottom)).unwrap();
    layer.recovered(&UnitReport::default(), &mut Plan::new()).unwrap();
    layer.check().unwrap();
}

#[test]
fn swapped_blocks_that_lie_side_by_side_are_written_at_once() {
    let mut layer = layer(group(12, 500), "utilisation = 1.0\nbuffer_percent = 10.0\nupdate_blocks = 16");
    // The first blocks of bottom track 1 and of the first top track.
    let [hot, cold] = [500, 6000].map(|first| Extent::new(Lba(first), 10));
    let [bottom, top] = [hot, cold].map(|at| layer.home_place(at.start));
    for (at, to) in [(hot, top), (cold, bottom)] {
        layer.apply(&Record::Map { at, to }).unwrap();
    }
    layer.recovered(&UnitReport::default(), &mut Plan::new()).unwrap();
    let mut write = |at: Extent<Lba>| {
        let mut plan = Plan::new();
        assert_eq!(layer.write(at.into(), &mut plan), at.blocks);
        layer.check().unwrap();
        let updates = plan.ops().iter().filter(|op| matches!(op, Op::Count(Event::Rmw, 1))).count();
        (updates, layer.moved.pairs())
    };
    assert_eq!(write(cold.skip(2)), (1, 10), "an update of eight blocks on the bottom track");
    assert_eq!(write(cold.skip(2).first(3)), (1, 7), "three come home");
    assert_eq!(write(cold.skip(5)), (1, 2), "and the other five");
    assert_eq!(write(cold.first(2)), (1, 2));
}

/// What each track holds, by where reads find every block: at home, buffered and swapped, or gone.
fn read_back(layer: &mut TrackLace) -> Vec<TrackContent> {
    let tracks = *layer.places.order.tracks();
    let number = |block: u64| {
        let (track, _) = tracks.locate(block).unwrap();
        (2 * track.index + u32::from(track.side == Side::Top)) as usize
    };
    let side = |at: u32| if at % 2 == 1 { Side::Top } else { Side::Bottom };
    let empty = |at| TrackContent { side: side(at), blocks: tracks.track_blocks(side(at)), ..NOTHING };
    let mut all: Vec<_> = (0..tracks.bottom_tracks + tracks.top_tracks).map(empty).collect();
    let mut held = std::collections::BTreeSet::new();
    let homes: Vec<u64> = (0..layer.capacity()).map(|lba| layer.home_place(Lba(lba)).block()).collect();
    let mut plan = Plan::new();
    for (lba, &home) in homes.iter().enumerate() {
        plan.clear();
        layer.read(Extent::new(Lba(lba as u64), 1), &mut plan);
        let Op::Move { from: Place::At(from), .. } = plan.ops()[0] else { continue };
        held.insert(from.block());
        let track = &mut all[number(from.block())];
        let is_home = homes.contains(&from.block());
        match (from.block() == home, is_home) {
            (true, _) => track.home += 1,
            (false, true) => track.swapped += 1,
            (false, false) => track.buffered += 1,
        }
    }
    homes.iter().filter(|home| !held.contains(home)).for_each(|home| all[number(*home)].stale += 1);
    all
}

const NOTHING: TrackContent =
    TrackContent { side: Side::Bottom, blocks: 0, home: 0, stale: 0, buffered: 0, swapped: 0 };

/// Writes and trims of a group of small tracks. `each` is told of every step and its plan.
fn exercise(config: &str, mut each: impl FnMut(u32, &mut TrackLace, &Plan)) {
    let mut layer = layer(Tracks { top_blocks: 4, ..group(12, 5) }, config);
    let mut random = imbrex_core::random::Random::new(7);
    for step in 0..3000 {
        let range = if step % 3 == 0 { layer.capacity() } else { layer.capacity() / 8 };
        let at = Extent::new(Lba(random.below(range - 2)), 1 + random.below(2) as u32);
        let mut plan = Plan::new();
        if step % 11 == 0 {
            layer.trim(at, &mut plan);
        } else if layer.write(at.into(), &mut plan) == 0 {
            layer.clean(Pressure::Blocked(at), &[], &mut plan);
        }
        for op in plan.ops() {
            if let Op::Free(space) = op {
                layer.freed(*space, Freed::GivenUp);
            }
        }
        each(step, &mut layer, &plan);
    }
}

#[test]
fn tracks_hold_what_reads_find_there() {
    let mut seen = NOTHING;
    for config in [
        "utilisation = 0.95\nbuffer_percent = 10.0\nframe_tracks = 7\nslowest = 1",
        "utilisation = 0.95\nbuffer_percent = 10.0\nframe_tracks = 0\nvalid = 'written'",
        "utilisation = 1.0\nbuffer_percent = 25.0\nframe_tracks = 0",
    ] {
        exercise(config, |step, layer, _| {
            if step % 50 == 0 {
                let Some(Contents::Tracks(contents)) = layer.contents() else { panic!() };
                assert_eq!(contents, read_back(layer), "{config}, step {step}");
                let sum = |of: fn(&TrackContent) -> u32| contents.iter().map(of).sum::<u32>();
                seen.stale += sum(|track| track.stale);
                seen.buffered += sum(|track| track.buffered);
                seen.swapped += sum(|track| track.swapped);
            }
        });
    }
    assert!(seen.stale > 0 && seen.buffered > 0 && seen.swapped > 0, "{seen:?}");
}

/// Blocks that a plan says it has relocated, and how many tracks from home in all.
fn relocated(plan: &Plan) -> (u64, u64) {
    let count = |of: Event| {
        let times = plan.ops().iter().filter_map(|op| match op {
            Op::Count(event, times) if *event == of => Some(u64::from(*times)),
            _ => None,
        });
        times.sum()
    };
    (count(counters::RELOCATED), count(counters::RELOCATED_TRACKS))
}

#[test]
fn a_buffered_block_is_relocated_by_the_tracks_between() {
    // Top tracks 3, 7 and 11 are not allocated: numbers 7, 15 and 23 on the surface, where bottom track 1 is number 2.
    let mut layer = layer(group(12, 500), &format!("utilisation = {}\nhits = 'place'", 9600.5 / 10_800.0));
    let mut write = |plan: &mut Plan| layer.write(Extent::new(Lba(700), 5).into(), plan);
    let [mut first, mut again] = [Plan::new(), Plan::new()];
    assert_eq!([write(&mut first), write(&mut again)], [5, 5]);
    assert_eq!([relocated(&first), relocated(&again)], [(5, 5 * 5), (0, 0)]);
}

#[test]
fn what_changes_its_place_is_counted_as_relocated() {
    for config in [
        "utilisation = 0.95\nbuffer_percent = 10.0\nframe_tracks = 7\nslowest = 1",
        "utilisation = 0.95\nbuffer_percent = 10.0\nframe_tracks = 0\nhits = 'append'",
        "utilisation = 1.0\nbuffer_percent = 25.0\nframe_tracks = 7\nwhen_full = 'replace'",
    ] {
        let (mut before, mut all) = (Vec::new(), (0, 0));
        exercise(config, |step, layer, plan| {
            let tracks = *layer.places.order.tracks();
            let number = |place: Pba| {
                let (track, _) = tracks.locate(place.block()).unwrap();
                u64::from(2 * track.index) + u64::from(track.side == Side::Top)
            };
            let lie: Vec<_> = (0..layer.capacity()).map(|lba| layer.place(Lba(lba))).collect();
            let homes = (0..layer.capacity()).map(|lba| layer.home_place(Lba(lba)));
            let homes: Vec<_> = homes.collect();
            before = if before.is_empty() { homes.clone() } else { std::mem::take(&mut before) };
            let changed = (0..lie.len()).filter(|&lba| lie[lba] != before[lba] && lie[lba] != homes[lba]);
            let distances: Vec<_> = changed.map(|lba| number(lie[lba]).abs_diff(number(homes[lba]))).collect();
            let (blocks, sum) = (distances.len() as u64, distances.iter().sum());
            assert_eq!(relocated(plan), (blocks, sum), "{config}, step {step}");
            assert!(layer.config.frame_tracks == 0 || sum <= 6 * blocks, "beyond a frame");
            all = (all.0 + blocks, all.1 + sum);
            before = lie;
        });
        assert!(all.0 > 100 && all.1 > all.0, "{config}: {all:?}");
    }
}
