//! What lies where on a volume that is served, as a page draws it.

use imbrex::contents::Contents;
use imbrex::layers::{self, Family};
use serde_json::{Map, Value, json};

/// The most bars.
const BARS: usize = 400;

/// What a layer calls the space that it fills and cleans.
pub(super) fn space_name(layer: &str) -> &'static str {
    let Ok(layer) = layers::find(layer) else { return "buffer" };
    match layer.family {
        Some(Family::Ssd) if layer.buffered => "cache",
        Some(Family::Ssd) => "erase blocks",
        // The drive-managed disk has one before its bands; the others are logs.
        Some(Family::Banded) if layer.name == "skylight" => "cache",
        Some(Family::Banded) => "bands",
        _ => "buffer",
    }
}

/// What `contents` say of a layer, in the form of a look that a page draws.
pub(super) fn units(layer: &str, contents: &Contents) -> Value {
    let bars = contents.bars(BARS);
    let names: Vec<_> = bars.made_of.iter().map(|(name, _)| *name).collect();
    let parts: Map<_, _> = bars.made_of.into_iter().map(|(name, sums)| (name.to_owned(), sums.into())).collect();
    json!({ "name": layer, "kind": bars.kind, "each": bars.each, "parts": names, "looks": [{ "parts": parts }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_has_the_name_of_its_family() {
        let names = ["fifo-log", "log-greedy", "skylight", "lru-cache", "page-ftl", "of another crate"].map(space_name);
        assert_eq!(names, ["buffer", "bands", "cache", "cache", "erase blocks", "buffer"]);
    }
}
