//! The writes of a workload alone, held in memory: what a layer makes of writes is measured without the reads between
//! them, and without reading or generating the workload again for each run.

use std::sync::Arc;

use crate::{BATCH, Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource, Workload};
use imbrex_core::block::Access;

/// The writes of a workload. They take 24 bytes each.
#[derive(Clone, PartialEq, Debug)]
pub struct Writes {
    of: Workload,
    info: TraceInfo,
    volume: Option<String>,
    irregularities: Irregularities,
    requests: Arc<Vec<TraceRequest>>,
}

impl Writes {
    /// The writes of `source`, which is `of` or the beginning of it. Reads it to its end.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn of(of: Workload, source: &mut dyn TraceSource) -> Result<Self, TraceError> {
        let (requests, _) = gathered(source)?;
        Ok(Self {
            of,
            info: source.info().clone(),
            volume: source.volume(),
            irregularities: source.irregularities(),
            requests: Arc::new(requests),
        })
    }

    /// The workload with its reads.
    #[must_use]
    pub fn original(&self) -> &Workload {
        &self.of
    }

    /// Opens it at its first request.
    pub(crate) fn open(&self) -> WritesSource {
        WritesSource { writes: self.clone(), done: 0 }
    }
}

/// All writes of a source, and how many requests it has.
pub(super) fn gathered(source: &mut dyn TraceSource) -> Result<(Vec<TraceRequest>, u64), TraceError> {
    let (mut writes, mut requests) = (Vec::new(), 0);
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            return Ok((writes, requests));
        }
        requests += batch.len() as u64;
        writes.extend(batch.iter().filter(|request| request.access == Access::Write));
    }
}

/// The requests of [`Writes`].
pub(crate) struct WritesSource {
    writes: Writes,
    done: usize,
}

impl TraceSource for WritesSource {
    fn info(&self) -> &TraceInfo {
        &self.writes.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        let rest = &self.writes.requests[self.done..];
        batch.extend_from_slice(&rest[..rest.len().min(limit)]);
        self.done += batch.len();
        Ok(())
    }

    fn volume(&self) -> Option<String> {
        self.writes.volume.clone()
    }

    fn share_done(&self) -> Option<f64> {
        Some(self.done as f64 / self.writes.requests.len().max(1) as f64)
    }

    fn irregularities(&self) -> Irregularities {
        self.writes.irregularities
    }
}
