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
/// What was not read before is copied while a smaller part of the frames is in use than a seek has pages, over this: flash
/// has little to collect then.
const ROOM: u64 = 48;
/// The part of the frames that is not used for that on fast flash.
const SPARED: u64 = 4;
/// The part of the frames that may be copied so before any copy was read.
const CREDIT: u32 = 64;
/// A hit pays for as many further pages as a seek has, over this.
const EARNS: u32 = 2;
/// The part of the frames for which blocks are remembered that were read from home.
const REMEMBERED: u32 = 2;

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
    /// Frames that may be in use when what was not read before is copied.
    room: u32,
    /// How many pages may be copied so.
    credit: u32,
    /// The block that was read last.
    last: Lba,
}

impl Copies {
    /// None in `frames` frames.
    pub fn new(frames: u32, costs: HomeCosts) -> Self {
        let remembered = frames.div_ceil(REMEMBERED);
        let (all, seek) = (u64::from(frames), u64::from(costs.seek_pages));
        Self {
            frames,
            seek_pages: costs.seek_pages,
            pays: all * seek / u64::from(PAYS),
            order: RecencyList::new(frames),
            used: vec![0; frames as usize],
            missed: Ghosts::new(1, remembered),
            times: vec![0; remembered as usize],
            now: 0,
            room: (all * seek).div_ceil(ROOM).min(all - all / SPARED) as u32,
            credit: most_credit(frames),
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
                self.credit = (self.credit + self.seek_pages.div_ceil(EARNS)).min(most_credit(self.frames));
            }
        }
        self.last = lba;
    }

    /// The host reads `run` from home while so many frames are free. Whether it is worth some.
    pub fn admit(&mut self, run: Extent<Lba>, free: u32) -> bool {
        self.last = Lba(run.end().0 - 1);
        if run.blocks > self.seek_pages {
            return false;
        }
        let most = self.paid_within(run.blocks);
        let soon = run.iter().map(|lba| u32::from(self.note_missed(lba).is_some_and(|gap| gap <= most))).sum::<u32>();
        2 * soon >= run.blocks || self.pay(run.blocks, free)
    }

    /// Whether so many pages are copied that were not read before.
    fn pay(&mut self, pages: u32, free: u32) -> bool {
        let pays = self.frames - free < self.room && self.credit >= pages;
        self.credit -= if pays { pages } else { 0 };
        pays
    }

    /// Blocks that may be written between two reads of a run for a copy of it to pay: a run saves one seek, and takes a
    /// page for each of its blocks.
    #[inline]
    fn paid_within(&self, run: u32) -> u32 {
        (self.pays / u64::from(run)).min(self.frames.into()) as u32
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

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.order.clear();
        self.missed.clear();
        (self.credit, self.last) = (most_credit(self.frames), Lba(u64::MAX));
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

fn most_credit(frames: u32) -> u32 {
    frames.div_ceil(CREDIT)
}

#[cfg(test)]
mod tests {
    use super::super::SLOW;
    use super::*;

    const FRAMES: u32 = 800;

    fn run(start: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(start), blocks)
    }

    /// Whether a run is admitted that was read before, with so many blocks written since and no frame to spare.
    fn returns(costs: HomeCosts, blocks: u32, written: u32) -> bool {
        let mut copies = Copies::new(FRAMES, costs);
        assert!(!copies.admit(run(50, blocks), 0), "it is read for the first time");
        (0..written).for_each(|_| copies.written());
        copies.admit(run(50, blocks), 0)
    }

    #[test]
    fn what_is_read_again_soon_is_admitted_and_the_sooner_the_longer_it_is() {
        assert!(returns(SLOW, 1, 100) && !returns(SLOW, 1, 101));
        assert!(returns(SLOW, 10, 10) && !returns(SLOW, 10, 11));
        assert!(returns(SLOW, 11, 9) && !returns(SLOW, 12, 0));
    }

    #[test]
    fn fast_flash_takes_longer_runs_and_keeps_them_longer() {
        let returns = |blocks, written| returns(HomeCosts::default(), blocks, written);
        assert!(returns(1, FRAMES) && !returns(1, FRAMES + 1), "the frames are written once");
        assert!(returns(100, 45) && !returns(100, 46));
    }

    #[test]
    fn half_of_a_run_is_enough() {
        let admitted = |before: u32| {
            let mut copies = Copies::new(FRAMES, SLOW);
            copies.admit(run(50, before), 0);
            copies.admit(run(50, 8), 0)
        };
        assert!(admitted(4) && !admitted(3));
    }

    #[test]
    fn what_was_not_read_before_is_copied_in_advance_where_few_frames_are_used() {
        let admitted = |costs, free, blocks| Copies::new(FRAMES, costs).admit(run(50, blocks), free);
        assert!(admitted(SLOW, 617, 4) && !admitted(SLOW, 616, 4), "800 × 11 / 48 is 183.3");
        assert!(admitted(SLOW, FRAMES, 11) && !admitted(SLOW, FRAMES, 12), "a disk reads it as fast");
        let fast = HomeCosts::default();
        assert!(admitted(fast, 201, 4) && !admitted(fast, 200, 4), "three quarters are in use");
        assert!(Copies::new(1, SLOW).admit(run(50, 1), 1));
    }

    #[test]
    fn hits_earn_what_copies_take() {
        let mut copies = Copies::new(FRAMES, SLOW);
        let admitted = |copies: &mut Copies, start, blocks| copies.admit(run(start, blocks), FRAMES);
        assert!(admitted(&mut copies, 50, 10) && !admitted(&mut copies, 100, 4), "13 pages in all");
        assert!(admitted(&mut copies, 200, 3) && !admitted(&mut copies, 300, 1));
        copies.read(Lba(1000), 7);
        assert!(!admitted(&mut copies, 400, 1), "the block in the frame is dirty");
        copies.add(7);
        (0..10).for_each(|block| copies.read(Lba(2000 + block), 7));
        assert!(!admitted(&mut copies, 500, 7) && admitted(&mut copies, 600, 6), "they are one run");
        (0..100).for_each(|block| copies.read(Lba(3000 + 2 * block), 7));
        assert_eq!(copies.credit, 13, "no more than in advance");
        copies.clear();
        assert_eq!(copies.credit, 13);
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
