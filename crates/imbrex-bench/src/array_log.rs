//! The baseline of logs: what greedy cleaning must do, on arrays. No plan, no dispatch, no rules of the media, no
//! batches.

/// The place of a block that lies nowhere.
const NOWHERE: u32 = u32::MAX;

/// A log over bands, one of which is kept empty to compact into.
pub struct ArrayLog {
    band_blocks: u32,
    /// Where each block lies.
    places: Vec<u32>,
    /// The block last written to each place.
    holders: Vec<u32>,
    /// Blocks that lie on each band.
    live: Vec<u32>,
    empty: Vec<u32>,
    /// The place to be written next, and how many follow on its band.
    next: u32,
    room: u32,
    /// Blocks written so far, for the host and moved.
    pub written: u64,
}

impl ArrayLog {
    /// An empty log of `map_blocks` blocks, fewer than all bands but two hold.
    pub fn new(bands: u32, band_blocks: u32, map_blocks: u32) -> Self {
        Self {
            band_blocks,
            places: vec![NOWHERE; map_blocks as usize],
            holders: vec![NOWHERE; (bands * band_blocks) as usize],
            live: vec![0; bands as usize],
            empty: (0..bands).rev().collect(),
            next: 0,
            room: 0,
            written: 0,
        }
    }

    /// The host writes a block.
    #[inline]
    pub fn write(&mut self, block: u32) {
        while self.room == 0 {
            if self.empty.len() > 1 { self.open() } else { self.compact() }
        }
        self.append(block);
    }

    #[inline]
    fn append(&mut self, block: u32) {
        let to = self.next;
        let was = std::mem::replace(&mut self.places[block as usize], to);
        if was != NOWHERE {
            self.live[(was / self.band_blocks) as usize] -= 1;
        }
        self.holders[to as usize] = block;
        self.live[(to / self.band_blocks) as usize] += 1;
        self.next += 1;
        self.room -= 1;
        self.written += 1;
    }

    fn open(&mut self) {
        if let Some(band) = self.empty.pop() {
            (self.next, self.room) = (band * self.band_blocks, self.band_blocks);
        }
    }

    /// Moves what lives on the band with the fewest live blocks to the empty one.
    fn compact(&mut self) {
        let is_empty = |band: &u32| self.empty.contains(band);
        let written = (0..self.live.len() as u32).filter(|band| !is_empty(band));
        let Some(victim) = written.min_by_key(|&band| self.live[band as usize]) else { return };
        self.open();
        for place in victim * self.band_blocks..(victim + 1) * self.band_blocks {
            let block = self.holders[place as usize];
            if self.places[block as usize] == place {
                self.append(block);
            }
        }
        self.empty.push(victim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_lies_where_it_was_written_last() {
        let (bands, band_blocks, map) = (6, 8, 30);
        let mut log = ArrayLog::new(bands, band_blocks, map);
        (0..map).chain((0..2000).map(|i| i * i % map)).for_each(|block| log.write(block));
        let mut live = vec![0; bands as usize];
        for (block, place) in (0..).zip(&log.places) {
            assert_eq!(log.holders[*place as usize], block);
            live[(place / band_blocks) as usize] += 1;
        }
        assert_eq!(live, log.live);
        assert!(log.written > 3000, "only {} blocks were written: hardly any was moved", log.written);
    }
}
