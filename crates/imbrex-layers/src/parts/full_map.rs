//! A map from all logical blocks to places on append-only units, with what each place holds and the live blocks of each
//! unit.
//!
//! For layers that write every block somewhere else. A place is a number below `units · unit_blocks`. What a place
//! holds is what was last written there: it is not told when that block moves on, which would cost a cache miss for
//! every block written, so the map has to agree before it is believed. Both directions take five bytes for each block
//! that was not written in order, and next to nothing for those that were.

mod cached;

use super::paged_map::{NONE, PagedMap};
pub use cached::Entries;
use imbrex_core::block::{Address, Extent, Lba, unit_and_offset};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Entries that are loaded together, so that their cache misses overlap.
pub const TOGETHER: u32 = 64;

/// Where each logical block lies, and which one each place holds.
#[derive(Clone, Debug)]
pub struct FullMap {
    capacity: u64,
    places: PagedMap,
    holders: PagedMap,
    live: Vec<u32>,
    unit_blocks: u32,
    /// A unit whose count cannot be that of its blocks.
    miscounted: Option<u32>,
}

impl FullMap {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.places.memory() + self.holders.memory() + Memory::room::<u32>(self.live.len() as u64)
    }

    /// The most places there can be.
    pub const PLACES: u64 = NONE;

    /// Nothing is mapped of `capacity` logical blocks over `units` units of `unit_blocks` blocks.
    #[must_use]
    pub fn new(capacity: u64, units: u32, unit_blocks: u32) -> Self {
        let places = u64::from(units) * u64::from(unit_blocks);
        debug_assert!(places <= Self::PLACES && capacity <= places);
        Self {
            capacity,
            places: PagedMap::new(capacity),
            holders: PagedMap::new(places),
            live: vec![0; units as usize],
            unit_blocks,
            miscounted: None,
        }
    }

    /// Logical blocks.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The unit of a place, and the place's number in it.
    #[inline]
    #[must_use]
    pub fn locate(&self, place: u64) -> (u32, u32) {
        unit_and_offset(place, self.unit_blocks)
    }

    /// A place of a unit.
    #[inline]
    #[must_use]
    pub fn place(&self, unit: u32, offset: u32) -> u64 {
        u64::from(unit) * u64::from(self.unit_blocks) + u64::from(offset)
    }

    /// Where a block lies.
    #[inline]
    #[must_use]
    pub fn get(&self, lba: Lba) -> Option<u64> {
        Some(self.places.get(lba.0)).filter(|&place| place != NONE)
    }

    /// The block that was last written to a place, whether or not it has moved on.
    #[inline]
    #[must_use]
    pub fn holder(&self, place: u64) -> Option<Lba> {
        Some(self.holders.get(place)).filter(|&lba| lba != NONE).map(Lba)
    }

    /// The block that lies at a place.
    #[inline]
    #[must_use]
    pub fn owner(&self, place: u64) -> Option<Lba> {
        self.holder(place).filter(|&lba| self.get(lba) == Some(place))
    }

    /// The holder of a place, and for how many of the `most` places from there on it is seen at once that the blocks
    /// behind it were written there, or nothing was.
    #[inline]
    #[must_use]
    pub fn held_run(&self, place: u64, most: u32) -> (Option<Lba>, u32) {
        let (lba, run) = self.holders.run(place, most);
        ((lba != NONE).then_some(Lba(lba)), run)
    }

    /// The block that lies at a place, and for how many of the `most` places from there on it is seen at once that the
    /// blocks behind it lie there, or none does.
    #[inline]
    #[must_use]
    pub fn owner_run(&self, place: u64, most: u32) -> (Option<Lba>, u32) {
        let (holder, held) = self.held_run(place, most);
        let Some(lba) = holder else { return (None, held) };
        let (lies_at, run) = self.run(Extent::new(lba, held));
        (holder.filter(|_| lies_at == Some(place)), run)
    }

    /// How many blocks lie in a unit.
    #[inline]
    #[must_use]
    pub fn live(&self, unit: u32) -> u32 {
        self.live[unit as usize]
    }

    /// Reads what a lookup of the block will, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.places.prefetch(lba.0)
    }

    /// Reads what lookups of the holders of places from `from` to `to` will, and what `also` reads of them, for the
    /// effect on the cache. Of a run only the first and the last are: the others lie between them.
    #[inline]
    #[must_use]
    pub fn prefetch_holders(&self, from: u64, to: u64, also: impl Fn(Lba) -> u64) -> u64 {
        let mut sum = 0;
        self.held(from, to, |at, _| {
            let last = at.start.plus(u64::from(at.blocks) - 1);
            sum ^= self.prefetch(at.start) ^ also(at.start) ^ self.prefetch(last) ^ also(last);
        });
        sum
    }

    /// Calls `each` with the holders of places from `from` to `to`, in runs, and where each run begins.
    #[inline]
    fn held(&self, from: u64, to: u64, mut each: impl FnMut(Extent<Lba>, u64)) {
        let mut place = from;
        while place < to {
            let (holder, run) = self.held_run(place, (to - place) as u32);
            if let Some(lba) = holder {
                each(Extent::new(lba, run), place);
            }
            place += u64::from(run);
        }
    }

    /// Calls `each` with the holders of `blocks` places from `first` on, in runs, and where each run begins. Their
    /// entries of the map, and what `also` reads of each, are loaded together before.
    #[inline]
    pub fn holders(&self, first: u64, blocks: u32, also: impl Fn(Lba) -> u64, mut each: impl FnMut(Extent<Lba>, u64)) {
        let end = first + u64::from(blocks);
        let mut from = first;
        while from < end {
            let to = end.min(from + u64::from(TOGETHER));
            std::hint::black_box(self.prefetch_holders(from, to, &also));
            self.held(from, to, &mut each);
            from = to;
        }
    }

    /// The same of those that lie there.
    #[inline]
    pub fn owners(&self, first: u64, blocks: u32, also: impl Fn(Lba) -> u64, mut each: impl FnMut(Extent<Lba>, u64)) {
        self.holders(first, blocks, also, |held, first| {
            self.runs(held, |at, place| {
                if place == first + at.start.since(held.start) {
                    each(at, place);
                }
                true
            });
        });
    }

    /// Whether a few numbers say where the blocks from `first` to `end` lie.
    #[inline]
    #[must_use]
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        self.places.is_regular(first, end)
    }

    /// Whether a few numbers say which blocks the places from `first` to `end` were written with.
    #[inline]
    #[must_use]
    pub fn is_held_regularly(&self, first: u64, end: u64) -> bool {
        self.holders.is_regular(first, end)
    }

    /// Where the first block of `at` lies, if it is mapped, and for how many blocks it is seen at once that they follow
    /// it: mapped to the places behind, or not mapped either.
    #[inline]
    #[must_use]
    pub fn run(&self, at: Extent<Lba>) -> (Option<u64>, u32) {
        let (place, run) = self.places.run(at.start.0, at.blocks);
        ((place != NONE).then_some(place), run)
    }

    /// Whether any block of `at` is mapped.
    #[must_use]
    pub fn any(&self, at: Extent<Lba>) -> bool {
        let mut rest = at;
        while !rest.is_empty() {
            let (place, run) = self.run(rest);
            if place.is_some() {
                return true;
            }
            rest = rest.skip(run);
        }
        false
    }

    /// The blocks of `at` were written to `place` and behind. Whether they lie there is another matter.
    #[inline]
    pub fn wrote(&mut self, at: Extent<Lba>, place: u64) {
        self.holders.set_run(place, at.blocks, at.start.0);
    }

    /// Nothing was written to a unit behind its first `kept` places. Where only some pages are in memory, what is there
    /// stays: it is not believed.
    pub fn forget_writes(&mut self, unit: u32, kept: u32) {
        debug_assert!(self.live(unit) <= kept || self.is_cached());
        if self.is_cached() {
            return;
        }
        self.holders.set_run(self.place(unit, kept), self.unit_blocks - kept, NONE);
    }

    /// The blocks of `at`, which were written there, lie at `place` and behind. `changed` is told the live blocks of
    /// every unit in which they change.
    #[inline]
    pub fn assign(&mut self, at: Extent<Lba>, place: u64, mut changed: impl FnMut(u32, u32)) {
        self.leave(at, &mut changed);
        self.places.set_run(at.start.0, at.blocks, place);
        self.count(place, at.blocks, |live, run| live.checked_add(run), &mut changed);
    }

    /// Both at once.
    #[inline]
    pub fn set(&mut self, at: Extent<Lba>, place: u64, changed: impl FnMut(u32, u32)) {
        self.wrote(at, place);
        self.assign(at, place, changed);
    }

    /// Forgets where the blocks of `at` lie; `changed` as in [`FullMap::assign`].
    pub fn remove(&mut self, at: Extent<Lba>, mut changed: impl FnMut(u32, u32)) {
        self.leave(at, &mut changed);
        self.places.set_run(at.start.0, at.blocks, NONE);
    }

    /// Counts the blocks of `at` off the units they lie in.
    #[inline]
    fn leave(&mut self, at: Extent<Lba>, changed: &mut impl FnMut(u32, u32)) {
        let mut done = 0;
        while done < at.blocks {
            let (place, run) = self.run(at.skip(done));
            if let Some(place) = place {
                self.count(place, run, |live, run| live.checked_sub(run), changed);
            }
            done += run;
        }
    }

    /// Counts are of a map that is in memory as a whole, or they were told and may be wrong: then they stay as they are.
    #[inline]
    fn count(
        &mut self,
        place: u64,
        blocks: u32,
        change: fn(u32, u32) -> Option<u32>,
        changed: &mut impl FnMut(u32, u32),
    ) {
        let mut done = 0;
        while done < blocks {
            let (unit, offset) = self.locate(place + u64::from(done));
            let run = (blocks - done).min(self.unit_blocks - offset);
            let live = &mut self.live[unit as usize];
            match change(*live, run).filter(|&live| live <= self.unit_blocks) {
                Some(changed) => *live = changed,
                None => self.miscounted = self.miscounted.or(Some(unit)),
            }
            changed(unit, *live);
            done += run;
        }
    }

    /// Calls `each` with the runs of mapped blocks of `region` that lie together in one unit, and where, until it says
    /// no.
    pub fn runs(&self, region: Extent<Lba>, mut each: impl FnMut(Extent<Lba>, u64) -> bool) {
        let mut found: Option<(Extent<Lba>, u64)> = None;
        let mut rest = region;
        while !rest.is_empty() {
            let (place, mut run) = self.run(rest);
            if let Some(place) = place {
                let (_, offset) = self.locate(place);
                run = run.min(self.unit_blocks - offset);
                match &mut found {
                    Some((at, first))
                        if at.end() == rest.start && *first + u64::from(at.blocks) == place && offset > 0 =>
                    {
                        at.blocks += run;
                    }
                    _ => {
                        if !found.is_none_or(|(at, first)| each(at, first)) {
                            return;
                        }
                        found = Some((rest.first(run), place));
                    }
                }
            }
            rest = rest.skip(run);
        }
        if let Some((at, first)) = found {
            each(at, first);
        }
    }

    /// Calls `each` with all such runs there are, until it says no.
    pub fn all_runs(&self, mut each: impl FnMut(Extent<Lba>, u64) -> bool) {
        let (mut start, mut goes_on) = (Lba(0), true);
        while goes_on && start.0 < self.capacity {
            let region = Extent::new(start, (self.capacity - start.0).min(1 << 30) as u32);
            self.runs(region, |at, place| {
                goes_on = each(at, place);
                goes_on
            });
            start = region.end();
        }
    }

    /// What is wrong with the holders of `place` and behind, if they are not the blocks of `at`.
    fn not_held(&self, at: Extent<Lba>, mut place: u64) -> Option<String> {
        let mut rest = at;
        while !rest.is_empty() {
            let (holder, run) = self.held_run(place, rest.blocks);
            if holder != Some(rest.start) {
                return Some(format!("{:?} is mapped to place {place}, which holds {holder:?}", rest.start));
            }
            (rest, place) = (rest.skip(run), place + u64::from(run));
        }
        None
    }

    /// Verifies that the map, what places hold and the counts agree.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        let mut live = vec![0; self.live.len()];
        let mut wrong = None;
        self.all_runs(|at, place| {
            live[self.locate(place).0 as usize] += at.blocks;
            wrong = self.not_held(at, place);
            wrong.is_none()
        });
        if let Some(unit) = live.iter().zip(&self.live).position(|(is, counted)| is != counted) {
            let is = format!("{} blocks lie in unit {unit}, counted {}", live[unit], self.live[unit]);
            wrong = wrong.or(Some(is));
        }
        wrong.map_or(Ok(()), |what| Err(Violation(what)))
    }
}

#[cfg(test)]
mod tests;
