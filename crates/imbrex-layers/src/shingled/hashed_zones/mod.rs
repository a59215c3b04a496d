//! `hashed-zones`: native zones are hashed to buffer zones, which are filled in order and written back whole.
//!
//! Source: the baseline "Skylight" of Amphisbaena (Appl. Sci. 2024, §6.1), modelled there on what Skylight (Aghayev,
//! Shafaei, Desnoyers; ACM TOS 2015) found inside a drive-managed disk. The persistent buffer is cut into *buffer
//! zones*; native zone `n` belongs to buffer zone `n` mod their number. A block that would break the sequential rule is
//! appended in its buffer zone, also if it is buffered already: the new copy supersedes the old one. When a buffer zone
//! is full and one of its blocks is written, *all* blocks in it are written back to all native zones they belong to,
//! one rewrite or append each, and it is empty again.
//!
//! # State
//! - durable: that of every zone buffer (`zone_buffer/`);
//! - soft: up to where each buffer zone is filled. After a crash it is filled up to its last live slot.
//!
//! # Invariants
//! - those of every zone buffer;
//! - a block lies in the buffer zone of its native zone;
//! - in a buffer zone, live slots lie behind the first that may be live and before the fill mark; what lies behind the
//!   mark is free, so no slot is written twice before the zone was empty.
//!
//! # Writing a buffer zone back
//! Native zones leave in the order in which their oldest live copies lie in the buffer zone, each by an eviction in
//! bounded steps whose last plan switches the map. However many there are, the write that found the buffer zone full
//! waits for all of them, as in the paper; between the steps reads are served, from the buffer until the native zone
//! has switched and from the native zone afterwards. The fill mark goes back to the start once every slot's Free has
//! taken effect ([`Step::Wait`] until then), which is after the records that moved the blocks are durable. A crash on
//! the way finds some native zones written back and the other blocks in their slots.
//!
//! # Decisions where the paper is silent
//! - *Length of a buffer zone* (`zone_slots`): a sixteenth of the buffer, at least 256 blocks (1 MiB of 4 KiB blocks),
//!   because with a buffer of 1 % of the range many workloads have less than one zone of 256 MiB. The buffer is cut
//!   into as many equal zones of at least that length as it has room for; the few slots left over are not used.
//! - *A superseded copy* is never written back and counts as a hit when it is superseded. Its slot is given up at once
//!   and used again only when the buffer zone has been emptied: it costs that much room.
//! - *Writes at the write pointer* (`at_pointer`): they bypass the buffer, even when an older copy is buffered, which
//!   is then superseded (`direct`); or a buffered block is appended in the buffer again (`buffered`).
//! - *A request* is appended as far as its buffer zone has room; then the buffer zone is written back and the rest
//!   follows.
//! - *Idle time* (`idle_free`): the paper writes back only full buffer zones (0). Otherwise idle time empties, fullest
//!   first, those of which less than that share is free.
//! - *Spare zones*, *a rewrite's length*, *trim*: as in [`fifo-log`](super::fifo_log).

mod buffer_zones;

use crate::parts::buffered_blocks::Slots;
use crate::parts::slot_table::SlotTable;
use crate::zone_buffer::config::BufferConfig;
use crate::zone_buffer::{Goal, Policy, Takes, ZoneBuffer};
use crate::{ConfigError, Family, LayerInfo};
use buffer_zones::BufferZones;
use imbrex_core::block::{Extent, Lba, Request, unit_and_offset};
use imbrex_core::config::Configuration;
use imbrex_core::layer::{Step, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Plan};
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "hashed-zones",
    family: Some(Family::Shingled),
    source: "Amphisbaena (Appl. Sci. 2024) §6.1, its baseline Skylight (ACM TOS 2015)",
    summary: "Zones are hashed to buffer zones, which are appended to and written back whole when full.",
    recording: Recording::Zoned,
    buffered: true,
    fields: HashedZonesConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

/// The part of the buffer that a buffer zone is, and its least length: 1 MiB of 4 KiB blocks.
const DEFAULT_PART: u32 = 16;
const DEFAULT_LEAST: u32 = 256;

#[derive(Debug, Configuration)]
struct HashedZonesConfig {
    #[field(flatten, without(clean_for))]
    buffer: BufferConfig,
    /// blocks of a buffer zone at least; 0: 1/16 of the buffer, 256 or more
    #[field(default = 0, samples = [0, 1, 3, 7])]
    zone_slots: u32,
}

fn build(space: &Space, config: &toml::Table) -> Result<ZoneBuffer<HashedZones>, ConfigError> {
    let HashedZonesConfig { buffer, zone_slots } = INFO.read(config)?;
    ZoneBuffer::new(&INFO, space, buffer, |slots, zones| {
        let default = (slots / DEFAULT_PART).max(DEFAULT_LEAST);
        let least = if zone_slots == 0 { default } else { zone_slots };
        HashedZones { zones: BufferZones::new(slots, least), zone_blocks: zones.zone_blocks() }
    })
}

struct HashedZones {
    zones: BufferZones,
    /// Blocks of a native zone.
    zone_blocks: u32,
}

impl HashedZones {
    /// The buffer zone of a block.
    #[inline]
    fn zone_of(&self, lba: Lba) -> u32 {
        self.zones.of(unit_and_offset(lba.0, self.zone_blocks).0)
    }

    /// The fullest buffer zone of which less than `share` is free.
    fn fullest(&self, share: f64) -> Option<u32> {
        let full = (0..self.zones.count()).filter(|&zone| self.zones.free_share(zone) < share);
        full.min_by_key(|&zone| self.zones.room(zone))
    }
}

impl ZoneBuffer<HashedZones> {
    /// Plans that as many blocks from the front of `rest` as are not direct and find room are appended, and adds those
    /// that were buffered already to `hits`.
    fn append_again(&mut self, rest: Extent<Lba>, host: u32, hits: &mut u32, plan: &mut Plan) -> u32 {
        let room = self.policy.zones.room(self.policy.zone_of(rest.start));
        let run = self.indirect(rest).first(room);
        self.blocks.note_given_up(run);
        *hits += self.blocks.given_up.len() as u32;
        let appended = self.put(run, host, plan);
        self.outdate_copies(run);
        self.blocks.free_given_up(plan);
        appended
    }

    /// One step towards an empty buffer zone.
    fn write_back(&mut self, zone: u32, plan: &mut Plan) -> Step {
        match self.policy.zones.oldest(zone) {
            Some(lba) => self.evict(lba, plan),
            None if self.policy.zones.reopen(zone) => Step::Done,
            None => Step::Wait,
        }
    }
}

impl Slots for HashedZones {
    fn table(&self) -> &SlotTable {
        self.zones.table()
    }

    fn hold(&mut self, slot: u32, lba: Lba) {
        self.zones.hold(slot, lba);
    }

    fn give_up(&mut self, slot: u32) {
        self.zones.give_up(slot);
    }

    fn freed(&mut self, slot: u32) {
        self.zones.freed(slot);
    }
}

impl Policy for HashedZones {
    fn memory(&self) -> Memory {
        self.zones.memory()
    }

    fn recovered(&mut self) {
        self.zones.recovered();
    }

    fn check(&self) -> Result<(), Violation> {
        self.zones.check(|lba| self.zone_of(lba))
    }

    fn write(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (mut done, mut hits) = (0, 0);
        while done < at.blocks {
            let rest = at.skip(done);
            let planned = match buffer.write_direct(rest, done, plan) {
                0 => buffer.append_again(rest, done, &mut hits, plan),
                direct => direct,
            };
            if planned == 0 {
                break;
            }
            done += planned;
        }
        plan.count(Event::WriteHit, hits);
        done
    }

    fn make_room(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, _waiting: &[Request], plan: &mut Plan) -> Step {
        let zone = buffer.policy.zone_of(at.start);
        if buffer.policy.zones.room(zone) > 0 { Step::Done } else { buffer.write_back(zone, plan) }
    }

    fn clean_ahead(buffer: &mut ZoneBuffer<Self>, goal: Goal, plan: &mut Plan) -> Step {
        let share = match goal {
            Goal::Idle => buffer.config.idle_free,
            Goal::All => 1.0,
            // Each zone of the buffer has room of its own.
            Goal::Room(_) => return Step::Nothing,
        };
        while let Some(zone) = buffer.policy.fullest(share) {
            match buffer.write_back(zone, plan) {
                Step::Done => {}
                step => return step,
            }
        }
        Step::Nothing
    }
}

impl Takes for HashedZones {
    fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        self.zones.append(self.zone_of(run.start), run)
    }
}
