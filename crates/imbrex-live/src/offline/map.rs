//! Where the blocks of a layer lie.

use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::layer::TranslationLayer;
use imbrex::plan::{Op, Place, Plan, Record};

use super::LayerState;

/// Blocks that a layer is asked for at a time.
const CHUNK: u64 = 1 << 16;

/// Logical blocks and where they lie, both without gap.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first logical block.
    pub lba: Lba,
    /// The places.
    pub at: Extent<Pba>,
}

/// What a walk through the map of a layer came to.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    /// Logical blocks that lie somewhere.
    pub blocks: u64,
    /// The runs that they lie in.
    pub runs: u64,
    /// Logical blocks that are recorded as lost.
    pub lost: u64,
}

/// The map of a layer.
#[derive(Clone, Debug, Default)]
pub struct Mapped {
    /// In the order of logical blocks, or in the order of the layer's checkpoint if it moves what it reads.
    pub runs: Vec<Run>,
    /// Logical blocks that are recorded as lost.
    pub lost: u64,
}

impl Mapped {
    /// Where the blocks of a layer lie.
    #[must_use]
    pub fn of(state: &mut LayerState) -> Self {
        let mut runs = Vec::new();
        let Walked { lost, .. } = state.walk(|run| runs.push(run));
        Self { runs, lost }
    }

    /// Blocks that lie somewhere.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.at.blocks)).sum()
    }
}

impl LayerState {
    /// Goes through the map, a part of it in memory at a time: in the order of logical blocks, or in the order of the
    /// layer's checkpoint if it moves what it reads.
    pub fn walk(&mut self, take: impl FnMut(Run)) -> Walked {
        self.begin_look();
        let mut walk = Walk { take, last: None, walked: Walked::default() };
        // A cache may plan to keep what it is asked for; what it has recorded is then what counts.
        match self.member {
            None => walk.checkpoint(self.layer.as_ref()),
            Some(_) => walk.ask(self),
        }
        walk.end()
    }
}

/// Joins what lies without gap.
struct Walk<F> {
    take: F,
    last: Option<Run>,
    walked: Walked,
}

impl<F: FnMut(Run)> Walk<F> {
    fn add(&mut self, lba: Lba, at: Extent<Pba>) {
        let joined = self.last.as_mut().and_then(|last| {
            let follows = last.at.end() == at.start && last.lba.plus(u64::from(last.at.blocks)) == lba;
            last.at.blocks = last.at.blocks.checked_add(at.blocks).filter(|_| follows)?;
            Some(())
        });
        if joined.is_none() {
            self.give();
            self.last = Some(Run { lba, at });
        }
    }

    /// Gives away the run that nothing continues.
    fn give(&mut self) {
        if let Some(run) = self.last.take() {
            self.walked.blocks += u64::from(run.at.blocks);
            self.walked.runs += 1;
            (self.take)(run);
        }
    }

    fn end(mut self) -> Walked {
        self.give();
        self.walked
    }

    /// Asks for all blocks; the plans are not carried out.
    fn ask(&mut self, LayerState { layer, pages, .. }: &mut LayerState) {
        let (mut plan, mut from, mut found) = (Plan::new(), 0, Vec::new());
        while from < layer.capacity() {
            let mut chunk = Extent::new(Lba(from), (layer.capacity() - from).min(CHUNK) as u32);
            if let Some(pages) = pages {
                chunk = pages.bring(layer.as_mut(), chunk);
            }
            plan.clear();
            layer.locate(chunk, &mut plan);
            for op in plan.ops() {
                match *op {
                    Op::Move { from: Place::At(at), to: Place::Host(host), blocks, .. } if at.device() != 0 => {
                        found.push((chunk.start.plus(u64::from(host)), Extent::new(at, blocks)));
                    }
                    Op::Move { from: Place::Lost, blocks, .. } => self.walked.lost += u64::from(blocks),
                    _ => {}
                }
            }
            found.sort_unstable_by_key(|(lba, _)| *lba);
            found.drain(..).for_each(|(lba, at)| self.add(lba, at));
            from += u64::from(chunk.blocks);
        }
    }

    /// What a checkpoint would say.
    fn checkpoint(&mut self, layer: &dyn TranslationLayer) {
        let (mut plan, mut next) = (Plan::new(), Some(0));
        while let Some(from) = next {
            plan.clear();
            next = layer.checkpoint(from, &mut plan);
            for op in plan.ops() {
                match *op {
                    Op::Record { record: Record::Map { at, to }, .. } => self.add(at.start, Extent::new(to, at.blocks)),
                    Op::Record { record: Record::Lost(at), .. } => self.walked.lost += u64::from(at.blocks),
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_as_far_as_they_can_be_counted() {
        let joined = |parts: &[(u64, u64, u32)]| {
            let mut runs = Vec::new();
            let mut walk = Walk { take: |run| runs.push(run), last: None, walked: Walked::default() };
            parts.iter().for_each(|(lba, at, blocks)| walk.add(Lba(*lba), Extent::new(Pba::disk(*at), *blocks)));
            let walked = walk.end();
            assert_eq!(walked.runs, runs.len() as u64);
            (walked.blocks, runs)
        };
        let long = |part: u64| (part << 31, part << 31, 1 << 31);
        let (blocks, runs) = joined(&[long(0), long(1), long(2), (3 << 31, 0, 1)]);
        assert_eq!((blocks, runs.len()), ((3 << 31) + 1, 4));
        let (_, runs) = joined(&[(0, 7, 1), (1, 8, 1), (2, 9, 1)]);
        assert_eq!(runs, [Run { lba: Lba(0), at: Extent::new(Pba::disk(7), 3) }]);
    }
}
