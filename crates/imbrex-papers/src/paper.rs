//! What a paper measured, as data: the runs, the figures they make, and what the paper says of them.

use imbrex_runs::case::Fit;

use super::claim::Claim;
use super::metric::Metric;
use super::sweep::Sweep;

/// A paper whose evaluation can be repeated.
pub struct Paper {
    /// The name on the command line.
    pub name: &'static str,
    /// Title, venue and year.
    pub title: &'static str,
    /// The drive of the paper.
    pub drive: &'static str,
    /// How large it is.
    pub fit: Fit,
    /// The persistent buffer of the disk behind a cache, in percent of the workload's address range; where the paper's
    /// layers are such caches.
    pub disk_buffer: Option<f64>,
    /// The persistent buffer, as `--buffer` takes it.
    pub buffer: &'static str,
    /// The part of the drive that was written before the first request.
    pub prefill: f64,
    /// What moves its numbers and is a choice, for where they are shown.
    pub readings: Option<&'static str>,
    /// The volumes; each is a profile too.
    pub workloads: &'static [&'static str],
    /// How many requests generated workloads have, at most, where nobody says.
    pub requests: Option<&'static Requests>,
    /// The figures that show its workloads themselves, if any do.
    pub locality: Option<LocalityFigures>,
    /// Every configuration that takes part. The first is what the paper proposes.
    pub variants: &'static [Variant],
    /// The comparisons of them, each with tables and pictures of its own.
    pub studies: &'static [Study],
    /// Settings that the paper leaves open, if they are searched.
    pub search: Option<&'static Search>,
    /// What is shown over how often the buffer turns over, if anything is.
    pub turnover: Option<&'static Turnover>,
    /// Two of its volumes written one after the other, if it shows that.
    pub mix: Option<&'static Mix>,
    /// Space that is asked for while one of its workloads runs, if it shows that.
    pub growth: Option<&'static Growth>,
    /// What is shown over sizes, beside what a closed form says of them.
    pub sweeps: &'static [Sweep],
    /// What the paper says.
    pub claims: &'static [Claim],
}

/// How many requests generated workloads have, at most.
pub struct Requests {
    pub each: u64,
    /// Those that need another number of them to tell anything.
    pub but: &'static [(&'static str, u64)],
}

/// The numbers of the figures that show how workloads write.
#[derive(Copy, Clone)]
pub struct LocalityFigures {
    /// Of the one that shows how soon they write blocks again.
    pub periods: &'static str,
    /// Of the one that shows where they write.
    pub ranges: &'static str,
}

/// A layer in a configuration.
#[derive(Copy, Clone)]
pub struct Variant {
    /// How studies and results call it.
    pub name: &'static str,
    /// The layer.
    pub layer: &'static str,
    /// What of its configuration differs from its defaults, written as for `--set`.
    pub settings: &'static [&'static str],
    /// Further fields, in blocks: each is a percentage of the workload's address range.
    pub sized: &'static [(&'static str, f64)],
    /// The persistent buffer, as `--buffer` takes it, where it is not the paper's.
    pub buffer: Option<&'static str>,
    /// The size of the disk, where it is not the paper's.
    pub disk: Option<Disk>,
    /// When requests come.
    pub load: Load,
    /// What has to have happened in a run for it to tell anything of this variant: a rule that never came to be applied
    /// makes no difference, and that would pass for a result.
    pub reaches: Option<Metric>,
}

/// A disk that is not the paper's.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Disk {
    /// The paper's, of a size of its own, over which the workload's addresses may be stretched.
    Sized { bytes: u64, is_stretched_over: bool },
    /// A zoned one whose zones are all sequential and so long.
    Zones { drive: &'static str, bytes: u64 },
}

/// When requests come.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Load {
    /// Each when the one before is complete.
    OneOutstanding,
    /// When the trace says.
    TraceTime,
}

/// The writes of one workload and then those of another, a request as soon as the one before is complete.
pub struct Mix {
    /// What is compared.
    pub title: &'static str,
    /// The workloads; each is a profile too.
    pub halves: [&'static str; 2],
    /// Writes of each.
    pub writes: u64,
    /// What is compared.
    pub variants: &'static [Variant],
}

/// Space that is asked for while a workload runs, under several bounds, on a drive that the workload fills.
pub struct Growth {
    /// The number of the figure.
    pub number: &'static str,
    /// What is compared.
    pub title: &'static str,
    /// The workload; a profile too.
    pub workload: &'static str,
    /// How many of its requests, at most.
    pub requests: u64,
    /// Which part of these comes before.
    pub after: f64,
    /// How much space.
    pub bytes: u64,
    /// The layer.
    pub layer: &'static str,
    /// The runs; of those on a disk of a size the one in which nothing is asked for first.
    pub runs: &'static [Asked],
}

/// One of its runs.
pub struct Asked {
    /// How results call it.
    pub name: &'static str,
    /// The bound, as the layer's `bound_ms` takes it; none if nothing is asked for.
    pub bound_ms: Option<&'static str>,
    /// The bytes of the disk; without it as many as the workload fills.
    pub disk: Option<u64>,
}

/// A layer against another, both with buffers of several sizes.
pub struct Turnover {
    /// What is compared.
    pub title: &'static str,
    /// The layer.
    pub layer: &'static str,
    /// Its settings.
    pub settings: &'static [&'static str],
    /// The other one, as it is by default.
    pub against: &'static str,
    /// Those of the paper's workloads that take part.
    pub workloads: &'static [&'static str],
    /// The sizes: the blocks that are written for each block of the buffer, whether they lie in it already or not.
    pub written_for_each: &'static [u64],
    /// Real traces that take part if the folder of traces has them.
    pub further: &'static [&'static str],
}

/// Variants side by side.
pub struct Study {
    /// The name in file names.
    pub name: &'static str,
    /// What is compared.
    pub title: &'static str,
    /// The workloads; all if it names none.
    pub workloads: &'static [&'static str],
    /// The names of the variants, the baseline first.
    pub variants: &'static [&'static str],
    /// What is shown of them.
    pub figures: &'static [Figure],
}

/// Every setting of a baseline beside every setting of what is held against it.
pub struct Search {
    /// The study that runs them.
    pub study: &'static str,
    /// What is compared.
    pub title: &'static str,
    /// What is saved.
    pub metrics: &'static [Metric],
    /// The settings of the variants, as headings have them.
    pub columns: &'static [&'static str],
    /// A baseline, and the variants that are held against it.
    pub rows: &'static [(&'static str, &'static [&'static str])],
}

/// A figure of the paper, or one beside it.
pub struct Figure {
    /// The number that the paper gives it; empty for what it does not show.
    pub number: &'static str,
    /// The name in file names.
    pub name: &'static str,
    /// What a bar is made of, from the bottom.
    pub metrics: &'static [Metric],
    /// Whether it is shown over that of the study's first variant.
    pub is_relative: bool,
    /// What the paper says of it.
    pub says: &'static str,
}

impl Requests {
    /// How many a workload has.
    pub fn of(&self, workload: &str) -> u64 {
        self.but.iter().find(|(name, _)| *name == workload).map_or(self.each, |(_, requests)| *requests)
    }
}

impl Growth {
    /// The name of the figure's files, without their extension.
    pub fn file(&self) -> String {
        format!("figure-{}-growth", self.number)
    }
}

impl Paper {
    /// What the paper proposes.
    pub fn subject(&self) -> &'static str {
        self.variants.first().map_or("", |variant| variant.name)
    }

    /// What it is compared with.
    pub fn others(&self) -> Vec<&'static str> {
        let beside = self.studies.first().map_or(&[][..], |study| study.variants);
        beside.iter().copied().filter(|name| *name != self.subject()).collect()
    }

    /// The variants of a study.
    pub fn variants_of(&self, study: &str) -> &'static [&'static str] {
        self.studies.iter().find(|known| known.name == study).map_or(&[], |study| study.variants)
    }

    /// Every run that a study shows, and those of the first variant, as the places of its workload and its variant.
    pub fn runs(&self) -> Vec<(usize, usize)> {
        self.those(|workload, variant| {
            let mut studies = self.studies.iter().filter(|study| study.variants.contains(&variant));
            studies.any(|study| study.workloads(self).contains(&workload))
        })
    }

    /// Those that the claims look at.
    pub fn claimed_runs(&self) -> Vec<(usize, usize)> {
        let others = self.others();
        let claims = self.claims.iter().map(|claim| &claim.measure).filter(|measure| measure.is_of_runs());
        let claims: Vec<_> =
            claims.map(|measure| (measure.scope(), measure.variants(|study| self.variants_of(study)))).collect();
        let is_looked_at = |workload: &str, variant: &str| {
            let mut claims = claims.iter().filter(|(scope, _)| scope.has(workload));
            claims.any(|(_, variants)| variants.contains(&variant) || others.contains(&variant))
        };
        let all = self.runs();
        self.those(is_looked_at).into_iter().filter(|run| all.contains(run)).collect()
    }

    /// The runs of the first variant, and of the others where `is_one` says so.
    fn those(&self, is_one: impl Fn(&str, &str) -> bool) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        for (at, workload) in self.workloads.iter().enumerate() {
            let own = self.variants.iter().enumerate();
            let own = own.filter(|(variant, named)| *variant == 0 || is_one(workload, named.name));
            runs.extend(own.map(|(variant, _)| (at, variant)));
        }
        runs
    }
}

impl Study {
    /// The workloads that it compares on.
    pub fn workloads(&self, paper: &Paper) -> &'static [&'static str] {
        if self.workloads.is_empty() { paper.workloads } else { self.workloads }
    }
}

impl Figure {
    /// What its bars show.
    pub fn title(&self) -> String {
        let metrics = self.metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(" and ");
        if self.number.is_empty() { metrics } else { format!("Figure {}: {metrics}", self.number) }
    }

    /// The name of its files, without their extension.
    pub fn file(&self, study: &Study) -> String {
        let number = if self.number.is_empty() { String::new() } else { format!("figure-{}-", self.number) };
        format!("{number}{}-{}", study.name, self.name)
    }
}
