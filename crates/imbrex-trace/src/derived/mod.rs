//! Workloads that are made from others: the same requests elsewhere ([`dense`]), those for a part of the blocks
//! ([`sampled`]), others before them ([`prepopulated`]), or all or some of them held in memory ([`held`]). What a pass
//! over the original has told is kept, so that opening one again takes no second pass.

pub mod dense;
pub mod held;
pub mod prepopulated;
pub mod sampled;
#[cfg(test)]
mod tests;

use super::{TraceError, TraceRequest, TraceSource, Workload};

/// A source that ends after a number of requests.
struct Limited {
    source: Box<dyn TraceSource>,
    left: u64,
}

impl Limited {
    fn open(workload: &Workload, limit: u64) -> Result<Self, TraceError> {
        Ok(Self { source: workload.open()?, left: limit })
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        let limit = self.left.min(limit as u64);
        if limit > 0 {
            self.source.fill(batch, limit as usize)?;
        }
        self.left -= batch.len() as u64;
        Ok(())
    }

    /// Fills `batch` with what `derived` makes of the next requests, unless they are over, and says how many of them it
    /// left out.
    fn fill_with(
        &mut self,
        batch: &mut Vec<TraceRequest>,
        limit: usize,
        derived: impl Fn(&TraceRequest) -> Option<TraceRequest>,
    ) -> Result<u64, TraceError> {
        let mut left_out = 0;
        loop {
            self.fill(batch, limit)?;
            let read = batch.len();
            batch.retain_mut(|request| derived(request).map(|derived| *request = derived).is_some());
            left_out += (read - batch.len()) as u64;
            if read == 0 || !batch.is_empty() {
                return Ok(left_out);
            }
        }
    }
}
