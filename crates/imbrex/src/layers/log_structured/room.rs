//! Room for the host's blocks: on the open band of their stream, on an empty one, by compaction, or on another stream's.

use super::LogStructured;
use crate::layer::Step;
use crate::plan::Plan;

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
        let mut open = self.compaction.targets.iter_mut().chain(&mut self.open);
        let band = open.find_map(|band| band.take_if(|band| self.bands.room(*band).1 > 0));
        self.open[usize::from(stream)] = band;
        band.is_some()
    }

    /// One step towards so many empty bands beside the spare ones, as long as compaction can gain a band. Where nobody
    /// may interrupt a compaction, none is begun ahead.
    pub(super) fn compact_ahead(&mut self, wanted: u32, plan: &mut Plan) -> Step {
        if self.without_spare() {
            return Step::Nothing;
        }
        if self.compaction.is_under_way() {
            return self.compact(plan);
        }
        let empty = self.bands.empties() + self.bands.emptying();
        // Streams may have taken spare bands. Who wants none ahead leaves it to the host's next compaction.
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
}
