//! [`Record::Map`]s of neighbours, joined.

use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::plan::{Plan, Record};

/// The records of one plan about blocks that follow each other in places that do, joined to one.
#[derive(Default, Debug)]
pub struct MapRuns {
    run: Option<(Extent<Lba>, Pba)>,
}

impl MapRuns {
    /// `at` lies at `to`.
    pub fn push(&mut self, at: Extent<Lba>, to: Pba, plan: &mut Plan) {
        match &mut self.run {
            Some((run, first)) if run.end() == at.start && Extent::new(*first, run.blocks).end() == to => {
                run.blocks += at.blocks;
            }
            _ => {
                self.end(plan);
                self.run = Some((at, to));
            }
        }
    }

    /// Plans the last record.
    pub fn end(&mut self, plan: &mut Plan) {
        if let Some((at, to)) = self.run.take() {
            plan.record(Record::Map { at, to });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Op;

    #[test]
    fn neighbours_in_neighbouring_places_are_one_record() {
        let (mut plan, mut maps) = (Plan::new(), MapRuns::default());
        for (lba, blocks, place) in [(5, 2, 20), (7, 1, 22), (8, 1, 30), (10, 1, 31)] {
            maps.push(Extent::new(Lba(lba), blocks), Pba::disk(place), &mut plan);
        }
        maps.end(&mut plan);
        maps.end(&mut plan);
        let map = |lba, blocks, place| Op::Record {
            record: Record::Map { at: Extent::new(Lba(lba), blocks), to: Pba::disk(place) },
            redo: false,
        };
        assert_eq!(plan.ops(), [map(5, 3, 20), map(8, 1, 30), map(10, 1, 31)]);
    }
}
