//! What layers share that cache single blocks on flash in front of a disk, and write them back.
//!
//! Every block has a home: the block of the same number on the device behind, which is written in place. The flash is
//! cut into *frames* of one block. A block is cached in one frame or in none; it is *dirty* if its home is older and
//! *clean* if its home holds the same. Reads and writes look into the cache first. Which frames a block may take, which
//! block leaves when there is none, and when, is a layer's [`Policy`]; everything else is here, once.
//!
//! # State
//! - durable: the frame of each dirty block ([`Record::Map`] when it becomes dirty, [`Record::Unmap`] when it is home),
//!   lost blocks;
//! - soft: clean blocks, which are gone after a crash; what is leaving; whatever the policy keeps beside the frames.
//!
//! # Invariants
//! - a frame holds a block exactly when the block maps to it; dirty frames hold a block;
//! - a block is never both cached and lost;
//! - a frame that a durable record may name is written only with newer data of its block: a dirty block is updated in
//!   its frame, and a frame whose block was written back is *pending* until its Free has taken effect. A clean block's
//!   frame is named by no record, so it may be overwritten by its own block, which makes that dirty, or by another one;
//! - what is leaving is dirty until the plan that writes it home.
//!
//! # Leaving
//! A clean block leaves at no cost. Dirty blocks that leave together are ordered by number and leave in steps of
//! `step_blocks`: the frames are read into RAM, what is there is written home, neighbours in one operation, then
//! unmapped, and the frames are given up. Each step is complete in itself, and a crash after it finds the rest in the
//! cache.
//!
//! When cleaning is asked for, all dirty blocks leave, by number, whatever the policy would choose: each band of the
//! disk is written once.
//!
//! # Reading what is not cached
//! Home is read into RAM once; host and frames get their copies from there. A read never waits for a frame: blocks that
//! find none, neither free nor with a clean block that gives way, are read past the cache. `read_allocate = false`
//! reads everything past it. If home cannot be read, the frames are given up again.
//!
//! # Writing past the cache
//! Where a policy says so a block that is not cached is written home, with no record: none says of it that it is
//! cached, or one that says that it no longer is comes before the next flush.
//!
//! # Trim
//! Changes nothing: a dirty block must stay, or older content would come back from home. With `trim` a clean block
//! leaves, and for a dirty one zeros are written home, and then it leaves. While others are leaving dirty ones stay.

pub mod config;
mod forget;
pub mod frames;
mod policy;
mod read;
mod records;
pub mod replaced;
mod write;
mod write_back;

use crate::parts::block_map::BlockMap;
use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use config::CacheConfig;
use frames::Frames;
use imbrex_core::block::{Access, Address, Extent, Lba, Pba, Request};
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Occupancy, Outlook, Pressure, Standing, Step, TranslationLayer, UnitReport,
    Unwritten, Violation, Write,
};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Place, Plan, Record};
use imbrex_core::space::Home;
pub use policy::Policy;
use read::Promotion;

/// Free runs that a policy looks at for one that is long enough.
pub const FREE_RUNS: u32 = 64;

/// The part of the frames that is room ahead at most: a cache is smaller by that.
const AHEAD_OF_FRAMES: u64 = 16;

/// A write-back cache of blocks over a device that is written in place.
pub struct FlashCache<P> {
    name: &'static str,
    pub config: CacheConfig,
    pub step: StepSize,
    /// The block that frame 0 is.
    place: Pba,
    home: Home,
    pub policy: P,
    pub frames: Frames,
    map: BlockMap,
    lost: LostBlocks,
    /// Dirty blocks that are to be written home, with their frames, by number, and how many of them have been.
    pub leaving: Vec<(Lba, u32)>,
    left: usize,
    /// Where cleaning that was asked for goes on.
    asked_from: Lba,
    /// Reused for the frames that blocks of one read take.
    promotions: Vec<Promotion>,
    /// Up to where the RAM of reads was taken last.
    ram_taken: u32,
}

impl<P: Policy> FlashCache<P> {
    #[inline]
    fn frame_place(&self, frame: u32) -> Pba {
        self.place.plus(u64::from(frame))
    }

    fn home_place(&self, lba: Lba) -> Place {
        Place::At(self.home.start.plus(lba.0))
    }

    fn frame_of(&self, place: Pba) -> Option<u32> {
        if place.device() != self.place.device() || place < self.place {
            return None;
        }
        u32::try_from(place.since(self.place)).ok().filter(|frame| *frame < self.frames.count())
    }

    /// The blocks from the front of `run`, whose first is not cached, that are not.
    #[inline]
    pub fn uncached(&self, run: Extent<Lba>) -> Extent<Lba> {
        self.map.next(run.start, run.end()).map_or(run, |cached| Extent::between(run.start, cached))
    }

    /// `lba` lies in `frame`, as it is at home.
    #[inline]
    fn insert(&mut self, lba: Lba, frame: u32) {
        self.map.set(lba, frame);
        self.frames.hold(frame, lba);
        self.policy.hold(frame, lba);
    }

    /// The clean block in `frame` leaves.
    pub fn drop_clean(&mut self, frame: u32) {
        let Some(lba) = self.frames.owner(frame) else { return };
        self.map.remove(lba);
        self.frames.drop_clean(frame);
        self.policy.gone(frame, lba, false);
        self.policy.freed(frame);
    }

    /// The blocks that will probably leave for as many requests, and their frames.
    fn leaving_soon(&self, ahead: &[Request]) -> impl Iterator<Item = (Lba, u32)> {
        let frames = self.policy.next_to_leave().take(ahead.len());
        frames.filter_map(|frame| Some((self.frames.owner(frame)?, frame)))
    }

    /// Whether the block is cached, finds a frame at once or goes past the cache.
    fn fits(&mut self, lba: Lba) -> bool {
        self.map.get(lba).is_some()
            || self.policy.free_for(Extent::new(lba, 1)).is_some()
            || self.policy.gives_way(lba, &self.frames).is_some()
            || self.policy.is_passed(&self.frames)
    }
}

impl<P: Policy> FlashCache<P> {
    fn memory(&self) -> Memory {
        let leaving = Memory::growing::<(Lba, u32)>(self.leaving.capacity() as u64);
        let promotions = Memory::growing::<Promotion>(self.promotions.capacity() as u64);
        self.policy.memory() + self.frames.memory() + self.map.memory() + leaving + promotions
    }

    /// Room comes with each step.
    fn outlook(&self) -> Option<Outlook> {
        let room = self.policy.room(&self.frames)?.into();
        let most = u64::from(self.frames.count()) / AHEAD_OF_FRAMES;
        let gain =
            u64::from(self.step.blocks().min(self.policy.most_leaving())).min(most).min(self.frames.live().into());
        Some(Outlook { room, most, work: 2 * gain, gain })
    }
}

impl<P: Policy> TranslationLayer for FlashCache<P> {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.memory(),
            // One half for what is written back, one for what is read.
            ram_blocks: 2 * self.step.most(),
            step_blocks: Some(self.step.most()),
            // What is not cached is read from its home.
            unwritten: Unwritten::OldContent,
            journal: JournalFacts { records: self.record_limit(), ..JournalFacts::default() },
            flushes_below: self.config.flush_home,
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.home.blocks
    }

    fn standing(&self) -> Standing {
        Standing {
            occupancy: Some(Occupancy { used: self.frames.live().into(), blocks: self.frames.count().into() }),
            outlook: self.outlook(),
            dirty: Some(self.frames.dirty().into()),
            ..Standing::default()
        }
    }

    fn idle_after_ns(&self) -> u64 {
        self.policy.idle_after_ns(&self.frames)
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    /// A block that leaves is read from its frame and written home.
    fn prefetch(&self, ahead: &[Request], below: &mut dyn FnMut(u8, Request)) -> u64 {
        let one = |access, place: Pba| Request { access, at: Extent::new(Lba(place.block()), 1) };
        let mut sum = ahead.iter().fold(0, |sum, request| sum ^ self.map.prefetch(request.at.start));
        for (lba, frame) in self.leaving_soon(ahead) {
            sum ^= self.map.prefetch(lba);
            below(self.place.device(), one(Access::Read, self.frame_place(frame)));
            below(self.home.start.device(), one(Access::Write, self.home.start.plus(lba.0)));
        }
        sum
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.plan_located(at, plan);
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        self.plan_read(at, plan);
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        self.plan_write(at, plan)
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        if self.config.trim { self.forget(at, plan) } else { at.blocks }
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        if !self.leaving.is_empty() {
            return match why {
                Pressure::Blocked(at) if self.policy.goes_on() && self.fits(at.start) => Step::Done,
                _ => self.write_back(plan),
            };
        }
        match why {
            Pressure::Idle { .. } => {
                P::make_room_idly(self);
                if self.leaving.is_empty() { Step::Nothing } else { self.write_back(plan) }
            }
            Pressure::Asked => {
                self.all_leave();
                if self.leaving.is_empty() { Step::Nothing } else { self.write_back(plan) }
            }
            Pressure::Ahead { room } => {
                P::make_room_ahead(self, room);
                if self.leaving.is_empty() { Step::Nothing } else { self.write_back(plan) }
            }
            Pressure::Blocked(at) if self.fits(at.start) => Step::Done,
            Pressure::Blocked(at) if self.policy.is_coming(at.start, &self.frames) => Step::Wait,
            Pressure::Blocked(at) => {
                P::make_room(self, at);
                self.write_back(plan)
            }
        }
    }

    /// Clean blocks that were not promoted leave: home holds a copy of one that has found its frame since.
    fn freed(&mut self, space: Extent<Pba>, why: Freed) {
        for place in space.iter() {
            let Some(frame) = self.frame_of(place) else { continue };
            match why {
                Freed::GivenUp if self.frames.freed(frame) => self.policy.freed(frame),
                Freed::Unfilled if self.frames.owner(frame).is_some() && !self.frames.is_dirty(frame) => {
                    self.drop_clean(frame);
                }
                Freed::GivenUp | Freed::Unfilled => {}
            }
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.apply_record(record)
    }

    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        self.forget_leaving();
        self.frames.recovered();
        self.policy.recovered(&self.frames);
        Ok(())
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        self.checkpoint_region(from, plan)
    }

    fn check(&self) -> Result<(), Violation> {
        self.frames.check()?;
        self.policy.check(&self.frames, &self.leaving[self.left..])?;
        if u64::from(self.frames.live()) != self.map.mapped() {
            let (live, mapped) = (self.frames.live(), self.map.mapped());
            return Err(Violation(format!("{live} frames hold a block, and {mapped} blocks are cached")));
        }
        for frame in 0..self.frames.count() {
            if let Some(lba) = self.frames.owner(frame)
                && (self.map.get(lba) != Some(frame) || self.lost.any(Extent::new(lba, 1)))
            {
                return Err(Violation(format!("frame {frame} holds {lba:?}, which maps elsewhere or is lost")));
            }
        }
        let wrong =
            |(lba, frame): &&(Lba, u32)| self.frames.owner(*frame) != Some(*lba) || !self.frames.is_dirty(*frame);
        match self.leaving[self.left..].iter().find(wrong) {
            Some((lba, frame)) => Err(Violation(format!("{lba:?} leaves frame {frame} and is not dirty there"))),
            None => Ok(()),
        }
    }
}
