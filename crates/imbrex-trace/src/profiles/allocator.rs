//! Where new extents lie: nowhere twice, and clustered as the model says.

use super::Model;
use super::pool::CompactExtent;
use super::ranks::{Ranks, scattering_step};
use super::volume::{SLOT_BLOCKS, Volume, ZONE_BLOCKS};
use crate::synthetic::random::Random;

/// Zones for one kind of extent, those with low ranks filled first.
pub(super) struct Area {
    zones: Vec<Zone>,
    ranks: Ranks,
    /// The ranks of the zones that have room, ascending.
    open: Vec<u32>,
    /// The zone that the last extents came to.
    filling: u32,
    /// Blocks of each slot that are used.
    used: u64,
    /// The end of the range, until the first extent has taken it.
    end: Option<u64>,
}

/// A zone's slots, given out one after the other in scattered order.
struct Zone {
    first_slot: u32,
    slots: u32,
    step: u32,
    given: u32,
    /// Where hot extents go on, and the others.
    cursors: [Cursor; 2],
}

/// Where one kind of extent goes on.
#[derive(Copy, Clone, Default)]
struct Cursor {
    next: u64,
    end: u64,
}

/// Whether an extent may be touched again after its first writing, or the first reading.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Touched again.
    Hot,
    /// Written once.
    Once,
}

/// The zones that hold written extents, in order of rank, and those that hold the others.
pub(super) fn areas(volume: &Volume, model: &Model, random: &mut Random) -> [Area; 2] {
    // The last slot is left to the extent that ends the range.
    let slots = (volume.range_blocks / SLOT_BLOCKS - 1) as u32;
    let zone_slots = (ZONE_BLOCKS / SLOT_BLOCKS) as u32;
    let mut zones: Vec<u32> = (0..slots.div_ceil(zone_slots)).collect();
    shuffle(&mut zones, random);
    let written = ((zones.len() as f64 * model.written_zones + 0.5) as usize).clamp(1, zones.len() - 1);
    let zone = |zone: &u32| {
        let first_slot = zone * zone_slots;
        Zone::new(first_slot, zone_slots.min(slots - first_slot))
    };
    let used = ((SLOT_BLOCKS as f64 * model.fill) as u64).max(1);
    let area = |zones: &[u32], used, end, skew| Area::new(zones.iter().map(zone).collect(), used, end, skew);
    [
        area(&zones[..written], used, Some(volume.range_blocks), model.zone_skew),
        area(&zones[written..], SLOT_BLOCKS, None, 0.0),
    ]
}

impl Area {
    fn new(zones: Vec<Zone>, used: u64, end: Option<u64>, skew: f64) -> Self {
        let ranks = Ranks::new(zones.len(), skew);
        Self { open: (0..zones.len() as u32).collect(), filling: 0, zones, ranks, used, end }
    }

    pub(super) fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// How many zones.
    pub(super) fn zones(&self) -> f64 {
        self.zones.len() as f64
    }

    /// Draws a zone.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        self.ranks.draw(self.zones.len(), random) as u32
    }

    /// The zone and place of a new extent of `blocks` blocks: `zone` if that has room, else where the last came that
    /// found none, as long as that has room, and then another.
    pub(super) fn allocate(&mut self, zone: u32, kind: Kind, blocks: u16, random: &mut Random) -> (u32, CompactExtent) {
        let length = u64::from(blocks);
        if let Some(end) = self.end.take() {
            return (zone, CompactExtent { block: (end - length) as u32, blocks });
        }
        let mut at = zone;
        loop {
            if let Some(block) = self.zones[at as usize].place(kind, length, self.used) {
                return (at, CompactExtent { block: block as u32, blocks });
            }
            self.close(at);
            if at == self.filling || at != zone {
                self.filling = self.open[self.ranks.draw(self.open.len(), random)];
            }
            at = self.filling;
        }
    }

    /// A zone is full. The profile was checked to need no zone twice; a draw that is far above its mean begins anew.
    fn close(&mut self, zone: u32) {
        if let Ok(at) = self.open.binary_search(&zone) {
            self.open.remove(at);
        }
        if self.open.is_empty() {
            self.open.extend(0..self.zones.len() as u32);
            self.zones.iter_mut().for_each(|zone| zone.given = 0);
        }
    }
}

impl Zone {
    fn new(first_slot: u32, slots: u32) -> Self {
        Self { first_slot, slots, step: scattering_step(slots), given: 0, cursors: [Cursor::default(); 2] }
    }

    fn place(&mut self, kind: Kind, length: u64, used: u64) -> Option<u64> {
        let cursor = &mut self.cursors[kind as usize];
        if cursor.next + length > cursor.end {
            if self.given == self.slots {
                return None;
            }
            let first = u64::from(self.first_slot + self.given * self.step % self.slots) * SLOT_BLOCKS;
            self.given += 1;
            // An extent that is longer than what is used of a slot takes what it needs.
            *cursor = Cursor { next: first, end: first + used.max(length) };
        }
        let block = cursor.next;
        cursor.next += length;
        Some(block)
    }
}

/// Fisher–Yates.
fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}
