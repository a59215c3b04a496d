//! Settings that miniatures find: a log for each of them, to which a sample of the blocks is written.

use super::lifetimes::STRATEGIES;
use super::log::Log;
use super::settings::Settings;

/// The weights of cold blocks to choose from, in tenths.
pub const TENTHS: [i64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The most bands of a miniature, the most blocks, and the fewest of a band.
const BANDS: usize = 128;
const BLOCKS: usize = 262_144;
const OF_BAND: usize = 16;

pub struct Miniatures {
    /// One of so many neighbours is followed.
    sample: u64,
    /// Blocks of the host on each miniature.
    blocks: u64,
    bands: usize,
    band_blocks: usize,
    pub logs: Vec<Log>,
    /// The number of the log whose setting is in use.
    pub chosen: usize,
}

impl Miniatures {
    pub fn new(set: &Settings, bands: usize, band_blocks: usize, capacity: u64) -> Self {
        let all = bands * band_blocks;
        let bands = bands.min(BANDS);
        let sample = set.sample.max(all.div_ceil(BLOCKS)).min(all / (OF_BAND * bands)).max(1);
        let band_blocks = all / sample / bands;
        let blocks = (capacity * (bands * band_blocks) as u64 / all as u64).max(1);
        let (sets, chosen): (Vec<Settings>, usize) = if set.layer == "log-lifetimes" {
            (STRATEGIES.map(|strategy| Settings { sample: 0, strategy, ..set.clone() }).into(), 1)
        } else {
            let weighed = |tenths| Settings { layer: "cold-weight", weights: [1000, 100 * tenths], ..set.clone() };
            (TENTHS.map(weighed).into(), 1)
        };
        let logs = sets.into_iter().map(|set| Log::new(set, bands, band_blocks, blocks)).collect();
        Self { sample: sample as u64, blocks, bands, band_blocks, logs, chosen }
    }

    /// The number of a block on miniatures, if it is followed: of the n-th neighbours it is the one at n times the golden
    /// ratio, of which only the fraction counts.
    pub fn number(&self, lba: u64) -> Option<u64> {
        let of = lba / self.sample;
        let golden = (1.0 + 5f64.sqrt()) / 2.0;
        let within = ((of as f64 * golden).fract() * self.sample as f64) as u64;
        (of < self.blocks && lba % self.sample == within).then_some(of)
    }

    pub fn write(&mut self, lba: u64) {
        if let Some(number) = self.number(lba) {
            self.logs.iter_mut().for_each(|log| log.write(number));
        }
    }

    pub fn trim(&mut self, lba: u64) {
        if let Some(number) = self.number(lba) {
            self.logs.iter_mut().for_each(|log| log.trim(number));
        }
    }

    /// An epoch begins in which these blocks lie somewhere, in this order.
    pub fn begin(&mut self, lying: &[u64]) {
        let lying: Vec<u64> = lying.iter().filter_map(|&lba| self.number(lba)).collect();
        for log in &mut self.logs {
            *log = Log::new(log.set.clone(), self.bands, self.band_blocks, self.blocks);
            lying.iter().for_each(|&number| log.lay(number));
            log.forget();
        }
    }

    /// The setting to go on with: the one in use, unless another has moved less by a hundredth and by a band.
    pub fn choose(&mut self) -> &Settings {
        let moved = |number: usize| self.logs[number].counts.moved;
        let least = (0..self.logs.len()).min_by_key(|&number| moved(number)).expect("there are settings");
        if 100 * (moved(least) + self.band_blocks as u64) < 99 * moved(self.chosen) {
            self.chosen = least;
        }
        &self.logs[self.chosen].set
    }
}
