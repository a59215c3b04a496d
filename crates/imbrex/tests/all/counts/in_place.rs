//! Zones that are rewritten in place: what a request has for a zone at a time, or what comes for a zone until another
//! one is written.

use std::collections::BTreeSet;

use super::model::{Disk, Model};

pub struct InPlace {
    pub disk: Disk,
    pub gathers: bool,
    pub pads: bool,
}

impl InPlace {
    fn pointer(&mut self, zone: u64) -> &mut u64 {
        &mut self.disk.pointer[zone as usize]
    }

    /// Zeros from the write pointer of a zone up to an offset.
    fn pad(&mut self, zone: u64, to: u64, without: &BTreeSet<u64>) {
        let (start, from) = (zone * self.disk.zone_blocks, *self.pointer(zone));
        for block in (start + from..start + to).filter(|block| !without.contains(block)) {
            self.disk.padding.insert(block);
            self.disk.counts.padding += 1;
        }
        *self.pointer(zone) = to.max(from);
    }

    /// Whether a run at an offset of a zone is appended to it.
    fn append(&mut self, zone: u64, offset: u64, blocks: u64) -> bool {
        let pointer = *self.pointer(zone);
        if offset < pointer || (offset > pointer && !self.pads) {
            return false;
        }
        if offset > pointer {
            self.pad(zone, offset, &BTreeSet::new());
            self.disk.counts.rmw_free += 1;
        }
        *self.pointer(zone) += blocks;
        self.disk.counts.direct += blocks;
        true
    }

    fn rewrite(&mut self, zone: u64, newer: &BTreeSet<u64>) {
        let start = zone * self.disk.zone_blocks;
        self.disk.padding.retain(|block| !newer.contains(block));
        let again = self.disk.padding.range(start..start + self.disk.zone_blocks).count();
        self.disk.counts.padding_again += again as u64;
        let end = newer.last().map_or(0, |last| last + 1 - start);
        self.pad(zone, end, newer);
        self.disk.counts.rmw += 1;
    }

    pub fn rewrite_open(&mut self) {
        let newer = std::mem::take(&mut self.disk.buffered);
        if let Some(block) = newer.first() {
            self.rewrite(block / self.disk.zone_blocks, &newer);
            self.disk.counts.evicted += newer.len() as u64;
        }
    }

    fn gather(&mut self, zone: u64, run: std::ops::Range<u64>) {
        let open = self.disk.buffered.first().map(|block| block / self.disk.zone_blocks);
        if open != Some(zone) {
            if self.append(zone, run.start % self.disk.zone_blocks, run.end - run.start) {
                return;
            }
            self.rewrite_open();
        }
        for block in run {
            self.disk.counts.hits += u64::from(!self.disk.buffered.insert(block));
        }
    }
}

impl Model for InPlace {
    fn write(&mut self, first: u64, blocks: u64) {
        let (mut block, end) = (first, first + blocks);
        while block < end {
            let zone = block / self.disk.zone_blocks;
            let run = block..end.min((zone + 1) * self.disk.zone_blocks);
            block = run.end;
            if self.gathers {
                self.gather(zone, run);
            } else if !self.append(zone, run.start % self.disk.zone_blocks, run.end - run.start) {
                self.rewrite(zone, &run.collect());
            }
        }
    }

    fn counts(&self) -> &super::model::Counts {
        &self.disk.counts
    }
}
