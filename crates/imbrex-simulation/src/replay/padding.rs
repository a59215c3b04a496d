//! Where padding lies, and how much of it is written again: a zone that is rewritten takes its padding along, which no
//! plan says of the blocks it moves.
//!
//! Only of a drive; in a stack, its devices keep account of their own.

use imbrex_core::block::Pba;
use imbrex_core::plan::{Place, Why};
use imbrex_layers::parts::bitmap::Bitmap;

/// The blocks that hold padding, those of RAM first.
pub(super) struct Padding {
    ram_blocks: u64,
    blocks: u64,
    /// Nothing before the first padding: most layers write none.
    holds: Option<Bitmap>,
}

impl Padding {
    /// No padding yet, on a drive of `blocks` blocks.
    pub fn new(ram_blocks: u64, blocks: u64) -> Self {
        Self { ram_blocks, blocks: ram_blocks + blocks, holds: None }
    }

    /// Follows a move; returns how much padding it wrote again.
    #[inline(always)]
    pub fn moved(&mut self, from: &Place, to: &Place, blocks: u32, why: Why) -> u64 {
        if self.holds.is_none() && why != Why::Pad {
            return 0;
        }
        self.follow(from, to, blocks, why)
    }

    fn follow(&mut self, from: &Place, to: &Place, blocks: u32, why: Why) -> u64 {
        let is_new = why == Why::Pad && *from == Place::Zero;
        if self.holds.is_none() && !is_new {
            return 0;
        }
        let Place::At(target) = *to else { return 0 };
        let (start, end) = self.range(target, blocks);
        let source = if let Place::At(source) = *from { Some(self.range(source, blocks).0) } else { None };
        let holds = self.holds.get_or_insert_with(|| Bitmap::new(self.blocks));
        if is_new {
            holds.insert_run(start, end);
            return 0;
        }
        holds.remove_run(start, end);
        let again = source.map_or(0, |source| copy(holds, source, start, end - start));
        if target.is_ram() { 0 } else { again }
    }

    /// The numbers of blocks, cut to those there are: whatever moves beyond them is refused elsewhere.
    fn range(&self, at: Pba, blocks: u32) -> (u64, u64) {
        let first = at.block() + if at.is_ram() { 0 } else { self.ram_blocks };
        (first.min(self.blocks), (first + u64::from(blocks)).min(self.blocks))
    }
}

/// Copies what is at `source` to `target`, where nothing is; returns how much that was.
fn copy(holds: &mut Bitmap, source: u64, target: u64, length: u64) -> u64 {
    let (end, mut at, mut copied) = (source + length, source, 0);
    while let Some(first) = holds.next(at, end) {
        let after = holds.next_absent(first, end);
        holds.insert_run(target + (first - source), target + (after - source));
        copied += after - first;
        at = after;
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_counts_again_when_it_is_written_to_the_drive_again() {
        let mut padding = Padding::new(100, 1000);
        let disk = |block| Place::At(Pba::disk(block));
        let ram = |block| Place::At(Pba::ram(block));
        assert_eq!(padding.moved(&ram(0), &disk(0), 10, Why::Destage), 0);
        assert!(padding.holds.is_none(), "there is none yet");
        // A zone at 200 gets 4 blocks, then 3 of padding and a block; another of padding goes to 5.
        padding.moved(&Place::Host(0), &disk(200), 4, Why::Host);
        assert_eq!(padding.moved(&Place::Zero, &disk(204), 3, Why::Pad), 0);
        assert_eq!(padding.moved(&Place::Zero, &disk(5), 1, Why::Pad), 0);
        // It is read, a newer block is read over padding, and all is written elsewhere.
        assert_eq!(padding.moved(&disk(200), &ram(10), 8, Why::Collect), 0, "RAM costs nothing");
        assert_eq!(padding.moved(&disk(90), &ram(15), 1, Why::Collect), 0);
        assert_eq!(padding.moved(&ram(10), &disk(400), 8, Why::Destage), 2);
        assert_eq!(padding.moved(&disk(400), &disk(600), 6, Why::Migrate), 1, "that at 404");
        // What is overwritten is no padding, whatever writes it.
        padding.moved(&Place::Host(0), &disk(604), 1, Why::Host);
        padding.moved(&Place::Zero, &disk(406), 1, Why::Destage);
        assert_eq!(
            padding.moved(&disk(600), &ram(0), 8, Why::Collect) + padding.moved(&ram(0), &disk(0), 8, Why::Destage),
            0
        );
        assert_eq!(padding.moved(&disk(400), &disk(800), 8, Why::Migrate), 1);
        assert_eq!(padding.moved(&Place::Zero, &disk(995), 100, Why::Pad), 0, "cut at the drive's end");
    }
}
