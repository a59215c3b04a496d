//! What each native zone has, and how heavy it is as a victim.

use super::config::{Density, Victims};
use crate::parts::bitmap::Bitmap;
use crate::parts::zone_map::ZoneMap;
use crate::zone_buffer::Collected;
use imbrex_core::block::{Lba, unit_and_offset};
use imbrex_core::memory::Memory;

#[derive(Copy, Clone, Default, Debug, PartialEq, Eq)]
struct Native {
    /// Chunks in the cold buffer.
    chunks: u32,
    /// Their blocks (V), those below the write pointer, and those that have no older copy in the zone (V \ N).
    cold: u32,
    below: u32,
    fresh: u32,
    pointer: u32,
    /// Blocks below the pointer that are no padding (N).
    valid: u32,
    /// When the first of its chunks came.
    since: u64,
}

/// How heavy a victim is: chunks x density, as a fraction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Weight {
    numerator: u64,
    span: u64,
    /// Whether it is appended and not merged.
    appends: bool,
}

pub(super) struct Natives {
    natives: Vec<Native>,
    zone_blocks: u32,
    /// Native zones that have chunks in the cold buffer.
    buffered: Bitmap,
    /// Logical blocks below the write pointers whose content is padding. Not durable.
    padding: Bitmap,
    has_padding: bool,
    clock: u64,
}

impl Natives {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::of::<Native>(self.natives.len() as u64) + self.buffered.memory() + self.padding.memory()
    }

    pub fn new(zones: &ZoneMap) -> Self {
        Self {
            natives: vec![Native::default(); zones.natives() as usize],
            zone_blocks: zones.zone_blocks(),
            buffered: Bitmap::new(u64::from(zones.natives())),
            padding: Bitmap::new(zones.capacity()),
            has_padding: false,
            clock: 0,
        }
    }

    /// Blocks of all of them.
    pub fn blocks(&self) -> u64 {
        self.natives.len() as u64 * u64::from(self.zone_blocks)
    }

    pub fn zone_blocks(&self) -> u32 {
        self.zone_blocks
    }

    /// The native zone of a block and its offset there.
    #[inline]
    pub fn locate(&self, lba: Lba) -> (u32, u32) {
        unit_and_offset(lba.0, self.zone_blocks)
    }

    fn lba(&self, native: u32, offset: u32) -> u64 {
        u64::from(native) * u64::from(self.zone_blocks) + u64::from(offset)
    }

    /// A block of a zone has come into the cold buffer.
    #[inline]
    pub fn came(&mut self, native: u32, offset: u32) {
        let fresh = self.is_fresh(native, offset);
        let zone = &mut self.natives[native as usize];
        zone.cold += 1;
        zone.below += u32::from(offset < zone.pointer);
        zone.fresh += u32::from(fresh);
    }

    /// A block has left it.
    #[inline]
    pub fn went(&mut self, native: u32, offset: u32) {
        let fresh = self.is_fresh(native, offset);
        let zone = &mut self.natives[native as usize];
        zone.cold -= 1;
        zone.below -= u32::from(offset < zone.pointer);
        zone.fresh -= u32::from(fresh);
    }

    fn is_fresh(&self, native: u32, offset: u32) -> bool {
        offset >= self.natives[native as usize].pointer
            || (self.has_padding && self.padding.contains(self.lba(native, offset)))
    }

    /// A chunk of a zone has come into the cold buffer.
    pub fn chunk_came(&mut self, native: u32) {
        let zone = &mut self.natives[native as usize];
        if zone.chunks == 0 {
            zone.since = self.clock;
            self.clock += 1;
            self.buffered.insert(u64::from(native));
        }
        zone.chunks += 1;
    }

    /// A chunk of a zone has left it.
    pub fn chunk_went(&mut self, native: u32) {
        let zone = &mut self.natives[native as usize];
        zone.chunks -= 1;
        if zone.chunks == 0 {
            self.buffered.remove(u64::from(native));
        }
    }

    /// A zone has been written up to `pointer` by the host.
    pub fn appended(&mut self, native: u32, pointer: u32, cold: impl Iterator<Item = u32>) {
        let zone = &mut self.natives[native as usize];
        zone.valid += pointer - zone.pointer;
        zone.pointer = pointer;
        self.recount(native, cold);
    }

    /// A zone has been written up to `pointer`, the `collected` blocks anew and what was never written with padding;
    /// `cold` are the offsets of the blocks that are still in the cold buffer.
    pub fn destaged(&mut self, native: u32, pointer: u32, collected: &[Collected], cold: impl Iterator<Item = u32>) {
        let Native { pointer: before, valid, .. } = self.natives[native as usize];
        let (old, new) = collected.split_at(collected.partition_point(|block| block.offset < before));
        let mut now_valid = valid + new.len() as u32;
        for &Collected { offset, .. } in old.iter().filter(|_| self.has_padding) {
            now_valid += u32::from(self.padding.remove(self.lba(native, offset)));
        }
        let mut next = before;
        for offset in new.iter().map(|block| block.offset).chain([pointer]) {
            if offset > next {
                self.padding.insert_run(self.lba(native, next), self.lba(native, offset));
                self.has_padding = true;
            }
            next = offset + 1;
        }
        let zone = &mut self.natives[native as usize];
        (zone.pointer, zone.valid) = (pointer, now_valid);
        self.recount(native, cold);
    }

    /// Nothing is written to a zone of which nothing is buffered.
    pub fn emptied(&mut self, native: u32) {
        if self.has_padding {
            self.padding.remove_run(self.lba(native, 0), self.lba(native + 1, 0));
        }
        let zone = &mut self.natives[native as usize];
        debug_assert!(zone.chunks == 0 && zone.cold == 0);
        (zone.pointer, zone.valid) = (0, 0);
    }

    /// Counts again, after the zone was written, how the blocks at the `cold` offsets lie to what it has.
    fn recount(&mut self, native: u32, cold: impl Iterator<Item = u32>) {
        let zone = &mut self.natives[native as usize];
        (zone.cold, zone.below, zone.fresh) = (0, 0, 0);
        cold.for_each(|offset| self.came(native, offset));
    }

    /// After a crash: nothing is buffered, and what lies below the write pointers is taken for valid.
    pub fn recovered(&mut self, zones: &ZoneMap) {
        if self.has_padding {
            self.padding = Bitmap::new(zones.capacity());
            self.has_padding = false;
        }
        self.buffered = Bitmap::new(u64::from(zones.natives()));
        self.clock = 0;
        for (zone, native) in self.natives.iter_mut().zip(0..) {
            let pointer = zones.pointer(zones.physical(native));
            *zone = Native { pointer, valid: pointer, ..Native::default() };
        }
    }

    /// The zone that leaves by its weight; `last` is the offset of a zone's last cold block.
    pub fn by_weight(&self, victims: Victims, density: Density, last: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut best: Option<Candidate> = None;
        let end = self.natives.len() as u64;
        let mut next = self.buffered.next(0, end);
        while let Some(native) = next {
            next = self.buffered.next(native + 1, end);
            let native = native as u32;
            let Some(last) = last(native) else { continue };
            let weight = self.weight(native, last, density);
            let since = self.natives[native as usize].since;
            let candidate = Candidate { native, weight, since };
            if best.as_ref().is_none_or(|best| precedes(victims, &candidate, best)) {
                best = Some(candidate);
            }
        }
        best.map(|best| best.native)
    }

    fn weight(&self, native: u32, last: u32, density: Density) -> Weight {
        let Native { chunks, cold, below, fresh, pointer, valid, .. } = self.natives[native as usize];
        let appends = below == 0;
        let (dense, span) = match (appends, density) {
            (_, Density::None) => (1, 1),
            (true, Density::Union) => (cold, last + 1 - pointer),
            (true, Density::Printed) => (cold, (last - pointer).max(1)),
            (false, Density::Union) => (valid + fresh, pointer.max(last + 1)),
            (false, Density::Printed) => (valid + cold, pointer),
        };
        Weight { numerator: u64::from(chunks) * u64::from(dense), span: u64::from(span), appends }
    }

    /// Verifies the counts of a zone, whose cold blocks lie at the `cold` offsets in `chunks` chunks.
    pub fn agrees(&self, native: u32, pointer: u32, chunks: u32, cold: impl Iterator<Item = u32> + Clone) -> bool {
        let zone = self.natives[native as usize];
        let below = cold.clone().filter(|&offset| offset < pointer).count() as u32;
        let fresh = cold.clone().filter(|&offset| self.is_fresh(native, offset)).count() as u32;
        let valid = pointer - self.padding.count(self.lba(native, 0), self.lba(native, pointer)) as u32;
        let counted = (zone.pointer, zone.chunks, zone.cold, zone.below, zone.fresh, zone.valid);
        counted == (pointer, chunks, cold.count() as u32, below, fresh, valid)
            && self.buffered.contains(u64::from(native)) == (chunks > 0)
    }
}

/// A zone that may leave.
struct Candidate {
    native: u32,
    weight: Weight,
    since: u64,
}

/// Whether a zone is a better victim than another; of two equals the one that is appended, then the older one.
fn precedes(victims: Victims, a: &Candidate, b: &Candidate) -> bool {
    let product = |of: &Candidate, other: &Candidate| u128::from(of.weight.numerator) * u128::from(other.weight.span);
    let (left, right) = (product(a, b), product(b, a));
    let order = if victims == Victims::Lightest { right.cmp(&left) } else { left.cmp(&right) };
    order.then(a.weight.appends.cmp(&b.weight.appends)).then(b.since.cmp(&a.since)).is_gt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Unit;
    use imbrex_core::space::Zones;

    /// A zone of 1000 blocks written up to 100, with cold blocks at these offsets in two chunks.
    fn zone_with(offsets: &[u32]) -> Natives {
        let zones = ZoneMap::new(Zones { first: Unit::disk(1), count: 3, zone_blocks: 1000 }, 1);
        let mut natives = Natives::new(&zones);
        natives.appended(0, 100, std::iter::empty());
        (0..2).for_each(|_| natives.chunk_came(0));
        offsets.iter().for_each(|&offset| natives.came(0, offset));
        natives
    }

    fn density(offsets: &[u32], density: Density) -> (u64, u64, bool) {
        let weight = zone_with(offsets).weight(0, *offsets.last().unwrap(), density);
        (weight.numerator / 2, weight.span, weight.appends)
    }

    #[test]
    fn the_density_of_a_victim_is_what_it_will_hold_by_its_length() {
        let all: Vec<u32> = (100..132).collect();
        assert_eq!(density(&all, Density::Union), (32, 32, true));
        assert_eq!(density(&[100, 163], Density::Union), (2, 64, true));
        assert_eq!(density(&[10, 20], Density::Union), (100, 100, false));
        assert_eq!(density(&[10, 299], Density::Union), (101, 300, false));
        assert_eq!(density(&[100], Density::Printed), (1, 1, true), "and not divided by zero");
        assert_eq!(density(&[100, 163], Density::Printed), (2, 63, true));
        assert_eq!(density(&[10, 20], Density::Printed), (102, 100, false));
        assert_eq!(density(&[10, 299], Density::Printed), (102, 100, false));
    }

    #[test]
    fn padding_is_not_content() {
        let collected = |offsets: &[u32]| -> Vec<Collected> {
            (0..).zip(offsets).map(|(ram, &offset)| Collected { offset, ram }).collect()
        };
        let mut natives = zone_with(&[110, 250]);
        natives.went(0, 110);
        natives.destaged(0, 120, &collected(&[110]), [250].into_iter());
        assert!(natives.agrees(0, 120, 2, [250].into_iter()));
        assert_eq!(natives.natives[0].valid, 101);
        natives.came(0, 105);
        natives.came(0, 110);
        assert_eq!((natives.natives[0].below, natives.natives[0].fresh), (2, 2), "105 is padding, 250 is beyond");
        [105, 110].into_iter().for_each(|offset| natives.went(0, offset));
        natives.destaged(0, 120, &collected(&[105, 110]), [250].into_iter());
        assert_eq!(natives.natives[0].valid, 102);
        assert!(!natives.agrees(0, 120, 1, [250].into_iter()) && !natives.agrees(0, 120, 2, [251, 252].into_iter()));
    }

    #[test]
    fn ties_go_to_the_appended_and_then_to_the_older_victim() {
        let zone = |numerator, span, appends, since| Candidate {
            native: 0,
            weight: Weight { numerator, span, appends },
            since,
        };
        let (heavy, light) = (zone(3, 4, false, 5), zone(2, 3, true, 1));
        assert!(precedes(Victims::Weight, &heavy, &light) && !precedes(Victims::Weight, &light, &heavy));
        assert!(precedes(Victims::Lightest, &light, &heavy));
        let appended = zone(6, 8, true, 9);
        assert!(precedes(Victims::Weight, &appended, &heavy) && precedes(Victims::Lightest, &appended, &heavy));
        assert!(precedes(Victims::Weight, &zone(3, 4, false, 4), &heavy));
    }
}
