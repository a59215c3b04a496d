//! What a band holds, as it is written. `docs/json.md` describes every field; its version changes with them.

use imbrex::layer::BandContent;
use imbrex::replay::BandsLook;
use serde::Serialize;

/// The version of [`Band`].
const SCHEMA: &str = "imbrex.bands/1";

/// One band at a moment.
#[derive(Serialize)]
pub struct Band<'a> {
    schema: &'static str,
    trace: &'a str,
    synthetic: bool,
    layer: &'static str,
    block_bytes: u32,
    requests: u64,
    is_end: bool,
    band: usize,
    state: &'static str,
    unwritten_blocks: u32,
    dead_blocks: u32,
    live_blocks: u32,
    cold_blocks: Option<u32>,
    hot_blocks: Option<u32>,
    mixed: Option<bool>,
}

impl<'a> Band<'a> {
    /// All bands of a look, in their order, at a layer with blocks of so many bytes on a trace.
    pub fn all(
        (trace, synthetic, layer, block_bytes): (&'a str, bool, &'static str, u32),
        look: &BandsLook,
    ) -> impl Iterator<Item = Self> {
        let (requests, is_end) = (look.requests, look.at.is_none());
        look.bands.iter().enumerate().map(move |(band, content)| {
            let BandContent { state, unwritten, dead, live, hot } = *content;
            Self {
                schema: SCHEMA,
                trace,
                synthetic,
                layer,
                block_bytes,
                requests,
                is_end,
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
