//! Which blocks are written together: by their heat, or by how long they live, as SepBIT has it.

use super::log::{Band, Log, Waiting};

/// The most streams: those of `log-lifetimes`.
pub const MOST_STREAMS: usize = 20;

/// Those of SepBIT.
const STREAMS: usize = 6;

/// How long bands of the first stream of SepBIT lived from their opening to their compaction.
#[derive(Default)]
pub struct Lives {
    /// Those since the mean was last taken, of sixteen.
    lived: Vec<u64>,
    /// Sixteen times the mean.
    short: Option<u64>,
}

impl Lives {
    pub fn compacted(&mut self, band: &Band, now: u64) {
        if band.stream == 0 {
            self.lived.push(now - band.opened);
        }
        if self.lived.len() == 16 {
            self.short = Some(self.lived.drain(..).sum());
        }
    }

    /// Whether something lives less than so many times as long as is short. Before that is known everything does.
    fn below(&self, times: u64, life: u64) -> bool {
        self.short.is_none_or(|short| 16 * life < times * short)
    }
}

impl Log {
    /// The most that there can be.
    pub fn streams(&self) -> usize {
        match &self.lifetimes {
            Some(lifetimes) => lifetimes.streams().into_iter().fold(1, usize::max),
            None if self.by_life() => STREAMS,
            None => self.set.open_bands as usize,
        }
    }

    fn by_life(&self) -> bool {
        self.set.layer == "sepbit"
    }

    /// How long a block on the disk has lived when the host writes it next.
    pub fn lived(&self, lba: u64) -> Option<u64> {
        self.places[lba as usize].map(|_| self.written + 1 - self.times[lba as usize])
    }

    fn stream_of_life(&self, lived: Option<u64>) -> usize {
        if lived.is_some_and(|lived| self.lives.below(1, lived)) { 0 } else { 1 }
    }

    /// Hot blocks have a band of their own if there are two.
    fn stream_of_heat(&self, is_hot: bool) -> usize {
        usize::from(is_hot && self.set.open_bands > 1)
    }

    /// The stream of a block that the host writes next.
    pub fn stream_of_host(&self, lba: u64) -> usize {
        if let Some(lifetimes) = &self.lifetimes {
            lifetimes.stream_of_host(lba, self.written + 1)
        } else if self.by_life() {
            self.stream_of_life(self.lived(lba))
        } else if self.known_hot > 0 {
            self.stream_of_heat(self.heat(lba) > 0)
        } else {
            let overwrites = u64::from(self.overwrites[lba as usize]) + 1;
            self.stream_of_heat(self.places[lba as usize].is_some() && overwrites >= self.set.hot_from)
        }
    }

    /// Whether a block that waits in RAM is hot, or has a short life behind it.
    pub fn leaves_as_hot(&self, block: &Waiting) -> bool {
        if self.by_life() { self.stream_of_life(block.lived) == 0 } else { self.heat(block.lba) > 0 }
    }

    /// The stream of the blocks that leave RAM next.
    pub fn stream_of_leaving(&self) -> usize {
        match self.hot_leave() {
            hot if self.by_life() => usize::from(!hot),
            hot => self.stream_of_heat(hot),
        }
    }

    /// The stream of a block that is moved from a band.
    pub fn stream_of_moved(&self, lba: u64, band: usize) -> usize {
        let (heat, left) = (self.heat(lba), self.heat_left(lba));
        let age = self.written - self.times[lba as usize];
        if let Some(lifetimes) = &self.lifetimes {
            lifetimes.stream_of_moved(lba, self.written)
        } else if !self.by_life() {
            if self.set.open_bands == 3 && heat > 0 && left == 0 { 2 } else { self.stream_of_heat(left > 0) }
        } else if self.bands[band].stream == 0 {
            2
        } else if self.lives.below(4, age) {
            3
        } else if self.lives.below(16, age) {
            4
        } else {
            5
        }
    }
}
