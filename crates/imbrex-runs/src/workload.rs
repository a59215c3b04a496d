//! Workloads by their names, and what reading them once tells.

use std::io;
use std::num::NonZeroU64;

use anyhow::Result;
use imbrex::trace::derived::dense::{Dense, Numbering};
use imbrex::trace::derived::held::Holding;
use imbrex::trace::derived::sampled::Sampled;
use imbrex::trace::{FileOptions, TraceError, TraceInfo, TraceRange, TraceRequest, TraceSource, Workload, doubt};
use imbrex_terminal::progress::{Piece, Progress};

use crate::sampled::Sample;
use crate::standard_input;
use crate::wrong::Wrong;

/// How many requests between two looks at the clock for the progress bar.
const PROGRESS_EVERY: u64 = 4096;

/// The field that only synthetic workloads have, and those that only trace files have.
pub(crate) const SEED: &[&str] = &["seed"];
pub(crate) const OF_FILES: &[&str] = &["trace_format", "volume", "event"];

/// A workload, and what reading it once told.
#[derive(Clone)]
pub struct Known {
    workload: Workload,
    /// Its requests, where they are held in memory.
    held: Option<Workload>,
    limit: u64,
    /// How often it is replayed in succession.
    passes: Passes,
    /// How many times as fast requests arrive.
    speed: u64,
    /// What it is.
    pub info: TraceInfo,
    /// The volume whose requests these are, where the trace names volumes.
    pub volume: Option<String>,
    /// How much there is of it, in all passes. What was mended is that of one.
    pub range: TraceRange,
}

/// A workload several times in succession.
#[derive(Copy, Clone)]
struct Passes {
    /// How often.
    times: u64,
    /// How much later each begins than the one before.
    period_ns: u64,
    /// How many of them count as one for whom is shown how far it is.
    shown_as_one: u64,
}

impl Passes {
    const ONE: Self = Self { times: 1, period_ns: 0, shown_as_one: 1 };
}

/// The workloads called `names`, each of at most `requests` requests, synthetic ones drawn from `seed`, trace files
/// read as `options` say.
///
/// # Errors
/// When there is none of such a name, or a seed or options fit none of them.
pub fn named(
    names: &[String],
    requests: Option<NonZeroU64>,
    seed: Option<u64>,
    options: &FileOptions,
) -> Result<Vec<Workload>> {
    let named = |name: &String| match standard_input::is_meant(name) {
        true => standard_input::trace().map(Workload::File),
        false => Ok(Workload::named(name)?),
    };
    let mut workloads = names.iter().map(named).collect::<Result<Vec<_>>>()?;
    for workload in &mut workloads {
        requests.into_iter().for_each(|requests| workload.set_requests(requests.get()));
        seed.into_iter().for_each(|seed| workload.set_seed(seed));
        if let Workload::File(file) = workload {
            file.options = options.clone();
        }
    }
    if seed.is_some() && workloads.iter().all(|workload| workload.seed().is_none()) {
        let why = format!("{} is no synthetic workload; only those are drawn from a seed", names.join(", "));
        return Err(Wrong::new(SEED, why).into());
    }
    let is_file = |workload: &Workload| matches!(workload, Workload::File(_));
    if *options != FileOptions::default() && !workloads.iter().any(is_file) {
        let why = format!("{} is no trace file; only those are read so", names.join(", "));
        return Err(Wrong::new(OF_FILES, why).into());
    }
    Ok(workloads)
}

/// The first `requests` of a workload with its written blocks side by side. Reading it is a piece of the work that
/// `progress` shows.
///
/// # Errors
/// When it cannot be read, or the work was to stop.
pub fn dense(
    workload: &Workload,
    requests: Option<NonZeroU64>,
    block_bytes: u32,
    progress: &Progress,
) -> Result<Workload> {
    let numbering = Numbering::of(&mut Watched::new(workload, requests, progress)?, block_bytes)?;
    Ok(Workload::Dense(Box::new(Dense::new(workload.clone(), numbering))))
}

/// Reads `source`, which is `workload`, to its end, and holds its requests if they take no more than `most` bytes.
fn hold(
    workload: &Workload,
    source: &mut dyn TraceSource,
    most: usize,
) -> Result<(Option<Workload>, TraceRange), TraceError> {
    let mut holding = Holding::new(source, most / size_of::<TraceRequest>());
    let range = workload.range_of(&mut holding)?;
    Ok((holding.held(workload).map(|held| Workload::Held(Box::new(held))), range))
}

impl Known {
    /// How often a workload is read before it is replayed.
    #[must_use]
    pub fn passes(dense: Option<u32>) -> usize {
        1 + usize::from(dense.is_some())
    }

    /// Reads a workload from end to end, [`Known::passes`] pieces of the work that `progress` shows; with its written
    /// blocks of `dense` bytes side by side, if so chosen.
    ///
    /// # Errors
    /// When it cannot be read, or the work was to stop.
    pub fn survey(
        workload: Workload,
        requests: Option<NonZeroU64>,
        dense: Option<u32>,
        progress: &Progress,
    ) -> Result<Self> {
        Self::survey_and_hold(workload, requests, dense, 0, progress)
    }

    /// The same; its requests stay in memory, if they take no more than `most` bytes, so that nothing is read or generated
    /// again for each run.
    ///
    /// # Errors
    /// Those of [`Known::survey`].
    pub fn survey_and_hold(
        workload: Workload,
        requests: Option<NonZeroU64>,
        dense: Option<u32>,
        most: usize,
        progress: &Progress,
    ) -> Result<Self> {
        let (workload, requests) = match dense {
            Some(block_bytes) => (self::dense(&workload, requests, block_bytes, progress)?, None),
            None => (workload, requests),
        };
        let limit = requests.map_or(u64::MAX, NonZeroU64::get);
        let mut source = Watched::new(&workload, requests, progress)?;
        let info = source.info().clone();
        let (held, range) = hold(&workload, &mut source, most)?;
        source.tell();
        let volume = source.volume();
        Ok(Self { workload, held, limit, passes: Passes::ONE, speed: 1, info, volume, range })
    }

    /// Those requests of the workload that touch a sample of its blocks of `block_bytes`, as [`Sampled`] says. Reading it
    /// is a piece of the work that `progress` shows.
    ///
    /// # Errors
    /// When it cannot be read, no request is left, or the work was to stop.
    pub fn sampled(&self, sample: Sample, block_bytes: u32, most: usize, progress: &Progress) -> Result<Self> {
        let sampled = Sampled::new(self.workload.clone(), self.limit, self.range.range_bytes, block_bytes, sample.of);
        let workload = Workload::Sampled(Box::new(sampled));
        let mut source = Watched::new(&workload, None, progress)?;
        let (held, range) = hold(&workload, &mut source, most)?;
        if range.requests == 0 {
            let why = format!("no request of {} touches a block of {sample}; take a larger sample", self.info.name);
            return Err(Wrong::new(&["sample"], why).into());
        }
        Ok(Self { workload, held, limit: u64::MAX, range, ..self.clone() })
    }

    /// The workload `times` times in succession. Each pass begins as long after the last request of the one before as
    /// requests are apart on average.
    #[must_use]
    pub fn repeated(&self, times: u64) -> Self {
        let TraceRange { requests, duration_ns, .. } = self.range;
        let gap_ns = duration_ns / requests.saturating_sub(1).max(1);
        let period_ns = duration_ns.saturating_add(gap_ns);
        let range = TraceRange {
            requests: requests.saturating_mul(times),
            duration_ns: period_ns.saturating_mul(times.saturating_sub(1)).saturating_add(duration_ns),
            ..self.range
        };
        Self { passes: Passes { times, period_ns, ..Passes::ONE }, range, ..self.clone() }
    }

    /// The workload with requests that arrive `speed` times as fast, by whole nanoseconds.
    #[must_use]
    pub fn hastened(&self, speed: NonZeroU64) -> Self {
        let range = TraceRange { duration_ns: self.range.duration_ns / speed, ..self.range };
        let passes = Passes { period_ns: self.passes.period_ns / speed, ..self.passes };
        Self { speed: self.speed.saturating_mul(speed.get()), passes, range, ..self.clone() }
    }

    /// As many requests as `times` passes have: a specified workload goes on, others are repeated. A volume like a
    /// published one is repeated too: if it is longer, it is another one.
    #[must_use]
    pub(crate) fn going_on(&self, times: u64) -> Self {
        let repeated = self.repeated(times);
        let mut workload = self.workload.clone();
        let Workload::Synthetic(_) = workload else { return repeated };
        let limit = repeated.range.requests;
        workload.set_requests(limit);
        let passes = Passes { times: 1, shown_as_one: repeated.passes.times, ..repeated.passes };
        Self { workload, held: None, limit, passes, ..repeated }
    }

    /// The same; whoever is shown how far it is sees as many requests as one pass has.
    pub(crate) fn shown_as_one(mut self) -> Self {
        self.passes.shown_as_one = self.passes.shown_as_one.max(self.passes.times);
        self
    }

    /// The workload itself. It does not know about the limit.
    #[must_use]
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Its requests, counted as they are replayed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open<'a>(&self, progress: &'a Progress) -> Result<Watched<'a>, TraceError> {
        let again = self.passes;
        let shown = Shown::Requests { progress, unseen: 0, of_one: again.shown_as_one };
        let opened = self.held.as_ref().unwrap_or(&self.workload);
        let first = Watched::limited(opened, self.limit, shown)?;
        let is_repeated = again.times > 1;
        Ok(Watched {
            again: is_repeated.then(|| Again { workload: opened.clone(), of: again, done: 0 }),
            speed: self.speed,
            ..first
        })
    }

    /// How often it is replayed in succession.
    #[must_use]
    pub fn times(&self) -> u64 {
        self.passes.times
    }

    /// Whether its written blocks lie side by side.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        match &self.workload {
            Workload::Sampled(sampled) => matches!(sampled.original(), Workload::Dense(_)),
            workload => matches!(workload, Workload::Dense(_)),
        }
    }

    /// The seed of a synthetic workload.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.workload.seed()
    }
}

/// A source that ends at a limit, shows progress, and fails when it is to stop.
pub struct Watched<'a> {
    source: Box<dyn TraceSource>,
    limit: u64,
    left: u64,
    /// When the request handed out last arrives.
    last_ns: u64,
    /// What comes when it is over, if something does.
    again: Option<Again>,
    /// How many times as fast requests arrive.
    speed: u64,
    shown: Shown<'a>,
}

/// A workload that begins anew.
struct Again {
    workload: Workload,
    of: Passes,
    /// How many passes are over.
    done: u64,
}

/// What a progress bar counts.
enum Shown<'a> {
    /// Requests, of which `unseen` are not shown yet; so many of them are shown as one.
    Requests { progress: &'a Progress, unseen: u64, of_one: u64 },
    /// How much of the source has been used.
    Piece(Piece<'a>),
}

impl<'a> Watched<'a> {
    /// At most `requests` requests of a workload; reading them is a piece of the work that `progress` shows.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn new(workload: &Workload, requests: Option<NonZeroU64>, progress: &'a Progress) -> Result<Self, TraceError> {
        let limit = requests.map_or(u64::MAX, NonZeroU64::get);
        Self::limited(workload, limit, Shown::Piece(progress.piece()))
    }

    fn limited(workload: &Workload, limit: u64, shown: Shown<'a>) -> Result<Self, TraceError> {
        Ok(Self { source: workload.open()?, limit, left: limit, last_ns: 0, again: None, speed: 1, shown })
    }

    /// Notes what was decided about the source because nobody had said it, and what is implausible about the times of
    /// what was read: a line for each, on standard error.
    pub fn tell(&self) {
        let TraceInfo { name, .. } = self.info();
        let doubt = doubt(self.info(), self.limit - self.left, self.last_ns);
        self.remarks().iter().chain(&doubt).for_each(|said| self.progress().note(format!("{name}: {said}")));
    }

    fn progress(&self) -> &'a Progress {
        match &self.shown {
            Shown::Requests { progress, .. } => progress,
            Shown::Piece(piece) => piece.progress(),
        }
    }

    /// The next requests of this pass.
    fn next(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        let limit = self.left.min(limit as u64);
        if limit > 0 {
            self.source.fill(batch, limit as usize)?;
        }
        if self.speed > 1 {
            batch.iter_mut().for_each(|request| request.arrival_ns /= self.speed);
        }
        if let Some(Again { of, done, .. }) = &self.again {
            let later_ns = of.period_ns.saturating_mul(*done);
            batch.iter_mut().for_each(|request| request.arrival_ns = request.arrival_ns.saturating_add(later_ns));
        }
        Ok(())
    }

    /// A pass is over. Whether there is another one, which begins then.
    fn begins_again(&mut self) -> Result<bool, TraceError> {
        let Some(Again { workload, done, .. }) = self.again.as_mut().filter(|again| again.done + 1 < again.of.times)
        else {
            return Ok(false);
        };
        *done += 1;
        (self.source, self.left) = (workload.open()?, self.limit);
        Ok(true)
    }

    /// `requests` requests were handed out; none are the end.
    fn show(&mut self, requests: u64) {
        match &mut self.shown {
            Shown::Requests { progress, unseen, of_one } => {
                *unseen += requests;
                if *unseen >= PROGRESS_EVERY.saturating_mul(*of_one) || requests == 0 {
                    progress.add(*unseen / *of_one);
                    *unseen = 0;
                }
            }
            Shown::Piece(piece) if requests == 0 => piece.reach(1.0),
            Shown::Piece(piece) => {
                let of_limit = 1.0 - self.left as f64 / self.limit as f64;
                piece.reach(self.source.share_done().unwrap_or(0.0).max(of_limit));
            }
        }
    }
}

impl TraceSource for Watched<'_> {
    fn info(&self) -> &TraceInfo {
        self.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        if self.progress().is_stopped() {
            return Err(TraceError::Read { file: self.info().name.clone(), cause: io::ErrorKind::Interrupted.into() });
        }
        self.next(batch, limit)?;
        if batch.is_empty() && self.begins_again()? {
            self.next(batch, limit)?;
        }
        let done = batch.len() as u64;
        self.last_ns = batch.last().map_or(self.last_ns, |last| last.arrival_ns);
        self.left -= done;
        self.show(done);
        Ok(())
    }

    fn volume(&self) -> Option<String> {
        self.source.volume()
    }

    fn irregularities(&self) -> imbrex::trace::Irregularities {
        self.source.irregularities()
    }

    fn remarks(&self) -> &[String] {
        self.source.remarks()
    }
}
