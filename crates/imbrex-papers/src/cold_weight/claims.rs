//! What the paper says. Where it names no tolerance, one is a choice: for a saving half of it and at most five points,
//! so that a loss never passes; five of the paper's bands; half of a factor. Bands are counted in percent of all, since
//! other workloads fill another number of them.

use super::measure::Measure;
use super::paper::WEIGHTS;
use super::results::{Aged, Counted};
use crate::claim::{Bound, Claim};

const POINTS: f64 = 5.0;
const BANDS: u32 = 5;
/// Bands of 40 MB, of Project and of Source 1.
const ALL_BANDS: [u32; 2] = [279, 128];
/// Every trace with every prepopulation.
const CASES: f64 = 10.0;

pub const CLAIMS: &[Claim<Measure>] = &[
    saving("J1a", "up to 45 % fewer blocks are moved", 44.73, source_1(100), Counted::All),
    saving("J1b", "the same, by the trace alone", 44.73, source_1(100), Counted::Trace),
    cases("J2a", "some weight is better than Empty for every trace and level", Measure::Wins { counted: Counted::All }),
    cases("J2b", "the same, by the trace alone", Measure::Wins { counted: Counted::Trace }),
    best("J2.P0", "Project, 0 %: the best weight, 0.3, saves 12.45 %", 12.45, project(0)),
    best("J2.P25", "Project, 25 %: the best weight, 0.3, saves 4.01 %", 4.01, project(25)),
    best("J2.P50", "Project, 50 %: the best weight, 0.2, saves 8.59 %", 8.59, project(50)),
    best("J2.P75", "Project, 75 %: the best weight, 0.2, saves 0.13 %", 0.13, project(75)),
    best("J2.P100", "Project, 100 %: the best weight, 0.1, saves 8.36 %", 8.36, project(100)),
    best("J2.S0", "Source 1, 0 %: the best weight, 0.5, saves 2.62 %", 2.62, source_1(0)),
    best("J2.S25", "Source 1, 25 %: the best weight, 0.4, saves 12.86 %", 12.86, source_1(25)),
    best("J2.S50", "Source 1, 50 %: the best weight, 0.4, saves 3.68 %", 3.68, source_1(50)),
    best("J2.S75", "Source 1, 75 %: the best weight, 0.5, saves 28.91 %", 28.91, source_1(75)),
    best("J2.S100", "Source 1, 100 %: the best weight, 0.5, saves 44.73 %", 44.73, source_1(100)),
    cases("J3a", "small weights are better", Measure::SmallIsBest),
    cases("J3b", "weights from 0.7 on move more than Empty", Measure::LargeLoses),
    times("J3c", "Project, 25 %: weight 0.9 moves 39 times as much as Empty", 38.9, project(25), 90),
    times("J3d", "Project, 100 %: weight 0.7 moves ten times as much as Empty", 9.8, project(100), 70),
    few("J4a", "Project, 0 %: fewer than 20 of 279 bands are mixed", 19, project(0)),
    few("J4b", "Source 1, 0 %: fewer than 10 of 128 bands are mixed", 9, source_1(0)),
    mixed("J5.P25c", "Project, 25 %: 11 of 279 bands are mixed with cold-weight", 11, project(25), true),
    mixed("J5.P25e", "Project, 25 %: 17 of 279 bands are mixed with Empty", 17, project(25), false),
    mixed("J5.P50c", "Project, 50 %: 19 of 279 bands are mixed with cold-weight", 19, project(50), true),
    mixed("J5.P50e", "Project, 50 %: 18 of 279 bands are mixed with Empty", 18, project(50), false),
    mixed("J5.P100c", "Project, 100 %: 19 of 279 bands are mixed with cold-weight", 19, project(100), true),
    mixed("J5.P100e", "Project, 100 %: 30 of 279 bands are mixed with Empty", 30, project(100), false),
    mixed("J5.S50c", "Source 1, 50 %: 11 of 128 bands are mixed with cold-weight", 11, source_1(50), true),
    mixed("J5.S50e", "Source 1, 50 %: 11 of 128 bands are mixed with Empty", 11, source_1(50), false),
    mixed("J5.S75c", "Source 1, 75 %: 10 of 128 bands are mixed with cold-weight", 10, source_1(75), true),
    mixed("J5.S75e", "Source 1, 75 %: 5 of 128 bands are mixed with Empty", 5, source_1(75), false),
    mixed("J5.S100c", "Source 1, 100 %: 14 of 128 bands are mixed with cold-weight", 14, source_1(100), true),
    mixed("J5.S100e", "Source 1, 100 %: 10 of 128 bands are mixed with Empty", 10, source_1(100), false),
    cases("J6", "more hot blocks are left where fewer were moved", Measure::HotLeft),
    cases("J7", "bands of 80 MB give similar results", Measure::Wide),
    best_within("J8.P", "Project: the best weight is 0.1 to 0.3 with every prepopulation", 0, 10, 30),
    best_within("J8.S", "Source 1: the best weight is 0.4 or 0.5 with every prepopulation", 1, 40, 50),
];

/// Project behind that part of its writes, in percent.
const fn project(level: u32) -> Aged {
    Aged { workload: 0, level }
}

/// Source 1 behind that part of its own.
const fn source_1(level: u32) -> Aged {
    Aged { workload: 1, level }
}

/// Something holds for every trace with every prepopulation.
const fn cases(id: &'static str, says: &'static str, measure: Measure) -> Claim<Measure> {
    Claim { id, says, value: CASES, tolerance: 0.0, bound: Bound::AtLeast, unit: "cases", measure }
}

const fn saving(id: &'static str, says: &'static str, value: f64, on: Aged, counted: Counted) -> Claim<Measure> {
    let tolerance = if value / 2.0 < POINTS { value / 2.0 } else { POINTS };
    Claim { id, says, value, tolerance, bound: Bound::Gain, unit: "%", measure: Measure::Saved { on, counted } }
}

const fn best(id: &'static str, says: &'static str, value: f64, on: Aged) -> Claim<Measure> {
    saving(id, says, value, on, Counted::All)
}

const fn times(id: &'static str, says: &'static str, value: f64, on: Aged, weight: u32) -> Claim<Measure> {
    let measure = Measure::Times { on, weight };
    Claim { id, says, value, tolerance: value / 2.0, bound: Bound::About, unit: "times", measure }
}

/// The best weight is in a range, on a trace with every prepopulation.
const fn best_within(id: &'static str, says: &'static str, workload: usize, low: u32, high: u32) -> Claim<Measure> {
    let (measure, value) = (Measure::BestWithin { workload, low, high }, CASES / 2.0);
    Claim { id, says, value, tolerance: 0.0, bound: Bound::AtLeast, unit: "cases", measure }
}

/// So many of the bands of a trace, in percent with one decimal.
const fn percent(bands: u32, workload: usize) -> f64 {
    let all = ALL_BANDS[workload];
    ((1000 * bands + all / 2) / all) as f64 / 10.0
}

/// At most `bands` bands are mixed, with Empty and with the best weight.
const fn few(id: &'static str, says: &'static str, bands: u32, on: Aged) -> Claim<Measure> {
    let (measure, value) = (Measure::MostMixed { on }, percent(bands, on.workload));
    Claim { id, says, value, tolerance: 0.0, bound: Bound::AtMost, unit: "% of bands", measure }
}

/// About `bands` bands are mixed.
const fn mixed(id: &'static str, says: &'static str, bands: u32, on: Aged, is_best: bool) -> Claim<Measure> {
    let [value, tolerance] = [percent(bands, on.workload), percent(BANDS, on.workload)];
    let measure = Measure::Mixed { on, is_best };
    Claim { id, says, value, tolerance, bound: Bound::About, unit: "% of bands", measure }
}

/// Whether a claim asks how much more than Empty a variant moves.
pub fn looks_at(aged: Aged, variant: usize) -> bool {
    CLAIMS.iter().any(|claim| match claim.measure {
        Measure::Times { on, weight } => on == aged && WEIGHTS.get(variant.wrapping_sub(1)) == Some(&weight),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::claim::Verdict;
    use crate::cold_weight::paper::{TABLES, Table};
    use crate::measured::Measured;

    #[test]
    fn claims_say_what_the_tables_do() {
        let ids: HashSet<_> = CLAIMS.iter().map(|claim| claim.id).collect();
        assert_eq!(ids.len(), CLAIMS.len(), "claims have names of their own");
        let mut savings = 0;
        for claim in CLAIMS {
            match claim.measure {
                Measure::Saved { on, .. } => {
                    let (weight, saved) = Table::of(on.level).unwrap().best(on.workload);
                    assert!((claim.value - saved).abs() < 0.01, "{}: {saved}", claim.id);
                    let said = format!("the best weight, 0.{}, saves {} %", weight / 10, claim.value);
                    assert!(claim.id.starts_with("J1") || claim.says.ends_with(&said), "{}", claim.says);
                    assert_eq!(
                        claim.verdict(&Measured::alone(Some(0.0))),
                        Verdict::NotMet,
                        "{}: nothing saved",
                        claim.id
                    );
                    savings += 1;
                }
                Measure::BestWithin { workload, low, high } => {
                    let best = || TABLES.iter().map(|table| table.best(workload).0);
                    assert_eq!((best().min(), best().max()), (Some(low), Some(high)), "{}", claim.id);
                }
                Measure::Mixed { on, .. } | Measure::MostMixed { on } => {
                    let numbers = |text: &str| text.split(' ').filter_map(|word| word.parse::<f64>().ok()).collect();
                    let said: Vec<f64> = numbers(claim.says.split_once(": ").unwrap().1);
                    let few = f64::from(u8::from(claim.bound == Bound::AtMost));
                    assert_eq!(said[1], f64::from(ALL_BANDS[on.workload]), "{}", claim.id);
                    assert!((claim.value - 100.0 * (said[0] - few) / said[1]).abs() <= 0.05, "{}", claim.id);
                }
                Measure::Times { on, weight } => {
                    let saved = Table::of(on.level).unwrap().saved(on.workload, weight as usize / 10);
                    assert!((claim.value - (1.0 - saved / 100.0)).abs() < 0.1, "{}: {saved}", claim.id);
                }
                _ => {}
            }
        }
        assert_eq!(savings, 12);
    }
}
