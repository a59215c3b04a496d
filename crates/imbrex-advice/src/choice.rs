//! What is recommended: the cheapest disk that does what is demanded.

use crate::prices::{Budget, Goods, most};
use crate::stages::Measured;
use crate::trial::Point;

/// Costs that differ by less are the same to a buyer: the faster disk is taken.
const SAME_COST: f64 = 1.02;

/// What is recommended.
pub struct Choice<'p, 'a> {
    /// The best.
    pub best: &'p Point<'a>,
    /// Whether nothing that is enough costs less; otherwise it is faster than that.
    pub is_cheapest: bool,
    /// The best of another kind, if there is one.
    pub runner_up: Option<&'p Point<'a>>,
}

/// What may be recommended, and by what it is judged.
pub struct Judge<'a> {
    /// What may be bought.
    pub budgets: &'a [Budget],
    /// Whether somebody named the disks: then those that nobody sells yet may be recommended too.
    pub is_named: bool,
}

impl Judge<'_> {
    /// The best of all that was measured; nothing if nothing may be bought.
    pub fn choose<'p, 'a>(&self, measured: &'p Measured<'a>) -> Option<Choice<'p, 'a>> {
        let all = measured.layers.iter().chain(&measured.varied).filter(|point| self.may_be_bought(point));
        let all: Vec<_> = all.collect();
        let best = best(&all)?;
        let others = all.iter().copied().filter(|point| point.trial.disk.kind.name != best.trial.disk.kind.name);
        let is_cheapest = all.iter().all(|point| !point.is_enough() || point.cost >= best.cost);
        Some(Choice { best, is_cheapest, runner_up: self::best(&others.collect::<Vec<_>>()) })
    }

    fn may_be_bought(&self, point: &Point<'_>) -> bool {
        let memory = most(self.budgets, Goods::Memory).is_none_or(|most| point.memory_bytes <= most);
        memory && (self.is_named || point.trial.disk.kind.is_sold)
    }
}

/// Of those that do what is demanded the cheapest, and of equally cheap ones the fastest; if none does, the one that comes
/// nearest.
fn best<'p, 'a>(points: &[&'p Point<'a>]) -> Option<&'p Point<'a>> {
    let least = points.iter().filter(|point| point.is_enough()).map(|point| point.cost).min_by(f64::total_cmp);
    let Some(least) = least else {
        return points.iter().copied().min_by(|one, other| one.score().total_cmp(&other.score()));
    };
    let cheap = points.iter().copied().filter(|point| point.is_enough() && point.cost <= SAME_COST * least);
    cheap.min_by(|one, other| one.times.total_cmp(&other.times))
}
