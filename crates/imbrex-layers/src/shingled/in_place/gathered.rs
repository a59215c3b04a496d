//! The zone that is open for merging: its newer blocks lie in RAM, each at its offset, until the zone is rewritten.
//!
//! What lies in RAM is in no record, and the zone stays as it is until all of it has landed elsewhere.

use crate::parts::bitmap::Bitmap;
use crate::parts::lost::LostBlocks;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Place, Plan, Why};

/// A stretch of a zone that is being written anew, by offsets.
pub(super) struct Stretch<'a> {
    /// The zone's logical blocks.
    pub zone: Extent<Lba>,
    /// The old content: where the zone lies, and up to which offset it is written.
    pub old: (Pba, u32),
    pub from: u32,
    pub to: u32,
    pub lost: &'a LostBlocks,
}

/// The open zone, if there is one.
pub(super) struct Gathered {
    native: Option<u32>,
    /// The offsets of its newer blocks.
    newer: Bitmap,
    zone_blocks: u32,
}

fn ram(offset: u32) -> Place {
    Place::At(Pba::ram(u64::from(offset)))
}

impl Gathered {
    /// The memory that it takes.
    pub(super) fn memory(&self) -> Memory {
        self.newer.memory()
    }

    pub(super) fn new(zone_blocks: u32) -> Self {
        Self { native: None, newer: Bitmap::new(zone_blocks.into()), zone_blocks }
    }

    /// The native zone that is open.
    pub(super) fn native(&self) -> Option<u32> {
        self.native
    }

    /// Plans that `blocks` blocks of the host go to RAM, from an offset of `native` on, and says how many of them were
    /// there already.
    pub(super) fn put(&mut self, native: u32, offset: u32, blocks: u32, plan: &mut Plan) -> u32 {
        debug_assert!(self.native.is_none_or(|open| open == native));
        self.native = Some(native);
        plan.copy(Place::Host(0), ram(offset), blocks, Why::Host);
        blocks - self.newer.insert_run(offset.into(), (offset + blocks).into()) as u32
    }

    /// How many newer blocks there are.
    pub(super) fn blocks(&self) -> u32 {
        self.below(self.zone_blocks)
    }

    /// How many of them lie before an offset.
    pub(super) fn below(&self, offset: u32) -> u32 {
        self.newer.count(0, offset.into()) as u32
    }

    /// The offset after the last newer block.
    pub(super) fn end(&self) -> u32 {
        self.newer.last(0, self.zone_blocks.into()).map_or(0, |last| last as u32 + 1)
    }

    /// No zone is open any more.
    pub(super) fn close(&mut self) {
        self.native = None;
        self.newer.clear();
    }

    /// Whether what is open is what it should be.
    pub(super) fn is_sound(&self) -> bool {
        self.native.is_some() == (self.blocks() > 0)
    }

    /// The offsets `[from, to)` in runs that are newer or not, in order.
    pub(super) fn runs(&self, from: u32, to: u32) -> impl Iterator<Item = (u32, u32, bool)> {
        let mut at = from;
        std::iter::from_fn(move || {
            let start = at;
            let is_newer = start < to && self.newer.contains(start.into());
            at = if is_newer {
                self.newer.next_absent(start.into(), to.into()) as u32
            } else {
                self.newer.next(start.into(), to.into()).map_or(to, |next| next as u32)
            };
            (start < to).then_some((start, at, is_newer))
        })
    }

    /// Plans that RAM gets what the stretch holds, without the blocks that were written since.
    pub(super) fn collect(&self, stretch: &Stretch<'_>, plan: &mut Plan) {
        let (place, held) = stretch.old;
        for (from, to, _) in self.runs(stretch.from, stretch.to.min(held)).filter(|(.., is_newer)| !is_newer) {
            let run = stretch.zone.skip(from).first(to - from);
            stretch.lost.collect(run, place.plus(u64::from(from)), Pba::ram(u64::from(from)), plan);
        }
    }

    /// Plans that the stretch is written from RAM into the zone that begins at `target`, with zeros where nothing is.
    pub(super) fn write(&self, stretch: &Stretch<'_>, target: Pba, plan: &mut Plan) {
        let held = stretch.old.1.clamp(stretch.from, stretch.to);
        let at = |offset: u32| Place::At(target.plus(u64::from(offset)));
        if held > stretch.from {
            plan.copy(ram(stretch.from), at(stretch.from), held - stretch.from, Why::Destage);
        }
        for (from, to, is_newer) in self.runs(held, stretch.to) {
            let (source, why) = if is_newer { (ram(from), Why::Destage) } else { (Place::Zero, Why::Pad) };
            plan.copy(source, at(from), to - from, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Op;

    #[test]
    fn a_stretch_is_read_around_what_is_newer_and_written_in_order() {
        let mut gathered = Gathered::new(40);
        let mut plan = Plan::new();
        assert_eq!((gathered.put(3, 5, 4, &mut plan), gathered.put(3, 8, 2, &mut plan)), (0, 1));
        assert_eq!((gathered.put(3, 22, 1, &mut plan), gathered.blocks(), gathered.end()), (0, 6, 23));
        plan.clear();
        let stretch = Stretch {
            zone: Extent::new(Lba(120), 40),
            old: (Pba::disk(400), 12),
            from: 2,
            to: 23,
            lost: &LostBlocks::default(),
        };
        gathered.collect(&stretch, &mut plan);
        gathered.write(&stretch, Pba::disk(800), &mut plan);
        let moves: Vec<_> = plan
            .ops()
            .iter()
            .map(|op| match *op {
                Op::Move { from, to, blocks, why, .. } => (from, to, blocks, why),
                _ => unreachable!("moves only"),
            })
            .collect();
        let at = |block| Place::At(Pba::disk(block));
        assert_eq!(
            moves,
            [
                (at(402), ram(2), 3, Why::Collect),
                (at(410), ram(10), 2, Why::Collect),
                (ram(2), at(802), 10, Why::Destage),
                (Place::Zero, at(812), 10, Why::Pad),
                (ram(22), at(822), 1, Why::Destage),
            ]
        );
        assert!(gathered.is_sound());
        gathered.native = None;
        assert!(!gathered.is_sound());
    }
}
