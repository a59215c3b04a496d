//! How many zones or erase blocks fit a drive of another size.

use crate::mechanics::GeometryError;

/// The error that nothing of use fits `blocks` blocks.
pub(super) fn too_small(blocks: u64) -> GeometryError {
    let remedy = "give room for a block, or for one sequential zone or erase block beside those written in place";
    GeometryError::new("capacity", format!("{blocks} blocks are too few"), remedy)
}

/// How many units of `unit_blocks` fit `blocks` blocks, and how many of them are written in place when `in_place` of
/// `units` were.
pub(super) fn with_units(
    blocks: u64,
    unit_blocks: u32,
    units: u32,
    in_place: u32,
) -> Result<(u32, u32), GeometryError> {
    let remedy = "describe larger zones or erase blocks, or a smaller drive";
    let new = u32::try_from(blocks / u64::from(unit_blocks.max(1)))
        .map_err(|_| GeometryError::new("capacity", format!("{blocks} blocks are too many"), remedy))?;
    // Rounded to the nearest, but a drive that had units written in place keeps one.
    let share = u64::from(new) * u64::from(in_place) + u64::from(units) / 2;
    let kept = ((share / u64::from(units.max(1))) as u32).max(u32::from(in_place > 0));
    if new <= kept { Err(too_small(blocks)) } else { Ok((new, kept)) }
}
