//! Random tiny drives, small enough that everything happens often.

use super::content::BLOCK;
use super::dice::Dice;
use imbrex_core::bands::BandRun;
use imbrex_core::drive::{DrivePreset, HybridSpec, MediaSpec};
use imbrex_core::recording::Recording;
use imbrex_core::tracks::{Overlap, Tracks};

/// What a drive needs space for, in blocks.
#[derive(Copy, Clone, Debug)]
pub struct SpaceNeeds {
    /// Conventional blocks that are not the layer's.
    pub reserved: u32,
    /// The persistent buffer, where its size can be chosen.
    pub buffer: u32,
    /// What a layer above needs, on flash.
    pub blocks: u32,
}

/// A random drive.
#[derive(Clone, Debug)]
pub struct RandomDrive {
    /// Its recording.
    pub media: MediaSpec,
    /// Blocks of the persistent buffer.
    pub buffer: u32,
}

impl RandomDrive {
    /// A drive with room for what is asked for; none for a recording that is no drive's.
    pub fn new(recording: Recording, needs: &SpaceNeeds, dice: &mut Dice) -> Option<Self> {
        let SpaceNeeds { reserved, buffer, .. } = *needs;
        Some(match recording {
            Recording::Conventional => {
                let blocks = u64::from(reserved) + dice.between(20, 80);
                Self { media: MediaSpec::Conventional { blocks }, buffer }
            }
            Recording::Zoned => zoned(reserved, buffer, 0, dice),
            Recording::WholeZones => {
                let whole = dice.between(1, 4) as u32;
                zoned(reserved, 0, whole, dice)
            }
            Recording::Banded => banded(reserved, dice),
            Recording::Interlaced => Self { media: interlaced(reserved, dice), buffer },
            Recording::Flash => Self { media: flash(needs, dice), buffer: 0 },
            Recording::Hybrid => hybrid(reserved, buffer, dice),
            Recording::Cached => return None,
        })
    }

    /// The drive, with times that do not matter.
    ///
    /// # Panics
    /// Never: the presets it takes the times of are built in.
    #[must_use]
    pub fn preset(&self) -> DrivePreset {
        let like = match self.media {
            MediaSpec::Interlaced(_) => "tiny-interlaced",
            MediaSpec::Hybrid(_) => "tiny-hybrid",
            MediaSpec::Flash { .. } => "tiny-flash",
            _ => "tiny-conventional",
        };
        match DrivePreset::named(like) {
            Ok(like) => DrivePreset {
                name: "tiny".to_owned(),
                description: "of the crash explorer".to_owned(),
                block_bytes: BLOCK as u32,
                media: self.media.clone(),
                timing: like.timing,
            },
            Err(e) => unreachable!("a built-in preset: {e}"),
        }
    }
}

/// With `whole` conventional zones behind what is reserved and the buffer.
fn zoned(reserved: u32, buffer: u32, whole: u32, dice: &mut Dice) -> RandomDrive {
    let zone_blocks = dice.between(6, 24) as u32;
    let conventional_zones = (reserved + buffer).div_ceil(zone_blocks) + whole;
    let zones = conventional_zones + dice.between(4, 8) as u32;
    RandomDrive {
        media: MediaSpec::Zoned { zones, zone_blocks, conventional_zones, max_open: 0, max_active: 0 },
        buffer,
    }
}

/// Few realms, so that they are soon turned, behind zones for what is reserved and the buffer.
fn hybrid(reserved: u32, buffer: u32, dice: &mut Dice) -> RandomDrive {
    let zone_blocks = dice.between(6, 24) as u32;
    let (conventional_zones, sequential_zones) = *dice.pick(&[(2, 3), (2, 3), (1, 2), (3, 4), (2, 5)]);
    let media = MediaSpec::Hybrid(HybridSpec {
        fixed_zones: (reserved + buffer).div_ceil(zone_blocks) + dice.below(3) as u32,
        realms: dice.between(3, 7) as u32,
        conventional_zones,
        sequential_zones,
        zone_blocks,
        activation_ms: 50,
    });
    RandomDrive { media, buffer }
}

/// A disk without conventional zones, and how many of its blocks `copies` copies of a journal take, with room for
/// `journal` blocks in each: a zone more is emptied, and another left out after a power cut.
pub fn sequential(journal: u32, copies: u32, dice: &mut Dice) -> (RandomDrive, u32) {
    let zone_blocks = dice.between(6, 24) as u32;
    let taken = copies * (journal.div_ceil(zone_blocks) + 2);
    let zones = taken + dice.between(4, 8) as u32;
    let media = MediaSpec::Zoned { zones, zone_blocks, conventional_zones: 0, max_open: 0, max_active: 0 };
    (RandomDrive { media, buffer: 0 }, taken * zone_blocks)
}

/// Bands of up to three lengths behind a cache that holds some of them.
fn banded(reserved: u32, dice: &mut Dice) -> RandomDrive {
    let buffer = dice.between(8, 80) as u32;
    let bands = (0..dice.between(1, 3))
        .map(|_| BandRun { bands: dice.between(1, 3) as u32 + 1, band_blocks: dice.between(4, 20) as u32 })
        .collect();
    RandomDrive { media: MediaSpec::Banded { cache_blocks: reserved + buffer, bands }, buffer }
}

fn interlaced(reserved: u32, dice: &mut Dice) -> MediaSpec {
    let bottom_blocks = dice.between(3, 9) as u32;
    let top_blocks = dice.between(2, u64::from(bottom_blocks).min(6)) as u32;
    let bottom_tracks = dice.between(2, 5) as u32;
    MediaSpec::Interlaced(Tracks {
        conventional_tracks: reserved.div_ceil(bottom_blocks),
        groups: dice.between(1, 2) as u32,
        bottom_tracks,
        top_tracks: bottom_tracks - dice.below(2) as u32,
        bottom_blocks,
        top_blocks,
        skew_blocks: dice.below(u64::from(top_blocks)) as u32,
        overlap: *dice.pick(&[Overlap::Angle, Overlap::Angle, Overlap::Block, Overlap::Track]),
    })
}

fn flash(needs: &SpaceNeeds, dice: &mut Dice) -> MediaSpec {
    // Long erase blocks, so that the records of a collection fill more than one journal entry; few of them, so that it
    // comes.
    let (pages, most) = *dice.pick(&[(4, 10), (9, 10), (16, 8), (48, 5)]);
    let rewritable_erase_blocks = needs.reserved.div_ceil(pages);
    // Some layers keep nearly half of the pages back.
    let count = dice.between(4, most) as u32 + (2 * needs.blocks).div_ceil(pages);
    MediaSpec::Flash { erase_blocks: rewritable_erase_blocks + count, pages, rewritable_erase_blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_random_hybrid_drive_can_be_built() {
        for seed in 0..300 {
            let mut dice = Dice::new(seed);
            let needs = SpaceNeeds { reserved: 20, buffer: dice.between(4, 40) as u32, blocks: 0 };
            let drive = RandomDrive::new(Recording::Hybrid, &needs, &mut dice).unwrap();
            let media = drive.preset().media(Recording::Hybrid).unwrap();
            let realms = media.realms().unwrap();
            assert!(realms.conventional(0).start.block() >= u64::from(needs.reserved + needs.buffer), "seed {seed}");
        }
    }
}
