//! `imbrex format`: makes a volume on images or on disks.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::layers::live_defaults::{self, LiveDefault};
use imbrex::layers::{ConfigError, LayerInfo};
use imbrex::recording::Recording;
use imbrex::tracks::Tracks;
use imbrex_live::engine::{Engine, EngineOptions};
use imbrex_live::layout::COPIES;
use imbrex_live::store::Store;
use imbrex_live::store_path::{self, Prepared};
use imbrex_live::sums::Checksums;
use imbrex_live::superblock::{Layered, Superblock};
use imbrex_live::volume::{
    self, BufferRoom, FormatOptions, MachineMemory, Members, MemoryPart, ServerMemory, Volume, VolumeError,
};
use imbrex_runs::case::named_drive;
use imbrex_runs::settings::{Setting, setting};
use imbrex_runs::values::{layer, size};
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::table::{bytes, count, paragraphs, table};
use serde::Serialize;

use super::fitting;
use super::map_memory::{self, MapMemory};

/// The version of [`Formatted`].
const SCHEMA: &str = "imbrex.formatted/1";

/// Make a volume: a layer on an image that emulates a drive, or on a real one; a cache on two of them
#[derive(Args)]
pub struct Format {
    /// Where: a new file for an image, or a block device; for a cache the flash and then the disk
    #[arg(required = true, num_args = 1..=2)]
    stores: Vec<PathBuf>,
    /// The layer
    #[arg(long, value_name = "LAYER", value_parser = layer)]
    layer: &'static LayerInfo,
    /// The drive that an image emulates: a name from `imbrex list drives`, or a preset ending in .toml; once for each
    /// image
    #[arg(long = "drive", value_name = "NAME|FILE.toml")]
    drives: Vec<String>,
    /// Shrink or stretch that drive to SIZE, such as 64GiB or 2TB; once for each image
    #[arg(long = "capacity", value_name = "SIZE", value_parser = size)]
    capacities: Vec<u64>,
    /// The persistent buffer, or the cache: a size, blocks such as 4096blocks, or a percentage of the drive; without it
    /// all the room there is, of a cache no more than the disk has, or less if this machine has too little memory free
    #[arg(long, value_name = "SIZE|BLOCKS|PERCENT")]
    buffer: Option<BufferSize>,
    /// Blocks of each copy of the journal; without it as many as the layer needs, or more where the drive has room
    #[arg(long, value_name = "N")]
    journal_blocks: Option<u32>,
    /// Keep no more than SIZE of the layer's map in memory while it is served, and all of it on the drive, in
    /// conventional blocks, for the layers that can; or `all` of it in memory. Without it the whole map, or 1 GiB if it
    /// can take more and the drive has room for it
    #[arg(long, value_name = "SIZE|all", value_parser = MapMemory::read)]
    map_memory: Option<MapMemory>,
    /// Set a field of the layer's configuration, see `imbrex help LAYER`; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// Keep a checksum of every block, which is verified whenever it is read and by `imbrex scrub`; of a cache on the
    /// members that have conventional blocks to keep them in
    #[arg(long)]
    checksums: bool,
    /// Destroy what is there: an image, a volume, a file system
    #[arg(long)]
    force: bool,
    /// Format it even if a server may take more memory than this machine has: maps take what they map, so it takes less
    /// until the volume is full
    #[arg(long)]
    any_memory: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// What was made.
#[derive(Serialize)]
pub(super) struct Formatted {
    schema: &'static str,
    layer: String,
    capacity_bytes: u64,
    block_bytes: u32,
    members: Vec<Member>,
    memory: ServerMemory,
    chosen: Vec<Chosen>,
    /// The buffer that was chosen, where memory limits it.
    buffer_room: Option<BufferRoom>,
}

/// A field that was set because its default is not fit for clients.
#[derive(Serialize)]
pub(super) struct Chosen {
    field: String,
    value: &'static str,
    why: &'static str,
}

/// A store of the volume.
#[derive(Serialize)]
struct Member {
    path: PathBuf,
    uuid: String,
    drive_bytes: u64,
    layer: String,
    journal_blocks: u32,
    journal_copies: usize,
    buffer_blocks: u32,
    /// Blocks that checksums take; none without them.
    checksum_blocks: u64,
    /// Bytes of the layer's map that are in memory, with the rest on the drive; null if all of it is.
    map_memory: Option<u64>,
    /// Blocks in which the pages of that map lie; none where all of it is in memory.
    map_blocks: u32,
    /// Top tracks of an interlaced disk that stay empty: what a volume keeps there lies on the bottom tracks beneath.
    empty_tracks: u32,
}

impl Format {
    /// Formats the stores.
    ///
    /// # Errors
    /// When a store cannot be used, or the layer does not fit.
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let images = self.stores.iter().filter(|store| !store_path::is_device(store)).count();
        for (what, given) in [("--drive", self.drives.len()), ("--capacity", self.capacities.len())] {
            if given > images {
                bail!("{what} is given {given} times for {images} images; a device is a drive itself and takes none");
            }
        }
        let (config, chosen) = self.config()?;
        let (layer, buffer, journal_blocks) = (self.layer, self.buffer, self.journal_blocks);
        let map_memory = self.map_memory.and_then(MapMemory::bytes);
        let mut options = FormatOptions { layer, config: &config, buffer, journal_blocks, map_memory };
        let prepare = |number| self.prepare(number, &options);
        let mut prepared = (0..self.stores.len()).map(prepare).collect::<Result<Vec<_>>>()?;
        let checksums = self.checksums();
        volume::validate_with(&stores(&prepared), &options, checksums).or_else(|e| self.refuse(e, &options))?;
        let map = map_memory::settle(self.map_memory, &stores(&prepared), &options, checksums)?;
        options.map_memory = map.bytes;
        let buffer_room = self.buffer_room(&stores(&prepared), &options, checksums)?;
        options.buffer = buffer_room.map(|room| BufferSize::Blocks(room.blocks.into())).or(buffer);
        self.fits(&volume::memory(&stores(&prepared), &options, checksums)?, map.why_whole.as_ref())?;
        prepared.iter_mut().try_for_each(Prepared::make)?;
        let made = volume::format_with(stores(&prepared), &options, checksums)?;
        let empty_tracks = |number, member: &dyn Store| self.empty_tracks(number, member);
        let formatted = Formatted { buffer_room, ..formatted(made, &self.stores, chosen, empty_tracks)? };
        prepared.into_iter().for_each(Prepared::keep);
        output.write(std::slice::from_ref(&formatted), || shown(&formatted))
    }

    /// The buffer for which there is memory, if nobody asked for one and there is not enough for all the room there is.
    fn buffer_room(
        &self,
        stores: &Members,
        options: &FormatOptions<'_>,
        checksums: Option<Checksums>,
    ) -> Result<Option<BufferRoom>> {
        match MachineMemory::this() {
            Some(machine) if self.layer.buffered && self.buffer.is_none() && !self.any_memory => {
                Ok(volume::buffer_within(stores, options, checksums, machine.available)?)
            }
            _ => Ok(None),
        }
    }

    /// Refuses what this machine has no memory for, unless that is accepted.
    fn fits(&self, memory: &ServerMemory, why_whole: Option<&VolumeError>) -> Result<()> {
        match MachineMemory::this().and_then(|machine| lacks(memory, machine)) {
            Some(lack) if !self.any_memory => match why_whole {
                Some(why) => bail!("{lack}. Its map cannot be kept on the drive: {why}"),
                None => bail!(lack),
            },
            _ => Ok(()),
        }
    }

    /// Says of what is refused which size of the drive would do, if it is the drive's size.
    fn refuse<T>(&self, error: VolumeError, options: &FormatOptions<'_>) -> Result<T> {
        let tried = if self.stores.len() == 1 { self.preset(0)? } else { None };
        let is_small = matches!(&error, VolumeError::Config(ConfigError::Space { .. }) | VolumeError::Room(_));
        let gib = match tried.filter(|_| is_small) {
            // Its share of conventional zones is that of the drive as it is sold.
            Some(tried) => fitting::enough_gib(&named_drive(&self.drives[0])?, tried.bytes(), options),
            None => None,
        };
        match gib {
            Some(gib) => bail!("{error}. Of this drive --capacity {gib}GiB is enough"),
            None => bail!(error),
        }
    }

    /// The layer's configuration, and what of it nobody asked for.
    fn config(&self) -> Result<(toml::Table, Vec<Chosen>)> {
        Setting::check(&self.settings, |layer| layer.name == self.layer.name)?;
        let named = Setting::config(&self.settings, self.layer);
        let named = self.layer.settled(&named)?;
        Ok((live_defaults::config(self.layer, &named), chosen(self.layer, &named)))
    }

    /// Top tracks that the disk of a member would have had.
    fn empty_tracks(&self, number: usize, made: &dyn Store) -> Result<u32> {
        let whole = self.preset(number)?.and_then(|preset| preset.media(Recording::Interlaced).ok()?.tracks());
        let conventional = |tracks: Option<Tracks>| tracks.map_or(0, |tracks| tracks.conventional_tracks);
        Ok(conventional(made.media().tracks()).saturating_sub(conventional(whole)))
    }

    fn checksums(&self) -> Option<Checksums> {
        self.checksums.then(Checksums::default)
    }

    fn prepare(&self, number: usize, options: &FormatOptions<'_>) -> Result<Prepared> {
        let roomy = |preset: DrivePreset| volume::roomy(&preset, number, options, self.checksums());
        let preset =
            self.preset(number)?.map(|preset| roomy(preset).or_else(|e| self.refuse(e, options))).transpose()?;
        Ok(store_path::prepare(&self.stores[number], preset.as_ref(), self.force)?)
    }

    /// The drive that an image emulates: the one that is named for it, counting images only.
    fn preset(&self, number: usize) -> Result<Option<DrivePreset>> {
        if store_path::is_device(&self.stores[number]) {
            return Ok(None);
        }
        let image = self.stores[..number].iter().filter(|store| !store_path::is_device(store)).count();
        let Some(name) = self.drives.get(image) else { return Ok(None) };
        let preset = named_drive(name)?;
        Ok(Some(match self.capacities.get(image) {
            Some(bytes) => preset.with_capacity(*bytes)?,
            None => preset,
        }))
    }
}

/// Starts the volume once and stops it: it is seen to serve, and what it offers is known. `empty_tracks` says how many
/// top tracks of a member stay empty.
pub(super) fn formatted(
    made: Volume,
    stores: &[PathBuf],
    chosen: Vec<Chosen>,
    empty_tracks: impl Fn(usize, &dyn Store) -> Result<u32>,
) -> Result<Formatted> {
    let layer = made.layer().to_owned();
    let member = |(path, superblock): (&PathBuf, &Superblock)| {
        let Layered { layer, buffer_blocks, journal_blocks, map_memory, map_blocks, .. } = &superblock.own;
        Ok(Member {
            path: path.clone(),
            uuid: superblock.uuid().to_string(),
            drive_bytes: superblock.blocks * u64::from(superblock.block_bytes),
            layer: layer.clone(),
            journal_blocks: *journal_blocks,
            journal_copies: COPIES,
            buffer_blocks: *buffer_blocks,
            checksum_blocks: superblock.checksum_blocks(),
            map_memory: *map_memory,
            map_blocks: *map_blocks,
            empty_tracks: empty_tracks(superblock.member, made.members[superblock.member].as_ref())?,
        })
    };
    let members = stores.iter().zip(&made.superblocks).map(member).collect::<Result<_>>()?;
    let engine = Engine::start(made, EngineOptions::default())?;
    engine.wait_until_serving()?;
    let (block_bytes, capacity, memory) = (engine.block_bytes(), engine.capacity(), engine.memory().clone());
    engine.stop()?;
    engine.members().iter().try_for_each(|member| member.rest())?;
    let capacity_bytes = capacity * u64::from(block_bytes);
    let buffer_room = None;
    Ok(Formatted { schema: SCHEMA, layer, capacity_bytes, block_bytes, members, memory, chosen, buffer_room })
}

/// The fields of a layer that are set for clients where `named` does not.
pub(super) fn chosen(layer: &LayerInfo, named: &toml::Table) -> Vec<Chosen> {
    let chosen = |LiveDefault { key, value, why }| Chosen { field: format!("{}.{key}", layer.name), value, why };
    live_defaults::of(layer, named).map(chosen).collect()
}

/// What to say if a machine has less memory than a server may take.
pub(super) fn lacks(memory: &ServerMemory, machine: MachineMemory) -> Option<String> {
    let part = |part: &MemoryPart| format!("{} for {}", bytes(part.most_bytes), part.name);
    (machine.bytes < memory.most_bytes).then(|| {
        let (most, has) = (bytes(memory.most_bytes), bytes(machine.bytes));
        let parts = memory.parts.iter().map(part).collect::<Vec<_>>().join(", ");
        format!(
            "a server of it may take {most} of memory, and this machine has {has} ({parts}); choose a smaller drive or \
             buffer, or accept it with --any-memory: maps take what they map"
        )
    })
}

/// What is said of a buffer that memory limits.
fn limited(room: &BufferRoom, block_bytes: u32) -> String {
    let size = |blocks: u32| bytes(u64::from(blocks) * u64::from(block_bytes));
    let (least, all) = (size(room.blocks), size(room.all_blocks));
    let (most, available) = (bytes(room.all_most_bytes), bytes(room.within_bytes));
    format!(
        "the buffer is {least} of the {all} that there is room for, with which a server could take {most} of memory, and \
         {available} are available; --buffer SIZE sets another, and --any-memory takes all"
    )
}

fn stores(prepared: &[Prepared]) -> Members {
    prepared.iter().map(Prepared::store).collect()
}

pub(super) fn shown(formatted: &Formatted) -> String {
    let rows = formatted.members.iter().map(|member| {
        let block = u64::from(formatted.block_bytes);
        [
            member.path.display().to_string(),
            member.layer.clone(),
            bytes(member.drive_bytes),
            bytes(u64::from(member.journal_blocks) * block * member.journal_copies as u64),
            bytes(u64::from(member.buffer_blocks) * block),
            member.uuid.clone(),
        ]
    });
    let chosen = formatted.chosen.iter().map(|Chosen { field, value, why }| {
        paragraphs(&format!("set {field}={value}: {why}; --set {field}=VALUE sets another")) + "\n"
    });
    let paged = formatted.members.iter().find_map(|member| member.map_memory).map(|memory| {
        let said = format!("{} of the map is in memory; --map-memory SIZE sets another limit, or all", bytes(memory));
        paragraphs(&said) + "\n"
    });
    let limited = formatted.buffer_room.as_ref().map(|room| paragraphs(&limited(room, formatted.block_bytes)) + "\n");
    let memory = &formatted.memory;
    let part = |part: &MemoryPart| [part.name.clone(), bytes(part.empty_bytes), bytes(part.most_bytes)];
    let all = ["a server".to_owned(), bytes(memory.empty_bytes), bytes(memory.most_bytes)];
    let space = |what: &str, blocks: fn(&Member) -> u64| {
        let blocks: u64 = formatted.members.iter().map(blocks).sum();
        let size = bytes(blocks * u64::from(formatted.block_bytes));
        if blocks == 0 { String::new() } else { format!(", {what} in {size}") }
    };
    let sums = space("checksums", |member| member.checksum_blocks);
    let map = space("the map", |member| member.map_blocks.into());
    let empty = match formatted.members.iter().map(|member| member.empty_tracks).sum::<u32>() {
        0 => String::new(),
        tracks => format!(", {} top tracks stay empty", count(tracks.into())),
    };
    format!(
        "{}, {} ({} blocks of {} bytes){sums}{map}{empty}\n{}\n{}\n\n{}",
        formatted.layer,
        bytes(formatted.capacity_bytes),
        count(formatted.capacity_bytes / u64::from(formatted.block_bytes)),
        formatted.block_bytes,
        chosen.chain(paged).chain(limited).collect::<String>(),
        table(["store", "layer", "drive", "journals", "buffer", "UUID"], rows),
        table(["memory", ">empty", ">at most"], memory.parts.iter().map(part).chain([all]))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_memory_limits_is_said_with_what_overrides_it() {
        let room = BufferRoom { blocks: 1 << 18, within_bytes: 3 << 30, all_blocks: 1 << 20, all_most_bytes: 5 << 30 };
        let said = limited(&room, 4096);
        for part in ["1 GiB of the 4 GiB", "could take 5 GiB", "3 GiB are available", "--buffer SIZE"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn what_a_machine_has_no_memory_for_is_refused_with_the_sum() {
        let part = |name: &str, most_bytes| MemoryPart { name: name.to_owned(), empty_bytes: 0, most_bytes };
        let parts = vec![part("maps", 3 << 30), part("cleaning", 1 << 30)];
        let memory = ServerMemory { empty_bytes: 1 << 20, most_bytes: 4 << 30, parts };
        let machine = |bytes| MachineMemory { bytes, available: bytes / 2 };
        assert_eq!(lacks(&memory, machine(4 << 30)), None);
        let lack = lacks(&memory, machine((4 << 30) - 1)).unwrap_or_default();
        for said in ["may take 4 GiB", "3 GiB for maps, 1 GiB for cleaning", "--any-memory"] {
            assert!(lack.contains(said), "{lack}");
        }
    }
}
