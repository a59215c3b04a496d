//! Blocks buffered in slots: where each lies, which are lost, and the records that say so.
//!
//! A persistent buffer keeps single blocks in slots of conventional space until they go home together. Which slot a
//! block takes is a layer's choice, behind [`Slots`]. A slot is live exactly when a block maps to it, and a block is
//! never both buffered and lost.

mod durable;

use super::bitmap::Bitmap;
use super::block_map::BlockMap;
use super::lost::LostBlocks;
use super::slot_table::SlotTable;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::contents::ZoneContent;
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};

/// The slots of a buffer.
pub trait Slots {
    /// What the slots hold.
    fn table(&self) -> &SlotTable;

    /// `slot`, taken before or not, now holds `lba`.
    fn hold(&mut self, slot: u32, lba: Lba);

    /// The live `slot` holds nothing any more, and will be free when its Free has taken effect.
    fn give_up(&mut self, slot: u32);

    /// The Free of `slot` has taken effect.
    fn freed(&mut self, slot: u32);
}

/// Which blocks are buffered and which are lost. Callers pass the same slots every time.
#[derive(Clone)]
pub struct BufferedBlocks {
    /// The block that slot 0 is.
    place: Pba,
    slots: u32,
    capacity: u64,
    /// The slot of each buffered block.
    pub map: BlockMap,
    /// The blocks whose content could not be read when it had to move.
    pub lost: LostBlocks,
    /// The slots that the plan being made gives up.
    pub given_up: Vec<u32>,
}

impl BufferedBlocks {
    /// The memory that it takes where a plan gives up slots of at most `together` blocks.
    #[must_use]
    pub fn memory(&self, together: u32) -> Memory {
        self.map.memory() + Memory::growing::<u32>(self.slots.min(together).into())
    }

    /// None yet; at most `capacity` blocks, in `slots` slots from `place` on.
    #[must_use]
    pub fn new(place: Pba, slots: u32, capacity: u64) -> Self {
        let map = BlockMap::new(capacity, slots);
        Self { place, slots, capacity, map, lost: LostBlocks::default(), given_up: Vec::new() }
    }

    /// Where the blocks of zones lie. `zones` has the blocks of each, and up to where it is written; `zone_of` says
    /// which of them a block belongs to. Looks at every slot.
    #[must_use]
    pub fn contents(
        slots: &impl Slots,
        zones: &[(Extent<Lba>, u32)],
        zone_of: impl Fn(Lba) -> u32,
    ) -> Vec<ZoneContent> {
        let all_home = |(zone, pointer): &(Extent<Lba>, u32)| ZoneContent {
            blocks: zone.blocks,
            buffered: 0,
            home: zone.blocks.min(*pointer),
        };
        let mut contents: Vec<_> = zones.iter().map(all_home).collect();
        let table = slots.table();
        for lba in (0..table.slots()).filter_map(|slot| table.owner(slot)) {
            let at = zone_of(lba) as usize;
            let (zone, pointer) = zones[at];
            contents[at].buffered += 1;
            contents[at].home -= u32::from(lba < zone.start.plus(pointer.into()));
        }
        contents
    }

    /// Where a slot lies.
    #[inline]
    #[must_use]
    pub fn place_of(&self, slot: u32) -> Pba {
        self.place.plus(u64::from(slot))
    }

    /// The slot that a place is, if it is one.
    fn slot_of(&self, place: Pba) -> Option<u32> {
        if place.device() != self.place.device() || place < self.place {
            return None;
        }
        u32::try_from(place.since(self.place)).ok().filter(|slot| *slot < self.slots)
    }

    /// A Free of `space` has taken effect; says whether that is one of slots.
    pub fn freed(&self, space: Extent<Pba>, slots: &mut impl Slots) -> bool {
        let Some(first) = self.slot_of(space.start) else { return false };
        (first..self.slots).take(space.blocks as usize).for_each(|slot| slots.freed(slot));
        true
    }

    /// The effect of [`Record::Map`]: `at` lies in the slots from `first`.
    pub fn map_run(&mut self, at: Extent<Lba>, first: u32, slots: &mut impl Slots) {
        for (slot, lba) in (first..).zip(at.iter()) {
            if let Some(old) = self.map.set(lba, slot).filter(|old| *old != slot) {
                slots.give_up(old);
            }
            slots.hold(slot, lba);
        }
        self.lost.remove(at);
    }

    /// The effect of [`Record::Unmap`].
    fn unmap(&mut self, at: Extent<Lba>, slots: &mut impl Slots) {
        self.map.remove_range(at, |_, slot| slots.give_up(slot));
        self.lost.remove(at);
    }

    /// Plans a read of `at` whose first block goes to `host`: what is buffered from its slot, which `hit` is told, and
    /// the rest as `home` plans it. Says how many blocks are buffered.
    #[inline]
    pub fn read(
        &self,
        at: Extent<Lba>,
        host: u32,
        plan: &mut Plan,
        mut hit: impl FnMut(u32),
        mut home: impl FnMut(Extent<Lba>, u32, &mut Plan),
    ) -> u32 {
        let (mut next, mut hits) = (at.start, 0);
        let number = |lba: Lba| host + lba.since(at.start) as u32;
        for (lba, slot) in self.map.range(at) {
            if lba > next {
                home(Extent::between(next, lba), number(next), plan);
            }
            plan.copy(Place::At(self.place_of(slot)), Place::Host(number(lba)), 1, Why::Host);
            hit(slot);
            hits += 1;
            next = lba.plus(1);
        }
        if next < at.end() {
            home(Extent::between(next, at.end()), number(next), plan);
        }
        hits
    }

    /// The buffered blocks of `at` with their slots. Prefetches the map, which pays for many blocks.
    pub fn many(&self, at: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> + '_ {
        std::hint::black_box(self.map.prefetch_range(at));
        self.map.range(at)
    }

    /// Notes the slots of `at` as those that the plan gives up.
    pub fn note_given_up(&mut self, at: Extent<Lba>) {
        self.given_up.clear();
        self.map.range(at).for_each(|(_, slot)| self.given_up.push(slot));
    }

    /// Plans that the slots given up are free.
    pub fn free_given_up(&self, plan: &mut Plan) {
        for &slot in &self.given_up {
            plan.free(Extent::new(self.place_of(slot), 1));
        }
    }

    /// Plans that no block of `at` is buffered or lost any more.
    pub fn forget(&mut self, at: Extent<Lba>, slots: &mut impl Slots, plan: &mut Plan) {
        self.note_given_up(at);
        if self.given_up.is_empty() && !self.lost.any(at) {
            return;
        }
        plan.record(Record::Unmap(at));
        self.unmap(at, slots);
        self.free_given_up(plan);
    }

    /// Plans that the blocks of `at` are not buffered any more, except those that were written since they were copied
    /// home; `copied` has the offsets in `at`. Lost blocks stay lost, unless all of `at` was `overwritten`.
    pub fn evict(
        &mut self,
        at: Extent<Lba>,
        overwritten: bool,
        copied: &Bitmap,
        slots: &mut impl Slots,
        plan: &mut Plan,
    ) {
        // Entries and slots lie scattered, and the removals below would wait for each of them in turn.
        let (table, mut touched, mut stay) = (slots.table(), 0, 0);
        self.many(at).for_each(|(lba, slot)| {
            touched ^= table.prefetch(slot);
            stay += u32::from(!copied.contains(lba.since(at.start)));
        });
        std::hint::black_box(touched);
        self.given_up.clear();
        let mut rest = at;
        while !rest.is_empty() {
            let is_newer = |lba: &Lba| !copied.contains(lba.since(at.start));
            let (run, next) = if stay > 0 { self.leaving(rest, overwritten, is_newer) } else { (rest, rest.end()) };
            self.unmap_evicted(run, overwritten, slots, plan);
            rest = Extent::between(next, at.end());
        }
        self.free_given_up(plan);
        plan.count(Event::Evicted, self.given_up.len() as u32);
    }

    /// The front of `rest` up to a block that stays, and where the next such run begins. Between blocks that stay there
    /// is nothing to do, unless it `was_overwritten`: lost blocks may lie there.
    fn leaving(&self, rest: Extent<Lba>, was_overwritten: bool, stays: impl Fn(&Lba) -> bool) -> (Extent<Lba>, Lba) {
        let mut blocks = self.map.blocks(rest);
        let Some(first) = blocks.find(&stays) else { return (rest, rest.end()) };
        let others = blocks.take_while(|lba| !was_overwritten && stays(lba));
        (Extent::between(rest.start, first), others.last().unwrap_or(first).plus(1))
    }

    /// Plans that no block of `run` is buffered any more, and notes the slots.
    fn unmap_evicted(&mut self, run: Extent<Lba>, overwritten: bool, slots: &mut impl Slots, plan: &mut Plan) {
        let (map, given_up) = (&mut self.map, &mut self.given_up);
        let found = overwritten && self.lost.any(run);
        self.lost.runs(run, |part, _| {
            let before = given_up.len();
            map.remove_range(part, |_, slot| {
                slots.give_up(slot);
                given_up.push(slot);
            });
            if given_up.len() > before && !found {
                plan.record(Record::Unmap(part));
            }
        });
        if found {
            plan.record(Record::Unmap(run));
            self.lost.remove(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Op;

    impl Slots for SlotTable {
        fn table(&self) -> &SlotTable {
            self
        }
        fn hold(&mut self, slot: u32, lba: Lba) {
            Self::hold(self, slot, lba);
        }
        fn give_up(&mut self, slot: u32) {
            Self::give_up(self, slot);
        }
        fn freed(&mut self, slot: u32) {
            Self::freed(self, slot);
        }
    }

    fn run(at: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(at), blocks)
    }

    fn map(at: u64, blocks: u32, place: u64) -> Record {
        Record::Map { at: run(at, blocks), to: Pba::disk(place) }
    }

    fn begun(records: &[Record]) -> (BufferedBlocks, SlotTable) {
        let (mut blocks, mut slots) = (BufferedBlocks::new(Pba::disk(100), 8, 1000), SlotTable::new(8));
        records.iter().for_each(|record| blocks.apply(record, &mut slots).unwrap());
        blocks.check(&slots).unwrap();
        (blocks, slots)
    }

    fn records(plan: &Plan) -> Vec<Record> {
        let record = |op: &Op| if let Op::Record { record, .. } = op { Some(*record) } else { None };
        plan.ops().iter().filter_map(record).collect()
    }

    #[test]
    fn a_checkpoint_folds_to_the_same() {
        let (blocks, slots) =
            begun(&[map(5, 3, 102), map(6, 1, 100), Record::Lost(run(7, 2)), Record::Unmap(run(8, 1))]);
        assert_eq!(blocks.map.range(run(0, 99)).collect::<Vec<_>>(), [(Lba(5), 2), (Lba(6), 0)]);
        assert_eq!((slots.live(), slots.pending()), (2, 2));
        let mut plan = Plan::new();
        assert_eq!(blocks.checkpoint(Lba(0), &mut plan), Lba(1000));
        let checkpoint = records(&plan);
        assert_eq!(checkpoint, [Record::Unmap(run(0, 1000)), Record::Lost(run(7, 1)), map(5, 1, 102), map(6, 1, 100)]);
        let again = begun(&checkpoint).0;
        assert!(again.lost.any(run(7, 1)) && again.map.mapped() == 2);
    }

    #[test]
    fn records_that_contradict_the_state_are_corrupt() {
        let (mut blocks, mut slots) = begun(&[map(5, 1, 100)]);
        let wrong = [
            (map(5, 1, 99), "outside"),
            (map(5, 1, 108), "outside"),
            (map(5, 2, 107), "outside"),
            (map(6, 1, 100), "another block"),
            (map(999, 2, 101), "beyond the capacity"),
            (Record::Lost(run(1000, 1)), "beyond the capacity"),
            (Record::Note { key: 0, value: 0 }, "no record about blocks"),
        ];
        for (record, why) in wrong {
            let error = blocks.apply(&record, &mut slots).unwrap_err();
            assert!(error.0.contains(why), "{record:?}: {error}");
        }
    }

    #[test]
    fn only_slots_are_freed() {
        let (blocks, mut slots) = begun(&[map(5, 2, 106), Record::Unmap(run(5, 2))]);
        assert!(!blocks.freed(Extent::new(Pba::disk(99), 8), &mut slots));
        assert_eq!(slots.pending(), 2);
        assert!(blocks.freed(Extent::new(Pba::disk(106), 9), &mut slots));
        assert_eq!(slots.pending(), 0);
    }

    #[test]
    fn what_is_forgotten_is_neither_buffered_nor_lost() {
        let (mut blocks, mut slots) = begun(&[map(5, 1, 103), Record::Lost(run(7, 1))]);
        let mut plan = Plan::new();
        blocks.forget(run(8, 9), &mut slots, &mut plan);
        assert!(plan.is_empty());
        blocks.forget(run(5, 3), &mut slots, &mut plan);
        let free = Op::Free(Extent::new(Pba::disk(103), 1));
        assert_eq!(plan.ops(), [Op::Record { record: Record::Unmap(run(5, 3)), redo: false }, free]);
        assert_eq!((blocks.map.mapped(), blocks.lost.is_empty()), (0, true));
    }

    #[test]
    fn an_eviction_leaves_what_was_written_since() {
        let before = [map(10, 4, 100), Record::Lost(run(14, 1))];
        let evicted = |overwritten: bool| {
            let (mut blocks, mut slots) = begun(&before);
            let mut plan = Plan::new();
            let mut copied = Bitmap::new(6);
            copied.insert_run(0, 6);
            copied.remove(2);
            blocks.evict(run(10, 6), overwritten, &copied, &mut slots, &mut plan);
            blocks.check(&slots).unwrap();
            assert_eq!(blocks.map.range(run(0, 99)).collect::<Vec<_>>(), [(Lba(12), 2)]);
            assert_eq!(plan.ops().last(), Some(&Op::Count(Event::Evicted, 3)));
            (records(&plan), blocks.lost.is_empty())
        };
        let unmap = |at, blocks| Record::Unmap(run(at, blocks));
        assert_eq!(evicted(false), (vec![unmap(10, 2), unmap(13, 1)], false));
        assert_eq!(evicted(true), (vec![unmap(10, 2), unmap(13, 3)], true));
    }

    #[test]
    fn a_slot_that_no_block_maps_to_is_found() {
        let (mut blocks, slots) = begun(&[map(5, 2, 100)]);
        blocks.lost.insert(run(6, 1));
        assert!(blocks.check(&slots).is_err());
        let (mut blocks, slots) = begun(&[map(5, 2, 100)]);
        blocks.map.remove(Lba(5));
        assert!(blocks.check(&slots).is_err());
    }
}
