//! What follows from a full map and the lost blocks beside it: how blocks are read, and how the map is stated again.

use super::full_map::FullMap;
use super::lost::LostBlocks;
use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::layer::{InOrder, REGION_RECORDS};
use imbrex_core::plan::{Place, Plan, Record, Why};
use imbrex_core::space::Zones;

/// Runs of mapped blocks in a region; lost blocks take the other half.
const RUNS: usize = REGION_RECORDS / 2 - 2;

impl FullMap {
    /// Plans a read by the host, whose block `host` the first of `at` is, from units that lie in `zones`.
    #[inline]
    pub fn plan_read(&self, at: Extent<Lba>, host: u32, lost: &LostBlocks, zones: &Zones, plan: &mut Plan) {
        let mut done = 0;
        while done < at.blocks {
            let rest = at.skip(done);
            let (place, run) = self.run(rest);
            let to = host + done;
            match place {
                Some(place) => {
                    let from = Place::At(zones.block(0, 0).plus(place));
                    plan.copy(from, Place::Host(to), run, Why::Host);
                }
                None => lost.runs(rest.first(run), |part, is_lost| {
                    let to = Place::Host(to + (part.start.0 - rest.start.0) as u32);
                    plan.copy(if is_lost { Place::Lost } else { Place::Zero }, to, part.blocks, Why::Host);
                }),
            }
            done += run;
        }
    }

    /// Whether the blocks from the front of `at` are neither mapped nor lost, and of how many of them that is said.
    pub fn known_zeros(&self, at: Extent<Lba>, lost: &LostBlocks) -> (bool, u32) {
        match self.run(at) {
            (Some(_), run) => (false, run),
            (None, run) => lost.none_from(at.first(run)),
        }
    }

    /// Restates a region of the map that begins at `start`, and returns its end.
    pub fn checkpoint(&self, start: Lba, lost: &LostBlocks, zones: &Zones, plan: &mut Plan) -> Lba {
        let region = Extent::between(start, lost.region_end(start, self.capacity()));
        let mut runs = 0;
        let mut end = region.end();
        self.runs(region, |at, _| {
            runs += 1;
            if runs > RUNS {
                end = at.start;
            }
            runs <= RUNS
        });
        let region = Extent::between(start, end);
        lost.checkpoint(region, plan);
        self.runs(region, |at, place| {
            plan.record(Record::Map { at, to: zones.block(0, 0).plus(place) });
            true
        });
        end
    }

    /// The most records that a checkpoint of all of it takes, where its units lie in `zones`: they go through it in
    /// order.
    #[must_use]
    pub fn most_in_order(&self, zones: &Zones) -> InOrder {
        InOrder { records: self.most_records(), places: zones.block(zones.count, 0).block() }
    }

    /// The most records that a checkpoint of all of it takes.
    #[must_use]
    pub fn most_records(&self) -> u64 {
        self.capacity() + self.capacity() / RUNS as u64 + 1 + LostBlocks::regions(self.capacity())
    }
}
