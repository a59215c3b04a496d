//! The track that is being cleaned.

use imbrex_core::block::Lba;
use imbrex_core::memory::Memory;

/// A victim: a block that the track held when the job began, and its slot.
pub(super) type Victim = (Lba, u32);

/// The job under way. Its victims are in the order of their homes; the *n*-th of them is read into the *n*-th block of
/// RAM.
pub(super) struct Job {
    /// The frame of the track, if there is a job.
    pub frame: Option<u32>,
    pub victims: Vec<Victim>,
    /// The next victim that goes home.
    pub next: usize,
    /// Whether the track has been read.
    pub is_read: bool,
    /// The victim for which a pair was just exchanged back.
    pub room_for: Option<Lba>,
    /// By slot of the track: which victim it holds.
    ranks: Vec<u32>,
    first_slot: u32,
    /// By victim: whether it was written since it was read.
    stale: Vec<bool>,
}

impl Job {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let blocks = self.ranks.len() as u64;
        Memory::of::<u32>(blocks) + Memory::room::<bool>(blocks) + Memory::growing::<Victim>(blocks)
    }

    /// None, with memory for tracks of `top_blocks` blocks.
    pub fn new(top_blocks: u32) -> Self {
        let most = top_blocks as usize;
        Self {
            frame: None,
            victims: Vec::with_capacity(most),
            next: 0,
            is_read: false,
            room_for: None,
            ranks: vec![u32::MAX; most],
            first_slot: 0,
            stale: vec![false; most],
        }
    }

    /// A job begins for what the slots from `first_slot` on hold; without anything to read it is read.
    pub fn begin(&mut self, frame: u32, first_slot: u32, held: impl Iterator<Item = Victim>, is_read: bool) {
        (self.frame, self.next, self.is_read, self.first_slot, self.room_for) =
            (Some(frame), 0, is_read, first_slot, None);
        self.victims.clear();
        self.victims.extend(held);
        self.victims.sort_unstable();
        self.ranks.fill(u32::MAX);
        for (rank, &(_, slot)) in (0..).zip(&self.victims) {
            self.ranks[(slot - first_slot) as usize] = rank;
        }
        self.stale.fill(false);
    }

    /// The victims in the order of their slots, each with its rank.
    pub fn by_slot(&self) -> impl Iterator<Item = (u32, u32)> {
        (self.first_slot..).zip(self.ranks.iter().copied()).filter(|&(_, rank)| rank != u32::MAX)
    }

    /// The block in a slot has been written: what has been read of it is old.
    #[inline]
    pub fn outdated(&mut self, slot: u32) {
        if self.frame.is_none() {
            return;
        }
        let rank = slot.checked_sub(self.first_slot).and_then(|offset| self.ranks.get(offset as usize));
        if let Some(stale) = rank.and_then(|&rank| self.stale.get_mut(rank as usize)) {
            *stale = true;
        }
    }

    /// Whether RAM does not hold what the slot of a victim does.
    pub fn is_stale(&self, victim: usize) -> bool {
        self.stale[victim]
    }
}
