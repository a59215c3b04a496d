//! The fixed places of logical blocks on interlaced tracks, and how a range of a track is written.
//!
//! What a write to a bottom track destroys and is needed is read first and written back after it (`Why::Neighbour`).
//! The writes are then redo moves, and the plan is nothing else: a power cut between the bottom track and the last
//! neighbour would leave blocks destroyed that nobody was writing. So is a write that destroys what is needed no more,
//! but may be again after a power cut, because that is not durable yet.

use super::Config;
use crate::block::{Address, Extent, Lba, Pba};
use crate::layers::{ConfigError, LayerInfo};
use crate::parts::needed_blocks::NeededBlocks;
use crate::parts::track_order::{Phase, TrackOrder};
use crate::plan::{Event, Place, Plan, Why};
use crate::space::Space;
use crate::tracks::{Side, Track};

/// What has to be done about what a write destroys.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::layers) enum Care {
    /// Nothing.
    None,
    /// It destroys nothing that is needed, and must come after the records planned before it.
    Order,
    /// Blocks are saved.
    Save,
}

/// Where blocks lie that have not moved, and which blocks of the disk are needed.
pub(in crate::layers) struct Places {
    pub order: TrackOrder,
    pub capacity: u64,
    /// Blocks of a bottom track that are written at once at most.
    pub update_blocks: u32,
    /// Only blocks of top tracks are asked about.
    pub needed: NeededBlocks,
    /// What the rule says of allocated blocks: that they are needed, unless what was never written is not.
    pub ruled: bool,
    /// What the update being planned has to save. Kept for its memory.
    saved: Vec<Extent<Pba>>,
}

impl Places {
    /// On the interlaced tracks of `space`, in the order of `phases`.
    pub fn new(layer: &LayerInfo, phases: &[Phase], space: &Space, config: &Config) -> Result<Self, ConfigError> {
        let Config { utilisation, update_blocks } = *config;
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
        Ok(Self { order: TrackOrder::new(tracks, phases), capacity, update_blocks, needed, ruled: true, saved })
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

    /// Plans the write of a run of a bottom track, `from` somewhere to `target`, with what [`Places::find`] has found
    /// saved in RAM from block `ram` on and written back.
    pub fn write_bottom(
        &self,
        care: Care,
        (from, target, blocks): (Place, Pba, u32),
        why: Why,
        ram: u64,
        plan: &mut Plan,
    ) {
        if care == Care::None {
            plan.copy(from, Place::At(target), blocks, why);
            return;
        }
        self.save(ram, plan);
        plan.redo_copy(from, Place::At(target), blocks, why);
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

    /// The most blocks that an update of so many blocks, or of a whole track, writes.
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
