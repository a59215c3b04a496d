//! The zones of both kinds: who owns each, where its write pointer is, and which are free, in the order of their use.

use std::collections::VecDeque;

use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::{Condition, Corrupt, Occupancy, UnitReport, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Plan, Unit};
use imbrex_core::space::Zones;

/// No owner, or no zone.
pub(super) const NONE: u32 = u32::MAX;

/// A list of free zones.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum ZoneKind {
    Conventional,
    Sequential,
    /// Sequential, and used only when no other is free.
    Reserved,
}

/// Conventional zones, numbered from 0, and behind them the sequential ones.
pub(super) struct ZonePool {
    /// How many are conventional, and the unit of the first.
    conventional: u32,
    first_conventional: u32,
    sequential: Zones,
    /// By zone: whose it is, as the layer encodes it.
    owner: Vec<u32>,
    pointer: Vec<u32>,
    /// By zone: whether it takes writes.
    usable: Vec<bool>,
    /// The reserved zones.
    reserved: Vec<u32>,
    reserved_wanted: u32,
    free: [VecDeque<u32>; 3],
    is_free: Vec<bool>,
    usable_conventional: u32,
    unowned_conventional: u32,
    unowned_sequential: u32,
}

impl ZonePool {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let zones = u64::from(self.len());
        let listed = self.free.iter().map(VecDeque::capacity).sum::<usize>() + self.reserved.capacity();
        Memory::of::<(u32, u32)>(zones) + Memory::of::<[bool; 2]>(zones) + Memory::room::<u32>(2 * listed as u64)
    }

    pub fn new(first_conventional: u32, conventional: u32, sequential: Zones, reserved_wanted: u32) -> Self {
        let all = (conventional + sequential.count) as usize;
        let queue = |zones: u32| VecDeque::with_capacity(zones as usize);
        Self {
            conventional,
            first_conventional,
            sequential,
            owner: vec![NONE; all],
            pointer: vec![0; all],
            usable: vec![true; all],
            reserved: Vec::with_capacity(reserved_wanted as usize),
            reserved_wanted,
            free: [queue(conventional), queue(sequential.count), queue(sequential.count)],
            is_free: vec![false; all],
            usable_conventional: conventional,
            unowned_conventional: conventional,
            unowned_sequential: sequential.count,
        }
    }

    pub fn len(&self) -> u32 {
        self.owner.len() as u32
    }

    pub fn conventional(&self) -> u32 {
        self.conventional
    }

    pub fn sequential(&self) -> u32 {
        self.sequential.count
    }

    pub fn zone_blocks(&self) -> u32 {
        self.sequential.zone_blocks
    }

    pub fn is_conventional(&self, zone: u32) -> bool {
        zone < self.conventional
    }

    pub fn unit(&self, zone: u32) -> Unit {
        match zone.checked_sub(self.conventional) {
            Some(index) => self.sequential.unit(index),
            None => Unit { device: self.sequential.first.device, index: self.first_conventional + zone },
        }
    }

    /// The zone that `unit` is.
    pub fn find(&self, unit: Unit) -> Option<u32> {
        if let Some(index) = self.sequential.index(unit) {
            return Some(self.conventional + index);
        }
        let index = unit.index.checked_sub(self.first_conventional)?;
        (unit.device == self.sequential.first.device && index < self.conventional).then_some(index)
    }

    pub fn block(&self, zone: u32, offset: u32) -> Pba {
        let unit = self.unit(zone);
        Pba::new(unit.device, u64::from(unit.index) * u64::from(self.zone_blocks()) + u64::from(offset))
    }

    /// The zone and the offset in it of a block.
    pub fn locate(&self, block: Pba) -> Option<(u32, u32)> {
        let index = u32::try_from(block.block() / u64::from(self.zone_blocks())).ok()?;
        let zone = self.find(Unit { device: block.device(), index })?;
        Some((zone, (block.block() % u64::from(self.zone_blocks())) as u32))
    }

    pub fn owner(&self, zone: u32) -> u32 {
        self.owner[zone as usize]
    }

    pub fn set_owner(&mut self, zone: u32, owner: u32) {
        let was = std::mem::replace(&mut self.owner[zone as usize], owner);
        if self.usable[zone as usize] {
            let conventional = self.is_conventional(zone);
            let unowned = if conventional { &mut self.unowned_conventional } else { &mut self.unowned_sequential };
            *unowned += u32::from(owner == NONE);
            *unowned -= u32::from(was == NONE);
        }
    }

    pub fn pointer(&self, zone: u32) -> u32 {
        self.pointer[zone as usize]
    }

    pub fn advance(&mut self, zone: u32, blocks: u32) {
        self.pointer[zone as usize] += blocks;
        debug_assert!(self.pointer(zone) <= self.zone_blocks());
    }

    pub fn is_usable(&self, zone: u32) -> bool {
        self.usable[zone as usize]
    }

    /// The percentage of conventional zones without an owner. A last one counts as none: the write that takes it waits
    /// next.
    pub fn free_percent(&self) -> u32 {
        match self.unowned_conventional {
            0 | 1 => 0,
            unowned => unowned * 100 / self.usable_conventional.max(1),
        }
    }

    /// The conventional zones, which are the buffer, and how many of them have an owner.
    pub fn occupancy(&self) -> Occupancy {
        let blocks = |zones: u32| u64::from(zones) * u64::from(self.zone_blocks());
        let owned = self.usable_conventional - self.unowned_conventional;
        Occupancy { used: blocks(owned), blocks: blocks(self.usable_conventional) }
    }

    pub fn has_free(&self, kind: ZoneKind) -> bool {
        !self.free[kind as usize].is_empty()
    }

    pub fn take(&mut self, kind: ZoneKind) -> Option<u32> {
        let zone = self.free[kind as usize].pop_front()?;
        self.is_free[zone as usize] = false;
        Some(zone)
    }

    /// Whether a conventional zone has been given up and will be free once that has taken effect.
    pub fn conventional_is_coming(&self) -> bool {
        self.unowned_conventional as usize > self.free[ZoneKind::Conventional as usize].len()
    }

    /// Whether a reserved zone has no owner, free already or not.
    pub fn reserve_is_left(&self) -> bool {
        self.reserved.iter().any(|&zone| self.owner(zone) == NONE)
    }

    /// Whether a usable sequential zone has no owner, free already or not.
    pub fn sequential_is_coming(&self) -> bool {
        self.unowned_sequential > 0
    }

    /// Plans that a zone that has no owner any more is free again.
    pub fn release(&self, zone: u32, plan: &mut Plan) {
        debug_assert!(self.owner(zone) == NONE);
        if !self.is_usable(zone) {
            return;
        }
        if self.is_conventional(zone) || self.pointer(zone) == 0 {
            plan.free(Extent::new(self.block(zone, 0), self.zone_blocks()));
        } else {
            plan.reset(self.unit(zone));
        }
    }

    /// What [`ZonePool::release`] planned has taken effect.
    pub fn freed(&mut self, space: Extent<Pba>) {
        let Some((zone, 0)) = self.locate(space.start) else { return };
        if self.owner(zone) == NONE && self.is_usable(zone) && !self.is_free[zone as usize] {
            self.pointer[zone as usize] = 0;
            self.put(zone);
        }
    }

    fn put(&mut self, zone: u32) {
        let kind = match (self.is_conventional(zone), self.reserved.contains(&zone)) {
            (true, _) => ZoneKind::Conventional,
            (false, false) => ZoneKind::Sequential,
            (false, true) => ZoneKind::Reserved,
        };
        self.is_free[zone as usize] = true;
        self.free[kind as usize].push_back(zone);
    }

    /// Mirrors the drive's report. The first sequential zones without an owner are reserved; those that were written
    /// are reset first.
    pub fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.free.iter_mut().for_each(VecDeque::clear);
        self.is_free.fill(false);
        self.reserved.clear();
        for zone in 0..self.len() {
            let unit = self.unit(zone);
            let state = units.unit(unit).ok_or_else(|| Corrupt(format!("the drive does not report {unit:?}")))?;
            let conventional = self.is_conventional(zone);
            let expected = if conventional { Condition::Conventional } else { Condition::Sequential };
            self.usable[zone as usize] = state.condition == expected;
            self.pointer[zone as usize] = if conventional { 0 } else { state.pointer };
            if self.owner(zone) != NONE || !self.is_usable(zone) {
                continue;
            }
            if !conventional && self.reserved.len() < self.reserved_wanted as usize {
                self.reserved.push(zone);
            }
            if self.pointer(zone) == 0 { self.put(zone) } else { self.release(zone, plan) }
        }
        self.usable_conventional = (0..self.conventional).filter(|&zone| self.is_usable(zone)).count() as u32;
        [self.unowned_conventional, self.unowned_sequential] = self.count_unowned();
        Ok(())
    }

    /// The usable zones without an owner: conventional ones and sequential ones.
    fn count_unowned(&self) -> [u32; 2] {
        [0..self.conventional, self.conventional..self.len()]
            .map(|zones| zones.filter(|&zone| self.owner(zone) == NONE && self.is_usable(zone)).count() as u32)
    }

    pub fn check(&self) -> Result<(), Violation> {
        for zone in self.free.iter().flatten().copied() {
            if self.owner(zone) != NONE || self.pointer(zone) != 0 || !self.is_usable(zone) {
                return Err(Violation(format!("free zone {zone} is owned, written or bad")));
            }
        }
        let (counted, noted) = (self.count_unowned(), [self.unowned_conventional, self.unowned_sequential]);
        if counted != noted {
            return Err(Violation(format!("{counted:?} conventional and sequential zones are unowned, not {noted:?}")));
        }
        Ok(())
    }
}
