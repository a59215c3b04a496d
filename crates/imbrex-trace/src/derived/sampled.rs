//! Sampled workloads: of each group of neighbouring blocks one alone is read and written, and stands for all of them.
//!
//! A log that meets a sample on a disk in blocks as long as a group writes, for each block of the host, about as much as it
//! would of the whole workload, with a map that is as much smaller as there are blocks in a group. Source:
//! Waldspurger, Saemundsson, Ahmad and Park, "Cache Modeling and Optimization using Miniature Simulations" (USENIX ATC
//! 2017), with translation layers in place of caches.
//!
//! The block of a group becomes the whole group, so addresses and what is written in bytes stay about what they were. A
//! request without such a block is left out; one with several is one request.

use super::Limited;
use crate::{Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource, Workload};
use imbrex_core::spatial_sample::SpatialSample;

/// A workload of which one block of each group is followed.
#[derive(Clone, PartialEq, Debug)]
pub struct Sampled {
    of: Workload,
    requests: u64,
    range_bytes: u64,
    sampling: Sampling,
}

/// Which blocks are followed.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Sampling {
    block_bytes: u32,
    group_bytes: u32,
}

impl Sampled {
    /// The first `requests` requests of `of`, whose address range is `range_bytes`, for one of `group` neighbouring
    /// blocks of `block_bytes`. Both are powers of two, and so many blocks have less than 2^32 bytes.
    #[must_use]
    pub fn new(of: Workload, requests: u64, range_bytes: u64, block_bytes: u32, group: u32) -> Self {
        Self { of, requests, range_bytes, sampling: Sampling { block_bytes, group_bytes: block_bytes * group } }
    }

    /// The whole workload.
    #[must_use]
    pub fn original(&self) -> &Workload {
        &self.of
    }

    /// The address range of the whole workload.
    pub(crate) fn range_bytes(&self) -> u64 {
        self.range_bytes
    }

    /// Opens it at its first request.
    pub(crate) fn open(&self) -> Result<SampledSource, TraceError> {
        Ok(SampledSource { source: Limited::open(&self.of, self.requests)?, sampling: self.sampling })
    }
}

impl Sampling {
    /// The request for the groups whose blocks it has, if any.
    fn of(self, request: &TraceRequest) -> Option<TraceRequest> {
        let Self { block_bytes, group_bytes } = self;
        let sample = SpatialSample { group: (group_bytes / block_bytes).into(), groups: u64::MAX };
        let groups = sample.among(request.blocks(block_bytes));
        if groups.is_empty() {
            return None;
        }
        let offset_bytes = groups.start.0 * u64::from(group_bytes);
        // The last group may end beyond what a request can reach.
        let most = u64::from(u32::MAX).min(u64::MAX - offset_bytes) / u64::from(group_bytes);
        let bytes = u64::from(groups.blocks).min(most) as u32 * group_bytes;
        (bytes > 0).then_some(TraceRequest { offset_bytes, bytes, ..*request })
    }
}

/// The requests of a [`Sampled`] workload.
pub(crate) struct SampledSource {
    source: Limited,
    sampling: Sampling,
}

impl TraceSource for SampledSource {
    fn info(&self) -> &TraceInfo {
        self.source.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        let Self { source, sampling } = self;
        source.fill_with(batch, limit, |request| sampling.of(request)).map(drop)
    }

    fn volume(&self) -> Option<String> {
        self.source.source.volume()
    }

    fn share_done(&self) -> Option<f64> {
        self.source.source.share_done()
    }

    fn irregularities(&self) -> Irregularities {
        self.source.source.irregularities()
    }

    fn remarks(&self) -> &[String] {
        self.source.source.remarks()
    }
}
