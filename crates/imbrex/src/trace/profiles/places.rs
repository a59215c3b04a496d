//! Where new extents lie: nowhere twice, and clustered as the model says.

use super::volume::Volume;
use super::{Model, pool::Place};
use crate::trace::synthetic::random::Random;

/// Blocks of a 256 MiB zone.
pub(super) const ZONE_BLOCKS: u64 = 65_536;

/// Blocks of a 1 MiB slot.
pub(super) const SLOT_BLOCKS: u64 = 256;

/// Slots in random order, given out one after the other.
struct Area {
    slots: Vec<u32>,
    given: usize,
    /// Blocks of each slot that are used.
    used: u64,
}

/// Where one kind of extent goes on.
#[derive(Default)]
struct Cursor {
    next: u64,
    end: u64,
}

/// The places of all kinds of extents.
pub(super) struct Places {
    written: Area,
    read: Area,
    hot: Cursor,
    once: Cursor,
    reading: Cursor,
    /// The end of the range, until the first written extent has taken it.
    end: Option<u64>,
}

/// What an extent is for.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Written, and perhaps again.
    Hot,
    /// Written once.
    Once,
    /// Read only.
    Read,
}

impl Places {
    pub(super) fn new(volume: &Volume, model: &Model, random: &mut Random) -> Self {
        // The last slot is left to the extent that ends the range.
        let slots = (volume.range_blocks / SLOT_BLOCKS - 1) as u32;
        let zones = volume.range_blocks.div_ceil(ZONE_BLOCKS);
        let mut order: Vec<u64> = (0..zones).collect();
        shuffle(&mut order, random);
        let written_zones = ((zones as f64 * model.written_zones + 0.5) as usize).clamp(1, order.len() - 1);
        let mut is_written = vec![false; order.len()];
        order[..written_zones].iter().for_each(|&zone| is_written[zone as usize] = true);
        let zone_of = |slot: &u32| (u64::from(*slot) * SLOT_BLOCKS / ZONE_BLOCKS) as usize;
        let (written, read): (Vec<u32>, Vec<u32>) = (0..slots).partition(|slot| is_written[zone_of(slot)]);
        let used = ((SLOT_BLOCKS as f64 * model.fill) as u64).max(1);
        Self {
            written: Area::new(written, used, random),
            read: Area::new(read, SLOT_BLOCKS, random),
            hot: Cursor::default(),
            once: Cursor::default(),
            reading: Cursor::default(),
            end: Some(volume.range_blocks),
        }
    }

    /// The place of a new extent of `blocks` blocks.
    pub(super) fn place(&mut self, kind: Kind, blocks: u16) -> Place {
        let length = u64::from(blocks);
        if kind != Kind::Read
            && let Some(end) = self.end.take()
        {
            return Place { block: (end - length) as u32, blocks };
        }
        let (area, cursor) = match kind {
            Kind::Hot => (&mut self.written, &mut self.hot),
            Kind::Once => (&mut self.written, &mut self.once),
            Kind::Read => (&mut self.read, &mut self.reading),
        };
        if cursor.next + length > cursor.end {
            let first = area.give();
            *cursor = Cursor { next: first, end: first + area.used };
        }
        let block = cursor.next as u32;
        cursor.next += length;
        Place { block, blocks }
    }
}

impl Area {
    fn new(mut slots: Vec<u32>, used: u64, random: &mut Random) -> Self {
        shuffle(&mut slots, random);
        Self { slots, given: 0, used }
    }

    /// The first block of the next slot. The profile was checked to need no slot twice; a draw that is far above its
    /// mean begins anew.
    fn give(&mut self) -> u64 {
        let slot = self.slots[self.given % self.slots.len()];
        self.given += 1;
        u64::from(slot) * SLOT_BLOCKS
    }
}

/// Fisher–Yates.
fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}
