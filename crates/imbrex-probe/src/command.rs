//! `imbrex probe`: what a disk is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice;

use anyhow::{Result, anyhow};
use clap::Args;
use imbrex::drive::DrivePreset;
use imbrex_runs::case::named_drive;
use imbrex_runs::settings::{Setting, setting};
use imbrex_runs::values::size;
use imbrex_terminal::new_file::NewFile;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::say::note;
use imbrex_terminal::stop;

use crate::disk::Disk;
use crate::found::Found;
use crate::simulated::{Simulated, layer_inside};
use crate::{probe, steps};

/// Find out what a disk is, by what the system says of it and by timing it
#[derive(Args)]
pub struct Probe {
    /// The disk, such as /dev/sdX; or a file, of which the system says nothing
    #[arg(required_unless_present = "simulated")]
    device: Option<PathBuf>,
    /// Write to the disk too, which DESTROYS WHAT IT HOLDS: this is how a drive-managed disk's cache and bands are found
    #[arg(long)]
    write: bool,
    /// Write even if the disk holds something that is known, such as a file system
    #[arg(long, requires = "write")]
    force: bool,
    /// Probe a simulated disk of this drive instead, in its own time
    #[arg(long, value_name = "DRIVE", conflicts_with = "device")]
    simulated: Option<String>,
    /// Make that disk smaller or larger
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "simulated")]
    capacity: Option<u64>,
    /// Set a field of the layer inside that disk, such as skylight.map_entries=10000; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting, requires = "simulated")]
    settings: Vec<Setting>,
    /// What the disk is called, instead of what the system says
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Describe the disk in FILE.toml, as a drive that `imbrex compare --drive FILE.toml` takes
    #[arg(long, value_name = "FILE.toml")]
    drive: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

impl Probe {
    /// Probes the disk.
    ///
    /// # Errors
    /// When it cannot be probed, or the drive cannot be described.
    pub fn run(&self) -> Result<()> {
        let output = self.output.open()?;
        let mut disk = self.disk()?;
        stop::on_ctrl_c();
        let progress = Progress::of_pieces("probing", steps(self.write));
        let mut found = probe(&mut *disk, self.write, &progress)?;
        drop(progress);
        found.facts.model = self.model.clone().or(found.facts.model);
        // Before anything is printed, so that there is either all of it or an error.
        self.drive.as_deref().map_or(Ok(()), |file| describe(&found, file))?;
        output.write(slice::from_ref(&found), || found.table())
    }

    fn disk(&self) -> Result<Box<dyn Disk>> {
        if let Some(name) = &self.simulated {
            let drive = named_drive(name)?;
            let drive = self.capacity.map_or(Ok(drive.clone()), |bytes| drive.with_capacity(bytes))?;
            let inside = layer_inside(&drive);
            Setting::check(&self.settings, |layer| inside == Some(layer.name))?;
            let config = match inside {
                Some(name) => Setting::config(&self.settings, imbrex::layers::find(name)?),
                None => toml::Table::new(),
            };
            return Ok(Box::new(Simulated::new(&drive, &config)?));
        }
        let path = self.device.as_deref().ok_or_else(|| anyhow!("name a disk, or one to simulate with --simulated"))?;
        opened(path, self.write, self.force)
    }
}

#[cfg(target_os = "linux")]
fn opened(path: &Path, write: bool, force: bool) -> Result<Box<dyn Disk>> {
    let device = crate::device::Device::open(path, write, force)?;
    if !imbrex_live::store_path::is_device(path) {
        note(format_args!(
            "note: {} is a file: the system says nothing of it, and its times are those of the file system and of memory",
            path.display()
        ));
    }
    Ok(Box::new(device))
}

#[cfg(not(target_os = "linux"))]
fn opened(path: &Path, _write: bool, _force: bool) -> Result<Box<dyn Disk>> {
    Err(anyhow!("{} cannot be probed: disks are probed on Linux only; see --simulated", path.display()))
}

/// Writes a preset, and what it does not say as comments.
fn describe(found: &Found, file: &Path) -> Result<()> {
    let name = file.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let preset: DrivePreset = found.preset(&name)?;
    let mut text = String::from("# Written by `imbrex probe`: what was timed, and for the rest what is usual.\n");
    if let Some(extents) = found.cache.as_ref().and_then(|cache| cache.extents) {
        text += &format!("# The map of its cache holds {extents} extents: add --set skylight.map_entries={extents}\n");
    }
    text += &toml::to_string(&preset)?;
    let mut written = NewFile::create(file)?;
    written.write_all(text.as_bytes())?;
    written.finish()
}
