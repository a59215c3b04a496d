//! What is derived keeps its promises on requests written down here, and on any.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::dense::{Dense, Numbering};
use super::held::{Held, Holding};
use super::prepopulated::{Prepopulated, Prepopulation};
use super::sampled::Sampled;
use crate::{TraceFile, TraceRequest, Workload};
use imbrex_core::block::Access;

const SECOND: u64 = 1_000_000_000;

/// A trace of these requests as a file, which goes with the first value.
fn trace(requests: &[TraceRequest]) -> (tempfile::NamedTempFile, Workload) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let line = |r: &TraceRequest| {
        let kind = if r.access == Access::Write { "Write" } else { "Read" };
        format!("{},host,0,{kind},{},{},0\n", r.arrival_ns / 100, r.offset_bytes, r.bytes)
    };
    std::fs::write(file.path(), requests.iter().map(line).collect::<String>()).unwrap();
    let workload = Workload::File(TraceFile::from(file.path().to_path_buf()));
    (file, workload)
}

fn request(arrival_ns: u64, access: Access, offset_bytes: u64, bytes: u32) -> TraceRequest {
    TraceRequest { arrival_ns, offset_bytes, bytes, access }
}

fn all(workload: &Workload) -> (Vec<TraceRequest>, u64) {
    let (mut source, mut batch, mut all) = (workload.open().unwrap(), Vec::new(), Vec::new());
    loop {
        // Small batches, so that some are left out whole.
        source.fill(&mut batch, 2).unwrap();
        if batch.is_empty() {
            return (all, source.irregularities().unwritten);
        }
        all.extend_from_slice(&batch);
    }
}

fn dense(workload: &Workload, block_bytes: u32) -> Workload {
    let numbering = Numbering::of(&mut *workload.open().unwrap(), block_bytes).unwrap();
    Workload::Dense(Box::new(Dense::new(workload.clone(), numbering)))
}

fn prepopulated(workload: &Workload, share: f64, seed: u64) -> (Vec<TraceRequest>, usize) {
    let before = Prepopulation::of(&mut *workload.open().unwrap(), share, seed).unwrap();
    let requests = before.requests() as usize;
    (all(&Workload::Prepopulated(Box::new(Prepopulated::new(workload.clone(), before)))).0, requests)
}

#[test]
fn written_blocks_lie_side_by_side_in_their_order() {
    let (read, write) = (Access::Read, Access::Write);
    let (_file, workload) = trace(&[
        request(0, write, 40_960, 8192),
        request(1000, write, 4096 + 512, 1024),
        request(2000, read, 0, 65_536),
        request(3000, read, 8192, 4096),
        request(4000, read, 45_056, 16_384),
        request(5000, write, 45_056, 4096 + 100),
    ]);
    let (requests, left_out) = all(&dense(&workload, 4096));
    // Blocks 1, 10, 11 and 12 are written.
    let expected = [
        request(0, write, 4096, 8192),
        request(1000, write, 512, 1024),
        request(2000, read, 0, 16_384),
        request(4000, read, 8192, 8192),
        request(5000, write, 8192, 4096 + 100),
    ];
    assert_eq!((requests.as_slice(), left_out), (&expected[..], 1));
}

fn sampled(workload: &Workload, group: u32) -> Workload {
    let range = workload.range().unwrap();
    Workload::Sampled(Box::new(Sampled::new(workload.clone(), range.requests, range.range_bytes, 4096, group)))
}

#[test]
fn a_followed_block_stands_for_its_neighbours() {
    let write = Access::Write;
    // Of the first groups of 4 blocks, the first and the third block are followed: numbers 0 and 6.
    let requests = [
        request(0, write, 4096, 20_480),
        request(1000, Access::Read, 6 * 4096 + 512, 512),
        request(2000, write, 0, 65_536),
        request(3000, write, 6 * 4096 - 1, 2),
        request(4000, write, 512, 4096),
    ];
    let (_file, workload) = trace(&requests);
    let workload = sampled(&workload, 4);
    let expected = [
        request(1000, Access::Read, 16_384, 16_384),
        request(2000, write, 0, 65_536),
        request(3000, write, 16_384, 16_384),
        request(4000, write, 0, 16_384),
    ];
    assert_eq!(all(&workload).0, expected);
    let range = workload.range().unwrap();
    assert_eq!((range.requests, range.range_bytes), (4, 65_536), "the range is that of the whole");
}

#[test]
fn the_last_addresses_of_a_sample_do_not_overflow() {
    let most = u32::MAX;
    for offset in [u64::MAX - u64::from(most), u64::MAX - 65_536 - u64::from(most), 0, 4095] {
        let (_file, workload) = trace(&[request(0, Access::Write, offset, most)]);
        let (requests, _) = all(&sampled(&workload, 16));
        assert!(requests.len() == 1 && requests[0].offset_bytes.checked_add(requests[0].bytes.into()).is_some());
        assert!(u64::from(most - requests[0].bytes) < 2 * 65_536, "{requests:?}");
    }
}

#[test]
fn a_workload_that_writes_nothing_has_no_dense_form() {
    let (_file, workload) = trace(&[request(0, Access::Read, 0, 512)]);
    let refused = Numbering::of(&mut *workload.open().unwrap(), 4096).unwrap_err().to_string();
    assert!(refused.contains("writes nothing"), "{refused}");
}

/// Requests of up to a hundred blocks in a range of a thousand.
fn any_requests() -> impl Strategy<Value = Vec<TraceRequest>> {
    let one = (any::<bool>(), 0..512_000u64, 1..51_200u32);
    prop::collection::vec(one, 1..60).prop_map(|all| {
        let access = |write| if write { Access::Write } else { Access::Read };
        all.into_iter().map(|(write, offset, bytes)| request(0, access(write), offset, bytes)).collect()
    })
}

proptest! {
    #[test]
    fn a_dense_request_is_of_the_same_blocks(requests in any_requests()) {
        let (_file, workload) = trace(&requests);
        let writes = requests.iter().filter(|r| r.access == Access::Write);
        let written: BTreeSet<u64> = writes.flat_map(|r| r.blocks(512).iter()).map(|lba| lba.0).collect();
        prop_assume!(!written.is_empty());
        let written: Vec<u64> = written.into_iter().collect();
        let workload = dense(&workload, 512);
        let (got, left_out) = all(&workload);
        let mut got = got.into_iter();
        let mut without = 0;
        for original in &requests {
            let blocks: Vec<u64> = original.blocks(512).iter().map(|lba| lba.0).collect();
            let kept: Vec<u64> = blocks.iter().copied().filter(|block| written.binary_search(block).is_ok()).collect();
            if kept.is_empty() {
                without += 1;
                continue;
            }
            let dense = got.next().unwrap();
            let now: Vec<u64> = dense.blocks(512).iter().map(|lba| written[lba.0 as usize]).collect();
            prop_assert_eq!(&now, &kept);
            prop_assert!(original.access == Access::Read || dense.bytes == original.bytes);
        }
        prop_assert!(got.next().is_none());
        prop_assert_eq!(left_out, without);
        let Workload::Dense(dense) = &workload else { unreachable!() };
        prop_assert_eq!(dense.numbering().blocks(), written.len() as u64);
    }
}

/// A write each half second, at an address that tells when, and a read beside each; pauses of a minute every 15 s.
fn paced(seconds: u64) -> (tempfile::NamedTempFile, Workload) {
    let at = |half: u64| half * SECOND / 2 + half / 30 * 60 * SECOND;
    let both = |half: u64| {
        let write = request(at(half), Access::Write, half * 4096, 4096);
        [write, request(at(half) + 100, Access::Read, half * 4096, 4096)]
    };
    trace(&(0..2 * seconds).flat_map(both).collect::<Vec<_>>())
}

#[test]
fn chunks_of_ten_active_seconds_are_shuffled_whole() {
    let (_file, workload) = paced(100);
    let (requests, before) = prepopulated(&workload, 1.0, 1);
    assert_eq!((before, requests.len()), (200, 200 + 400));
    let first: Vec<u64> = requests[..before].iter().map(|r| r.offset_bytes / 4096).collect();
    let begins: Vec<u64> = first.chunks(20).map(|chunk| chunk[0]).collect();
    assert!(begins.iter().all(|begin| begin % 20 == 0), "{begins:?}");
    assert!(!begins.is_sorted(), "{begins:?}");
    for chunk in first.chunks(20) {
        assert!(chunk.iter().zip(chunk[0]..).all(|(at, expected)| *at == expected), "{chunk:?}");
    }
    assert!(requests[..before].iter().all(|r| r.access == Access::Write));
    assert!(requests.is_sorted_by_key(|r| r.arrival_ns));
    let begins_ns = requests[before].arrival_ns;
    let shifted = requests[before..].iter().map(|r| TraceRequest { arrival_ns: r.arrival_ns - begins_ns, ..*r });
    assert_eq!(shifted.collect::<Vec<_>>(), all(&workload).0, "the workload itself follows");
}

/// Times are counted from the first request, whatever comes first.
#[test]
fn a_workload_made_of_another_begins_at_its_first_request() {
    let (read, write) = (Access::Read, Access::Write);
    let (_file, workload) =
        trace(&[request(0, read, 0, 4096), request(700, write, 8192, 4096), request(900, write, 8192, 4096)]);
    let times = |requests: &[TraceRequest]| requests.iter().map(|r| r.arrival_ns).collect::<Vec<_>>();
    assert_eq!(times(&all(&dense(&workload, 4096)).0), [0, 200]);
    let (requests, before) = prepopulated(&workload, 1.0, 1);
    assert_eq!(times(&requests[..before]), [0, 200]);
    assert_eq!(times(&requests[before..]), [SECOND, SECOND + 700, SECOND + 900]);
}

#[test]
fn a_share_is_taken_exactly_and_shuffled_by_itself() {
    let (_file, workload) = paced(100);
    let offsets = |share, seed| {
        let (requests, before) = prepopulated(&workload, share, seed);
        requests[..before].iter().map(|r| r.offset_bytes).collect::<Vec<_>>()
    };
    assert_eq!(offsets(0.25, 1).len(), 50);
    assert_eq!(offsets(0.0, 1).len(), 0);
    assert_eq!(offsets(0.5, 1), offsets(0.5, 1));
    assert_ne!(offsets(0.5, 1), offsets(0.5, 2));
    assert_ne!(offsets(0.25, 1)[..], offsets(0.5, 1)[..50], "a quarter is not the beginning of a half");
}

#[test]
fn writes_alone_are_aged_as_they_are_among_reads() {
    let (_file, workload) = paced(100);
    let alone = Held::writes(workload.clone(), &mut *workload.open().unwrap()).unwrap();
    let alone = Workload::Held(Box::new(alone));
    assert_eq!(alone.open().unwrap().info(), workload.open().unwrap().info());
    let writes = |requests: Vec<TraceRequest>| -> Vec<TraceRequest> {
        requests.into_iter().filter(|request| request.access == Access::Write).collect()
    };
    assert_eq!(all(&alone).0, writes(all(&workload).0));
    let (aged, before) = prepopulated(&alone, 0.5, 1);
    let (among_reads, as_many) = prepopulated(&workload, 0.5, 1);
    assert_eq!((aged, before), (writes(among_reads), as_many));
    assert_eq!(alone.file(), workload.file());
}

#[test]
fn requests_are_held_as_they_were_read_unless_there_are_too_many() {
    let (_file, workload) = paced(100);
    let held = |most: usize| {
        let mut source = workload.open().unwrap();
        let mut holding = Holding::new(&mut *source, most);
        let range = workload.range_of(&mut holding).unwrap();
        (range, holding.held(&workload).map(|held| Workload::Held(Box::new(held))))
    };
    let requests = all(&workload).0;
    let (range, whole) = held(requests.len());
    assert_eq!(range, workload.range().unwrap());
    let whole = whole.unwrap();
    assert_eq!(all(&whole).0, requests);
    assert_eq!(whole.open().unwrap().info(), workload.open().unwrap().info());
    assert_eq!((whole.file(), whole.range().unwrap()), (workload.file(), range));
    assert_eq!(held(requests.len() - 1), (range, None));
    assert_eq!(held(0).1, None);
}
