//! What is known of blocks and bands beyond where they lie, as far as the score or the separation of blocks asks.
//!
//! All of it is soft state, and follows the blocks from band to band.

use super::ages::Ages;
use super::config::{Age, Cooling, HeatConfig, LogConfig};
use super::lives::{Lives, SHORT};
use super::separation::{COLD, Separation};
use super::temperatures::Temperatures;
use super::times::{Times, Written};
use crate::parts::full_map::FullMap;
use crate::parts::page_table::Layout;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What is asked for.
pub(super) struct Asked {
    /// The score's interpretation of age, if it goes by that.
    pub age: Option<Age>,
    /// Whether the score asks how many hot blocks live on a band.
    pub counts_hot: bool,
    pub separation: Separation,
}

pub(super) struct Known {
    pub times: Times,
    /// Where the score goes by age.
    pub ages: Option<Ages>,
    /// Where something depends on heat.
    pub temperatures: Option<Temperatures>,
    /// Where blocks are apart by how long they live.
    pub lives: Option<Lives>,
}

impl Known {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let ages = self.ages.as_ref().map_or_else(Memory::default, Ages::memory);
        let temperatures = self.temperatures.as_ref().map_or_else(Memory::default, Temperatures::memory);
        let lives = self.lives.as_ref().map_or_else(Memory::default, Lives::memory);
        self.times.memory() + ages + temperatures + lives
    }

    /// Nothing is known yet of `bands` bands and `capacity` blocks.
    pub fn new(asked: &Asked, config: &LogConfig, heat: &HeatConfig, bands: u32, capacity: u64) -> Self {
        let Asked { age, separation, .. } = *asked;
        let by_life = separation == Separation::Life;
        let by_block = by_life || age.is_some_and(Ages::asks_for_blocks);
        let by_heat = config.heeds_heat() || matches!(separation, Separation::Temperature { .. });
        let counted = if asked.counts_hot { bands } else { 0 };
        let hot = (capacity as f64 * heat.oracle).round() as u64;
        Self {
            times: Times::new(by_block.then_some(capacity)),
            ages: age.map(|age: Age| Ages::new(age, bands)),
            temperatures: (by_heat || counted > 0).then(|| Temperatures::new(capacity, hot, heat.hot_from, counted)),
            lives: by_life.then(|| Lives::new(bands)),
        }
    }

    /// Reads what a write of the block will look up, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        let heat = self.temperatures.as_ref().map_or(0, |temperatures| temperatures.prefetch(lba));
        self.times.of(lba) ^ heat
    }

    /// Bytes that are known of each block beyond where it lies.
    pub fn entry_bytes(&self) -> u32 {
        self.times.entry_bytes() + self.temperatures.as_ref().map_or(0, Temperatures::entry_bytes)
    }

    /// Only some pages of what is known of blocks are in memory, none at first. So of bands nothing is looked up again.
    pub fn cache(&mut self, layout: Layout, most: u64) {
        self.times.cache(layout, most);
        if let Some(ages) = &mut self.ages {
            ages.cut();
        }
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.cache(layout.entries(), most);
        }
    }

    /// Puts what is known of the `entries` blocks of a page into memory: nothing, or what was taken out.
    pub fn put_page(&mut self, page: u64, entries: u64, content: Option<&[u8]>) {
        let content = content.unwrap_or_default();
        let of_times = (entries as usize * self.times.entry_bytes() as usize).min(content.len());
        let (times, heat) = content.split_at(of_times);
        let now = self.times.now();
        if let Some(table) = self.times.table_mut() {
            table.put(page, (!times.is_empty()).then_some((times, 0)));
            if table.impossible(page, |time| time <= now).is_some() {
                table.put(page, None);
            }
        }
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.heat_mut().put(page, heat);
        }
    }

    /// Appends what is known of the blocks of a page in memory.
    pub fn page_content(&self, page: u64, out: &mut Vec<u8>) {
        if let Some(table) = self.times.table() {
            table.content(page, out);
        }
        if let Some(temperatures) = &self.temperatures {
            temperatures.heat().content(page, out);
        }
    }

    /// Takes a page out of memory.
    pub fn evict_page(&mut self, page: u64) {
        if let Some(table) = self.times.table_mut() {
            table.evict(page);
        }
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.heat_mut().evict(page);
        }
    }

    /// Whether a few numbers say what is known of the blocks from `first` to `end`.
    #[inline]
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        let is_so = |temperatures: &Temperatures| temperatures.is_regular(first, end);
        self.times.is_regular(first, end) && self.temperatures.as_ref().is_none_or(is_so)
    }

    /// A band is empty and will be written by this stream.
    pub fn opened(&mut self, band: u32, stream: u8) {
        if let Some(ages) = &mut self.ages {
            ages.opened(band);
        }
        if let Some(lives) = &mut self.lives {
            lives.opened(band, stream, self.times.now());
        }
    }

    /// A band is written as far as it will be.
    pub fn closed(&mut self, band: u32) {
        if let Some(lives) = &mut self.lives {
            lives.closed(band, self.times.now());
        }
    }

    /// A closed band is compacted.
    pub fn compacted(&mut self, band: u32) {
        if let Some(lives) = &mut self.lives {
            lives.compacted(band, self.times.now());
        }
    }

    /// The blocks of `at` move from where `map` has them to `band`, written when it is said.
    #[inline]
    pub fn enter(&mut self, at: Extent<Lba>, map: &FullMap, band: u32, written: Written) {
        let written = self.ages.as_ref().map_or(written, |ages| ages.reads(written));
        if let Some(ages) = &mut self.ages {
            ages.leave(at, map, &self.times);
        }
        self.times.enter(at, written);
        if let Some(ages) = &mut self.ages {
            ages.enter(at, band, written, &self.times);
        }
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.relocate(at, map, Some(band));
        }
    }

    /// The blocks of `at` are about to lie nowhere.
    pub fn leave(&mut self, at: Extent<Lba>, map: &FullMap) {
        if let Some(ages) = &mut self.ages {
            ages.leave(at, map, &self.times);
        }
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.relocate(at, map, None);
        }
    }

    /// How often the block was overwritten since it was last compacted, where something depends on that.
    pub fn heat(&self, lba: Lba) -> u32 {
        self.temperatures.as_ref().map_or(0, |temperatures| temperatures.of(lba))
    }

    /// What `cooling` leaves of that.
    pub fn heat_left(&self, lba: Lba, cooling: Cooling) -> u32 {
        self.temperatures.as_ref().map_or(0, |temperatures| temperatures.left(lba, cooling))
    }

    /// Whether a write by the host leaves the block hot or, where blocks are apart by how long they live, it has not
    /// lived long since the one before.
    #[inline]
    pub fn will_be_hot(&self, lba: Lba, map: &FullMap, lived: impl FnOnce() -> Option<u64>) -> bool {
        match &self.lives {
            Some(lives) => lives.of_host(lived()) == SHORT,
            None => self.temperatures.as_ref().is_some_and(|temperatures| temperatures.will_be_hot(lba, map)),
        }
    }

    /// The blocks of `at` that lie on bands have been overwritten.
    #[inline]
    pub fn overwrite(&mut self, at: Extent<Lba>, map: &FullMap) {
        if let Some(temperatures) = &mut self.temperatures {
            at.iter().filter(|&lba| map.get(lba).is_some()).for_each(|lba| temperatures.raise(lba, map));
        }
    }

    /// The block has been overwritten.
    pub fn raise(&mut self, lba: Lba, map: &FullMap) {
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.raise(lba, map);
        }
    }

    /// The blocks of `at` are as hot as `cooling` leaves them.
    pub fn cool(&mut self, at: Extent<Lba>, map: &FullMap, cooling: Cooling) {
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.cool(at, map, cooling);
        }
    }

    /// Whether a block in the write buffer is hot or, where blocks are apart by how long they live, has not lived long.
    pub fn is_hot(&self, lba: Lba, lived: Option<u64>) -> bool {
        self.lives.as_ref().map_or_else(|| self.heat(lba) > 0, |lives| lives.of_host(lived) == SHORT)
    }

    /// The stream of a block that is moved from `band`, by its age and by what the band holds.
    pub fn stream_of_moved(&self, lba: Lba, band: u32) -> u8 {
        let age = self.times.now() - self.times.of(lba);
        self.lives.as_ref().map_or(COLD, |lives| lives.of_moved(band, age))
    }

    /// Verifies that what is known of bands is what is known of their blocks.
    pub fn check(&self, map: &FullMap) -> Result<(), Violation> {
        self.ages.as_ref().map_or(Ok(()), |ages| ages.check(map, &self.times))?;
        self.temperatures.as_ref().map_or(Ok(()), |temperatures| temperatures.check(map))
    }
}
