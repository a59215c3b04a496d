//! Room for the host's blocks: on the open band of their stream, on an empty one, by compaction, or on another stream's.

use super::LogStructured;
use super::bands::Streams;
use super::separation::MOST_STREAMS;
use imbrex_core::layer::{Outlook, Step};
use imbrex_core::plan::Plan;

/// When the host has written all of its blocks, this part of the dead blocks is room ahead at most. Bands are compacted
/// that much sooner than when the host waits, and with as many blocks more that are still live.
const AHEAD_OF_DEAD: u64 = 8;

impl LogStructured {
    /// The slot that the next block of the host in this stream takes, and how many follow, if there is one without
    /// compaction.
    #[inline]
    pub(super) fn room(&mut self, stream: u8) -> Option<(u64, u32)> {
        let open = &mut self.open[usize::from(stream)];
        if open.is_none() {
            if !self.compaction.is_under_way() {
                *open = self.compaction.targets[usize::from(stream)].take();
            } else if self.without_spare() {
                return None;
            }
        }
        if self.open[usize::from(stream)].is_none()
            && let Some(shared) = self.host_goes_on(stream)
        {
            return Some(shared);
        }
        let open = &mut self.open[usize::from(stream)];
        if open.is_none() && self.bands.empties() > self.config.spare_bands {
            *open = self.bands.open(stream);
        }
        open.map(|band| self.bands.room(band))
    }

    /// One step towards room for the host's blocks of a stream.
    pub(super) fn make_room(&mut self, stream: u8, plan: &mut Plan) -> Step {
        if self.room(stream).is_some() {
            Step::Done
        } else if self.compaction.is_under_way() {
            self.compact(plan)
        } else if self.bands.emptying() > 0 {
            Step::Wait
        } else if self.begin_pressed(plan) {
            self.compact(plan)
        } else if self.take_over(stream) {
            Step::Done
        } else {
            Step::Nothing
        }
    }

    /// The stream goes on with the open band of another one: there is no other room on the disk.
    fn take_over(&mut self, stream: u8) -> bool {
        let of = |open: &Streams| self.one_with_room(stream, open);
        let (target, open) = (of(&self.compaction.targets), of(&self.open));
        let target = target.and_then(|other| self.compaction.targets[other].take());
        let band = target.or_else(|| open.and_then(|other| self.open[other].take()));
        self.open[usize::from(stream)] = band;
        band.is_some()
    }

    /// One step towards `wanted` empty bands beside the spare ones, as long as compaction can gain a band. Where a
    /// compaction must not be interrupted, none is begun ahead.
    pub(super) fn compact_ahead(&mut self, wanted: u32, plan: &mut Plan) -> Step {
        if self.without_spare() {
            return Step::Nothing;
        }
        if self.compaction.is_under_way() {
            return self.compact(plan);
        }
        let empty = self.bands.empties() + self.bands.emptying();
        // Streams may have taken spare bands. A caller that wants none ahead leaves it to the host's next compaction.
        if wanted == 0 || empty >= self.config.spare_bands.saturating_add(wanted) || !self.bands.can_gain_a_band() {
            Step::Nothing
        } else if self.bands.emptying() > 0 {
            Step::Wait
        } else if self.begin_compaction(plan) {
            self.compact(plan)
        } else {
            Step::Nothing
        }
    }

    /// One step towards so much room, before the host waits for it.
    pub(super) fn compact_for_room(&mut self, room: u64, plan: &mut Plan) -> Step {
        if self.without_spare() {
            return Step::Nothing;
        }
        if self.compaction.is_under_way() {
            return self.compact(plan);
        }
        let has_enough = self.room_ahead().is_none_or(|ahead| ahead.room >= room || ahead.gain == 0);
        if has_enough {
            Step::Nothing
        } else if self.bands.emptying() > 0 {
            Step::Wait
        } else {
            self.leave_larger_bands();
            if self.begin_compaction(plan) { self.compact(plan) } else { Step::Nothing }
        }
    }

    /// The host goes on in the open bands that have more room, and compaction in the others: it has the spare ones too,
    /// and what is said of the host's room stays true when it begins.
    fn leave_larger_bands(&mut self) {
        for (target, open) in self.compaction.targets.iter_mut().zip(&mut self.open) {
            let left = |band: &Option<u32>| band.map_or(0, |band| self.bands.room(band).1);
            if left(target) > left(open) {
                std::mem::swap(target, open);
            }
        }
    }

    /// The host's room, and what the compaction under way, or the next one, is about to add.
    pub(super) fn room_ahead(&self) -> Option<Outlook> {
        if self.without_spare() {
            return None;
        }
        let band = u64::from(self.bands.blocks());
        let (bands, spare) = (u64::from(self.bands.zones().count), u64::from(self.config.spare_bands));
        let left = |band: Option<u32>| band.map_or(0, |band| u64::from(self.bands.room(band).1));
        let compaction = &self.compaction;
        // When a compaction ends the host goes on in its bands, but for those that the next one takes back.
        let next = if compaction.is_under_way() { Streams::default() } else { compaction.targets };
        let mut open = [0; MOST_STREAMS];
        (open.iter_mut().zip(self.open.iter().zip(&next))).for_each(|(is, of)| *is = left(*of.0).max(left(*of.1)));
        let empty = u64::from(self.bands.empties() + self.bands.emptying()).saturating_sub(spare);
        let dead = ((bands - spare) * band).saturating_sub(self.bands.map.capacity());
        let (work, gain) = compaction.outlook(self.bands.blocks()).unwrap_or_else(|| {
            // Without an index of live blocks all bands count as alike.
            let live = self.bands.least_live().unwrap_or_else(|| band.saturating_sub(dead / (bands - spare)));
            (2 * live, band - live)
        });
        Some(Outlook { room: self.shares.room(open, empty, band), most: dead / AHEAD_OF_DEAD, work, gain })
    }
}
