//! Whether what a map says of blocks agrees with what it says of places, and with how many blocks it counts on each unit.
//!
//! The two lie in pages that are looked at one after another, each once: blocks in their order, and then places in
//! theirs. So of each unit a sum over its blocks is compared with one over its places, and no list of either is kept.

use std::collections::BTreeMap;

use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::layer::CachedMap;

use super::map::Run;
use super::taken::Taken;

/// What is known of a unit.
struct Unit {
    at: Extent<Pba>,
    counted: u64,
    lie_there: u64,
    /// Over all blocks that lie there, and where.
    blocks: u64,
    /// Over the places at which these lie, and what they were written with.
    places: u64,
}

/// The units of a layer, by their first place.
pub(super) struct Counts {
    units: BTreeMap<Pba, Unit>,
}

impl Counts {
    /// Of a map's units nothing is known but how many blocks it counts there.
    pub fn of(map: &dyn CachedMap) -> Self {
        let mut units = BTreeMap::new();
        map.counted(&mut |at, counted| {
            let counted = counted.into();
            units.insert(at.start, Unit { at, counted, lie_there: 0, blocks: 0, places: 0 });
        });
        Self { units }
    }

    fn unit(&mut self, place: Pba) -> Option<&mut Unit> {
        let (_, unit) = self.units.range_mut(..=place).next_back()?;
        Some(unit).filter(|unit| unit.at.contains(place))
    }

    /// The map says where blocks lie.
    pub fn lie(&mut self, Run { mut lba, mut at }: Run) {
        while !at.is_empty() {
            let Some(unit) = self.unit(at.start) else { return };
            let part = at.first((unit.at.end().since(at.start)).min(at.blocks.into()) as u32);
            unit.lie_there += u64::from(part.blocks);
            for (i, place) in (0..).zip(part.iter()) {
                unit.blocks = unit.blocks.wrapping_add(mixed(lba.plus(i), place));
            }
            (lba, at) = (lba.plus(part.blocks.into()), at.skip(part.blocks));
        }
    }

    /// The map says what a place was written with. Whether a block lies there is known by now.
    pub fn held(&mut self, place: Pba, lba: Lba, taken: &Taken) {
        if let Some(unit) = self.unit(place).filter(|_| taken.has(place)) {
            unit.places = unit.places.wrapping_add(mixed(lba, place));
        }
    }

    /// What does not agree: of the first unit, and of how many.
    pub fn problems(&self) -> Vec<String> {
        let differs = |unit: &&Unit| unit.counted != unit.lie_there;
        let counts = self.named(differs, |unit| {
            let Unit { counted, lie_there, .. } = unit;
            format!("puts {lie_there} blocks on the band that begins at block {}, and counts {counted}", first(unit))
        });
        let others = self.named(
            |unit| unit.blocks != unit.places,
            |unit| {
                let held = "that were written with others";
                format!("puts blocks at places of the band that begins at block {} {held}", first(unit))
            },
        );
        counts.into_iter().chain(others).collect()
    }

    fn named(&self, is_wrong: impl Fn(&&Unit) -> bool, what: impl Fn(&Unit) -> String) -> Option<String> {
        let mut wrong = self.units.values().filter(is_wrong);
        let text = what(wrong.next()?);
        Some(match wrong.count() {
            0 => text,
            more => format!("{text}; so it is with {more} more bands"),
        })
    }
}

fn first(unit: &Unit) -> u64 {
    unit.at.start.block()
}

/// A number that says that a block lies at a place. Sums of such numbers are equal by chance in one of 2⁶⁴ cases: this is
/// the last step of the generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which spreads each bit over all.
fn mixed(lba: Lba, place: Pba) -> u64 {
    let spread = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    spread(spread(lba.0).wrapping_add(place.to_raw()).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counted: [u64; 2]) -> Counts {
        let unit = |(number, counted): (u64, u64)| {
            let at = Extent::new(Pba::disk(100 + 10 * number), 10);
            (at.start, Unit { at, counted, lie_there: 0, blocks: 0, places: 0 })
        };
        Counts { units: (0..).zip(counted).map(unit).collect() }
    }

    /// What is wrong when blocks lie in a run, and places were written with what `held` says.
    fn found(counted: [u64; 2], run: (u64, u64, u32), held: impl Fn(u64) -> u64) -> Vec<String> {
        let (mut counts, mut taken) = (counts(counted), Taken::default());
        let run = Run { lba: Lba(run.0), at: Extent::new(Pba::disk(run.1), run.2) };
        taken.take(run.at);
        counts.lie(run);
        (100..120).for_each(|place| counts.held(Pba::disk(place), Lba(held(place)), &taken));
        counts.problems()
    }

    #[test]
    fn a_run_over_two_units_agrees_with_its_places() {
        let held = |place: u64| if (105..112).contains(&place) { place - 98 } else { 3 };
        assert!(found([5, 2], (7, 105, 7), held).is_empty());
        assert_eq!(found([5, 3], (7, 105, 7), held).len(), 1);
        let both = found([4, 3], (7, 105, 7), held);
        assert!(
            both.len() == 1 && both[0].contains("puts 5 blocks on the band that begins at block 100, and counts 4")
        );
        assert!(both[0].ends_with("so it is with 1 more bands"), "{both:?}");
        // Two of them have changed places, in the second unit.
        let others = found([5, 2], (7, 105, 7), |place| if place >= 110 { held(221 - place) } else { held(place) });
        assert!(others.len() == 1 && others[0].contains("begins at block 110 that were written"), "{others:?}");
    }
}
