//! What the requests themselves tell: counts, lengths, the addresses they reach. Takes no memory.

use crate::TraceRequest;
use imbrex_core::block::Access;

/// Bytes of a block in all statistics that count blocks.
pub const BLOCK_BYTES: u32 = 4096;

/// Sums over all requests.
#[derive(Clone, Default)]
pub struct RequestSums {
    /// Requests of every kind.
    pub requests: u64,
    /// Reads.
    pub reads: Sums,
    /// Writes.
    pub writes: Sums,
    /// Reads and writes that begin and end at a block's border.
    pub aligned: u64,
    /// The lowest byte read or written, and the one after the highest.
    pub span: Option<(u64, u64)>,
    /// When the last request arrives.
    pub duration_ns: u64,
}

/// Sums over requests of one kind.
#[derive(Clone, Default)]
pub struct Sums {
    /// How many requests there are.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The blocks they touch, each counted as often as it is touched.
    pub blocks: u64,
}

impl RequestSums {
    /// Counts a request.
    #[inline]
    pub fn add(&mut self, request: &TraceRequest) {
        self.requests += 1;
        self.duration_ns = request.arrival_ns;
        let sums = match request.access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
            Access::Trim => return,
        };
        sums.requests += 1;
        sums.bytes += u64::from(request.bytes);
        sums.blocks += u64::from(request.blocks(BLOCK_BYTES).blocks);
        let (start, end) = (request.offset_bytes, request.end_bytes());
        self.aligned += u64::from((start | end).is_multiple_of(BLOCK_BYTES.into()));
        let (lowest, highest) = self.span.unwrap_or((start, end));
        self.span = Some((lowest.min(start), highest.max(end)));
    }
}
