//! Hit ratios of the replacement policies against counts that share no code with them: lists that are searched from one
//! end to the other, a clock that goes round, and what the statistics of traces count.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::fixture::policies::plain;
use imbrex::block::Lba;
use imbrex::parts::replacement::{PolicyKind, Shares, Size};
use imbrex::trace::Workload;
use imbrex::trace::statistics::caches::{MissRatios, Sequence};
use test_material::beside;

/// The policy of the library in a cache that is always full; how many of the accesses hit.
fn hits(kind: PolicyKind, accesses: &[u64], capacity: u32, shares: Shares) -> u64 {
    let mut order = kind.policy(&Size { slots: capacity, capacity, holds: false, shares });
    let (mut cached, mut blocks, mut hits) = (HashMap::new(), Vec::new(), 0);
    for &block in accesses {
        if let Some(&slot) = cached.get(&block) {
            order.touched(slot);
            hits += 1;
            continue;
        }
        order.wanted(Lba(block));
        let slot = if blocks.len() < capacity as usize {
            blocks.push(block);
            blocks.len() as u32 - 1
        } else {
            let slot = order.coldest().expect("a full cache");
            let leaves = std::mem::replace(&mut blocks[slot as usize], block);
            order.evicted(slot, Lba(leaves));
            cached.remove(&leaves);
            slot
        };
        cached.insert(block, slot);
        order.inserted(slot, Lba(block));
    }
    order.check().expect("the invariants hold");
    hits
}

fn plain_hits(kind: PolicyKind, accesses: &[u64], capacity: u32, shares: Shares) -> u64 {
    let mut order = plain(kind, capacity as usize, shares);
    let (mut cached, mut hits) = (BTreeSet::new(), 0);
    for &block in accesses {
        if cached.contains(&block) {
            order.touch(block);
            hits += 1;
            continue;
        }
        order.wanted(block);
        if cached.len() == capacity as usize {
            let leaves = order.coldest(&|_| true).expect("a full cache");
            order.evict(leaves, &|_| true);
            cached.remove(&leaves);
        }
        cached.insert(block);
        order.insert(block);
    }
    hits
}

/// CLOCK with pages that stay where they are and a hand that goes round.
fn hits_of_a_clock(accesses: &[u64], capacity: usize) -> u64 {
    let (mut pages, mut hand, mut hits): (Vec<(u64, bool)>, usize, u64) = (Vec::new(), 0, 0);
    for &block in accesses {
        if let Some(page) = pages.iter_mut().find(|page| page.0 == block) {
            page.1 = true;
            hits += 1;
        } else if pages.len() < capacity {
            pages.push((block, false));
        } else {
            while std::mem::take(&mut pages[hand].1) {
                hand = (hand + 1) % capacity;
            }
            pages[hand] = (block, false);
            hand = (hand + 1) % capacity;
        }
    }
    hits
}

/// What the statistics count, which keep no lists but walk over the sequence itself.
fn by_statistics(accesses: &[u64], percent: f64) -> MissRatios {
    let mut numbers = HashMap::new();
    let number = |block| {
        let next = numbers.len() as u32;
        *numbers.entry(block).or_insert(next)
    };
    let sequence = accesses.iter().copied().map(number).collect();
    let sequence = Sequence { numbers: sequence, distinct: numbers.len() as u32 };
    MissRatios::of(&sequence, percent, &mut |_| Ok::<_, ()>(())).expect("nobody stops it")
}

/// The first blocks of requests, so that they are as many as requests.
fn accesses(workload: &Workload, most: usize) -> Vec<u64> {
    let mut source = workload.open().expect("the workload opens");
    let mut all = Vec::new();
    let mut batch = Vec::new();
    while all.len() < most {
        source.fill(&mut batch, 4096).expect("the workload decodes");
        if batch.is_empty() {
            break;
        }
        all.extend(batch.iter().map(|request| request.blocks(4096).start.0));
    }
    all.truncate(most);
    all
}

fn compare(name: &str, accesses: &[u64], capacities: &[u32]) {
    let odd = Shares { s3_small: 0.35, lirs_hir: 0.2, lirs_ghosts: 0.3 };
    for kind in PolicyKind::ALL {
        for &capacity in capacities {
            for shares in [Shares::default(), odd] {
                let (ours, plain) =
                    (hits(kind, accesses, capacity, shares), plain_hits(kind, accesses, capacity, shares));
                println!("{name}, {kind:?} of {capacity}: {ours} of {} hit", accesses.len());
                assert_eq!(ours, plain, "{name}, {kind:?} of {capacity}, {shares:?}");
            }
        }
    }
    for &capacity in capacities {
        let clock = hits(PolicyKind::Clock, accesses, capacity, Shares::default());
        assert_eq!(clock, hits_of_a_clock(accesses, capacity as usize), "{name}, a clock of {capacity}");
    }
    for percent in [1.0, 10.0] {
        let found = by_statistics(accesses, percent);
        for (kind, ratio) in
            [(PolicyKind::Lru, found.lru), (PolicyKind::Arc, found.arc), (PolicyKind::Sieve, found.sieve)]
        {
            let hits = hits(kind, accesses, found.entries, Shares::default());
            let ours = (accesses.len() as u64 - hits) as f64 / accesses.len() as f64;
            assert!((ours - ratio).abs() < 1e-12, "{name}, {kind:?} at {percent} %: {ours} and {ratio}");
        }
    }
}

/// Popular blocks, scans and loops by turns, so that no policy has it easy.
fn mixed(length: u64) -> Vec<u64> {
    let mut random = 1u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    let access = |at: u64| match at / 1500 % 4 {
        0 | 1 => below(40) * below(40),
        2 => at % 130,
        _ => 10_000 + at,
    };
    (0..length).map(access).collect()
}

#[test]
fn policies_hit_as_often_as_they_are_described_to() {
    let accesses = mixed(60_000);
    compare("a mix", &accesses, &[1, 2, 3, 10, 100, 500]);
    // They are different policies: none of them hits as often as another.
    let all: BTreeSet<u64> =
        PolicyKind::ALL.iter().map(|&kind| hits(kind, &accesses, 100, Shares::default())).collect();
    assert_eq!(all.len(), PolicyKind::ALL.len(), "{all:?}");
}

#[test]
fn policies_hit_as_often_as_they_are_described_to_on_real_traces() {
    let Some(folder) = beside("the hit ratios of replacement policies on real traces", "traces") else { return };
    for name in ["cloudphysics.vscsi.zst", "msr-rsrch_1.csv.zst", "financial1-head.disksim.zst"] {
        let path: &Path = &folder.join(name);
        let accesses = accesses(&Workload::File(path.to_owned().into()), 60_000);
        compare(name, &accesses, &[50, 1000]);
    }
}

/// Where all of a loop but one block fits, LRU never hits; LIRS was made for that.
#[test]
fn a_loop_that_does_not_fit_is_kept_by_lirs_and_not_by_lru() {
    let accesses: Vec<u64> = (0..10_100).map(|at| at % 101).collect();
    let of = |kind| hits(kind, &accesses, 100, Shares::default());
    assert_eq!((of(PolicyKind::Lru), of(PolicyKind::Clock)), (0, 0));
    assert!(of(PolicyKind::Lirs) > 9700, "{}", of(PolicyKind::Lirs));
}
