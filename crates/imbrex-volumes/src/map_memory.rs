//! How much of a layer's map a server is to have in memory: what is asked for, or what is best.

use imbrex_live::sums::Checksums;
use imbrex_live::volume::{self, FormatOptions, Members, VolumeError};
use imbrex_runs::values::size;

/// A map that may take more has pages on the drive unless somebody says otherwise, and so much of them in memory.
const USUAL: u64 = 1 << 30;

/// What is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum MapMemory {
    /// The whole map is in memory.
    All,
    /// Bytes of pages in memory; all pages are on the drive.
    Bytes(u64),
}

impl MapMemory {
    /// Reads `all` or a size.
    ///
    /// # Errors
    /// When `text` is neither.
    pub fn read(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        size(text).map(Self::Bytes).map_err(|why| format!("{why}, or all"))
    }

    /// Bytes of pages, if not all of the map is to be in memory.
    pub fn bytes(self) -> Option<u64> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

/// What was settled.
#[derive(Default)]
pub struct Settled {
    /// Bytes of pages in memory; all of the map if nothing is said.
    pub bytes: Option<u64>,
    /// Why a large map has no pages, though nobody asked for that.
    pub why_whole: Option<VolumeError>,
}

/// What a volume of these members is formatted with.
///
/// # Errors
/// When the layer and the members do not suit each other.
pub fn settle(
    asked: Option<MapMemory>,
    members: &Members,
    options: &FormatOptions<'_>,
    checksums: Option<Checksums>,
) -> Result<Settled, VolumeError> {
    match asked {
        Some(MapMemory::All) => return Ok(Settled::default()),
        Some(MapMemory::Bytes(bytes)) => return Ok(Settled { bytes: Some(bytes), why_whole: None }),
        None => {}
    }
    let whole = volume::memory(members, &FormatOptions { map_memory: None, ..*options }, checksums)?;
    if whole.part("maps").is_none_or(|maps| maps.most_bytes <= USUAL) {
        return Ok(Settled::default());
    }
    let paged = FormatOptions { map_memory: Some(USUAL), ..*options };
    Ok(match volume::validate_with(members, &paged, checksums) {
        Ok(()) => Settled { bytes: Some(USUAL), why_whole: None },
        Err(why) => Settled { bytes: None, why_whole: Some(why) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_or_all_of_it_is_read() {
        assert_eq!(MapMemory::read("all"), Ok(MapMemory::All));
        assert_eq!(MapMemory::read("1.5GiB"), Ok(MapMemory::Bytes(3 << 29)));
        assert!(MapMemory::read("much").is_err_and(|why| why.ends_with(", or all")));
    }
}
