//! A volume that is not served, looked at without changing it: what its journals say, where its blocks lie, and whether
//! that can be true.

mod check;
mod counts;
mod map;
mod pages;
mod scrub;
mod taken;

use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layer::{TranslationLayer, UnitReport};
use imbrex::perform::{Fatal, JournalState, Request, Setup, Stack, StackSetup};
use imbrex::plan::Plan;

use crate::overlay::{KEEPS, Overlay};
use crate::solo::Solo;
use crate::store::Store;
use crate::volume::{Volume, VolumeError};
pub use check::{Checked, Problem, check, repair};
pub use map::{Mapped, Run, Walked};
use pages::Pages;
pub use scrub::scrub;

/// A layer of a volume as its journal has it.
pub struct LayerState {
    /// The layer.
    pub name: String,
    /// The member that it is on; none for one above all members.
    pub member: Option<usize>,
    /// How it is set up.
    pub setup: Setup,
    /// Its journal.
    pub journal: JournalState,
    /// The layer itself, with all records applied and what the drive reports.
    pub layer: Box<dyn TranslationLayer>,
    /// The pages of its map that are on the drive, if it has some there.
    pages: Option<Pages>,
}

/// Reads the journals of all layers, those on members first.
///
/// # Errors
/// What cannot be read, or contradicts itself.
pub fn layers(volume: &Volume) -> Result<Vec<LayerState>, VolumeError> {
    let StackSetup { top, below } = volume.setup()?;
    let own = |member: usize| volume.superblocks[member].own.layer.clone();
    if below.is_empty() {
        return Ok(vec![on_member(volume, own(0), 0, top)?]);
    }
    let mut states = Vec::new();
    for (member, setup) in below.into_iter().enumerate() {
        states.push(on_member(volume, own(member), member, setup.top)?);
    }
    states.push(above(volume, top)?);
    Ok(states)
}

/// The layer on a member.
fn on_member(volume: &Volume, name: String, member: usize, setup: Setup) -> Result<LayerState, VolumeError> {
    let store = &volume.members[member];
    let refused = |what: Fatal| VolumeError::Refused(format!("member {}: {what}", member + 1));
    let units = store.media().unit_report();
    let journal = JournalState::read(&setup, &units, &mut |at| store.read(at).ok()).map_err(refused)?;
    let layer = folded(&setup, &journal, &units).map_err(refused)?;
    let pages = Pages::of(&setup, store, layer.as_ref());
    Ok(LayerState { name, member: Some(member), setup, journal, layer, pages })
}

/// The layer of a journal that has been read, as it begins an epoch.
fn folded(setup: &Setup, journal: &JournalState, units: &UnitReport) -> Result<Box<dyn TranslationLayer>, Fatal> {
    let mut layer = journal.fold(setup)?;
    layer.recovered(units, &mut Plan::new())?;
    Ok(layer)
}

impl LayerState {
    /// A look at the map begins. What records say of pages is taken once, when the page comes into memory.
    fn begin_look(&mut self) {
        if let Some(pages) = &mut self.pages
            && pages.begin()
            && let Ok(layer) = folded(&self.setup, &self.journal, &pages.report())
        {
            pages.folded(layer.as_ref());
            self.layer = layer;
        }
    }
}

/// The layer above the members, whose journal lies where the first one's layer has put it.
fn above(volume: &Volume, setup: Setup) -> Result<LayerState, VolumeError> {
    let mut below = first_member(volume)?;
    let mut read = |at: Extent<Pba>| -> Option<Bytes> {
        below.call(Request::Read(Extent::new(Lba(at.start.block()), at.blocks))).ok()
    };
    let units = setup.media.unit_report();
    let journal = JournalState::read(&setup, &units, &mut read)?;
    let layer = folded(&setup, &journal, &units).map_err(|e| VolumeError::Refused(e.to_string()))?;
    Ok(LayerState { name: volume.layer().to_owned(), member: None, setup, journal, layer, pages: None })
}

/// The first member behind its layer; what recovery writes stays in memory.
fn first_member(volume: &Volume) -> Result<Solo, VolumeError> {
    let setup = volume.setup()?.below.swap_remove(0);
    let overlay: Arc<dyn Store> = Arc::new(Overlay::new(Arc::clone(&volume.members[0]), KEEPS));
    Ok(Solo::begin(Stack::open(setup)?, vec![overlay])?)
}
