//! What a layer says reads as zeros is planned so.

use crate::block::{Extent, Lba};
use crate::plan::{Op, Place};

/// Whether every block of `at` that the layer, by `known`, says reads as zeros is planned so: nobody who was told so may
/// read anything else.
pub(super) fn knows_its_zeros(known: impl Fn(Extent<Lba>) -> (bool, u32), at: Extent<Lba>, read: &[Op]) -> bool {
    let mut rest = at;
    while !rest.is_empty() {
        let (zeros, blocks) = known(rest);
        let alike = rest.first(blocks.min(rest.blocks));
        let (first, end) = (at.blocks - rest.blocks, at.blocks - rest.blocks + alike.blocks);
        let is_other = |op: &Op| match *op {
            Op::Move { from, to: Place::Host(host), blocks, .. } => {
                from != Place::Zero && host < end && first < host + blocks
            }
            _ => false,
        };
        if blocks == 0 || (zeros && read.iter().any(is_other)) {
            return false;
        }
        rest = rest.skip(alike.blocks);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Pba;
    use crate::plan::{Plan, Why};

    #[test]
    fn content_where_zeros_are_known_is_found_out() {
        let at = Extent::new(Lba(10), 4);
        // The first is not known to be zeros, the others are.
        let known = |at: Extent<Lba>| if at.start == Lba(10) { (false, 1) } else { (true, at.blocks) };
        for (from, is_zero) in [(Place::Zero, true), (Place::At(Pba::disk(0)), false), (Place::Lost, false)] {
            for host in 0..4 {
                let mut plan = Plan::new();
                plan.copy(from, Place::Host(host), 1, Why::Host);
                assert_eq!(knows_its_zeros(known, at, plan.ops()), is_zero || host == 0, "{from:?} to {host}");
            }
        }
        assert!(!knows_its_zeros(|_| (false, 0), at, &[]), "it does not go on");
    }
}
