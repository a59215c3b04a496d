//! What a paper says, in numbers, and whether a measurement agrees.

use serde::Serialize;

use super::measure::Measure;
use super::measured::{Described, Measured};

/// The version of [`Finding`].
pub const SCHEMA: &str = "imbrex.claim/2";

/// A sentence of a paper that can be true or false.
pub struct Claim<M = Measure> {
    /// Its name, by which the notes speak of it.
    pub id: &'static str,
    /// The sentence, shortened.
    pub says: &'static str,
    /// The number in it.
    pub value: f64,
    /// How far a measurement may be from that.
    pub tolerance: f64,
    /// On which side of it.
    pub bound: Bound,
    /// The unit of both.
    pub unit: &'static str,
    /// How it is measured.
    pub measure: M,
}

/// How a measurement has to lie to the claimed number.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Bound {
    /// As near as the tolerance, on either side.
    About,
    /// No smaller, and more is better: a measurement beyond the tolerance exceeds the claim.
    Gain,
    /// No smaller.
    AtLeast,
    /// No larger.
    AtMost,
}

/// Whether a claim holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As the paper says.
    Met,
    /// More than the paper says, by more than the tolerance.
    Exceeded,
    /// Not as the paper says.
    NotMet,
    /// As the paper says with some seeds, and not with others.
    Varies,
    /// The runs do not tell.
    NotMeasured,
}

/// A claim and what was measured.
#[derive(Serialize)]
pub struct Finding {
    pub schema: &'static str,
    pub paper: &'static str,
    pub id: &'static str,
    pub says: &'static str,
    pub rule: String,
    pub unit: &'static str,
    pub claimed: f64,
    pub tolerance: f64,
    /// The median over the seeds.
    pub measured: Option<f64>,
    /// The least and the most over the seeds; what is not known has no bound.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Verdict,
    /// The seeds that give a verdict, and those with which the claim is met.
    pub seeds: usize,
    pub seeds_met: usize,
    pub data: Data,
    pub requests: u64,
    pub note: String,
}

/// What the runs replayed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Traces of the paper's volumes.
    Real,
    /// Profiles.
    Synthetic,
    /// Some of both.
    Mixed,
}

/// What a measurement rests on.
#[derive(Copy, Clone)]
pub struct Replayed {
    /// What was replayed.
    pub data: Data,
    /// Requests of it.
    pub requests: u64,
}

impl Replayed {
    /// Before any run.
    pub const NOTHING: Self = Self { data: Data::Real, requests: 0 };
}

impl Verdict {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Met, Self::Exceeded, Self::NotMet, Self::Varies, Self::NotMeasured];

    /// Whether it is as the paper says.
    fn is_met(self) -> bool {
        matches!(self, Self::Met | Self::Exceeded)
    }

    /// The word for how many there are.
    pub fn counted(self) -> &'static str {
        match self {
            Self::NotMet => "not met",
            Self::Varies => "met with some seeds only",
            _ => self.name(),
        }
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Exceeded => "exceeded",
            Self::NotMet => "NOT MET",
            Self::Varies => "VARIES",
            Self::NotMeasured => "not measured",
        }
    }
}

impl Data {
    /// What there is, when `synthetic` of `all` workloads are synthetic.
    pub fn of(synthetic: usize, all: usize) -> Self {
        match synthetic {
            0 => Self::Real,
            _ if synthetic == all => Self::Synthetic,
            _ => Self::Mixed,
        }
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Synthetic => "synthetic",
            Self::Mixed => "mixed",
        }
    }
}

impl<M: Described> Claim<M> {
    /// The numbers that agree.
    fn accepted(&self) -> (f64, f64) {
        let (low, high) = (self.value - self.tolerance, self.value + self.tolerance);
        match self.bound {
            Bound::About => (low, high),
            Bound::Gain | Bound::AtLeast => (low, f64::INFINITY),
            Bound::AtMost => (f64::NEG_INFINITY, high),
        }
    }

    /// Whether a measurement agrees. One that is not a number, but lies within bounds, may tell all the same.
    pub fn verdict(&self, measured: &Measured) -> Verdict {
        let (least, most) = self.accepted();
        let (low, high) = (measured.low, measured.high);
        match self.bound {
            _ if high < least || low > most => Verdict::NotMet,
            Bound::Gain if low > self.value + self.tolerance => Verdict::Exceeded,
            _ if low >= least && high <= most => Verdict::Met,
            _ => Verdict::NotMeasured,
        }
    }

    /// When it is met, in words.
    fn rule(&self) -> String {
        let bound = match self.bound {
            Bound::About => format!("{} ± {}", self.value, self.tolerance),
            Bound::Gain | Bound::AtLeast => format!("at least {}", self.value - self.tolerance),
            Bound::AtMost => format!("at most {}", self.value + self.tolerance),
        };
        format!("{}: {bound} {}", self.measure.described(), self.unit)
    }

    /// The claim beside a measurement.
    pub fn finding(&self, paper: &'static str, measured: Measured, replayed: Replayed) -> Finding {
        let Replayed { data, requests } = replayed;
        let verdict = self.verdict(&measured);
        Finding {
            schema: SCHEMA,
            paper,
            id: self.id,
            says: self.says,
            rule: self.rule(),
            unit: self.unit,
            claimed: self.value,
            tolerance: self.tolerance,
            measured: measured.value(),
            low: Some(measured.low).filter(|low| low.is_finite()),
            high: Some(measured.high).filter(|high| high.is_finite()),
            verdict,
            seeds: usize::from(verdict != Verdict::NotMeasured),
            seeds_met: usize::from(verdict.is_met()),
            data,
            requests,
            note: measured.note,
        }
    }
}

/// What the runs of several seeds say together; the findings of each are in the same order. The notes are those of the
/// first.
pub fn over_seeds(mut of_seeds: Vec<Vec<Finding>>) -> Vec<Finding> {
    let first = of_seeds.remove(0);
    let mut others: Vec<_> = of_seeds.into_iter().map(Vec::into_iter).collect();
    let together = |finding: Finding| finding.and(others.iter_mut().filter_map(Iterator::next).collect());
    first.into_iter().map(together).collect()
}

impl Finding {
    /// This claim with further seeds. A seed with which the runs do not tell is left out.
    fn and(self, others: Vec<Self>) -> Self {
        let all = || std::iter::once(&self).chain(&others).filter(|finding| finding.verdict != Verdict::NotMeasured);
        let seeds_met = all().filter(|finding| finding.verdict.is_met()).count();
        let (seeds, Some(verdict)) = (all().count(), all().map(|finding| finding.verdict).next()) else { return self };
        let verdict = match seeds_met {
            _ if all().all(|finding| finding.verdict == verdict) => verdict,
            met if met == seeds => Verdict::Met,
            _ => Verdict::Varies,
        };
        let mut measured: Vec<_> = all().filter_map(|finding| finding.measured).collect();
        measured.sort_by(f64::total_cmp);
        let bounds = |of: fn(&Self) -> Option<f64>| all().map(of).collect::<Option<Vec<_>>>().unwrap_or_default();
        let low = bounds(|finding| finding.low).into_iter().min_by(f64::total_cmp);
        let high = bounds(|finding| finding.high).into_iter().max_by(f64::total_cmp);
        let measured = measured.get(measured.len() / 2).copied();
        Self { measured, low, high, verdict, seeds, seeds_met, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Exceeded, Met, NotMeasured, NotMet, Varies};
    use super::*;
    use crate::metric::Metric;

    fn claim(bound: Bound) -> Claim {
        let measure = Measure::MeanReduction(Metric::Rmw);
        Claim { id: "T", says: "", value: 30.0, tolerance: 5.0, bound, unit: "%", measure }
    }

    fn judged(bound: Bound, value: f64) -> Verdict {
        claim(bound).verdict(&Measured::alone(Some(value)))
    }

    #[test]
    fn verdicts_follow_the_bound() {
        let verdicts = |bound, values: [f64; 4]| values.map(|value| judged(bound, value));
        assert_eq!(verdicts(Bound::About, [24.9, 25.0, 35.0, 35.1]), [NotMet, Met, Met, NotMet]);
        assert_eq!(verdicts(Bound::Gain, [24.9, 25.0, 35.0, 35.1]), [NotMet, Met, Met, Exceeded]);
        assert_eq!(verdicts(Bound::AtLeast, [24.9, 25.0, 35.0, 90.0]), [NotMet, Met, Met, Met]);
        assert_eq!(verdicts(Bound::AtMost, [-9.0, 25.0, 35.0, 35.1]), [Met, Met, Met, NotMet]);
        assert_eq!(claim(Bound::About).verdict(&Measured::alone(None)), NotMeasured);
        assert_eq!(judged(Bound::About, f64::NAN), NotMeasured);
    }

    /// What is known to be too large or too small refutes a claim, though the number itself is not known.
    #[test]
    fn bounds_of_a_measurement_may_be_enough() {
        let within = |bound, low, high| claim(bound).verdict(&Measured::within(low, high, String::new()));
        let infinite = f64::INFINITY;
        assert_eq!(within(Bound::About, 36.0, infinite), NotMet);
        assert_eq!(within(Bound::About, 30.0, infinite), NotMeasured);
        assert_eq!(within(Bound::About, 26.0, 34.0), Met);
        assert_eq!(within(Bound::AtLeast, 3.0, 24.0), NotMet);
        assert_eq!(within(Bound::AtLeast, 3.0, 26.0), NotMeasured);
        assert_eq!(within(Bound::AtLeast, 26.0, infinite), Met);
        assert_eq!(within(Bound::AtMost, 36.0, infinite), NotMet);
        assert_eq!(within(Bound::Gain, 36.0, infinite), Exceeded);
    }

    #[test]
    fn a_claim_that_only_some_seeds_meet_varies() {
        let finding = |value| claim(Bound::Gain).finding("", Measured::alone(value), Replayed::NOTHING);
        let together = |values: &[Option<f64>]| {
            let of_seeds = values.iter().map(|value| vec![finding(*value)]).collect();
            let Finding { measured, low, high, verdict, seeds, seeds_met, .. } = over_seeds(of_seeds).remove(0);
            (verdict, measured, low, high, seeds, seeds_met)
        };
        let of = |values: &[f64]| together(&values.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(of(&[30.0, 26.0, 35.0]), (Met, Some(30.0), Some(26.0), Some(35.0), 3, 3));
        assert_eq!(of(&[50.0, 26.0, 31.0]), (Met, Some(31.0), Some(26.0), Some(50.0), 3, 3));
        assert_eq!(of(&[50.0, 60.0]), (Exceeded, Some(60.0), Some(50.0), Some(60.0), 2, 2));
        assert_eq!(of(&[44.6, 22.4, 18.0]), (Varies, Some(22.4), Some(18.0), Some(44.6), 3, 1));
        assert_eq!(of(&[1.0, 2.0]), (NotMet, Some(2.0), Some(1.0), Some(2.0), 2, 0));
        assert_eq!(together(&[None, Some(30.0)]), (Met, Some(30.0), Some(30.0), Some(30.0), 1, 1));
        assert_eq!(together(&[None, None]), (NotMeasured, None, None, None, 0, 0));
    }

    #[test]
    fn data_is_real_only_if_all_of_it_is() {
        assert_eq!([Data::of(0, 8), Data::of(3, 8), Data::of(8, 8)], [Data::Real, Data::Mixed, Data::Synthetic]);
    }
}
