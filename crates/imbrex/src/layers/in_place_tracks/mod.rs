//! What layers share that keep every block in its place on an interlaced disk and update bottom tracks there.
//!
//! `places.rs` knows the places, what is needed and how a range of a track is written; layers that also move blocks use
//! it alone.
//!
//! # State
//! - durable: lost blocks;
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
//! redo moves: a power cut between the bottom track and the last neighbour would leave blocks destroyed that nobody was
//! writing.
//!
//! # Decisions
//! - *Valid means allocated* (TrackLace §2.2), whether written or not, and trims change nothing. Allocation is looked
//!   at block by block, also on the track that is allocated in part.
//! - *Utilisation* (`utilisation`): the part of the blocks that is allocated; the paper's default is 99 %.
//! - *A request over several bottom tracks* is as many updates, one after the other: a top track between two of them is
//!   read and rewritten for each. The paper counts so, and says nothing of merging.
//! - *Long updates* (`update_blocks`): a whole track at a time, or cut into pieces, which a small journal needs: its
//!   images are then small. Pieces round to more neighbour blocks.
//! - *Two reads and three writes in that order*: the paper names the five and no order. Reads come first, or there
//!   would be nothing left to read.
//! - *A neighbour that cannot be read* is lost and stays so until it is overwritten; updates leave it out.

mod content;
mod places;

use crate::block::{Extent, Lba, Pba, Request};
use crate::contents::Contents;
use crate::layer::{Corrupt, Pressure, Step, TranslationLayer, UnitReport, Unwritten, Violation};
use crate::layers::{ConfigError, Field, LayerInfo, config};
use crate::parts::lost::LostBlocks;
use crate::parts::track_order::Phase;
use crate::plan::{Op, Place, Plan, Record, Why};
use crate::space::Space;
use crate::tracks::Side;
pub(super) use content::TrackContents;
pub(super) use places::{Care, Places};

/// The fields of these layers.
pub(super) const FIELDS: &[Field] = &[
    Field {
        key: "utilisation",
        default: "0.99",
        meaning: "the part of the disk's blocks that is allocated",
        samples: &["1.0", "0.9", "0.7", "0.5"],
    },
    Field {
        key: "update_blocks",
        default: "0",
        meaning: "blocks of a bottom track updated at once at most; 0: a whole track",
        samples: &["1", "2", "3"],
    },
];

/// The values of these fields. A layer may list others beside them.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default)]
pub(super) struct Config {
    utilisation: f64,
    update_blocks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { utilisation: 0.99, update_blocks: 0 }
    }
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
        config: &toml::Table,
    ) -> Result<Self, ConfigError> {
        let places = Places::new(layer, phases, space, &config::read(layer, config)?)?;
        Ok(Self { places, lost: LostBlocks::default() })
    }

    /// The blocks are lost, or not. Nobody needs the places of lost ones.
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
    let mut rest = at;
    while !rest.is_empty() {
        let (run, track, offset) = places.run(rest);
        if track.side == Side::Top {
            let first = places.block(track, offset).block();
            (first..first + u64::from(run.blocks)).for_each(|block| places.needed.set(block, true, needed));
        }
        rest = rest.skip(run.blocks);
    }
}

impl TranslationLayer for InPlaceTracks {
    fn capacity(&self) -> u64 {
        self.places.capacity
    }

    fn ram_blocks(&self) -> u32 {
        2 * self.places.order.tracks().top_blocks
    }

    fn unwritten(&self) -> Unwritten {
        Unwritten::OldContent
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (run, track, offset) = self.places.run(rest);
            let (from, host) = (self.places.block(track, offset), at.blocks - rest.blocks);
            if self.lost.is_empty() {
                plan.copy(Place::At(from), Place::Host(host), run.blocks, Why::Host);
            } else {
                self.lost.runs(run, |part, lost| {
                    let skipped = (part.start.0 - run.start.0) as u32;
                    let from = if lost { Place::Lost } else { Place::At(from).continued(skipped) };
                    plan.copy(from, Place::Host(host + skipped), part.blocks, Why::Host);
                });
            }
            rest = rest.skip(run.blocks);
        }
    }

    fn write(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
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
            let write = (Place::Host(taken), self.places.block(track, offset), run.blocks);
            self.places.write_bottom(care, write, Why::Host, 0, plan);
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

    fn freed(&mut self, _space: Extent<Pba>) {}

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Unmap(at) if at.is_within(self.places.capacity) => self.set_lost(at, false),
            Record::Lost(at) if at.is_within(self.places.capacity) => self.set_lost(at, true),
            other => return Err(Corrupt(format!("a layer that moves no block cannot take the record {other:?}"))),
        }
        Ok(())
    }

    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        Ok(())
    }

    fn restate(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let region = Extent::between(Lba(from), self.lost.region_end(Lba(from), self.places.capacity));
        self.lost.restate(region, plan);
        Some(region.end().0).filter(|end| *end < self.places.capacity)
    }

    fn most_redo_blocks(&self) -> u32 {
        self.places.most_redo_blocks()
    }

    fn shortens_journal(&self) -> &'static str {
        "a smaller update_blocks"
    }

    fn most_records(&self) -> u64 {
        LostBlocks::regions(self.places.capacity)
    }

    fn contents(&self) -> Option<Contents> {
        let mut contents = TrackContents::allocated(&self.places, true);
        let home = |lba| {
            let (track, offset) = self.places.locate(lba);
            self.places.block(track, offset)
        };
        contents.lose(&self.lost, self.places.capacity, home);
        Some(contents.found())
    }

    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Family;
    use crate::media::Interlaced;
    use crate::parts::track_order::Direction;
    use crate::plan::Event;
    use crate::recording::Recording;
    use crate::tracks::{Overlap, Tracks};

    /// Two phases, of which a field of the layer's own turns the second round.
    const TURNING: LayerInfo = LayerInfo {
        name: "turning",
        family: Some(Family::Interlaced),
        source: "this test",
        summary: "Bottom tracks inwards, then top tracks either way.",
        recording: Recording::Interlaced,
        buffered: false,
        fields: &[FIELDS[0], FIELDS[1], Field { key: "turned", default: "false", meaning: "", samples: &[] }],
        build: |space, config| {
            #[derive(serde::Deserialize)]
            struct Own {
                turned: bool,
            }
            let Own { turned } = config::read(&TURNING, config)?;
            let direction = if turned { Direction::Outwards } else { Direction::Inwards };
            let bottom = Phase { side: Side::Bottom, first: 0, step: 1, direction: Direction::Inwards };
            let top = Phase { side: Side::Top, direction, ..bottom };
            Ok(Box::new(InPlaceTracks::new(&TURNING, &[bottom, top], space, config)?))
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
            assert_eq!(layer.write(Extent::new(Lba(lba), 1), &mut plan), 1);
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
