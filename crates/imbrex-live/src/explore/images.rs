//! Images under a volume, on which the explorer runs a layer.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::explore::{BLOCK, Devices, DevicesError, Dice};
use imbrex::layer::{Condition, Unwritten};
use imbrex::layers::LayerInfo;
use imbrex::media::{Illegal, Media};
use imbrex::perform::rules::{Rule, Rules};
use imbrex::perform::{IoKind, IoResult, Stack, StackSetup};
use imbrex::plan::Unit;
use imbrex::space::superblock_blocks;

use super::drawing::{Drawn, drives};
use super::error::ImagesError;
use super::rot::Rot;
use super::sums::Sums;
use super::volatile::{Ends, Volatile};
use crate::image::{Image, ImageError};
use crate::layout::COPIES;
use crate::store::{Store, StoreError};
use crate::sums::Checksums;
use crate::volume::{FormatOptions, Members, PAGE_OVERHEAD, Volume, VolumeError, format_with};

/// How often a larger drive is tried when one is too small for the journal, each with a sixteenth more.
const ATTEMPTS: u32 = 80;
const MORE: u32 = 16;

/// Blocks of a region that is marked as being written: a few for each drive.
const REGION_BLOCKS: u32 = 24;

/// A drive, and the file that it is emulated in.
pub(super) struct Disk {
    pub preset: DrivePreset,
    pub file: Volatile,
}

/// Images under a volume.
pub struct Images {
    info: &'static LayerInfo,
    config: toml::Table,
    buffer: Option<BufferSize>,
    pub(super) disks: Vec<Disk>,
    pub(super) images: Vec<Arc<Image<Volatile>>>,
    rules: Rules,
    gather: usize,
    entry_blocks: usize,
    capacity: u64,
    pub(super) journals: Vec<Vec<Extent<Pba>>>,
    /// Where pages of the map of the one layer there is lie, if some do.
    pub(super) map_home: Option<Extent<Pba>>,
    /// What a block reads as that was never written.
    pub(super) unwritten: Unwritten,
    /// The copy of all metadata that is damaged as time goes by.
    bad_copy: usize,
    /// Whether checksums are kept, and what of them.
    sums: Sums,
    /// Pages of the layer's map that are in memory, if the rest is on the drive.
    map_pages: Option<u32>,
    /// The volume's members: the images, with checksums or without.
    pub(super) volume: Members,
    /// Bytes that changed without a write.
    pub(super) rotten: Vec<Rot>,
    /// How many did so far.
    pub(super) rots: u64,
}

impl Images {
    /// Draws drives for a layer that a volume fits on.
    ///
    /// # Errors
    /// When no drive that is drawn takes the volume.
    pub fn draw(info: &'static LayerInfo, rules: Rules, dice: &mut Dice) -> Result<Self, ImagesError> {
        Self::draw_with(info, rules, Sums::None, dice)
    }

    /// Draws drives for a layer that a volume fits on with checksums, or with parts of what they need.
    ///
    /// # Errors
    /// As for [`Images::draw`].
    pub fn draw_with(info: &'static LayerInfo, rules: Rules, sums: Sums, dice: &mut Dice) -> Result<Self, ImagesError> {
        Self::draw_paged(info, rules, sums, None, dice)
    }

    /// The same, with so many pages of the layer's map in memory and the rest on the drive, if it says how many.
    ///
    /// # Errors
    /// As for [`Images::draw`].
    pub fn draw_paged(
        info: &'static LayerInfo,
        rules: Rules,
        sums: Sums,
        map_pages: Option<u32>,
        dice: &mut Dice,
    ) -> Result<Self, ImagesError> {
        let gather = *dice.pick(&[40, 40, 1024]);
        let entry_blocks = *dice.pick(&[1, 2, 4, 64]);
        let bad_copy = dice.below(2) as usize;
        let (mut why, mut reserved) = (String::new(), COPIES as u32 * superblock_blocks(BLOCK as u32));
        for _ in 0..ATTEMPTS {
            reserved += reserved / MORE;
            let Drawn { presets, config, buffer } = drives(info, reserved, sums, map_pages, dice)?;
            let disk = |preset: DrivePreset| Ok(Disk { file: file(&preset, rules)?, preset });
            let disks = presets.into_iter().map(disk).collect::<Result<Vec<_>, ImagesError>>()?;
            let (images, journals, capacity) = (Vec::new(), Vec::new(), 0);
            let mut made = Self {
                info,
                config,
                buffer,
                disks,
                images,
                rules,
                gather,
                entry_blocks,
                capacity,
                journals,
                map_home: None,
                bad_copy,
                unwritten: Unwritten::Zeros,
                sums,
                map_pages,
                volume: Vec::new(),
                rotten: Vec::new(),
                rots: 0,
            };
            match made.make() {
                Ok(volume) => {
                    made.notice(&made.patched(&volume)?);
                    made.wipe();
                    return Ok(made);
                }
                Err(
                    e @ (VolumeError::Room(_)
                    | VolumeError::Sums(_)
                    | VolumeError::MapRoom(_)
                    | VolumeError::Refused(_)
                    | VolumeError::Active(_)
                    | VolumeError::Journal(_)
                    | VolumeError::Config(_)),
                ) => {
                    why = format!("{e}; {}", made.describe());
                }
                Err(source) => return Err(ImagesError::Drawn { source, drives: made.describe() }),
            }
        }
        Err(ImagesError::TooSmall(why))
    }

    /// Empties every file.
    pub(super) fn wipe(&mut self) {
        self.close();
        self.rotten.clear();
        let rules = self.rules;
        for disk in &mut self.disks {
            disk.file = Volatile::new(disk.file.len(), !rules.keeps(Rule::WholeSectors));
        }
    }

    /// Formats a volume, on the images that are there or, where there is none, on a new one.
    ///
    /// # Errors
    /// When it cannot be formatted.
    pub fn make(&mut self) -> Result<Volume, VolumeError> {
        let refused = |e: ImageError| VolumeError::Members(e.to_string());
        self.close();
        self.rotten.clear();
        for Disk { preset, file } in &self.disks {
            let image = match Image::open(file.clone()) {
                Ok(image) => image,
                Err(_) => Image::create(file.clone(), preset).map_err(refused)?,
            };
            self.images.push(Arc::new(image));
        }
        let Self { info, config, buffer, .. } = &*self;
        let page = BLOCK as u64 + u64::from(PAGE_OVERHEAD);
        let map_memory = self.map_pages.map(|pages| u64::from(pages) * page);
        let members = self.images.iter().map(|image| Arc::clone(image) as Arc<dyn Store>).collect();
        let options = FormatOptions { layer: info, config, buffer: *buffer, journal_blocks: None, map_memory };
        let checksums = self.sums.are_kept().then_some(Checksums { region_blocks: REGION_BLOCKS });
        let volume = format_with(members, &options, checksums)?;
        self.volume.clone_from(&volume.members);
        Ok(volume)
    }

    /// Closes volume and images, as they are.
    pub(super) fn close(&mut self) {
        self.volume.clear();
        self.images.clear();
    }

    /// Opens images and volume, from what the files say.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub fn reopen(&mut self) -> Result<Volume, ImagesError> {
        self.close();
        for disk in &self.disks {
            self.images.push(Arc::new(Image::open(disk.file.clone())?));
        }
        let members = self.images.iter().map(|image| Arc::clone(image) as Arc<dyn Store>).collect();
        let volume = Volume::open_with(members, self.sums != Sums::WithoutIntents)?;
        self.volume.clone_from(&volume.members);
        self.freshen_unsettled();
        Ok(volume)
    }

    pub(super) fn members(&self) -> Members {
        self.volume.clone()
    }

    /// What the runner is told, with what a run varies.
    pub(super) fn patched(&self, volume: &Volume) -> Result<StackSetup, VolumeError> {
        let mut setup = volume.setup()?;
        for own in setup.below.iter_mut().map(|below| &mut below.top).chain([&mut setup.top]) {
            own.rules = self.rules;
            own.gather = self.gather;
            own.entry_blocks = self.entry_blocks;
            own.audit = true;
        }
        Ok(setup)
    }

    fn notice(&mut self, setup: &StackSetup) {
        self.capacity = (setup.top.make)().capacity();
        self.unwritten = setup.unwritten();
        let below = setup.below.iter().map(|below| below.top.journal.clone());
        self.map_home = setup.top.map_home.map(|home| home.at);
        self.journals = if setup.below.is_empty() { vec![setup.top.journal.clone()] } else { below.collect() };
    }

    /// Lets the power fail during some operation of the file of one drive.
    pub(super) fn arm(&self, within: u64, dice: &mut Dice) {
        let disk = dice.below(self.disks.len() as u64) as usize;
        self.disks[disk].file.fail_after(dice.below(within), Ends::ForGood);
    }

    /// The blocks of a drive that cannot be read.
    fn unreadable(&self, drive: usize) -> BTreeSet<Pba> {
        let (image, file) = (&self.images[drive], &self.disks[drive].file);
        let first = image.offset(Pba::disk(0));
        let blocks = file.unreadable().into_iter().filter_map(|offset| Some(offset.checked_sub(first)? / BLOCK as u64));
        blocks.map(Pba::disk).collect()
    }
}

/// A file of zeros for a drive.
fn file(preset: &DrivePreset, rules: Rules) -> Result<Volatile, ImagesError> {
    let len = Image::<Volatile>::len(preset).map_err(ImageError::from)?;
    Ok(Volatile::new(len as usize, !rules.keeps(Rule::WholeSectors)))
}

impl Images {
    /// Formats a volume, at times on drives that hold one or after formats that were interrupted, and starts it.
    fn started(&mut self, dice: &mut Dice) -> Result<Stack, ImagesError> {
        let old = if dice.one_in(3) { Some(self.old_volume(dice)?) } else { None };
        while dice.one_in(2) {
            self.interrupted_format(old.as_ref(), dice)?;
        }
        self.make().map_err(ImagesError::Format)?;
        self.restarted(dice)
    }

    /// Opens the volume, at times after a repair that is cut, and starts it.
    fn restarted(&mut self, dice: &mut Dice) -> Result<Stack, ImagesError> {
        let mut volume = self.reopen()?;
        if dice.one_in(8) {
            if dice.one_in(2) {
                self.arm(30, dice);
            }
            let mended = volume.mend();
            if self.disks.iter().filter(|disk| disk.file.fail_no_more()).count() == 0 {
                mended?;
            }
            self.cut(dice);
            volume = self.reopen()?;
        }
        let setup = self.patched(&volume)?;
        self.notice(&setup);
        // What a repair that has read all data hands over.
        let unreadable = |drive: usize| self.unreadable(drive);
        let suspects = if dice.one_in(4) { (0..self.disks.len()).map(unreadable).collect() } else { Vec::new() };
        Ok(Stack::open_suspecting(setup, suspects).map_err(VolumeError::from)?)
    }
}

impl Devices for Images {
    fn format(&mut self, dice: &mut Dice) -> Result<Stack, DevicesError> {
        Ok(self.started(dice)?)
    }

    fn open(&mut self, dice: &mut Dice) -> Result<Stack, DevicesError> {
        Ok(self.restarted(dice)?)
    }

    fn cuts(&self) -> u64 {
        // The journal is longer than those in memory, and should come round.
        60
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn unwritten(&self) -> Unwritten {
        self.unwritten
    }

    fn media(&self, drive: usize) -> Box<dyn Media> {
        self.images[drive].media()
    }

    fn drives(&self) -> usize {
        self.disks.len()
    }

    fn journal(&self, drive: usize) -> Vec<Extent<Pba>> {
        self.journals[drive].clone()
    }

    fn perform(&mut self, drive: usize, kind: &IoKind) -> Result<IoResult, DevicesError> {
        match self.volume[drive].perform(kind) {
            Ok(result) => Ok(result),
            Err(StoreError::Illegal(Illegal::Bad { condition, .. })) if condition != Condition::Inactive => {
                Ok(IoResult::Failed)
            }
            Err(StoreError::Io { .. }) => Ok(IoResult::Failed),
            Err(error) => Err(error.into()),
        }
    }

    fn partial_fault(&mut self, drive: usize, kind: &IoKind, dice: &mut Dice) -> bool {
        if dice.one_in(2) {
            return false;
        }
        if let IoKind::Write(at, _) = kind {
            // What is left of the old content would have a part of its block's checksum no more.
            self.freshen(|rot| rot.drive == drive && at.contains(rot.block));
        }
        let file = &self.disks[drive].file;
        file.fail_after(dice.below(2), Ends::Once);
        let result = self.volume[drive].perform(kind);
        let was_left = file.fail_no_more();
        // Where the operation took less than that it has succeeded, and says that it failed.
        was_left || result.is_err()
    }

    fn damage(&mut self, dice: &mut Dice) {
        let drive = dice.below(self.disks.len() as u64) as usize;
        let parts = self.parts(drive);
        let bad: Vec<_> = parts.iter().filter(|part| part.copy == self.bad_copy).collect();
        let part = dice.pick(&bad);
        self.disks[drive].file.flip(part.offset + dice.below(part.len), 1 << dice.below(8));
    }

    fn settled(&self, drive: usize, block: Pba) -> Option<Bytes> {
        let (file, offset) = (&self.disks[drive].file, self.images[drive].offset(block));
        file.is_settled(offset, BLOCK).then(|| file.content(offset, BLOCK).into())
    }

    fn copies_outlive_epochs(&self) -> bool {
        self.map_pages.is_some()
    }

    fn make_unreadable(&mut self, drive: usize, block: Pba) {
        let rots = self.volume[drive].summed().is_some() || self.sums == Sums::Missing;
        if rots && self.rot(drive, block) {
            return;
        }
        self.disks[drive].file.make_unreadable(self.images[drive].offset(block), BLOCK);
    }

    fn wear_out(&mut self, drive: usize, unit: Unit) {
        // A file in memory that was not told to fails no write.
        let _ = self.images[drive].fail(unit, Condition::ReadOnly);
    }

    fn cut(&mut self, dice: &mut Dice) {
        self.close();
        self.disks.iter().for_each(|disk| disk.file.cut(dice));
    }

    fn describe(&self) -> String {
        let config: Vec<String> = self.config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let drives: Vec<String> = self.disks.iter().map(|disk| format!("{:?}", disk.preset.media)).collect();
        let (name, config, drives) = (self.info.name, config.join(", "), drives.join(" and "));
        format!("{name} with {config} and buffer {:?} on images of {drives}, gathering {}", self.buffer, self.gather)
    }
}
