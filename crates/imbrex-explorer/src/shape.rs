//! The random set-up of a run: drives, the layer's configuration, the journal.

use std::sync::Arc;

use super::content::BLOCK;
use super::dice::Dice;
use super::drives::{self, RandomDrive, SpaceNeeds};
use super::{Build, Candidate};
use imbrex_core::block::{Extent, Pba};
use imbrex_core::drive::DriveError;
use imbrex_core::layer::{MAP_PAGE_HEADER, MapCache, TranslationLayer};
use imbrex_core::media::{Joined, Media};
use imbrex_core::recording::Recording;
use imbrex_core::samples::{ample_space, sampled};
use imbrex_core::space::{Home, Realms, Space, Zones};
use imbrex_core::tracks::Tracks;
use imbrex_engine::journal::Coding;
use imbrex_engine::rules::Rules;
use imbrex_engine::{JournalLength, JournalTooShort, MapHome, Setup, StackSetup};
use imbrex_layers::{self as layers, ConfigError, Field};

/// Blocks that a journal has at most beyond what it needs: few, so that it wraps and is checkpointed all the time.
const MOST_SPARE: u64 = 48;
/// Entries of a page of a map: few, so that there are several, or so many that a page can be torn.
const PAGE_ENTRIES: [u32; 5] = [3, 4, 6, 8, 100];
/// Bytes of an entry.
const ENTRY_BYTES: u32 = 5;

/// Records gathered before a commit starts of its own accord: few, so that one does within most epochs.
const GATHER: usize = 40;

/// The layer on the flash of a stack.
pub const ON_FLASH: &str = "page-ftl";
/// The layers of which one is on the disk behind it.
pub const ON_DISK: [&str; 3] = ["conventional", "fifo-log", "skylight"];

/// The layer of a run and what it stands on.
pub(super) struct Shape {
    below: Below,
    space: Space,
    /// Blocks of all copies of the journal, and how many those are.
    journal: u32,
    /// Blocks of the map's pages behind it.
    map_blocks: u32,
    copies: u32,
    entry_blocks: usize,
    config: toml::Table,
    name: String,
    build: Build,
    rules: Rules,
}

/// What is below a layer.
enum Below {
    Drive(Box<dyn Media>),
    /// Devices, by number from [`Pba::DISK`].
    Stack(Vec<Shape>),
}

/// A drive of a run.
pub(super) struct Drive {
    /// What it is, empty.
    pub media: Box<dyn Media>,
    /// The journal of the layer on it.
    pub journal: Vec<Extent<Pba>>,
}

/// Why there is no such run.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShapeError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Journal(#[from] JournalTooShort),
}

/// What is below a layer, what of it the layer may use, and the blocks of all copies of the journal.
struct Site {
    below: Below,
    space: Space,
    journal: u32,
    /// Blocks behind them for pages of the layer's map.
    map_blocks: u32,
}

impl Shape {
    /// A random set-up of a layer.
    ///
    /// # Errors
    /// When a layer cannot be made.
    pub fn draw(candidate: &Candidate, rules: Rules, dice: &mut Dice) -> Result<Self, ShapeError> {
        Self::with_room(candidate, rules, 0, dice)
    }

    /// Like [`Shape::draw`], with room for `above` blocks of a layer above, if it is on flash.
    fn with_room(candidate: &Candidate, rules: Rules, above: u32, dice: &mut Dice) -> Result<Self, ShapeError> {
        let needs = SpaceNeeds { reserved: 0, buffer: dice.between(4, 40) as u32, blocks: above };
        let copies = dice.between(1, 2) as u32;
        let spare = if dice.one_in(2) { 0 } else { dice.between(1, MOST_SPARE) as u32 };
        let config = configuration(candidate, dice)?;
        let map_cache = candidate
            .map_pages
            .map(|pages| MapCache { page_bytes: MAP_PAGE_HEADER + dice.pick(&PAGE_ENTRIES) * ENTRY_BYTES, pages });
        let wants_sequential = candidate.recording == Recording::Zoned && dice.one_in(2) && map_cache.is_none();
        let mut found = None;
        // As large a journal as the layer needs is only known when the layer is: until then the same drive is made
        // again, with room for a longer one.
        let needed = JournalLength::AtLeast(1).settle(BLOCK as u32, GATHER, |blocks| {
            let (mut same, journal) = (dice.clone(), blocks + spare);
            let make = |site: &Site| (candidate.build)(&site.space, &config);
            let sequential = wants_sequential.then(|| Site::all_sequential(journal, copies, &mut same)).transpose()?;
            let (layer, site) = match sequential.and_then(|site| Some((make(&site).ok()?, site))) {
                Some(made) => made,
                None => {
                    let draw = |map_blocks, dice: &mut Dice| {
                        let site = Site::new(candidate.recording, (journal * copies, map_blocks), needs, rules, dice)?;
                        let site = Site { space: Space { map_cache, ..site.space }, ..site };
                        Ok::<_, ShapeError>((make(&site)?, site))
                    };
                    let before = same.clone();
                    let (layer, site) = draw(0, &mut same)?;
                    match layer.cached_map().map(|map| MapHome::blocks(map.count()) as u32) {
                        None => (layer, site),
                        // The same drive again, with room for the pages.
                        Some(blocks) => {
                            same = before;
                            draw(blocks, &mut same)?
                        }
                    }
                }
            };
            found = Some((site, same));
            Ok::<_, ShapeError>(layer)
        });
        needed?;
        let Some((Site { below, space, journal, map_blocks }, after)) = found else { unreachable!("a layer was made") };
        *dice = after;
        let entry_blocks = dice.between(1, 4) as usize;
        let (name, build) = (candidate.name.clone(), Arc::clone(&candidate.build));
        Ok(Self { below, space, journal, map_blocks, copies, entry_blocks, config, name, build, rules })
    }

    /// Makes the layer once, to see whether it can be made.
    pub fn layer(&self) -> Result<Box<dyn TranslationLayer>, ConfigError> {
        (self.build)(&self.space, &self.config)
    }

    /// What the runner needs to know.
    pub fn setup(&self) -> StackSetup {
        let below = match &self.below {
            Below::Drive(_) => Vec::new(),
            Below::Stack(shapes) => shapes.iter().map(Self::setup).collect(),
        };
        StackSetup { top: self.top(), below }
    }

    /// What the runner of the layer itself needs to know.
    pub fn top(&self) -> Setup {
        let (build, config) = (Arc::clone(&self.build), self.config.clone());
        // Half of them as they are served, and half as they are simulated.
        let space = Space { spares_ram: self.entry_blocks.is_multiple_of(2), ..self.space.clone() };
        let media: Box<dyn Media> = match &self.below {
            Below::Drive(media) => media.copy(),
            Below::Stack(shapes) => {
                let capacity = |shape: &Self| shape.layer().map_or(0, |layer| layer.capacity());
                Box::new(Joined::new(shapes.iter().map(capacity)))
            }
        };
        Setup {
            make: Box::new(move || match build(&space, &config) {
                Ok(layer) => layer,
                Err(e) => unreachable!("the same layer was made before: {e}"),
            }),
            media,
            journal: self.journal(),
            map_home: self.space.map_cache.map(|MapCache { pages, .. }| MapHome {
                at: Extent::new(Pba::disk(self.journal.into()), self.map_blocks),
                pages,
            }),
            block_bytes: BLOCK,
            identity: 0x1b12e5,
            gather: GATHER,
            entry_blocks: self.entry_blocks,
            coding: Coding::Compact,
            rules: self.rules,
            audit: true,
        }
    }

    /// Whether only some pages of the layer's map are in memory.
    pub fn has_map_pages(&self) -> bool {
        self.space.map_cache.is_some()
    }

    fn journal(&self) -> Vec<Extent<Pba>> {
        let length = self.journal / self.copies;
        (0..self.copies).map(|copy| Extent::new(Pba::disk(u64::from(copy * length)), length)).collect()
    }

    /// The drives, in the order of their numbers.
    pub fn drives(&self) -> Vec<Drive> {
        match &self.below {
            Below::Drive(media) => vec![Drive { media: media.copy(), journal: self.journal() }],
            Below::Stack(shapes) => shapes.iter().flat_map(Self::drives).collect(),
        }
    }

    /// The layer's configuration, for a report.
    pub fn describe(&self) -> String {
        let config: Vec<String> = self.config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let own = format!(
            "{} on {}, {} copies of a journal in {} blocks, {}",
            self.name,
            in_words(&self.space),
            self.copies,
            self.journal,
            config.join(", ")
        );
        match &self.below {
            Below::Drive(_) => own,
            Below::Stack(shapes) => {
                shapes.iter().fold(own, |all, shape| format!("{all}; below it {}", shape.describe()))
            }
        }
    }
}

/// What a layer may use, for a report.
fn in_words(space: &Space) -> String {
    let conventional = format!("{} conventional blocks", space.conventional_blocks);
    let zones = space.zones.map(|zones| format!("{} zones of {} blocks", zones.count, zones.zone_blocks));
    let bands = space.bands.as_ref().map(|bands| format!("{} bands", bands.count()));
    let tracks = space.tracks.map(|tracks| {
        let Tracks { groups, bottom_tracks, bottom_blocks, top_tracks, top_blocks, .. } = tracks;
        format!(
            "{groups} groups of {bottom_tracks} bottom tracks of {bottom_blocks} blocks and {top_tracks} top ones of {top_blocks}"
        )
    });
    let realms = space.realms.map(|realms| {
        let Realms { count, conventional_zones, sequential_zones, zone_blocks, .. } = realms;
        format!("{count} realms of {conventional_zones} or {sequential_zones} zones of {zone_blocks} blocks")
    });
    let home = space.home.map(|home| format!("a disk of {} blocks behind", home.blocks));
    let map =
        space.map_cache.map(|map| format!("{} pages of {} bytes of the map in memory", map.pages, map.page_bytes));
    let buffer = (space.buffer_blocks > 0).then(|| format!("a buffer of {} blocks", space.buffer_blocks));
    let all = [Some(conventional), zones, bands, tracks, realms, home, buffer, map];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A sample for each field that runs vary, together such that the layer survives power loss, and can do with a part of
/// its map in memory if that is asked for.
///
/// # Errors
/// A sample that the layer does not take.
pub fn configuration(candidate: &Candidate, dice: &mut Dice) -> Result<toml::Table, ConfigError> {
    let space = ample_space();
    let page_bytes = MAP_PAGE_HEADER + PAGE_ENTRIES[PAGE_ENTRIES.len() - 1] * ENTRY_BYTES;
    let map_cache = candidate.map_pages.map(|pages| MapCache { page_bytes, pages });
    let divided = Space { map_cache, ..space.clone() };
    let survives = |config: &toml::Table| {
        let layer = (candidate.build)(&space, config)?;
        Ok(layer.facts().loses_flushed.is_none() && (candidate.build)(&divided, config).is_ok())
    };
    let choose = |field: &'static Field| (!field.samples.is_empty()).then(|| *dice.pick(field.samples));
    sampled(&candidate.name, candidate.fields, choose, survives)
}

impl Site {
    /// A random drive, or a stack of two, of which the first `journal` blocks are the journal's, and the next `map_blocks`
    /// those of a map's pages.
    fn new(
        recording: Recording,
        (journal, map_blocks): (u32, u32),
        needs: SpaceNeeds,
        rules: Rules,
        dice: &mut Dice,
    ) -> Result<Self, ShapeError> {
        let taken = journal + map_blocks;
        let (below, whole) = match RandomDrive::new(recording, &SpaceNeeds { reserved: taken, ..needs }, dice) {
            Some(drive) => on_drive(&drive)?,
            None => stacked(journal, needs.buffer, rules, dice)?,
        };
        let conventional_blocks = whole.conventional_blocks - u64::from(taken);
        let space = Space { conventional: Pba::disk(taken.into()), conventional_blocks, ..whole };
        Ok(Self { below, space, journal, map_blocks })
    }

    /// A drive without conventional zones, whose first zones hold copies of a journal with room for `journal` blocks
    /// each.
    fn all_sequential(journal: u32, copies: u32, dice: &mut Dice) -> Result<Self, ShapeError> {
        let (drive, journal) = drives::sequential(journal, copies, dice);
        let (below, whole) = on_drive(&drive)?;
        let zones = whole.zones.map(|zones| {
            let taken = journal / zones.zone_blocks;
            Zones { first: zones.unit(taken), count: zones.count - taken, ..zones }
        });
        Ok(Self { below, space: Space { zones, ..whole }, journal, map_blocks: 0 })
    }
}

/// A drive, and all of its space.
fn on_drive(drive: &RandomDrive) -> Result<(Below, Space), DriveError> {
    let preset = drive.preset();
    let media = preset.media(preset.recording())?;
    let space = Space::of(media.as_ref(), drive.buffer);
    Ok((Below::Drive(media), space))
}

/// Flash for a cache of `buffer` blocks and its journal, and a disk behind it.
fn stacked(journal: u32, buffer: u32, rules: Rules, dice: &mut Dice) -> Result<(Below, Space), ShapeError> {
    let candidate = |name: &str| Ok::<_, ConfigError>(Candidate::layer(layers::find(name)?));
    let flash = Shape::with_room(&candidate(ON_FLASH)?, rules, journal + buffer, dice)?;
    let on_disk = *dice.pick(&ON_DISK);
    let disk = Shape::draw(&candidate(on_disk)?, rules, dice)?;
    let space = Space {
        conventional: Pba::disk(0),
        conventional_blocks: flash.layer()?.capacity(),
        zones: None,
        bands: None,
        tracks: None,
        realms: None,
        home: Some(Home::behind(disk.layer()?.capacity())),
        buffer_blocks: buffer,
        spares_ram: false,
        map_cache: None,
    };
    Ok((Below::Stack(vec![flash, disk]), space))
}
