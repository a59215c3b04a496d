//! The requests of a measurement: generated before the clock starts and handed out from memory.

use std::sync::Arc;

use imbrex::trace::synthetic::{ArrivalSpec, Generator, Pattern, SizeShare, StreamSpec, SyntheticSpec};
use imbrex::trace::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 4096;

/// Writes of single blocks over `range_bytes` that arrive faster than the disk serves them. Writes, because they are
/// what a layer has to work for; faster, so that no idle time is offered to layers that have no use for it.
pub fn spec(pattern: Pattern, range_bytes: u64, requests: u64) -> SyntheticSpec {
    SyntheticSpec {
        name: "bench".to_owned(),
        description: String::new(),
        seed: 1,
        requests,
        range_bytes,
        grain_kib: 4,
        write_ratio: 1.0,
        sizes: vec![SizeShare { kib: 4, weight: 1 }],
        arrivals: ArrivalSpec { mean_rate: 1000.0, bursts: None },
        streams: vec![StreamSpec::new(1, pattern)],
    }
}

/// All requests of `spec`.
pub fn generate(spec: &SyntheticSpec) -> Result<Arc<[TraceRequest]>, TraceError> {
    let mut all = Vec::with_capacity(spec.requests as usize);
    drain(&mut Generator::new(spec)?, |batch| all.extend_from_slice(batch))?;
    Ok(all.into())
}

/// Hands every batch of `source` to `each`.
pub fn drain(source: &mut dyn TraceSource, mut each: impl FnMut(&[TraceRequest])) -> Result<(), TraceError> {
    const BATCH: usize = 4096;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            return Ok(());
        }
        each(&batch);
    }
}

/// A trace that lies in memory.
pub struct InMemory {
    info: TraceInfo,
    requests: Arc<[TraceRequest]>,
    next: usize,
}

impl InMemory {
    pub fn new(requests: Arc<[TraceRequest]>) -> Self {
        let info = TraceInfo {
            name: "bench".into(),
            format: TraceFormat::Synthetic,
            compression: Compression::None,
            synthetic: true,
        };
        Self { info, requests, next: 0 }
    }
}

impl TraceSource for InMemory {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        let end = self.requests.len().min(self.next + limit);
        batch.clear();
        batch.extend_from_slice(&self.requests[self.next..end]);
        self.next = end;
        Ok(())
    }
}
