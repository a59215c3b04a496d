//! A layer whose steps of cleaning are bounded anew all the time, and held to their bound.

use imbrex::block::{Extent, Lba, Pba, Request};
use imbrex::layer::{
    Corrupt, Facts, Freed, Grow, Pressure, Standing, Step, TranslationLayer, UnitReport, Violation, Write,
};
use imbrex::plan::{Op, Plan, Record, Why};

/// A step reads the old content of so many blocks, newer content for them, and writes them.
const PASSES: u64 = 3;

/// Steps between two bounds.
const STEPS: usize = 3;

pub struct Bounded {
    pub layer: Box<dyn TranslationLayer>,
    /// The bounds, which come round.
    pub bounds: Vec<u32>,
    /// Blocks that a step may move whatever its bound.
    pub at_least: u64,
    pub cleaned: usize,
}

impl Bounded {
    /// Bounds the next step, perhaps anew; the bound, if the layer keeps one.
    fn bound(&mut self) -> Option<u64> {
        let most = self.layer.facts().step_blocks?;
        let bound = self.bounds[self.cleaned / STEPS % self.bounds.len()];
        if self.cleaned.is_multiple_of(STEPS) {
            self.layer.bound_step(bound);
        }
        self.cleaned += 1;
        Some(bound.clamp(1, most).into())
    }
}

/// Blocks that a plan moves for cleaning.
fn moved(plan: &Plan) -> u64 {
    let blocks = |op: &Op| match *op {
        Op::Move { blocks, why, .. } if why != Why::Host => u64::from(blocks),
        _ => 0,
    };
    plan.ops().iter().map(blocks).sum()
}

impl TranslationLayer for Bounded {
    fn facts(&self) -> Facts {
        self.layer.facts()
    }

    fn capacity(&self) -> u64 {
        self.layer.capacity()
    }

    fn standing(&self) -> Standing {
        self.layer.standing()
    }

    fn idle_after_ns(&self) -> u64 {
        self.layer.idle_after_ns()
    }

    fn clean(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        let (bound, before) = (self.bound(), moved(plan));
        let step = self.layer.clean(why, waiting, plan);
        if let Some(bound) = bound {
            let moved = moved(plan) - before;
            assert!(moved <= (PASSES * bound).max(self.at_least), "a step bounded at {bound} blocks moves {moved}");
        }
        step
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.layer.locate(at, plan);
    }
    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        self.layer.read(at, plan);
    }
    fn write(&mut self, write: Write, plan: &mut Plan) -> u32 {
        self.layer.write(write, plan)
    }
    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        self.layer.trim(at, plan)
    }
    fn flush(&mut self, plan: &mut Plan) -> Step {
        self.layer.flush(plan)
    }
    fn growing(&mut self) -> Option<&mut dyn Grow> {
        self.layer.growing()
    }
    fn freed(&mut self, space: Extent<Pba>, why: Freed) {
        self.layer.freed(space, why);
    }
    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.layer.apply(record)
    }
    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.layer.recovered(units, plan)
    }
    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        self.layer.checkpoint(from, plan)
    }
    fn check(&self) -> Result<(), Violation> {
        self.layer.check()
    }
}
