//! Caches on flash in front of a disk: read your writes, invariants after every plan, crashes at any commit.

use std::sync::Arc;

use crate::fixture::random::any_choices;
use crate::fixture::two_devices::{Journal, TwoDevices, space, space_costing};
use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::explore::{Candidate, Finding, Options, Subject, Tally, explore};
use imbrex::layer::{Freed, Pressure, Step};
use imbrex::layers::ssd::{band_cache, lru_cache, pore, sac, static_sets};
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::rules::{Rule, Rules};
use imbrex::plan::{Op, Place, Plan, Record, Why};
use imbrex::recording::Recording;
use imbrex::samples::sampled;
use imbrex::space::{Home, HomeCosts, Space};
use proptest::prelude::*;
use test_material::cases;

const BLOCKS: u64 = 300;

fn caches() -> impl Iterator<Item = &'static LayerInfo> {
    layers::ALL.iter().filter(|info| info.recording == Recording::Cached)
}

#[derive(Clone, Debug)]
enum Act {
    Read(Extent<Lba>),
    Write(Extent<Lba>),
    Commit(Option<usize>),
    Crash(u64),
}

fn extent() -> impl Strategy<Value = Extent<Lba>> {
    // Half of the requests go to a few places, so that blocks are used again while they are cached.
    let place = prop_oneof![0..BLOCKS / 10, 0..BLOCKS];
    let blocks = prop_oneof![4 => 1u32..4, 1 => 1u32..60];
    (place, blocks).prop_map(|(start, blocks)| Extent::new(Lba(start), blocks.min((BLOCKS - start) as u32)))
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => extent().prop_map(Act::Write),
        6 => extent().prop_map(Act::Read),
        2 => prop::option::of(0usize..6).prop_map(Act::Commit),
        1 => any::<u64>().prop_map(Act::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn caches_keep_what_was_written(
        acts in prop::collection::vec(act(), 1..80),
        frames in prop_oneof![Just(1u32), 2u32..6, 6u32..60],
        between in prop::option::of(extent()),
        late in any::<bool>(),
        choices in any_choices(),
    ) {
        for info in caches() {
            let fits = |config: &toml::Table| info.build(&space(frames, BLOCKS), config).map(|_| true);
            let config = sampled(info.name, info.fields, choices.each(), fits).unwrap();
            let journal = if late { Journal::Late } else { Journal::AtOnce };
            let mut devices = TwoDevices::new(info, &config.to_string(), space(frames, BLOCKS), journal);
            devices.between = between;
            for act in &acts {
                match *act {
                    Act::Read(at) => devices.read(at),
                    Act::Write(at) => devices.write(at),
                    Act::Commit(None) => devices.commit(),
                    Act::Commit(Some(items)) => devices.commit_some(items),
                    Act::Crash(mut dice) if late => devices.crash(|| {
                        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        dice >> 63 == 0
                    }),
                    Act::Crash(_) => {}
                }
            }
            devices.read(Extent::new(Lba(0), BLOCKS as u32));
        }
    }
}

fn build(info: &LayerInfo, config: &str, frames: u32) -> Box<dyn imbrex::layer::TranslationLayer> {
    info.build(&space(frames, BLOCKS), &config.parse().unwrap()).unwrap()
}

fn at(start: u64, blocks: u32) -> Extent<Lba> {
    Extent::new(Lba(start), blocks)
}

/// A cache of which the test frees nothing, so that what was given up stays pending.
#[test]
fn a_blocked_write_costs_the_write_backs_it_needs_and_waits_for_its_frames() {
    let mut cache = build(&lru_cache::INFO, "", 4);
    let mut plan = Plan::new();
    for block in [40, 7, 6, 90] {
        assert_eq!(cache.write(at(block, 1).into(), &mut plan), 1);
    }
    plan.clear();
    assert_eq!(cache.write(at(100, 3).into(), &mut plan), 0);
    assert_eq!(cache.clean(Pressure::Blocked(at(100, 3)), &[], &mut plan), Step::More);
    let home: Vec<_> = plan.ops().iter().filter_map(destaged).collect();
    assert_eq!(home, [(Pba::new(2, 9 + 6), 2), (Pba::new(2, 9 + 40), 1)], "neighbours in one move, by number");
    assert_eq!(cache.clean(Pressure::Blocked(at(100, 3)), &[], &mut plan), Step::Wait);
    for op in plan.ops() {
        if let Op::Free(space) = op {
            cache.freed(*space, Freed::GivenUp);
        }
    }
    assert_eq!(cache.clean(Pressure::Blocked(at(100, 3)), &[], &mut plan), Step::Done);
    assert_eq!((cache.write(at(100, 3).into(), &mut plan), cache.check()), (3, Ok(())));
}

fn destaged(op: &Op) -> Option<(Pba, u32)> {
    match *op {
        Op::Move { to: Place::At(to), blocks, why: Why::Destage, .. } => Some((to, blocks)),
        _ => None,
    }
}

#[test]
fn a_read_makes_room_for_the_next_one() {
    let mut cache = build(&lru_cache::INFO, "read_reserve = 2", 6);
    let mut plan = Plan::new();
    assert_eq!(cache.write(at(10, 6).into(), &mut plan), 6);
    plan.clear();
    cache.read(at(50, 1), &mut plan);
    assert_eq!(plan.ops().iter().filter_map(destaged).collect::<Vec<_>>(), [(Pba::new(2, 9 + 10), 2)]);
    let frees: Vec<_> = plan.ops().iter().filter(|op| matches!(op, Op::Free(_))).copied().collect();
    assert_eq!(frees, [Op::Free(Extent::new(Pba::new(1, 5), 2))]);
    cache.freed(Extent::new(Pba::new(1, 5), 2), Freed::GivenUp);
    plan.clear();
    cache.read(at(51, 1), &mut plan);
    let promotions = plan.ops().iter().filter(|op| matches!(op, Op::Move { why: Why::Promote, .. })).count();
    assert_eq!((promotions, cache.check()), (1, Ok(())));
}

/// The blocks that leave for a write of `at`, which finds no frame.
fn leaving_for(cache: &mut dyn imbrex::layer::TranslationLayer, at: Extent<Lba>) -> Vec<(Pba, u32)> {
    let mut plan = Plan::new();
    assert_eq!(cache.write(at.into(), &mut plan), 0);
    while cache.clean(Pressure::Blocked(at), &[], &mut plan) == Step::More {}
    for op in plan.ops() {
        if let Op::Free(space) = op {
            cache.freed(*space, Freed::GivenUp);
        }
    }
    let home = plan.ops().iter().filter_map(destaged).collect();
    assert_eq!((cache.write(at.into(), &mut plan), cache.check()), (at.blocks, Ok(())));
    home
}

fn home(block: u64, blocks: u32) -> (Pba, u32) {
    (Pba::new(2, 9 + block), blocks)
}

/// The unit of 20 to 29 has two dirty blocks, as has that of 30 to 39, and is opened first: so 25 leaves, though 5 and
/// 30 are colder. Block 90, which is clean, leaves before 26.
#[test]
fn the_coldest_block_that_may_leave_does() {
    let config = "region_blocks = 10\nperiod_blocks = 2\nread_reserve = 0";
    let mut cache = build(&pore::INFO, config, 6);
    let mut plan = Plan::new();
    for block in [5, 30, 25] {
        assert_eq!(cache.write(at(block, 1).into(), &mut plan), 1);
    }
    cache.read(at(90, 1), &mut plan);
    for block in [26, 31] {
        assert_eq!(cache.write(at(block, 1).into(), &mut plan), 1);
    }
    assert_eq!(leaving_for(cache.as_mut(), at(110, 1)), [home(25, 1)]);
    plan.clear();
    assert_eq!(cache.write(at(111, 1).into(), &mut plan), 1, "a clean block gives way");
    cache.read(at(90, 1), &mut plan);
    assert!(plan.ops().iter().any(|op| matches!(op, Op::Move { from: Place::At(from), .. } if *from == home(90, 1).0)));
    // 26 ends the period. The next one opens the unit of 30 and 31, or that of 110 and 111: of equals the lower.
    assert_eq!(leaving_for(cache.as_mut(), at(112, 1)), [home(26, 1)]);
    assert_eq!(leaving_for(cache.as_mut(), at(113, 1)), [home(30, 1)]);
}

#[test]
fn a_region_is_flushed_whole() {
    let mut cache = build(&pore::INFO, "region_blocks = 10\nperiod_blocks = 3\nevict = 'region'\nstep_blocks = 2", 6);
    let mut plan = Plan::new();
    for block in [5, 30, 25, 26, 31, 38] {
        assert_eq!(cache.write(at(block, 1).into(), &mut plan), 1);
    }
    assert_eq!(leaving_for(cache.as_mut(), at(110, 1)), [home(30, 2), home(38, 1)]);
    assert_eq!(cache.write(at(111, 2).into(), &mut plan), 2);
    assert_eq!(leaving_for(cache.as_mut(), at(7, 1)), [home(5, 1), home(25, 1), home(26, 1)], "a new region");
}

/// Of the units of 20 to 29 and of 30 to 39 the second has two blocks that were not used lately. To write it home costs
/// 12 for two blocks won, to drop 90 costs 10 for none: the unit leaves, and rests.
#[test]
fn what_costs_least_leaves() {
    let prices = "read_us = 10\nrewrite_us = 10\nwrite_us = 1\nclean_blocks = 1";
    let config = format!("{prices}\nregion_blocks = 10\nrecent = 0.5\nrest_periods = 1");
    let mut cache = build(&sac::INFO, &config, 6);
    let mut plan = Plan::new();
    for block in [30, 20, 35, 25, 26] {
        assert_eq!(cache.write(at(block, 1).into(), &mut plan), 1);
    }
    cache.read(at(90, 1), &mut plan);
    cache.write(at(20, 1).into(), &mut plan);
    plan.clear();
    assert_eq!(cache.write(at(110, 1).into(), &mut plan), 0);
    assert_eq!(cache.clean(Pressure::Blocked(at(110, 1)), &[], &mut plan), Step::More);
    assert_eq!(plan.ops().iter().filter_map(destaged).collect::<Vec<_>>(), [home(30, 1), home(35, 1)]);
    for op in std::mem::take(&mut plan).ops() {
        if let Op::Free(space) = op {
            cache.freed(*space, Freed::GivenUp);
        }
    }
    let mut write = |blocks: &[u64]| blocks.iter().all(|&block| cache.write(at(block, 1).into(), &mut plan) == 1);
    assert!(write(&[110, 31, 20, 25, 26]));
    assert!(write(&[32]), "90 is out of date now, and costs nothing");
    assert!(write(&[20, 25, 26]));
    assert_eq!(leaving_for(cache.as_mut(), at(112, 1)), [home(110, 1)], "that of 30 to 39 rests");
}

/// A read finds no frame where dirty blocks are to leave, and lets the first of them; the next one goes on with that.
#[test]
fn a_read_begins_what_others_go_on_with() {
    let mut cache = build(&sac::INFO, "step_blocks = 2", 4);
    let mut plan = Plan::new();
    assert_eq!(cache.write(at(10, 4).into(), &mut plan), 4);
    for left in [10, 12] {
        plan.clear();
        cache.read(at(50, 1), &mut plan);
        assert!(!plan.ops().iter().any(|op| matches!(op, Op::Move { why: Why::Promote, .. })));
        assert_eq!(plan.ops().iter().filter_map(destaged).collect::<Vec<_>>(), [home(left, 2)]);
        cache.check().unwrap();
    }
}

/// Of a cache of one frame, which the journal may still need.
#[test]
fn a_write_goes_past_a_cache_in_which_nothing_can_leave() {
    let mut cache = build(&pore::INFO, "", 1);
    cache.apply(&Record::Lost(at(50, 2))).unwrap();
    cache.recovered(&imbrex::layer::UnitReport::default(), &mut Plan::new()).unwrap();
    let mut plan = Plan::new();
    assert_eq!(cache.write(at(10, 1).into(), &mut plan), 1);
    assert_eq!(cache.write(at(50, 2).into(), &mut plan), 0);
    assert_eq!(cache.clean(Pressure::Blocked(at(50, 2)), &[], &mut plan), Step::More);
    assert_eq!(cache.clean(Pressure::Blocked(at(50, 2)), &[], &mut plan), Step::Done, "it need not wait");
    plan.clear();
    assert_eq!(cache.write(at(50, 2).into(), &mut plan), 2);
    let past = Op::Move { from: Place::Host(0), to: Place::At(home(50, 2).0), blocks: 2, why: Why::Host, redo: false };
    assert_eq!(plan.ops()[0], past);
    plan.clear();
    cache.read(at(50, 2), &mut plan);
    let is_lost = plan.ops().iter().any(|op| matches!(op, Op::Move { from: Place::Lost, .. }));
    assert!(!is_lost && cache.check().is_ok(), "what was lost is written");
}

/// Two units of 50 blocks leave, 64 or more blocks in a step, and the third one stays: on fast flash a fifth may be dirty.
#[test]
fn idle_time_makes_room_in_most_of_a_band_cache() {
    let space = space_costing(HomeCosts::default(), 250, 100_000);
    let mut cache = band_cache::INFO.build(&space, &toml::Table::new()).unwrap();
    let mut plan = Plan::new();
    for block in [20_000, 10_000, 30_000].into_iter().flat_map(|unit| unit..unit + 50) {
        assert_eq!(cache.write(at(block, 1).into(), &mut plan), 1);
    }
    let waits = cache.idle_after_ns();
    let mut left = Vec::new();
    for step in [Step::More, Step::Nothing] {
        plan.clear();
        assert_eq!(cache.clean(Pressure::Idle { ns: 0 }, &[], &mut plan), step);
        left.extend(plan.ops().iter().filter_map(destaged).map(|(to, blocks)| (to.since(home(0, 1).0), blocks)));
        cache.check().unwrap();
    }
    assert_eq!(left, [(10_000, 50), (20_000, 50)], "in order, though the second was written first");
    assert!(waits < cache.idle_after_ns(), "with more room there is more time");
}

/// The blocks that leave in an idle step of a cache of 1000 frames, after `writes`.
fn leave_idly(writes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut cache = band_cache::INFO.build(&space(1000, 10_000_000), &toml::Table::new()).unwrap();
    let mut plan = Plan::new();
    writes.for_each(|block| assert_eq!(cache.write(at(block, 1).into(), &mut plan), 1));
    plan.clear();
    assert_eq!(cache.clean(Pressure::Idle { ns: 0 }, &[], &mut plan), Step::More);
    let runs = plan.ops().iter().filter_map(destaged).map(|(to, blocks)| (to.since(home(0, 1).0), u64::from(blocks)));
    runs.flat_map(|(first, blocks)| first..first + blocks).collect()
}

/// 600 blocks, one in a unit each, except for 40 of one unit that come late: that unit weighs most.
#[test]
fn blocks_of_a_band_cache_leave_in_turn_where_they_are_seldom_written_again() {
    let blocks = || (0..600).map(|block| if block < 560 { 10_000 * block } else { 9_000_000 + block });
    assert_eq!(leave_idly(blocks()), (0..64).map(|block| 10_000 * block).collect::<Vec<_>>());
    let again = std::iter::repeat_n(9_000_599, 1000);
    let left = leave_idly(blocks().chain(again));
    assert_eq!((left.len(), left[24]), (64, 9_000_560), "the unit leaves as a whole: {left:?}");
    let of_few_units = leave_idly((0..600).map(|block| 10_000 * (block % 30) + block));
    assert!(of_few_units.windows(2).filter(|pair| pair[1] - pair[0] == 30).count() > 50, "{of_few_units:?}");
}

#[test]
fn a_frame_of_a_band_cache_takes_a_hundred_bytes_at_most() {
    let frames = 1 << 20;
    let cache = band_cache::INFO.build(&space(frames, 100 * u64::from(frames)), &toml::Table::new()).unwrap();
    let bytes = cache.facts().memory.most / u64::from(frames);
    assert!((50..=100).contains(&bytes), "{bytes} bytes");
}

#[test]
fn records_that_contradict_the_state_are_refused() {
    let frame = |number: u64| Pba::new(1, 5 + number);
    let map = |block, number| Record::Map { at: at(block, 2), to: frame(number) };
    for (info, config) in [
        (&lru_cache::INFO, ""),
        (&pore::INFO, ""),
        (&sac::INFO, ""),
        (&band_cache::INFO, ""),
        (&static_sets::INFO, "sets = 2\nband_blocks = 100"),
    ] {
        let mut cache = build(info, config, 8);
        cache.apply(&map(20, 1)).unwrap();
        cache.apply(&map(20, 1)).unwrap();
        for (why, record) in [
            ("another block's frame", map(30, 2)),
            ("another frame of the block", map(21, 3)),
            ("a frame beyond the cache", map(30, 7)),
            ("a frame of the device behind", Record::Map { at: at(30, 2), to: Pba::new(2, 7) }),
            ("a block beyond the capacity", map(BLOCKS - 1, 0)),
            ("a lost block beyond the capacity", Record::Lost(at(BLOCKS, 1))),
            ("a number", Record::Note { key: 0, value: 0 }),
        ] {
            assert!(cache.apply(&record).is_err(), "{}: {why}", info.name);
        }
        cache.check().unwrap();
    }
    let mut sets = build(&static_sets::INFO, "sets = 2\nband_blocks = 100", 8);
    assert!(sets.apply(&map(120, 1)).is_err(), "the other set's frame");
}

#[test]
fn a_lost_block_is_an_error_until_it_is_written() {
    for info in caches() {
        let mut cache = build(info, "", 8);
        cache.apply(&Record::Lost(at(20, 2))).unwrap();
        cache.recovered(&imbrex::layer::UnitReport::default(), &mut Plan::new()).unwrap();
        let lost =
            |plan: &Plan| plan.ops().iter().any(|op| matches!(op, Op::Move { from: Place::Lost, blocks: 2, .. }));
        let mut plan = Plan::new();
        cache.read(at(18, 6), &mut plan);
        assert!(lost(&plan));
        plan.clear();
        cache.write(at(20, 2).into(), &mut plan);
        cache.read(at(18, 6), &mut plan);
        assert!(!lost(&plan) && cache.check().is_ok());
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |info: &LayerInfo, config: &str, space: &Space| {
        let refused = info.build(space, &config.parse().unwrap()).err().map(|error| error.to_string());
        refused.unwrap_or_else(|| panic!("{} takes {config:?}", info.name))
    };
    let good = space(8, 100);
    let of_lru: &[&str] = &[
        "step_blocks = 0",
        "evict_blocks = 0",
        "sets = 1",
        "replacement = 'mru'",
        "s3_small = 0.0",
        "lirs_hir = 1.0",
        "lirs_ghosts = 4.5",
        "lirs_ghosts = nan",
    ];
    for (info, configs) in [
        (&lru_cache::INFO, of_lru),
        (&static_sets::INFO, &["step_blocks = 0", "sets = 0", "band_blocks = 0"]),
        (&pore::INFO, &["step_blocks = 0", "evict_blocks = 0", "region_blocks = 0", "sets = 1"]),
        (&band_cache::INFO, &["step_blocks = 0", "region_blocks = 1"]),
        (&sac::INFO, &["step_blocks = 0", "region_blocks = 0", "recent = -0.1", "recent = nan", "evict_blocks = 1"]),
    ] {
        for config in configs {
            let (key, refused) = (config.split(' ').next().unwrap(), refused(info, config, &good));
            assert!(refused.contains(key) || refused.contains("mru"), "{config}: {refused}");
        }
        assert!(refused(info, "", &Space { home: None, ..good.clone() }).contains("behind"));
        assert!(refused(info, "", &space(0, 100)).contains("choose another size"));
        assert!(refused(info, "", &space(8, 1 << 36)).contains("68719476735"));
    }
}

/// The cache on the first part of the disk that it caches: the rules do not depend on how many devices there are.
fn on_one_disk(info: &'static LayerInfo) -> Subject {
    let build = |info: &LayerInfo, space: &Space, config: &toml::Table| {
        let frames = space.buffer_blocks.min(space.conventional_blocks as u32 / 2);
        let start = space.conventional.plus(u64::from(frames));
        let home = Home { start, ..Home::behind(space.conventional_blocks - u64::from(frames)) };
        let conventional_blocks = u64::from(frames);
        info.build(&Space { conventional_blocks, home: Some(home), ..space.clone() }, config)
    };
    Subject::in_memory(Candidate {
        map_pages: None,
        name: info.name.to_owned(),
        recording: Recording::Conventional,
        fields: info.fields,
        build: Arc::new(move |space, config| build(info, space, config)),
    })
}

fn go(info: &'static LayerInfo, cuts: u64, rules: Rules) -> Result<Tally, Finding> {
    explore(&on_one_disk(info), &Options { cuts, seed: 1, rules }, |_| true)
}

#[test]
fn caches_survive() {
    for info in caches() {
        let tally = go(info, cases(1000, 5000) as u64, Rules::all()).unwrap_or_else(|finding| panic!("{finding}"));
        println!("{}: {tally:?}", info.name);
        let Tally { cuts_in_recovery, rebuilds, checkpoints, .. } = tally;
        assert!(cuts_in_recovery > 0 && rebuilds > 0 && checkpoints > 0, "{tally:?}");
    }
}

#[test]
fn caches_need_the_rules() {
    for info in caches() {
        for rule in [Rule::ConflictsInOrder, Rule::RecordsAfterMoves, Rule::ReuseAfterRecords] {
            match go(info, 20_000, Rules::without(rule).unwrap()) {
                Ok(tally) => panic!("{} without rule {}: {tally:?}", info.name, rule.number()),
                Err(finding) => println!("without rule {}: {finding}", rule.number()),
            }
        }
    }
}
