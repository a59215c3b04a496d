//! Zone-Swap: a sequential zone that takes much of the buffer and a conventional zone that is not written change
//! places.
//!
//! Once in a lap of the log (an epoch) the candidates are listed: sequential zones with more than a share of the buffer,
//! and conventional ones that were not written in the epoch before. When the tail meets a candidate, its partner moves
//! to an empty sequential zone; when that is durable, the candidate is written, with what is buffered of it, into the
//! place that became vacant. Two zones are read and two written, as in the paper, and each datum is always whole
//! somewhere.

use std::collections::BTreeSet;

use super::ZoneAlloy;
use super::counters;
use super::relocate::Relocation;
use crate::zone_buffer::Policy;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::config::Configuration;
use imbrex_core::layer::Step;
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Partner {
    Oldest,
    Nearest,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FirstEpoch {
    /// What was written before the log took its first block is of no epoch.
    Log,
    Disk,
}

/// What Zone-Swap goes by.
#[derive(Copy, Clone, Debug, Configuration)]
pub(super) struct SwapConfig {
    /// whether zones are swapped; with the policy loop-back only
    #[field(default = true, samples = [true, false])]
    pub swap: bool,
    /// share of the buffer above which a zone is a candidate
    #[field(default = 0.1, samples = [0.1, 0.0, 0.5])]
    pub swap_above: f64,
    /// "oldest" or "nearest": which idle conventional zone it changes places with
    #[field(default = "oldest", samples = ["oldest", "nearest"])]
    pub partner: Partner,
    /// a zone read more than written in an epoch is no candidate
    #[field(default = false, samples = [false, true])]
    pub veto_reads: bool,
    /// "log" or "disk": what the first epoch begins with, the first block in the buffer or the first write of all
    #[field(default = "log", samples = ["log", "disk"])]
    pub first_epoch: FirstEpoch,
    /// whether a conventional zone stays listed when it is written again before its turn
    #[field(default = false, samples = [false, true])]
    pub keep_partners: bool,
    /// whether a zone that found no partner is a candidate in the epochs after, until it finds one
    #[field(default = false, samples = [false, true])]
    pub keep_candidates: bool,
}

/// The candidates, what they follow from, and the swap under way.
#[derive(Clone, Debug)]
pub(super) struct Swap {
    config: SwapConfig,
    /// The lap of the log that the lists are of.
    lap: u64,
    /// Sequential candidates: native zones.
    candidates: BTreeSet<u32>,
    /// Conventional ones, the one that was written last at the end.
    partners: Vec<u32>,
    /// The candidate whose partner makes room, and the physical zone that the partner leaves.
    pub exchanging: Option<(u32, u32)>,
    /// By native zone, when it was last written, in place or not, in writes of the host so far.
    written: Vec<u64>,
    /// By native zone, blocks read less blocks written in this epoch; kept where reads are a veto.
    reads: Vec<i64>,
    /// Writes of the host so far, and when the epoch began.
    now: u64,
    begun: u64,
    /// Whether the first epoch has begun.
    has_begun: bool,
}

impl Swap {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let natives = self.written.len() as u64;
        let counted = Memory::room::<u64>(natives) + Memory::room::<i64>(self.reads.len() as u64);
        counted + Memory::growing::<u32>(natives) + Memory::tree::<u32>(natives)
    }

    pub fn new(config: SwapConfig, natives: u32) -> Self {
        let reads = if config.veto_reads { natives } else { 0 };
        Self {
            config,
            lap: 0,
            candidates: BTreeSet::new(),
            partners: Vec::new(),
            exchanging: None,
            written: vec![0; natives as usize],
            reads: vec![0; reads as usize],
            now: 0,
            begun: 0,
            has_begun: config.first_epoch == FirstEpoch::Disk,
        }
    }

    /// A new epoch: nothing is known.
    pub fn recovered(&mut self) {
        *self = Self::new(self.config, self.written.len() as u32);
    }

    /// Whether a native zone was not written since the epoch began.
    fn is_idle(&self, native: u32) -> bool {
        self.written[native as usize] <= self.begun
    }

    /// The host has written `blocks` blocks of a native zone.
    pub fn written(&mut self, native: u32, blocks: u32) {
        self.now += 1;
        self.written[native as usize] = self.now;
        if let Some(reads) = self.reads.get_mut(native as usize) {
            *reads -= i64::from(blocks);
        }
    }
}

impl<P: Policy> ZoneAlloy<P> {
    /// The host reads: noted where that is a veto.
    pub(super) fn note_read(&mut self, at: Extent<Lba>) {
        let mut rest = if self.swap.config.veto_reads { at } else { at.first(0) };
        while !rest.is_empty() {
            let (native, offset) = self.buffer.zones.native_of(rest.start);
            let run = rest.first(self.buffer.zones.zone_blocks() - offset);
            self.swap.reads[native as usize] += i64::from(run.blocks);
            rest = rest.skip(run.blocks);
        }
    }

    /// Lists the candidates anew if the log has been gone round.
    pub(super) fn note_epoch(&mut self) {
        if !self.swap.has_begun {
            self.swap.has_begun = self.buffer.policy.table().live() > 0;
            self.swap.begun = if self.swap.has_begun { self.swap.begun } else { self.swap.now };
        }
        let lap = self.buffer.policy.laps();
        if !self.swap.config.swap || lap == self.swap.lap {
            return;
        }
        self.swap.lap = lap;
        let mut candidates = std::mem::take(&mut self.swap.candidates);
        if !self.swap.config.keep_candidates {
            candidates.clear();
        }
        let slots = f64::from(self.buffer.policy.table().slots());
        let is_large = |blocks: u32| f64::from(blocks) / slots > self.swap.config.swap_above;
        candidates.extend(self.buffered_blocks().into_iter().filter(|(_, blocks)| is_large(*blocks)).map(|of| of.0));
        let zones = &self.buffer.zones;
        let is_vetoed = |native: u32| self.swap.reads.get(native as usize).is_some_and(|reads| *reads > 0);
        candidates.retain(|native| !is_vetoed(*native) && !zones.is_conventional(zones.physical(*native)));
        self.swap.candidates = candidates;
        self.swap.partners = self.idle_conventional();
        self.swap.reads.fill(0);
        self.swap.begun = self.swap.now;
        self.put_apart();
    }

    /// The native zones of which blocks are buffered, and how many.
    fn buffered_blocks(&self) -> Vec<(u32, u32)> {
        let table = self.buffer.policy.table();
        let mut counts = vec![0_u32; self.buffer.zones.natives() as usize];
        for slot in 0..table.slots() {
            if let Some(lba) = table.owner(slot) {
                counts[self.buffer.zones.native_of(lba).0 as usize] += 1;
            }
        }
        (0..).zip(counts).filter(|(_, blocks)| *blocks > 0).collect()
    }

    /// The native zones in conventional ones that were not written since the epoch began, the last written at the end.
    fn idle_conventional(&self) -> Vec<u32> {
        let zones = &self.buffer.zones;
        let conventional = (0..self.realms.all_conventional()).filter_map(|zone| zones.owner(zone));
        let mut idle: Vec<u32> = conventional.filter(|native| self.swap.is_idle(*native)).collect();
        idle.sort_by_key(|native| self.swap.written[*native as usize]);
        idle
    }

    /// Makes the buffer leave the candidates alone as long as there is a partner for one.
    pub(super) fn put_apart(&mut self) {
        self.buffer.apart.clear();
        self.buffer.apart.extend(self.relocation.iter().map(|moving| moving.native));
        if !self.swap.partners.is_empty() && !self.is_growing() {
            self.buffer.apart.extend(&self.swap.candidates);
        }
    }

    /// Begins to exchange a zone whose turn to leave the buffer has come: its partner starts to move. Without a partner,
    /// or an empty zone for it, the zone is one like all others for now.
    pub(super) fn begin_swap(&mut self, native: u32, plan: &mut Plan) -> Step {
        // A zone that a swap left vacant lacks among the empty ones until it is taken: a conversion can do without one.
        let has_vacant = self.buffer.zones.has_vacant();
        let partner = if has_vacant { None } else { self.take_partner(native) };
        let target = partner.and_then(|_| self.buffer.zones.take_spare());
        if target.is_some() || !self.swap.config.keep_candidates {
            self.swap.candidates.remove(&native);
        }
        self.put_apart();
        match (partner, target) {
            (Some(partner), Some(target)) => {
                self.swap.exchanging = Some((native, self.buffer.zones.physical(partner)));
                self.begin_relocation(Relocation::new(partner, target, true));
                self.swap_on(plan)
            }
            _ => {
                self.buffer.apart.remove(&native);
                Step::More
            }
        }
    }

    /// Takes the conventional zone to exchange `native` with off the list. One that lies in a conventional zone no more
    /// is listed in vain, and so is one that has been written since if that counts.
    fn take_partner(&mut self, native: u32) -> Option<u32> {
        let zones = &self.buffer.zones;
        let mut partners = std::mem::take(&mut self.swap.partners);
        partners.retain(|partner| {
            let is_partner = self.swap.config.keep_partners || self.swap.is_idle(*partner);
            is_partner && zones.is_conventional(zones.physical(*partner))
        });
        let realm = |native: u32| self.realms.realm_of(zones.physical(native));
        let distance = |partner: &u32| realm(*partner).abs_diff(realm(native));
        let at = match self.swap.config.partner {
            Partner::Oldest => (!partners.is_empty()).then_some(0),
            Partner::Nearest => (0..partners.len()).min_by_key(|i| distance(&partners[*i])),
        };
        let partner = at.map(|at| partners.remove(at));
        self.swap.partners = partners;
        partner
    }

    /// Plans the next step of a swap: of the partner's way, or the first of the candidate's.
    pub(super) fn swap_on(&mut self, plan: &mut Plan) -> Step {
        if self.relocation.is_some() {
            self.relocate(self.buffer.step.blocks(), plan);
            return self.buffer.between_steps();
        }
        let Some((native, place)) = self.swap.exchanging else { unreachable!("a zone is being exchanged") };
        // A conversion may have taken the place meanwhile.
        let is_lost = !self.buffer.zones.is_writable(place);
        if !self.buffer.zones.has_vacant() && !is_lost {
            return Step::Wait;
        }
        self.swap.exchanging = None;
        if !is_lost && !self.is_growing() {
            plan.count(counters::ZONE_SWAP, 1);
            return self.buffer.evict_to_vacant(native, plan);
        }
        if self.is_buffered(native) { self.buffer.evict_native(native, plan) } else { Step::More }
    }

    fn is_buffered(&self, native: u32) -> bool {
        let blocks: Extent<Lba> = self.buffer.zones.blocks_of(native);
        self.buffer.blocks.map.next(blocks.start, blocks.end()).is_some()
    }
}
