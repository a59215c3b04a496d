//! Journals that are read again while blocks of their copies fail or have changed.

use super::*;
use crate::journal::{Entry, encode};
use imbrex_core::block::Address;
use imbrex_core::media::{Media, Shingled, ZonedSpec};
use imbrex_core::plan::Unit;

const BLOCK: usize = 512;
const RING: u32 = 4096;
const COPIES: [Extent<Pba>; 2] = [Extent::new(Pba::disk(0), RING), Extent::new(Pba::disk(RING as u64), RING)];

fn media() -> Shingled {
    let spec = ZonedSpec { zones: 16, zone_blocks: 1024, conventional_zones: 8, max_open: 0, max_active: 0 };
    Shingled::new(Pba::DISK, spec)
}

/// An entry of one block.
fn block(start: u64, epoch: u32) -> Bytes {
    encode(&Entry::default(), Header { identity: 1, start, epoch, ..Header::default() }, BLOCK).remove(0)
}

/// What comes of reading the journal from `start` to `end` again, and how many blocks are read for it. Nothing is read
/// where `fails` says so, and another epoch's block where `changed` does.
fn read(
    (start, end): (u64, u64),
    fails: impl Fn(Pba) -> bool,
    changed: impl Fn(Pba) -> bool,
) -> (Result<Vec<u64>, Fatal>, u32) {
    let half = start.midpoint(end);
    let segments = [Segment { start, end: half, epoch: 1 }, Segment { start: half, end, epoch: 2 }];
    let segments = segments.into_iter().filter(|segment| segment.start < segment.end);
    let mut again = Again::new(Slots::new(&COPIES, &media()), &segments.collect::<Vec<_>>(), &[]);
    let (mut numbers, mut read) = (Vec::new(), 0);
    loop {
        match again.take() {
            Ok(blocks) => {
                assert!(blocks.len() <= PARTS * PART_BLOCKS as usize);
                numbers.extend(blocks.keys());
            }
            Err(why) => return (Err(why), read),
        }
        let parts = again.next();
        if parts.is_empty() {
            return (Ok(numbers), read);
        }
        for part in parts {
            read += part.blocks;
            if part.iter().any(&fails) {
                again.failed(part.start);
                continue;
            }
            let content = |at: Pba| {
                let (place, ring) = (at.block() % u64::from(RING), u64::from(RING));
                let round = start / ring + u64::from(place < start % ring);
                let number = round * ring + place;
                block(number, if changed(at) { 3 } else { 1 + u32::from(number >= half) })
            };
            again.read(part.start, &part.iter().map(content).collect::<Vec<_>>().concat().into(), 1, BLOCK);
        }
    }
}

#[test]
fn every_block_is_read_once_and_in_order() {
    for (start, end) in [(0, 1), (5, 3000), (u64::from(RING) - 7, u64::from(RING) + 2000)] {
        let (numbers, read) = read((start, end), |_| false, |_| false);
        assert_eq!(numbers, Ok((start..end).collect()));
        assert_eq!(u64::from(read), end - start);
    }
}

#[test]
fn what_one_copy_does_not_give_another_one_does() {
    let second = |at: Pba| at.block() >= u64::from(RING);
    // One copy fails, or is older, or each fails elsewhere.
    let some = |at: Pba| at.block() % 100 == if second(at) { 50 } else { 0 };
    for (fails, changed) in [(0, 2), (2, 0), (3, 2), (2, 3), (1, 2), (2, 1)] {
        let is = |which: i32, at: Pba| match which {
            0 => !second(at),
            1 => second(at),
            3 => some(at),
            _ => false,
        };
        let (numbers, read) = read((0, 500), |at| is(fails, at), |at| is(changed, at));
        assert_eq!(numbers, Ok((0..500).collect()));
        assert!(read <= 1200, "{read} blocks are read");
    }
}

#[test]
fn what_no_copy_gives_is_named() {
    let lost = |at: Pba| at.block() % u64::from(RING) == 77;
    for (fails, changes) in [(true, false), (false, true)] {
        let (numbers, read) = read((0, 500), |at| fails && lost(at), |at| changes && lost(at));
        assert_eq!(numbers, Err(Fatal::JournalUnreadable(77)));
        assert!(read < 600);
    }
}

#[test]
fn zones_are_read_one_by_one() {
    let media = media();
    let copies = [8, 12].map(|zone| media.extent_of(Unit::disk(zone))).map(|zone| Extent::new(zone.start, 4096));
    let mut again = Again::new(Slots::new(&copies, &media), &[Segment { start: 1000, end: 1100, epoch: 1 }], &[]);
    let parts = again.next();
    assert_eq!(parts[..2], [Extent::new(copies[0].start.plus(1000), 16), Extent::new(copies[0].start.plus(1016), 8)]);
}

#[test]
fn no_copy_is_asked_for_what_it_lacks() {
    let segment = |start, end| Segment { start, end, epoch: 1 };
    let lacking = [
        Lacking { copy: COPIES[0], segments: vec![segment(4, 6), segment(20, 30)] },
        Lacking { copy: COPIES[1], segments: vec![segment(10, 12)] },
    ];
    let mut again = Again::new(Slots::new(&COPIES, &media()), &[segment(0, 40)], &lacking);
    let mut read = [0; 2];
    loop {
        let parts = again.next();
        if parts.is_empty() {
            break;
        }
        for part in parts {
            let copy = usize::from(part.start.block() >= RING.into());
            let numbers: Vec<u64> = part.iter().map(|at| at.block() % u64::from(RING)).collect();
            let lacks = |number: &u64| lacking[copy].segments.iter().any(|of| (of.start..of.end).contains(number));
            assert!(!numbers.iter().any(lacks), "{part:?}");
            if numbers.contains(&35) {
                again.failed(part.start);
                continue;
            }
            read[copy] += part.blocks;
            let content: Vec<Bytes> = numbers.iter().map(|number| block(*number, 1)).collect();
            again.read(part.start, &content.concat().into(), 1, BLOCK);
        }
    }
    assert_eq!(again.take().err(), Some(Fatal::JournalUnreadable(35)));
    assert_eq!(read.iter().sum::<u32>(), 39, "{read:?}");
    assert!(read[1] >= 12);
}

#[test]
fn an_entry_is_whole_or_named() {
    let of = |start, index, count| Header { start, index, count, ..Header::default() };
    let add = |headers: &[Header]| -> Result<usize, Fatal> {
        let mut assembly = Assembly::new(BLOCK);
        let mut whole = 0;
        for header in headers {
            whole += usize::from(assembly.add(Block { header: *header, payload: Bytes::new() })?.is_some());
        }
        assembly.end().map(|()| whole)
    };
    assert_eq!(add(&[of(3, 0, 2), of(3, 1, 2), of(5, 0, 1)]), Ok(2));
    for (headers, begins) in [
        (vec![of(3, 1, 2)], 4),
        (vec![of(3, 0, 2)], 3),
        (vec![of(3, 0, 2), of(5, 0, 1)], 3),
        (vec![of(3, 0, 2), of(3, 1, 3)], 3),
        (vec![of(3, 0, 1), of(4, 0, 3), of(4, 2, 3)], 4),
    ] {
        assert_eq!(add(&headers), Err(damaged(begins)));
    }
}
