//! A read goes where the layer says that the blocks lie.

use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::plan::{Op, Place, Why};

/// Where each block of `at` comes from.
fn sources(at: Extent<Lba>, ops: &[Op]) -> Vec<Option<Place>> {
    let mut sources = vec![None; at.blocks as usize];
    for op in ops {
        if let Op::Move { from, to: Place::Host(host), blocks, .. } = *op {
            for block in 0..blocks {
                let from = if let Place::At(from) = from { Place::At(from.plus(block.into())) } else { from };
                if let Some(source) = sources.get_mut((host + block) as usize) {
                    *source = Some(from);
                }
            }
        }
    }
    sources
}

/// Whether a read of `at`, planned as `read`, brings what lies where `located` says. Where a read promotes, blocks lie
/// twice, and it may take either: what it lets in drives out others that it brings later, from their home.
pub(super) fn reads_where_it_lies(at: Extent<Lba>, located: &[Op], read: &[Op]) -> bool {
    let promotes = read.iter().any(|op| matches!(op, Op::Move { why: Why::Promote, .. }));
    promotes || sources(at, located) == sources(at, read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::Pba;
    use imbrex_core::plan::Plan;

    #[test]
    fn a_read_from_elsewhere_is_found_out() {
        let at = Extent::new(Lba(10), 4);
        let planned = |from: [(Place, u32); 2]| {
            let (mut plan, mut host) = (Plan::new(), 0);
            for (from, blocks) in from {
                plan.copy(from, Place::Host(host), blocks, Why::Host);
                host += blocks;
            }
            plan
        };
        let disk = |block| Place::At(Pba::disk(block));
        let lies = planned([(disk(5), 2), (Place::Zero, 2)]);
        let is_right = |read: [(Place, u32); 2]| reads_where_it_lies(at, lies.ops(), planned(read).ops());
        assert!(is_right([(disk(5), 2), (Place::Zero, 2)]));
        for wrong in
            [[(disk(5), 3), (Place::Zero, 1)], [(disk(6), 2), (Place::Zero, 2)], [(disk(5), 2), (Place::Lost, 2)]]
        {
            assert!(!is_right(wrong), "{wrong:?}");
        }
        let mut promoting = planned([(disk(9), 2), (Place::Zero, 2)]);
        promoting.copy(disk(9), disk(5), 2, Why::Promote);
        assert!(reads_where_it_lies(at, lies.ops(), promoting.ops()), "either copy will do");
        assert!(!reads_where_it_lies(at, planned([(disk(5), 1), (Place::Zero, 1)]).ops(), lies.ops()), "it says all");
    }
}
