//! How the claims are measured.

use std::ops::RangeInclusive;

use imbrex_terminal::table::{count, number};

use super::paper::{SMALL, TABLES, WEIGHTS, WORKLOADS};
use super::results::{Aged, Cell, Counted, Results, best, unknown};
use crate::measured::{Described, Measured};

/// Weights from this one on are too large, says the paper.
const LARGE: u32 = 70;

/// Points by which what is saved with bands of two lengths may differ, to be similar.
const SIMILAR: f64 = 5.0;

/// A number that the runs give together.
#[derive(Copy, Clone)]
pub enum Measure {
    /// By how many percent the best weight moves less than Empty.
    Saved { on: Aged, counted: Counted },
    /// Aged workloads on which some weight moves less than Empty.
    Wins { counted: Counted },
    /// Those on which the best weight is at most 0.5.
    SmallIsBest,
    /// Those on which every weight from 0.7 on moves more than Empty.
    LargeLoses,
    /// How many times as much as Empty a weight moves.
    Times { on: Aged, weight: u32 },
    /// Aged disks of a workload on which the best weight is in this range.
    BestWithin { workload: usize, low: u32, high: u32 },
    /// The share of mixed bands at the end, the more of Empty and the best weight.
    MostMixed { on: Aged },
    /// The share of mixed bands at the end, of Empty or of the best weight.
    Mixed { on: Aged, is_best: bool },
    /// Aged workloads on which more hot blocks are left by the one of Empty and the best weight that moves less.
    HotLeft,
    /// Those on which the best small weight saves about as much on bands that are twice as long.
    Wide,
}

/// A trace of the paper with every prepopulation.
fn levels(workload: usize) -> Vec<Aged> {
    TABLES.iter().map(|table| Aged { workload, level: table.level }).collect()
}

/// Every trace of the paper with every prepopulation.
fn everywhere() -> Vec<Aged> {
    (0..WORKLOADS.len()).flat_map(levels).collect()
}

impl Counted {
    fn described(self) -> &'static str {
        match self {
            Self::All => "moved blocks, those of the prepopulation too",
            Self::Trace => "moved blocks of the trace alone",
        }
    }
}

impl Described for Measure {
    fn described(&self) -> String {
        let all = everywhere().len();
        match self {
            Self::Saved { on, counted } => {
                format!("{} that the best weight saves on {}", counted.described(), on.name())
            }
            Self::Wins { counted } => {
                format!("{} fewer with some weight than with Empty; of {all}", counted.described())
            }
            Self::SmallIsBest => format!("the best weight is at most 0.{}; of {all}", SMALL / 10),
            Self::LargeLoses => format!("every weight from 0.{} on moves more than Empty; of {all}", LARGE / 10),
            Self::Times { on, weight } => format!("moved with weight 0.{} over Empty on {}", weight / 10, on.name()),
            Self::MostMixed { on } => format!("mixed bands, the more of Empty and the best weight, on {}", on.name()),
            Self::Mixed { on, is_best: false } => format!("mixed bands with Empty on {}", on.name()),
            Self::Mixed { on, is_best: true } => format!("mixed bands with the best weight on {}", on.name()),
            Self::BestWithin { workload, low, high } => {
                let volume = WORKLOADS[*workload].volume;
                format!("the best weight on {volume} is from 0.{} to 0.{}; of {}", low / 10, high / 10, TABLES.len())
            }
            Self::HotLeft => format!("more hot blocks are left where fewer were moved; of {all}"),
            Self::Wide => format!(
                "what the best weight up to 0.{} saves differs by at most {SIMILAR} points with bands twice as long; \
                 of {all}",
                SMALL / 10
            ),
        }
    }
}

impl Measure {
    /// The aged workloads that it looks at.
    pub fn scope(&self) -> Vec<Aged> {
        match *self {
            Self::Saved { on, .. } | Self::Times { on, .. } | Self::MostMixed { on } | Self::Mixed { on, .. } => {
                vec![on]
            }
            Self::BestWithin { workload, .. } => levels(workload),
            Self::Wins { .. } | Self::SmallIsBest | Self::LargeLoses | Self::HotLeft | Self::Wide => everywhere(),
        }
    }

    /// What the runs give.
    pub fn of(&self, results: &Results) -> Measured {
        match *self {
            Self::Saved { on, counted } => saved(results, on, counted),
            Self::Wins { counted } => results.count(&everywhere(), |aged| Some(results.best(aged, counted)?.1 > 0.0)),
            Self::SmallIsBest => {
                results.count(&everywhere(), |aged| Some(results.best(aged, Counted::All)?.0.weight() <= Some(SMALL)))
            }
            Self::LargeLoses => results.count(&everywhere(), |aged| large_loses(results, aged)),
            Self::Times { on, weight } => times(results, on, weight),
            Self::MostMixed { on } => match both(results, on) {
                Some((empty, best)) => {
                    let both = [empty, best].map(Cell::mixed_percent);
                    mixed(both.into_iter().flatten().max_by(f64::total_cmp), empty, best)
                }
                None => unknown(on),
            },
            Self::Mixed { on, is_best } => match both(results, on) {
                Some((empty, best)) => mixed(if is_best { best } else { empty }.mixed_percent(), empty, best),
                None => unknown(on),
            },
            Self::BestWithin { workload, low, high } => best_within(results, workload, low..=high),
            Self::Wide => results.count(&everywhere(), |aged| {
                let [narrow, wide] = [results.small(aged), results.wide(aged)].map(|cells| best(cells, Counted::All));
                Some((narrow?.1 - wide?.1).abs() <= SIMILAR)
            }),
            Self::HotLeft => results.count(&everywhere(), |aged| {
                let (empty, best) = both(results, aged)?;
                let hot = |cell: &Cell| cell.end.as_ref().and_then(|end| end.sums.hot_blocks);
                let is_right = |more: &Cell, fewer: &Cell| hot(fewer) > hot(more);
                let best_moves_less = best.moved(Counted::All) < empty.moved(Counted::All);
                Some(if best_moves_less { is_right(empty, best) } else { is_right(best, empty) })
            }),
        }
    }
}

fn saved(results: &Results, on: Aged, counted: Counted) -> Measured {
    let Some((best, saved)) = results.best(on, counted) else { return unknown(on) };
    let empty = &results.variants(on)[0];
    let weight = best.weight().map_or(0.0, |weight| f64::from(weight) / 100.0);
    let note = format!("weight {weight} moves {}, Empty {}", count(best.moved(counted)), count(empty.moved(counted)));
    Measured::new(Some(saved), note)
}

fn best_within(results: &Results, workload: usize, range: RangeInclusive<u32>) -> Measured {
    let best = |aged| results.best(aged, Counted::All)?.0.weight();
    let mut measured = results.count(&levels(workload), |aged| Some(range.contains(&best(aged)?)));
    let weights = levels(workload).into_iter().map(|aged| {
        let weight = best(aged).map_or("-".to_owned(), |weight| format!("0.{}", weight / 10));
        format!("{weight} with {} %", aged.level)
    });
    measured.note = format!("the best are {}", weights.collect::<Vec<_>>().join(", "));
    measured
}

fn large_loses(results: &Results, aged: Aged) -> Option<bool> {
    let large = (1..).zip(WEIGHTS).filter(|(_, weight)| *weight >= LARGE);
    let mut saved = large.map(|(variant, _)| results.saved(aged, variant, Counted::All));
    saved.try_fold(true, |all, saved| Some(all && saved? < 0.0))
}

fn times(results: &Results, on: Aged, weight: u32) -> Measured {
    let variant = WEIGHTS.iter().position(|known| *known == weight).map_or(0, |at| at + 1);
    let Some(saved) = results.saved(on, variant, Counted::All) else { return unknown(on) };
    let times = |saved: f64| 1.0 - saved / 100.0;
    match results.saved(on, variant, Counted::Trace) {
        Some(trace) => {
            let note = format!("{} times with the trace's own alone", number(times(trace)));
            Measured::new(Some(times(saved)), note)
        }
        None => Measured::within(times(saved), f64::INFINITY, "the run was stopped there".to_owned()),
    }
}

/// Empty and the best weight, where anything was compacted.
fn both(results: &Results, aged: Aged) -> Option<(&Cell, &Cell)> {
    let (best, _) = results.best(aged, Counted::All)?;
    Some((results.variants(aged).first()?, best))
}

fn mixed(value: Option<f64>, empty: &Cell, best: &Cell) -> Measured {
    let of = |cell: &Cell| {
        let sums = cell.end.as_ref().map(|end| end.sums);
        let mixed = sums.and_then(|sums| Some(format!("{} of {}", count(sums.mixed?), count(sums.bands))));
        mixed.unwrap_or_else(|| "-".to_owned())
    };
    let weight = best.weight().map_or(0.0, |weight| f64::from(weight) / 100.0);
    Measured::new(value, format!("weight {weight} {}, Empty {} bands", of(best), of(empty)))
}
