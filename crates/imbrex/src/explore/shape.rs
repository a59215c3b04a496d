//! What a run's seed draws before it starts: the disk, the layer's configuration, the luck.

use std::sync::Arc;

use super::Drawing;
use super::content::SECTOR;
use super::dice::Dice;
use super::disks::{self, Drawn, Room};
use crate::block::{Extent, Pba};
use crate::layer::TranslationLayer;
use crate::layers::{self, ConfigError, Field, Recording};
use crate::media::{Joined, Media};
use crate::perform::rules::Rules;
use crate::perform::{Setup, StackSetup, journal_need};
use crate::space::{Home, Space, Zones};

/// Bytes of a block: two sectors, so that one can be torn.
pub const BLOCK: usize = 2 * SECTOR;
/// The fewest and the most blocks of the journal: few, so that it wraps and is checkpointed all the time.
const JOURNAL: (u64, u64) = (144, 192);
/// Blocks that the images of redo moves need beyond that.
const IMAGES: u32 = 120;
/// Records gathered before a commit starts of its own accord.
const GATHER: usize = 40;

/// The layer on the flash of a stack.
pub const ON_FLASH: &str = "page-ftl";
/// Those of which one is on the disk behind it.
pub const ON_DISK: [&str; 3] = ["conventional", "fifo-log", "skylight"];

/// The layer of a run and what it stands on.
pub(super) struct Shape {
    ground: Ground,
    space: Space,
    /// Blocks of all copies of the journal, and how many those are.
    journal: u32,
    copies: u32,
    /// Blocks of each copy that are used.
    ring: u32,
    entry_blocks: usize,
    config: toml::Table,
    name: String,
    build: super::Build,
    rules: Rules,
}

enum Ground {
    Drive(Box<dyn Media>),
    /// Devices, by number from [`Pba::DISK`].
    Devices(Vec<Shape>),
}

/// A drive of a run.
pub(super) struct Drive {
    /// What it is, empty.
    pub media: Box<dyn Media>,
    /// The journal of the layer on it.
    pub journal: Vec<Extent<Pba>>,
}

impl Shape {
    /// Draws what a layer needs.
    ///
    /// # Errors
    /// When a layer below cannot be made.
    pub fn draw(drawing: &Drawing, rules: Rules, dice: &mut Dice) -> Result<Self, ConfigError> {
        Self::with_room(drawing, rules, 0, dice)
    }

    /// The same with room for `blocks` of a layer above, if it is on flash.
    fn with_room(drawing: &Drawing, rules: Rules, blocks: u32, dice: &mut Dice) -> Result<Self, ConfigError> {
        let buffer = dice.between(4, 40) as u32;
        let mut journal = dice.between(JOURNAL.0, JOURNAL.1) as u32;
        let copies = 1 + journal % 2;
        if drawing.recording == Recording::Interlaced {
            journal += IMAGES;
        }
        let config = configuration(drawing.fields, dice);
        let sequential = drawing.recording == Recording::Zoned && dice.one_in(2);
        let sequential = sequential.then(|| all_sequential(journal, copies, dice)).transpose()?;
        let fits = |(space, ..): &(Space, Ground, u32)| (drawing.build)(space, &config).is_ok();
        let (space, ground, in_zones) = if let Some((space, ground, blocks)) = sequential.filter(fits) {
            journal = blocks;
            (space, ground, true)
        } else {
            // Flash that is large enough for a layer above has more to remember.
            journal = (journal + blocks / 16) * copies;
            let room = Room { reserved: journal, buffer, blocks };
            let (space, ground) = match disks::draw(drawing.recording, &room, dice) {
                Some(drawn) => on_drive(drawn, journal)?,
                None => stacked(journal, buffer, rules, dice)?,
            };
            (space, ground, false)
        };
        let entry_blocks = dice.between(1, 4) as usize;
        let (name, build) = (drawing.name.clone(), Arc::clone(&drawing.build));
        let ring = journal / copies;
        let mut shape = Self { ground, space, journal, copies, ring, entry_blocks, config, name, build, rules };
        if !in_zones && dice.one_in(2) {
            // No longer than it must be.
            let need = journal_need(shape.layer()?.as_ref(), BLOCK, GATHER);
            shape.ring = ring.min(u32::try_from(need).unwrap_or(ring));
        }
        Ok(shape)
    }

    /// Makes the layer once, to see whether it can be made.
    pub fn layer(&self) -> Result<Box<dyn TranslationLayer>, ConfigError> {
        (self.build)(&self.space, &self.config)
    }

    /// What the runner needs to know.
    pub fn setup(&self) -> StackSetup {
        let below = match &self.ground {
            Ground::Drive(_) => Vec::new(),
            Ground::Devices(shapes) => shapes.iter().map(Self::setup).collect(),
        };
        StackSetup { top: self.top(), below }
    }

    /// What the runner of the layer itself needs to know.
    pub fn top(&self) -> Setup {
        let (build, space, config) = (Arc::clone(&self.build), self.space.clone(), self.config.clone());
        let media: Box<dyn Media> = match &self.ground {
            Ground::Drive(media) => media.copy(),
            Ground::Devices(shapes) => {
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
            block_bytes: BLOCK,
            identity: 0x1b12e5,
            gather: GATHER,
            entry_blocks: self.entry_blocks,
            rules: self.rules,
            audit: true,
        }
    }

    fn journal(&self) -> Vec<Extent<Pba>> {
        let apart = self.journal / self.copies;
        (0..self.copies).map(|copy| Extent::new(Pba::disk(u64::from(copy * apart)), self.ring)).collect()
    }

    /// The drives, in the order of their numbers.
    pub fn drives(&self) -> Vec<Drive> {
        match &self.ground {
            Ground::Drive(media) => vec![Drive { media: media.copy(), journal: self.journal() }],
            Ground::Devices(shapes) => shapes.iter().flat_map(Self::drives).collect(),
        }
    }

    /// The layer's configuration, for a report.
    pub fn describe(&self) -> String {
        let config: Vec<String> = self.config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let own = format!(
            "{} on {:?}, {} copies of a journal in {} blocks, {}",
            self.name,
            self.space,
            self.copies,
            self.journal,
            config.join(", ")
        );
        match &self.ground {
            Ground::Drive(_) => own,
            Ground::Devices(shapes) => {
                shapes.iter().fold(own, |all, shape| format!("{all}; below it {}", shape.describe()))
            }
        }
    }
}

/// A value for each field that runs vary.
pub fn configuration(fields: &[Field], dice: &mut Dice) -> toml::Table {
    let mut config = toml::Table::new();
    for field in fields.iter().filter(|field| !field.samples.is_empty()) {
        let sample = dice.pick(field.samples);
        if let Ok(mut table) = toml::from_str::<toml::Table>(&format!("value = {sample}")) {
            config.extend(table.remove("value").map(|value| (field.key.to_owned(), value)));
        }
    }
    config
}

/// A drive, and the part of it that is left beside a journal.
fn on_drive(drawn: Drawn, journal: u32) -> Result<(Space, Ground), ConfigError> {
    let (preset, buffer) = (drawn.preset(), drawn.buffer);
    let media = preset.media(preset.recording());
    let media = media.map_err(|e| ConfigError::Space { layer: "any", reason: e.to_string() })?;
    let all = Space::of(media.as_ref(), buffer);
    let (conventional, conventional_blocks) =
        (Pba::disk(u64::from(journal)), all.conventional_blocks - u64::from(journal));
    Ok((Space { conventional, conventional_blocks, ..all }, Ground::Drive(media)))
}

/// A drive without conventional zones, whose first zones hold copies of a journal with room for so many blocks each;
/// and the blocks of all copies.
fn all_sequential(journal: u32, copies: u32, dice: &mut Dice) -> Result<(Space, Ground, u32), ConfigError> {
    let (drawn, blocks) = disks::sequential(journal, copies, dice);
    let (all, ground) = on_drive(drawn, 0)?;
    let zones = all.zones.map(|zones| {
        let taken = blocks / zones.zone_blocks;
        Zones { first: zones.unit(taken), count: zones.count - taken, ..zones }
    });
    Ok((Space { zones, ..all }, ground, blocks))
}

/// Flash for a cache of `buffer` blocks and its journal, and a disk behind it.
fn stacked(journal: u32, buffer: u32, rules: Rules, dice: &mut Dice) -> Result<(Space, Ground), ConfigError> {
    let drawing = |name: &str| Ok::<_, ConfigError>(Drawing::layer(layers::find(name)?));
    let flash = Shape::with_room(&drawing(ON_FLASH)?, rules, journal + buffer, dice)?;
    let on_disk = *dice.pick(&ON_DISK);
    let disk = Shape::draw(&drawing(on_disk)?, rules, dice)?;
    let space = Space {
        conventional: Pba::disk(u64::from(journal)),
        conventional_blocks: flash.layer()?.capacity() - u64::from(journal),
        zones: None,
        bands: None,
        tracks: None,
        home: Some(Home { start: Pba::new(Pba::DISK + 1, 0), blocks: disk.layer()?.capacity() }),
        buffer_blocks: buffer,
    };
    Ok((space, Ground::Devices(vec![flash, disk])))
}
