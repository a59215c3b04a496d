//! `track-flipping`: a bottom track and the top track beside it change places when the bottom one is hotter.
//!
//! Source: Hajkazemi, Kulkarni, Desnoyers and Feldman (USENIX ATC 2019), as far as TrackLace (IEEE TC 2021) §7.2 and
//! the name of the mechanism say what it is.
//!
//! # What it does
//! Each bottom track and the top track towards the inside are a pair. When the bottom track of a pair has been updated
//! a few times (`flip_after`) since its top track was written, their cells are exchanged before the next update; that
//! is then a write to a top track.
//!
//! # State and invariants
//! As in `mapped_tracks`; and for each pair a count of updates, which is soft.
//!
//! # Decisions
//! - *Which pair*: the top track of the same number. The last bottom track of a group may have none.
//! - *When*: counts are of updates by place, whichever cell lies there, and begin anew with a write of the top track
//!   and with an exchange. Two bits hold them for the default.

use super::in_place_tracks::InPlaceConfig;
use super::mapped_tracks::{Cells, Change, Largest, MappedTracks, Policy, info};
use super::seagate::PHASES;
use crate::{ConfigError, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::memory::Memory;
use imbrex_core::space::Space;
use imbrex_core::tracks::{Side, Track};

const SUMMARY: &str = "A bottom track that is updated again and again changes places with the top track beside it.";

pub(crate) const INFO: LayerInfo =
    info("track-flipping", SUMMARY, TrackFlippingConfig::FIELDS, &|space, table| Ok(Box::new(build(space, table)?)));

#[derive(Debug, Configuration)]
struct TrackFlippingConfig {
    #[field(flatten)]
    in_place: InPlaceConfig,
    /// updates of a bottom track, with no write of its top track between, of which the last exchanges the two
    #[field(default = 3, samples = [1, 2, 3])]
    flip_after: u8,
}

fn build(space: &Space, table: &toml::Table) -> Result<MappedTracks<Flipping>, ConfigError> {
    let TrackFlippingConfig { in_place, flip_after } = INFO.read(table)?;
    if flip_after == 0 {
        let reason = "flip_after is 0; choose 1 or more".to_owned();
        return Err(ConfigError::Field { layer: INFO.name, reason });
    }
    let cells = Cells::new(&INFO, &PHASES, false, space, &in_place)?;
    let updates = vec![0; cells.tracks() as usize];
    Ok(MappedTracks::new(cells, Flipping { flip_after, updates }))
}

struct Flipping {
    flip_after: u8,
    /// By bottom track: updates since its top track was written.
    updates: Vec<u8>,
}

impl Policy for Flipping {
    fn memory(&self) -> Memory {
        Memory::room::<u8>(self.updates.len() as u64)
    }

    fn largest(&self) -> Largest {
        Largest { cells: 2, neighbours: 1 }
    }

    fn written(&mut self, top: u32, _cells: &Cells) {
        // The bottom track of the pair lies just before it.
        self.updates[top as usize - 1] = 0;
    }

    fn before_update(&mut self, bottom: u32, cells: &Cells) -> Option<Change> {
        let updates = &mut self.updates[bottom as usize];
        *updates += 1;
        if *updates < self.flip_after {
            return None;
        }
        *updates = 0;
        let Track { group, index, .. } = cells.track(bottom);
        let top = Track { group, side: Side::Top, index };
        (index < cells.places.order.tracks().top_tracks).then(|| Change::Exchange { bottom, top: cells.number(top) })
    }
}
