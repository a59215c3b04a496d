//! Which of some settings moves least: each is tried by a miniature of the layer that follows the workload.
//!
//! Source: Waldspurger, Saemundsson, Ahmad and Park, "Cache Modeling and Optimization using Miniature Simulations"
//! (USENIX ATC 2017), with translation layers in place of caches. One block of each group of neighbours is written to
//! every miniature when the host has written it, and a miniature has as large a share of its blocks for the host as the
//! layer. So each setting meets in full what follows from it, also where what it moves now pays off much later, and none
//! is tried on the disk itself. All of it is soft state.
//!
//! # Size
//! A miniature has at most `MOST_ZONES` zones and `MOST_BLOCKS` blocks: on a large disk fewer blocks are followed
//! than is asked for. On a small one more are, so that a zone has `FEWEST_OF_ZONE` blocks. How a layer looks for what
//! it cleans may take time with the number of zones, and so does a miniature, however few blocks it has.
//!
//! # What is promised
//! Another setting is taken when it has moved less by a hundredth (`MARGIN`) and by a zone. So a setting that is in use
//! has moved at most 1.02 times as much as the best one, a zone besides, and what the next step moves. On the whole, as
//! miniatures count, what is moved is at most that for each setting that was ever in use. A rule without chance cannot
//! promise less, since a workload could turn against whatever is in use; where one setting stays ahead it is the only
//! one that counts in the end.

use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{Condition, Freed, Pressure, Step, TranslationLayer, UnitReport, UnitState, Violation, Write};
use imbrex_core::memory::Memory;
#[cfg(test)]
use imbrex_core::plan::Place;
use imbrex_core::plan::{Op, Plan, Record, Unit, Why};
use imbrex_core::space::Zones;
use imbrex_core::spatial_sample::SpatialSample;

/// The most zones of a miniature.
const MOST_ZONES: u32 = 128;
/// The most blocks of a miniature.
const MOST_BLOCKS: u64 = 1 << 18;
/// Blocks that a zone has, where there are so many to follow.
const FEWEST_OF_ZONE: u64 = 16;

/// By what share less another setting has moved that is taken. A change costs: what lies on the zones is not as the other
/// would have left it.
const MARGIN: f64 = 0.01;

/// Makes the layer with the setting of a number, over these zones and with so many blocks of the host.
pub type Make = Box<dyn Fn(usize, Zones, u64) -> Box<dyn TranslationLayer> + Send>;

/// The miniatures, and the setting in use.
pub struct Miniatures {
    sample: SpatialSample,
    zones: Zones,
    make: Make,
    small: Vec<Small>,
    chosen: usize,
}

/// A layer with one setting that follows the sample.
struct Small {
    layer: Box<dyn TranslationLayer>,
    plan: Plan,
    /// Blocks that it has moved.
    moved: u64,
}

impl Miniatures {
    /// The memory that they take.
    pub fn memory(&self) -> Memory {
        let layers = self.small.iter().map(|small| small.layer.facts().memory).sum::<Memory>();
        // What lies somewhere is listed as an epoch begins.
        layers + Memory::of::<Small>(self.small.len() as u64) + Memory::growing::<(u64, Lba)>(self.sample.groups)
    }

    /// One for each of `settings` settings of a layer over `zones` that has `capacity` blocks for the host. One of `group`
    /// neighbours is followed, where the size of miniatures allows it. The setting `first` is in use.
    pub fn new(settings: usize, first: usize, group: u32, zones: Zones, capacity: u64, make: Make) -> Self {
        let blocks = u64::from(zones.count) * u64::from(zones.zone_blocks);
        let count = zones.count.min(MOST_ZONES);
        let most_followed = u64::from(group).max(blocks.div_ceil(MOST_BLOCKS));
        let group = most_followed.min(blocks / (u64::from(count) * FEWEST_OF_ZONE)).max(1);
        let zone_blocks = (blocks / group / u64::from(count)) as u32;
        let small = u64::from(count) * u64::from(zone_blocks);
        let groups = (u128::from(capacity) * u128::from(small) / u128::from(blocks)).max(1) as u64;
        let zones = Zones { first: Unit::disk(0), count, zone_blocks };
        let mut new = Self { sample: SpatialSample { group, groups }, zones, make, small: Vec::new(), chosen: first };
        new.small = (0..settings).map(|setting| new.begun(setting, &[])).collect();
        new
    }

    /// The blocks that are followed.
    pub fn sample(&self) -> SpatialSample {
        self.sample
    }

    /// The host has written the blocks of `at`.
    pub fn wrote(&mut self, at: Extent<Lba>) {
        let small = self.sample.among(at);
        if !small.is_empty() {
            self.small.iter_mut().for_each(|of| of.write(small, &self.zones));
        }
    }

    /// The host has trimmed the blocks of `at`.
    pub fn trimmed(&mut self, at: Extent<Lba>) {
        let small = self.sample.among(at);
        if !small.is_empty() {
            self.small.iter_mut().for_each(|of| of.trim(small, &self.zones));
        }
    }

    /// The number of the setting in use.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// Chooses anew: the number of the setting in use from now on.
    pub fn choose(&mut self) -> usize {
        let moved = |setting: &usize| self.small[*setting].moved;
        let least = (0..self.small.len()).min_by_key(moved).unwrap_or(self.chosen);
        let of_chosen = moved(&self.chosen) as f64;
        if ((moved(&least) + u64::from(self.zones.zone_blocks)) as f64) < of_chosen * (1.0 - MARGIN) {
            self.chosen = least;
        }
        self.chosen
    }

    /// An epoch begins, in which blocks of these groups lie somewhere, in this order.
    pub fn begin(&mut self, lying: &[Lba]) {
        self.small = (0..self.small.len()).map(|setting| self.begun(setting, lying)).collect();
    }

    /// The miniature with a setting, where these blocks lie, one after another from the first zone on.
    fn begun(&self, setting: usize, lying: &[Lba]) -> Small {
        let Self { zones, sample, .. } = self;
        let in_zone = u64::from(zones.zone_blocks);
        let mut small = Small { layer: (self.make)(setting, *zones, sample.groups), plan: Plan::new(), moved: 0 };
        let place = |slot: u64| zones.block((slot / in_zone) as u32, (slot % in_zone) as u32);
        let record = |(slot, &lba)| Record::Map { at: Extent::new(lba, 1), to: place(slot) };
        let written = |zone: u32| (lying.len() as u64).saturating_sub(u64::from(zone) * in_zone).min(in_zone) as u32;
        let unit = |zone| UnitState { condition: Condition::Sequential, pointer: written(zone) };
        let report = UnitReport { devices: vec![Vec::new(), (0..zones.count).map(unit).collect()] };
        let applied = (0..).zip(lying).map(record).try_for_each(|record| small.layer.apply(&record));
        let begun = applied.and_then(|()| small.layer.recovered(&report, &mut small.plan));
        debug_assert!(begun.is_ok(), "{begun:?}");
        small.plan.clear();
        small
    }

    /// Verifies the miniature whose setting is in use.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        self.small[self.chosen].layer.check()
    }
}

#[cfg(test)]
impl Miniatures {
    /// The blocks that lie somewhere, of each miniature.
    pub fn lying(&self) -> impl Iterator<Item = Vec<Lba>> {
        let groups = self.sample.groups;
        self.small.iter().map(move |small| {
            let lies = |&lba: &Lba| {
                let mut plan = Plan::new();
                small.layer.locate(Extent::new(lba, 1), &mut plan);
                plan.ops().iter().any(|op| matches!(op, Op::Move { from: Place::At(_), .. }))
            };
            (0..groups).map(Lba).filter(lies).collect()
        })
    }
}

impl Small {
    fn write(&mut self, at: Extent<Lba>, zones: &Zones) {
        let mut rest = at;
        while !rest.is_empty() {
            let taken = self.layer.write(Write { at: rest, request_bytes: None }, &mut self.plan);
            if taken == 0 && self.layer.clean(Pressure::Blocked(rest), &[], &mut self.plan) == Step::Nothing {
                debug_assert!(false, "a miniature is as full as the layer itself");
                return self.carry_out(zones);
            }
            self.carry_out(zones);
            rest = rest.skip(taken);
        }
    }

    fn trim(&mut self, at: Extent<Lba>, zones: &Zones) {
        self.layer.trim(at, &mut self.plan);
        self.carry_out(zones);
    }

    /// Counts what was planned, and gives back the zones that were reset.
    fn carry_out(&mut self, zones: &Zones) {
        for op in self.plan.ops() {
            match *op {
                Op::Move { why: Why::Migrate, blocks, .. } => self.moved += u64::from(blocks),
                Op::Reset(unit) => {
                    if let Some(zone) = zones.index(unit) {
                        self.layer.freed(Extent::new(zones.block(zone, 0), 1), Freed::GivenUp);
                    }
                }
                _ => {}
            }
        }
        self.plan.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::samples;
    use imbrex_core::space::Space;

    /// Three miniatures with zones of 16 blocks, of which the second is in use.
    fn miniatures() -> Miniatures {
        let make = |_, zones, _| {
            let space = Space { zones: Some(zones), ..samples::ample_space() };
            (crate::find("log-greedy").unwrap().make)(&space, &toml::Table::new()).unwrap()
        };
        let zones = Zones { first: Unit::disk(0), count: 128, zone_blocks: 16 };
        Miniatures::new(3, 1, 1, zones, 1700, Box::new(make))
    }

    /// What is in use when the miniatures have moved so many blocks.
    fn chosen(miniatures: &mut Miniatures, moved: [u64; 3]) -> usize {
        miniatures.small.iter_mut().zip(moved).for_each(|(small, moved)| small.moved = moved);
        miniatures.choose()
    }

    #[test]
    fn a_setting_is_left_when_another_has_moved_less_by_a_zone_and_a_hundredth() {
        let mut three = miniatures();
        assert_eq!(three.zones.zone_blocks, 16);
        assert_eq!(chosen(&mut three, [0, 16, 0]), 1, "a zone is not enough");
        assert_eq!(chosen(&mut three, [1600, 1632, 1600]), 1, "nor is less than a hundredth beyond it");
        assert_eq!(chosen(&mut three, [1600, 1633, 1600]), 0, "the first of equals");
        assert_eq!(chosen(&mut three, [1600, 1590, 1600]), 0);
        assert_eq!(chosen(&mut three, [1700, 1800, 0]), 2, "the best, and not the first that is better");
    }

    #[test]
    fn what_is_written_moves_blocks_in_every_miniature_and_an_epoch_forgets_that() {
        let mut three = miniatures();
        (0..20_000_u64).for_each(|i| three.wrote(Extent::new(Lba(i * i / 8 % 1700), 1)));
        let moved = three.small[0].moved;
        assert!(moved > 0 && three.small.iter().all(|small| small.moved == moved), "all have one setting");
        three.check().unwrap();
        three.begin(&[Lba(3)]);
        assert!(three.small.iter().all(|small| small.moved == 0) && three.choose() == 1);
    }
}
