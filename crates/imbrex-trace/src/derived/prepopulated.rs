//! Prepopulated workloads: before a workload come writes of its own in another order, so that it meets an aged disk.
//!
//! Source: Jones et al., ACM TOS 12(1), 2016, §5.1. The workload's writes are cut into chunks of ten timesteps, a
//! timestep being a second in which something is written; the chunks are shuffled, and as many of them are taken from
//! the front as hold the share of the writes that is asked for. Chunks begin one after the other, the first with its
//! first write and each other one on a whole second; inside a chunk times are as they were. Then the workload itself
//! begins, with its first request.
//!
//! Decisions where the paper is silent: each share and seed is a shuffle of its own, so that a quarter is not the
//! beginning of a half; the last chunk is cut where the share is reached; a timestep without a write is none, though it
//! may have reads.

use std::sync::Arc;

use super::Limited;
use super::held::gathered_writes;
use crate::{Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource, Workload};
use imbrex_core::random::Random;

/// Timesteps of a chunk.
const TIMESTEPS: u32 = 10;
/// How long a timestep is.
const TIMESTEP_NS: u64 = 1_000_000_000;

/// The writes that come before a workload. They take 24 bytes each.
#[derive(PartialEq, Debug)]
pub struct Prepopulation {
    writes: Vec<TraceRequest>,
    /// When the workload begins.
    end_ns: u64,
    /// Requests of the workload that were looked at.
    requests: u64,
}

impl Prepopulation {
    /// Takes `share`, from 0 to 1, of the writes of `source`, shuffled as `seed` says. Reads it to its end, and needs
    /// 24 bytes for each of its writes and as many for each of those taken.
    ///
    /// # Errors
    /// When the source cannot be read.
    ///
    /// # Panics
    /// When `share` is not from 0 to 1.
    pub fn of(source: &mut dyn TraceSource, share: f64, seed: u64) -> Result<Self, TraceError> {
        assert!((0.0..=1.0).contains(&share), "{share} is no share");
        let (all, requests) = gathered_writes(source)?;
        let mut chunks = chunks(&all);
        // Each number of millionths has a stream of its own.
        let mut random = Random::new(seed ^ ((share * 1e6) as u64) << 32);
        (1..chunks.len()).rev().for_each(|i| chunks.swap(i, random.below(i as u64 + 1) as usize));
        let mut left = (share * all.len() as f64).round() as usize;
        let mut taken = Self { writes: Vec::with_capacity(left), end_ns: 0, requests };
        for chunk in chunks {
            let chunk = &chunk[..chunk.len().min(left)];
            left -= chunk.len();
            taken.append(chunk);
        }
        Ok(taken)
    }

    fn append(&mut self, chunk: &[TraceRequest]) {
        let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { return };
        let second_ns = if self.writes.is_empty() { 1 } else { TIMESTEP_NS };
        let begins_ns = first.arrival_ns / second_ns * second_ns;
        let base_ns = self.end_ns;
        let moved =
            |write: &TraceRequest| TraceRequest { arrival_ns: write.arrival_ns - begins_ns + base_ns, ..*write };
        self.writes.extend(chunk.iter().map(moved));
        self.end_ns += (last.arrival_ns - begins_ns) / TIMESTEP_NS * TIMESTEP_NS + TIMESTEP_NS;
    }

    /// How many writes there are.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.writes.len() as u64
    }
}

/// The writes in pieces of a number of timesteps each.
fn chunks(writes: &[TraceRequest]) -> Vec<&[TraceRequest]> {
    let (mut steps, mut last) = (0, None);
    let mut begins_chunk = |write: &TraceRequest| {
        let step = write.arrival_ns / TIMESTEP_NS;
        if last.replace(step) == Some(step) {
            return false;
        }
        steps += 1;
        steps % TIMESTEPS == 1 && steps > 1
    };
    let mut ends: Vec<_> = (0..writes.len()).filter(|&i| begins_chunk(&writes[i])).collect();
    ends.push(writes.len());
    let mut from = 0;
    ends.into_iter().map(|end| &writes[std::mem::replace(&mut from, end)..end]).collect()
}

/// A workload behind others of its own writes.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepopulated {
    of: Workload,
    before: Arc<Prepopulation>,
}

impl Prepopulated {
    /// The requests of `of` that `before` was taken from, behind it.
    #[must_use]
    pub fn new(of: Workload, before: Prepopulation) -> Self {
        Self { of, before: Arc::new(before) }
    }

    /// The workload itself.
    #[must_use]
    pub fn original(&self) -> &Workload {
        &self.of
    }

    /// What comes before it.
    #[must_use]
    pub fn before(&self) -> &Prepopulation {
        &self.before
    }

    /// Opens it at its first request.
    pub(crate) fn open(&self) -> Result<PrepopulatedSource, TraceError> {
        let source = Limited::open(&self.of, self.before.requests)?;
        Ok(PrepopulatedSource { source, before: Arc::clone(&self.before), done: 0 })
    }
}

/// The requests of a [`Prepopulated`] workload.
pub(crate) struct PrepopulatedSource {
    source: Limited,
    before: Arc<Prepopulation>,
    /// Writes of `before` that were handed out.
    done: usize,
}

impl TraceSource for PrepopulatedSource {
    fn info(&self) -> &TraceInfo {
        self.source.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        let rest = &self.before.writes[self.done..];
        if rest.is_empty() {
            self.source.fill(batch, limit)?;
            batch.iter_mut().for_each(|request| request.arrival_ns += self.before.end_ns);
        } else {
            batch.extend_from_slice(&rest[..rest.len().min(limit)]);
            self.done += batch.len();
        }
        Ok(())
    }

    fn volume(&self) -> Option<String> {
        self.source.source.volume()
    }

    fn share_done(&self) -> Option<f64> {
        let whole = self.before.writes.len() as f64 + self.before.requests as f64;
        let done = self.done as f64 + (self.before.requests - self.source.left) as f64;
        Some(if whole > 0.0 { done / whole } else { 1.0 })
    }

    fn irregularities(&self) -> Irregularities {
        self.source.source.irregularities()
    }

    fn remarks(&self) -> &[String] {
        self.source.source.remarks()
    }
}
