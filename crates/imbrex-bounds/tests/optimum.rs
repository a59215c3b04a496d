//! Bounds and schedules against the optimum of small cases, which is found by trying everything.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;

use imbrex_bounds::logs::{self, Log};
use imbrex_bounds::tracks::{self, Allocated};
use imbrex_bounds::{Accesses, Units, caches, schedule, zones};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::random::Random;
use imbrex_core::tracks::{Overlap, Side, Tracks};

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

const BANDS: usize = 3;
const BAND: u8 = 2;
const HELD: usize = 3;

/// A small log: where each block lies, and how much has been written to each band.
#[derive(Copy, Clone)]
struct State {
    places: [u8; HELD],
    written: [u8; BANDS],
}

impl State {
    /// How many there are: each number is below 3.
    const ALL: usize = 3usize.pow((HELD + BANDS) as u32);

    fn of(mut number: usize) -> Self {
        let mut state = Self { places: [0; HELD], written: [0; BANDS] };
        for digit in state.places.iter_mut().chain(&mut state.written) {
            (*digit, number) = ((number % 3) as u8, number / 3);
        }
        state
    }

    fn number(&self) -> usize {
        self.places.iter().chain(&self.written).rev().fold(0, |number, digit| number * 3 + usize::from(*digit))
    }

    /// With a block in a band, if that takes one.
    fn put(mut self, block: usize, band: usize) -> Option<usize> {
        self.written[band] += 1;
        self.places[block] = band as u8;
        (self.written[band] <= BAND).then(|| self.number())
    }

    /// With a band emptied, if nothing lives there.
    fn emptied(mut self, band: usize) -> Option<usize> {
        self.written[band] = 0;
        (!self.places.contains(&(band as u8))).then(|| self.number())
    }
}

/// Lowers the costs of all states to what they are with blocks moved, one at a time and at a cost of one each, and bands
/// emptied in which nothing lives.
fn moved(costs: &mut [u64]) {
    let mut is_lower = true;
    while is_lower {
        is_lower = false;
        for number in (0..State::ALL).filter(|number| costs[*number] != u64::MAX).collect::<Vec<_>>() {
            let (state, cost) = (State::of(number), costs[number]);
            let mut lower = |to: Option<usize>, cost: u64| {
                if let Some(to) = to.filter(|to| costs[*to] > cost) {
                    costs[to] = cost;
                    is_lower = true;
                }
            };
            for band in 0..BANDS {
                lower(state.emptied(band), cost);
                (0..HELD).for_each(|block| lower(state.put(block, band), cost + 1));
            }
        }
    }
}

/// The fewest moves of blocks: every write may go to every band with room, and blocks may be moved between writes.
fn fewest_moved(writes: &[Extent<Lba>]) -> u64 {
    let mut costs = vec![u64::MAX; State::ALL];
    // The rest of the last band that is full at first is not written to.
    costs[State { places: [0, 0, 1], written: [BAND, BAND, 0] }.number()] = 0;
    for at in writes {
        moved(&mut costs);
        let mut after = vec![u64::MAX; State::ALL];
        for number in (0..State::ALL).filter(|number| costs[*number] != u64::MAX) {
            for to in (0..BANDS).filter_map(|band| State::of(number).put(at.start.0 as usize, band)) {
                after[to] = after[to].min(costs[number]);
            }
        }
        costs = after;
    }
    costs.into_iter().min().unwrap()
}

#[test]
fn no_log_moves_fewer_blocks_than_the_fewest() {
    let (mut moved, mut fewest) = (0, 0);
    for seed in 0..CASES / 8 {
        let mut random = Random::new(seed);
        let popular = 1 + random.below(HELD as u64);
        let range = |random: &mut Random| if random.below(3) == 0 { HELD as u64 } else { popular };
        let block = |random: &mut Random| {
            let range = range(random);
            random.below(range)
        };
        let writes: Vec<_> = (0..4 + random.below(16)).map(|_| Extent::new(Lba(block(&mut random)), 1)).collect();
        let accesses = Accesses::of(&writes).unwrap();
        let optimum = fewest_moved(&writes);
        for open_bands in [1, 2] {
            let log = Log { bands: BANDS as u32, band_blocks: BAND.into(), capacity: HELD as u64, open_bands };
            let reached = logs::moved(&accesses, &log).unwrap();
            assert!(optimum <= reached, "{seed}: {open_bands} open bands move {reached}, fewer than {optimum}");
            moved += reached;
        }
        fewest += 2 * optimum;
    }
    println!("{moved} blocks are moved, and {fewest} have to be");
    assert!(fewest > 20 && moved > fewest, "{moved} and {fewest}");
}

const TRACKS: Tracks = Tracks {
    conventional_tracks: 0,
    groups: 1,
    bottom_tracks: 2,
    top_tracks: 2,
    bottom_blocks: 2,
    top_blocks: 1,
    skew_blocks: 0,
    overlap: Overlap::Angle,
};

/// The updates of bottom tracks with these places of the blocks: at most one for each track and request.
fn updates_of(places: &[u64], requests: &[Extent<Lba>]) -> u64 {
    let is_allocated = |top, offset: u32| places.contains(&(TRACKS.first_block(top) + u64::from(offset)));
    let is_covered = |place: u64| {
        let (track, offset) = TRACKS.locate(Pba::disk(place).block()).unwrap();
        let mut covered = false;
        if track.side == Side::Bottom {
            TRACKS.over(track, offset, 1, |top, from, blocks| {
                covered |= (from..from + blocks).any(|offset| is_allocated(top, offset));
            });
        }
        covered.then_some(track.index)
    };
    let of_request = |at: &Extent<Lba>| {
        let mut tracks: Vec<_> = at.iter().filter_map(|lba| is_covered(places[lba.0 as usize])).collect();
        tracks.sort_unstable();
        tracks.dedup();
        tracks.len() as u64
    };
    requests.iter().map(of_request).sum()
}

/// The fewest updates over all places that the blocks behind those that have one may have.
fn fewest_updates(places: &mut Vec<u64>, blocks: u64, requests: &[Extent<Lba>]) -> u64 {
    if places.len() as u64 == blocks {
        return updates_of(places, requests);
    }
    let mut fewest = u64::MAX;
    for place in 0..TRACKS.blocks() {
        if !places.contains(&place) {
            places.push(place);
            fewest = fewest.min(fewest_updates(places, blocks, requests));
            places.pop();
        }
    }
    fewest
}

#[test]
fn the_bound_on_updates_is_below_the_best_places_and_the_schedule_above() {
    let mut sums = [0; 3];
    for seed in 0..CASES / 8 {
        let mut random = Random::new(seed);
        let blocks = TRACKS.blocks() - random.below(3);
        let popular = 1 + random.below(blocks);
        let requests = (0..1 + random.below(20)).map(|_| {
            let length = 1 + random.below(2);
            let range = if random.below(2) == 0 { blocks } else { popular };
            Extent::new(Lba(random.below(range).min(blocks - length)), length as u32)
        });
        let requests: Vec<_> = requests.collect();
        let (writes, disk) = (Accesses::of(&requests).unwrap(), Allocated { tracks: TRACKS, blocks });
        let (bound, reached) = (tracks::least_updates(&writes, &disk), tracks::updates(&writes, &disk));
        let optimum = fewest_updates(&mut Vec::new(), blocks, &requests);
        assert!(bound <= optimum && optimum <= reached, "{seed}: {bound}, {optimum} and {reached}");
        for (sum, number) in sums.iter_mut().zip([bound, optimum, reached]) {
            *sum += number;
        }
    }
    println!("bounds, optima and schedules come to {sums:?}");
    assert!(sums[0] > 20, "{sums:?}");
}
