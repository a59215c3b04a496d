//! The runs, and what they say together.

use imbrex::contents::BandContent;
use imbrex::replay::BandSums;
use imbrex_runs::row::Row;

use super::paper::{SMALL, WEIGHTS, WORKLOADS};
use crate::claim::{Data, Replayed};
use crate::measured::Measured;

/// One run.
pub struct Cell {
    pub workload: usize,
    /// The part of the writes that came before, in percent.
    pub level: u32,
    /// 0 is Empty; the others are the weights in their order, and then what goes beyond the paper.
    pub variant: usize,
    /// Whether bands are twice as long as in the paper's tables.
    pub is_wide: bool,
    /// Blocks moved by the trace itself; at least so many, if the run was stopped.
    pub moved: u64,
    /// Blocks moved by what came before.
    pub moved_before: u64,
    /// What there was at its end, unless it was stopped before.
    pub end: Option<End>,
}

/// The end of a run.
pub struct End {
    pub row: Row,
    pub sums: BandSums,
    /// The bands.
    pub bands: Vec<BandContent>,
}

/// Which moved blocks count.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Counted {
    /// Those of the prepopulation too.
    All,
    /// Those of the trace alone.
    Trace,
}

/// A workload behind that part of its writes.
#[derive(Copy, Clone, PartialEq, Eq)]
pub struct Aged {
    pub workload: usize,
    pub level: u32,
}

/// All runs, in the order of workloads, prepopulations and variants.
pub struct Results {
    cells: Vec<Cell>,
    wide: Vec<Cell>,
    beyond: Vec<Cell>,
}

impl Cell {
    pub fn aged(&self) -> Aged {
        Aged { workload: self.workload, level: self.level }
    }

    /// What stands before its numbers: they are larger if it was stopped.
    pub fn at_least(&self) -> &'static str {
        if self.end.is_none() { "≥ " } else { "" }
    }

    /// The bands at its end that hold at least one hot, one cold and one free block, in percent of all.
    pub fn mixed_percent(&self) -> Option<f64> {
        let sums = self.end.as_ref()?.sums;
        Some(100.0 * sums.mixed? as f64 / sums.bands as f64)
    }

    pub fn moved(&self, counted: Counted) -> u64 {
        match counted {
            Counted::All => self.moved + self.moved_before,
            Counted::Trace => self.moved,
        }
    }

    /// The weight in percent; Empty has none, and what goes beyond the paper neither.
    pub fn weight(&self) -> Option<u32> {
        WEIGHTS.get(self.variant.checked_sub(1)?).copied()
    }
}

impl Aged {
    /// What tables call it.
    pub fn name(self) -> String {
        format!("{} {} %", WORKLOADS[self.workload].volume, self.level)
    }
}

impl Results {
    pub fn new(mut cells: Vec<Cell>) -> Self {
        cells.sort_by_key(|cell| (cell.workload, cell.level, cell.variant));
        let (wide, cells): (Vec<_>, Vec<_>) = cells.into_iter().partition(|cell| cell.is_wide);
        let (cells, beyond) = cells.into_iter().partition(|cell| cell.variant <= WEIGHTS.len());
        Self { cells, wide, beyond }
    }

    /// The runs of the paper.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Those of what goes beyond it.
    pub fn beyond(&self) -> &[Cell] {
        &self.beyond
    }

    /// The ends of all runs that were not stopped.
    pub fn ends(&self) -> impl Iterator<Item = &End> {
        self.cells.iter().chain(&self.wide).chain(&self.beyond).filter_map(|cell| cell.end.as_ref())
    }

    /// The runs on an aged workload, Empty first; none if it was left out.
    pub fn variants(&self, aged: Aged) -> &[Cell] {
        of(&self.cells, aged)
    }

    /// Empty and the small weights.
    pub fn small(&self, aged: Aged) -> &[Cell] {
        let cells = self.variants(aged);
        let small = |cell: &&Cell| cell.weight() <= Some(SMALL);
        &cells[..cells.iter().take_while(small).count()]
    }

    /// The same on bands that are twice as long.
    pub fn wide(&self, aged: Aged) -> &[Cell] {
        of(&self.wide, aged)
    }

    /// The aged workloads, in the order of the runs.
    pub fn aged(&self) -> Vec<Aged> {
        let aged = self.cells.iter().filter(|cell| cell.variant == 0);
        aged.map(Cell::aged).collect()
    }

    /// By how many percent a variant moves less than Empty, at most if it was stopped; by the trace alone that says
    /// nothing then. Where Empty moves nothing, nothing was compacted, and the run tells nothing.
    pub fn saved(&self, aged: Aged, variant: usize, counted: Counted) -> Option<f64> {
        let cells = self.variants(aged);
        let own = cells.get(variant).filter(|own| own.end.is_some() || counted == Counted::All)?;
        saved(cells.first()?, own, counted)
    }

    /// The variant that saves most, and how much; the smallest weight of several.
    pub fn best(&self, aged: Aged, counted: Counted) -> Option<(&Cell, f64)> {
        best(self.variants(aged), counted)
    }

    /// On how many of all the aged workloads of the paper something holds, and on which it does not. Those that do not
    /// tell may or may not be among them.
    pub fn count(&self, of: &[Aged], holds: impl Fn(Aged) -> Option<bool>) -> Measured {
        let (mut holding, mut failing, mut without) = (0, Vec::new(), Vec::new());
        for &aged in of {
            match holds(aged) {
                Some(true) => holding += 1,
                Some(false) => failing.push(aged.name()),
                None => without.push(aged.name()),
            }
        }
        let unknown = without.len();
        let said = [("not on", failing), ("nothing was compacted, or nothing was run, on", without)];
        let said = said.iter().filter(|(_, cases)| !cases.is_empty());
        let note = said.map(|(what, cases)| format!("{what} {}", cases.join(", "))).collect::<Vec<_>>().join("; ");
        Measured::within(f64::from(holding), f64::from(holding) + unknown as f64, note)
    }

    /// What these workloads are, and how many requests they have in all. Of a level that was left out the workload at
    /// the others says what it is.
    pub fn replayed(&self, of: &[Aged]) -> Replayed {
        let firsts = || self.cells.iter().filter(|cell| cell.variant == 0);
        let workloads = firsts().filter(|cell| of.iter().any(|aged| aged.workload == cell.workload));
        let rows = workloads.filter_map(|cell| Some(&cell.end.as_ref()?.row));
        let data = Data::of(rows.clone().filter(|row| row.synthetic).count(), rows.count());
        let is_meant = |cell: &&Cell| of.contains(&cell.aged());
        let requests =
            firsts().filter(is_meant).filter_map(|cell| cell.end.as_ref()).map(|end| end.row.outcome.requests).sum();
        Replayed { data, requests }
    }
}

/// Those of the cells that are on an aged workload.
fn of(cells: &[Cell], aged: Aged) -> &[Cell] {
    let is_of = |cell: &Cell| cell.aged() == aged;
    let from = cells.iter().position(is_of).unwrap_or(cells.len());
    let rest = &cells[from..];
    &rest[..rest.iter().take_while(|cell| is_of(cell)).count()]
}

/// By how many percent `own` moves less than `empty`.
pub fn saved(empty: &Cell, own: &Cell, counted: Counted) -> Option<f64> {
    let (empty, own) = (empty.moved(counted), own.moved(counted));
    (empty > 0).then(|| 100.0 * (1.0 - own as f64 / empty as f64))
}

/// The one of the cells behind the first, Empty, that saves most, and how much; the smallest weight of several. A run
/// that was stopped is not the best one, but must have moved more than that by then.
pub fn best(cells: &[Cell], counted: Counted) -> Option<(&Cell, f64)> {
    let (empty, others) = cells.split_first()?;
    let best = others.iter().filter(|cell| cell.end.is_some()).min_by_key(|cell| cell.moved(counted))?;
    let is_less = |cell: &Cell| cell.end.is_none() && cell.moved(Counted::All) < best.moved(Counted::All);
    if others.iter().any(is_less) {
        return None;
    }
    Some((best, saved(empty, best, counted)?))
}

/// The result where the runs do not tell.
pub fn unknown(aged: Aged) -> Measured {
    Measured::new(None, format!("nothing was compacted, or nothing was run, on {}", aged.name()))
}
