//! What is written to compare with closed forms: uniformly random requests, and a trace that is made up as it is
//! replayed.

use imbrex_core::block::Access;
use imbrex_trace::synthetic::{ArrivalSpec, Pattern, SizeShare, StreamSpec, SyntheticSpec};
use imbrex_trace::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};

/// Bytes of a block.
pub(super) const BLOCK: u32 = 4096;

/// Writes of `kib` KiB, at any multiple of it.
pub(super) fn uniform(range_bytes: u64, kib: u32, requests: u64) -> SyntheticSpec {
    SyntheticSpec {
        name: "uniform".to_owned(),
        description: String::new(),
        seed: 1,
        requests,
        range_bytes,
        grain_kib: kib,
        write_ratio: 1.0,
        sizes: vec![SizeShare { kib, weight: 1 }],
        arrivals: ArrivalSpec { mean_rate: 100.0, bursts: None },
        streams: vec![StreamSpec::new(1, Pattern::Uniform)],
    }
}

/// Writes of blocks at times in ns.
pub(super) struct Writes<I> {
    info: TraceInfo,
    writes: I,
}

impl<I: Iterator<Item = (u64, u64)>> Writes<I> {
    /// Writes at `(time, block)`.
    pub fn new(writes: I) -> Self {
        // No format of its own: it is not looked at.
        let info = TraceInfo {
            name: "writes".into(),
            format: TraceFormat::Synthetic,
            compression: Compression::None,
            synthetic: true,
        };
        Self { info, writes }
    }
}

impl<I: Iterator<Item = (u64, u64)> + Send> TraceSource for Writes<I> {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.writes.by_ref().take(limit).map(|(arrival_ns, block)| TraceRequest {
            arrival_ns,
            access: Access::Write,
            offset_bytes: block * u64::from(BLOCK),
            bytes: BLOCK,
        }));
        Ok(())
    }
}
