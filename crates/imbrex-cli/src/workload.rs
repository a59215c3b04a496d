//! The workloads that a command names.

use std::io;
use std::num::NonZeroU64;

use anyhow::{Result, bail};
use imbrex::trace::{TraceError, TraceInfo, TraceRange, TraceRequest, TraceSource, Workload};

use crate::progress::Progress;
use crate::stop;

/// How many requests between two looks at the clock for the progress bar.
const PROGRESS_EVERY: u64 = 4096;

/// A workload, and what reading it once told.
pub struct Known {
    workload: Workload,
    limit: u64,
    /// What it is.
    pub info: TraceInfo,
    /// How much there is of it.
    pub range: TraceRange,
}

/// The workloads called `names`, each of at most `requests` requests, synthetic ones drawn from `seed`.
pub fn named(names: &[String], requests: Option<NonZeroU64>, seed: Option<u64>) -> Result<Vec<Workload>> {
    let mut workloads = names.iter().map(|name| Workload::named(name)).collect::<Result<Vec<_>, _>>()?;
    let mut synthetic = false;
    for workload in &mut workloads {
        let Workload::Synthetic(spec) = workload else { continue };
        synthetic = true;
        spec.requests = requests.map_or(spec.requests, NonZeroU64::get);
        spec.seed = seed.unwrap_or(spec.seed);
    }
    if seed.is_some() && !synthetic {
        bail!("--seed: {} is no synthetic workload; only those are drawn from a seed", names.join(", "));
    }
    Ok(workloads)
}

impl Known {
    /// Reads a workload from end to end.
    pub fn survey(workload: Workload, requests: Option<NonZeroU64>, progress: &Progress) -> Result<Self> {
        let limit = requests.map_or(u64::MAX, NonZeroU64::get);
        let mut source = Watched::new(&workload, limit, progress)?;
        let info = source.info().clone();
        let mut range = TraceRange::of(&mut source)?;
        if let Workload::Synthetic(spec) = &workload {
            range.range_bytes = spec.range_bytes;
        }
        Ok(Self { workload, limit, info, range })
    }

    /// The workload itself. It does not know about the limit.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Its requests, counted as they are replayed.
    pub fn open<'a>(&self, progress: &'a Progress) -> Result<Watched<'a>, TraceError> {
        Watched::new(&self.workload, self.limit, progress)
    }

    /// The seed of a synthetic workload.
    pub fn seed(&self) -> Option<u64> {
        match &self.workload {
            Workload::Synthetic(spec) => Some(spec.seed),
            Workload::File(_) => None,
        }
    }
}

/// A source that ends at a limit, shows progress, and fails when Ctrl-C asks for it.
pub struct Watched<'a> {
    source: Box<dyn TraceSource>,
    left: u64,
    progress: &'a Progress,
    unseen: u64,
}

impl<'a> Watched<'a> {
    /// At most `limit` requests of `workload`.
    pub fn new(workload: &Workload, limit: u64, progress: &'a Progress) -> Result<Self, TraceError> {
        Ok(Self { source: workload.open()?, left: limit, progress, unseen: 0 })
    }
}

impl TraceSource for Watched<'_> {
    fn info(&self) -> &TraceInfo {
        self.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        if stop::is_asked_for() {
            return Err(TraceError::Read { file: self.info().name.clone(), cause: io::ErrorKind::Interrupted.into() });
        }
        let limit = self.left.min(limit as u64);
        if limit > 0 {
            self.source.fill(batch, limit as usize)?;
        }
        let done = batch.len() as u64;
        self.left -= done;
        self.unseen += done;
        if self.unseen >= PROGRESS_EVERY || done == 0 {
            self.progress.add(self.unseen);
            self.unseen = 0;
        }
        Ok(())
    }

    fn irregularities(&self) -> imbrex::trace::Irregularities {
        self.source.irregularities()
    }

    fn share_done(&self) -> Option<f64> {
        self.source.share_done()
    }
}
