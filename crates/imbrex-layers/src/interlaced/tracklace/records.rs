//! The durable state as records: applying them, giving them for a checkpoint, and beginning an epoch with them.

use super::TrackLace;
use super::counters;
use super::relocation::Lies;
use super::trimmed::GROUP;
use crate::interlaced::in_place_tracks::Places;
use crate::parts::lost::LostBlocks;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::{Corrupt, within};
use imbrex_core::plan::{Op, Plan, Record};

/// Entries and groups of a region at most: with half as many lost blocks as a region has records, it has not too many.
const ENTRIES: u64 = 120;

impl TrackLace {
    /// Changes the state as `record` says, and plans it.
    pub(super) fn change(&mut self, record: Record, redo: bool, plan: &mut Plan) {
        self.apply_own(&record, plan);
        plan.push(Op::Record { record, redo });
    }

    /// Applies a record that this epoch makes, and counts what it relocates.
    pub(super) fn apply_own(&mut self, record: &Record, plan: &mut Plan) {
        if let Record::Map { at, to } = *record {
            self.count_relocated(at, to, plan);
        }
        if let Err(corrupt) = self.apply_record(record) {
            unreachable!("a record of the layer's own: {corrupt}");
        }
    }

    /// Counts blocks that lie on one track, now or at home, and are to lie on another: how far that is from home
    /// (TrackLace §4.1.1).
    fn count_relocated(&self, at: Extent<Lba>, to: Pba, plan: &mut Plan) {
        if self.place(at.start) == to {
            return;
        }
        let Some((track, _)) = self.places.order.tracks().locate(to.block()) else {
            unreachable!("blocks are relocated to tracks")
        };
        let tracks = self.frames.number(self.home(at.start).0).abs_diff(self.frames.number(track));
        plan.count(counters::RELOCATED, at.blocks);
        plan.count_all(counters::RELOCATED_TRACKS, tracks * u64::from(at.blocks));
    }

    pub(super) fn apply_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        within(record, self.places.capacity)?;
        match *record {
            Record::Map { at, to } => self.apply_map(at, to)?,
            Record::Unmap(at) => {
                self.come_home(at);
                self.found(at);
            }
            Record::Lost(at) => self.lose(at),
            Record::Note { key, value } => self.apply_note(key, value)?,
            Record::Copy { .. } | Record::Unit { .. } => {
                return Err(Corrupt(format!("tracklace has no units and records no copies, yet there is {record:?}")));
            }
        }
        Ok(())
    }

    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = |why: &str| Err(Corrupt(format!("a record maps {at:?} to {to:?}, {why}")));
        for (i, lba) in (0..).zip(at.iter()) {
            let place = to.plus(i);
            if let Some(slot) = self.frames.slot_of(place) {
                if self.is_top(lba) || self.frames.owner(slot).is_some_and(|owner| owner != lba) {
                    return wrong("a slot for a block of a bottom track, or one which holds another block");
                }
                self.hold(lba, slot, place);
                continue;
            }
            let Some(partner) = self.partner_at(place, lba) else { return wrong("which is no place for it") };
            let is_hot = !self.is_top(lba);
            if !self.moved.takes_pair(lba, partner) {
                return wrong("and there are more swapped blocks than the map has entries for");
            }
            let before = self.moved.swap(lba, partner, is_hot, &mut self.frames);
            self.look_at_top(if is_hot { partner } else { lba });
            self.give_up(before);
        }
        self.found(at);
        Ok(())
    }

    /// The block lies in a slot, which is at `place`.
    #[inline]
    fn hold(&mut self, lba: Lba, slot: u32, place: Pba) {
        let before = self.moved.buffer(lba, slot, &mut self.frames);
        self.places.needed.set(place.block(), false, true);
        self.give_up(before.filter(|before| *before != slot));
    }

    /// Plans that blocks of a bottom track lie in slots. What a record is verified for, the caller knows.
    pub(super) fn hold_run(&mut self, at: Extent<Lba>, slot: u32, plan: &mut Plan) {
        let to = self.frames.place_of(slot);
        self.count_relocated(at, to, plan);
        for (i, lba) in (0..).zip(at.iter()) {
            self.hold(lba, slot + i, to.plus(u64::from(i)));
        }
        self.found(at);
        plan.record(Record::Map { at, to });
    }

    /// The block is where its map entry says no more; a slot is given up.
    fn leave(&mut self, lba: Lba) {
        let slot = self.moved.remove(lba, &mut self.frames);
        self.give_up(slot);
    }

    /// Blocks that lie in slots, all of them, are at home. Returns the record.
    pub(super) fn leave_run(&mut self, at: Extent<Lba>) -> Record {
        at.iter().for_each(|lba| self.leave(lba));
        self.found(at);
        Record::Unmap(at)
    }

    /// The block whose home a place is, if that and `lba` can change places.
    fn partner_at(&self, place: Pba, lba: Lba) -> Option<Lba> {
        let tracks = self.places.order.tracks();
        let is_on_disk = place.device() == Pba::DISK && place.block() < tracks.blocks();
        let (track, offset) = tracks.locate(place.block()).filter(|_| is_on_disk)?;
        let partner = Lba(self.places.order.first_of(track) + u64::from(offset));
        (partner.0 < self.places.capacity && self.is_top(partner) != self.is_top(lba)).then_some(partner)
    }

    /// These blocks are at home.
    fn come_home(&mut self, at: Extent<Lba>) {
        let mut rest = at;
        while let Some(lba) = self.moved.first_moved(rest) {
            rest = rest.skip(super::from_start(rest, lba) + 1);
            let lies = self.moved.lies(lba);
            self.leave(lba);
            if let Some(Lies::Swapped(pair)) = lies {
                self.look_at_top(self.moved.pair(pair).cold);
            }
        }
    }

    /// A slot holds nothing any more.
    fn give_up(&mut self, slot: Option<u32>) {
        if let Some(slot) = slot {
            self.places.needed.release(self.frames.place_of(slot).block(), false);
        }
    }

    /// These blocks are lost. A swapped one stays swapped.
    fn lose(&mut self, at: Extent<Lba>) {
        let mut rest = at;
        while let Some(lba) = self.moved.first_moved(rest) {
            rest = rest.skip(super::from_start(rest, lba) + 1);
            if let Some(Lies::Slot(_)) = self.moved.lies(lba) {
                self.leave(lba);
            }
        }
        self.lost.insert(at);
        at.iter().for_each(|lba| self.look_at(lba));
    }

    /// These blocks are not lost.
    fn found(&mut self, at: Extent<Lba>) {
        if self.lost.any(at) {
            let mut found = Vec::new();
            self.lost.runs(at, |run, lost| found.extend(run.iter().filter(|_| lost)));
            self.lost.remove(at);
            found.into_iter().for_each(|lba| self.look_at(lba));
        }
    }

    fn apply_note(&mut self, key: u32, value: u64) -> Result<(), Corrupt> {
        let mut changed = 0_u64;
        let applied = self.trimmed.apply(key, value, |lba, _| changed |= 1 << (lba.0 % GROUP));
        if !self.config.trim || !applied {
            return Err(Corrupt(format!("a record says {value:#x} of group {key}, which holds no such blocks")));
        }
        let first = u64::from(key) * GROUP;
        (0..GROUP).filter(|bit| changed >> bit & 1 == 1).for_each(|bit| self.look_at(Lba(first + bit)));
        Ok(())
    }

    /// Whether the block holds anything that can be read has changed.
    fn look_at(&mut self, lba: Lba) {
        match self.moved.lies(lba) {
            None if self.is_top(lba) => self.look_at_top(lba),
            Some(Lies::Swapped(pair)) => self.look_at_top(self.moved.pair(pair).cold),
            None | Some(Lies::Slot(_)) => {}
        }
    }

    /// Whether the home on a top track of `lba` is needed, by what lies there.
    fn look_at_top(&mut self, lba: Lba) {
        let (needed, home) = (self.needs_home(lba), self.home_place(lba));
        let Places { needed: blocks, ruled, .. } = &mut self.places;
        if needed == blocks.is_needed(home.block(), *ruled) {
            return;
        }
        if needed {
            blocks.set(home.block(), *ruled, true);
        } else {
            blocks.release(home.block(), *ruled);
            self.forgotten.push(home);
        }
    }

    /// Whether what lies at the home of `lba`, which is on a top track, is needed.
    pub(super) fn needs_home(&self, lba: Lba) -> bool {
        let there = match self.moved.lies(lba) {
            Some(Lies::Swapped(pair)) => self.moved.pair(pair).hot,
            None | Some(Lies::Slot(_)) => lba,
        };
        !self.trimmed.contains(there) && !self.lost.any(Extent::new(there, 1))
    }

    /// All that was applied is durable.
    pub(super) fn begin_life(&mut self) -> Result<(), Corrupt> {
        self.places.needed.settle_all();
        self.forgotten = super::Forgotten::default();
        self.frames.recovered();
        self.moved.check(&self.frames).map_err(|violation| Corrupt(format!("the records do not agree: {violation}")))
    }

    pub(super) fn checkpoint_region(&self, start: Lba, plan: &mut Plan) -> Option<u64> {
        let end = self.region_end(start);
        let region = Extent::between(start, end);
        plan.record(Record::Unmap(region));
        let first_group = start.0.div_ceil(GROUP);
        let mut group = first_group;
        while let Some(found) = self.trimmed.next_group(group, end.0.div_ceil(GROUP)) {
            let nowhere = Extent::new(Lba(found * GROUP), 0);
            plan.record(self.trimmed.record(found, nowhere, false));
            group = found + 1;
        }
        for lba in self.moved.moved(region) {
            plan.record(Record::Map { at: Extent::new(lba, 1), to: self.place(lba) });
        }
        self.lost.runs(region, |at, lost| {
            if lost {
                plan.record(Record::Lost(at));
            }
        });
        (end.0 < self.places.capacity).then_some(end.0)
    }

    /// Where a region that starts at `start` ends, so that its records are few enough.
    fn region_end(&self, start: Lba) -> Lba {
        let mut end = self.lost.region_end(start, self.places.capacity);
        if let Some(entry) = self.moved.moved(Extent::between(start, end)).nth(ENTRIES as usize) {
            end = entry;
        }
        let (mut group, mut groups) = (start.0.div_ceil(GROUP), 0);
        while let Some(found) = self.trimmed.next_group(group, end.0.div_ceil(GROUP)) {
            groups += 1;
            if groups > ENTRIES {
                return Lba(found * GROUP);
            }
            group = found + 1;
        }
        end
    }

    /// The most records that a checkpoint of everything takes.
    pub(super) fn records(&self) -> u64 {
        let (_, _, entries) = self.moved.entries();
        let groups = if self.config.trim { self.places.capacity.div_ceil(GROUP) } else { 0 };
        LostBlocks::regions(self.places.capacity)
            + [entries, groups].map(|some| some + some.div_ceil(ENTRIES)).iter().sum::<u64>()
    }
}
