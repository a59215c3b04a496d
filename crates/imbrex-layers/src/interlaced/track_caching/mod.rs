//! `track-caching`: bottom tracks that are updated have a copy on a reserved top track.
//!
//! Source: selective track caching of Hajkazemi, Kulkarni, Desnoyers and Feldman (USENIX ATC 2019), as far as TrackLace
//! (IEEE TC 2021) §7.2 and the name of the mechanism say what it is.
//!
//! # What it does
//! One of every `reserved` top tracks is kept from the host. Before a bottom track is updated that was updated often
//! enough (`cache_after`), its cell is copied to a reserved track of its zone, which is all of the disk unless
//! `zone_tracks` says otherwise; reads and writes of it go there. If all of them are taken, the cell that was written
//! least recently goes home first.
//!
//! # State and invariants
//! As in `mapped_tracks`; and, soft, how often each bottom track was updated since its cell came home, and when each
//! reserved track was last written.
//!
//! # Decisions
//! - *Which tracks are reserved*: the first of each run of `reserved` top tracks, so that one is always near. The order
//!   of tracks fills them last; before them come half of the top tracks, half of what is left, and so on.
//! - *How many* is a part of the top tracks, which is a power of two: the reserved ones are a phase of that order.
//! - *Which cell leaves*: the least recently written, and among equals the outermost.
//! - *When cleaning is asked for*, all cells go home, as blocks of other layers' buffers do.

use super::in_place_tracks::InPlaceConfig;
use super::mapped_tracks::{Cells, Change, Largest, MappedTracks, Policy, info};
use crate::parts::track_order::{Direction::Inwards, Phase};
use crate::{ConfigError, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::memory::Memory;
use imbrex_core::space::Space;
use imbrex_core::tracks::Side;

const SUMMARY: &str = "Bottom tracks that are updated have a copy on a reserved top track, until others need it.";

pub(crate) const INFO: LayerInfo =
    info("track-caching", SUMMARY, TrackCachingConfig::FIELDS, &|space, table| Ok(Box::new(build(space, table)?)));

#[derive(Debug, Configuration)]
struct TrackCachingConfig {
    #[field(flatten)]
    in_place: InPlaceConfig,
    /// one of this many top tracks is reserved; a power of two
    #[field(default = 64, samples = [2, 4, 8])]
    reserved: u32,
    /// updates of a bottom track, of which the last brings its cell to a reserved track
    #[field(default = 2, samples = [1, 2, 3])]
    cache_after: u32,
    /// tracks of a zone, of both kinds, within which cells are moved; 0: all
    #[field(default = 0, samples = [0, 4, 7])]
    zone_tracks: u32,
}

impl TrackCachingConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |reason: String| Err(ConfigError::Field { layer: INFO.name, reason });
        if !self.reserved.is_power_of_two() || self.reserved > 1 << 16 {
            return wrong(format!("reserved is {}; choose a power of two, up to {}", self.reserved, 1 << 16));
        }
        if self.cache_after == 0 {
            return wrong("cache_after is 0; choose 1 or more".to_owned());
        }
        Ok(())
    }

    /// All bottom tracks, half of the top tracks, half of what is left and so on, and at last one of each `reserved`.
    fn order(&self) -> Vec<Phase> {
        let top = |first, step| Phase { side: Side::Top, first, step, direction: Inwards };
        let bottom = Phase { side: Side::Bottom, ..top(0, 1) };
        let halves = (1..=self.reserved.trailing_zeros()).map(|half| top(1 << (half - 1), 1 << half));
        std::iter::once(bottom).chain(halves).chain([top(0, self.reserved)]).collect()
    }
}

fn build(space: &Space, table: &toml::Table) -> Result<MappedTracks<Caching>, ConfigError> {
    let config: TrackCachingConfig = INFO.read(table)?;
    config.check()?;
    let cells = Cells::new(&INFO, &config.order(), true, space, &config.in_place)?;
    let zone_tracks = if config.zone_tracks == 0 { u32::MAX } else { config.zone_tracks };
    let slots = cells.reserved().map(|track| Slot { track, written: 0 }).collect();
    let updates = vec![0; cells.tracks() as usize];
    Ok(MappedTracks::new(cells, Caching { cache_after: config.cache_after, zone_tracks, slots, updates, clock: 0 }))
}

/// A reserved track.
struct Slot {
    track: u32,
    /// When its cell was written last.
    written: u64,
}

struct Caching {
    cache_after: u32,
    zone_tracks: u32,
    /// In the order of their tracks.
    slots: Vec<Slot>,
    /// By bottom track: updates since its cell came home.
    updates: Vec<u32>,
    /// Writes of cells so far.
    clock: u64,
}

impl Caching {
    /// The reserved tracks in the zone of a track.
    fn zone(&self, track: u32) -> &[Slot] {
        let zone = track / self.zone_tracks;
        let first = self.slots.partition_point(|slot| slot.track / self.zone_tracks < zone);
        let slots = self.slots[first..].partition_point(|slot| slot.track / self.zone_tracks == zone);
        &self.slots[first..first + slots]
    }
}

impl Policy for Caching {
    fn memory(&self) -> Memory {
        Memory::of::<Slot>(self.slots.len() as u64) + Memory::room::<u32>(self.updates.len() as u64)
    }

    fn largest(&self) -> Largest {
        Largest { cells: 1, neighbours: 2 }
    }

    fn written(&mut self, top: u32, _cells: &Cells) {
        self.clock += 1;
        if let Ok(slot) = self.slots.binary_search_by_key(&top, |slot| slot.track) {
            self.slots[slot].written = self.clock;
        }
    }

    fn before_update(&mut self, bottom: u32, cells: &Cells) -> Option<Change> {
        let updates = &mut self.updates[bottom as usize];
        *updates += 1;
        if *updates < self.cache_after {
            return None;
        }
        *updates = 0;
        let zone = self.zone(bottom);
        let free = zone.iter().find(|slot| cells.is_empty(slot.track));
        let slot = free.or_else(|| zone.iter().min_by_key(|slot| slot.written))?;
        Some(Change::Copy { bottom, top: slot.track })
    }

    fn asked(&self, cells: &Cells) -> Option<Change> {
        let mut leaving = self.slots.iter().map(|slot| Change::Return { top: slot.track });
        leaving.find(|&change| cells.allows(change))
    }
}
