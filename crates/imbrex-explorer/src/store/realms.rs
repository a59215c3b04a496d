//! What a power cut makes of activations of realms that were not flushed.
//!
//! An activation empties its realm, so whether it happened decides on all that came before it there, and on all that
//! came after. A power cut keeps those of a realm since the last flush up to one of them, and of what happened in the
//! span that is active then what it keeps of any conventional or sequential zone. The conventional span that an
//! activation was to make inactive counts as overwritten from then on, whether that survives or not: the drive may have
//! begun and not brought it to its end.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Store, Zone};
use crate::dice::Dice;
use imbrex_core::block::Pba;
use imbrex_core::plan::Unit;
use imbrex_core::zones::Realms;

/// A realm before an activation that was not flushed.
pub(super) struct Before {
    is_sequential: bool,
    /// The versions of every block of the conventional span.
    cells: BTreeMap<Pba, Vec<Bytes>>,
    /// The sequential zones that were ever written.
    zones: BTreeMap<u32, Zone>,
}

/// The units of the sequential zones of a realm.
fn zones_of(realms: &Realms, realm: u32) -> impl Iterator<Item = Unit> {
    let zones = realms.zones();
    realms.sequential_of(realm).map(move |zone| zones.unit(zone))
}

impl Store {
    /// The media has activated a span of a realm.
    pub(super) fn activate(&mut self, realms: &Realms, realm: u32, sequential: bool) {
        let mut cells = BTreeMap::new();
        for block in realms.conventional(realm).iter() {
            let mut versions = self.cells.remove(&block).unwrap_or_else(|| vec![self.before(block)]);
            versions.push(self.destroyed.clone());
            cells.insert(block, versions);
            self.cells.insert(block, vec![self.destroyed.clone()]);
        }
        let zones = zones_of(realms, realm).filter_map(|unit| Some((unit.index, self.zones.remove(&unit.index)?)));
        let before = Before { is_sequential: !sequential, cells, zones: zones.collect() };
        self.before_activations.entry(realm).or_default().push(before);
        let spans = [realms.conventional(realm), realms.sequential(realm)];
        self.unreadable.retain(|block| !spans.iter().any(|span| span.contains(*block)));
    }

    /// Cuts the power: of the activations of each realm, the last ones may be lost.
    pub(super) fn cut_realms(&mut self, dice: &mut Dice) {
        let Some(realms) = self.media.realms() else { return };
        for (realm, mut before) in std::mem::take(&mut self.before_activations) {
            let kept = dice.between(0, before.len() as u64) as usize;
            if kept < before.len() {
                self.go_back(&realms, realm, before.swap_remove(kept));
            }
        }
    }

    fn go_back(&mut self, realms: &Realms, realm: u32, mut before: Before) {
        self.media.set_active(realm, before.is_sequential);
        self.cells.append(&mut before.cells);
        for unit in zones_of(realms, realm) {
            self.zones.remove(&unit.index);
            let written = before.zones.get(&unit.index).map_or(0, Zone::len);
            if before.is_sequential {
                self.media.set_pointer(unit, written);
            }
        }
        self.zones.append(&mut before.zones);
    }

    /// Whether the realm of a block, if it has one, was activated since the last flush.
    pub(super) fn is_activating(&self, block: Pba) -> bool {
        if self.before_activations.is_empty() {
            return false;
        }
        let realm = self.media.realms().and_then(|realms| {
            let zone = realms.zones().index(self.media.unit_of(block))?;
            Some(realms.realm_of(zone))
        });
        realm.is_some_and(|realm| self.before_activations.contains_key(&realm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{BLOCK, SECTOR};
    use imbrex_core::block::Extent;
    use imbrex_core::layer::Condition;
    use imbrex_core::media::{Hybrid, Illegal};
    use imbrex_core::zones::RealmTimes;
    use imbrex_engine::{IoKind, IoResult};

    const REALMS: Realms = Realms {
        first: Unit { device: 1, index: 1 },
        count: 2,
        conventional_zones: 2,
        sequential_zones: 3,
        zone_blocks: 4,
        times: RealmTimes { positioning_ns: 0, block_ns: 0, turn_ns: 0, activation_ns: 0 },
    };

    fn store() -> Store {
        Store::new(Box::new(Hybrid::new(REALMS)), BLOCK, false)
    }

    fn write(store: &mut Store, first: Pba, blocks: u32, byte: u8) {
        let io = IoKind::Write(Extent::new(first, blocks), vec![byte; blocks as usize * BLOCK].into());
        assert!(matches!(store.perform(&io), Ok(IoResult::Done)));
    }

    fn done(store: &mut Store, io: IoKind) {
        assert!(matches!(store.perform(&io), Ok(IoResult::Done)));
    }

    /// The first byte of each sector of a block, if the media lets it be read.
    fn sectors(store: &mut Store, block: Pba) -> Option<Vec<u8>> {
        match store.perform(&IoKind::Read(Extent::new(block, 1))) {
            Ok(IoResult::Data(data)) => Some(data.chunks(SECTOR).map(|sector| sector[0]).collect()),
            Err(Illegal::Bad { condition: Condition::Inactive, .. } | Illegal::Unwritten { .. }) => None,
            other => panic!("{other:?}"),
        }
    }

    /// Whether the sequential span of realm 0 is active.
    fn is_sequential(store: &Store) -> bool {
        store.media.report()[REALMS.zones().unit(REALMS.sequential_of(0).start).index as usize].condition
            == Condition::Sequential
    }

    #[test]
    fn an_activation_that_was_not_flushed_is_lost_or_not_with_all_that_followed() {
        let (wide, narrow) = (REALMS.conventional(0).start, REALMS.sequential(0).start);
        let (mut lost, mut kept, mut garbage, mut whole, mut appended) = (0, 0, 0, 0, [0; 4]);
        for seed in 0..400 {
            let mut store = store();
            write(&mut store, wide, 1, 7);
            done(&mut store, IoKind::Flush);
            done(&mut store, IoKind::Reset(REALMS.to_sequential(0)));
            assert!(store.settled(wide).is_none() && store.settled(narrow).is_none());
            write(&mut store, narrow, 3, 9);
            store.cut(&mut Dice::new(seed));
            if is_sequential(&store) {
                kept += 1;
                assert_eq!(sectors(&mut store, wide), None);
                let blocks = store.media.report()[5].pointer;
                appended[blocks as usize] += 1;
                assert!(
                    (0..blocks).all(|i| sectors(&mut store, Pba::disk(narrow.block() + u64::from(i))).unwrap()[0] == 9)
                );
            } else {
                lost += 1;
                assert_eq!(sectors(&mut store, narrow), None);
                let found = sectors(&mut store, wide).unwrap();
                assert!(found.iter().all(|byte| [7, 0xdb].contains(byte)), "{found:x?}");
                garbage += u32::from(found.contains(&0xdb));
                whole += u32::from(!found.contains(&0xdb));
            }
        }
        assert!(lost > 100 && kept > 100 && garbage > 20 && whole > 2, "{lost} {kept} {garbage} {whole}");
        assert!(appended.iter().all(|times| *times > 10), "{appended:?}");
    }

    #[test]
    fn a_flushed_activation_stays_and_another_realm_is_as_it_was() {
        let [wide, other] = [0, 1].map(|realm| REALMS.conventional(realm).start);
        for seed in 0..50 {
            let mut store = store();
            write(&mut store, other, 1, 7);
            done(&mut store, IoKind::Reset(REALMS.to_sequential(0)));
            done(&mut store, IoKind::Flush);
            done(&mut store, IoKind::Reset(REALMS.to_sequential(1)));
            store.cut(&mut Dice::new(seed));
            assert!(is_sequential(&store));
            let back = IoKind::Reset(REALMS.to_conventional(0));
            done(&mut store, back);
            assert_eq!(sectors(&mut store, wide).unwrap()[0], 0xdb, "its content is gone for good");
        }
    }

    #[test]
    fn a_realm_that_turned_there_and_back_is_at_one_of_the_three_times() {
        let (wide, narrow) = (REALMS.conventional(0).start, REALMS.sequential(0).start);
        let (mut zones, mut found) = ([0; 2], std::collections::BTreeSet::new());
        for seed in 0..200 {
            let mut store = store();
            write(&mut store, wide, 1, 1);
            done(&mut store, IoKind::Reset(REALMS.to_sequential(0)));
            write(&mut store, narrow, 1, 2);
            done(&mut store, IoKind::Reset(REALMS.zones().unit(REALMS.sequential_of(0).start)));
            done(&mut store, IoKind::Reset(REALMS.to_conventional(0)));
            write(&mut store, wide, 1, 3);
            store.cut(&mut Dice::new(seed));
            zones[usize::from(is_sequential(&store))] += 1;
            found.extend(sectors(&mut store, wide).into_iter().flatten());
        }
        assert!(zones.iter().all(|times| *times > 40), "{zones:?}");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [0, 1, 3, 0xdb]);
    }

    #[test]
    fn a_zone_that_is_not_active_is_a_bug_of_who_asks() {
        let mut store = store();
        let narrow = Extent::new(REALMS.sequential(0).start, 1);
        assert!(store.perform(&IoKind::Read(narrow)).is_err());
        assert!(store.perform(&IoKind::Write(narrow, vec![0; BLOCK].into())).is_err());
        store.wear_out(Unit::disk(1));
        let failed = store.perform(&IoKind::Reset(REALMS.to_sequential(0)));
        assert!(matches!(failed, Ok(IoResult::Failed)), "a worn-out zone keeps its realm as it is");
    }
}
