//! What each band, track or zone of a layer holds, at the end of a replay and at chosen moments, as rows.

mod row;

use anyhow::Result;
use imbrex::contents::Contents;
use imbrex::replay::BandsLook;
use imbrex::trace::TraceInfo;
use serde::Serialize;
use serde_json::Value;

pub use row::{At, Band, Of, Track, Zone};

/// What was seen of a run.
pub struct Looks<'a> {
    of: Of<'a>,
    looks: Vec<BandsLook>,
}

impl<'a> Looks<'a> {
    /// Nothing yet of a run of `workload` on a layer with blocks of `block_bytes` bytes.
    #[must_use]
    pub fn new(workload: &'a TraceInfo, layer: &'static str, block_bytes: u32) -> Self {
        Self { of: Of::new(workload, layer, block_bytes), looks: Vec::new() }
    }

    /// Takes a look.
    pub fn add(&mut self, look: &BandsLook) {
        self.looks.push(look.clone());
    }

    /// The run.
    #[must_use]
    pub fn of(&self) -> Of<'a> {
        self.of
    }

    /// Every look, in the order in which they were taken.
    #[must_use]
    pub fn all(&self) -> &[BandsLook] {
        &self.looks
    }

    /// All of it as rows: those that are written.
    ///
    /// # Errors
    /// None that a look can cause.
    pub fn rows(&self) -> Result<Vec<Value>> {
        let rows = |look: &BandsLook| match &look.contents {
            Contents::Bands(bands) => values(Band::all(self.of, At::of(look), bands)),
            Contents::Tracks(tracks) => values(Track::all(self.of, At::of(look), tracks)),
            Contents::Zones(zones) => values(Zone::all(self.of, At::of(look), zones)),
        };
        let looks = self.looks.iter().map(rows).collect::<Result<Vec<_>>>()?;
        Ok(looks.concat())
    }
}

fn values(rows: impl Iterator<Item = impl Serialize>) -> Result<Vec<Value>> {
    Ok(rows.map(serde_json::to_value).collect::<Result<_, _>>()?)
}
