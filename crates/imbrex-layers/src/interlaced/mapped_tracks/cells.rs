//! Which track each cell lies on, and where logical blocks are by that.

use crate::interlaced::in_place_tracks::{InPlaceConfig, Places};
use crate::parts::lost::LostBlocks;
use crate::parts::track_order::Phase;
use crate::{ConfigError, LayerInfo};
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::memory::Memory;
use imbrex_core::space::Space;
use imbrex_core::tracks::{Side, Track};

/// No cell.
pub(super) const NONE: u32 = u32::MAX;

/// The cells of a disk. Cells and tracks have the same numbers: those of the tracks as they lie on the surface.
pub(crate) struct Cells {
    pub places: Places,
    pub lost: LostBlocks,
    /// By cell: the track it lies on.
    pub(super) lies: Vec<u32>,
    /// By track: the cell that it holds. The home of a cell that lies on a reserved track holds none.
    pub(super) holds: Vec<u32>,
    /// Cells that are not at home.
    pub(super) moved: u32,
    /// Top tracks whose number in their group is a multiple of this are reserved.
    reserved_step: Option<u32>,
    pub(super) reserved_tracks: u32,
}

impl Cells {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let map = Memory::of::<(u32, u32)>(self.lies.len().max(self.holds.len()) as u64);
        // Places on reserved tracks are needed when a cell lies there, and until it is durable that it does not.
        let blocks = if self.reserved_tracks > 0 { self.places.order.tracks().blocks() } else { 0 };
        let needed = self.places.needed.memory(blocks);
        self.places.memory() + map + needed
    }

    /// On the interlaced tracks of `space`, in the order of `phases`, the last of which is kept from the host with
    /// `reserving`; it begins with the first top track then.
    pub fn new(
        layer: &LayerInfo,
        phases: &[Phase],
        reserving: bool,
        space: &Space,
        config: &InPlaceConfig,
    ) -> Result<Self, ConfigError> {
        // A cell moves whole, so a track holds something everywhere or nowhere.
        let mut places = Places::new(layer, phases, space, &config.tracks, config.stretch(u32::MAX))?;
        let tracks = *places.order.tracks();
        let reserved_step = phases.last().filter(|_| reserving).map(|phase| phase.step);
        let reserved_tracks = reserved_step.map_or(0, |step| tracks.groups * tracks.top_tracks.div_ceil(step));
        let left = tracks.interlaced_blocks() - u64::from(reserved_tracks) * u64::from(tracks.top_blocks);
        places.capacity = places.capacity.min(left);
        let count = tracks.groups * (tracks.bottom_tracks + tracks.top_tracks);
        let mut cells = Self {
            places,
            lost: LostBlocks::default(),
            lies: (0..count).collect(),
            holds: (0..count).collect(),
            moved: 0,
            reserved_step,
            reserved_tracks,
        };
        let reserved: Vec<u32> = cells.reserved().collect();
        reserved.into_iter().for_each(|track| cells.holds[track as usize] = NONE);
        Ok(cells)
    }

    /// Blocks of a cell.
    #[inline]
    pub fn cell_blocks(&self) -> u32 {
        self.places.order.tracks().top_blocks
    }

    /// How many tracks there are.
    pub fn tracks(&self) -> u32 {
        self.lies.len() as u32
    }

    /// The number of a track.
    #[inline]
    pub fn number(&self, track: Track) -> u32 {
        let tracks = self.places.order.tracks();
        track.group * (tracks.bottom_tracks + tracks.top_tracks) + 2 * track.index + u32::from(track.side == Side::Top)
    }

    /// The track of a number.
    #[inline]
    pub fn track(&self, number: u32) -> Track {
        let tracks = self.places.order.tracks();
        let of_group = tracks.bottom_tracks + tracks.top_tracks;
        let (group, rest) = (number / of_group, number % of_group);
        let side = if rest.is_multiple_of(2) { Side::Bottom } else { Side::Top };
        Track { group, side, index: rest / 2 }
    }

    /// The first logical block of a cell.
    pub fn first_of(&self, cell: u32) -> Lba {
        Lba(self.places.order.first_of(self.track(cell)))
    }

    /// The first block of a track on the disk, and as many as a cell has.
    pub fn space(&self, track: u32) -> Extent<Pba> {
        Extent::new(self.places.block(self.track(track), 0), self.cell_blocks())
    }

    /// Whether a track may hold other cells than its own, and its cell lie elsewhere: it is allocated whole.
    pub fn takes_part(&self, track: u32) -> bool {
        self.first_of(track).0 + u64::from(self.cell_blocks()) <= self.places.capacity
    }

    /// Whether a track is reserved.
    #[inline]
    pub fn is_reserved(&self, track: Track) -> bool {
        track.side == Side::Top && self.reserved_step.is_some_and(|step| track.index.is_multiple_of(step))
    }

    /// The reserved tracks.
    pub fn reserved(&self) -> impl Iterator<Item = u32> {
        let all = if self.reserved_step.is_some() { 0..self.tracks() } else { 0..0 };
        all.filter(|&number| self.is_reserved(self.track(number)))
    }

    /// The cell that a track holds, if that takes part.
    #[inline]
    pub fn on(&self, track: u32) -> Option<u32> {
        let cell = self.holds[track as usize];
        (cell != NONE && self.takes_part(cell)).then_some(cell)
    }

    /// Whether the rule says that a track is needed.
    #[inline]
    pub fn is_ruled(&self, track: Track) -> bool {
        self.places.ruled && !self.is_reserved(track)
    }

    /// Whether a top track holds what its cell has, and not zeros that were never written.
    pub fn is_filled(&self, track: u32) -> bool {
        let of = self.track(track);
        let filled = self.places.filled.as_ref().filter(|_| !self.is_reserved(of));
        filled.is_none_or(|filled| filled.run(of, 0, 1).1)
    }

    /// Whether a track holds no cell.
    pub fn is_empty(&self, track: u32) -> bool {
        self.holds[track as usize] == NONE
    }

    /// The home of a block.
    pub fn home(&self, lba: Lba) -> Track {
        self.places.locate(lba).0
    }

    /// Whether a block lies at home.
    pub fn is_home(&self, lba: Lba) -> bool {
        let (home, offset) = self.places.locate(lba);
        let number = self.number(home);
        offset >= self.cell_blocks() || self.lies[number as usize] == number
    }

    /// The blocks from the front of `at` that lie in a row, the track on which they do, and the offset there.
    #[inline]
    pub fn run(&self, at: Extent<Lba>) -> (Extent<Lba>, Track, u32) {
        let (run, home, offset) = self.places.run(at);
        if offset >= self.cell_blocks() {
            return (run, home, offset);
        }
        let number = self.number(home);
        let lies = self.lies[number as usize];
        if lies == number {
            return (run, home, offset);
        }
        (run.first(self.cell_blocks() - offset), self.track(lies), offset)
    }

    /// A cell lies on a track from now on.
    pub(super) fn put(&mut self, cell: u32, track: u32) {
        let from = self.lies[cell as usize];
        if self.holds[from as usize] == cell {
            self.holds[from as usize] = NONE;
        }
        self.moved = self.moved + u32::from(track != cell) - u32::from(from != cell);
        self.lies[cell as usize] = track;
        self.holds[track as usize] = cell;
    }

    /// The cells in a range of logical blocks that are not at home, as they follow each other there, with their first
    /// blocks.
    pub(super) fn moved_in(&self, at: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        let (mut next, end) = (at.start, if self.moved == 0 { at.start } else { at.end() });
        std::iter::from_fn(move || {
            while next < end {
                let (track, offset) = self.places.locate(next);
                let first = next;
                next = next.plus(u64::from(self.places.order.tracks().track_blocks(track.side) - offset));
                let cell = self.number(track);
                if offset == 0 && self.lies[cell as usize] != cell {
                    return Some((first, cell));
                }
            }
            None
        })
    }
}
