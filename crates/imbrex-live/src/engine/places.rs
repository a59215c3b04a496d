//! Which logical blocks lie where, asked while they are served.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::plan::{Op, Place, Plan};

use super::Engine;

/// Blocks that are asked for at a time, with everybody else waiting.
const CHUNK: u64 = 4096;
/// How long to wait for a new epoch to begin, and how often.
const AGAIN: Duration = Duration::from_millis(10);
const TRIES: u32 = 500;

impl Engine {
    /// The logical blocks that lie at some places of the only store, and those places. Nothing if there are several
    /// stores, or the volume does not come to serve.
    #[must_use]
    pub fn blocks_at(&self, places: &BTreeSet<Pba>) -> Option<Vec<(Lba, Pba)>> {
        let ([_], mut found, mut next) = (self.shared.members.as_slice(), Vec::new(), 0) else { return None };
        let mut plan = Plan::new();
        while next < self.capacity() {
            let chunk = Extent::new(Lba(next), CHUNK.min(self.capacity() - next) as u32);
            plan.clear();
            let mut tries = 0..TRIES;
            while !self.shared.machine().locate(chunk, &mut plan) {
                tries.next()?;
                thread::sleep(AGAIN);
            }
            for op in plan.ops() {
                if let Op::Move { from: Place::At(at), to: Place::Host(host), blocks, .. } = *op {
                    let run = Extent::new(at, blocks);
                    let lba = |place: Pba| chunk.start.plus(u64::from(host) + place.since(at));
                    found.extend(places.range(at..run.end()).map(|place| (lba(*place), *place)));
                }
            }
            next += u64::from(chunk.blocks);
        }
        Some(found)
    }
}
