//! How claims are measured: what can be asked of a paper's runs.

use super::measured::Described;
use super::metric::Metric;

/// A number that many runs give together. What the paper proposes is its first variant; the *others* are those beside
/// it in its first study.
pub enum Measure {
    /// By how many percent the metric is smaller than that of the others, on average over workloads and others.
    MeanReduction(Metric),
    /// By how many percent the metric is smaller than that of one other, on one workload.
    Reduction { metric: Metric, workload: &'static str, against: &'static str },
    /// By how many percent the metric of one variant is smaller than that of another, or on how many workloads it is.
    Against { metric: Metric, variant: &'static str, against: &'static str, taken: Taken },
    /// By how many percent the metric of a variant is smaller than that of another, on one workload.
    Saved { metric: Metric, workload: &'static str, variant: &'static str, against: &'static str },
    /// The metric of a variant on one workload.
    Of { metric: Metric, workload: &'static str, variant: &'static str },
    /// How many times that of another variant it is there.
    Times { metric: Metric, workload: &'static str, variant: &'static str, over: &'static str },
    /// How many times that of another variant it is on the workload where that is most.
    MostTimes { metric: Metric, variant: &'static str, over: &'static str },
    /// How many times as fast a variant writes a part of the mix as another.
    Speed { variant: &'static str, over: &'static str, part: Part },
    /// The part of the blocks that a variant's buffer let in there.
    LetIn { variant: &'static str, part: Part },
    /// What became of a run of the growth.
    Grown { run: &'static str, of: Grown },
    /// By how many percentage points a ratio is smaller than that of another variant, at most.
    MostLost { metric: Metric, variant: &'static str, against: &'static str },
    /// How many times as many blocks a layer of a sweep rewrites as another, at least.
    Rewritten { sweep: &'static str, curve: &'static str, over: &'static str },
    /// What it rewrites at this value over the least anywhere in the sweep.
    AtLeast { sweep: &'static str, curve: &'static str, at: f64 },
    /// The most that it rewrites at values up to this one over the least there.
    Level { sweep: &'static str, curve: &'static str, up_to: f64 },
    /// The place of the workload when all are ordered by that reduction, the largest first.
    Rank { metric: Metric, workload: &'static str, against: &'static str },
    /// By how many percentage points a ratio is larger than that of the best other.
    Lead { metric: Metric, workload: &'static str },
    /// By how many 10^9 bytes a volume is smaller than the largest of the others.
    Saving { metric: Metric, workload: &'static str },
    /// Workloads on which the metric is better than that of every other; a tie does not count.
    Best { metric: Metric, on: Scope },
    /// Workloads on which this other is better than the rest of the others.
    BestOther { other: &'static str, metric: Metric, on: Scope },
    /// Workloads on which the metric is larger at the end of a study than at its beginning.
    Rises { metric: Metric, study: &'static str, on: Scope },
    /// Workloads on which it is smaller.
    Falls { metric: Metric, study: &'static str, on: Scope },
    /// Workloads on which the metric is best at this variant of a study; a tie does not count.
    Peaks { metric: Metric, study: &'static str, at: &'static str, on: Scope },
    /// Workloads on which the metric differs by at most `within` within a study: in percentage points of a ratio, in
    /// percent of anything else.
    Steady { metric: Metric, study: &'static str, within: f64, on: Scope },
    /// Workloads on which one metric is larger than another.
    Larger { metric: Metric, than: Metric, on: Scope },
    /// How many of these workloads are among those with the smallest metric, of which as many are taken.
    Smallest { metric: Metric, among: &'static [&'static str] },
    /// The largest part of the updated blocks, in percent, that any workload writes again within as many blocks as the
    /// buffer has, or after more.
    Periods { is_long: bool },
}

/// What is taken of a number on each workload.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The mean.
    Mean,
    /// The largest.
    Most,
    /// On how many workloads it is above zero.
    Count,
    /// On how many it is not below zero.
    NoWorse,
}

/// A half of the mix, or both.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The first or the second.
    Half(usize),
}

impl Part {
    /// How claims call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "both halves of the mix",
            Self::Half(0) => "first half of the mix",
            Self::Half(_) => "second half of the mix",
        }
    }
}

/// What is told of a run of the growth.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Grown {
    /// Seconds until all of the space was there.
    Seconds,
    /// Seconds until all of the space was there, over what the bytes that moved take at the drive's rate.
    OverMedia,
    /// By how many ms a request that came meanwhile took longer than without, at most.
    Increase,
}

/// The workloads a claim is about.
#[derive(Copy, Clone)]
pub enum Scope {
    /// All of the paper.
    All,
    /// All but these.
    Except(&'static [&'static str]),
    /// This one.
    One(&'static str),
}

impl Scope {
    /// Whether a workload is meant.
    pub fn has(self, workload: &str) -> bool {
        match self {
            Self::All => true,
            Self::Except(names) => !names.contains(&workload),
            Self::One(name) => name == workload,
        }
    }

    fn described(self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Except(names) => format!("all but {}", names.join(", ")),
            Self::One(name) => name.to_owned(),
        }
    }
}

impl Measure {
    /// The workloads whose runs it looks at.
    pub fn scope(&self) -> Scope {
        match self {
            Self::MeanReduction(_)
            | Self::Against { .. }
            | Self::MostTimes { .. }
            | Self::Speed { .. }
            | Self::LetIn { .. }
            | Self::Grown { .. }
            | Self::MostLost { .. }
            | Self::Rewritten { .. }
            | Self::AtLeast { .. }
            | Self::Level { .. }
            | Self::Rank { .. }
            | Self::Smallest { .. }
            | Self::Periods { .. } => Scope::All,
            Self::Reduction { workload, .. }
            | Self::Saved { workload, .. }
            | Self::Of { workload, .. }
            | Self::Times { workload, .. }
            | Self::Lead { workload, .. }
            | Self::Saving { workload, .. } => Scope::One(workload),
            Self::Best { on, .. }
            | Self::BestOther { on, .. }
            | Self::Rises { on, .. }
            | Self::Falls { on, .. }
            | Self::Peaks { on, .. }
            | Self::Steady { on, .. }
            | Self::Larger { on, .. } => *on,
        }
    }

    /// Whether it is made of what each workload gives by itself: it may be known well enough without some of them.
    pub fn is_of_each(&self) -> bool {
        matches!(
            self,
            Self::Against { taken: Taken::Most | Taken::Count | Taken::NoWorse, .. }
                | Self::MostTimes { .. }
                | Self::MostLost { .. }
                | Self::Best { .. }
                | Self::BestOther { .. }
                | Self::Rises { .. }
                | Self::Falls { .. }
                | Self::Peaks { .. }
                | Self::Steady { .. }
                | Self::Larger { .. }
        )
    }

    /// The variants that it looks at beside those of the paper's first study, on each workload of its scope.
    pub fn variants(&self, variants_of: impl Fn(&str) -> &'static [&'static str]) -> Vec<&'static str> {
        match *self {
            Self::Against { variant, against, .. }
            | Self::Saved { variant, against, .. }
            | Self::MostLost { variant, against, .. } => vec![variant, against],
            Self::Times { variant, over, .. } | Self::MostTimes { variant, over, .. } => vec![variant, over],
            Self::Of { variant, .. } => vec![variant],
            Self::Rises { study, .. } | Self::Falls { study, .. } => {
                let variants = variants_of(study);
                variants.first().into_iter().chain(variants.last()).copied().collect()
            }
            Self::Peaks { study, .. } | Self::Steady { study, .. } => variants_of(study).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Whether it looks at runs of the workloads, and not at the workloads alone.
    pub fn is_of_runs(&self) -> bool {
        !matches!(self, Self::Periods { .. })
            && self.sweep().is_none()
            && !self.is_of_the_mix()
            && !self.is_of_the_growth()
    }

    /// Whether it looks at the growth.
    pub fn is_of_the_growth(&self) -> bool {
        matches!(self, Self::Grown { .. })
    }

    /// Whether it looks at the mix.
    pub fn is_of_the_mix(&self) -> bool {
        matches!(self, Self::Speed { .. } | Self::LetIn { .. })
    }

    /// The sweep that it looks at, if it does.
    pub fn sweep(&self) -> Option<&'static str> {
        match self {
            Self::Rewritten { sweep, .. } | Self::AtLeast { sweep, .. } | Self::Level { sweep, .. } => Some(sweep),
            _ => None,
        }
    }
}

impl Described for Measure {
    fn described(&self) -> String {
        match self {
            Self::MeanReduction(metric) => {
                format!("{} saved against the others, on average over workloads and others", metric.name())
            }
            Self::Reduction { metric, workload, against } => {
                format!("{} saved against {against} on {workload}", metric.name())
            }
            Self::Against { metric, variant, against, taken } => {
                let saved = format!("{} saved by {variant} against {against}", metric.name());
                match taken {
                    Taken::Mean => format!("{saved}, on average over workloads"),
                    Taken::Most => format!("{saved}, at most"),
                    Taken::Count => format!("workloads with {saved}"),
                    Taken::NoWorse => format!("workloads without a loss, {saved}"),
                }
            }
            Self::Saved { metric, workload, variant, against } => {
                format!("{} saved by {variant} against {against} on {workload}", metric.name())
            }
            Self::Of { metric, workload, variant } => format!("{} of {variant} on {workload}", metric.name()),
            Self::Times { metric, workload, variant, over } => {
                format!("{} of {variant} over that of {over} on {workload}", metric.name())
            }
            Self::MostTimes { metric, variant, over } => {
                format!("{} of {variant} over that of {over}, at most", metric.name())
            }
            Self::Speed { variant, over, part } => format!("MB/s of {variant} over those of {over}, {}", part.name()),
            Self::LetIn { variant, part } => format!("blocks let in by {variant}, {}", part.name()),
            Self::Grown { run, of: Grown::Seconds } => format!("seconds until the space was there, {run}"),
            Self::Grown { run, of: Grown::OverMedia } => {
                format!("the same over what its bytes take at the drive's rate, {run}")
            }
            Self::Grown { run, of: Grown::Increase } => {
                format!("ms by which a request took longer than without, at most, {run}")
            }
            Self::MostLost { metric, variant, against } => {
                format!("{} lost by {variant} against {against}, at most", metric.name())
            }
            Self::Rewritten { sweep, curve, over } => {
                format!("least of rewritten by {curve} over rewritten by {over}, sweep {sweep}")
            }
            Self::AtLeast { sweep, curve, at } => {
                format!("rewritten by {curve} at {at} over the least, sweep {sweep}")
            }
            Self::Level { sweep, curve, up_to } => {
                format!("most over least rewritten by {curve} up to {up_to}, sweep {sweep}")
            }
            Self::Rank { metric, workload, against } => {
                format!("place of {workload} by {} saved against {against}", metric.name())
            }
            Self::Lead { metric, workload } => format!("lead in {} on {workload}", metric.name()),
            Self::Saving { metric, workload } => format!("{} below the largest other on {workload}", metric.name()),
            Self::Best { metric, on } => format!("best in {}; of {}", metric.name(), on.described()),
            Self::BestOther { other, metric, on } => {
                format!("{other} best of the others in {}; of {}", metric.name(), on.described())
            }
            Self::Rises { metric, study, on } => {
                format!("{} larger at the end of study {study}; of {}", metric.name(), on.described())
            }
            Self::Falls { metric, study, on } => {
                format!("{} smaller at the end of study {study}; of {}", metric.name(), on.described())
            }
            Self::Peaks { metric, study, at, on } => {
                format!("{} of study {study} best at {at}; of {}", metric.name(), on.described())
            }
            Self::Steady { metric, study, within, on } => {
                let unit = if metric.is_ratio() { "points" } else { "%" };
                format!("{} within {within} {unit} in study {study}; of {}", metric.name(), on.described())
            }
            Self::Larger { metric, than, on } => {
                format!("{} larger than {}; of {}", metric.name(), than.name(), on.described())
            }
            Self::Smallest { metric, among } => {
                format!("{} among those with the least {}", among.join(", "), metric.name())
            }
            Self::Periods { is_long: false } => "largest share of blocks with short update periods".to_owned(),
            Self::Periods { is_long: true } => "largest share of blocks with long update periods".to_owned(),
        }
    }
}
