//! From the zones that a drive reports to the shape and the states that the media knows.

use imbrex::layer::{Condition, UnitState};
use imbrex::media::{Media, Shingled, ZonedSpec};
use imbrex::plan::Unit;

use super::ioctl::Zone;
use crate::direct::DeviceError;

/// Bytes of the sectors that reports count.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Numbers of `linux/blkzoned.h`.
const CONVENTIONAL: u8 = 1;
const READ_ONLY: u8 = 0xd;
const FULL: u8 = 0xe;
const OFFLINE: u8 = 0xf;

/// How many zones may be open and active at a time, 0 for any number.
#[derive(Copy, Clone, Default)]
pub(super) struct Limits {
    pub open: u32,
    pub active: u32,
}

/// The shape of a drive with those zones, whose blocks are those that can be written. A last zone that is shorter than
/// the others is left unused; of conventional zones no more is used than sequential ones hold.
pub(super) fn spec(zones: &[Zone], block_sectors: u64, limits: Limits) -> Result<ZonedSpec, DeviceError> {
    let refuse = |text: String| Err(DeviceError::Unsuited(text));
    let Some(first) = zones.first() else { return refuse("it reports no zones".to_owned()) };
    let used = if zones[zones.len() - 1].len < first.len { &zones[..zones.len() - 1] } else { zones };
    if !first.len.is_multiple_of(block_sectors) || used.is_empty() {
        return refuse(format!("its zones of {} sectors are no whole number of blocks", first.len));
    }
    let conventional = used.iter().take_while(|zone| is_conventional(zone)).count();
    let capacity = used.get(conventional).map_or(first.len, |zone| zone.capacity);
    let zone_blocks = u32::try_from(capacity / block_sectors).unwrap_or(0);
    if zone_blocks == 0 || !capacity.is_multiple_of(block_sectors) {
        return refuse(format!("the {capacity} sectors of a zone that can be written are no whole number of blocks"));
    }
    for (number, zone) in used.iter().enumerate() {
        if zone.len != first.len {
            let text = format!("zone {number} has {} sectors and zone 0 has {}", zone.len, first.len);
            return refuse(format!("{text}; drives with zones of several sizes are not supported"));
        }
        if number >= conventional && zone.capacity != capacity {
            let text = format!("of zone {number} {} sectors can be written and of zone {conventional} ", zone.capacity);
            return refuse(format!("{text}{capacity}; drives of which these differ are not supported"));
        }
        if number >= conventional && is_conventional(zone) {
            let text = format!("zone {number} is conventional and lies behind a sequential one");
            return refuse(format!("{text}; conventional zones are supported in front of the others only"));
        }
    }
    Ok(ZonedSpec {
        zones: used.len() as u32,
        zone_blocks,
        conventional_zones: conventional as u32,
        max_open: limits.open,
        max_active: limits.active,
    })
}

/// Whether a zone is written anywhere.
pub(super) fn is_conventional(zone: &Zone) -> bool {
    zone.kind == CONVENTIONAL
}

/// The state of a zone of which `all` blocks can be written. Of one that can only be read the drive does not say how
/// much was written.
pub(super) fn state(zone: &Zone, block_sectors: u64, all: u32) -> UnitState {
    let condition = match (zone.condition, zone.kind) {
        (OFFLINE, _) => Condition::Offline,
        (READ_ONLY, _) => Condition::ReadOnly,
        (_, CONVENTIONAL) => Condition::Conventional,
        _ => Condition::Sequential,
    };
    let pointer = match (condition, zone.condition) {
        (Condition::Sequential, condition) if condition != FULL => {
            (zone.pointer.saturating_sub(zone.start) / block_sectors).min(all.into()) as u32
        }
        _ => all,
    };
    UnitState { condition, pointer }
}

/// Brings a unit of the media to the state that the drive reports.
pub(super) fn mirror(media: &mut Shingled, unit: Unit, state: UnitState) {
    media.fail(unit, state.condition);
    if media.has_pointer(unit) {
        media.set_pointer(unit, state.pointer);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const SEQUENTIAL: u8 = 2;
    const EMPTY: u8 = 1;
    const OPEN: u8 = 2;

    fn zones() -> Vec<Zone> {
        let zone = |number: u64| Zone {
            start: number * 64,
            len: 64,
            pointer: number * 64,
            kind: if number < 2 { CONVENTIONAL } else { SEQUENTIAL },
            condition: if number < 2 { 0 } else { EMPTY },
            capacity: 64,
            ..Zone::default()
        };
        (0..6).map(zone).collect()
    }

    fn refusal(zones: &[Zone]) -> String {
        spec(zones, 8, Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_drive_that_is_not_supported_is_refused_by_the_zone() {
        let expected = ZonedSpec { zones: 6, zone_blocks: 8, conventional_zones: 2, max_open: 3, max_active: 4 };
        let limits = Limits { open: 3, active: 4 };
        assert_eq!(spec(&zones(), 8, limits).unwrap(), expected);
        let mut short = zones();
        (short[5].len, short[5].capacity) = (16, 16);
        assert_eq!(spec(&short, 8, limits).unwrap(), ZonedSpec { zones: 5, ..expected });
        let mut uneven = zones();
        uneven[4].capacity = 40;
        assert!(refusal(&uneven).contains("of zone 4 40 sectors can be written and of zone 2 64"));
        let mut odd = zones();
        odd[3].len = 128;
        assert!(refusal(&odd).contains("zone 3 has 128 sectors"));
        let mut late = zones();
        late[5].kind = CONVENTIONAL;
        assert!(refusal(&late).contains("zone 5 is conventional"));
        assert!(refusal(&[]).contains("no zones"));
        assert!(spec(&zones(), 7, Limits::default()).is_err());
    }

    #[test]
    fn a_gap_at_the_end_of_zones_has_no_blocks() {
        let mut zones = zones();
        zones[2..].iter_mut().for_each(|zone| zone.capacity = 40);
        let shape = spec(&zones, 8, Limits::default()).unwrap();
        assert_eq!((shape.zones, shape.zone_blocks, shape.conventional_zones), (6, 5, 2));
        (zones[2].condition, zones[2].pointer) = (FULL, 3 * 64);
        // Since Linux 6.19, where a zone is neither empty nor full.
        (zones[3].condition, zones[3].pointer) = (0xff, 3 * 64 + 16);
        let of = |zone: usize| state(&zones[zone], 8, shape.zone_blocks);
        assert_eq!(of(0), UnitState { condition: Condition::Conventional, pointer: 5 });
        assert_eq!(of(2), UnitState { condition: Condition::Sequential, pointer: 5 });
        assert_eq!(of(3), UnitState { condition: Condition::Sequential, pointer: 2 });
        zones[4].capacity = 0;
        assert!(refusal(&zones).contains("of zone 4 0 sectors"));
        zones[2..].iter_mut().for_each(|zone| zone.capacity = 42);
        assert!(refusal(&zones).contains("the 42 sectors"));
    }

    #[test]
    fn conditions_become_states_that_the_media_has() {
        let mut zones = zones();
        (zones[2].condition, zones[2].pointer) = (OPEN, 2 * 64 + 24);
        zones[3].condition = FULL;
        (zones[4].condition, zones[4].pointer) = (READ_ONLY, u64::MAX);
        zones[5].condition = OFFLINE;
        let mut media = Shingled::new(1, spec(&zones, 8, Limits::default()).unwrap());
        for (unit, zone) in (0..).map(Unit::disk).zip(&zones) {
            mirror(&mut media, unit, state(zone, 8, 8));
        }
        let report = media.report();
        assert_eq!(report[0], UnitState { condition: Condition::Conventional, pointer: 8 });
        assert_eq!(report[2], UnitState { condition: Condition::Sequential, pointer: 3 });
        assert_eq!(report[3], UnitState { condition: Condition::Sequential, pointer: 8 });
        assert_eq!(report[4], UnitState { condition: Condition::ReadOnly, pointer: 8 });
        assert_eq!(report[5].condition, Condition::Offline);
    }
}
