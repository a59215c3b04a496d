//! Clean blocks: which reads are worth a frame, and for how long.

use crate::parts::recency::RecencyList;
use crate::parts::replacement::ghosts::Ghosts;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::space::HomeCosts;

/// A copy takes a page, and saves a seek when its block is read again. It pays if the flash has not written more than all
/// frames × pages of a seek ÷ this until then.
const PAYS: u32 = 88;
/// A copy of a run that was not read before pays if the share of runs that return is its pages × this ÷ pages of a seek.
const PAYS_AT_FIRST: u32 = 65;
/// The part of the frames for which blocks are remembered that were read from home.
const REMEMBERED: u32 = 2;
/// Over so many runs it is averaged how many are of blocks that were read before.
const RUNS: u32 = 64;
/// A share of one.
const WHOLE: u32 = 1 << 16;

/// The clean blocks, and the blocks that were read from home last.
pub(super) struct Copies {
    frames: u32,
    /// Pages that flash programs in the time of a seek. No longer run is admitted: a disk reads it in about the time that
    /// flash needs for it.
    seek_pages: u32,
    /// Blocks that may be written between two reads of a block for a copy of it to pay.
    pays: u64,
    /// Frames of clean blocks, from the least to the most recently used one.
    order: RecencyList,
    /// By frame: when its block was last used, in blocks that the host has written.
    used: Vec<u32>,
    /// Blocks that were read from home.
    missed: Ghosts,
    /// By ghost: when that was.
    times: Vec<u32>,
    now: u32,
    /// The share of runs that were read before.
    returning: u32,
    /// The block that was read last.
    last: Lba,
}

impl Copies {
    /// None in `frames` frames.
    pub fn new(frames: u32, costs: HomeCosts) -> Self {
        let remembered = frames.div_ceil(REMEMBERED);
        Self {
            frames,
            seek_pages: costs.seek_pages,
            pays: u64::from(frames) * u64::from(costs.seek_pages) / u64::from(PAYS),
            order: RecencyList::new(frames),
            used: vec![0; frames as usize],
            missed: Ghosts::new(1, remembered),
            times: vec![0; remembered as usize],
            now: 0,
            returning: 0,
            last: Lba(u64::MAX),
        }
    }

    /// The memory that they take.
    pub fn memory(&self) -> Memory {
        let times = Memory::room::<u32>((self.used.len() + self.times.len()) as u64);
        self.order.memory() + self.missed.memory() + times
    }

    /// Whether the block in `frame` is clean.
    #[inline]
    pub fn contains(&self, frame: u32) -> bool {
        self.order.contains(frame)
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.order.len()
    }

    /// The frame of the least recently used one.
    pub fn oldest(&self) -> Option<u32> {
        self.order.oldest()
    }

    /// That frame, if its block was not used for too long.
    #[inline]
    pub fn stale(&self) -> Option<u32> {
        let age = |frame: u32| self.now.wrapping_sub(self.used[frame as usize]);
        self.order.oldest().filter(|&frame| age(frame) > self.paid_within(1))
    }

    /// The host has written a block into a frame.
    #[inline]
    pub fn written(&mut self) {
        self.now = self.now.wrapping_add(1);
    }

    /// A clean block has come.
    #[inline]
    pub fn add(&mut self, frame: u32) {
        self.order.push(frame);
        self.used[frame as usize] = self.now;
    }

    /// A clean block is used.
    #[inline]
    pub fn renew(&mut self, frame: u32) {
        self.order.renew(frame);
        self.used[frame as usize] = self.now;
    }

    /// A block is clean no more.
    #[inline]
    pub fn remove(&mut self, frame: u32) {
        self.order.remove(frame);
    }

    /// The host has read a cached block.
    #[inline]
    pub fn read(&mut self, lba: Lba, frame: u32) {
        if self.contains(frame) {
            self.renew(frame);
            if lba.0 != self.last.0.wrapping_add(1) {
                self.note_run(true);
            }
        }
        self.last = lba;
    }

    /// The host reads `run` from home. Whether it is worth frames.
    pub fn admit(&mut self, run: Extent<Lba>) -> bool {
        self.last = Lba(run.end().0 - 1);
        if run.blocks > self.seek_pages {
            return false;
        }
        let most = self.paid_within(run.blocks);
        let soon = run.iter().map(|lba| u32::from(self.note_missed(lba).is_some_and(|gap| gap <= most))).sum::<u32>();
        let returns = 2 * soon >= run.blocks;
        let is_admitted = returns || self.returning >= self.enough(run.blocks);
        self.note_run(returns);
        is_admitted
    }

    /// Blocks that may be written between two reads of a run for a copy of it to pay: a run saves one seek, and takes a
    /// page for each of its blocks.
    #[inline]
    fn paid_within(&self, run: u32) -> u32 {
        (self.pays / u64::from(run)).min(self.frames.into()) as u32
    }

    /// The share of runs that has to return for a copy of one to pay at its first read: it takes its pages at once, and
    /// saves its seek as often as runs return. Half is always enough.
    #[inline]
    fn enough(&self, run: u32) -> u32 {
        let share = u64::from(WHOLE) * u64::from(run) * u64::from(PAYS_AT_FIRST) / u64::from(self.seek_pages);
        share.min(u64::from(WHOLE / 2)) as u32
    }

    /// A block is read from home; how many blocks were written since it was last, if that is known.
    fn note_missed(&mut self, lba: Lba) -> Option<u32> {
        let gap = self.missed.find(lba).map(|(ghost, _)| {
            self.missed.forget(ghost);
            self.now.wrapping_sub(self.times[ghost as usize])
        });
        if let Some(ghost) = self.missed.remember(0, lba) {
            self.times[ghost as usize] = self.now;
        }
        gap
    }

    fn note_run(&mut self, returns: bool) {
        let share = if returns { WHOLE } else { 0 };
        self.returning = self.returning - self.returning / RUNS + share / RUNS;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.order.clear();
        self.missed.clear();
        (self.returning, self.last) = (0, Lba(u64::MAX));
    }

    /// Verifies the order, and that what was read is found.
    pub fn check(&self) -> Result<(), Violation> {
        let ages = self.order.in_order().map(|frame| self.now.wrapping_sub(self.used[frame as usize]));
        if !ages.is_sorted_by(|older, newer| older >= newer) {
            return Err(Violation("clean blocks are not in the order of their use".to_owned()));
        }
        self.missed.check()
    }
}

#[cfg(test)]
mod tests {
    use super::super::SLOW;
    use super::*;

    const FRAMES: u32 = 800;

    fn run(start: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(start), blocks)
    }

    /// Whether a run is admitted that was read before, with so many blocks written since.
    fn returns(blocks: u32, written: u32) -> bool {
        let mut copies = Copies::new(FRAMES, SLOW);
        assert!(!copies.admit(run(50, blocks)), "it is read for the first time");
        (0..written).for_each(|_| copies.written());
        copies.admit(run(50, blocks))
    }

    #[test]
    fn what_is_read_again_soon_is_admitted_and_the_sooner_the_longer_it_is() {
        assert!(returns(1, 100) && !returns(1, 101));
        assert!(returns(10, 10) && !returns(10, 11));
        assert!(returns(11, 9) && !returns(12, 0));
    }

    #[test]
    fn fast_flash_takes_longer_runs_and_keeps_them_longer() {
        let returns = |blocks, written| {
            let mut copies = Copies::new(FRAMES, HomeCosts::default());
            copies.admit(run(50, blocks));
            (0..written).for_each(|_| copies.written());
            copies.admit(run(50, blocks))
        };
        assert!(returns(1, FRAMES) && !returns(1, FRAMES + 1), "the frames are written once");
        assert!(returns(100, 45) && !returns(100, 46));
    }

    #[test]
    fn half_of_a_run_is_enough() {
        let admitted = |before: u32| {
            let mut copies = Copies::new(FRAMES, SLOW);
            copies.admit(run(50, before));
            copies.admit(run(50, 8))
        };
        assert!(admitted(4) && !admitted(3));
    }

    #[test]
    fn where_reads_return_all_are_admitted() {
        let mut copies = Copies::new(FRAMES, SLOW);
        let hits = |copies: &mut Copies, runs: u64| (0..runs).for_each(|i| copies.read(Lba(1000 * i), 7));
        hits(&mut copies, 100);
        assert!(!copies.admit(run(50, 1)), "the block in the frame is dirty");
        copies.add(7);
        hits(&mut copies, 43);
        assert!(!copies.admit(run(60, 1)), "1 - (63/64)^43 is 0.492");
        hits(&mut copies, 2);
        assert!(copies.admit(run(70, 1)));
        (0..10).for_each(|i| copies.read(Lba(5000 + i), 7));
        (0..3).for_each(|i| _ = copies.admit(run(100 * i + 80, 1)));
        assert!(!copies.admit(run(90_000, 1)), "the next block is the same run");
    }

    #[test]
    fn on_fast_flash_the_fewer_have_to_return_the_shorter_a_run_is() {
        let admitted = |hits: u64, blocks: u32| {
            let mut copies = Copies::new(FRAMES, HomeCosts::default());
            copies.add(7);
            (0..hits).for_each(|i| copies.read(Lba(1000 * i + 1000), 7));
            copies.admit(run(50, blocks))
        };
        assert!(!admitted(8, 1) && admitted(9, 1), "1 - (63/64)^8 is 0.118, and 65 / 500 is 0.13");
        assert!(!admitted(19, 2) && admitted(20, 2), "0.258, and 0.26");
        assert!(!admitted(43, 4) && admitted(45, 4), "half is enough, and less than 4 × 0.13");
        assert!(admitted(45, 500) && !admitted(500, 501));
    }

    #[test]
    fn what_is_not_used_while_an_eighth_is_written_is_stale() {
        let mut copies = Copies::new(FRAMES, SLOW);
        (0..2).for_each(|frame| copies.add(frame));
        (0..100).for_each(|_| copies.written());
        assert_eq!(copies.stale(), None);
        copies.read(Lba(3), 0);
        copies.written();
        assert_eq!((copies.stale(), copies.oldest(), copies.len()), (Some(1), Some(1), 2));
        copies.remove(1);
        assert_eq!(copies.stale(), None);
        copies.check().unwrap();
        copies.add(2);
        copies.used[2] = copies.now - 5;
        assert!(copies.check().is_err(), "an older one is behind it");
    }
}
