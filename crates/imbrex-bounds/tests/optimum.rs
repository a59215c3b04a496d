//! Bounds and schedules against the optimum of small cases, which is found by trying everything.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;

use imbrex_bounds::{Accesses, Units, caches, schedule, zones};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::random::Random;

/// Cases of each kind.
const CASES: u64 = 400;
/// Blocks of the address space, and of a zone in it.
const BLOCKS: u64 = 12;
const ZONE: u64 = 3;

/// A small row of requests, in which some blocks are more popular than others, and a buffer.
struct Case {
    requests: Vec<Extent<Lba>>,
    buffer: u32,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (length, most) = (1 + random.below(24), 1 + random.below(3));
        let popular = 1 + random.below(BLOCKS);
        let requests = (0..length).map(|_| {
            let blocks = 1 + random.below(most);
            let range = if random.below(3) == 0 { BLOCKS } else { popular };
            Extent::new(Lba(random.below(range).min(BLOCKS - blocks)), blocks as u32)
        });
        let requests = requests.collect();
        Self { requests, buffer: random.below(6) as u32 }
    }

    fn accesses(&self) -> (Accesses, Units) {
        let accesses = Accesses::of(&self.requests).unwrap();
        let units = accesses.units(|lba| Some((lba.0 / ZONE) as u32));
        (accesses, units)
    }
}

fn mask(at: Extent<Lba>) -> u32 {
    at.iter().map(|lba| 1 << lba.0).sum()
}

/// The fewest rewrites: after each request every set of zones may be rewritten, and what is left has to fit.
fn fewest_rewrites(case: &Case) -> u64 {
    let zones: Vec<u32> = (0..BLOCKS / ZONE).map(|zone| ((1 << ZONE) - 1) << (zone * ZONE)).collect();
    let mut states = HashMap::from([(0u32, 0u64)]);
    for &at in &case.requests {
        let mut after: HashMap<u32, u64> = HashMap::new();
        for (&held, &cost) in &states {
            for chosen in 0u32..1 << zones.len() {
                let out: u32 = (0..zones.len()).filter(|zone| chosen >> zone & 1 == 1).map(|zone| zones[zone]).sum();
                let left = (held | mask(at)) & !out;
                if left.count_ones() <= case.buffer {
                    let best = after.entry(left).or_insert(u64::MAX);
                    *best = (*best).min(cost + u64::from(chosen.count_ones()));
                }
            }
        }
        states = after;
    }
    *states.values().min().unwrap()
}

/// The most hits: after each request every part of what was held and what was asked for may be kept.
fn most_hits(case: &Case) -> u64 {
    let mut states = HashMap::from([(0u32, 0u64)]);
    for &at in &case.requests {
        let mut after: HashMap<u32, u64> = HashMap::new();
        for (&held, &hits) in &states {
            let hits = hits + u64::from((held & mask(at)).count_ones());
            let all = held | mask(at);
            let mut kept = all;
            loop {
                if kept.count_ones() <= case.buffer {
                    let best = after.entry(kept).or_insert(0);
                    *best = (*best).max(hits);
                }
                if kept == 0 {
                    break;
                }
                kept = (kept - 1) & all;
            }
        }
        states = after;
    }
    *states.values().max().unwrap()
}

#[test]
fn the_bound_on_rewrites_is_below_the_optimum_and_the_schedule_above() {
    let (mut reached, mut schedules, mut sums, mut over) = (0, 0, [0; 3], 0);
    for seed in 0..CASES {
        let case = Case::new(seed);
        let (writes, units) = case.accesses();
        let bound = zones::least_rewrites(&writes, &units, case.buffer.into());
        let optimum = fewest_rewrites(&case);
        let schedule = schedule::rewrites(&writes, &units, case.buffer.into());
        assert!(bound <= optimum, "{seed}: the bound is {bound}, and {optimum} are reached");
        assert!(optimum <= schedule, "{seed}: the schedule needs {schedule}, fewer than the fewest, {optimum}");
        reached += u64::from(bound == optimum);
        schedules += u64::from(schedule == optimum);
        over += u64::from(bound + 1 > optimum);
        for (sum, number) in sums.iter_mut().zip([bound, optimum, schedule]) {
            *sum += number;
        }
    }
    println!("{reached} bounds and {schedules} schedules of {CASES} are the optimum; sums {sums:?}");
    // The test can fail: a bound of one more would be wrong, again and again. And both sides are near the optimum.
    assert!(over > CASES / 2, "only {over} of {CASES} bounds would be noticed if they were larger by 1");
    assert!(reached > CASES / 2 && schedules > CASES / 2, "{reached} and {schedules} of {CASES}");
}

#[test]
fn min_has_the_most_hits() {
    let mut hits = 0;
    for seed in 0..CASES {
        let case = Case::new(seed);
        let most = caches::most_hits(&case.accesses().0, case.buffer.into());
        assert_eq!(most, most_hits(&case), "{seed}");
        hits += most;
    }
    assert!(hits > CASES, "{hits} hits in {CASES} cases");
}
