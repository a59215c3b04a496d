//! How a zone moves: batch by batch, each read and then written in quanta.

use super::model::Settings;

/// A zone on its way to an empty sequential one.
pub struct Moving {
    pub zone: u64,
    pub target: u64,
    batch: u64,
    pub read: u64,
    pub written: u64,
    is_writing: bool,
}

impl Moving {
    pub fn new(zone: u64, target: u64) -> Self {
        Self { zone, target, batch: 0, read: 0, written: 0, is_writing: false }
    }

    /// One access: how many blocks are read, and how many written.
    pub fn step(&mut self, zone_blocks: u64, settings: &Settings) -> (u64, u64) {
        if self.is_writing {
            let blocks = settings.quantum.min(self.read - self.written);
            self.written += blocks;
            self.is_writing = self.written < self.read;
            if !self.is_writing {
                self.batch = self.read;
            }
            return (0, blocks);
        }
        let end = zone_blocks.min(self.batch + settings.batch);
        let blocks = settings.quantum.min(end - self.read);
        self.read += blocks;
        self.is_writing = self.read == end;
        (blocks, 0)
    }
}
