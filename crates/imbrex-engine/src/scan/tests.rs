//! Scans of rings that hold much or little, with blocks in them that cannot be read.

use super::*;
use crate::journal::{Entry, encode};

const RING: u32 = 100;

fn copies(ring: u32) -> [Extent<Pba>; 2] {
    [Extent::new(Pba::disk(10), ring), Extent::new(Pba::disk(10 + 4 * u64::from(ring)), ring)]
}

/// Reads everything but `bad` of a ring that the blocks up to `head` were written to, in both copies, each when
/// those before it were durable; `tail` is what they say it is.
fn scan(head: u64, tail: u64, bad: &[u64]) -> (u32, Result<Vec<u64>, Fatal>) {
    scan_of(RING, head, |start| Header { start, tail, durable: start, ..Header::default() }, bad)
}

/// How many blocks are read of a ring so long, and the numbers of those that count.
fn scan_of(ring: u32, head: u64, says: impl Fn(u64) -> Header, bad: &[u64]) -> (u32, Result<Vec<u64>, Fatal>) {
    let content = |place: u64| {
        let (rounds, rest) = (head / u64::from(ring), head % u64::from(ring));
        let round = if place < rest { Some(rounds) } else { rounds.checked_sub(1) };
        round.map_or(Bytes::from(vec![0; 512]), |round| {
            let start = round * u64::from(ring) + place;
            encode(&Entry::default(), Header { identity: 1, ..says(start) }, 512).remove(0)
        })
    };
    let (copies, mut read) = (copies(ring), 0);
    let mut scan = Scan::new(&copies);
    loop {
        let parts = scan.next();
        if parts.is_empty() {
            let numbers = |found: Runs| {
                copies.iter().flat_map(|copy| found.of_copy(copy)).flat_map(|run| run.start..run.end).collect()
            };
            return (read, scan.finish().map(numbers));
        }
        for part in parts {
            if bad.iter().any(|block| part.contains(Pba::disk(*block))) {
                scan.failed(part.start);
                continue;
            }
            read += part.blocks;
            let copy = copies.iter().find(|copy| copy.contains(part.start)).unwrap();
            let data: Vec<Bytes> = part.iter().map(|block| content(block.since(copy.start))).collect();
            scan.read(part.start, &data.concat().into(), 1, 512);
        }
    }
}

/// A ring for the map of a whole drive, of which little is in use.
#[test]
fn what_is_read_of_a_long_ring_follows_what_is_in_use() {
    const LONG: u32 = 17_300_000;
    for (head, tail) in [(1, 0), (700, 0), (40_000, 33_333), (u64::from(LONG) + 5, u64::from(LONG) - 5)] {
        for bad in [vec![], vec![10], vec![10 + tail % u64::from(LONG), 11 + head % u64::from(LONG)]] {
            let says = |start| Header { start, tail: tail.min(start), durable: start, ..Header::default() };
            let (read, numbers) = scan_of(LONG, head, says, &bad);
            let mut numbers = numbers.unwrap();
            numbers.sort_unstable();
            numbers.retain(|number| *number >= tail);
            numbers.dedup();
            assert_eq!(numbers, (tail..head).collect::<Vec<u64>>());
            assert!(u64::from(read) < 2 * (head - tail) + 3000, "{read} blocks are read for {tail} to {head}");
        }
    }
}

#[test]
fn only_what_counts_is_read() {
    let twice = |numbers: std::ops::Range<u64>| numbers.clone().chain(numbers).collect::<Vec<u64>>();
    let sorted = |head, tail: u64| {
        let (read, numbers) = scan(head, tail, &[]);
        let mut numbers = numbers.unwrap();
        numbers.sort_unstable();
        (read, numbers)
    };
    let expected = |range| {
        let mut numbers = twice(range);
        numbers.sort_unstable();
        numbers
    };
    // 7 first blocks of each copy, and then the two stretches that hold something and those beside them.
    assert_eq!(sorted(20, 0), (14 + 96 + 8, expected(0..20)));
    // The ring has come round; of the seven stretches two hold only what lies before the tail.
    assert_eq!(sorted(230, 190), (14 + 2 * (100 - 32), expected(190..230)));
    assert_eq!(sorted(0, 0), (14 + 200, vec![]));
}

#[test]
fn what_one_copy_does_not_give_another_one_may() {
    let (_, numbers) = scan(100, 0, &[10, 29, 411]);
    assert_eq!(numbers.unwrap().len(), 197);
    assert!(scan(100, 0, &[11, 411]).1.unwrap_err().to_string().contains("block 1 "));
}

#[test]
fn the_tail_of_what_may_not_be_durable_is_not_believed() {
    let says = |start| {
        let (tail, durable) = if start < 32 { (0, start) } else { (32, 32) };
        Header { start, tail, durable, ..Header::default() }
    };
    let (_, numbers) = scan_of(RING, 40, says, &[]);
    assert!(numbers.unwrap().contains(&0), "the last commit may not be whole, and then the older tail counts");
}
