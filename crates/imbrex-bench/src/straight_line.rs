//! The baseline: what a replay must compute, as straight code. No plan, no dispatch, no rules of the media, no
//! batches.

use hdrhistogram::Histogram;
use imbrex::mechanics::{Mechanics, SECTOR_BYTES};
use imbrex::trace::TraceRequest;

use super::requests::BLOCK_BYTES;

/// Sectors of a block.
const SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES as u64;

/// Blocks lie where their numbers say: what `conventional` has to do for writes.
pub fn in_place(mechanics: &mut Mechanics, requests: &[TraceRequest]) -> Totals {
    serve(mechanics, requests, |block| block)
}

/// Blocks lie where a table says: what a layer with a full map would have to do for overwrites.
pub fn mapped(mechanics: &mut Mechanics, table: &[u32], requests: &[TraceRequest]) -> Totals {
    serve(mechanics, requests, |block| u64::from(table[block as usize]))
}

/// What a replay counts for each request of the host, in the same widths.
pub struct Totals {
    pub requests: u64,
    pub blocks: u64,
    pub bytes: u64,
    pub media_blocks: u64,
    pub busy_ns: u64,
    pub latency_ns: u128,
    pub max_latency_ns: u64,
    pub latencies: Histogram<u64>,
}

impl Totals {
    fn new() -> Self {
        // The bounds and digits of a replay's histograms.
        let latencies = Histogram::new_with_bounds(1_000, 1 << 53, 3).expect("the bounds are constants in order");
        let (requests, blocks, bytes, media_blocks, busy_ns) = (0, 0, 0, 0, 0);
        Self { requests, blocks, bytes, media_blocks, busy_ns, latency_ns: 0, max_latency_ns: 0, latencies }
    }
}

#[inline]
fn serve(mechanics: &mut Mechanics, requests: &[TraceRequest], place: impl Fn(u64) -> u64) -> Totals {
    let mut totals = Totals::new();
    let mut now_ns = 0;
    for request in requests {
        let at = request.blocks(BLOCK_BYTES as u32);
        let begun_ns = request.arrival_ns.max(now_ns);
        now_ns = mechanics.access(begun_ns, place(at.start.0) * SECTORS, u64::from(at.blocks) * SECTORS, true);
        let latency_ns = now_ns - request.arrival_ns;
        totals.requests += 1;
        totals.blocks += u64::from(at.blocks);
        totals.bytes += u64::from(request.bytes);
        totals.media_blocks += u64::from(at.blocks);
        totals.busy_ns += now_ns - begun_ns;
        totals.latency_ns += u128::from(latency_ns);
        totals.max_latency_ns = totals.max_latency_ns.max(latency_ns);
        totals.latencies.saturating_record(latency_ns);
    }
    totals
}
