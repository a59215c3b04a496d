//! The runs of a paper, and what they say together.

mod measuring;
mod ranked;

use imbrex_runs::row::Row;

use super::claim::{Claim, Data, Finding, Replayed};
use super::locality::Locality;
use super::measure::Scope;
use super::metric::Metric;
use super::paper::Paper;
use super::{growth, mix, sweep, turnover};

/// Every variant on every workload.
pub struct Results {
    pub paper: &'static Paper,
    /// For each workload the rows of the variants, in the order in which the paper lists both; none for what no study
    /// shows.
    rows: Vec<Vec<Option<Row>>>,
    /// The points of its figure over turnovers, if it has one.
    pub turnover: Vec<turnover::Point>,
    /// The points of its sweeps.
    pub sweeps: Vec<sweep::Point>,
    /// The windows of its mix, if it has one.
    pub mix: Vec<mix::Point>,
    /// The runs of its growth, if it has one.
    pub growth: Vec<growth::Run>,
    /// How the workloads write, in the same order; empty if the paper does not show it.
    pub localities: Vec<Locality>,
}

impl Results {
    /// Runs by the places of their workload and their variant; nothing else is known yet.
    pub fn new(paper: &'static Paper, runs: impl IntoIterator<Item = ((usize, usize), Row)>) -> Self {
        let mut rows: Vec<Vec<_>> =
            paper.workloads.iter().map(|_| paper.variants.iter().map(|_| None).collect()).collect();
        for ((workload, variant), row) in runs {
            rows[workload][variant] = Some(row);
        }
        let (turnover, sweeps, mix, growth, localities) = Default::default();
        Self { paper, rows, turnover, sweeps, mix, growth, localities }
    }

    /// All of them, in that order.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().flatten().flatten()
    }

    /// The run of a variant on a workload.
    pub fn row(&self, workload: &str, variant: &str) -> Option<&Row> {
        let workload = self.paper.workloads.iter().position(|name| *name == workload)?;
        let variant = self.paper.variants.iter().position(|known| known.name == variant)?;
        self.rows.get(workload)?.get(variant)?.as_ref()
    }

    /// Whether any of these workloads was run.
    pub fn has_any(&self, workloads: &[&str]) -> bool {
        workloads.iter().any(|workload| self.row(workload, self.paper.subject()).is_some())
    }

    /// A number of that run, if what the variant is about happened in it.
    pub fn value(&self, workload: &str, variant: &str, metric: Metric) -> Option<f64> {
        let row = self.row(workload, variant)?;
        (!self.is_unreached(workload, variant)).then(|| metric.of(row)).flatten()
    }

    /// Whether a run tells nothing of its variant, as what that is about never happened.
    pub fn is_unreached(&self, workload: &str, variant: &str) -> bool {
        let known = self.paper.variants.iter().find(|known| known.name == variant);
        let reaches = known.and_then(|known| known.reaches);
        let happened = reaches.zip(self.row(workload, variant)).and_then(|(metric, row)| metric.of(row));
        happened == Some(0.0)
    }

    /// Every claim beside what was measured.
    pub fn findings(&self) -> Vec<Finding> {
        let finding = |claim: &'static Claim| {
            let replayed = match claim.measure.sweep() {
                Some(sweep) => sweep::replayed(&self.sweeps, sweep),
                None if claim.measure.is_of_the_mix() => mix::replayed(&self.mix),
                None if claim.measure.is_of_the_growth() => growth::replayed(&self.growth),
                None => self.replayed(claim.measure.scope()),
            };
            claim.finding(self.paper.name, self.measured(&claim.measure), replayed)
        };
        self.paper.claims.iter().map(finding).collect()
    }

    /// What these workloads are, and how many requests they have in all.
    fn replayed(&self, scope: Scope) -> Replayed {
        let rows: Vec<_> = self.within(scope).filter_map(|workload| self.row(workload, self.paper.subject())).collect();
        let data = Data::of(rows.iter().filter(|row| row.synthetic).count(), rows.len());
        Replayed { data, requests: rows.iter().map(|row| row.outcome.requests).sum() }
    }

    fn within(&self, scope: Scope) -> impl Iterator<Item = &'static str> {
        self.paper.workloads.iter().copied().filter(move |workload| scope.has(workload))
    }
}
