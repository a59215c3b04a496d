//! The runs, and what they say together.

use imbrex::contents::BandContent;
use imbrex::replay::BandSums;
use imbrex_runs::row::Row;

use super::paper::{WEIGHTS, WORKLOADS};
use crate::claim::{Data, Replayed};
use crate::measured::Measured;

/// One run.
pub struct Cell {
    pub workload: usize,
    /// The part of the writes that came before, in percent.
    pub level: u32,
    /// 0 is Empty; the others are the weights in their order, and then what goes beyond the paper.
    pub variant: usize,
    pub row: Row,
    /// Blocks moved by the trace itself.
    pub moved: u64,
    /// Blocks moved by what came before.
    pub moved_before: u64,
    pub sums: BandSums,
    /// The bands at the end.
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
    beyond: Vec<Cell>,
}

impl Cell {
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
    pub fn new(cells: Vec<Cell>) -> Self {
        let (cells, beyond) = cells.into_iter().partition(|cell| cell.variant <= WEIGHTS.len());
        Self { cells, beyond }
    }

    /// The runs of the paper.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Those of what goes beyond it.
    pub fn beyond(&self) -> &[Cell] {
        &self.beyond
    }

    /// The runs on an aged workload, Empty first; none if it was left out.
    pub fn variants(&self, aged: Aged) -> &[Cell] {
        let is_of = |cell: &Cell| cell.workload == aged.workload && cell.level == aged.level;
        let from = self.cells.iter().position(is_of).unwrap_or(self.cells.len());
        let rest = &self.cells[from..];
        &rest[..rest.iter().take_while(|cell| is_of(cell)).count()]
    }

    /// The aged workloads, in the order of the runs.
    pub fn aged(&self) -> Vec<Aged> {
        let aged = self.cells.iter().filter(|cell| cell.variant == 0);
        aged.map(|cell| Aged { workload: cell.workload, level: cell.level }).collect()
    }

    /// By how many percent a variant moves less than Empty. Where that moves nothing, nothing was compacted, and the
    /// run tells nothing.
    pub fn saved(&self, aged: Aged, variant: usize, counted: Counted) -> Option<f64> {
        let cells = self.variants(aged);
        let [empty, own] = [0, variant].map(|at| cells.get(at).map(|cell| cell.moved(counted)));
        let (empty, own) = (empty?, own?);
        (empty > 0).then(|| 100.0 * (1.0 - own as f64 / empty as f64))
    }

    /// The variant that saves most, and how much; the smallest weight of several.
    pub fn best(&self, aged: Aged, counted: Counted) -> Option<(&Cell, f64)> {
        let saved = |variant| Some((variant, self.saved(aged, variant, counted)?));
        let all = (1..self.variants(aged).len()).rev().filter_map(saved);
        let (variant, saved) = all.max_by(|one, other| one.1.total_cmp(&other.1))?;
        Some((self.variants(aged).get(variant)?, saved))
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
        let synthetic = workloads.clone().filter(|cell| cell.row.synthetic).count();
        let data = Data::of(synthetic, workloads.count());
        let is_meant = |cell: &&Cell| of.contains(&Aged { workload: cell.workload, level: cell.level });
        let requests = firsts().filter(is_meant).map(|cell| cell.row.outcome.requests).sum();
        Replayed { data, requests }
    }
}

/// The result where the runs do not tell.
pub fn unknown(aged: Aged) -> Measured {
    Measured::new(None, format!("nothing was compacted, or nothing was run, on {}", aged.name()))
}
