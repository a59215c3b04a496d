//! Which setting of a log is in use where several can be chosen from while it runs: the one whose miniature moves least.
//!
//! It is chosen whenever the log is about to compact. Of a log with a part of its map in memory it is only known, as an
//! epoch begins, which pages have ever been used: all blocks of these count as lying somewhere, in order.

use super::LogStructured;
use super::bands::Bands;
use super::config::Weights;
use super::lifetimes::{FIRST_STRATEGY, STRATEGIES};
use super::setting::Setting;
use crate::parts::miniatures::Miniatures;
use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::layer::TranslationLayer;

/// The weights to choose from, in tenths. Larger ones lose in every table of the paper.
const WEIGHTS: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The number of the weight that is in use until there is a reason for another one.
const FIRST_WEIGHT: usize = 1;

/// The miniatures of a log, and the settings that they have.
pub(super) struct Tuner {
    settings: Vec<Setting>,
    pub miniatures: Miniatures,
}

impl Tuner {
    /// Miniatures of `log`, to which one of `sample` neighbours is written.
    pub fn new(sample: u32, log: &LogStructured) -> Self {
        let (settings, first): (Vec<Setting>, _) = if log.bands.known.lifetimes.is_some() {
            (STRATEGIES.into_iter().map(Setting::Strategy).collect(), FIRST_STRATEGY)
        } else {
            let weights = |tenths: u8| Setting::Weights(Weights::of(f64::from(tenths) / 10.0, 0.0));
            (WEIGHTS.into_iter().map(weights).collect(), FIRST_WEIGHT)
        };
        let (name, score, of) = (log.name, log.bands.score().clone(), settings.clone());
        let (config, heat) = (log.config.clone(), log.heat.clone());
        let make = move |setting: usize, zones, capacity| {
            let mut log = LogStructured::over(name, score.clone(), zones, capacity, config.clone(), heat.clone());
            log.bands.set(of[setting]);
            Box::new(log) as Box<dyn TranslationLayer>
        };
        let (zones, capacity) = (*log.bands.zones(), log.capacity());
        Self { miniatures: Miniatures::new(settings.len(), first, sample, zones, capacity, Box::new(make)), settings }
    }

    /// The one in use, until it is chosen anew.
    pub fn in_use(&self) -> Setting {
        self.settings[self.miniatures.chosen()]
    }

    /// Chooses anew.
    pub fn choose(&mut self) -> Setting {
        self.settings[self.miniatures.choose()]
    }

    /// An epoch begins with the blocks that `bands` hold, which the miniatures take in the order of their places.
    pub fn begin(&mut self, bands: &Bands) {
        let sample = self.miniatures.sample();
        let mut lying: Vec<(u64, Lba)> = Vec::new();
        let mut lies = |at: Extent<Lba>, slot: u64| {
            let place = |small: Lba| slot + sample.block(small.0).since(at.start);
            lying.extend(sample.among(at).iter().map(|small| (place(small), small)));
            true
        };
        match bands.map.tables() {
            None => bands.map.all_runs(lies),
            Some((places, _)) => {
                let numbers = |page| places.layout().numbers_of(page);
                for at in places.used(0, u64::MAX).map(numbers) {
                    lies(Extent::between(Lba(at.start), Lba(at.end)), at.start);
                }
            }
        }
        lying.sort_unstable();
        let lying: Vec<Lba> = lying.into_iter().map(|(_, small)| small).collect();
        self.miniatures.begin(&lying);
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Equal, HeatConfig, LogConfig};
    use super::super::score::Score;
    use super::*;
    use imbrex_core::block::Pba;
    use imbrex_core::layer::{Condition, MAP_PAGE_HEADER, MapCache, UnitReport, UnitState};
    use imbrex_core::plan::{Plan, Record, Unit};
    use imbrex_core::samples;
    use imbrex_core::space::{Space, Zones};

    /// A log over `bands` of `band_blocks`, with one of `sample` neighbours followed.
    fn tuned(bands: u32, band_blocks: u32, sample: u32) -> LogStructured {
        let zones = Some(Zones { first: Unit::disk(0), count: bands, zone_blocks: band_blocks });
        let space = Space { zones, ..samples::ample_space() };
        let config = LogConfig::default();
        LogStructured::new("log-lifetimes", Score::Rest, &space, config, HeatConfig::default()).unwrap().tuned(sample)
    }

    #[test]
    fn miniatures_are_small_on_any_disk_and_have_bands_that_say_something() {
        for (bands, band_blocks, group) in [
            // As asked for.
            (200, 65_536, 64),
            (128, 64 * 16, 64),
            // 18 TB: no more than 2^18 blocks.
            (67_000, 65_536, 16_750),
            // Bands of 16 blocks, or of all where they have less.
            (128, 63 * 16, 63),
            (1000, 32, 15),
            (20, 15, 1),
        ] {
            let log = tuned(bands, band_blocks, 64);
            let sample = log.tuner.as_ref().unwrap().miniatures.sample();
            assert_eq!(sample.group, group, "{bands} of {band_blocks}");
            let share = sample.groups as f64 * sample.group as f64 / log.capacity() as f64;
            assert!(sample.groups <= 1 << 18 && share > 0.9 && share <= 1.0, "{bands} of {band_blocks}: {sample:?}");
            let memory = log.tuner.as_ref().unwrap().miniatures.memory().most;
            assert!(memory < 40_000_000, "{bands} of {band_blocks}: {memory}");
        }
    }

    /// With a part of the map in memory: pages of 3 blocks.
    #[test]
    fn an_epoch_begins_with_the_blocks_of_used_pages() {
        let zones = Zones { first: Unit::disk(0), count: 10, zone_blocks: 64 };
        let map_cache = Some(MapCache { page_bytes: MAP_PAGE_HEADER + 21, pages: 4 });
        let space = Space { zones: Some(zones), map_cache, ..samples::ample_space() };
        let score = Score::ColdWeight(Weights::of(0.3, 0.0), Equal::Fewest);
        let (config, heat) = (LogConfig::default(), HeatConfig::default());
        let mut log = LogStructured::new("tuned-weight", score, &space, config, heat).unwrap().tuned(2);
        let map = Record::Map { at: Extent::new(Lba(100), 4), to: Pba::disk(0) };
        [map, Record::Note { key: 0, value: 4 }].iter().for_each(|record| log.apply(record).unwrap());
        let unit = |pointer| UnitState { condition: Condition::Sequential, pointer };
        let units = (0..10).map(|band| unit(if band == 0 { 4 } else { 0 })).collect();
        log.recovered(&UnitReport { devices: vec![Vec::new(), units] }, &mut Plan::new()).unwrap();
        let miniatures = &log.tuner.as_ref().unwrap().miniatures;
        let sample = miniatures.sample();
        assert_eq!(sample.group, 2);
        let used = Extent::new(Lba(99), 6);
        let followed: Vec<Lba> = (0..sample.groups).map(Lba).filter(|n| used.contains(sample.block(n.0))).collect();
        for at in miniatures.lying() {
            assert_eq!(at, followed);
        }
    }
}
