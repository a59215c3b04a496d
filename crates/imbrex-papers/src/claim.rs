//! What a paper says, in numbers, and whether a measurement agrees.

use serde::Serialize;

use super::measure::Measure;
use super::measured::{Described, Measured};

/// The version of [`Finding`].
pub const SCHEMA: &str = "imbrex.claim/1";

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
    /// As near as the tolerance; a larger measurement exceeds the claim.
    About,
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
    pub measured: Option<f64>,
    pub verdict: Verdict,
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
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Exceeded => "exceeded",
            Self::NotMet => "NOT MET",
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
    /// Whether a measurement agrees.
    pub fn verdict(&self, measured: Option<f64>) -> Verdict {
        let (low, high) = (self.value - self.tolerance, self.value + self.tolerance);
        match (self.bound, measured) {
            (_, None) => Verdict::NotMeasured,
            (Bound::About, Some(measured)) if measured > high => Verdict::Exceeded,
            (Bound::About | Bound::AtLeast, Some(measured)) if measured >= low => Verdict::Met,
            (Bound::AtMost, Some(measured)) if measured <= high => Verdict::Met,
            _ => Verdict::NotMet,
        }
    }

    /// When it is met, in words.
    fn rule(&self) -> String {
        let bound = match self.bound {
            Bound::About => format!("{} ± {}", self.value, self.tolerance),
            Bound::AtLeast => format!("at least {}", self.value - self.tolerance),
            Bound::AtMost => format!("at most {}", self.value + self.tolerance),
        };
        format!("{}: {bound} {}", self.measure.described(), self.unit)
    }

    /// The claim beside a measurement.
    pub fn finding(&self, paper: &'static str, measured: Measured, replayed: Replayed) -> Finding {
        let Measured { value, note } = measured;
        let Replayed { data, requests } = replayed;
        Finding {
            schema: SCHEMA,
            paper,
            id: self.id,
            says: self.says,
            rule: self.rule(),
            unit: self.unit,
            claimed: self.value,
            tolerance: self.tolerance,
            measured: value,
            verdict: self.verdict(value),
            data,
            requests,
            note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;

    fn claim(bound: Bound) -> Claim {
        let measure = Measure::MeanReduction(Metric::Rmw);
        Claim { id: "T", says: "", value: 30.0, tolerance: 5.0, bound, unit: "%", measure }
    }

    #[test]
    fn verdicts_follow_the_bound() {
        let verdicts = |bound, values: [f64; 4]| values.map(|value| claim(bound).verdict(Some(value)));
        use Verdict::{Exceeded, Met, NotMet};
        assert_eq!(verdicts(Bound::About, [24.9, 25.0, 35.0, 35.1]), [NotMet, Met, Met, Exceeded]);
        assert_eq!(verdicts(Bound::AtLeast, [24.9, 25.0, 35.0, 90.0]), [NotMet, Met, Met, Met]);
        assert_eq!(verdicts(Bound::AtMost, [-9.0, 25.0, 35.0, 35.1]), [Met, Met, Met, NotMet]);
        assert_eq!(claim(Bound::About).verdict(None), Verdict::NotMeasured);
        assert_eq!(claim(Bound::About).verdict(Some(f64::NAN)), NotMet);
    }

    #[test]
    fn data_is_real_only_if_all_of_it_is() {
        assert_eq!([Data::of(0, 8), Data::of(3, 8), Data::of(8, 8)], [Data::Real, Data::Mixed, Data::Synthetic]);
    }
}
