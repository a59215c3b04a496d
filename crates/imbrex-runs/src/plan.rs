//! Runs that are about to be made: layers on drives, and everything that holds for all of them.

use std::num::NonZeroU64;

use anyhow::Result;
use imbrex::layers::{self, LayerInfo};
use imbrex::replay::{ReplayOptions, TraceMoment};
use imbrex::trace::{TraceRange, Workload};
use imbrex_terminal::progress::Progress;

use crate::case::Case;
use crate::chosen::Chosen;
use crate::parallel;
use crate::sampled::Sample;
use crate::seen::watched;
use crate::settled::Settled;
use crate::specification::Specification;
use crate::workload::Known;

/// Bytes that the requests of all workloads may take in memory, where they are replayed more than once.
const HELD_BYTES: usize = 256 << 20;
/// The layers that are compared when none are named.
const LAYERS: [&str; 3] = ["conventional", "in-place", "fifo-log"];

/// What a specification comes to, before any work: it has been found that every layer can be made on its drive.
pub struct Plan<'a> {
    specification: &'a Specification,
    /// Every layer on its drive.
    pub cases: Vec<Case>,
    /// What holds for all runs.
    pub chosen: Chosen,
    /// The blocks in which workloads are numbered from 0 on, if they are.
    dense: Option<u32>,
    /// The part of their blocks that are followed, if not all, and how long these blocks are.
    sample: Option<(Sample, u32)>,
}

impl<'a> Plan<'a> {
    /// The plan for a specification.
    ///
    /// # Errors
    /// When a drive or a layer cannot be made as is specified.
    pub fn of(specification: &'a Specification) -> Result<Self> {
        let setup = &specification.setup;
        let mut cases = match (specification.family, &specification.layers) {
            (Some(family), _) => family.cases(setup.capacity)?,
            (None, Some(layers)) => setup.cases(layers)?,
            (None, None) => setup.cases(&usual_layers()?)?,
        };
        let dense = setup.dense(&cases)?;
        let sample = setup.sample(&cases)?;
        if let Some((sample, _)) = sample {
            cases.iter_mut().try_for_each(|case| sample.drive(&case.drive).map(|drive| case.drive = drive))?;
        }
        let bands = specification.contents.is_some().then(Vec::new);
        let options = ReplayOptions { window: specification.window, bands, ..setup.options() };
        let chosen = Chosen::of(setup, options, &cases)?;
        Ok(Self { specification, cases, chosen, dense, sample })
    }

    /// Pieces of work that it takes to read so many workloads.
    #[must_use]
    pub fn pieces(&self, workloads: usize) -> usize {
        workloads * (Known::passes(self.dense) + usize::from(self.sample.is_some()))
    }

    /// Reads every workload from end to end; that is [`Plan::pieces`] of the work that `progress` shows.
    ///
    /// # Errors
    /// When one cannot be read, or the work was to stop.
    pub fn read(&self, workloads: &[Workload], progress: &Progress) -> Result<Vec<Known>> {
        let requests = self.specification.setup.requests;
        let times = self.specification.setup.repeat.map_or(1, NonZeroU64::get);
        let is_again = self.cases.len() > 1 || times > 1;
        let held = if is_again { held_bytes(workloads.len()) } else { 0 };
        let survey = |workload: &Workload| {
            let whole = |held| Known::survey_and_hold(workload.clone(), requests, self.dense, held, progress);
            let known = match self.sample {
                Some((sample, block_bytes)) => whole(0)?.sampled(sample, block_bytes, held, progress)?,
                None => whole(held)?,
            };
            Ok(known.repeated(times))
        };
        parallel::each(self.specification.jobs(), workloads, survey)
    }

    /// Requests that are shown as served in all, when every workload is replayed on every layer.
    #[must_use]
    pub fn requests(&self, workloads: &[Known]) -> u64 {
        let requests: u64 = workloads.iter().map(|workload| workload.range.requests).sum();
        self.chosen.shown(requests) * self.cases.len() as u64
    }

    /// Does `run` for every workload on every layer; workloads stand in the outer loop.
    ///
    /// # Errors
    /// The first that a run gives.
    pub fn each<'w, R: Send>(
        &self,
        workloads: &'w [Known],
        run: impl Fn(&'w Known, &Case) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let of = |workload| self.cases.iter().map(move |case| (workload, case));
        let pairs: Vec<_> = workloads.iter().flat_map(of).collect();
        parallel::each(self.specification.jobs(), &pairs, |(workload, case)| run(workload, case))
    }

    /// What holds for the run of a workload on the layer of `case`, which is known as often as that takes: its moments
    /// are known now.
    ///
    /// # Errors
    /// When the workload is over before one of them.
    pub fn chosen_for(&self, settled: &Settled<'_>, case: &Case) -> Result<Chosen> {
        let range = &settled.workload.range;
        let mut options = self.chosen.options.clone();
        options.bands = self.moments(range);
        options.check_bands(range)?;
        let extensions = self.specification.growth.extend.iter().flatten();
        options.extend = extensions.map(|extension| extension.of(range)).collect();
        options.check_extensions(range)?;
        if self.specification.watch {
            options = watched(&options, range, self.chosen.says_contents(case));
        }
        Ok(self.chosen.with(options).once(settled.steady.as_ref()))
    }

    /// When somebody looks at what lies where. The end, all of the requests, comes anyway.
    fn moments(&self, range: &TraceRange) -> Option<Vec<TraceMoment>> {
        let is_before_the_end = |at: &TraceMoment| *at != TraceMoment::Requests(range.requests);
        let moments = self.specification.contents.as_ref()?;
        Some(moments.iter().map(|moment| moment.of(range)).filter(is_before_the_end).collect())
    }
}

/// Bytes that the requests of each of so many workloads may take.
#[must_use]
pub fn held_bytes(workloads: usize) -> usize {
    HELD_BYTES / workloads.max(1)
}

fn usual_layers() -> Result<Vec<&'static LayerInfo>> {
    Ok(LAYERS.map(layers::find).into_iter().collect::<Result<Vec<_>, _>>()?)
}
