//! `imbrex attach`: puts a cache in front of a volume.

use std::path::PathBuf;
use std::slice;

use anyhow::{Result, bail};
use clap::Args;
use imbrex::buffer_size::BufferSize;
use imbrex::layers::{LayerInfo, live_defaults};
use imbrex_live::store_path::{self, Prepared};
use imbrex_live::volume::{Attachment, FormatOptions, MachineMemory};
use imbrex_runs::case::named_drive;
use imbrex_runs::settings::{Setting, setting};
use imbrex_runs::values::{layer, size};
use imbrex_terminal::output::OutputArguments;

use super::format::{chosen, formatted, lacks, shown};
use super::volume_to_write;

/// Put a cache on flash in front of a volume that is not served; the disk keeps its layer and all it holds
#[derive(Args)]
pub struct Attach {
    /// The flash: a new file for an image, or a block device
    flash: PathBuf,
    /// The volume's store
    disk: PathBuf,
    /// The cache
    #[arg(long, value_name = "LAYER", value_parser = layer)]
    layer: &'static LayerInfo,
    /// The drive that an image of flash emulates: a name from `imbrex list drives`, or a preset ending in .toml
    #[arg(long, value_name = "NAME|FILE.toml")]
    drive: Option<String>,
    /// Shrink or stretch that drive to SIZE, such as 64GiB
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "drive")]
    capacity: Option<u64>,
    /// How large the cache is: a size, blocks such as 4096blocks, or a percentage of the disk; without it all that the
    /// flash has room for, and no more than the disk has
    #[arg(long, value_name = "SIZE|BLOCKS|PERCENT")]
    buffer: Option<BufferSize>,
    /// Set a field of the cache's configuration, see `imbrex help LAYER`; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// Destroy what is on the flash: an image, a volume, a file system
    #[arg(long)]
    force: bool,
    /// Attach it even if a server may take more memory than this machine has
    #[arg(long)]
    any_memory: bool,
    #[command(flatten)]
    output: OutputArguments,
}

impl Attach {
    /// Attaches the cache.
    ///
    /// # Errors
    /// When a store cannot be used, or they do not suit each other.
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        Setting::check(&self.settings, |layer| layer.name == self.layer.name)?;
        let disk = volume_to_write(slice::from_ref(&self.disk))?;
        let named = Setting::config(&self.settings, self.layer);
        let named = self.layer.settled(&named)?;
        let config = live_defaults::config(self.layer, &named);
        let (layer, buffer) = (self.layer, self.buffer);
        let options = FormatOptions { layer, config: &config, buffer, journal_blocks: None, map_memory: None };
        let mut flash = self.flash()?;
        let planned = Attachment::new(&flash.store(), &disk, &options)?;
        let memory = planned.memory()?;
        if let Some(lack) = MachineMemory::this().and_then(|machine| lacks(&memory, machine))
            && !self.any_memory
        {
            bail!(lack);
        }
        flash.make()?;
        let planned = Attachment::new(&flash.store(), &disk, &options)?;
        // The disk may name the flash from here on, whether all of it succeeds or not.
        flash.keep();
        let made = planned.make()?;
        let formatted = formatted(made, &[self.flash, self.disk], chosen(self.layer, &named), |_, _| Ok(0))?;
        output.write(slice::from_ref(&formatted), || shown(&formatted))
    }

    fn flash(&self) -> Result<Prepared> {
        let preset = self.drive.as_deref().map(named_drive).transpose()?;
        let preset = match (preset, self.capacity) {
            (Some(preset), Some(bytes)) => Some(preset.with_capacity(bytes)?),
            (preset, _) => preset,
        };
        Ok(store_path::prepare(&self.flash, preset.as_ref(), self.force)?)
    }
}
