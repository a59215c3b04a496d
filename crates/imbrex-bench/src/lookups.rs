//! What the memory can do: independent random reads of a table as large as a full map.

use std::hint::black_box;

use super::requests::BLOCK_BYTES;
use super::{Best, Report, Scale};

/// One entry for each block of 256 GiB.
const ENTRIES: u64 = (256 << 30) / BLOCK_BYTES;

/// Adds the rate of lookups whose addresses are known beforehand, so that their misses overlap.
pub fn measure(scale: Scale, report: &mut Report) {
    report.begin("bare lookups");
    let table: Vec<u32> = (0..ENTRIES as u32).collect();
    // Fibonacci hashing of a counter: computed, not loaded, so that the table's misses are the only ones.
    let place = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ENTRIES.ilog2())) as usize;
    let mut best = Best::default();
    for repetition in 0..u64::from(scale.repetitions) {
        let first = repetition * scale.requests;
        best.of(scale.requests, || {
            let sum = (first..first + scale.requests).fold(0, |sum: u32, i| sum.wrapping_add(table[place(i)]));
            black_box(sum)
        });
    }
    report.add("bare lookups", best.0, "lookups/s", "independent random u32 of a 256 MiB table: the memory's limit");
}
