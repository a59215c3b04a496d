//! What a paper measured, as data: the runs, the figures they make, and what the paper says of them.

use super::claim::Claim;
use super::metric::Metric;

/// A paper whose evaluation can be repeated.
pub struct Paper {
    /// The name on the command line.
    pub name: &'static str,
    /// Title, venue and year.
    pub title: &'static str,
    /// The drive of the paper.
    pub drive: &'static str,
    /// The persistent buffer, as `--buffer` takes it.
    pub buffer: &'static str,
    /// The part of the drive that was written before the first request.
    pub prefill: f64,
    /// The volumes; each is a profile too.
    pub workloads: &'static [&'static str],
    /// The numbers of the figures that show how soon its workloads write blocks again, and where they write; if any do.
    pub locality: Option<(&'static str, &'static str)>,
    /// Every configuration that takes part. The first is what the paper proposes.
    pub variants: &'static [Variant],
    /// The comparisons of them, each with tables and pictures of its own.
    pub studies: &'static [Study],
    /// What the paper says.
    pub claims: &'static [Claim],
}

/// A layer in a configuration.
pub struct Variant {
    /// How studies and results call it.
    pub name: &'static str,
    /// The layer.
    pub layer: &'static str,
    /// What of its configuration differs from its defaults, written as for `--set`.
    pub settings: &'static [&'static str],
}

/// Variants side by side.
pub struct Study {
    /// The name in file names.
    pub name: &'static str,
    /// What is compared.
    pub title: &'static str,
    /// The names of the variants, the yardstick first.
    pub variants: &'static [&'static str],
    /// What is shown of them.
    pub figures: &'static [Figure],
}

/// A figure of the paper, or one beside it.
pub struct Figure {
    /// As the paper numbers it; empty for what it does not show.
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
