//! How far a probe has come, and the numbers that it draws from many times.

use imbrex_terminal::progress::{Piece, Progress};

use crate::disk::ProbeError;

/// A step of a probe that is under way.
pub(crate) struct Course<'a>(Piece<'a>);

impl<'a> Course<'a> {
    pub(crate) fn begin(progress: &'a Progress) -> Self {
        Self(progress.piece())
    }

    /// A part of the step is done, from 0 to 1; an error if the probe is to end.
    pub(crate) fn reach(&mut self, share: f64) -> Result<(), ProbeError> {
        self.0.reach(share.min(1.0));
        if self.0.progress().is_stopped() { Err(ProbeError::Stopped) } else { Ok(()) }
    }

    /// Of a step whose length is not known: the share grows ever more slowly, half of it at `half`.
    pub(crate) fn grow(&mut self, done: u64, half: u64) -> Result<(), ProbeError> {
        self.reach(done as f64 / (done + half.max(1)) as f64)
    }
}

/// The value that this share of `values` is at most, which are not empty.
pub(crate) fn quantile(values: &mut [u64], share: f64) -> u64 {
    values.sort_unstable();
    values[((values.len() - 1) as f64 * share).round() as usize]
}

pub(crate) fn median(values: &mut [u64]) -> u64 {
    quantile(values, 0.5)
}
