//! Random tiny disks, small enough that everything happens often.

use super::dice::Dice;
use crate::bands::BandRun;
use crate::block::Pba;
use crate::layers::Recording;
use crate::media::{Banded, Conventional, Flash, FlashShape, Interlaced, Media, Shingled, ZonedSpec};
use crate::plan::Unit;
use crate::space::{Space, Zones};
use crate::tracks::{Overlap, Tracks};

/// A disk, and the part of it that is left beside a journal; for flash with room for `blocks` that a layer above needs. None
/// for a recording that is no drive's.
pub(super) fn draw(
    recording: Recording,
    (journal, buffer, blocks): (u32, u32, u32),
    dice: &mut Dice,
) -> Option<(Space, Box<dyn Media>)> {
    Some(match recording {
        Recording::Conventional => conventional(journal, buffer, dice),
        Recording::Zoned => zoned(journal, buffer, 0, dice),
        Recording::WholeZones => {
            let whole = dice.between(1, 4) as u32;
            zoned(journal, 0, whole, dice)
        }
        Recording::Banded => banded(journal, dice),
        Recording::Interlaced => interlaced(journal, buffer, dice),
        Recording::Flash => flash(journal, blocks, dice),
        Recording::Cached => return None,
    })
}

fn conventional(journal: u32, buffer: u32, dice: &mut Dice) -> (Space, Box<dyn Media>) {
    let blocks = dice.between(20, 80);
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: blocks,
        zones: None,
        bands: None,
        tracks: None,
        home: None,
        buffer_blocks: buffer,
    };
    (space, Box::new(Conventional::new(Pba::DISK, u64::from(journal) + blocks)))
}

/// With `whole` conventional zones behind the journal and the buffer.
fn zoned(journal: u32, buffer: u32, whole: u32, dice: &mut Dice) -> (Space, Box<dyn Media>) {
    let zone_blocks = dice.between(6, 24) as u32;
    let conventional_zones = (journal + buffer).div_ceil(zone_blocks) + whole;
    let count = dice.between(4, 8) as u32;
    let spec =
        ZonedSpec { zones: conventional_zones + count, zone_blocks, conventional_zones, max_open: 0, max_active: 0 };
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: u64::from(conventional_zones * zone_blocks - journal),
        bands: None,
        zones: Some(Zones { first: Unit::disk(conventional_zones), count, zone_blocks }),
        tracks: None,
        home: None,
        buffer_blocks: buffer,
    };
    (space, Box::new(Shingled::new(Pba::DISK, spec)))
}

/// Bands of up to three lengths behind a cache that holds some of them.
fn banded(journal: u32, dice: &mut Dice) -> (Space, Box<dyn Media>) {
    let cache = dice.between(8, 80) as u32;
    let runs: Vec<BandRun> = (0..dice.between(1, 3))
        .map(|_| BandRun { bands: dice.between(1, 3) as u32 + 1, band_blocks: dice.between(4, 20) as u32 })
        .collect();
    let disk = Banded::new(Pba::DISK, journal + cache, &runs);
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: u64::from(cache),
        zones: None,
        tracks: None,
        home: None,
        bands: disk.bands().cloned(),
        buffer_blocks: cache,
    };
    (space, Box::new(disk))
}

fn interlaced(journal: u32, buffer: u32, dice: &mut Dice) -> (Space, Box<dyn Media>) {
    let bottom_blocks = dice.between(3, 9) as u32;
    let top_blocks = dice.between(2, u64::from(bottom_blocks).min(6)) as u32;
    let bottom_tracks = dice.between(2, 5) as u32;
    let tracks = Tracks {
        conventional_tracks: journal.div_ceil(bottom_blocks),
        groups: dice.between(1, 2) as u32,
        bottom_tracks,
        top_tracks: bottom_tracks - dice.below(2) as u32,
        bottom_blocks,
        top_blocks,
        skew_blocks: dice.below(u64::from(top_blocks)) as u32,
        overlap: *dice.pick(&[Overlap::Angle, Overlap::Angle, Overlap::Block, Overlap::Track]),
    };
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: tracks.conventional_blocks() - u64::from(journal),
        zones: None,
        bands: None,
        tracks: Some(tracks),
        home: None,
        buffer_blocks: buffer,
    };
    (space, Box::new(Interlaced::new(Pba::DISK, tracks)))
}

fn flash(journal: u32, blocks: u32, dice: &mut Dice) -> (Space, Box<dyn Media>) {
    // Long erase blocks, so that the records of a collection fill more than one journal entry; few of them, so that it comes.
    let (pages, most) = *dice.pick(&[(4, 10), (9, 10), (16, 8), (48, 5)]);
    let rewritable = journal.div_ceil(pages);
    // Some layers keep nearly half of the pages back.
    let count = dice.between(4, most) as u32 + (2 * blocks).div_ceil(pages);
    let shape = FlashShape { erase_blocks: rewritable + count, pages, rewritable_erase_blocks: rewritable };
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: u64::from(rewritable * pages - journal),
        zones: Some(Zones { first: Unit::disk(rewritable), count, zone_blocks: pages }),
        bands: None,
        tracks: None,
        home: None,
        buffer_blocks: 0,
    };
    (space, Box::new(Flash::new(Pba::DISK, shape)))
}
