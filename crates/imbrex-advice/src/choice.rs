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
    /// The cheapest that is enough and costs less, of disks that nobody sells yet; unless they may be recommended.
    pub unsold: Option<&'p Point<'a>>,
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
        let (sold, unsold) =
            measured.points().partition::<Vec<_>, _>(|point| self.is_named || point.trial.disk.kind.is_sold);
        let all: Vec<_> = sold.into_iter().filter(|point| self.is_within(point)).collect();
        let best = best(&all)?;
        let is_enough = |point: &&Point<'_>| point.is_enough() && self.is_within(point);
        let cheaper = |points: &[&'p Point<'a>]| {
            let own = points.iter().copied().filter(|point| is_enough(point) && point.cost < best.cost);
            own.min_by(|one, other| one.cost.total_cmp(&other.cost))
        };
        let others = all.iter().copied().filter(|point| point.trial.disk.kind.name != best.trial.disk.kind.name);
        Some(Choice {
            best,
            is_cheapest: cheaper(&all).is_none(),
            runner_up: self::best(&others.collect::<Vec<_>>()),
            unsold: cheaper(&unsold),
        })
    }

    /// Whether a point takes no more memory than may be bought.
    fn is_within(&self, point: &Point<'_>) -> bool {
        most(self.budgets, Goods::Memory).is_none_or(|most| point.memory_bytes <= most)
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
