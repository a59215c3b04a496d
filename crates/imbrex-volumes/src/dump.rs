//! `imbrex dump`: the journal, the map or the superblocks of a volume that is not served, for programs.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::plan::Record;
use imbrex_live::offline::{self, LayerState, Mapped};
use imbrex_live::superblock::Superblock;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::table::table;
use serde::Serialize;

use super::volume_to_read;

/// Write out the records in the journals of a volume that is not served, its map, or its superblocks
#[derive(Args)]
pub struct Dump {
    /// Its stores, in order
    #[arg(required = true, num_args = 1..=2)]
    stores: Vec<PathBuf>,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args)]
#[group(multiple = false)]
struct What {
    /// The records and images in the journals, oldest first; this is the default
    #[arg(long)]
    journal: bool,
    /// Where every block lies
    #[arg(long)]
    map: bool,
    /// What the members say about themselves
    #[arg(long)]
    superblock: bool,
}

/// A record or an image in a journal, or a run of the map.
#[derive(Serialize)]
struct Item {
    layer: String,
    /// The number of the journal block at which the entry begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
    /// The start of the volume in which it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u32>,
    kind: &'static str,
    lba: Option<u64>,
    blocks: Option<u32>,
    device: Option<u8>,
    place: Option<u64>,
    key: Option<u64>,
    value: Option<u64>,
}

impl Dump {
    /// Shows what is asked for.
    ///
    /// # Errors
    /// When the volume cannot be read.
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let volume = volume_to_read(&self.stores)?;
        if self.what.superblock {
            return output.write(&volume.superblocks, || superblocks(&volume.superblocks));
        }
        let layers = offline::layers(&volume)?;
        let rows: Vec<Item> = if self.what.map {
            layers.into_iter().flat_map(map).collect()
        } else {
            layers.iter().flat_map(journal).collect()
        };
        output.write(&rows, || shown(&rows))
    }
}

fn superblocks(superblocks: &[Superblock]) -> String {
    let text = |superblock: &Superblock| toml::to_string(superblock).unwrap_or_else(|e| e.to_string());
    superblocks.iter().map(text).collect::<Vec<_>>().join("\n")
}

impl Item {
    fn new(layer: &str, kind: &'static str) -> Self {
        let layer = layer.to_owned();
        let (entry, epoch, lba, blocks, device, place, key, value) = (None, None, None, None, None, None, None, None);
        Self { layer, entry, epoch, kind, lba, blocks, device, place, key, value }
    }

    fn of(self, at: Extent<Lba>) -> Self {
        Self { lba: Some(at.start.0), blocks: Some(at.blocks), ..self }
    }

    fn at(self, place: Pba) -> Self {
        Self { device: Some(place.device()), place: Some(place.block()), ..self }
    }
}

fn map(mut state: LayerState) -> Vec<Item> {
    let runs = Mapped::of(&mut state).runs.into_iter();
    runs.map(|run| Item::new(&state.name, "map").of(Extent::new(run.lba, run.at.blocks)).at(run.at.start)).collect()
}

fn journal(state: &LayerState) -> Vec<Item> {
    let mut rows = Vec::new();
    for entry in &state.journal.entries {
        let numbered = |row: Item| Item { entry: Some(entry.start), epoch: Some(entry.epoch), ..row };
        rows.extend(entry.entry.records.iter().map(|record| numbered(row(&state.name, record))));
        rows.extend(entry.entry.images.iter().map(|(at, _)| numbered(Item::new(&state.name, "image").at(*at))));
    }
    rows
}

fn row(layer: &str, record: &Record) -> Item {
    match *record {
        Record::Map { at, to } => Item::new(layer, "map").of(at).at(to),
        Record::Copy { at, to } => Item::new(layer, "copy").of(at).at(to),
        Record::Unmap(at) => Item::new(layer, "unmap").of(at),
        Record::Lost(at) => Item::new(layer, "lost").of(at),
        Record::Unit { unit, is } => {
            let (device, key, value) = (Some(unit.device), Some(unit.index.into()), Some(is.into()));
            Item { device, key, value, ..Item::new(layer, "unit") }
        }
        Record::Note { key, value } => Item { key: Some(key.into()), value: Some(value), ..Item::new(layer, "note") },
    }
}

fn shown(rows: &[Item]) -> String {
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    table(
        ["layer", ">entry", "what", ">block", ">blocks", ">device", ">place", ">key", ">value"],
        rows.iter().map(|row| {
            let [entry, lba, place, key, value] = [row.entry, row.lba, row.place, row.key, row.value].map(number);
            let [blocks, device] = [row.blocks, row.device.map(u32::from)].map(|n| number(n.map(u64::from)));
            [row.layer.clone(), entry, row.kind.to_owned(), lba, blocks, device, place, key, value]
        }),
    )
}
