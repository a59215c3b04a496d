//! What clients give up: zones in which nothing is needed any more are emptied, and with them the buffer, without a
//! block being copied.
//!
//! A single trimmed block stays where it is, buffered or not: the zone cannot forget it, and without the buffered copy
//! the older one would come back. But a native zone of which all blocks are given up moves to a spare zone in which
//! nothing is written, as it does at the end of an eviction, and what is buffered of it leaves the buffer after that.
//! What clients have given up is not durable: an epoch that begins knows of none.

mod runs;

use std::collections::BTreeSet;

use super::{Policy, ZoneBuffer};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{Pressure, Step};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;
use runs::TrimmedRuns;

/// Runs that are remembered for each native zone, and for all of few zones.
const RUNS_OF_ZONE: usize = 4;
const RUNS_AT_LEAST: usize = 1024;

/// What clients have given up.
pub(super) struct Trimmed {
    runs: TrimmedRuns,
    /// Native zones of which that was all when it was looked at.
    whole: BTreeSet<u32>,
    natives: u32,
}

impl Trimmed {
    /// For this number of native zones; with 0 it remembers nothing.
    pub fn new(natives: u32) -> Self {
        let runs = if natives == 0 { 0 } else { RUNS_AT_LEAST.max(RUNS_OF_ZONE * natives as usize) };
        Self { runs: TrimmedRuns::new(runs), whole: BTreeSet::new(), natives }
    }

    pub fn memory(&self) -> Memory {
        self.runs.memory() + Memory::tree::<u32>(self.natives.into())
    }

    pub fn clear(&mut self) {
        self.runs.clear();
        self.whole.clear();
    }

    #[inline]
    pub fn written(&mut self, at: Extent<Lba>) {
        if !self.runs.is_empty() {
            self.runs.remove(at.start.0, at.end().0);
        }
    }
}

impl<P: Policy> ZoneBuffer<P> {
    /// Drops those buffered blocks of `at` under which no older copy would reappear.
    pub(super) fn drop_bare(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (native, offset) = self.zones.native_of(rest.start);
            let run = rest.first(self.zones.zone_blocks() - offset);
            if let Some(pointer) = self.direct_offset(native)
                && pointer < offset + run.blocks
            {
                let bare = run.skip(pointer.saturating_sub(offset));
                if self.blocks.map.next(bare.start, bare.end()).is_some() {
                    self.blocks.forget(bare, &mut self.policy, plan);
                }
            }
            rest = rest.skip(run.blocks);
        }
    }

    /// Notes that clients have given up `at`, and empties what zones it can.
    pub(super) fn note_trimmed(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        if self.trimmed.natives == 0 || at.is_empty() {
            return;
        }
        self.trimmed.runs.insert(at.start.0, at.end().0);
        let (first, last) = (self.zones.native_of(at.start).0, self.zones.native_of(Lba(at.end().0 - 1)).0);
        for native in first..=last {
            if self.is_given_up(native) {
                self.trimmed.whole.insert(native);
            }
        }
        self.empty_trimmed(plan);
    }

    /// Whether clients need nothing that is written or buffered of a native zone, and something is. What is lost is
    /// needed: it is an error until it is written or trimmed itself.
    fn is_given_up(&self, native: u32) -> bool {
        let physical = self.zones.physical(native);
        let (zone, pointer) = (self.zones.blocks_of(native), self.zones.pointer(physical));
        let buffered = self.blocks.map.last(zone).map_or(zone.start.0, |last| last.0 + 1);
        let mut end = buffered.max(zone.start.0 + u64::from(pointer));
        self.blocks.lost.runs(zone, |run, is_lost| {
            if is_lost {
                end = end.max(run.end().0);
            }
        });
        pointer > 0 && !self.zones.is_conventional(physical) && self.trimmed.runs.covers(zone.start.0, end)
    }

    /// Plans that zones are empty of which nothing is needed, as many as there are spare ones to move to; says whether
    /// there was one.
    pub(super) fn empty_trimmed(&mut self, plan: &mut Plan) -> bool {
        let mut emptied = false;
        let mut next = 0;
        while let Some(native) = self.trimmed.whole.range(next..).next().copied() {
            next = native + 1;
            if self.evicted() == Some(native) || self.apart.contains(&native) {
                continue;
            }
            if self.is_given_up(native) {
                let Some(spare) = self.zones.take_spare() else { break };
                self.zones.switch(native, spare, plan);
                self.blocks.forget(self.zones.blocks_of(native), &mut self.policy, plan);
                self.policy.emptied(native);
                emptied = true;
            }
            self.trimmed.whole.remove(&native);
        }
        emptied
    }

    /// What is said instead of `step` when cleaning ends and zones wait for a spare one.
    pub(super) fn after_trims(&self, why: Pressure, step: Step) -> Step {
        let has_time = matches!(why, Pressure::Idle { .. } | Pressure::Asked);
        let waits = has_time && step == Step::Nothing && self.zones.spare_is_coming();
        let is_due = |native: &u32| !self.apart.contains(native) && self.is_given_up(*native);
        if waits && self.trimmed.whole.iter().any(is_due) { Step::Wait } else { step }
    }
}
