use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

proptest! {
    #[test]
    fn behaves_like_a_plain_map(steps in prop::collection::vec((0u32..4, 0u64..40, 0u64..60, 1u32..6), 1..200)) {
        let (mut map, mut plain) = (FullMap::new(40, 6, 10), BTreeMap::new());
        let mut live = [0; 6];
        for (kind, lba, place, blocks) in steps {
            let blocks = blocks.min((40 - lba) as u32).min((60 - place) as u32);
            let at = Extent::new(Lba(lba), blocks);
            let is_free = |i: u64| plain.iter().all(|(l, p)| *p != place + i || *l == lba + i);
            let changed = |unit: u32, now| live[unit as usize] = now;
            if kind > 0 && (0..u64::from(blocks)).all(is_free) {
                map.set(at, place, changed);
                plain.extend((lba..at.end().0).zip(place..));
            } else if kind == 0 {
                map.remove(at, changed);
                plain.retain(|l, _| !at.contains(Lba(*l)));
            }
            map.check().unwrap();
        }
        for lba in 0..40 {
            let place = plain.get(&lba).copied();
            prop_assert_eq!(map.get(Lba(lba)), place);
            let goes_on = |i: &u32| plain.get(&(lba + u64::from(*i))).copied() == place.map(|p| p + u64::from(*i));
            let run = (0..(40 - lba) as u32).take_while(goes_on).count() as u32;
            let rest = Extent::new(Lba(lba), (40 - lba) as u32);
            prop_assert_eq!(map.run(rest), (place, run));
            prop_assert_eq!(map.any(rest), plain.range(lba..).next().is_some());
        }
        for place in 0..60 {
            let owner = plain.iter().find(|(_, p)| **p == place).map(|(lba, _)| Lba(*lba));
            prop_assert_eq!(map.owner(place), owner);
            let (first, run) = map.owner_run(place, (60 - place) as u32);
            prop_assert!(run > 0 && place + u64::from(run) <= 60);
            for i in 0..u64::from(run) {
                prop_assert_eq!(map.owner(place + i), first.map(|first| first.plus(i)));
            }
        }
        let mut lying = Vec::new();
        map.owners(0, 60, |_| 0, |at, place| lying.extend((at.start.0..at.end().0).zip(place..)));
        lying.sort_unstable();
        prop_assert_eq!(lying, plain.clone().into_iter().collect::<Vec<_>>());
        for unit in 0..6 {
            let there = plain.values().filter(|place| **place / 10 == u64::from(unit)).count() as u32;
            prop_assert_eq!((map.live(unit), live[unit as usize]), (there, there));
        }
        let mut runs = BTreeMap::new();
        map.all_runs(|at, place| {
            assert_eq!(place / 10, (place + u64::from(at.blocks) - 1) / 10, "a run lies in one unit");
            runs.extend((at.start.0..at.end().0).zip(place..));
            true
        });
        prop_assert_eq!(runs, plain);
    }
}

#[test]
fn what_was_written_and_what_lies_there_are_two_things() {
    let mut map = FullMap::new(10, 2, 10);
    map.set(Extent::new(Lba(3), 2), 5, |_, _| {});
    map.set(Extent::new(Lba(3), 1), 12, |_, _| {});
    map.wrote(Extent::new(Lba(9), 1), 13);
    assert_eq!((map.holder(5), map.owner(5), map.owner(12)), (Some(Lba(3)), None, Some(Lba(3))));
    assert_eq!((map.holder(13), map.owner(13)), (Some(Lba(9)), None));
    let (mut held, mut lying) = (Vec::new(), Vec::new());
    map.holders(0, 20, |_| 0, |at, place| held.push((at.start.0, at.blocks, place)));
    map.owners(0, 20, |_| 0, |at, place| lying.push((at.start.0, at.blocks, place)));
    assert_eq!((held, lying), (vec![(3, 2, 5), (3, 1, 12), (9, 1, 13)], vec![(4, 1, 6), (3, 1, 12)]));
    assert_eq!(
        (map.owner_run(5, 9), map.owner_run(6, 9), map.owner_run(7, 3)),
        ((None, 1), (Some(Lba(4)), 1), (None, 3))
    );
    map.remove(Extent::new(Lba(3), 1), |_, _| {});
    map.forget_writes(1, 4);
    assert_eq!((map.holder(12), map.holder(13)), (Some(Lba(3)), Some(Lba(9))));
    map.forget_writes(1, 3);
    assert_eq!((map.holder(12), map.holder(13)), (Some(Lba(3)), None));
    map.forget_writes(1, 0);
    assert_eq!((map.holder(12), map.holder(13)), (None, None));
    map.check().unwrap();
}

#[test]
fn a_wrong_count_or_holder_is_noticed() {
    let mut map = FullMap::new(10, 2, 10);
    map.set(Extent::new(Lba(3), 1), 7, |_, _| {});
    let mut counted = map.clone();
    counted.live[0] = 2;
    assert!(counted.check().is_err());
    map.wrote(Extent::new(Lba(4), 1), 7);
    assert!(map.check().is_err());
}
