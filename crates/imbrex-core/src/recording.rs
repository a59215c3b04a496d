//! How a drive records: what drives are told apart by, and what a layer is for.

/// What a drive records like, as a layer sees it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Recording {
    /// Blocks written in place. On a preset with zones the same platters are taken without overlap.
    Conventional,
    /// Conventional and sequential zones.
    Zoned,
    /// Conventional and sequential zones, with the conventional space taken zone by zone.
    WholeZones,
    /// Bands behind a persistent cache, as inside a drive-managed disk.
    Banded,
    /// Bottom and top tracks.
    Interlaced,
    /// Realms that are conventional at first and are activated as sequential zones one by one.
    Hybrid,
    /// Erase blocks of pages, and some that are rewritten in place.
    Flash,
    /// Flash in front of a disk, each behind a layer of its own, so that both are written in place.
    Cached,
}
