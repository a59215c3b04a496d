//! How what the claims speak of is measured.

use super::Results;
use super::ranked::{Ranked, counted, joined, untold};
use crate::measure::{Measure, Scope, Taken};
use crate::measured::Measured;
use crate::metric::Metric;
use crate::{growth, mix};

impl Results {
    /// Runs that are too short to fill a buffer tell nothing of how it is managed: whatever is never cleaned is alike.
    pub fn measured(&self, measure: &Measure) -> Measured {
        if measure.is_of_runs() && !measure.is_of_each() {
            let idle: Vec<_> = self.within(measure.scope()).filter(|workload| self.is_idle(workload)).collect();
            if !idle.is_empty() {
                let note = format!("no buffer was cleaned on {}: more requests are needed", idle.join(", "));
                return Measured::new(None, note);
            }
        }
        self.measure(measure)
    }

    /// Whether no buffer was cleaned in the runs of a workload.
    fn is_idle(&self, workload: &str) -> bool {
        let variants = std::iter::once(self.paper.subject()).chain(self.paper.others());
        let mut write_backs = variants.filter_map(|name| self.value(workload, name, Metric::WriteBacks));
        !write_backs.any(|count| count > 0.0)
    }

    /// Measures it, whether the runs are long enough to tell or not.
    fn measure(&self, measure: &Measure) -> Measured {
        match *measure {
            Measure::MeanReduction(metric) => self.mean_reduction(metric),
            Measure::Reduction { metric, workload, against } => {
                Measured::alone(self.reduction(metric, workload, against))
            }
            Measure::Against { metric, variant, against, taken } => self.against(metric, variant, against, taken),
            Measure::Saved { metric, workload, variant, against } => {
                Measured::alone(self.reduction_of(metric, workload, variant, against))
            }
            Measure::Of { metric, workload, variant } => Measured::alone(self.value(workload, variant, metric)),
            Measure::Times { metric, workload, variant, over } => {
                Measured::alone(self.times(metric, workload, variant, over))
            }
            Measure::MostTimes { metric, variant, over } => self.most_times(metric, variant, over),
            Measure::Speed { variant, over, part } => {
                let speed = |variant| mix::of(&self.mix, variant, part).map(|point| point.megabytes_per_second);
                let value = speed(variant).zip(speed(over)).map(|(own, other)| own / other);
                Measured::alone(value.filter(|times| times.is_finite()))
            }
            Measure::LetIn { variant, part } => {
                Measured::alone(mix::of(&self.mix, variant, part).and_then(|point| point.enter_ratio))
            }
            Measure::Grown { run, of } => {
                Measured::new(growth::value(&self.growth, run, of), growth::note(&self.growth, run))
            }
            Measure::MostLost { metric, variant, against } => self.most_lost(metric, variant, against),
            Measure::Rewritten { sweep, curve, over } => self.rewritten(sweep, curve, over),
            Measure::AtLeast { sweep, curve, at } => self.above_least(sweep, curve, f64::INFINITY, Some(at)),
            Measure::Level { sweep, curve, up_to } => self.above_least(sweep, curve, up_to, None),
            Measure::Rank { metric, workload, against } => self.rank(metric, workload, against),
            Measure::Lead { metric, workload } => self.lead(metric, workload),
            Measure::Saving { metric, workload } => self.saving(metric, workload),
            Measure::Best { metric, on } => {
                self.count(on, |workload| self.is_best(metric, workload, self.paper.subject(), &self.paper.others()))
            }
            Measure::BestOther { other, metric, on } => {
                let rest: Vec<_> = self.paper.others().into_iter().filter(|name| *name != other).collect();
                self.count(on, |workload| self.is_best(metric, workload, other, &rest))
            }
            Measure::Rises { metric, study, on } => {
                self.count(on, |workload| self.ends(metric, study, workload).map(|(first, last)| last > first))
            }
            Measure::Falls { metric, study, on } => {
                self.count(on, |workload| self.ends(metric, study, workload).map(|(first, last)| last < first))
            }
            Measure::Peaks { metric, study, at, on } => {
                let rest: Vec<_> = self.paper.variants_of(study).iter().copied().filter(|name| *name != at).collect();
                self.count(on, |workload| self.is_best(metric, workload, at, &rest))
            }
            Measure::Steady { metric, study, within, on } => {
                self.count(on, |workload| Some(self.spread(metric, study, workload)? <= within))
            }
            Measure::Larger { metric, than, on } => self.count(on, |workload| {
                let [one, other] = [metric, than].map(|metric| self.value(workload, self.paper.subject(), metric));
                Some(one? > other?)
            }),
            Measure::Smallest { metric, among } => self.smallest(metric, among),
            Measure::Periods { is_long } => self.periods(is_long),
        }
    }

    /// By how many percent the metric is smaller than that of another. Of nothing, nothing can be saved.
    fn reduction(&self, metric: Metric, workload: &str, against: &str) -> Option<f64> {
        self.reduction_of(metric, workload, self.paper.subject(), against)
    }

    /// By how many percent the metric of `variant` is smaller than that of `against`.
    pub fn reduction_of(&self, metric: Metric, workload: &str, variant: &str, against: &str) -> Option<f64> {
        let [own, other] = [variant, against].map(|variant| self.value(workload, variant, metric));
        let (own, other) = (own?, other?);
        match other {
            0.0 if own == 0.0 => Some(0.0),
            0.0 => None,
            other => Some(100.0 * (1.0 - own / other)),
        }
    }

    /// The mean of that against every other, and what it is against each.
    fn mean_reduction(&self, metric: Metric) -> Measured {
        let (mut all, mut note, mut without) = (Vec::new(), Vec::new(), 0);
        for other in self.paper.others() {
            let every: Vec<_> =
                self.within(Scope::All).map(|workload| self.reduction(metric, workload, other)).collect();
            let against: Vec<_> = every.iter().copied().flatten().collect();
            without += every.len() - against.len();
            note.extend(mean(&against).map(|mean| format!("{mean:.1} % against {other}")));
            all.extend(against);
        }
        all.sort_by(f64::total_cmp);
        note.extend(all.get(all.len() / 2).map(|middle| format!("median {middle:.1} %")));
        if without > 0 {
            note.push(format!("{without} left out where the other has none"));
        }
        Measured::new(mean(&all), note.join(", "))
    }

    /// A number of each workload that gives one, the largest first, and the others.
    fn ranked(&self, of: impl Fn(&'static str) -> Option<f64>) -> Ranked {
        self.ranked_of_all(|workload| Some(workload).filter(|workload| !self.is_idle(workload)).and_then(&of))
    }

    /// The same, where it is no matter whether a buffer was filled.
    fn ranked_of_all(&self, of: impl Fn(&'static str) -> Option<f64>) -> Ranked {
        let (mut all, mut untold) = (Vec::new(), Vec::new());
        for workload in self.within(Scope::All) {
            match of(workload) {
                Some(number) => all.push((workload, number)),
                None => untold.push(workload),
            }
        }
        all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        Ranked { all, untold }
    }

    /// The reduction for one pair of variants: the mean over workloads, the largest, or how many show a gain or no loss.
    fn against(&self, metric: Metric, variant: &str, against: &str, taken: Taken) -> Measured {
        let ranked = self.ranked(|workload| self.reduction_of(metric, workload, variant, against));
        match taken {
            Taken::Mean => ranked.mean(" %", 1),
            Taken::Most => ranked.most(" %", 1),
            Taken::Count => ranked.positive(" %", 1),
            Taken::NoWorse => ranked.not_negative(" %", 1),
        }
    }

    /// How many times the metric of another variant that of one is.
    fn times(&self, metric: Metric, workload: &str, variant: &str, over: &str) -> Option<f64> {
        let [own, other] = [variant, over].map(|variant| self.value(workload, variant, metric));
        let other = other.filter(|other| *other > 0.0)?;
        Some(own? / other)
    }

    /// How many times it is, on the workload where that is most.
    fn most_times(&self, metric: Metric, variant: &str, over: &str) -> Measured {
        self.ranked(|workload| self.times(metric, workload, variant, over)).most("", 2)
    }

    /// By how many percentage points a ratio is below that of another variant, where that is most.
    fn most_lost(&self, metric: Metric, variant: &str, against: &str) -> Measured {
        let lost = |workload| {
            let [own, other] = [variant, against].map(|variant| self.value(workload, variant, metric));
            Some(100.0 * (other? - own?))
        };
        self.ranked(lost).most("", 1)
    }

    /// What a layer rewrites at each value of a sweep, if it does so at all of them.
    fn curve(&self, sweep: &str, curve: &str) -> Option<Vec<(f64, f64)>> {
        let of = self.sweeps.iter().filter(|point| (point.sweep, point.curve) == (sweep, curve));
        of.map(|point| Some((point.value, point.rewritten?))).collect()
    }

    /// The least ratio of what two layers rewrite.
    fn rewritten(&self, sweep: &str, curve: &str, over: &str) -> Measured {
        let (Some(one), Some(other)) = (self.curve(sweep, curve), self.curve(sweep, over)) else { return unswept() };
        let ratios: Vec<_> = one.iter().zip(&other).map(|((at, one), (_, other))| (at, one / other)).collect();
        let note = ratios.iter().map(|(at, ratio)| format!("{ratio:.1} at {at}")).collect::<Vec<_>>().join(", ");
        Measured::new(ratios.iter().map(|(_, ratio)| *ratio).min_by(f64::total_cmp), note)
    }

    /// The most that a layer rewrites at values up to `up_to`, or what it does `at` one of them, over the least.
    fn above_least(&self, sweep: &str, curve: &str, up_to: f64, at: Option<f64>) -> Measured {
        let Some(points) = self.curve(sweep, curve) else { return unswept() };
        let points: Vec<_> = points.into_iter().filter(|(value, _)| *value <= up_to).collect();
        let asked = points.iter().filter(|(value, _)| at.is_none_or(|at| at == *value));
        let most = asked.map(|(_, rewritten)| *rewritten).max_by(f64::total_cmp);
        let least = points.iter().map(|(_, rewritten)| *rewritten).min_by(f64::total_cmp);
        let note = points.iter().map(|(at, of)| format!("{of:.1} at {at}")).collect::<Vec<_>>().join(", ");
        Measured::new(most.zip(least).map(|(most, least)| most / least), note)
    }

    /// The place of a workload by that reduction, the largest first.
    fn rank(&self, metric: Metric, workload: &str, against: &str) -> Measured {
        let of = |workload| Some((workload, self.reduction(metric, workload, against)?));
        let mut all: Vec<_> = self.within(Scope::All).filter_map(of).collect();
        all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let place = all.iter().position(|(name, _)| *name == workload).map(|place| (place + 1) as f64);
        let note = all.iter().map(|(name, percent)| format!("{name} {percent:.1} %")).collect::<Vec<_>>().join(", ");
        Measured::new(place, note)
    }

    /// By how many percentage points a ratio is above that of the best other.
    fn lead(&self, metric: Metric, workload: &str) -> Measured {
        let other = |name| Some((name, self.value(workload, name, metric)?));
        let best =
            self.paper.others().into_iter().filter_map(other).max_by(|(_, one), (_, other)| one.total_cmp(other));
        let own = self.value(workload, self.paper.subject(), metric);
        let lead = own.zip(best).map(|(own, (_, best))| 100.0 * (own - best));
        let note = best.map_or(String::new(), |(name, _)| format!("the best other is {name}"));
        Measured::new(lead, note)
    }

    /// By how many 10^9 bytes a volume is below that of the largest other.
    fn saving(&self, metric: Metric, workload: &str) -> Measured {
        let largest = self.paper.others().into_iter().filter_map(|name| self.value(workload, name, metric));
        let largest = largest.max_by(f64::total_cmp);
        let own = self.value(workload, self.paper.subject(), metric);
        let gb = |bytes: f64| bytes / 1e9;
        let note = own.zip(largest).map(|(own, largest)| format!("{:.1} GB against {:.1} GB", gb(own), gb(largest)));
        Measured::new(own.zip(largest).map(|(own, largest)| gb(largest - own)), note.unwrap_or_default())
    }

    /// Whether a variant is better than all of `rest`; a tie is not better.
    fn is_best(&self, metric: Metric, workload: &str, variant: &str, rest: &[&str]) -> Option<bool> {
        let own = self.value(workload, variant, metric)?;
        let rest = rest.iter().map(|name| self.value(workload, name, metric)).collect::<Option<Vec<_>>>()?;
        Some(rest.iter().all(|other| if metric.is_gain() { own > *other } else { own < *other }))
    }

    /// The metric at the beginning and at the end of a study.
    fn ends(&self, metric: Metric, study: &str, workload: &str) -> Option<(f64, f64)> {
        let variants = self.paper.variants_of(study);
        let at = |variant: Option<&&str>| self.value(workload, variant?, metric);
        Some((at(variants.first())?, at(variants.last())?))
    }

    /// On how many workloads something holds, and on which it does not.
    fn count(&self, on: Scope, holds: impl Fn(&'static str) -> Option<bool>) -> Measured {
        let (mut holding, mut failing, mut without) = (0, Vec::new(), Vec::new());
        for workload in self.within(on) {
            match Some(workload).filter(|workload| !self.is_idle(workload)).and_then(&holds) {
                Some(true) => holding += 1,
                Some(false) => failing.push(workload),
                None => without.push(workload),
            }
        }
        let note = if failing.is_empty() { String::new() } else { format!("not on {}", failing.join(", ")) };
        counted(holding, without.len(), joined([note, untold(&without)]))
    }

    /// The largest share of updated blocks that any workload writes again soon, or late.
    fn periods(&self, is_long: bool) -> Measured {
        self.ranked_of_all(|workload| {
            let locality = self.localities.iter().find(|locality| locality.workload == workload)?;
            let periods = &locality.periods;
            Some(100.0 * if is_long { periods.long.share } else { periods.short.share })
        })
        .most(" %", 1)
    }

    /// The difference within a study: percentage points of a ratio, percent of the smallest of anything else.
    fn spread(&self, metric: Metric, study: &str, workload: &str) -> Option<f64> {
        let values = self.paper.variants_of(study).iter().map(|variant| self.value(workload, variant, metric));
        let values = values.collect::<Option<Vec<_>>>()?;
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        let high = values.iter().copied().max_by(f64::total_cmp)?;
        let spread = if metric.is_ratio() || low == high { high - low } else { high / low - 1.0 };
        Some(100.0 * spread)
    }

    /// How many of `among` are the workloads with the smallest metric, which are as many.
    fn smallest(&self, metric: Metric, among: &[&str]) -> Measured {
        let of = |workload| Some((workload, self.value(workload, self.paper.subject(), metric)?));
        let Some(mut all) = self.within(Scope::All).map(of).collect::<Option<Vec<_>>>() else {
            return Measured::alone(None);
        };
        all.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let hits = all.iter().take(among.len()).filter(|(workload, _)| among.contains(workload)).count();
        let note = all.iter().map(|(workload, value)| format!("{workload} {}", metric.shown(Some(*value))));
        Measured::new(Some(hits as f64), note.collect::<Vec<_>>().join(", "))
    }
}

/// The result where a sweep does not tell.
fn unswept() -> Measured {
    Measured::new(None, "nothing was rewritten somewhere: more requests are needed".to_owned())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
