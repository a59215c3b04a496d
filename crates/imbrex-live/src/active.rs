//! Limits on active zones: those that hold data without being full.
//!
//! A limit on *open* zones asks nothing of anybody, since a drive closes one to open another. One on active zones is a
//! hard one. A layer says how many it keeps active; the end of an epoch may leave others so that it will not go on
//! with. Before these are too many they are made full: what is left of them is lost until they are emptied.

use imbrex::block::{Extent, Pba};
use imbrex::layer::{Condition, UnitState};
use imbrex::media::Media;
use imbrex::plan::Unit;

/// Why a drive's limit on active zones rules a layer out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TooManyActive {
    /// The layer states no limit of its own.
    #[error(
        "{layer} cannot be served: it keeps any number of zones active, and the drive allows {limit} active zones; \
         choose another layer"
    )]
    AnyNumber {
        /// The layer.
        layer: String,
        /// Active zones that the drive allows.
        limit: u32,
    },
    /// The layer needs more than the drive allows.
    #[error(
        "{layer} cannot be served: it needs room for {needed} active zones, and the drive allows {limit} active zones; \
         choose another layer"
    )]
    Needs {
        /// The layer.
        layer: String,
        /// Active zones that it needs, those that an earlier epoch may have left included.
        needed: u32,
        /// Active zones that the drive allows.
        limit: u32,
    },
}

/// Refuses a layer that keeps more zones active than its drive allows.
///
/// # Errors
/// When it does, or states no limit where the drive has one.
pub fn suits(layer: &str, most: Option<u32>, media: &dyn Media, journal: &[Extent<Pba>]) -> Result<(), TooManyActive> {
    let Some(limit) = media.max_active() else { return Ok(()) };
    let in_zones = journal.iter().filter(|copy| media.has_pointer(media.unit_of(copy.start))).count() as u32;
    let layer = layer.to_owned();
    let Some(most) = most else { return Err(TooManyActive::AnyNumber { layer, limit }) };
    // What an epoch left behind stays active until the next one has begun.
    let needed = 2 * (most + in_zones);
    if needed > limit { Err(TooManyActive::Needs { layer, needed, limit }) } else { Ok(()) }
}

/// The zones to make full before an epoch begins: a layer and its journal may need half of what the drive allows.
#[must_use]
pub fn crowding(media: &dyn Media) -> Vec<Unit> {
    let Some(limit) = media.max_active() else { return Vec::new() };
    let is_active = |(unit, state): &(Unit, UnitState)| {
        state.condition == Condition::Sequential && state.pointer > 0 && state.pointer < media.extent_of(*unit).blocks
    };
    let active: Vec<Unit> = (0..).map(Unit::disk).zip(media.report()).filter(is_active).map(|(unit, _)| unit).collect();
    if active.len() as u32 > limit - limit / 2 { active } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex::media::{Shingled, ZonedSpec};

    /// A layer that just suits the limit needs half of it; the rest is what an epoch may leave behind.
    #[test]
    fn room_is_made_for_as_many_as_a_layer_may_need() {
        let spec = ZonedSpec { zones: 40, zone_blocks: 8, conventional_zones: 0, max_open: 0, max_active: 28 };
        let mut media = Shingled::new(Pba::DISK, spec);
        assert!(suits("a", Some(14), &media, &[]).is_ok() && suits("a", Some(15), &media, &[]).is_err());
        let begin = |media: &mut Shingled, zone: u64| media.write(Extent::new(Pba::disk(zone * 8), 3)).unwrap();
        (0..14).for_each(|zone| begin(&mut media, zone));
        assert!(crowding(&media).is_empty(), "fourteen more fit");
        begin(&mut media, 14);
        assert_eq!(crowding(&media).len(), 15);
    }
}
