//! Windows against a plain computation from their definition, and by hand.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Blocks of a zone.
const ZONE: u64 = 65_536;

/// The means by definition, of the blocks that each write touches.
pub fn plain(distinct: usize, writes: &[Vec<u64>]) -> WindowMeans {
    let (mut windows, mut open) = (Vec::new(), Vec::new());
    for blocks in writes {
        open.extend_from_slice(blocks);
        if open.iter().collect::<BTreeSet<_>>().len() >= distinct {
            windows.push(std::mem::take(&mut open));
        }
    }
    let mean = |figure: fn(&[u64]) -> f64| {
        let sum = windows.iter().fold(0.0, |sum, window| sum + figure(window));
        (!windows.is_empty()).then(|| sum / windows.len() as f64)
    };
    WindowMeans {
        windows: windows.len() as u64,
        effective_zones: mean(|window| {
            let squares: u64 = in_zones(window).iter().map(|blocks| blocks * blocks).sum();
            in_zones(window).iter().sum::<u64>().pow(2) as f64 / squares as f64
        }),
        top_zone_share: mean(|window| {
            let zones = in_zones(window);
            *zones.iter().max().unwrap() as f64 / zones.iter().sum::<u64>() as f64
        }),
        blocks_per_chunk: mean(|window| divided(window, 1) as f64 / divided(window, 16) as f64),
        writes_per_block: mean(|window| window.len() as f64 / divided(window, 1) as f64),
    }
}

/// How many distinct pieces of `by` blocks a window's blocks lie in.
fn divided(window: &[u64], by: u64) -> usize {
    window.iter().map(|block| block / by).collect::<BTreeSet<_>>().len()
}

/// The distinct blocks of each zone.
fn in_zones(window: &[u64]) -> Vec<u64> {
    let mut zones: BTreeMap<u64, u64> = BTreeMap::new();
    let blocks: BTreeSet<u64> = window.iter().copied().collect();
    blocks.iter().for_each(|block| *zones.entry(block / ZONE).or_default() += 1);
    zones.into_values().collect()
}

fn measured<const DISTINCT: u64>(writes: &[(u64, u32)]) -> WindowMeans {
    let mut windows = Windows::<DISTINCT>::default();
    writes.iter().for_each(|&(start, blocks)| windows.write(Extent::new(Lba(start), blocks)));
    windows.means()
}

#[test]
fn a_window_by_hand() {
    // Blocks 15 and 16 lie in two chunks; three of the four blocks in zone 0, one in zone 2; 15 is written twice.
    let means = measured::<4>(&[(15, 2), (15, 1), (2 * ZONE, 1), (17, 1)]);
    assert_eq!(means.windows, 1);
    assert_eq!(means.effective_zones, Some(1.0 / (0.75 * 0.75 + 0.25 * 0.25)));
    assert_eq!(means.top_zone_share, Some(0.75));
    assert_eq!(means.blocks_per_chunk, Some(4.0 / 3.0));
    assert_eq!(means.writes_per_block, Some(1.25));
}

#[test]
fn figures_are_means_over_windows() {
    // The first window is two zones of one block each, the second one zone of two blocks in a chunk, the first twice.
    let means = measured::<2>(&[(0, 1), (ZONE, 1), (ZONE, 1), (ZONE, 2)]);
    let expected = [Some(1.5), Some(0.75), Some(1.5), Some(1.25)];
    let WindowMeans { windows, effective_zones, top_zone_share, blocks_per_chunk, writes_per_block } = means;
    assert_eq!((windows, [effective_zones, top_zone_share, blocks_per_chunk, writes_per_block]), (2, expected));
}

#[test]
fn a_write_is_not_split_between_windows() {
    let means = measured::<4>(&[(0, 3), (ZONE - 1, 5), (0, 3)]);
    assert_eq!((means.windows, means.top_zone_share), (1, Some(0.5)));
    assert_eq!(means.blocks_per_chunk, Some(8.0 / 3.0));
}

#[test]
fn what_does_not_fill_a_window_is_not_shown() {
    let none = WindowMeans::default();
    assert_eq!((measured::<4>(&[]), measured::<4>(&[(7, 3), (7, 3)])), (none, none));
    assert_eq!(measured::<4>(&[(0, 4)]), measured::<4>(&[(0, 4), (9 * ZONE, 3)]));
}

#[test]
fn a_table_is_no_larger_than_one_window_needs() {
    let mut windows = Windows::<1024>::default();
    (0..100_000).for_each(|at| windows.write(Extent::new(Lba(at * 640), 1)));
    assert_eq!(windows.means().windows, 97);
    assert!(windows.pages.capacity() < 2048, "{}", windows.pages.capacity());
}

proptest! {
    #[test]
    fn windows_are_as_defined(
        writes in prop::collection::vec((0u64..3, 0u64..400, 1u32..200), 0..200), runs: bool,
    ) {
        let place = |&(zone, at, blocks): &(u64, u64, u32)| (zone * ZONE + ZONE - 200 + at, if runs { blocks } else { 1 });
        let writes: Vec<_> = writes.iter().map(place).collect();
        let blocks: Vec<Vec<u64>> = writes.iter().map(|&(at, n)| (at..at + u64::from(n)).collect()).collect();
        prop_assert_eq!(measured::<1>(&writes), plain(1, &blocks));
        prop_assert_eq!(measured::<7>(&writes), plain(7, &blocks));
        prop_assert_eq!(measured::<100>(&writes), plain(100, &blocks));
    }
}
