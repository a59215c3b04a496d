//! The fixed places of logical blocks on interlaced tracks, and how a range of a track is written.
//!
//! What a write to a bottom track destroys and is needed is read first and written back after it (`Why::Neighbour`).
//! The writes are then redo moves, and the plan is nothing else: a power cut between the bottom track and the last
//! neighbour would leave blocks destroyed that were not being written. So is a write that destroys what is needed no
//! more, but may be again after a power cut, because that is not durable yet.

use std::ops::Range;

use super::filled::{Filled, Stretch};
use super::{TracksConfig, Updates};
use crate::parts::lost::LostBlocks;
use crate::parts::needed_blocks::NeededBlocks;
use crate::parts::track_order::{Phase, TrackOrder};
use crate::{ConfigError, LayerInfo};
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::Corrupt;
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Why};
use imbrex_core::space::Space;
use imbrex_core::tracks::{Side, Track};

/// What has to be done about what a write destroys.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Care {
    /// Nothing.
    None,
    /// It destroys nothing that is needed, and must come after the records planned before it.
    Order,
    /// Blocks are saved.
    Save,
}

/// Where blocks lie that have not moved, and which blocks of the disk are needed.
pub(crate) struct Places {
    pub order: TrackOrder,
    pub capacity: u64,
    /// Blocks of a bottom track that are written at once at most.
    pub update_blocks: u32,
    /// Only blocks of top tracks are asked about.
    pub needed: NeededBlocks,
    /// What the rule says of allocated blocks: that they are needed, unless what was never written is not.
    pub ruled: bool,
    /// What top tracks hold, where the layer leaves it to this that only what was written counts.
    pub filled: Option<Filled>,
    /// What the update being planned has to save. Kept for its memory.
    saved: Vec<Extent<Pba>>,
    updates: Updates,
    /// Where in the RAM for what is saved the next update may begin, if others may be under way.
    next_ram: u64,
}

impl Places {
    /// The memory that it takes. Blocks that are needed against the rule are counted by layers that have such.
    pub fn memory(&self) -> Memory {
        Memory::growing::<Extent<Pba>>(self.saved.capacity() as u64)
    }

    /// On the interlaced tracks of `space`, in this order. Where only what was written is saved, that is known
    /// for stretches of `stretch` blocks of a top track; else what is allocated is.
    pub fn new(
        layer: &LayerInfo,
        phases: &[Phase],
        space: &Space,
        config: &TracksConfig,
        stretch: Option<u32>,
    ) -> Result<Self, ConfigError> {
        let TracksConfig { utilisation, update_blocks, updates } = *config;
        let Some(tracks) = space.tracks else {
            let reason = "it needs interlaced tracks; choose an interlaced drive".to_owned();
            return Err(ConfigError::Space { layer: layer.name, reason });
        };
        if !(utilisation > 0.0 && utilisation <= 1.0) {
            let reason = format!("utilisation is {utilisation}; choose a part of the disk above 0, up to 1");
            return Err(ConfigError::Field { layer: layer.name, reason });
        }
        let capacity = ((tracks.interlaced_blocks() as f64 * utilisation) as u64).max(1);
        let update_blocks = if update_blocks == 0 { tracks.bottom_blocks } else { update_blocks };
        let saved = Vec::with_capacity(2 * tracks.top_blocks as usize);
        let needed = NeededBlocks::new(tracks.blocks());
        let order = TrackOrder::new(tracks, phases);
        let ruled = stretch.is_none();
        let filled = stretch.map(|stretch| Filled::new(tracks, stretch.min(tracks.top_blocks)));
        Ok(Self { order, capacity, update_blocks, needed, ruled, filled, saved, updates, next_ram: 0 })
    }

    /// The track of a logical block and its offset there.
    #[inline]
    pub fn locate(&self, lba: Lba) -> (Track, u32) {
        self.order.locate(lba.0)
    }

    /// A block of the disk.
    #[inline]
    pub fn block(&self, track: Track, offset: u32) -> Pba {
        Pba::disk(self.order.tracks().first_block(track) + u64::from(offset))
    }

    /// The blocks from the front of `at` that lie on one track, their track and the offset there.
    #[inline]
    pub fn run(&self, at: Extent<Lba>) -> (Extent<Lba>, Track, u32) {
        let (track, offset) = self.locate(at.start);
        (at.first(self.order.tracks().track_blocks(track.side) - offset), track, offset)
    }

    /// Loads what [`Places::find`] looks up for a block, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        let (track, offset) = self.locate(lba);
        let mut sum = 0;
        if track.side == Side::Bottom {
            let tracks = self.order.tracks();
            tracks.over(track, offset, 1, |top, at, _| {
                sum ^= self.needed.prefetch(tracks.first_block(top) + u64::from(at));
            });
        }
        sum
    }

    /// Finds what a write of `blocks` blocks of a bottom track destroys that is needed, for [`Places::write_bottom`].
    /// The blocks `except` are not saved: the same plan writes them anew.
    pub fn find(&mut self, bottom: Track, offset: u32, blocks: u32, except: Option<Extent<Pba>>) -> Care {
        let Self { order, capacity, needed, ruled, saved, .. } = self;
        let mut is_pending = false;
        saved.clear();
        order.tracks().over(bottom, offset, blocks, |top, at, blocks| {
            let first = order.first_of(top) + u64::from(at);
            let allocated = capacity.saturating_sub(first).min(u64::from(blocks)) as u32;
            let ruled = if *ruled { allocated } else { 0 };
            let place = order.tracks().first_block(top) + u64::from(at);
            is_pending |= needed.any_pending(place, blocks);
            needed.runs(place, blocks, ruled, |first, blocks| {
                save(saved, Extent::new(Pba::disk(first), blocks), except);
            });
        });
        match (saved.is_empty(), is_pending) {
            (true, false) => Care::None,
            (true, true) => Care::Order,
            (false, _) => Care::Save,
        }
    }

    /// Plans a read of a run of one track, of which some blocks may be lost.
    pub fn read(&self, lost: &LostBlocks, run: Extent<Lba>, track: Track, offset: u32, host: u32, plan: &mut Plan) {
        let mut done = 0;
        while done < run.blocks {
            let rest = run.blocks - done;
            let (blocks, holds) = match &self.filled {
                Some(filled) if track.side == Side::Top => filled.run(track, offset + done, rest),
                _ => (rest, true),
            };
            let (from, written) = (self.block(track, offset + done), if holds { blocks } else { 0 });
            lost.read(run.skip(done).first(blocks), from, written, host + done, plan);
            done += blocks;
        }
    }

    /// Plans that what lies beside a run of a top track in stretches that hold nothing becomes zeros, and they hold
    /// something: these stretches, of which [`Places::record`] is to plan the records after the run.
    pub fn fill(&mut self, track: Track, offset: u32, blocks: u32, plan: &mut Plan) -> Vec<Stretch> {
        let Some(filled) = self.filled.as_mut().filter(|_| track.side == Side::Top) else { return Vec::new() };
        if filled.run(track, offset, blocks) == (blocks, true) {
            return Vec::new();
        }
        let missing = filled.missing(track, offset, blocks);
        missing.iter().for_each(|stretch| filled.fill(*stretch));
        for stretch in &missing {
            let end = stretch.offset + stretch.blocks;
            for (from, to) in [(stretch.offset, offset.min(end)), (stretch.offset.max(offset + blocks), end)] {
                if from < to {
                    plan.copy(Place::Zero, Place::At(self.block(track, from)), to - from, Why::Pad);
                }
            }
            self.allocated(*stretch).for_each(|block| self.needed.set(block, false, true));
        }
        missing
    }

    /// Plans the records of stretches that hold something from now on.
    pub fn record(&self, stretches: &[Stretch], plan: &mut Plan) {
        if let Some(filled) = &self.filled {
            filled.records(stretches).for_each(|record| plan.record(record));
        }
    }

    /// Applies a record of what stretches hold. What is needed by that is known when an epoch begins.
    pub fn apply(&mut self, key: u32, value: u64) -> Result<(), Corrupt> {
        match &mut self.filled {
            Some(filled) => filled.apply(key, value),
            None => Err(Corrupt(format!(
                "a layer that saves what is allocated cannot take the note {value:#x} of group {key}"
            ))),
        }
    }

    /// The blocks of the disk that are allocated of stretches that hold something.
    pub fn filled_blocks(&self) -> impl Iterator<Item = u64> {
        self.filled.iter().flat_map(Filled::all).flat_map(|stretch| self.allocated(stretch))
    }

    /// The blocks of the disk that are allocated of a stretch.
    fn allocated(&self, Stretch { track, offset, blocks }: Stretch) -> Range<u64> {
        let (home, first) = (self.order.first_of(track) + u64::from(offset), self.block(track, offset).block());
        first..first + self.capacity.saturating_sub(home).min(blocks.into())
    }

    /// Blocks of RAM for what updates save.
    pub fn ram_blocks(&self) -> u32 {
        2 * self.order.tracks().top_blocks
    }

    /// Where in that RAM there is place for what was found.
    fn take_ram(&mut self) -> u64 {
        if self.updates == Updates::One {
            return 0;
        }
        let blocks: u64 = self.saved.iter().map(|saved| u64::from(saved.blocks)).sum();
        let fits = self.next_ram + blocks <= u64::from(self.ram_blocks());
        let first = if fits { self.next_ram } else { 0 };
        self.next_ram = first + blocks;
        first
    }

    /// Plans the write of blocks `from` somewhere to `to`, a run of a bottom track, with what [`Places::find`] has found
    /// saved in the RAM that there is for it from block `ram` on, and written back.
    pub fn write_bottom(&mut self, care: Care, from: Place, to: Extent<Pba>, why: Why, ram: u64, plan: &mut Plan) {
        if care == Care::None {
            plan.copy(from, Place::At(to.start), to.blocks, why);
            return;
        }
        let ram = ram + self.take_ram();
        self.save(ram, plan);
        plan.redo_copy(from, Place::At(to.start), to.blocks, why);
        self.bring_back(ram, plan);
        if care == Care::Save {
            plan.count(Event::Rmw, 1);
        }
    }

    /// Plans that what was found is read.
    pub fn save(&self, ram: u64, plan: &mut Plan) {
        let mut ram = ram;
        for saved in &self.saved {
            plan.copy(Place::At(saved.start), Place::At(Pba::ram(ram)), saved.blocks, Why::Neighbour);
            ram += u64::from(saved.blocks);
        }
    }

    /// Plans that what was saved is written back.
    pub fn bring_back(&self, ram: u64, plan: &mut Plan) {
        let mut ram = ram;
        for saved in &self.saved {
            plan.redo_copy(Place::At(Pba::ram(ram)), Place::At(saved.start), saved.blocks, Why::Neighbour);
            ram += u64::from(saved.blocks);
        }
    }

    /// The most blocks that the redo moves of one update write.
    pub fn most_redo_blocks(&self) -> u32 {
        self.redo_blocks(self.update_blocks)
    }

    /// The most blocks that an update of `blocks` blocks, or of a whole track, writes.
    pub fn redo_blocks(&self, blocks: u32) -> u32 {
        let tracks = self.order.tracks();
        let mut most = 0;
        let bottom = Track { group: 0, side: Side::Bottom, index: tracks.bottom_tracks.min(2) - 1 };
        let blocks = blocks.min(tracks.bottom_blocks);
        for offset in 0..=tracks.bottom_blocks - blocks {
            let mut images = blocks;
            tracks.over(bottom, offset, blocks, |_, _, blocks| images += blocks);
            most = most.max(images);
        }
        most
    }
}

/// Adds a run to what is saved, without some blocks.
fn save(saved: &mut Vec<Extent<Pba>>, run: Extent<Pba>, except: Option<Extent<Pba>>) {
    match except.and_then(|except| run.intersection(&except)) {
        None => saved.push(run),
        Some(both) => {
            let before = run.first(both.start.since(run.start) as u32);
            let parts = [before, run.skip(before.blocks + both.blocks)];
            saved.extend(parts.into_iter().filter(|part| !part.is_empty()));
        }
    }
}
