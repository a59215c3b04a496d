//! `imbrex detach`: takes the cache of a volume away.

use std::path::PathBuf;
use std::slice;

use anyhow::{Result, bail};
use clap::Args;
use imbrex_live::store_path;
use imbrex_live::volume::{self, Drain, Volume};
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::say::note;
use imbrex_terminal::stop;
use imbrex_terminal::table::{bytes, count, paragraphs, seconds};
use serde::Serialize;

use super::{told_by_its_server, volume_to_write};

/// The version of [`Detached`].
const SCHEMA: &str = "imbrex.detached/1";
/// How long a disk takes for a write at most, in seconds: it seeks over all of it and turns once.
const WRITE_SECONDS: f64 = 0.025;

/// Take the cache of a volume that is not served away: what is newer in it goes to the disk, which is a volume by
/// itself then
///
/// It says first how much that is, and how long it takes at most if each write takes 25 ms. Ctrl-C ends it in order:
/// the volume still has its cache, with less in it that is newer. What is left on the flash is no part of a volume.
#[derive(Args)]
pub struct Detach {
    /// The volume's stores, the flash and then the disk; with --lost the disk
    #[arg(required = true, num_args = 1..=2)]
    stores: Vec<PathBuf>,
    /// Go on without the cache, which is lost: blocks that were newer in it have older content then, and nothing says
    /// which
    #[arg(long)]
    lost: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// What came of it.
#[derive(Serialize)]
struct Detached {
    schema: &'static str,
    /// The layer that serves clients now.
    layer: String,
    /// The disk.
    store: PathBuf,
    /// Blocks that were newer in the cache; null where it was lost.
    written_blocks: Option<u64>,
}

impl Detach {
    /// Detaches the cache.
    ///
    /// # Errors
    /// When a store cannot be used, or the disk cannot be written.
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        stop::on_ctrl_c();
        let (alone, written_blocks) = match self.stores.as_slice() {
            [disk] if self.lost => {
                let disk = store_path::open(disk).map_err(|why| told_by_its_server(disk, why))?;
                (volume::detach_lost(disk)?, None)
            }
            [flash, _] if self.lost => {
                bail!("--lost goes on without {}; name the disk alone", flash.display());
            }
            [_] => bail!("name the flash and then the disk; if the flash is lost, the disk and --lost"),
            stores => {
                let (alone, written) = emptied(volume_to_write(stores)?)?;
                (alone, Some(written))
            }
        };
        alone.members.iter().try_for_each(|member| member.rest())?;
        let layer = alone.layer().to_owned();
        let store = self.stores.last().cloned().unwrap_or_default();
        let detached = Detached { schema: SCHEMA, layer, store, written_blocks };
        output.write(slice::from_ref(&detached), || shown(&detached))
    }
}

/// The disk of a volume by itself, and how many blocks were newer in the cache.
fn emptied(volume: Volume) -> Result<(Volume, u64)> {
    let mut drain = Drain::begin(&volume)?;
    let all = drain.dirty();
    if all > 0 {
        let size = bytes(all * u64::from(volume.members[0].block_bytes()));
        let most = seconds(all as f64 * WRITE_SECONDS);
        let writes = format!("at most as many writes take them to the disk, {most} if each takes 25 ms");
        note(format_args!("{} blocks ({size}) are newer in the cache; {writes}", count(all)));
    }
    let progress = Progress::new("writing to the disk", all);
    while drain.dirty() > 0 {
        let before = drain.dirty();
        drain.step()?;
        progress.add(before - drain.dirty());
        if progress.is_stopped() {
            let left = drain.end()?;
            note(format_args!("{} blocks are still newer in the cache; detach it again to go on", count(left)));
            bail!("stopped");
        }
    }
    drain.end()?;
    drop(progress);
    let (alone, left) = volume::detach(&volume)?;
    left.iter().for_each(|why| note(format_args!("warning: the flash could not be cleared: {why}")));
    Ok((alone, all))
}

fn shown(detached: &Detached) -> String {
    let Detached { layer, store, written_blocks, .. } = detached;
    let what = written_blocks.map_or("without what was newer in the cache".to_owned(), |blocks| {
        format!("with {} blocks that were newer in the cache", count(blocks))
    });
    paragraphs(&format!("{} is a volume by itself, served by {layer}, {what}", store.display()))
}
