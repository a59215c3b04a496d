//! What cannot be read any more is an error to whoever reads it until it is written again, whatever becomes of its zone.

use imbrex::block::{Extent, Lba, Pba};
use imbrex::layer::{Condition, UnitReport, UnitState};
use imbrex::layers;
use imbrex::plan::{Op, Place, Plan, Record, Unit};
use imbrex::space::{Space, Zones};

const ZONES: Zones = Zones { first: Unit::disk(1), count: 9, zone_blocks: 64 };

fn space() -> Space {
    Space {
        conventional: Pba::disk(0),
        conventional_blocks: u64::from(ZONES.zone_blocks),
        zones: Some(ZONES),
        bands: None,
        tracks: None,
        realms: None,
        home: None,
        buffer_blocks: 60,
        spares_ram: false,
        map_cache: None,
    }
}

fn report() -> UnitReport {
    let conventional = UnitState { condition: Condition::Conventional, pointer: ZONES.zone_blocks };
    let empty = UnitState { condition: Condition::Sequential, pointer: 0 };
    let disk = std::iter::once(conventional).chain((0..ZONES.count).map(|_| empty));
    UnitReport { devices: vec![Vec::new(), disk.collect()] }
}

/// A zone of which clients have given up all that they could read is emptied; a lost block is not among that.
#[test]
fn a_lost_block_stays_lost_when_the_rest_of_its_zone_is_trimmed() {
    let of_buffers = |info: &&layers::LayerInfo| info.fields.iter().any(|field| field.key == "empty_trimmed");
    let mut emptied = 0;
    for info in layers::ALL.iter().filter(of_buffers) {
        let lost = Extent::new(Lba(40), 1);
        for is_trimmed in [false, true] {
            let mut layer = info.build(&space(), &toml::Table::new()).unwrap();
            let mut plan = Plan::new();
            layer.apply(&Record::Lost(lost)).unwrap();
            layer.recovered(&report(), &mut plan).unwrap();
            let written = layer.write(Extent::new(Lba(0), 32).into(), &mut plan);
            plan.clear();
            layer.trim(Extent::new(Lba(0), if is_trimmed { 64 } else { written }), &mut plan);
            let resets = plan.ops().iter().filter(|op| matches!(op, Op::Reset(_))).count();
            emptied += resets;
            assert!(is_trimmed || resets == 0, "{}", info.name);
            plan.clear();
            layer.read(lost, &mut plan);
            let is_lost = plan.ops().iter().any(|op| matches!(op, Op::Move { from: Place::Lost, .. }));
            assert!(is_lost || is_trimmed, "{} reads what is lost as {:?}", info.name, plan.ops());
        }
    }
    assert!(emptied > 0, "no zone is emptied at all, so nothing is proved");
}
