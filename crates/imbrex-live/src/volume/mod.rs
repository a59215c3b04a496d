//! A volume: a layer on a store, or a cache on two of them, each behind a layer of its own. How it is formatted, and
//! how it is found again.
//!
//! Each member has superblocks and a journal of its own (see [`crate::layout`]). The journal of a layer above lies in
//! front of the blocks of the first member, as that member's layer presents them.

mod cache;
mod checked;
mod format;
mod generation;
mod map;
mod memory;
mod roomy;
mod setup;

use imbrex::block::Extent;
use imbrex::layers::{self, ConfigError, LayerInfo, READ_ALLOCATE};
use imbrex::perform::{Fatal, JournalTooShort, Stack, StackSetup};
use imbrex::recording::Recording;

use crate::active::TooManyActive;
use crate::frame;
use crate::layout::{self, NoRoom, NoRoomForMap, NoRoomForSums};
use crate::scrub::NoSums;
use crate::solo::{Solo, Unserved};
pub use crate::store::Members;
use crate::store::{Store, StoreError};
use crate::superblock::{Superblock, SuperblockError};
pub use cache::{Attachment, Drain, detach, detach_lost};
pub use format::{FormatOptions, format, format_with, validate, validate_with};
pub use generation::advance;
pub use map::{NoPagesOfMap, PAGE_OVERHEAD, TooLittleForMap};
pub use memory::{BufferRoom, INTAKE, MachineMemory, MemoryPart, ServerMemory, buffer_within, memory};
pub use roomy::roomy;

/// Blocks that a journal entry has at most, as a rule.
const ENTRY_BLOCKS: usize = 64;

/// A volume that can be started.
pub struct Volume {
    /// Its stores.
    pub members: Members,
    /// What they say about themselves.
    pub superblocks: Vec<Superblock>,
    /// What of them is damaged or old in one copy.
    pub stale: Vec<String>,
    /// Bytes of the map in memory for this run, if it is not what the superblock says.
    map_memory: Option<u64>,
}

/// Why a volume cannot be formatted or opened.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// A member has no superblock that can be used.
    #[error("{what} has no usable superblock: {source}")]
    Superblock {
        /// The member.
        what: String,
        /// Why not.
        source: SuperblockError,
    },
    /// The members are not those of one volume.
    #[error("{0}")]
    Members(String),
    /// A layer cannot be made on its member.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A member has too little conventional space.
    #[error(transparent)]
    Room(#[from] NoRoom),
    /// A member has too little for checksums.
    #[error(transparent)]
    Sums(#[from] NoRoomForSums),
    /// A member has too little for the pages of a map.
    #[error(transparent)]
    MapRoom(#[from] NoRoomForMap),
    /// There is to be too little memory for a map.
    #[error(transparent)]
    MapMemory(#[from] TooLittleForMap),
    /// There is to be less memory for a map, all of which stays in memory.
    #[error(transparent)]
    NoPages(#[from] NoPagesOfMap),
    /// The layer is for another kind of drive.
    #[error("layer {layer} is for {needed}, and {drive} is {is}; choose another layer{by} or another drive")]
    Unsuited {
        /// The layer.
        layer: String,
        /// What it is for.
        needed: &'static str,
        /// The drive.
        drive: &'static str,
        /// What the drive is.
        is: &'static str,
        /// How to choose the layer, where `--layer` is another one.
        by: String,
    },
    /// The layer keeps more zones active than the drive allows.
    #[error(transparent)]
    Active(#[from] TooManyActive),
    /// A scrub was asked for, and no member has checksums.
    #[error(transparent)]
    NoSums(#[from] NoSums),
    /// The journal is too short for what the layer may write to it.
    #[error(transparent)]
    Journal(#[from] JournalTooShort),
    /// The map or the buffer is too large, or the layer does not survive a power cut.
    #[error("{0}")]
    Refused(String),
    /// What is on the members cannot be served.
    #[error(transparent)]
    Unserved(#[from] Unserved),
    /// An operation of a member failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Fatal> for VolumeError {
    fn from(why: Fatal) -> Self {
        Self::Unserved(why.into())
    }
}

impl Volume {
    /// Finds the volume that `members` are.
    ///
    /// # Errors
    /// When a member has no superblock, or they do not belong together, are not in order, or one is an older copy.
    pub fn open(members: Members) -> Result<Self, VolumeError> {
        Self::open_with(members, true)
    }

    /// Like [`Volume::open`], for the crash explorer, which may have no region marked that is written.
    pub(crate) fn open_with(members: Members, keeps_intents: bool) -> Result<Self, VolumeError> {
        let mut superblocks: Vec<Superblock> = Vec::new();
        let mut stale = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let (superblock, old) = read_superblock(member.as_ref(), number)?;
            stale.extend(member.stale().into_iter().map(|what| format!("{what}, of {}", name(number))));
            stale.extend(old);
            let media = member.media();
            if (superblock.blocks, superblock.block_bytes) != (media.blocks(), member.block_bytes()) {
                let (blocks, bytes) = (superblock.blocks, superblock.block_bytes);
                let text =
                    format!("was formatted as a drive of {blocks} blocks of {bytes} bytes, which it is not any more");
                return Err(VolumeError::Members(format!("{} {text}", name(number))));
            }
            superblocks.push(superblock);
        }
        belong_together(&superblocks)?;
        let members = checked::open(members, &superblocks, keeps_intents)?;
        Ok(Self { members, superblocks, stale, map_memory: None })
    }

    /// What the runner needs to know.
    ///
    /// # Errors
    /// When a layer cannot be made as it is configured.
    pub fn setup(&self) -> Result<StackSetup, VolumeError> {
        setup::stack(&self.members, &self.superblocks, self.map_memory)
    }

    /// Has so many bytes of its map in memory, of one that has pages on the drive, for as long as this is used: what
    /// lies on the members stays as it is.
    ///
    /// # Errors
    /// When the map has no pages on a drive, or that is too little for it.
    pub fn set_map_memory(&mut self, bytes: u64) -> Result<(), VolumeError> {
        let paged = self.superblocks.iter().find(|superblock| superblock.own.map_memory.is_some());
        map::cache(bytes, paged.ok_or(NoPagesOfMap)?.block_bytes)?;
        self.map_memory = Some(bytes);
        Ok(())
    }

    /// Begins to serve it to a single caller.
    ///
    /// # Errors
    /// When a layer cannot be served as it is configured, or why recovery gave the volume up.
    pub fn solo(&self) -> Result<Solo, VolumeError> {
        let stack = Stack::open(self.setup()?)?;
        Ok(Solo::begin(stack, self.members.clone())?)
    }

    /// Has room kept for superblocks and journals: without them a full host would end the volume, and not just its
    /// writes. The journal of a layer above members lies where the first member's layer puts it.
    ///
    /// # Errors
    /// When a store has no room for them.
    pub fn reserve(&self) -> Result<(), VolumeError> {
        for (member, superblock) in self.members.iter().zip(&self.superblocks) {
            let layout = setup::layout(member.as_ref(), &superblock.own, superblock.checksums)?;
            let sums = layout.sums.map(|place| place.all());
            layout.superblocks.into_iter().chain(layout.journals).chain(sums).try_for_each(|at| member.reserve(at))?;
        }
        Ok(())
    }

    /// A number that tells it from others: that of the disk, which stays when a cache comes or goes.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.superblocks.last().map_or(0, |superblock| superblock.identity)
    }

    /// The name of the layer that serves the host.
    #[must_use]
    pub fn layer(&self) -> &str {
        self.layers().next().unwrap_or_default()
    }

    /// The names of the runners' layers: the one that serves the host first, then those of its devices.
    pub fn layers(&self) -> impl Iterator<Item = &str> {
        let above = self.superblocks[0].above.iter();
        above.chain(self.superblocks.iter().map(|superblock| &superblock.own)).map(|layered| layered.layer.as_str())
    }

    /// Lets a cache leave what it lacks where it is, for members to which nothing may be written.
    pub fn promote_nothing(&mut self) {
        let above = self.superblocks.iter_mut().filter_map(|superblock| superblock.above.as_mut());
        for layered in above {
            let has_field = |info: &&LayerInfo| info.fields.iter().any(|field| field.key == READ_ALLOCATE);
            if layers::find(&layered.layer).is_ok_and(|info| has_field(&info)) {
                layered.config.insert(READ_ALLOCATE.to_owned(), false.into());
            }
        }
    }

    /// Writes every damaged or old copy of a superblock anew, and what the members keep about themselves. A good copy
    /// is left alone: where its zone has to be emptied first, a power cut would take it while the other is not whole
    /// yet.
    ///
    /// What cannot be written does not keep the rest from being: the result says what it was and why.
    ///
    /// # Errors
    /// When the superblocks are not there any more.
    pub fn mend(&self) -> Result<Vec<String>, VolumeError> {
        let mut left = Vec::new();
        for (number, (member, superblock)) in self.members.iter().zip(&self.superblocks).enumerate() {
            left.extend(member.mend().err().map(|e| format!("{}: {e}", name(number))));
            let (frame, stale) = newest_frame(member.as_ref(), number)?;
            for copy in stale {
                let written = format::write_superblock(member.as_ref(), superblock, frame.sequence, copy);
                left.extend(written.err().map(|e| format!("superblock {copy} of {}: {e}", name(number))));
            }
        }
        Ok(left)
    }
}

/// What a member is called in messages.
fn name(number: usize) -> String {
    format!("member {}", number + 1)
}

/// Whether a store says of itself, in either copy, that it is of a volume.
pub(crate) fn bears_superblock(member: &dyn Store) -> bool {
    let Ok(at) = layout::superblocks(member.media().as_ref(), member.block_bytes()) else { return false };
    at.iter().any(|copy| member.read(*copy).is_ok_and(|bytes| Superblock::frame(&bytes).is_ok()))
}

/// The newest of a member's superblocks, and the numbers of the copies that are not like it.
fn newest_frame(member: &dyn Store, number: usize) -> Result<(frame::Frame, Vec<usize>), VolumeError> {
    let at = layout::superblocks(member.media().as_ref(), member.block_bytes())?;
    let read = |copy: &Extent<_>| match member.read(*copy) {
        Ok(bytes) => Superblock::frame(&bytes),
        Err(_) => Err(frame::FrameError::Damaged),
    };
    let newest = frame::newest(at.iter().map(read).collect());
    newest.map_err(|e| VolumeError::Superblock { what: name(number), source: e.into() })
}

/// A member's superblock, and which of its copies is damaged or old.
fn read_superblock(member: &dyn Store, number: usize) -> Result<(Superblock, Vec<String>), VolumeError> {
    let at = layout::superblocks(member.media().as_ref(), member.block_bytes())?;
    let (frame, stale) = newest_frame(member, number)?;
    let superblock = Superblock::decode(&frame);
    let superblock = superblock.map_err(|source| VolumeError::Superblock { what: name(number), source })?;
    let stale = stale.iter().map(|copy| format!("the superblock of {} at {:?}", name(number), at[*copy].start));
    Ok((superblock, stale.collect()))
}

fn belong_together(superblocks: &[Superblock]) -> Result<(), VolumeError> {
    let refuse = |text: String| Err(VolumeError::Members(text));
    let Some(first) = superblocks.first() else { return refuse("a volume has at least one member".to_owned()) };
    if first.members.len() != superblocks.len() {
        return refuse(format!("the volume has {} members; name all of them, in order", first.members.len()));
    }
    for (number, superblock) in superblocks.iter().enumerate() {
        if superblock.members != first.members || superblock.above != first.above {
            return refuse(format!("{} belongs to another volume than the first one", name(number)));
        }
        if superblock.member != number {
            return refuse(format!("{} is the volume's {}; name them in order", name(number), name(superblock.member)));
        }
    }
    generation::check(superblocks)
}

/// What a recording is called.
fn kind(recording: Recording) -> &'static str {
    match recording {
        Recording::Conventional => "conventional disks",
        Recording::Zoned | Recording::WholeZones => "host-managed zoned disks",
        Recording::Banded => "disks of bands",
        Recording::Interlaced => "interlaced disks",
        Recording::Hybrid => "hybrid disks",
        Recording::Flash => "flash",
        Recording::Cached => "flash in front of a disk",
    }
}
