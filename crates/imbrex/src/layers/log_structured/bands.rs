//! The bands: how far each is written, how many of its blocks are live, what may be done with it, and which is compacted next.

use super::config::Score;
use crate::block::{Extent, Lba, Pba, unit_and_offset};
use crate::layer::{Condition, Corrupt, UnitReport, Violation};
use crate::parts::bitmap::Bitmap;
use crate::parts::paged_map::{NONE, PagedMap};
use crate::parts::recency::RecencyList;
use crate::parts::victim_index::VictimIndex;
use crate::plan::{Plan, Unit};
use crate::space::Zones;

/// What may be done with a band. Soft: after a crash it follows from the map and the drive's report.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing is written.
    Empty,
    /// Written at its pointer: the active band, or compaction's target.
    Open,
    /// Written no more: a candidate for compaction.
    Closed,
    /// Being compacted.
    Leaving,
    /// Its reset has not taken effect.
    Emptying,
    /// The drive takes no writes and no reset.
    Bad,
}

/// What a band is to the compaction under way. Durable: a fold must tell copies from blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The blocks the map puts there.
    Data,
    /// Its blocks are being copied; they move when a copying band becomes data.
    Victim,
    /// It holds copies that count only when it becomes data.
    Copying,
}

#[derive(Copy, Clone, Debug)]
struct Band {
    live: u32,
    written: u32,
    state: State,
    role: Role,
    /// When the host last wrote a block of it, in blocks written by the host.
    youngest: u64,
}

/// The closed bands in the order in which they are compacted.
#[derive(Clone)]
enum Candidates {
    /// By when they were closed.
    Fifo(RecencyList),
    /// By live blocks.
    Greedy(VictimIndex),
    /// All are looked at for each choice.
    CostBenefit,
}

pub(super) struct Bands {
    zones: Zones,
    bands: Vec<Band>,
    empty: Bitmap,
    empties: u32,
    emptying: u32,
    candidates: Candidates,
    /// Slot → logical block, of every slot written since the band was empty; not told when the block moves on.
    holders: PagedMap,
    /// Bands by role, in the order in which they took it.
    pub copying: Vec<u32>,
    pub victims: Vec<u32>,
    /// Blocks the host has written.
    pub clock: u64,
}

impl Bands {
    /// All empty; at most `roles` bands are victims or copying.
    pub fn new(zones: Zones, score: Score, roles: usize) -> Self {
        let count = zones.count;
        let mut empty = Bitmap::new(u64::from(count));
        (0..u64::from(count)).for_each(|band| {
            empty.insert(band);
        });
        let candidates = match score {
            Score::Fifo => Candidates::Fifo(RecencyList::new(count)),
            Score::Greedy => Candidates::Greedy(VictimIndex::new(count, zones.zone_blocks)),
            Score::CostBenefit => Candidates::CostBenefit,
        };
        let band = Band { live: 0, written: 0, state: State::Empty, role: Role::Data, youngest: 0 };
        Self {
            zones,
            bands: vec![band; count as usize],
            empty,
            empties: count,
            emptying: 0,
            candidates,
            holders: PagedMap::new(u64::from(count) * u64::from(zones.zone_blocks)),
            copying: Vec::with_capacity(roles),
            victims: Vec::with_capacity(roles),
            clock: 0,
        }
    }

    pub fn count(&self) -> u32 {
        self.zones.count
    }

    /// Blocks of a band.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.zones.zone_blocks
    }

    pub fn unit(&self, band: u32) -> Unit {
        self.zones.unit(band)
    }

    pub fn band_of(&self, unit: Unit) -> Option<u32> {
        self.zones.index(unit)
    }

    /// The band of a slot, and the slot's offset in it.
    #[inline]
    pub fn locate(&self, slot: u64) -> (u32, u32) {
        unit_and_offset(slot, self.zones.zone_blocks)
    }

    /// The first slot of a band.
    #[inline]
    pub fn first_slot(&self, band: u32) -> u64 {
        u64::from(band) * u64::from(self.zones.zone_blocks)
    }

    /// The physical block of a slot. Bands follow each other, and so do their blocks.
    #[inline]
    pub fn block(&self, slot: u64) -> Pba {
        use crate::block::Address;
        self.zones.block(0, 0).plus(slot)
    }

    /// The slot of a physical block, if it is on a band.
    pub fn slot_of(&self, block: Pba) -> Option<u64> {
        let (band, offset) = self.zones.locate(block)?;
        Some(self.first_slot(band) + u64::from(offset))
    }

    pub fn live(&self, band: u32) -> u32 {
        self.bands[band as usize].live
    }

    pub fn written(&self, band: u32) -> u32 {
        self.bands[band as usize].written
    }

    pub fn role(&self, band: u32) -> Role {
        self.bands[band as usize].role
    }

    pub fn youngest(&self, band: u32) -> u64 {
        self.bands[band as usize].youngest
    }

    /// A block as young as `when` lies in the band.
    pub fn rejuvenate(&mut self, band: u32, when: u64) {
        let youngest = &mut self.bands[band as usize].youngest;
        *youngest = when.max(*youngest);
    }

    /// The block that was last written into a slot.
    #[inline]
    pub fn holder(&self, slot: u64) -> Option<Lba> {
        Some(self.holders.get(slot)).filter(|&lba| lba != NONE).map(Lba)
    }

    pub fn empties(&self) -> u32 {
        self.empties
    }

    pub fn emptying(&self) -> u32 {
        self.emptying
    }

    /// Opens the empty band of the lowest number.
    pub fn open(&mut self) -> Option<u32> {
        let band = self.empty.next(0, u64::from(self.zones.count))? as u32;
        self.set_state(band, State::Open);
        self.bands[band as usize].youngest = 0;
        Some(band)
    }

    /// The slot at the pointer of an open band, and how many follow.
    #[inline]
    pub fn room(&self, band: u32) -> (u64, u32) {
        let written = self.bands[band as usize].written;
        (self.first_slot(band) + u64::from(written), self.zones.zone_blocks - written)
    }

    /// The slots from `slot` on, of one band, have been written with `at`; whether they count is another matter.
    #[inline]
    pub fn wrote(&mut self, slot: u64, at: Extent<Lba>) {
        let (band, offset) = self.locate(slot);
        let band = &mut self.bands[band as usize];
        band.written = band.written.max(offset + at.blocks);
        if at.blocks == 1 {
            self.holders.set(slot, at.start.0);
        } else {
            self.holders.set_run(slot, at.blocks, at.start.0);
        }
    }

    /// `blocks` slots from `slot` on, of one band, are live now.
    #[inline]
    pub fn lives(&mut self, slot: u64, blocks: u32) {
        let (band, _) = self.locate(slot);
        self.change_live(band, |live| live + blocks);
    }

    /// `blocks` slots from `slot` on are dead now.
    #[inline]
    pub fn died(&mut self, slot: u64, blocks: u32) {
        let mut done = 0;
        while done < blocks {
            let (band, offset) = self.locate(slot + u64::from(done));
            let part = (blocks - done).min(self.zones.zone_blocks - offset);
            self.change_live(band, |live| live - part);
            done += part;
        }
    }

    #[inline]
    fn change_live(&mut self, band: u32, change: impl FnOnce(u32) -> u32) {
        let entry = &mut self.bands[band as usize];
        entry.live = change(entry.live);
        let live = entry.live;
        if entry.state == State::Closed
            && let Candidates::Greedy(index) = &mut self.candidates
        {
            index.change(band, live);
        }
    }

    /// Makes an open band a candidate.
    pub fn close(&mut self, band: u32) {
        self.set_state(band, State::Closed);
    }

    /// Makes a candidate a victim.
    pub fn leave(&mut self, band: u32) {
        self.set_state(band, State::Leaving);
    }

    /// Plans the reset of a band without live blocks.
    pub fn abandon(&mut self, band: u32, plan: &mut Plan) {
        debug_assert!(self.live(band) == 0);
        plan.reset(self.unit(band));
        self.set_state(band, State::Emptying);
    }

    /// A reset has taken effect.
    pub fn freed(&mut self, block: Pba) {
        if let Some((band, 0)) = self.zones.locate(block)
            && self.bands[band as usize].state == State::Emptying
        {
            self.bands[band as usize].written = 0;
            self.set_state(band, State::Empty);
        }
    }

    fn set_state(&mut self, band: u32, is: State) {
        let Band { state: was, live, .. } = self.bands[band as usize];
        self.bands[band as usize].state = is;
        match was {
            State::Empty => {
                self.empty.remove(u64::from(band));
                self.empties -= 1;
            }
            State::Emptying => self.emptying -= 1,
            State::Closed => match &mut self.candidates {
                Candidates::Fifo(list) => list.remove(band),
                Candidates::Greedy(index) => index.remove(band),
                Candidates::CostBenefit => {}
            },
            State::Open | State::Leaving | State::Bad => {}
        }
        match is {
            State::Empty => {
                self.empty.insert(u64::from(band));
                self.empties += 1;
            }
            State::Emptying => self.emptying += 1,
            State::Closed => match &mut self.candidates {
                Candidates::Fifo(list) => list.push(band),
                Candidates::Greedy(index) => index.insert(band, live),
                Candidates::CostBenefit => {}
            },
            State::Open | State::Leaving | State::Bad => {}
        }
    }

    /// The candidate to compact next, if compacting candidates can gain a slot at all.
    pub fn best(&self) -> Option<u32> {
        let full = self.zones.zone_blocks;
        match &self.candidates {
            // The oldest may have no dead slot, but then another must.
            Candidates::Fifo(list) => {
                let oldest = list.oldest()?;
                let gains = |band| self.live(band) < full;
                (gains(oldest) || list.in_order().any(gains)).then_some(oldest)
            }
            Candidates::Greedy(index) => index.lowest().filter(|&band| self.live(band) < full),
            Candidates::CostBenefit => {
                let closed = (0..self.zones.count).filter(|&band| self.bands[band as usize].state == State::Closed);
                let gains = closed.filter(|&band| self.live(band) < full);
                // The last of equals is taken, so the lowest number of them comes last.
                gains.rev().max_by(|&a, &b| self.benefit_per_cost(a).total_cmp(&self.benefit_per_cost(b)))
            }
        }
    }

    /// (1 − u)·age / (1 + u), with the share u of live blocks.
    fn benefit_per_cost(&self, band: u32) -> f64 {
        let (live, full) = (f64::from(self.live(band)), f64::from(self.zones.zone_blocks));
        let age = (self.clock - self.youngest(band)) as f64;
        (full - live) * (1.0 + age) / (full + live)
    }

    /// The effect of a change of role; nothing is adopted here.
    pub fn set_role(&mut self, band: u32, role: Role) {
        self.copying.retain(|&other| other != band);
        self.victims.retain(|&other| other != band);
        self.bands[band as usize].role = role;
        match role {
            Role::Data => {}
            Role::Victim => self.victims.push(band),
            Role::Copying => {
                self.copying.push(band);
                self.bands[band as usize].written = 0;
                self.holders.set_run(self.first_slot(band), self.zones.zone_blocks, NONE);
            }
        }
    }

    /// Takes over what the drive reports, plans the reset of bands without live blocks, and returns the band to go on with:
    /// of those begun, the one with the most room.
    pub fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<Option<u32>, Corrupt> {
        let mut begun: Option<u32> = None;
        for band in 0..self.zones.count {
            let unit = self.zones.unit(band);
            let report = units.unit(unit).ok_or_else(|| Corrupt(format!("the drive does not report {unit:?}")))?;
            let live = self.live(band);
            self.bands[band as usize].written = report.pointer;
            if report.condition != Condition::Sequential {
                self.set_state(band, State::Bad);
            } else if live == 0 && report.pointer == 0 {
                self.set_state(band, State::Empty);
            } else if live == 0 {
                self.abandon(band, plan);
            } else {
                self.set_state(band, State::Closed);
                let has_more_room = begun.is_none_or(|begun| report.pointer < self.written(begun));
                if report.pointer < self.zones.zone_blocks && has_more_room {
                    begun = Some(band);
                }
            }
        }
        if let Some(band) = begun {
            self.set_state(band, State::Open);
        }
        Ok(begun)
    }

    /// Verifies what the bands know without the map.
    pub fn check(&self) -> Result<(), Violation> {
        let states = |wanted| self.bands.iter().filter(|band| band.state == wanted).count() as u32;
        let (empties, emptying) = (states(State::Empty), states(State::Emptying));
        if (empties, emptying) != (self.empties, self.emptying) {
            let counted = (self.empties, self.emptying);
            return Err(Violation(format!("{empties} bands are empty and {emptying} emptying, counted {counted:?}")));
        }
        for (number, band) in (0..).zip(&self.bands) {
            let is_candidate = match &self.candidates {
                Candidates::Fifo(list) => list.contains(number),
                Candidates::Greedy(index) => index.live(number) == Some(band.live),
                Candidates::CostBenefit => band.state == State::Closed,
            };
            if is_candidate != (band.state == State::Closed) || band.live > band.written {
                return Err(Violation(format!("band {number} is listed wrongly or too live: {band:?}")));
            }
            if self.empty.contains(u64::from(number)) != (band.state == State::Empty) {
                return Err(Violation(format!("band {number} is empty or not: {band:?}")));
            }
        }
        Ok(())
    }
}
