//! `imbrex format`: makes a volume on images or on disks.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::layers::LayerInfo;
use imbrex_live::engine::{Engine, EngineOptions};
use imbrex_live::layout::COPIES;
use imbrex_live::store_path::{self, Prepared};
use imbrex_live::superblock::Layered;
use imbrex_live::volume::{self, FormatOptions, Members, Volume};
use serde::Serialize;

use crate::output::OutputArguments;
use crate::setup::named_drive;
use crate::table::{bytes, count, table};
use crate::values::{Setting, layer, setting, size};

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
    /// all the room there is
    #[arg(long, value_name = "SIZE|BLOCKS|PERCENT")]
    buffer: Option<BufferSize>,
    /// Blocks of each copy of the journal; without it as many as the layer needs, or more where the drive has room
    #[arg(long, value_name = "N")]
    journal_blocks: Option<u32>,
    /// Set a field of the layer's configuration, see `imbrex list layers`; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// Destroy what is there: an image, a volume, a file system
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// What was made.
#[derive(Serialize)]
struct Formatted {
    schema: &'static str,
    layer: String,
    capacity_bytes: u64,
    block_bytes: u32,
    members: Vec<Member>,
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
}

impl Format {
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let images = self.stores.iter().filter(|store| !store_path::is_device(store)).count();
        for (what, given) in [("--drive", self.drives.len()), ("--capacity", self.capacities.len())] {
            if given > images {
                bail!("{what} is given {given} times for {images} images; a device is a drive itself and takes none");
            }
        }
        let config = self.config()?;
        let (layer, buffer, journal_blocks) = (self.layer, self.buffer, self.journal_blocks);
        let options = FormatOptions { layer, config: &config, buffer, journal_blocks };
        let mut prepared = (0..self.stores.len()).map(|number| self.prepare(number)).collect::<Result<Vec<_>>>()?;
        volume::validate(&stores(&prepared), &options)?;
        prepared.iter_mut().try_for_each(Prepared::make)?;
        let made = volume::format(stores(&prepared), &options)?;
        let formatted = self.formatted(made)?;
        prepared.into_iter().for_each(Prepared::keep);
        output.write(std::slice::from_ref(&formatted), || shown(&formatted))
    }

    fn config(&self) -> Result<toml::Table> {
        Setting::check(&self.settings, |layer| layer.name == self.layer.name)?;
        Ok(Setting::config(&self.settings, self.layer))
    }

    fn prepare(&self, number: usize) -> Result<Prepared> {
        let preset = self.preset(number)?;
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

    /// Starts the volume once and stops it: it is seen to serve, and what it offers is known.
    fn formatted(&self, made: Volume) -> Result<Formatted> {
        let layer = made.layer().to_owned();
        let member = |(path, superblock): (&PathBuf, &imbrex_live::superblock::Superblock)| {
            let Layered { layer, buffer_blocks, journal_blocks, .. } = &superblock.own;
            Member {
                path: path.clone(),
                uuid: superblock.uuid().to_string(),
                drive_bytes: superblock.blocks * u64::from(superblock.block_bytes),
                layer: layer.clone(),
                journal_blocks: *journal_blocks,
                journal_copies: COPIES,
                buffer_blocks: *buffer_blocks,
            }
        };
        let members = self.stores.iter().zip(&made.superblocks).map(member).collect();
        let engine = Engine::start(made, EngineOptions::default())?;
        engine.wait_until_serving()?;
        let (block_bytes, capacity) = (engine.block_bytes(), engine.capacity());
        engine.stop()?;
        Ok(Formatted { schema: SCHEMA, layer, capacity_bytes: capacity * u64::from(block_bytes), block_bytes, members })
    }
}

fn stores(prepared: &[Prepared]) -> Members {
    prepared.iter().map(Prepared::store).collect()
}

fn shown(formatted: &Formatted) -> String {
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
    format!(
        "{}, {} ({} blocks of {} bytes)\n\n{}",
        formatted.layer,
        bytes(formatted.capacity_bytes),
        count(formatted.capacity_bytes / u64::from(formatted.block_bytes)),
        formatted.block_bytes,
        table(["store", "layer", "drive", "journals", "buffer", "UUID"], rows)
    )
}
