//! The weight of cold blocks that small disks find: a log for each weight, to which a sample of the blocks is written.

use super::log::Log;
use super::settings::Settings;

/// The weights, in tenths.
pub const TENTHS: [i64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

pub struct Tuned {
    /// One of so many neighbours is followed.
    sample: u64,
    /// Blocks of the host on each small disk.
    blocks: u64,
    pub logs: Vec<Log>,
    /// The number of the log whose weight is in use.
    pub chosen: usize,
}

impl Tuned {
    /// Small disks for one of so many bands, whose own have 32 blocks at least unless those of the large one have less.
    pub fn new(set: &Settings, bands: usize, band_blocks: usize, capacity: u64) -> Self {
        let sample = set.sample.min(band_blocks / 32).max(1);
        let blocks = capacity * (band_blocks / sample) as u64 / band_blocks as u64;
        let log = |tenths: i64| {
            let set = Settings { layer: "cold-weight", weights: [1000, 100 * tenths], ..set.clone() };
            Log::new(set, bands, band_blocks / sample, blocks)
        };
        Self { sample: sample as u64, blocks, logs: TENTHS.into_iter().map(log).collect(), chosen: 1 }
    }

    /// The number of a block on the small disks, if it is followed: of the n-th neighbours it is the one at n times the
    /// golden ratio, of which only the fraction counts.
    fn number(&self, lba: u64) -> Option<u64> {
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

    /// The weights to compact with: those in use unless others have moved less by a hundredth.
    pub fn choose(&mut self) -> [i64; 2] {
        let moved = |number: usize| self.logs[number].counts.moved;
        let least = (0..self.logs.len()).min_by_key(|&number| moved(number)).expect("there are weights");
        if 100 * moved(least) < 99 * moved(self.chosen) {
            self.chosen = least;
        }
        self.logs[self.chosen].set.weights
    }
}
