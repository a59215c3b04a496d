//! Requests of a workload, or its writes alone, held in memory: what many layers or settings make of them is measured
//! without reading or generating the workload again for each run.

use std::sync::Arc;

use crate::{BATCH, Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource, Workload};
use imbrex_core::block::Access;

/// Requests of a workload. They take 24 bytes each.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    of: Workload,
    info: TraceInfo,
    volume: Option<String>,
    irregularities: Irregularities,
    requests: Arc<Vec<TraceRequest>>,
}

impl Held {
    /// The writes of `source`, which is `of` or the beginning of it. Reads it to its end.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn writes(of: Workload, source: &mut dyn TraceSource) -> Result<Self, TraceError> {
        let (requests, _) = gathered_writes(source)?;
        Ok(Self::of(of, source, requests))
    }

    /// Requests that were read from `source`.
    fn of(of: Workload, source: &dyn TraceSource, mut requests: Vec<TraceRequest>) -> Self {
        requests.shrink_to_fit();
        Self {
            of,
            info: source.info().clone(),
            volume: source.volume(),
            irregularities: source.irregularities(),
            requests: Arc::new(requests),
        }
    }

    /// The workload with all of its requests.
    #[must_use]
    pub fn original(&self) -> &Workload {
        &self.of
    }

    /// Opens it at its first request.
    pub(crate) fn open(&self) -> HeldSource {
        HeldSource { held: self.clone(), done: 0 }
    }
}

/// All writes of a source, and how many requests it has.
pub(super) fn gathered_writes(source: &mut dyn TraceSource) -> Result<(Vec<TraceRequest>, u64), TraceError> {
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

/// A source whose requests are held as they are read, unless there are too many of them.
pub struct Holding<'a> {
    source: &'a mut dyn TraceSource,
    most: usize,
    /// Those so far; nothing when they were too many.
    requests: Option<Vec<TraceRequest>>,
}

impl<'a> Holding<'a> {
    /// Holds the requests of `source`, of which nothing was read yet, if they are no more than `most`.
    pub fn new(source: &'a mut dyn TraceSource, most: usize) -> Self {
        Self { source, most, requests: Some(Vec::new()) }
    }

    /// What was read of the source, which is `of` or the beginning of it.
    pub fn held(self, of: &Workload) -> Option<Held> {
        Some(Held::of(of.clone(), self.source, self.requests?))
    }
}

impl TraceSource for Holding<'_> {
    fn info(&self) -> &TraceInfo {
        self.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        self.source.fill(batch, limit)?;
        self.requests = self.requests.take().filter(|held| held.len() + batch.len() <= self.most);
        self.requests.iter_mut().for_each(|held| held.extend_from_slice(batch));
        Ok(())
    }

    fn volume(&self) -> Option<String> {
        self.source.volume()
    }

    fn share_done(&self) -> Option<f64> {
        self.source.share_done()
    }

    fn irregularities(&self) -> Irregularities {
        self.source.irregularities()
    }

    fn remarks(&self) -> &[String] {
        self.source.remarks()
    }
}

/// The requests that are [`Held`].
pub(crate) struct HeldSource {
    held: Held,
    done: usize,
}

impl TraceSource for HeldSource {
    fn info(&self) -> &TraceInfo {
        &self.held.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        let rest = &self.held.requests[self.done..];
        batch.extend_from_slice(&rest[..rest.len().min(limit)]);
        self.done += batch.len();
        Ok(())
    }

    fn volume(&self) -> Option<String> {
        self.held.volume.clone()
    }

    fn share_done(&self) -> Option<f64> {
        Some(self.done as f64 / self.held.requests.len().max(1) as f64)
    }

    fn irregularities(&self) -> Irregularities {
        self.held.irregularities
    }
}
