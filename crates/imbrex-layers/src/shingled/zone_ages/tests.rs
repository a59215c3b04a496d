//! The layer as a whole: where blocks go, and what is collected of a zone.

use super::*;
use imbrex_core::block::Pba;
use imbrex_core::layer::{Condition, Freed, Pressure, TranslationLayer, UnitReport, UnitState};
use imbrex_core::plan::{Op, Unit};
use imbrex_core::space::Zones;

/// Sequential zones behind as many conventional blocks as one of them has.
const ZONES: Zones = Zones { first: Unit::disk(1), count: 9, zone_blocks: 64 };

struct Run {
    layer: ZoneBuffer<ZoneAgesPolicy>,
}

impl Run {
    fn begun(slots: u32, config: &str) -> Self {
        let space = Space {
            conventional: Pba::disk(0),
            conventional_blocks: u64::from(ZONES.zone_blocks),
            zones: Some(ZONES),
            bands: None,
            tracks: None,
            realms: None,
            home: None,
            buffer_blocks: slots,
            spares_ram: false,
            map_cache: None,
        };
        let mut layer = build(&space, &config.parse().unwrap()).unwrap();
        let conventional = UnitState { condition: Condition::Conventional, pointer: ZONES.zone_blocks };
        let empty = UnitState { condition: Condition::Sequential, pointer: 0 };
        let disk = std::iter::once(conventional).chain((0..ZONES.count).map(|_| empty)).collect();
        layer.recovered(&UnitReport { devices: vec![Vec::new(), disk] }, &mut Plan::new()).unwrap();
        Self { layer }
    }

    /// Performs a plan, and says what of the disk it writes.
    fn perform(&mut self, plan: &Plan) -> Vec<(Pba, u32)> {
        let mut written = Vec::new();
        for op in plan.ops() {
            match *op {
                Op::Move { to: Place::At(to), blocks, .. } if to >= Pba::disk(0) => written.push((to, blocks)),
                Op::Free(space) => self.layer.freed(space, Freed::GivenUp),
                Op::Reset(unit) => self.layer.freed(ZONES.extent(ZONES.index(unit).unwrap()), Freed::GivenUp),
                Op::Move { .. } | Op::Record { .. } | Op::Count(..) => {}
            }
        }
        self.layer.check().unwrap();
        written
    }

    fn write(&mut self, at: u64) -> Vec<(Pba, u32)> {
        let mut plan = Plan::new();
        assert_eq!(self.layer.write(Extent::new(Lba(at), 1).into(), &mut plan), 1);
        self.perform(&plan)
    }

    fn clean(&mut self) -> (Step, Vec<(Pba, u32)>) {
        let mut plan = Plan::new();
        let step = self.layer.clean(Pressure::Asked, &[], &mut plan);
        (step, self.perform(&plan))
    }
}

#[test]
fn a_block_that_is_written_again_goes_on_with_the_log() {
    let mut run = Run::begun(4, "");
    let slots = [3, 5, 3, 5].map(|at| run.write(at));
    assert_eq!(slots, [0, 1, 2, 3].map(|slot| vec![(Pba::disk(slot), 1)]));
    assert_eq!(run.layer.policy.ring.count(), 2);
}

#[test]
fn of_a_block_that_was_collected_twice_the_later_content_counts() {
    // A step reads one slot.
    let mut run = Run::begun(4, "step_blocks = 32");
    [3, 5].into_iter().for_each(|at| drop(run.write(at)));
    assert_eq!(run.clean().0, Step::More);
    // Block 3 was read from slot 0, and comes to lie in slot 1, which was noted as that of block 5.
    [3, 5, 3, 3].into_iter().for_each(|at| drop(run.write(at)));
    let mut written = Vec::new();
    while run.layer.evicted().is_some() {
        let (step, more) = run.clean();
        assert_eq!(step, Step::More);
        written.extend(more);
    }
    let zone = |offset: u64| Pba::disk(u64::from(ZONES.zone_blocks) + offset);
    let on_disk: Vec<_> = written.into_iter().filter(|(to, _)| *to >= zone(0)).collect();
    assert_eq!(on_disk, [(zone(0), 3), (zone(3), 1)], "padding, then block 3 once");
    assert_eq!(run.layer.blocks.map.mapped(), 1, "block 5 was written since, and stays");
}
