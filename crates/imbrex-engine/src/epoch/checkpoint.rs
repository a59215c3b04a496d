//! What a commit holds beside what waits for it: regions of a checkpoint.

use super::{Epoch, What};
use crate::Setup;
use crate::core::Core;
use crate::journal::entry_blocks;
use crate::ring::Due;
use imbrex_core::plan::{Op, Plan, Record};

/// Records of a checkpoint that are in memory at a time, but for those of a region.
pub fn longest_checkpoint_part(setup: &Setup) -> usize {
    setup.gather * setup.entry_blocks
}

impl Epoch {
    pub(super) fn begin_commit(&mut self, core: &mut Core) {
        let number = self.sum_up();
        // A checkpoint covers what was planned, so it cannot come before a redo plan that waits.
        let due = if self.commits.items().have_redo() { Due::Nothing } else { self.commits.ring().due() };
        let completes = self.add_checkpoint(&core.setup, due, number);
        self.add_pages(core);
        self.commits.begin(&core.setup, completes, self.execution.operations());
        if due == Due::Rest && completes.is_none() && self.has_regions_left() {
            self.commits.leave_open();
        }
    }

    /// Whether the checkpoint under way has regions that are not planned.
    pub(super) fn has_regions_left(&self) -> bool {
        self.commits.ring().checkpoint().is_some_and(|checkpoint| checkpoint.region.is_some())
    }

    /// Adds regions of a checkpoint when the ring fills up or a checkpoint was asked for. Where the checkpoint began, if
    /// this was its last region.
    fn add_checkpoint(&mut self, setup: &Setup, due: Due, number: u64) -> Option<u64> {
        let most = longest_checkpoint_part(setup);
        let goal = match due {
            Due::Nothing => return None,
            Due::Part => 2 * self.commits.items().records(),
            Due::Share if self.commits.ring().has_room(entry_blocks(2 * most, 0, setup.block_bytes) as u64) => most,
            // What is usual.
            Due::Share => 4 * setup.gather,
            Due::Rest => most,
        };
        let under_way = self.commits.ring_mut().resume_checkpoint(number);
        self.commits.ring_mut().keep_checkpoint(under_way);
        let (records, completes) = self.checkpoint_some(setup, goal, true);
        if !records.is_empty() {
            self.queue(What::Region(records));
        }
        completes
    }

    /// Goes on with a checkpoint for a little more than `goal` records. Where it began, if it may be completed and nothing
    /// of it is missing any more.
    pub(super) fn checkpoint_some(
        &mut self,
        setup: &Setup,
        goal: usize,
        may_complete: bool,
    ) -> (Vec<Record>, Option<u64>) {
        let mut records = Vec::new();
        let Some(mut checkpoint) = self.commits.ring().checkpoint() else { return (records, None) };
        while let Some(region) = checkpoint.region
            && records.len() <= goal
        {
            let (more, next) = self.checkpoint(region);
            more.iter().for_each(|record| self.audit.remember(*record));
            records.extend(more);
            checkpoint.region = next;
        }
        let ring = self.commits.ring_mut();
        ring.keep_checkpoint(checkpoint);
        if !may_complete || checkpoint.region.is_some() || self.pages_are_out(setup, checkpoint.commit) {
            return (records, None);
        }
        self.commits.ring_mut().checkpoint_planned();
        (records, Some(checkpoint.start))
    }

    /// The records of a region of the layer's map, and the next region.
    fn checkpoint(&self, region: u64) -> (Vec<Record>, Option<u64>) {
        let mut plan = Plan::new();
        let next = self.layer.checkpoint(region, &mut plan);
        let record = |op: &Op| if let Op::Record { record, .. } = op { Some(*record) } else { None };
        (plan.ops().iter().filter_map(record).collect(), next)
    }
}
