//! Ordering rule 2: what an operation reads and changes. Operations whose footprints conflict run in planning order.

use smallvec::SmallVec;

use crate::block::{Address, Extent, Pba};
use crate::media::Media;
use crate::plan::{Place, Unit};

/// Something an operation reads or changes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Touch {
    Blocks {
        at: Extent<Pba>,
        write: bool,
    },
    /// The write pointer of a unit; always changed.
    Pointer(Unit),
}

impl Touch {
    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pointer(a), Self::Pointer(b)) => a == b,
            _ => self.shares_blocks(other),
        }
    }

    fn shares_blocks(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Blocks { at, write }, Self::Blocks { at: b, write: w }) => (*write || *w) && at.overlaps(b),
            _ => false,
        }
    }
}

/// All that an operation touches; most touch a source, a target and a pointer. Empty, it conflicts with nothing.
#[derive(Clone, Debug, Default)]
pub struct Footprint(SmallVec<[Touch; 4]>);

impl Footprint {
    /// What a Move touches.
    #[inline]
    pub fn of_move(from: Place, to: Place, blocks: u32, media: &dyn Media) -> Self {
        let mut footprint = Self::default();
        footprint.add_move(from, to, blocks, media);
        footprint
    }

    /// What a Reset touches.
    #[inline]
    pub fn of_reset(unit: Unit, media: &dyn Media) -> Self {
        let mut footprint = Self::default();
        footprint.add_reset(unit, media);
        footprint
    }

    /// Adds what a Move touches: its source, its target, what the write destroys, and the write pointers it moves.
    #[inline]
    pub fn add_move(&mut self, from: Place, to: Place, blocks: u32, media: &dyn Media) {
        if let Place::At(from) = from {
            self.0.push(Touch::Blocks { at: Extent::new(from, blocks), write: false });
        }
        let Place::At(to) = to else { return };
        let at = Extent::new(to, blocks);
        self.add_change(at);
        if to.is_ram() {
            return;
        }
        media.destroys(at, &mut |at| self.add_change(at));
        self.add_pointers(at, media);
    }

    /// Adds what a Reset touches: all that is empty after it or usable no more, with its write pointers.
    #[inline]
    pub fn add_reset(&mut self, unit: Unit, media: &dyn Media) {
        media.emptied_by(unit, &mut |at| {
            self.add_change(at);
            self.add_pointers(at, media);
        });
    }

    fn add_pointers(&mut self, at: Extent<Pba>, media: &dyn Media) {
        let last = media.unit_of(at.start.plus(u64::from(at.blocks) - 1));
        for index in media.unit_of(at.start).index..=last.index {
            let unit = Unit { device: at.start.device(), index };
            if media.has_pointer(unit) {
                self.0.push(Touch::Pointer(unit));
            }
        }
    }

    /// Adds blocks whose content changes.
    #[inline]
    pub fn add_change(&mut self, at: Extent<Pba>) {
        self.0.push(Touch::Blocks { at, write: true });
    }

    /// Touches nothing again, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The blocks that it touches, as many runs as there are.
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = Extent<Pba>> {
        self.0.iter().filter_map(|touch| if let Touch::Blocks { at, .. } = touch { Some(*at) } else { None })
    }

    /// The write pointers that it moves.
    #[inline]
    pub fn pointers(&self) -> impl Iterator<Item = Unit> {
        self.0.iter().filter_map(|touch| if let Touch::Pointer(unit) = touch { Some(*unit) } else { None })
    }

    /// Whether one of the two changes blocks that the other touches.
    #[inline]
    pub fn shares_blocks(&self, other: &Self) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| a.shares_blocks(b)))
    }

    /// Whether the two must not run at once (rule 2).
    #[inline]
    pub fn conflicts(&self, other: &Self) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| a.conflicts(b)))
    }
}
