//! Where the head is, as far as an activation asks.
//!
//! The head stays where it is during an activation. Who comes meanwhile waits for the end and is then positioned from
//! there. If that is where the last request left the head, it is all the same but for whole turns; from where the last
//! quantum left it the way may be as long as any, and an activation and such a way may be longer than the bound. So a
//! block is read there first: a quantum of its own, of the length of a way.

use super::ZoneAlloy;
use super::quantum::Quantum;
use crate::zone_buffer::Policy;
use imbrex_core::block::{Address, Pba};
use imbrex_core::plan::{Op, Place, Plan, Why};

/// Where requests leave the head, and whether it is there.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Head {
    /// The last block on the disk that a request read or wrote.
    last: Option<Pba>,
    /// Whether something else has been done since.
    is_away: bool,
}

impl Head {
    /// A request is served by this plan.
    pub fn follow(&mut self, plan: &Plan) {
        let place = |op: &Op| match *op {
            Op::Move { from: Place::At(from), to: Place::Host(_), blocks, .. } => Some((from, blocks)),
            Op::Move { from: Place::Host(_), to: Place::At(to), blocks, .. } => Some((to, blocks)),
            _ => None,
        };
        let on_disk = |(first, _): &(Pba, u32)| first.device() == Pba::DISK;
        if let Some((first, blocks)) = plan.ops().iter().rev().filter_map(place).find(on_disk) {
            *self = Self { last: Some(first.plus(u64::from(blocks) - 1)), is_away: false };
        }
    }

    /// Something else is done.
    pub fn leave(&mut self) {
        self.is_away = true;
    }
}

impl<P: Policy> ZoneAlloy<P> {
    /// Plans that the head goes back to where the last request left it, unless it is there or no bound is to be kept;
    /// says whether it does. Where that can be read no more, whatever lies there has moved.
    pub(super) fn return_head(&mut self, plan: &mut Plan) -> bool {
        if self.quantum == Quantum::Whole || !self.head.is_away {
            return false;
        }
        let Some(last) = self.head.last.filter(|place| self.is_readable(*place)) else { return false };
        plan.copy(Place::At(last), Place::At(self.ram(0)), 1, Why::Migrate);
        self.head.is_away = false;
        true
    }

    /// Whether a block can be read now: outside of the realms, in an active conventional zone, or below the pointer of
    /// a sequential zone that is in use.
    fn is_readable(&self, place: Pba) -> bool {
        let Some((zone, offset)) = self.realms.zones().locate(place) else { return true };
        let zones = &self.buffer.zones;
        match zones.is_conventional(zone) {
            true => self.is_conventional_now(self.realms.realm_of(zone)),
            false => zones.owner(zone).is_some() && offset < zones.pointer(zone),
        }
    }
}
