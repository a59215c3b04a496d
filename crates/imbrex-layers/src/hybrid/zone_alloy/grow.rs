//! The elastic space: what is free is given first, and then conventional zones are converted, from the inner edge
//! outwards.
//!
//! A realm is converted in three moves. Its two zones move to sequential zones that are empty, each for itself; when
//! the records that say so are durable the sequential span is activated, which destroys nothing that anybody needs; and
//! when that has taken effect there is one empty zone more than before, which becomes a native zone at the end of the
//! space. A realm's worth of empty sequential zones is kept all the time for this: the paper's spare copy of the first
//! two zones (§3.2), which here never moves back.

use std::ops::Range;

use super::ZoneAlloy;
use super::relocate::Relocation;
use crate::zone_buffer::Policy;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::{CannotGrow, Condition, Growth, Step, UnitReport, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Plan, Record};
use imbrex_core::space::Realms;

/// The key of the note that says how many native zones there are to be.
const WANTED: u32 = 0;

/// The elastic space, and how far its growth has come.
#[derive(Clone, Debug)]
pub(super) struct Elastic {
    /// How many native zones there are to be.
    wanted: u32,
    /// How many there were to be at first.
    at_first: u32,
    /// How many realms, the innermost ones, are sequential at first.
    sequential_at_first: u32,
    realms: Vec<Realm>,
}

/// What a realm is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Realm {
    Conventional,
    /// Conventional, and a zone of it is read-only or offline, so that the drive refuses to activate the other span.
    Stuck,
    /// Its activation has been planned and has not taken effect.
    Activating,
    Sequential,
}

impl Elastic {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::of::<Realm>(self.realms.len() as u64)
    }

    pub fn new(natives: u32, realms: u32, sequential: u32) -> Self {
        let realms = (0..realms).map(|realm| match realm < realms - sequential {
            true => Realm::Conventional,
            false => Realm::Sequential,
        });
        Self { wanted: natives, at_first: natives, sequential_at_first: sequential, realms: realms.collect() }
    }

    fn are(&self, is: Realm) -> u32 {
        self.realms.iter().filter(|realm| **realm == is).count() as u32
    }

    /// Applies the note that says how many zones are wanted; says whether it is that.
    pub fn apply(&mut self, key: u32, value: u64, most: u32) -> bool {
        let wanted = u32::try_from(value).ok().filter(|wanted| key == WANTED && *wanted <= most);
        self.wanted = wanted.unwrap_or(self.wanted);
        wanted.is_some()
    }

    /// Restates it.
    pub fn checkpoint(&self, plan: &mut Plan) {
        if self.wanted != self.at_first {
            plan.record(Record::Note { key: WANTED, value: self.wanted.into() });
        }
    }
}

/// The most native zones when `sequential` realms are sequential: all that are active but one realm's worth.
pub(super) const fn natives_with(realms: &Realms, sequential: u32) -> u32 {
    (realms.count - sequential) * realms.conventional_zones + (sequential - 1) * realms.sequential_zones
}

impl<P: Policy> ZoneAlloy<P> {
    /// Begins to add `blocks` blocks to the space.
    pub(super) fn begin_growth(&mut self, blocks: u64, plan: &mut Plan) -> Result<(), CannotGrow> {
        let zone_blocks = u64::from(self.buffer.zones.zone_blocks());
        let natives = self.elastic.wanted;
        let left = self.most_natives().saturating_sub(natives);
        let more = u32::try_from(blocks.div_ceil(zone_blocks)).ok().filter(|more| *more <= left);
        let Some(more) = more else {
            let until = "all realms are sequential that can be";
            return Err(CannotGrow::TooMuch { most: u64::from(left) * zone_blocks, until });
        };
        if more == 0 {
            return Ok(());
        }
        self.elastic.wanted = natives + more;
        plan.record(Record::Note { key: WANTED, value: self.elastic.wanted.into() });
        self.give_what_is_free(plan);
        self.put_apart();
        Ok(())
    }

    /// The most native zones there can be: with all realms sequential but for those that cannot be.
    fn most_natives(&self) -> u32 {
        natives_with(&self.realms, self.realms.count - self.elastic.are(Realm::Stuck))
    }

    /// Whether there are to be more native zones than there are.
    pub(super) fn is_growing(&self) -> bool {
        self.buffer.zones.natives() < self.elastic.wanted
    }

    /// What is left of the growth: zones that have to move before there is space enough.
    pub(super) fn growth_left(&self) -> Option<Growth> {
        self.is_growing().then(|| {
            let zones = &self.buffer.zones;
            let capacity = u64::from(self.elastic.wanted) * u64::from(zones.zone_blocks());
            let Realms { conventional_zones, sequential_zones, .. } = self.realms;
            let free = zones.spares().saturating_sub(sequential_zones);
            let to_come = (self.elastic.wanted - zones.natives()).saturating_sub(free);
            let begun = self.next_realm().map_or(0, |realm| self.moved_of(realm));
            let coming = self.elastic.are(Realm::Activating);
            let to_convert = to_come.div_ceil(sequential_zones - conventional_zones).saturating_sub(coming);
            let zones_left = (to_convert * conventional_zones).saturating_sub(begun);
            Growth { capacity, zones_left, bound_ns: self.bound_ns }
        })
    }

    /// Adds native zones as long as more are wanted and there is space for them: conventional zones that have not been
    /// used yet, in order, and then empty sequential ones beyond those that are kept.
    fn give_what_is_free(&mut self, plan: &mut Plan) {
        if !self.is_growing() {
            return;
        }
        let kept = self.realms.sequential_zones;
        while self.is_growing() {
            let zones = &mut self.buffer.zones;
            let native = zones.natives();
            let place = if zones.next_is_conventional() {
                Some(native)
            } else if zones.spares() > kept {
                zones.take_spare()
            } else {
                None
            };
            let Some(place) = place else { return };
            zones.put(native, place, plan);
        }
        // Candidates are swapped again.
        self.put_apart();
    }

    /// The realm to be converted next: the innermost one that is conventional.
    fn next_realm(&self) -> Option<u32> {
        self.elastic.realms.iter().rposition(|realm| *realm == Realm::Conventional).map(|realm| realm as u32)
    }

    /// How many conventional zones of a realm lie there no more.
    fn moved_of(&self, realm: u32) -> u32 {
        let zones = &self.buffer.zones;
        self.realms.conventional_of(realm).filter(|zone| zones.owner(*zone).is_none()).count() as u32
    }

    /// Plans the next quantum of the conversion under way.
    pub(super) fn convert(&mut self, plan: &mut Plan) -> Step {
        self.give_what_is_free(plan);
        if !plan.is_empty() {
            return self.between_quanta();
        }
        if self.relocation.is_none()
            && let Err(step) = self.next_to_convert(plan)
        {
            return step;
        }
        let is_conversion = self.relocation.as_ref().is_some_and(|moving| !moving.for_swap);
        if self.relocate(self.step.blocks(), plan) {
            plan.count(Event::Converted, u32::from(is_conversion));
        }
        self.between_quanta()
    }

    /// Begins to move the next zone that is in the way of a conversion; or says what there is to do instead.
    fn next_to_convert(&mut self, plan: &mut Plan) -> Result<(), Step> {
        if self.elastic.are(Realm::Activating) > 0 {
            return Err(Step::Wait);
        }
        let realm = self.next_realm().ok_or(Step::Nothing)?;
        let zones = &self.buffer.zones;
        let span = self.realms.conventional_of(realm);
        if self.buffer.written_zone().is_some_and(|zone| span.contains(&zone)) {
            return Err(Step::Wait);
        }
        let Some(native) = span.rev().find_map(|zone| zones.owner(zone)) else {
            if !self.return_head(plan) {
                self.activate(realm, plan);
            }
            return Err(self.between_quanta());
        };
        if self.buffer.evicted() == Some(native) {
            return Err(Step::Wait);
        }
        let target = self.buffer.zones.take_spare().ok_or(Step::Wait)?;
        self.begin_relocation(Relocation::new(native, target, false));
        Ok(())
    }

    pub(super) fn begin_relocation(&mut self, moving: Relocation) {
        self.buffer.apart.insert(moving.native);
        self.relocation = Some(moving);
    }

    /// Plans the activation of a realm whose conventional zones hold nothing that is needed.
    fn activate(&mut self, realm: u32, plan: &mut Plan) {
        self.buffer.zones.activate(self.realms.conventional_of(realm), self.realms.sequential_of(realm));
        self.elastic.realms[realm as usize] = Realm::Activating;
        plan.reset(self.realms.to_sequential(realm));
    }

    /// What took effect may have been an activation; says whether it was.
    pub(super) fn activated(&mut self, space: Extent<Pba>) -> bool {
        // Most of what takes effect is a slot.
        if space.blocks < self.realms.sequential_zones * self.realms.zone_blocks {
            return false;
        }
        let is = |realm: u32| {
            self.elastic.realms[realm as usize] == Realm::Activating && self.realms.sequential(realm) == space
        };
        let Some(realm) = (0..self.realms.count).find(|realm| is(*realm)) else { return false };
        self.elastic.realms[realm as usize] = Realm::Sequential;
        self.buffer.zones.activated(self.realms.sequential_of(realm));
        true
    }

    /// Whether the conventional span of a realm is active.
    pub(super) fn is_conventional_now(&self, realm: u32) -> bool {
        matches!(self.elastic.realms[realm as usize], Realm::Conventional | Realm::Stuck)
    }

    /// Begins again with what the drive says of its realms: activates those that are to be sequential from the first.
    /// A conversion that was lost is made again when its turn comes.
    pub(super) fn begin_again(&mut self, units: &UnitReport, plan: &mut Plan) {
        self.relocation = None;
        for realm in 0..self.realms.count {
            self.elastic.realms[realm as usize] = self.reported(realm, units);
        }
        for realm in self.realms.count - self.elastic.sequential_at_first..self.realms.count {
            if self.elastic.realms[realm as usize] == Realm::Conventional {
                self.activate(realm, plan);
            }
        }
    }

    /// What the drive says that a realm is. If it says of no zone which span is active, because all have failed, what
    /// lies there does.
    fn reported(&self, realm: u32, units: &UnitReport) -> Realm {
        let of = |span: Range<u32>| {
            let zones = self.realms.zones();
            span.filter_map(move |zone| units.unit(zones.unit(zone))).map(|state| state.condition)
        };
        let (conventional, sequential) = (self.realms.conventional_of(realm), self.realms.sequential_of(realm));
        let is_bad = |condition: Condition| matches!(condition, Condition::ReadOnly | Condition::Offline);
        let all = || of(conventional.clone()).chain(of(sequential.clone()));
        let is_sequential = if all().all(is_bad) {
            sequential.clone().any(|zone| self.buffer.zones.owner(zone).is_some())
        } else {
            of(conventional.clone()).any(|is| is == Condition::Inactive)
                || of(sequential.clone()).any(|is| is == Condition::Sequential)
        };
        match is_sequential {
            true => Realm::Sequential,
            false if all().any(is_bad) => Realm::Stuck,
            false => Realm::Conventional,
        }
    }

    /// Verifies that native zones lie in active zones, and that what is kept is there or on its way. A stuck realm may
    /// have been meant to be sequential: native zones that were never written lie there, and it is not known what it
    /// counts for.
    pub(super) fn check_realms(&self) -> Result<(), Violation> {
        let zones = &self.buffer.zones;
        for realm in 0..self.realms.count {
            let is = self.elastic.realms[realm as usize];
            let inactive = match is {
                Realm::Conventional | Realm::Stuck => self.realms.sequential_of(realm),
                Realm::Activating | Realm::Sequential => self.realms.conventional_of(realm),
            };
            let is_wrong = |zone: &u32| is != Realm::Stuck || zones.pointer(*zone) > 0;
            let mut lying = inactive.filter(is_wrong).filter_map(|zone| Some((zone, zones.owner(zone)?)));
            if let Some((zone, native)) = lying.next() {
                return Err(Violation(format!("native zone {native} lies in zone {zone}, which is inactive")));
            }
        }
        let sequential = self.realms.count - self.elastic.are(Realm::Conventional);
        if zones.natives() > natives_with(&self.realms, sequential) {
            return Err(Violation(format!("{} native zones leave no realm's worth of empty ones", zones.natives())));
        }
        Ok(())
    }
}
