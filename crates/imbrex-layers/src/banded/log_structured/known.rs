//! What is known of blocks and bands beyond where they lie, as far as the score or the separation of blocks asks.
//!
//! All of it is soft state, and follows the blocks from band to band.

use super::ages::Ages;
use super::config::{Age, Cooling, HeatConfig, LogConfig};
use super::lifetimes::Lifetimes;
use super::lives::{Lives, SHORT};
use super::separation::{COLD, Separation};
use super::temperatures::Temperatures;
use super::times::{Times, Written};
use crate::parts::full_map::FullMap;
use crate::parts::page_table::{Layout, PageTable};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::space::Zones;

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
    /// Where they are apart by how much is left of their lives.
    pub lifetimes: Option<Box<Lifetimes>>,
}

impl Known {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let ages = self.ages.as_ref().map_or_else(Memory::default, Ages::memory);
        let temperatures = self.temperatures.as_ref().map_or_else(Memory::default, Temperatures::memory);
        let lives = self.lives.as_ref().map_or_else(Memory::default, Lives::memory);
        let lifetimes = self.lifetimes.as_ref().map_or_else(Memory::default, |lifetimes| lifetimes.memory());
        self.times.memory() + ages + temperatures + lives + lifetimes
    }

    /// Nothing is known yet of the bands of `zones` and `capacity` blocks.
    pub fn new(asked: &Asked, config: &LogConfig, heat: &HeatConfig, zones: &Zones, capacity: u64) -> Self {
        let (bands, band) = (zones.count, zones.zone_blocks);
        let Asked { age, separation, .. } = *asked;
        let by_life = separation == Separation::Life;
        let is_inferred = matches!(separation, Separation::Lifetimes(_));
        let by_block = by_life || age.is_some_and(Ages::asks_for_blocks);
        let by_heat = config.heeds_heat() || matches!(separation, Separation::Temperature { .. });
        let counted = if asked.counts_hot { bands } else { 0 };
        let hot = (capacity as f64 * heat.oracle).round() as u64;
        Self {
            times: Times::new(by_block.then_some(capacity)),
            ages: age.map(|age: Age| Ages::new(age, bands)),
            temperatures: (by_heat || counted > 0).then(|| Temperatures::new(capacity, hot, heat.hot_from, counted)),
            lives: by_life.then(|| Lives::new(bands)),
            lifetimes: is_inferred.then(|| Box::new(Lifetimes::new(bands, band, capacity))),
        }
    }

    /// Reads what a write of the block will look up, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        let heat = self.temperatures.as_ref().map_or(0, |temperatures| temperatures.prefetch(lba));
        let life = self.lifetimes.as_ref().map_or(0, |lifetimes| lifetimes.prefetch(lba));
        self.times.prefetch(lba) ^ heat ^ life
    }

    /// Bytes that are known of each block beyond where it lies.
    pub fn entry_bytes(&self) -> u32 {
        let of_life = self.lifetimes.as_ref().map_or(0, |_| Lifetimes::ENTRY_BYTES);
        self.times.entry_bytes() + self.temperatures.as_ref().map_or(0, Temperatures::entry_bytes) + of_life
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
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.cache(layout, most);
        }
    }

    /// Puts what is known of the `entries` blocks of a page into memory: nothing, or what was taken out.
    pub fn put_page(&mut self, page: u64, entries: u64, content: Option<&[u8]>) {
        let content = content.unwrap_or_default();
        let of_times = (entries as usize * self.times.entry_bytes() as usize).min(content.len());
        let (times, rest) = content.split_at(of_times);
        let of_heat = self.temperatures.as_ref().map_or(0, |heat| entries as usize * heat.entry_bytes() as usize);
        let (heat, lives) = rest.split_at(of_heat.min(rest.len()));
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
        if let Some(table) = self.lifetimes.as_mut().and_then(|lifetimes| lifetimes.table_mut()) {
            table.put(page, (!lives.is_empty()).then_some((lives, 0)));
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
        if let Some(table) = self.lifetimes.as_ref().and_then(|lifetimes| lifetimes.table()) {
            table.content(page, out);
        }
    }

    /// What is known of blocks, beside heat, if only some pages of it are in memory.
    pub fn tables_mut(&mut self) -> impl Iterator<Item = &mut PageTable> {
        let lifetimes = self.lifetimes.as_mut().and_then(|lifetimes| lifetimes.table_mut());
        self.times.table_mut().into_iter().chain(lifetimes)
    }

    /// Takes a page out of memory.
    pub fn evict_page(&mut self, page: u64) {
        self.tables_mut().for_each(|table| table.evict(page));
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.heat_mut().evict(page);
        }
    }

    /// Whether a few numbers say what is known of the blocks from `first` to `end`.
    #[inline]
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        let is_so = |temperatures: &Temperatures| temperatures.is_regular(first, end);
        let lives = self.lifetimes.as_ref();
        self.times.is_regular(first, end)
            && self.temperatures.as_ref().is_none_or(is_so)
            && lives.is_none_or(|lifetimes| lifetimes.is_regular(first, end))
    }

    /// A band is empty and will be written by this stream.
    pub fn opened(&mut self, band: u32, stream: u8) {
        if let Some(ages) = &mut self.ages {
            ages.opened(band);
        }
        if let Some(lives) = &mut self.lives {
            lives.opened(band, stream, self.times.now());
        }
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.opened(band, self.times.now());
        }
    }

    /// A band is written as far as it will be.
    pub fn closed(&mut self, band: u32) {
        if let Some(lives) = &mut self.lives {
            lives.closed(band, self.times.now());
        }
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.closed(band, self.times.now());
        }
    }

    /// A band is written.
    #[inline]
    pub fn wrote(&mut self, band: u32) {
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.wrote(band, self.times.now());
        }
    }

    /// How many blocks the host can write before the streams of others may change.
    #[inline]
    pub fn until_concluded(&self) -> u64 {
        self.lifetimes.as_ref().map_or(u64::MAX, |lifetimes| lifetimes.until_concluded(self.times.now()))
    }

    /// Blocks are written by a stream.
    #[inline]
    pub fn flowed(&mut self, stream: u8, blocks: u32) {
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.flowed(stream, blocks);
        }
    }

    /// A closed band is compacted.
    pub fn compacted(&mut self, band: u32) {
        if let Some(lives) = &mut self.lives {
            lives.compacted(band, self.times.now());
        }
    }

    /// The blocks of `at` move from where `map` has them to `slot` and behind, on one band, written when it is said.
    #[inline]
    pub fn enter(&mut self, at: Extent<Lba>, map: &FullMap, slot: u64, written: Written) {
        let (band, _) = map.locate(slot);
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
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.enter(at, map, slot, written, self.times.now());
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
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.leave(at, map, self.times.now());
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

    /// Of how many blocks at the front of `at` a write by the host would leave as many hot as the first one, without a look
    /// at each: those that lie nowhere are alike.
    #[inline]
    pub fn alike(&self, at: Extent<Lba>, map: &FullMap) -> u32 {
        if let Some(lifetimes) = &self.lifetimes {
            return lifetimes.alike(at);
        }
        let (None, new) = map.run(at) else { return 1 };
        let are_cold = |temperatures: &Temperatures| temperatures.are_new_ones_cold(at.first(new));
        if self.lives.is_some() || self.temperatures.as_ref().is_none_or(are_cold) { new } else { 1 }
    }

    /// The blocks of `at` that lie on bands have been overwritten.
    #[inline]
    pub fn overwrite(&mut self, at: Extent<Lba>, map: &FullMap) {
        if let Some(temperatures) = &mut self.temperatures {
            map.runs(at, |at, _| {
                at.iter().for_each(|lba| temperatures.raise(lba, map));
                true
            });
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
        match &self.lifetimes {
            Some(lifetimes) => lifetimes.stream_of_moved(lba, self.times.now()),
            None => self.lives.as_ref().map_or(COLD, |lives| lives.of_moved(band, age)),
        }
    }

    /// Verifies that what is known of bands is what is known of their blocks.
    pub fn check(&self, map: &FullMap) -> Result<(), Violation> {
        self.ages.as_ref().map_or(Ok(()), |ages| ages.check(map, &self.times))?;
        self.temperatures.as_ref().map_or(Ok(()), |temperatures| temperatures.check(map))?;
        self.lifetimes.as_ref().map_or(Ok(()), |lifetimes| lifetimes.check(map))
    }
}
