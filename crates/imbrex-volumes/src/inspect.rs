//! `imbrex inspect`: what a volume that is not served looks like.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use imbrex::layer::{Condition, UnitState};
use imbrex::media::Media;
use imbrex::plan::{Record, Unit};
use imbrex_live::offline::{self, LayerState};
use imbrex_live::volume::Volume;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::table::{bytes, count, paragraphs, percent, table};
use serde::Serialize;

use super::volume_to_read;

/// The version of [`Inspected`].
const SCHEMA: &str = "imbrex.inspected/1";

/// Show what a volume that is not served holds: superblocks, zones, journals, maps and how full it is
#[derive(Args)]
pub struct Inspect {
    /// Its stores, in order
    #[arg(required = true, num_args = 1..=2)]
    stores: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// A volume.
#[derive(Serialize)]
struct Inspected {
    schema: &'static str,
    layer: String,
    block_bytes: u32,
    capacity_bytes: u64,
    /// Parts that are damaged or old in one copy.
    stale: Vec<String>,
    members: Vec<Member>,
    layers: Vec<Layer>,
}

/// A store of it.
#[derive(Serialize)]
struct Member {
    path: PathBuf,
    uuid: String,
    drive_bytes: u64,
    units: Units,
}

/// The zones, bands or erase blocks of a store.
#[derive(Default, Serialize)]
struct Units {
    conventional: u64,
    /// Of a hybrid drive, those of the spans that are not active.
    inactive: u64,
    read_only: u64,
    offline: u64,
    /// Of those with a pointer.
    empty: u64,
    up_to_a_quarter: u64,
    up_to_a_half: u64,
    up_to_three_quarters: u64,
    nearly_full: u64,
    full: u64,
}

/// A layer of it.
#[derive(Serialize)]
struct Layer {
    layer: String,
    /// From 1; nothing for the layer above all members.
    member: Option<usize>,
    journal: Journal,
    capacity_blocks: u64,
    /// Bytes of its map that are in memory while it is served, with the rest on the drive; null if all of it is.
    map_memory: Option<u64>,
    /// Blocks in which the pages of that map lie.
    map_blocks: u32,
    mapped_blocks: u64,
    mapped_runs: u64,
    lost_blocks: u64,
    occupancy: f64,
}

/// The journal of a layer.
#[derive(Serialize)]
struct Journal {
    blocks: u64,
    copies: usize,
    tail: u64,
    head: u64,
    entries: usize,
    records: Records,
    images: usize,
    /// Blocks that are damaged or old in one copy.
    lacking: usize,
    starts: u32,
}

/// The records of a journal.
#[derive(Default, Serialize)]
struct Records {
    map: u64,
    copy: u64,
    unmap: u64,
    lost: u64,
    unit: u64,
    note: u64,
}

impl Inspect {
    /// Shows what lies on the stores.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let volume = volume_to_read(&self.stores)?;
        let layers: Vec<Layer> = offline::layers(&volume)?.into_iter().map(|state| layer(&volume, state)).collect();
        let block_bytes = volume.members[0].block_bytes();
        let capacity_bytes = layers.last().map_or(0, |top| top.capacity_blocks) * u64::from(block_bytes);
        let inspected = Inspected {
            schema: SCHEMA,
            layer: volume.layer().to_owned(),
            block_bytes,
            capacity_bytes,
            stale: volume.stale.clone(),
            members: self.members(&volume),
            layers,
        };
        output.write(std::slice::from_ref(&inspected), || shown(&inspected))
    }

    fn members(&self, volume: &Volume) -> Vec<Member> {
        let member = |((path, superblock), store): ((&PathBuf, &imbrex_live::superblock::Superblock), &_)| {
            let store: &std::sync::Arc<dyn imbrex_live::store::Store> = store;
            Member {
                path: path.clone(),
                uuid: superblock.uuid().to_string(),
                drive_bytes: superblock.blocks * u64::from(superblock.block_bytes),
                units: units(store.media().as_ref()),
            }
        };
        self.stores.iter().zip(&volume.superblocks).zip(&volume.members).map(member).collect()
    }
}

fn units(media: &dyn Media) -> Units {
    let mut units = Units::default();
    for (unit, UnitState { condition, pointer }) in (0..).map(Unit::disk).zip(media.report()) {
        let quarters = u64::from(pointer) * 4;
        let blocks = u64::from(media.extent_of(unit).blocks);
        let counted = match condition {
            Condition::Conventional => &mut units.conventional,
            Condition::Inactive => &mut units.inactive,
            Condition::ReadOnly => &mut units.read_only,
            Condition::Offline => &mut units.offline,
            Condition::Sequential if quarters == 0 => &mut units.empty,
            Condition::Sequential if quarters == 4 * blocks => &mut units.full,
            Condition::Sequential if quarters <= blocks => &mut units.up_to_a_quarter,
            Condition::Sequential if quarters <= 2 * blocks => &mut units.up_to_a_half,
            Condition::Sequential if quarters <= 3 * blocks => &mut units.up_to_three_quarters,
            Condition::Sequential => &mut units.nearly_full,
        };
        *counted += 1;
    }
    units
}

fn layer(volume: &Volume, mut state: LayerState) -> Layer {
    let mapped = state.walk(|_| ());
    let mut records = Records::default();
    for record in state.journal.entries.iter().flat_map(|entry| &entry.entry.records) {
        *match record {
            Record::Map { .. } => &mut records.map,
            Record::Copy { .. } => &mut records.copy,
            Record::Unmap(_) => &mut records.unmap,
            Record::Lost(_) => &mut records.lost,
            Record::Unit { .. } => &mut records.unit,
            Record::Note { .. } => &mut records.note,
        } += 1;
    }
    let journal = Journal {
        blocks: state.setup.journal.first().map_or(0, |copy| copy.blocks.into()),
        copies: state.setup.journal.len(),
        tail: state.journal.tail,
        head: state.journal.head,
        entries: state.journal.entries.len(),
        records,
        images: state.journal.entries.iter().map(|entry| entry.entry.images.len()).sum(),
        lacking: state.journal.lacking.len(),
        starts: state.journal.epoch.saturating_sub(1),
    };
    let (capacity_blocks, mapped_blocks) = (state.layer.capacity(), mapped.blocks);
    let own = state.member.map(|member| &volume.superblocks[member].own);
    let (map_memory, map_blocks) = own.map_or((None, 0), |own| (own.map_memory, own.map_blocks));
    Layer {
        layer: state.name,
        member: state.member.map(|member| member + 1),
        journal,
        capacity_blocks,
        map_memory,
        map_blocks,
        mapped_blocks,
        mapped_runs: mapped.runs,
        lost_blocks: mapped.lost,
        occupancy: mapped_blocks as f64 / capacity_blocks.max(1) as f64,
    }
}

fn shown(volume: &Inspected) -> String {
    let Inspected { layer, block_bytes, capacity_bytes, .. } = volume;
    let mut text = format!("{layer}, {} in blocks of {block_bytes} bytes\n\n", bytes(*capacity_bytes));
    text += &table(
        ["store", ">drive", ">conventional", ">empty", ">partly", ">full", ">read-only", ">offline", "UUID"],
        volume.members.iter().map(|Member { path, uuid, drive_bytes, units }| {
            let partly = units.up_to_a_quarter + units.up_to_a_half + units.up_to_three_quarters + units.nearly_full;
            let [conventional, empty, partly, full, read_only, offline] =
                [units.conventional, units.empty, partly, units.full, units.read_only, units.offline].map(count);
            let path = path.display().to_string();
            [path, bytes(*drive_bytes), conventional, empty, partly, full, read_only, offline, uuid.clone()]
        }),
    );
    for Member { path, units, .. } in volume.members.iter().filter(|member| member.units.inactive > 0) {
        let (path, inactive) = (path.display(), count(units.inactive));
        let line = format!("{path} is hybrid: {inactive} zones are inactive, since others in their place are active");
        text += &format!("\n{}", paragraphs(&line));
    }
    text += "\n\n";
    text += &table(
        ["layer", ">journal blocks", ">in use", ">entries", ">mapped", ">runs", ">lost", ">occupied"],
        volume.layers.iter().map(|layer| {
            let Layer { journal, mapped_blocks, mapped_runs, lost_blocks, occupancy, .. } = layer;
            let [ring, used, entries] =
                [journal.blocks, journal.head - journal.tail, journal.entries as u64].map(count);
            let [mapped, runs, lost] = [*mapped_blocks, *mapped_runs, *lost_blocks].map(count);
            [layer.layer.clone(), ring, used, entries, mapped, runs, lost, percent(*occupancy)]
        }),
    );
    for Layer { layer, map_memory, map_blocks, .. } in &volume.layers {
        let Some(memory) = map_memory else { continue };
        let drive = bytes(u64::from(*map_blocks) * u64::from(*block_bytes));
        let line =
            format!("the map of {layer} lies in {drive} of the drive; a server has {} of it in memory", bytes(*memory));
        text += &format!("\n{}", paragraphs(&line));
    }
    volume.stale.iter().fold(text, |text, what| format!("{text}\n{}", paragraphs(&format!("{what} is damaged or old"))))
}
