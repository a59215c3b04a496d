//! Drives in memory: a layer and its journal on each, beside what may have been written there before.

use bytes::Bytes;

use super::Candidate;
use super::content::BLOCK;
use super::devices::{Devices, DevicesError};
use super::dice::Dice;
use super::shape::{Drive, Shape};
use super::store::Store;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::Unwritten;
use imbrex_core::media::Media;
use imbrex_core::plan::Unit;
use imbrex_engine::rules::{Rule, Rules};
use imbrex_engine::{IoKind, IoResult, Stack};

/// Drives in memory.
pub(super) struct Memory {
    shape: Shape,
    capacity: u64,
    unwritten: Unwritten,
    journals: Vec<Vec<Extent<Pba>>>,
    stores: Vec<Store>,
}

impl Memory {
    /// Random drives for a layer.
    ///
    /// # Errors
    /// When a layer cannot be made.
    pub fn draw(candidate: &Candidate, rules: Rules, dice: &mut Dice) -> Result<Self, DevicesError> {
        let shape = Shape::draw(candidate, rules, dice)?;
        let capacity = shape.layer().map_err(|e| format!("{e}; {}", shape.describe()))?.capacity();
        let unwritten = shape.setup().unwritten();
        let is_used = dice.one_in(2);
        let (mut journals, mut stores) = (Vec::new(), Vec::new());
        for Drive { media, journal } in shape.drives() {
            journals.push(journal);
            let mut store = Store::new(media, BLOCK, is_used);
            store.tears_sectors = !rules.keeps(Rule::WholeSectors);
            stores.push(store);
        }
        Ok(Self { shape, capacity, unwritten, journals, stores })
    }
}

impl Devices for Memory {
    fn format(&mut self, _dice: &mut Dice) -> Result<Stack, DevicesError> {
        Ok(Stack::format(self.shape.setup())?)
    }

    fn open(&mut self, _dice: &mut Dice) -> Result<Stack, DevicesError> {
        Ok(Stack::open(self.shape.setup())?)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn unwritten(&self) -> Unwritten {
        self.unwritten
    }

    fn media(&self, drive: usize) -> Box<dyn Media> {
        self.stores[drive].media.copy()
    }

    fn drives(&self) -> usize {
        self.stores.len()
    }

    fn journal(&self, drive: usize) -> Vec<Extent<Pba>> {
        self.journals[drive].clone()
    }

    fn perform(&mut self, drive: usize, kind: &IoKind) -> Result<IoResult, DevicesError> {
        Ok(self.stores[drive].perform(kind)?)
    }

    fn settled(&self, drive: usize, block: Pba) -> Option<Bytes> {
        self.stores[drive].settled(block)
    }

    fn make_unreadable(&mut self, drive: usize, block: Pba) {
        self.stores[drive].make_unreadable(block);
    }

    fn copies_outlive_epochs(&self) -> bool {
        self.shape.has_map_pages()
    }

    fn wear_out(&mut self, drive: usize, unit: Unit) {
        self.stores[drive].wear_out(unit);
    }

    fn cut(&mut self, dice: &mut Dice) {
        self.stores.iter_mut().for_each(|store| store.cut(dice));
    }

    fn describe(&self) -> String {
        self.shape.describe()
    }
}
