//! A cache that comes to a volume on one disk, or leaves it. The disk keeps its layer, its journal and all it holds;
//! what changes is what its superblock says. A power cut leaves the volume with the cache or without it, and whole.

use std::sync::Arc;

use imbrex::layers::LayerInfo;
use imbrex::layers::below::{DISK_LAYER, OF_DISK};
use imbrex::perform::{Offered, Request, Stack};
use imbrex::recording::Recording;
use uuid::Uuid;

use super::{FormatOptions, Members, ServerMemory, Volume, VolumeError, checked, format, read_superblock, setup};
use crate::solo::Solo;
use crate::store::Store;
use crate::superblock::Superblock;

/// A cache that can be put in front of a volume on one disk.
pub struct Attachment {
    members: Members,
    superblocks: Vec<Superblock>,
}

impl Attachment {
    /// The cache that `options` describe, on `flash`, in front of `disk`. Nothing is written yet, so the flash may be a
    /// drive that keeps nothing.
    ///
    /// # Errors
    /// When the cache, the flash and the volume do not suit each other.
    pub fn new(flash: &Arc<dyn Store>, disk: &Volume, options: &FormatOptions<'_>) -> Result<Self, VolumeError> {
        let ([member], [alone]) = (disk.members.as_slice(), disk.superblocks.as_slice()) else {
            return Err(VolumeError::Refused("the volume has a cache already; detach that first".to_owned()));
        };
        let layer = options.layer;
        if layer.recording != Recording::Cached {
            return Err(VolumeError::Refused(format!("{} is no cache; choose one with --layer", layer.name)));
        }
        if alone.own.map_memory.is_some() {
            let text = "a part of the volume's map is kept on the drive, and the maps of a volume with a cache stay in \
                        memory; it would have to be formatted with --map-memory all";
            return Err(VolumeError::Refused(text.to_owned()));
        }
        let config = in_front_of(layer, options.config, &alone.own.layer)?;
        let options = FormatOptions { config: &config, ..*options };
        let checksums = format::summed(&vec![Arc::clone(flash), Arc::clone(member)], alone.checksums);
        let on_flash = format::on_flash(flash.as_ref(), checksums[0], &options)?;
        let layered = [(flash.as_ref(), &on_flash, checksums[0]), (member.as_ref(), &alone.own, alone.checksums)];
        let above = Some(format::above(layered, &options)?);
        let members = vec![Uuid::new_v4(), alone.uuid()];
        let first = Superblock {
            version: on_flash.version(),
            identity: Uuid::new_v4().as_u64_pair().0,
            blocks: flash.media().blocks(),
            block_bytes: flash.block_bytes(),
            members: members.clone(),
            member: 0,
            own: on_flash,
            above: above.clone(),
            generation: None,
            checksums: checksums[0],
        };
        let second = Superblock { members, member: 1, above, ..alone.clone() };
        let members = vec![Arc::clone(flash), Arc::clone(member)];
        Ok(Self { members, superblocks: vec![first, second] })
    }

    /// The memory that a server of the volume with the cache takes.
    ///
    /// # Errors
    /// When a layer cannot be made as it is configured.
    pub fn memory(&self) -> Result<ServerMemory, VolumeError> {
        Ok(ServerMemory::of(&setup::stack(&self.members, &self.superblocks, None)?, &self.superblocks))
    }

    /// Puts the cache in front of the volume. What was on the flash is gone.
    ///
    /// # Errors
    /// When a member fails. The volume is as it was until its own superblock is written, which comes last.
    pub fn make(self) -> Result<Volume, VolumeError> {
        let Self { mut members, superblocks } = self;
        let stack_setup = setup::stack(&members, &superblocks, None)?;
        format::clear(members[0].as_ref())?;
        members[0] = checked::create(vec![Arc::clone(&members[0])], &superblocks[..1], true)?.remove(0);
        let volume = Volume { members, superblocks, stale: Vec::new(), map_memory: None };
        volume.reserve()?;
        Solo::begin(Stack::format_before(stack_setup)?, volume.members.clone())?;
        let [flash, disk] = volume.superblocks.as_slice() else { unreachable!("there are two") };
        format::write_superblocks(volume.members[0].as_ref(), flash)?;
        format::renew_superblock(volume.members[1].as_ref(), disk)?;
        Ok(volume)
    }
}

/// The configuration of a cache in front of a disk that has `disk_layer` already.
fn in_front_of(layer: &LayerInfo, config: &toml::Table, disk_layer: &str) -> Result<toml::Table, VolumeError> {
    if let Some(key) = OF_DISK.into_iter().find(|key| config.contains_key(*key)) {
        let text = format!("the disk keeps the layer that it has, {disk_layer}; leave --set {}.{key} out", layer.name);
        return Err(VolumeError::Refused(text));
    }
    let mut config = config.clone();
    config.insert(DISK_LAYER.to_owned(), disk_layer.into());
    Ok(config)
}

/// A cache that writes home what is newer than the disk behind it.
pub struct Drain(Solo);

impl Drain {
    /// Begins, on a volume that nobody serves.
    ///
    /// # Errors
    /// When the volume has no cache, or cannot be recovered.
    pub fn begin(volume: &Volume) -> Result<Self, VolumeError> {
        if volume.superblocks[0].above.is_none() {
            return Err(VolumeError::Refused("the volume has no cache".to_owned()));
        }
        Ok(Self(volume.solo()?))
    }

    /// Blocks that are newer in the cache than on the disk.
    #[must_use]
    pub fn dirty(&self) -> u64 {
        self.0.stack.standing().dirty.unwrap_or_default()
    }

    /// Writes some of them home, of neighbours many at a time, in the order of their numbers.
    ///
    /// # Errors
    /// When the volume cannot be used any more, or a member fails.
    pub fn step(&mut self) -> Result<(), VolumeError> {
        if self.offer() != Offered::Taken && self.dirty() > 0 {
            // What was given up may be needed, and comes back when records are durable.
            self.flush()?;
            if self.offer() != Offered::Taken {
                return Err(self.failed("the cache does not give it up"));
            }
        }
        Ok(())
    }

    fn offer(&mut self) -> Offered {
        let offered = self.0.stack.drain();
        self.0.settle();
        offered
    }

    fn flush(&mut self) -> Result<(), VolumeError> {
        self.0.call(Request::Flush).map(drop).map_err(|failure| self.failed(&failure.to_string()))
    }

    /// Makes durable what has been written; how many blocks are still newer in the cache.
    ///
    /// # Errors
    /// When a member fails.
    pub fn end(mut self) -> Result<u64, VolumeError> {
        self.flush()?;
        Ok(self.dirty())
    }

    fn failed(&mut self, what: &str) -> VolumeError {
        let errors = std::mem::take(&mut self.0.errors).join("; ");
        let why = if errors.is_empty() { what.to_owned() } else { errors };
        VolumeError::Refused(format!("what is newer in the cache cannot be written to the disk: {why}"))
    }
}

/// Takes the cache away from a volume of which nothing is newer in the cache: the disk is a volume by itself. The flash
/// is none any more.
///
/// # Errors
/// When the cache has something newer, or a member fails. The volume is as it was until the disk's superblock is written;
/// if the flash cannot be cleared after that, the second part of the result says why.
pub fn detach(volume: &Volume) -> Result<(Volume, Option<VolumeError>), VolumeError> {
    let dirty = Drain::begin(volume)?.end()?;
    if dirty > 0 {
        let text =
            format!("{dirty} blocks are newer in the cache than on the disk; they have to be written there first");
        return Err(VolumeError::Refused(text));
    }
    let [flash, disk] = volume.members.as_slice() else { unreachable!("a cache has two members") };
    let alone = detach_lost(Arc::clone(disk))?;
    Ok((alone, format::clear(flash.as_ref()).err()))
}

/// Makes the disk behind a cache that is lost a volume by itself. Blocks that were newer in the cache have older content
/// on it, or none, and nothing says which.
///
/// # Errors
/// When `disk` is not the disk behind a cache, or it fails.
pub fn detach_lost(disk: Arc<dyn Store>) -> Result<Volume, VolumeError> {
    let (superblock, _) = read_superblock(disk.as_ref(), 0)?;
    if superblock.member != 1 || superblock.above.is_none() {
        let text = "this is not the disk behind a cache; name that alone";
        return Err(VolumeError::Members(text.to_owned()));
    }
    let members = vec![superblock.uuid()];
    let alone = Superblock { members, member: 0, above: None, generation: None, ..superblock };
    format::renew_superblock(disk.as_ref(), &alone)?;
    Volume::open(vec![disk])
}
