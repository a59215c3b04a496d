//! What a band or a track holds, as it is written. `docs/json.md` describes every field; the versions change with them.

use imbrex::contents::{BandContent, TrackContent, ZoneContent};
use imbrex::replay::BandsLook;
use imbrex::trace::TraceInfo;
use imbrex::tracks::Side;
use serde::Serialize;

/// The version of [`Band`].
const BANDS: &str = "imbrex.bands/1";
/// The version of [`Zone`].
const ZONES: &str = "imbrex.zones/1";
/// The version of [`Track`].
const TRACKS: &str = "imbrex.tracks/1";

/// The run that bands or tracks are of.
#[derive(Copy, Clone, Serialize)]
pub struct Of<'a> {
    /// The name of the workload.
    pub trace: &'a str,
    /// Whether no disk ever saw it.
    pub synthetic: bool,
    /// The name of the layer.
    pub layer: &'static str,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl<'a> Of<'a> {
    /// The run of `workload` on a layer with blocks of `block_bytes` bytes.
    #[must_use]
    pub fn new(workload: &'a TraceInfo, layer: &'static str, block_bytes: u32) -> Self {
        Self { trace: &workload.name, synthetic: workload.is_synthetic(), layer, block_bytes }
    }
}

/// When a look was taken.
#[derive(Copy, Clone, Serialize)]
pub struct At {
    /// Requests that had been served.
    pub requests: u64,
    /// Whether these were all.
    pub is_end: bool,
}

impl At {
    /// When this one was.
    #[must_use]
    pub fn of(look: &BandsLook) -> Self {
        Self { requests: look.requests, is_end: look.at.is_none() }
    }
}

/// One band at a moment.
#[derive(Serialize)]
pub struct Band<'a> {
    schema: &'static str,
    #[serde(flatten)]
    of: Of<'a>,
    #[serde(flatten)]
    at: At,
    band: usize,
    state: &'static str,
    unwritten_blocks: u32,
    dead_blocks: u32,
    live_blocks: u32,
    cold_blocks: Option<u32>,
    hot_blocks: Option<u32>,
    mixed: Option<bool>,
}

/// One track at a moment.
#[derive(Serialize)]
pub struct Track<'a> {
    schema: &'static str,
    #[serde(flatten)]
    of: Of<'a>,
    #[serde(flatten)]
    at: At,
    track: usize,
    side: &'static str,
    home_blocks: u32,
    stale_blocks: u32,
    buffered_blocks: u32,
    swapped_blocks: u32,
    free_blocks: u32,
}

/// Where the blocks of a zone lie at a moment.
#[derive(Serialize)]
pub struct Zone<'a> {
    schema: &'static str,
    #[serde(flatten)]
    of: Of<'a>,
    #[serde(flatten)]
    at: At,
    zone: usize,
    home_blocks: u32,
    buffered_blocks: u32,
    unwritten_blocks: u32,
}

impl<'a> Zone<'a> {
    /// Where the blocks of all zones lie, in the order of the blocks that are at home there.
    pub fn all(of: Of<'a>, at: At, zones: &[ZoneContent]) -> impl Iterator<Item = Self> {
        zones.iter().enumerate().map(move |(zone, content)| Self {
            schema: ZONES,
            of,
            at,
            zone,
            home_blocks: content.home,
            buffered_blocks: content.buffered,
            unwritten_blocks: content.unwritten(),
        })
    }
}

impl<'a> Band<'a> {
    /// All bands in their order.
    pub fn all(of: Of<'a>, at: At, bands: &[BandContent]) -> impl Iterator<Item = Self> {
        bands.iter().enumerate().map(move |(band, content)| {
            let BandContent { state, unwritten, dead, live, hot } = *content;
            Self {
                schema: BANDS,
                of,
                at,
                band,
                state: state.name(),
                unwritten_blocks: unwritten,
                dead_blocks: dead,
                live_blocks: live,
                cold_blocks: content.cold(),
                hot_blocks: hot,
                mixed: content.is_mixed(),
            }
        })
    }
}

impl<'a> Track<'a> {
    /// What all tracks hold, from the outside inwards.
    pub fn all(of: Of<'a>, at: At, tracks: &[TrackContent]) -> impl Iterator<Item = Self> {
        tracks.iter().enumerate().map(move |(track, content)| {
            let TrackContent { side, home, stale, buffered, swapped, .. } = *content;
            Self {
                schema: TRACKS,
                of,
                at,
                track,
                side: if side == Side::Top { "top" } else { "bottom" },
                home_blocks: home,
                stale_blocks: stale,
                buffered_blocks: buffered,
                swapped_blocks: swapped,
                free_blocks: content.free(),
            }
        })
    }
}
