//! Where the host's blocks are written, and what is in the way.

use super::DmZoned;
use super::chunks::Role;
use super::config::InUse;
use super::records::owner;
use super::zones::ZoneKind;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};

/// Why a write cannot be planned now.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// It is reclaim's turn.
    Turn,
    /// The chunk is being reclaimed.
    Reclaimed,
    /// No conventional zone is free.
    NoZone,
    /// The zone takes no writes.
    BadZone,
}

impl DmZoned {
    /// The role of the zone that a write of the block goes to.
    pub(super) fn target(&self, chunk: u32, offset: u32) -> Role {
        match self.chunks.zone(chunk, Role::Data) {
            Some(data) if !self.pool.is_conventional(data) => {
                let at_pointer = self.pool.pointer(data) == offset && self.pool.is_usable(data);
                if at_pointer { Role::Data } else { Role::Buffer }
            }
            _ => Role::Data,
        }
    }

    /// What keeps a write of the block from being planned, if anything does.
    pub(super) fn obstacle(&self, chunk: u32, offset: u32) -> Option<Obstacle> {
        if self.is_due() {
            return Some(Obstacle::Turn);
        }
        if self.config.in_use == InUse::Wait && self.job.as_ref().is_some_and(|job| job.chunk == chunk) {
            return Some(Obstacle::Reclaimed);
        }
        match self.chunks.zone(chunk, self.target(chunk, offset)) {
            Some(zone) if self.pool.is_usable(zone) => None,
            Some(_) => Some(Obstacle::BadZone),
            None if self.pool.has_free(ZoneKind::Conventional) => None,
            None => Some(Obstacle::NoZone),
        }
    }

    /// The zone for a write, which the chunk is given if it has none.
    pub(super) fn zone_for(&mut self, chunk: u32, role: Role, plan: &mut Plan) -> Option<u32> {
        if let Some(zone) = self.chunks.zone(chunk, role) {
            return Some(zone);
        }
        self.reclaiming |= self.is_low(self.config.reclaim_low);
        let zone = self.pool.take(ZoneKind::Conventional)?;
        self.change(Record::Unit { unit: self.pool.unit(zone), is: owner(chunk, role) }, plan);
        Some(zone)
    }

    /// Plans the host's blocks in a zone of their chunk, and what is valid where from then on.
    pub(super) fn put(&mut self, run: Extent<Lba>, role: Role, zone: u32, offset: u32, plan: &mut Plan) {
        let to = self.pool.block(zone, offset);
        plan.copy(Place::Host(0), Place::At(to), run.blocks, Why::Host);
        let hits = self.chunks.count_valid(run, role);
        if self.pool.is_conventional(zone) {
            plan.count(Event::WriteHit, hits);
        } else {
            self.pool.advance(zone, run.blocks);
            plan.count(Event::Direct, run.blocks);
        }
        if hits < run.blocks {
            self.change(Record::Map { at: run, to }, plan);
        }
    }
}
