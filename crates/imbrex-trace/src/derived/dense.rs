//! Dense workloads: the blocks that a workload writes are numbered from 0 on, in the order of their addresses.
//!
//! A volume has room that its trace never writes to, and a disk that holds the trace alone may be as small as what is
//! written. Source: the disk of Jones et al., ACM TOS 12(1), 2016, §4, which is smaller than the address range of its
//! traces. Neighbours stay neighbours, so a written extent is one extent again; what lay apart moves together, so seek
//! times say nothing about the volume.
//!
//! A read or a trim keeps the part that is written at some time; a request without such a part is left out and counted
//! ([`Irregularities::unwritten`]).

use std::sync::Arc;

use super::Limited;
use crate::{BATCH, Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource, Workload};
use imbrex_core::block::{Access, Extent, Lba};

/// Extents that are gathered before they are merged with those known; 16 MiB.
const GATHERED: usize = 1 << 20;

/// The numbers of written blocks. Takes 16 bytes for each run of them.
#[derive(PartialEq, Debug)]
pub struct Numbering {
    block_bytes: u32,
    /// In order, apart from each other.
    runs: Vec<Run>,
    /// Blocks that have a number.
    blocks: u64,
    /// Requests that were looked at.
    requests: u64,
}

/// Blocks that follow each other.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Run {
    /// The first block after the last.
    end: u64,
    /// How many blocks have a number in this run and in those before.
    numbered: u64,
}

/// Runs of written blocks that may overlap.
#[derive(Default)]
struct Gathered {
    runs: Vec<(u64, u64)>,
    merged: usize,
}

impl Gathered {
    fn add(&mut self, at: Extent<Lba>) {
        let (start, end) = (at.start.0, at.end().0);
        match self.runs.last_mut() {
            Some(last) if (last.0..=last.1).contains(&start) => last.1 = last.1.max(end),
            _ => self.runs.push((start, end)),
        }
        if self.runs.len() >= 2 * self.merged + GATHERED {
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.runs.sort_unstable();
        self.runs.dedup_by(|next, run| {
            let meet = next.0 <= run.1;
            if meet {
                run.1 = run.1.max(next.1);
            }
            meet
        });
        self.merged = self.runs.len();
    }
}

impl Numbering {
    /// Numbers the blocks of `block_bytes`, a power of two, that `source` writes, be it by a single byte. Reads it to
    /// its end.
    ///
    /// # Errors
    /// When the source cannot be read or writes nothing.
    pub fn of(source: &mut dyn TraceSource, block_bytes: u32) -> Result<Self, TraceError> {
        let mut gathered = Gathered::default();
        let mut batch = Vec::with_capacity(BATCH);
        let mut requests = 0;
        loop {
            source.fill(&mut batch, BATCH)?;
            if batch.is_empty() {
                break;
            }
            requests += batch.len() as u64;
            let writes = batch.iter().filter(|request| request.access == Access::Write);
            writes.for_each(|request| gathered.add(request.blocks(block_bytes)));
        }
        gathered.merge();
        if gathered.runs.is_empty() {
            return Err(TraceError::NothingWritten { file: source.info().name.clone() });
        }
        let mut blocks = 0;
        let number = |(start, end): (u64, u64)| {
            blocks += end - start;
            Run { end, numbered: blocks }
        };
        let runs = gathered.runs.into_iter().map(number).collect();
        Ok(Self { block_bytes, runs, blocks, requests })
    }

    /// Blocks that have a number: the address range of the dense workload.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Blocks below `block` that have a number, and whether it has one itself. So all blocks of an extent that have a
    /// number follow each other.
    fn before(&self, block: u64) -> (u64, bool) {
        let at = self.runs.partition_point(|run| run.end <= block);
        let before = at.checked_sub(1).map_or(0, |at| self.runs[at].numbered);
        let Some(run) = self.runs.get(at) else { return (self.blocks, false) };
        let first = run.end - (run.numbered - before);
        if block < first { (before, false) } else { (before + (block - first), true) }
    }

    /// The request at its new address, if any of its blocks has a number.
    fn renumbered(&self, request: &TraceRequest) -> Option<TraceRequest> {
        let at = request.blocks(self.block_bytes);
        let (first, has_first) = self.before(at.start.0);
        let (last, has_last) = self.before(at.end().0 - 1);
        let end = last + u64::from(has_last);
        if end == first {
            return None;
        }
        // The part of its first and last block that a request leaves out it leaves out where these blocks are now.
        let block_bytes = u64::from(self.block_bytes);
        let skipped = if has_first { request.offset_bytes % block_bytes } else { 0 };
        let spared = if has_last { (block_bytes - request.end_bytes() % block_bytes) % block_bytes } else { 0 };
        let offset_bytes = first * block_bytes + skipped;
        let bytes = end * block_bytes - spared - offset_bytes;
        // No longer than it was.
        Some(TraceRequest { offset_bytes, bytes: bytes as u32, ..*request })
    }
}

/// A workload whose written blocks are numbered.
#[derive(Clone, PartialEq, Debug)]
pub struct Dense {
    of: Workload,
    numbering: Arc<Numbering>,
}

impl Dense {
    /// The requests of `of` that `numbering` was made of, at their numbers.
    #[must_use]
    pub fn new(of: Workload, numbering: Numbering) -> Self {
        Self { of, numbering: Arc::new(numbering) }
    }

    /// The workload at its own addresses.
    #[must_use]
    pub fn original(&self) -> &Workload {
        &self.of
    }

    /// The numbers.
    #[must_use]
    pub fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// Opens it at its first request.
    pub(crate) fn open(&self) -> Result<DenseSource, TraceError> {
        let source = Limited::open(&self.of, self.numbering.requests)?;
        Ok(DenseSource { source, numbering: Arc::clone(&self.numbering), unwritten: 0, begins_ns: None })
    }
}

/// The requests of a [`Dense`] workload.
pub(crate) struct DenseSource {
    source: Limited,
    numbering: Arc<Numbering>,
    unwritten: u64,
    /// When the first request arrived that is not left out.
    begins_ns: Option<u64>,
}

impl TraceSource for DenseSource {
    fn info(&self) -> &TraceInfo {
        self.source.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        self.unwritten += self.source.fill_with(batch, limit, |request| self.numbering.renumbered(request))?;
        if let Some(first) = batch.first() {
            let begins_ns = *self.begins_ns.get_or_insert(first.arrival_ns);
            batch.iter_mut().for_each(|request| request.arrival_ns -= begins_ns);
        }
        Ok(())
    }

    fn volume(&self) -> Option<String> {
        self.source.source.volume()
    }

    fn share_done(&self) -> Option<f64> {
        self.source.source.share_done()
    }

    fn irregularities(&self) -> Irregularities {
        Irregularities { unwritten: self.unwritten, ..self.source.source.irregularities() }
    }

    fn remarks(&self) -> &[String] {
        self.source.source.remarks()
    }
}
