//! One pass over a stretch of a zone that is being written anew: old content and newer blocks are collected in RAM,
//! then written in order with padding where nothing is.
//!
//! Rewriting into a spare zone, the papers' read–reset–write and appending at the write pointer are the same pass with
//! another target and another amount of old content.

use crate::parts::lost::LostBlocks;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::plan::{Place, Plan, Why};

/// A newer block that goes into the zone: its offset in the zone and where it lies now.
pub type Newer = (u32, Pba);

/// A stretch of a zone and where its content comes from.
pub struct ZonePass<'a> {
    /// The zone's logical blocks.
    pub zone: Extent<Lba>,
    /// The old content: the first block of the zone that holds it, and how many blocks it holds.
    pub old: (Pba, u32),
    /// The stretch's first offset.
    pub from: u32,
    /// The offset after its last.
    pub to: u32,
    /// The newer blocks of the stretch, by ascending offset.
    pub newer: &'a [Newer],
    /// The RAM block that the stretch's first block is collected in.
    pub ram: u32,
    /// Blocks whose old content cannot be read; zeros stand in for it and they stay lost.
    pub lost: &'a LostBlocks,
}

impl ZonePass<'_> {
    /// Plans the reads into RAM, the stretch's first block from `ram` on.
    pub fn collect(&self, plan: &mut Plan) {
        let (base, held) = self.old;
        if self.from < held {
            let run = self.zone.skip(self.from).first(self.to.min(held) - self.from);
            self.lost.collect(run, base.plus(u64::from(self.from)), Pba::ram(u64::from(self.ram)), plan);
        }
        for &(offset, place) in self.newer {
            debug_assert!((self.from..self.to).contains(&offset));
            plan.copy(Place::At(place), self.ram(offset), 1, Why::Collect);
        }
    }

    /// Plans the writes into the zone that begins at `target`, in order, and returns how many blocks were padding.
    pub fn write(&self, target: Pba, plan: &mut Plan) -> u32 {
        let held = self.old.1.clamp(self.from, self.to);
        let at = |offset: u32| Place::At(target.plus(u64::from(offset)));
        if held > self.from {
            plan.copy(self.ram(self.from), at(self.from), held - self.from, Why::Destage);
        }
        let mut next = held;
        let mut padding = 0;
        for &(offset, _) in self.newer.iter().filter(|(offset, _)| *offset >= held) {
            if offset > next {
                plan.copy(Place::Zero, at(next), offset - next, Why::Pad);
                padding += offset - next;
            }
            plan.copy(self.ram(offset), at(offset), 1, Why::Destage);
            next = offset + 1;
        }
        if next < self.to {
            plan.copy(Place::Zero, at(next), self.to - next, Why::Pad);
            padding += self.to - next;
        }
        padding
    }

    /// Plans that the newer blocks are read and written in place over the old ones, in a zone that begins at `target`.
    pub fn update(&self, target: Pba, plan: &mut Plan) {
        for &(offset, place) in self.newer {
            plan.copy(Place::At(place), self.ram(offset), 1, Why::Collect);
        }
        for &(offset, _) in self.newer {
            plan.copy(self.ram(offset), Place::At(target.plus(u64::from(offset))), 1, Why::Destage);
        }
    }

    fn ram(&self, offset: u32) -> Place {
        Place::At(Pba::ram(u64::from(self.ram + offset - self.from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Op;

    #[test]
    fn old_newer_and_padding_come_out_in_order() {
        let newer = [(3, Pba::disk(900)), (12, Pba::disk(901)), (13, Pba::disk(902))];
        let pass = ZonePass {
            zone: Extent::new(Lba(100), 50),
            old: (Pba::disk(0), 10),
            from: 2,
            to: 16,
            newer: &newer,
            ram: 0,
            lost: &LostBlocks::default(),
        };
        let mut plan = Plan::new();
        pass.collect(&mut plan);
        assert_eq!(pass.write(Pba::disk(200), &mut plan), 4);
        let moves: Vec<_> = plan
            .ops()
            .iter()
            .map(|op| match *op {
                Op::Move { from, to: Place::At(to), blocks, why, .. } => (from, to, blocks, why),
                _ => unreachable!("a pass plans moves to places only"),
            })
            .collect();
        let at = |block| Place::At(Pba::disk(block));
        let ram = |block| Place::At(Pba::ram(block));
        assert_eq!(
            moves,
            [
                (at(2), Pba::ram(0), 8, Why::Collect),
                (at(900), Pba::ram(1), 1, Why::Collect),
                (at(901), Pba::ram(10), 2, Why::Collect),
                (ram(0), Pba::disk(202), 8, Why::Destage),
                (Place::Zero, Pba::disk(210), 2, Why::Pad),
                (ram(10), Pba::disk(212), 2, Why::Destage),
                (Place::Zero, Pba::disk(214), 2, Why::Pad),
            ]
        );
    }
}
