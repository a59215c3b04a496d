//! Workloads that are made from others: the same requests elsewhere ([`dense`]), others before them ([`prepopulated`]),
//! or all or some of them held in memory ([`held`]). What a pass over the original has told is kept, so that opening one
//! again takes no second pass.

pub mod dense;
pub mod held;
pub mod prepopulated;
#[cfg(test)]
mod tests;

use super::{TraceError, TraceSource, Workload};

/// A source that ends after a number of requests.
struct Limited {
    source: Box<dyn TraceSource>,
    left: u64,
}

impl Limited {
    fn open(workload: &Workload, limit: u64) -> Result<Self, TraceError> {
        Ok(Self { source: workload.open()?, left: limit })
    }

    fn fill(&mut self, batch: &mut Vec<super::TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        let limit = self.left.min(limit as u64);
        if limit > 0 {
            self.source.fill(batch, limit as usize)?;
        }
        self.left -= batch.len() as u64;
        Ok(())
    }
}
