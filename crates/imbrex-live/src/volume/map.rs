//! A map of which a server has some pages in memory, while all of them lie on the drive.

use imbrex::layer::{MapCache, TranslationLayer};
use imbrex::perform::MapHome;

use super::VolumeError;

/// Bytes that a page takes in memory beside those that it has on the drive.
pub const PAGE_OVERHEAD: u32 = 256;

/// Too little memory for a map.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "--map-memory of {memory} bytes is too little for a map: a plan needs {} of its pages, which take {least} bytes",
    MapCache::LEAST
)]
pub struct TooLittleForMap {
    memory: u64,
    least: u64,
}

/// Memory was named for a map that has no pages on the drive.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the volume was formatted with all of its map in memory; leave --map-memory out, or format a volume with it")]
pub struct NoPagesOfMap;

/// The pages that can be in memory at a time, of a block each.
pub(super) fn cache(memory: u64, block_bytes: u32) -> Result<MapCache, TooLittleForMap> {
    let page = u64::from(block_bytes) + u64::from(PAGE_OVERHEAD);
    let pages = u32::try_from(memory / page).unwrap_or(u32::MAX);
    if pages < MapCache::LEAST {
        return Err(TooLittleForMap { memory, least: page * u64::from(MapCache::LEAST) });
    }
    Ok(MapCache { page_bytes: block_bytes, pages })
}

/// Blocks that the pages of a layer take that was made with a cache of them.
pub(super) fn blocks(layer: &dyn TranslationLayer, name: &str) -> Result<u64, VolumeError> {
    let Some(map) = layer.cached_map() else {
        let text =
            format!("layer {name} keeps its whole map in memory; leave --map-memory out, or choose another layer");
        return Err(VolumeError::Refused(text));
    };
    Ok(MapHome::blocks(map.count()))
}

/// Whether the pages of a layer find room in these blocks.
pub(super) fn find_room(layer: &dyn TranslationLayer, name: &str, home: MapHome) -> Result<(), VolumeError> {
    let (needed, have) = (blocks(layer, name)?, u64::from(home.at.blocks));
    if needed <= have {
        return Ok(());
    }
    let text = format!("the pages of the map of {name} take {needed} blocks, and the volume has {have} for them");
    Err(VolumeError::Refused(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn memory_is_counted_in_pages_with_what_they_take_beside_and_too_little_is_refused_with_the_least() {
        let pages = |memory| cache(memory, 4096).map(|cache| (cache.page_bytes, cache.pages));
        assert_eq!(pages(3 * 4352), Ok((4096, 3)));
        assert_eq!(pages(1 << 20), Ok((4096, 240)));
        assert_eq!(pages(u64::MAX), Ok((4096, u32::MAX)));
        assert_eq!(cache(1 << 20, 512).map(|cache| cache.pages), Ok((1 << 20) / 768));
        for memory in [0, 1, 3 * 4352 - 1] {
            let refused = pages(memory).unwrap_err().to_string();
            for part in ["--map-memory", &format!("of {memory} bytes"), "13056 bytes"] {
                assert!(refused.contains(part), "{refused}");
            }
        }
    }
}
