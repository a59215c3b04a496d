//! What the bands hold, counted on demand.

use super::{Bands, Role};
use crate::parts::unit_pool;
use imbrex_core::contents::{BandContent, BandState};

impl Bands {
    /// What each band holds.
    pub(in crate::banded::log_structured) fn contents(&self) -> Vec<BandContent> {
        let hot = self.hot_blocks();
        let content = |band: u32| {
            let (written, live) = (self.written(band), self.live(band));
            BandContent {
                state: self.state(band),
                unwritten: self.blocks() - written,
                // What is counted may be wrong, and is not verified by a look.
                dead: written.saturating_sub(live),
                live,
                hot: hot.as_ref().map(|hot| hot[band as usize]),
            }
        };
        (0..self.zones.count).map(content).collect()
    }

    /// Hot blocks that live on each band, where heat is known. Where a part of the map is in memory, that is known of
    /// bands if it is counted.
    fn hot_blocks(&self) -> Option<Vec<u32>> {
        let temperatures = self.known.temperatures.as_ref()?;
        if self.map.is_cached() {
            return temperatures.counts().map(<[u32]>::to_vec);
        }
        let mut hot = vec![0; self.zones.count as usize];
        self.map.all_runs(|at, slot| {
            let (band, _) = self.map.locate(slot);
            hot[band as usize] += at.iter().filter(|&lba| self.known.heat(lba) > 0).count() as u32;
            true
        });
        Some(hot)
    }

    fn state(&self, band: u32) -> BandState {
        match (self.pool.role(band), self.role(band)) {
            (unit_pool::Role::Free, _) => BandState::Empty,
            (unit_pool::Role::Open, Role::Data) => BandState::Open,
            (unit_pool::Role::Open, Role::Victim) => BandState::Victim,
            (unit_pool::Role::Open, Role::Copying | Role::Settling) => BandState::Copying,
            (unit_pool::Role::Closed, _) => BandState::Closed,
            (unit_pool::Role::Pending, _) => BandState::Emptying,
            (unit_pool::Role::Bad, _) => BandState::Unusable,
        }
    }
}
