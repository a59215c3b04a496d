//! What lies where on a volume that is served, as a page draws it.

use imbrex::contents::Contents;
use serde_json::{Map, Value, json};

/// The most bars.
const BARS: usize = 400;

/// What `contents` say of a layer, in the form of a look that a page draws.
pub(super) fn units(layer: &str, contents: &Contents) -> Value {
    let bars = contents.bars(BARS);
    let names: Vec<_> = bars.made_of.iter().map(|(name, _)| *name).collect();
    let parts: Map<_, _> = bars.made_of.into_iter().map(|(name, sums)| (name.to_owned(), sums.into())).collect();
    json!({ "name": layer, "kind": bars.kind, "each": bars.each, "parts": names, "looks": [{ "parts": parts }] })
}
