//! `zone-ages`: a log with holes before shingled zones; the zone leaves whose blocks have been left alone longest, summed
//! up.
//!
//! # Which zone leaves
//! A rewrite costs the same whatever it takes out. It is worth the room that it gives, for as long as the zone would not
//! be rewritten otherwise. How long that is nobody knows; that the zone has been quiet for some time says that it will be
//! for about as long again. So a zone weighs the square of its blocks times the root of their mean age times the time
//! since the last of them came, and the heaviest one leaves. A zone that is being filled is young, and waits until it is
//! full or left; one that is written again and again stays; one that was left leaves, and the sooner the more it holds.
//! See `parts/unit_ages.rs`.
//!
//! # Where blocks lie
//! Every write takes the next free slots behind the last ones that were taken, also if the block is buffered already: the
//! disk writes in one direction, and waits for no slot to come round. Only when free slots are scarce is a buffered block
//! updated in its slot. See `ring`.
//!
//! # Idle time
//! It keeps a part of the slots free. The less of that is there, the shorter are the gaps that are used. See `ahead`.
//!
//! # State
//! - durable: that of every zone buffer (`zone_buffer/`);
//! - soft: when blocks were last written, and where the next ones go. After a crash all blocks count as written at once.
//!
//! # Invariants
//! - those of every zone buffer;
//! - the sums of a zone are those of its live slots; the free set holds exactly the free ones.

mod ahead;
mod ring;

use crate::parts::buffered_blocks::Slots;
use crate::parts::slot_table::SlotTable;
use crate::parts::unit_ages::UnitAges;
use crate::zone_buffer::config::BufferConfig;
use crate::zone_buffer::{Goal, Policy, Takes, ZoneBuffer};
use crate::{ConfigError, Family, LayerInfo};
use ahead::Ahead;
use imbrex_core::block::{Extent, Lba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::layer::{Step, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;
use ring::Ring;

#[cfg(test)]
mod tests;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "zone-ages",
    family: Some(Family::Shingled),
    source: "this project",
    summary: "A log with holes; the zone leaves whose blocks have been left alone longest, summed up.",
    recording: Recording::Zoned,
    buffered: true,
    fields: ZoneAgesConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

#[derive(Debug, Configuration)]
struct ZoneAgesConfig {
    #[field(flatten, without(clean_for, at_pointer, idle_free))]
    buffer: BufferConfig,
}

fn build(space: &Space, config: &toml::Table) -> Result<ZoneBuffer<ZoneAgesPolicy>, ConfigError> {
    let ZoneAgesConfig { buffer } = INFO.read(config)?;
    ZoneBuffer::new(&INFO, space, buffer, |slots, zones| ZoneAgesPolicy {
        table: SlotTable::new(slots),
        ring: Ring::new(slots),
        ages: UnitAges::new(slots, zones.most_natives(), zones.zone_blocks()),
        ahead: Ahead::new(slots, zones.zone_blocks()),
        most_collected: slots.min(zones.zone_blocks()),
        to_collect: Vec::new(),
    })
}

struct ZoneAgesPolicy {
    table: SlotTable,
    ring: Ring,
    ages: UnitAges,
    ahead: Ahead,
    /// The most blocks of a zone that are collected.
    most_collected: u32,
    /// Slots of the zone under eviction that are still to be read, highest first.
    to_collect: Vec<u32>,
}

/// The part of the slots below which free ones are scarce, and buffered blocks are updated in their slots.
const SCARCE_PART: u32 = 64;
/// The part of the blocks of a step that are read from slots at a time, which takes longer for each.
const READS_OF_STEP: u32 = 32;

impl ZoneAgesPolicy {
    /// Slots that are free or about to be.
    fn free(&self) -> u32 {
        self.ring.count() + self.table.pending()
    }
}

/// The live slots and their blocks.
fn owners(table: &SlotTable) -> impl Iterator<Item = (u32, Lba)> + '_ {
    (0..table.slots()).filter_map(|slot| Some((slot, table.owner(slot)?)))
}

impl ZoneBuffer<ZoneAgesPolicy> {
    /// Plans that blocks from the front of `rest` that are not direct take free slots, and adds those that were buffered
    /// already to `hits`. Says how many it planned.
    fn append(&mut self, rest: Extent<Lba>, host: u32, hits: &mut u32, plan: &mut Plan) -> u32 {
        let run = self.indirect(rest);
        // What is given up is free when the journal says so. The last slots are for blocks that have none.
        let is_scarce = self.policy.ring.count() < self.policy.table.slots() / SCARCE_PART;
        if is_scarce && self.update_front(run, host, hits, plan) > 0 {
            return 1;
        }
        let Some((slot, taken)) = self.policy.take(run) else { return self.update_front(run, host, hits, plan) };
        let (at, to) = (run.first(taken), self.slot_place(slot));
        self.blocks.note_given_up(at);
        *hits += self.blocks.given_up.len() as u32;
        plan.copy(Place::Host(host), Place::At(to), taken, Why::Host);
        plan.record(Record::Map { at, to });
        self.map_run(at, slot);
        self.outdate_copies(at);
        self.blocks.free_given_up(plan);
        taken
    }

    /// Plans that the block at the front of `run` is updated in its slot, if it has one.
    fn update_front(&mut self, run: Extent<Lba>, host: u32, hits: &mut u32, plan: &mut Plan) -> u32 {
        let Some((_, slot)) = self.blocks.map.first(run).filter(|(lba, _)| *lba == run.start) else { return 0 };
        plan.copy(Place::Host(host), Place::At(self.slot_place(slot)), 1, Why::Host);
        self.policy.ages.renew(slot, run.start);
        self.outdate_copies(run.first(1));
        *hits += 1;
        1
    }

    /// One step towards more room: the zone that weighs most leaves. Its blocks are read in the order of their slots,
    /// which takes one pass over the buffer, and not a wait for each.
    fn evict_oldest(&mut self, plan: &mut Plan) -> Step {
        if self.collecting().is_none() {
            let Some(native) = self.policy.ages.heaviest() else { return Step::Wait };
            let slots = self.blocks.map.range(self.zones.blocks_of(native)).map(|(_, slot)| slot);
            self.policy.to_collect.clear();
            self.policy.to_collect.extend(slots);
            self.policy.to_collect.sort_unstable_by(|a, b| b.cmp(a));
            self.begin_collecting(native);
        }
        self.collect_step(plan)
    }

    fn collect_step(&mut self, plan: &mut Plan) -> Step {
        let Some(native) = self.collecting() else { return Step::Nothing };
        let most = (self.step.blocks() / READS_OF_STEP).max(1);
        let mut read = 0;
        while read < most {
            let Some(slot) = self.policy.to_collect.pop() else {
                return if read > 0 { self.between_steps() } else { self.write_collected(plan) };
            };
            // A block that was written meanwhile lies elsewhere and stays.
            let Some(lba) = self.policy.table.owner(slot) else { continue };
            let (zone, offset) = self.zones.native_of(lba);
            if zone == native && !self.is_collected(offset) {
                self.collect(offset, slot, plan);
                read += 1;
            }
        }
        self.between_steps()
    }
}

impl Slots for ZoneAgesPolicy {
    fn table(&self) -> &SlotTable {
        &self.table
    }

    fn hold(&mut self, slot: u32, lba: Lba) {
        self.ring.remove(slot);
        if let Some(owner) = self.table.owner(slot) {
            self.ages.remove(slot, owner);
        }
        self.table.hold(slot, lba);
        self.ages.add(slot, lba);
    }

    fn give_up(&mut self, slot: u32) {
        if let Some(owner) = self.table.owner(slot) {
            self.ages.remove(slot, owner);
        }
        self.table.give_up(slot);
    }

    fn freed(&mut self, slot: u32) {
        if self.table.freed(slot) {
            self.ring.insert(slot);
        }
    }
}

impl Policy for ZoneAgesPolicy {
    fn memory(&self) -> Memory {
        let collecting = Memory::growing::<u32>(self.most_collected.into());
        self.table.memory() + self.ring.memory() + self.ages.memory() + collecting
    }

    fn recovered(&mut self) {
        self.table.recovered();
        self.to_collect.clear();
        for slot in (0..self.table.slots()).filter(|slot| self.table.is_free(*slot)) {
            self.ring.insert(slot);
        }
    }

    fn check(&self) -> Result<(), Violation> {
        self.table.check()?;
        self.ages.check(owners(&self.table))?;
        let slots = self.table.slots();
        if let Some(slot) = (0..slots).find(|slot| self.table.is_free(*slot) != self.ring.contains(*slot)) {
            return Err(Violation(format!("slot {slot} is free or not, and listed otherwise")));
        }
        Ok(())
    }

    fn write(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (mut done, mut hits) = (0, 0);
        while done < at.blocks {
            let rest = at.skip(done);
            let planned = match buffer.write_direct(rest, done, plan) {
                0 => buffer.append(rest, done, &mut hits, plan),
                direct => direct,
            };
            if planned == 0 {
                break;
            }
            done += planned;
        }
        let Self { ages, table, .. } = &mut buffer.policy;
        ages.passed(done, || owners(table));
        plan.count(Event::WriteHit, hits);
        done
    }

    fn make_room(buffer: &mut ZoneBuffer<Self>, _at: Extent<Lba>, _waiting: &[Request], plan: &mut Plan) -> Step {
        if buffer.policy.ring.count() > 0 {
            return Step::Done;
        }
        if buffer.policy.table.pending() > 0 { Step::Wait } else { buffer.evict_oldest(plan) }
    }

    fn clean_ahead(buffer: &mut ZoneBuffer<Self>, goal: Goal, plan: &mut Plan) -> Step {
        if buffer.collecting().is_some() {
            return buffer.collect_step(plan);
        }
        let policy = &buffer.policy;
        let is_reached = match goal {
            Goal::Idle => policy.free() >= policy.ahead.reserve(),
            Goal::Room(_) | Goal::All => buffer.is_reached(goal),
        };
        if is_reached || policy.table.live() == 0 {
            return Step::Nothing;
        }
        buffer.evict_oldest(plan)
    }

    fn most_collected(&self) -> u32 {
        self.most_collected
    }

    fn idle_after_ns(&self) -> u64 {
        self.ahead.wait_ns(self.free())
    }

    fn idle_blocks(&self) -> u32 {
        self.ahead.step(self.free())
    }

    fn room(&self) -> Option<u32> {
        Some(self.ring.count() + self.table.pending())
    }
}

impl Takes for ZoneAgesPolicy {
    fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let (first, taken) = self.ring.take(run.blocks)?;
        for slot in first..first + taken {
            self.ring.remove(slot);
        }
        Some((first, taken))
    }
}
