//! What layers share that keep every block in its place on an interlaced disk and update bottom tracks there.
//!
//! `places.rs` knows the places, what is needed and how a range of a track is written; layers that also move blocks use
//! it alone.
//!
//! # State
//! - durable: lost blocks; where only what was written is saved, which stretches of top tracks were (`filled.rs`);
//! - fixed: the order in which logical blocks fill the tracks, and how many of them there are. The order is what these
//!   layers differ in: each gives its own when it is made, a list of phases, constant or made up from its fields.
//!
//! # Invariants
//! - Logical block *n* lies where the order says, always; a block of the disk is *allocated* if its logical block is
//!   below the capacity. What is not allocated holds nothing and is never saved.
//! - What a bottom update destroys and is allocated has been read before, and is written back in the same plan.
//!
//! # How a write is served
//! Track by track. A top track is written. So is a bottom track under which, and this is the point, nothing allocated
//! is destroyed. Otherwise: read what will be destroyed on the neighbour towards the outside and on the other one,
//! write the bottom track, write both back (`Why::Neighbour`). Such an update is a plan by itself and its writes are
//! redo moves: a power cut between the bottom track and the last neighbour would leave blocks destroyed that were not
//! being written.
//!
//! # Decisions
//! - *Valid means allocated* (TrackLace §2.2), whether written or not, and trims change nothing. Allocation is looked
//!   at block by block, also on the track that is allocated in part. Or else (`valid = "written"`) what was never
//!   written on a top track is not saved, and reads as zeros.
//! - *Utilisation* (`utilisation`): the part of the blocks that is allocated; the paper's default is 99 %.
//! - *A request over several bottom tracks* is as many updates, one after the other: a top track between two of them is
//!   read and rewritten for each. The paper counts so, and says nothing of merging.
//! - *Long updates* (`update_blocks`): a whole track at a time, or cut into pieces, which a small journal needs: its
//!   images are then small. Pieces round to more neighbour blocks.
//! - *Several updates at a time* (`updates`): the neighbours of each go to the same blocks of RAM, so that one comes
//!   after the other, as on a disk with one arm that has one request; or to the next ones, so that updates which touch
//!   nothing in common may be under way together. The plans are the same but for that.
//! - *Two reads and three writes in that order*: the paper names the five and no order. Reads come first, or there
//!   would be nothing left to read.
//! - *A neighbour that cannot be read* is lost and stays so until it is overwritten; updates leave it out.

mod content;
mod filled;
mod places;

use crate::parts::lost::LostBlocks;
use crate::parts::needed_blocks::NeededBlocks;
use crate::parts::track_order::Phase;
use crate::{ConfigError, LayerInfo};
pub(super) use content::TrackContents;
pub(super) use filled::Filled;
use imbrex_core::block::{Extent, Lba, Pba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, REGION_RECORDS, Step, TranslationLayer, UnitReport, Unwritten,
    Violation, Write,
};
use imbrex_core::plan::{Op, Place, Plan, Record, Why};
use imbrex_core::space::Space;
use imbrex_core::tracks::Side;
pub(super) use places::{Care, Places};

/// Blocks of a stretch of a top track of which it is known whether it holds something, where blocks do not move.
const STRETCH: u32 = 8;

/// The fields of layers on interlaced tracks.
#[derive(Clone, Debug, Configuration)]
pub(super) struct TracksConfig {
    /// the part of the disk's blocks that is allocated
    #[field(default = 0.99, samples = [1.0, 0.9, 0.7, 0.5])]
    utilisation: f64,
    /// blocks of a bottom track updated at once at most; 0: a whole track
    #[field(default = 0, samples = [1, 2, 3])]
    update_blocks: u32,
    /// bottom updates whose neighbours are in RAM at a time: "one", and others wait for it, or as many as there is room
    /// for ("many")
    #[field(default = "one", samples = ["one", "many"], paper = "one")]
    updates: Updates,
}

/// The fields of those that move no block, or only whole tracks.
#[derive(Clone, Debug, Configuration)]
pub(super) struct InPlaceConfig {
    #[field(flatten)]
    pub tracks: TracksConfig,
    /// what is to be saved of a new disk: all that is allocated, or of top tracks what was written (written)
    #[field(default = "allocated", samples = ["allocated", "written"], paper = "allocated")]
    valid: Valid,
}

impl InPlaceConfig {
    /// The stretches of `blocks` blocks for which it is known whether anything was written, where that is to be saved.
    pub(super) fn stretch(&self, blocks: u32) -> Option<u32> {
        (self.valid == Valid::Written).then_some(blocks)
    }
}

/// What is needed of a disk on which nothing was written yet.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Valid {
    Allocated,
    Written,
}

/// How many bottom updates have their neighbours in RAM at a time.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Updates {
    One,
    Many,
}

/// A layer with a fixed order of tracks.
pub(super) struct InPlaceTracks {
    places: Places,
    lost: LostBlocks,
}

impl InPlaceTracks {
    /// A layer on the interlaced tracks of `space`, in the order of `phases`.
    pub(super) fn new(
        layer: &LayerInfo,
        phases: &[Phase],
        space: &Space,
        config: &InPlaceConfig,
    ) -> Result<Self, ConfigError> {
        let places = Places::new(layer, phases, space, &config.tracks, config.stretch(STRETCH))?;
        Ok(Self { places, lost: LostBlocks::default() })
    }

    /// What top tracks hold, where only what was written counts.
    fn held(&self) -> NeededBlocks {
        let Self { places, lost } = self;
        let mut held = NeededBlocks::new(places.order.tracks().blocks());
        places.filled_blocks().for_each(|block| held.set(block, false, true));
        let mut start = Lba(0);
        while start.0 < places.capacity && !lost.is_empty() {
            let region = Extent::between(start, lost.region_end(start, places.capacity));
            lost.runs(region, |run, is_lost| {
                if is_lost {
                    on_tops(places, run).for_each(|block| held.set(block, false, false));
                }
            });
            start = region.end();
        }
        held
    }

    /// The blocks are lost, or not. The places of lost ones are not needed.
    fn set_lost(&mut self, at: Extent<Lba>, lost: bool) {
        let Self { places, lost: blocks, .. } = self;
        if lost {
            blocks.insert(at);
            turn(places, at, false);
        } else if blocks.any(at) {
            blocks.runs(at, |run, was_lost| {
                if was_lost {
                    turn(places, run, true);
                }
            });
            blocks.remove(at);
        }
    }
}

/// These blocks are needed or not.
fn turn(places: &mut Places, at: Extent<Lba>, needed: bool) {
    let blocks: Vec<u64> = on_tops(places, at).collect();
    blocks.into_iter().for_each(|block| places.needed.set(block, places.ruled, needed));
}

/// Where those of some blocks lie that are on top tracks.
fn on_tops(places: &Places, at: Extent<Lba>) -> impl Iterator<Item = u64> {
    let tops = at.iter().map(|lba| places.locate(lba)).filter(|(track, _)| track.side == Side::Top);
    tops.map(|(track, offset)| places.block(track, offset).block())
}

impl TranslationLayer for InPlaceTracks {
    fn facts(&self) -> Facts {
        let filled = self.places.filled.as_ref();
        Facts {
            memory: self.places.memory(),
            ram_blocks: self.places.ram_blocks(),
            unwritten: Unwritten::OldContent,
            journal: JournalFacts {
                records: LostBlocks::regions(self.places.capacity) + filled.map_or(0, Filled::groups),
                redo_blocks: self.places.most_redo_blocks(),
                remedy: if filled.is_some() {
                    "a smaller update_blocks or valid = \"allocated\""
                } else {
                    "a smaller update_blocks"
                },
                ..JournalFacts::default()
            },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.places.capacity
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (run, track, offset) = self.places.run(rest);
            self.places.read(&self.lost, run, track, offset, at.blocks - rest.blocks, plan);
            rest = rest.skip(run.blocks);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        let mut taken = 0;
        while taken < at.blocks {
            let (mut run, track, offset) = self.places.run(at.skip(taken));
            let mut care = Care::None;
            if track.side == Side::Bottom {
                run = run.first(self.places.update_blocks);
                care = self.places.find(track, offset, run.blocks, None);
            }
            if care != Care::None && taken > 0 {
                return taken;
            }
            let to = Extent::new(self.places.block(track, offset), run.blocks);
            let filled = self.places.fill(track, offset, run.blocks, plan);
            self.places.write_bottom(care, Place::Host(taken), to, Why::Host, 0, plan);
            self.places.record(&filled, plan);
            if self.lost.any(run) {
                plan.push(Op::Record { record: Record::Unmap(run), redo: care != Care::None });
                self.set_lost(run, false);
            }
            taken += run.blocks;
            if care != Care::None {
                return taken;
            }
        }
        taken
    }

    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }

    fn clean(&mut self, _why: Pressure, _waiting: &[Request], _plan: &mut Plan) -> Step {
        Step::Nothing
    }

    fn freed(&mut self, _space: Extent<Pba>, _why: Freed) {}

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Unmap(at) if at.is_within(self.places.capacity) => self.set_lost(at, false),
            Record::Lost(at) if at.is_within(self.places.capacity) => self.set_lost(at, true),
            Record::Note { key, value } => self.places.apply(key, value)?,
            other => return Err(Corrupt(format!("a layer that moves no block cannot take the record {other:?}"))),
        }
        Ok(())
    }

    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        if !self.places.ruled {
            self.places.needed = self.held();
        }
        Ok(())
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let capacity = self.places.capacity;
        if from >= capacity {
            let next = self.places.filled.as_ref()?.checkpoint(from - capacity, REGION_RECORDS, plan);
            return next.map(|group| capacity + group);
        }
        let region = Extent::between(Lba(from), self.lost.region_end(Lba(from), capacity));
        self.lost.checkpoint(region, plan);
        Some(region.end().0).filter(|end| *end < capacity || self.places.filled.is_some())
    }

    fn contents(&self) -> Option<Contents> {
        let mut contents = TrackContents::allocated(&self.places, |side| side == Side::Bottom || self.places.ruled);
        self.places.filled_blocks().for_each(|block| contents.set(Pba::disk(block), true));
        let home = |lba| {
            let (track, offset) = self.places.locate(lba);
            self.places.block(track, offset)
        };
        contents.lose(&self.lost, self.places.capacity, home);
        Some(contents.found())
    }

    fn check(&self) -> Result<(), Violation> {
        if self.places.ruled || self.places.needed.exceptions().eq(self.held().exceptions()) {
            Ok(())
        } else {
            Err(Violation("what is needed is not what stretches of top tracks hold".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;
    use crate::parts::track_order::Direction;
    use imbrex_core::media::Interlaced;
    use imbrex_core::plan::Event;
    use imbrex_core::recording::Recording;
    use imbrex_core::tracks::{Overlap, Tracks};

    #[derive(Configuration)]
    struct Turning {
        #[field(flatten)]
        in_place: InPlaceConfig,
        /// whether top tracks go outwards
        #[field(default = false)]
        turned: bool,
    }

    /// Two phases, of which a field of the layer's own turns the second round.
    const TURNING: LayerInfo = LayerInfo {
        name: "turning",
        family: Some(Family::Interlaced),
        source: "this test",
        summary: "Bottom tracks inwards, then top tracks either way.",
        recording: Recording::Interlaced,
        buffered: false,
        fields: Turning::FIELDS,
        make: &|space, table| {
            let Turning { in_place, turned } = TURNING.read(table)?;
            let direction = if turned { Direction::Outwards } else { Direction::Inwards };
            let bottom = Phase { side: Side::Bottom, first: 0, step: 1, direction: Direction::Inwards };
            let top = Phase { side: Side::Top, direction, ..bottom };
            Ok(Box::new(InPlaceTracks::new(&TURNING, &[bottom, top], space, &in_place)?))
        },
    };

    /// Whether a write to the first block of each bottom track has to save what lies over it.
    fn updates(config: &str) -> Vec<bool> {
        let tracks = Tracks {
            conventional_tracks: 0,
            groups: 1,
            bottom_tracks: 8,
            top_tracks: 8,
            bottom_blocks: 5,
            top_blocks: 4,
            skew_blocks: 0,
            overlap: Overlap::Angle,
        };
        let space = Space::of(&Interlaced::new(Pba::DISK, tracks), 0);
        let mut layer = TURNING.build(&space, &config.parse().unwrap()).unwrap();
        let mut update = |lba| {
            let mut plan = Plan::new();
            assert_eq!(layer.write(Extent::new(Lba(lba), 1).into(), &mut plan), 1);
            plan.ops().contains(&Op::Count(Event::Rmw, 1))
        };
        (0..8).map(|bottom| update(bottom * 5)).collect()
    }

    #[test]
    fn a_field_of_the_layer_decides_the_order() {
        // All 40 bottom blocks, and the first 16 top blocks of the order, which are those of four tracks.
        let half = |turned| updates(&format!("utilisation = 0.7778\nturned = {turned}"));
        assert_eq!(half(false), [true, true, true, true, true, false, false, false]);
        assert_eq!(half(true), [false, false, false, false, true, true, true, true]);
        assert_eq!(updates("utilisation = 1.0\nturned = true"), [true; 8]);
        assert_eq!(updates("utilisation = 0.55\nturned = true"), [false; 8]);
    }
}
