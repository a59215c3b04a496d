//! What a run's seed draws before it starts: the disk, the layer's configuration, the luck.

use std::sync::Arc;

use super::Subject;
use super::content::SECTOR;
use super::dice::Dice;
use super::store::Disk;
use crate::bands::BandRun;
use crate::block::{Extent, Pba};
use crate::layer::TranslationLayer;
use crate::layers::{ConfigError, Recording};
use crate::media::{Banded, Conventional, Flash, FlashShape, Interlaced, Media, Shingled, ZonedSpec};
use crate::perform::Setup;
use crate::perform::rules::Rules;
use crate::plan::Unit;
use crate::space::{Space, Zones};
use crate::tracks::{Overlap, Tracks};

/// Bytes of a block: two sectors, so that one can be torn.
pub(super) const BLOCK: usize = 2 * SECTOR;
/// The fewest and the most blocks of the journal: few, so that it wraps and is checkpointed all the time.
const JOURNAL: (u64, u64) = (96, 144);
/// Blocks that the images of redo moves need beyond that.
const IMAGES: u32 = 120;
/// Records gathered before a commit starts of its own accord.
const GATHER: usize = 40;

/// The disk and the layer of a run.
pub(super) struct Shape {
    pub disk: Disk,
    space: Space,
    journal: u32,
    entry_blocks: usize,
    config: toml::Table,
    build: super::Build,
    rules: Rules,
}

impl Shape {
    pub fn draw(subject: &Subject, rules: Rules, dice: &mut Dice) -> Self {
        let buffer = dice.between(4, 40) as u32;
        let mut journal = dice.between(JOURNAL.0, JOURNAL.1) as u32;
        if subject.recording == Recording::Interlaced {
            journal += IMAGES;
        }
        let (space, disk) = match subject.recording {
            Recording::Conventional => conventional(journal, buffer, dice),
            Recording::Zoned => zoned(journal, buffer, dice),
            Recording::Banded => banded(journal, dice),
            Recording::Interlaced => interlaced(journal, buffer, dice),
            Recording::Flash => flash(journal, dice),
        };
        let mut config = toml::Table::new();
        for field in subject.fields.iter().filter(|field| !field.samples.is_empty()) {
            let sample = dice.pick(field.samples);
            if let Ok(mut table) = toml::from_str::<toml::Table>(&format!("value = {sample}")) {
                config.extend(table.remove("value").map(|value| (field.key.to_owned(), value)));
            }
        }
        let entry_blocks = dice.between(1, 4) as usize;
        Self { disk, space, journal, entry_blocks, config, build: Arc::clone(&subject.build), rules }
    }

    /// Makes the layer once, to see whether it can be made.
    pub fn layer(&self) -> Result<Box<dyn TranslationLayer>, ConfigError> {
        (self.build)(&self.space, &self.config)
    }

    /// What the runner needs to know.
    pub fn setup(&self) -> Setup {
        let (build, space, config) = (Arc::clone(&self.build), self.space.clone(), self.config.clone());
        Setup {
            make: Box::new(move || match build(&space, &config) {
                Ok(layer) => layer,
                Err(e) => unreachable!("the same layer was made before: {e}"),
            }),
            media: self.disk.boxed(),
            journal: self.journal(),
            block_bytes: BLOCK,
            identity: 0x1b12e5,
            gather: GATHER,
            entry_blocks: self.entry_blocks,
            rules: self.rules,
            audit: true,
        }
    }

    pub fn journal(&self) -> Extent<Pba> {
        Extent::new(Pba::disk(0), self.journal)
    }

    /// The layer's configuration, for a report.
    pub fn describe(&self) -> String {
        let config: Vec<String> = self.config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{:?}, a journal of {} blocks, {}", self.space, self.journal, config.join(", "))
    }
}

fn conventional(journal: u32, buffer: u32, dice: &mut Dice) -> (Space, Disk) {
    let blocks = dice.between(20, 80);
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: blocks,
        zones: None,
        bands: None,
        tracks: None,
        buffer_blocks: buffer,
    };
    (space, Disk::Conventional(Conventional::new(Pba::DISK, u64::from(journal) + blocks)))
}

fn zoned(journal: u32, buffer: u32, dice: &mut Dice) -> (Space, Disk) {
    let zone_blocks = dice.between(6, 24) as u32;
    let conventional_zones = (journal + buffer).div_ceil(zone_blocks);
    let count = dice.between(4, 8) as u32;
    let spec =
        ZonedSpec { zones: conventional_zones + count, zone_blocks, conventional_zones, max_open: 0, max_active: 0 };
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: u64::from(conventional_zones * zone_blocks - journal),
        bands: None,
        zones: Some(Zones { first: Unit::disk(conventional_zones), count, zone_blocks }),
        tracks: None,
        buffer_blocks: buffer,
    };
    (space, Disk::Zoned(Shingled::new(Pba::DISK, spec)))
}

/// Bands of up to three lengths behind a cache that holds some of them.
fn banded(journal: u32, dice: &mut Dice) -> (Space, Disk) {
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
        bands: disk.bands().cloned(),
        buffer_blocks: cache,
    };
    (space, Disk::Banded(disk))
}

fn interlaced(journal: u32, buffer: u32, dice: &mut Dice) -> (Space, Disk) {
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
        buffer_blocks: buffer,
    };
    (space, Disk::Interlaced(Interlaced::new(Pba::DISK, tracks)))
}

fn flash(journal: u32, dice: &mut Dice) -> (Space, Disk) {
    // Long erase blocks, so that the records of a collection fill more than one journal entry; few of them, so that it comes.
    let (pages, most) = *dice.pick(&[(4, 10), (9, 10), (16, 8), (48, 5)]);
    let rewritable = journal.div_ceil(pages);
    let count = dice.between(4, most) as u32;
    let shape = FlashShape { erase_blocks: rewritable + count, pages, rewritable_erase_blocks: rewritable };
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: u64::from(rewritable * pages - journal),
        zones: Some(Zones { first: Unit::disk(rewritable), count, zone_blocks: pages }),
        bands: None,
        tracks: None,
        buffer_blocks: 0,
    };
    (space, Disk::Flash(Flash::new(Pba::DISK, shape)))
}
