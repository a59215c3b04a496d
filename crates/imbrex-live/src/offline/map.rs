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
        // A cache may plan to keep what it is asked for; what it has recorded is then what counts.
        if state.member.is_none() { checkpoint(state.layer.as_ref()) } else { asked(state.layer.as_ref()) }
    }

    /// Blocks that lie somewhere.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.at.blocks)).sum()
    }

    fn add(&mut self, lba: Lba, at: Extent<Pba>) {
        let joined = self.runs.last_mut().and_then(|last| {
            let follows = last.at.end() == at.start && last.lba.plus(u64::from(last.at.blocks)) == lba;
            last.at.blocks = last.at.blocks.checked_add(at.blocks).filter(|_| follows)?;
            Some(())
        });
        if joined.is_none() {
            self.runs.push(Run { lba, at });
        }
    }

    /// Two runs that share a place, if there are any.
    #[must_use]
    pub fn shared(&self) -> Option<(Run, Run)> {
        let mut runs = self.runs.clone();
        runs.sort_unstable_by_key(|run| run.at.start);
        runs.windows(2).find(|pair| pair[0].at.end() > pair[1].at.start).map(|pair| (pair[0], pair[1]))
    }
}

/// Asks for all blocks; the plans are not carried out.
fn asked(layer: &dyn TranslationLayer) -> Mapped {
    let (mut mapped, mut plan, mut from) = (Mapped::default(), Plan::new(), 0);
    while from < layer.capacity() {
        let chunk = Extent::new(Lba(from), (layer.capacity() - from).min(CHUNK) as u32);
        plan.clear();
        layer.locate(chunk, &mut plan);
        for op in plan.ops() {
            match *op {
                Op::Move { from: Place::At(at), to: Place::Host(host), blocks, .. } if at.device() != 0 => {
                    mapped.add(chunk.start.plus(u64::from(host)), Extent::new(at, blocks));
                }
                Op::Move { from: Place::Lost, blocks, .. } => mapped.lost += u64::from(blocks),
                _ => {}
            }
        }
        from += u64::from(chunk.blocks);
    }
    mapped.runs.sort_unstable_by_key(|run| run.lba);
    mapped
}

/// What a checkpoint would say.
fn checkpoint(layer: &dyn TranslationLayer) -> Mapped {
    let (mut mapped, mut plan, mut next) = (Mapped::default(), Plan::new(), Some(0));
    while let Some(from) = next {
        plan.clear();
        next = layer.checkpoint(from, &mut plan);
        for op in plan.ops() {
            match *op {
                Op::Record { record: Record::Map { at, to }, .. } => mapped.add(at.start, Extent::new(to, at.blocks)),
                Op::Record { record: Record::Lost(at), .. } => mapped.lost += u64::from(at.blocks),
                _ => {}
            }
        }
    }
    mapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_as_far_as_they_can_be_counted() {
        let mut mapped = Mapped::default();
        for chunk in 0..3 {
            mapped.add(Lba(chunk << 31), Extent::new(Pba::disk(chunk << 31), 1 << 31));
        }
        mapped.add(Lba(3 << 31), Extent::new(Pba::disk(0), 1));
        assert_eq!((mapped.blocks(), mapped.runs.len()), ((3 << 31) + 1, 4));
        let mut mapped = Mapped::default();
        (0..3).for_each(|block| mapped.add(Lba(block), Extent::new(Pba::disk(7 + block), 1)));
        assert_eq!(mapped.runs, [Run { lba: Lba(0), at: Extent::new(Pba::disk(7), 3) }]);
    }
}
