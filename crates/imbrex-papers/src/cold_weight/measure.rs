//! How the claims are measured.

use imbrex_terminal::table::{count, number};

use super::paper::{TABLES, WEIGHTS, WORKLOADS};
use super::results::{Aged, Cell, Counted, Results, unknown};
use crate::measured::{Described, Measured};

/// Weights from this one on are too large, says the paper; up to the other one are small.
const LARGE: u32 = 70;
const SMALL: u32 = 50;

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
    /// Mixed bands at the end, the more of Empty and the best weight.
    MostMixed { on: Aged },
    /// Mixed bands at the end, of Empty or of the best weight.
    Mixed { on: Aged, is_best: bool },
    /// Aged workloads on which more hot blocks are left by the one of Empty and the best weight that moves less.
    HotLeft,
}

/// Every trace of the paper with every prepopulation.
fn everywhere() -> Vec<Aged> {
    let of = |workload| TABLES.iter().map(move |table| Aged { workload, level: table.level });
    (0..WORKLOADS.len()).flat_map(of).collect()
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
            Self::HotLeft => format!("more hot blocks are left where fewer were moved; of {all}"),
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
            Self::Wins { .. } | Self::SmallIsBest | Self::LargeLoses | Self::HotLeft => everywhere(),
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
                Some((empty, best)) => mixed(empty.sums.mixed.max(best.sums.mixed), empty, best),
                None => unknown(on),
            },
            Self::Mixed { on, is_best } => match both(results, on) {
                Some((empty, best)) => mixed(if is_best { best } else { empty }.sums.mixed, empty, best),
                None => unknown(on),
            },
            Self::HotLeft => results.count(&everywhere(), |aged| {
                let (empty, best) = both(results, aged)?;
                let is_right = |more: &Cell, fewer: &Cell| fewer.sums.hot_blocks > more.sums.hot_blocks;
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

fn large_loses(results: &Results, aged: Aged) -> Option<bool> {
    let large = (1..).zip(WEIGHTS).filter(|(_, weight)| *weight >= LARGE);
    let mut saved = large.map(|(variant, _)| results.saved(aged, variant, Counted::All));
    saved.try_fold(true, |all, saved| Some(all && saved? < 0.0))
}

fn times(results: &Results, on: Aged, weight: u32) -> Measured {
    let variant = WEIGHTS.iter().position(|known| *known == weight).map(|at| at + 1);
    let saved = variant.and_then(|variant| results.saved(on, variant, Counted::All));
    let Some(saved) = saved else { return unknown(on) };
    let trace = variant.and_then(|variant| results.saved(on, variant, Counted::Trace));
    let note = trace.map(|saved| format!("{} times with the trace's own alone", number(1.0 - saved / 100.0)));
    Measured::new(Some(1.0 - saved / 100.0), note.unwrap_or_default())
}

/// Empty and the best weight, where anything was compacted.
fn both(results: &Results, aged: Aged) -> Option<(&Cell, &Cell)> {
    let (best, _) = results.best(aged, Counted::All)?;
    Some((results.variants(aged).first()?, best))
}

fn mixed(value: Option<u64>, empty: &Cell, best: &Cell) -> Measured {
    let of = |cell: &Cell| cell.sums.mixed.map_or("-".to_owned(), count);
    let weight = best.weight().map_or(0.0, |weight| f64::from(weight) / 100.0);
    let note = format!("weight {weight} {}, Empty {}, of {} bands", of(best), of(empty), count(empty.sums.bands));
    Measured::new(value.map(|value| value as f64), note)
}
