//! `track-mapping`: in a zone any track may lie anywhere, and hot bottom tracks change places with cold top tracks.
//!
//! Source: dynamic track mapping of Hajkazemi, Kulkarni, Desnoyers and Feldman (USENIX ATC 2019), as far as TrackLace
//! (IEEE TC 2021) §7.2 and the name of the mechanism say what it is.
//!
//! # What it does
//! Writes of each cell are counted. After `interval` bottom updates in a zone the cell that was written most
//! of those on bottom tracks is exchanged with the one that was written least of those on top tracks, if it was written
//! more often. Then all counts of the zone are halved.
//!
//! # State and invariants
//! As in `mapped_tracks`; and a count for each cell and one for each zone, which are soft.
//!
//! # Decisions
//! - *Zones* are runs of tracks of both kinds from the outside inwards (`zone_tracks`), whatever their group.
//! - *An interval* is counted in bottom updates: where there are none, nothing has to move.
//! - *Equal counts*: the outermost cell of the hottest, and of the coldest.

use super::in_place_tracks::InPlaceConfig;
use super::mapped_tracks::{Cells, Change, Largest, MappedTracks, Policy, info};
use super::seagate::PHASES;
use crate::{ConfigError, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::memory::Memory;
use imbrex_core::space::Space;
use imbrex_core::tracks::Side;

const SUMMARY: &str = "Within a zone the hottest bottom track changes places with the coldest top track, at intervals.";

pub(crate) const INFO: LayerInfo =
    info("track-mapping", SUMMARY, TrackMappingConfig::FIELDS, &|space, table| Ok(Box::new(build(space, table)?)));

#[derive(Debug, Configuration)]
struct TrackMappingConfig {
    #[field(flatten)]
    in_place: InPlaceConfig,
    /// tracks of a zone, of both kinds, within which cells are exchanged
    #[field(default = 64, samples = [2, 5, 100])]
    zone_tracks: u32,
    /// bottom updates in a zone, of which the last exchanges the hottest cell below with the coldest on top
    #[field(default = 32, samples = [1, 2, 5])]
    interval: u32,
}

fn build(space: &Space, table: &toml::Table) -> Result<MappedTracks<Mapping>, ConfigError> {
    let TrackMappingConfig { in_place, zone_tracks, interval } = INFO.read(table)?;
    if zone_tracks < 2 || interval == 0 {
        let reason = format!("zone_tracks is {zone_tracks}, interval {interval}; choose 2 and 1 or more");
        return Err(ConfigError::Field { layer: INFO.name, reason });
    }
    let cells = Cells::new(&INFO, &PHASES, false, space, &in_place)?;
    let updates = vec![0; cells.tracks().div_ceil(zone_tracks) as usize];
    let writes = vec![0; cells.tracks() as usize];
    Ok(MappedTracks::new(cells, Mapping { zone_tracks, interval, writes, updates }))
}

struct Mapping {
    zone_tracks: u32,
    interval: u32,
    /// By the track that a cell lies on: its writes. They move with it.
    writes: Vec<u16>,
    /// By zone: bottom updates in the interval.
    updates: Vec<u32>,
}

impl Mapping {
    /// The hottest bottom track of a zone and its coldest top track, if the first is hotter than the second.
    fn choose(&self, zone: u32, cells: &Cells) -> Option<Change> {
        let (mut hottest, mut coldest): (Option<u32>, Option<u32>) = (None, None);
        let writes = |track: u32| self.writes[track as usize];
        for track in self.tracks(zone).filter(|&track| cells.on(track).is_some()) {
            if cells.track(track).side == Side::Bottom {
                hottest = hottest.filter(|&other| writes(other) >= writes(track)).or(Some(track));
            } else {
                coldest = coldest.filter(|&other| writes(other) <= writes(track)).or(Some(track));
            }
        }
        let (bottom, top) = (hottest?, coldest?);
        (writes(bottom) > writes(top)).then_some(Change::Exchange { bottom, top })
    }

    fn tracks(&self, zone: u32) -> std::ops::Range<u32> {
        let first = zone * self.zone_tracks;
        first..(first.saturating_add(self.zone_tracks)).min(self.writes.len() as u32)
    }
}

impl Policy for Mapping {
    fn memory(&self) -> Memory {
        Memory::room::<u16>(self.writes.len() as u64) + Memory::room::<u32>(self.updates.len() as u64)
    }

    fn largest(&self) -> Largest {
        Largest { cells: 2, neighbours: 2 }
    }

    fn written(&mut self, top: u32, _cells: &Cells) {
        let writes = &mut self.writes[top as usize];
        *writes = writes.saturating_add(1);
    }

    fn before_update(&mut self, bottom: u32, cells: &Cells) -> Option<Change> {
        self.written(bottom, cells);
        let zone = bottom / self.zone_tracks;
        let updates = &mut self.updates[zone as usize];
        *updates += 1;
        if *updates < self.interval {
            return None;
        }
        *updates = 0;
        let change = self.choose(zone, cells).filter(|&change| cells.allows(change));
        if let Some(Change::Exchange { bottom, top }) = change {
            self.writes.swap(bottom as usize, top as usize);
        }
        for track in self.tracks(zone) {
            self.writes[track as usize] /= 2;
        }
        change
    }
}
