//! The bands: where a logical block lies once it has left the cache.

use imbrex_core::bands::Bands;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Condition, Corrupt, UnitReport, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Record, Unit};

/// The static map, the scratch band, and the write pointers that the drive keeps.
pub struct Home {
    bands: Bands,
    /// The band that no logical block belongs to, and its blocks.
    scratch: Option<u32>,
    skipped: Option<Extent<Pba>>,
    /// Write pointers, and whether the band can be written.
    pointer: Vec<u32>,
    writable: Vec<bool>,
    /// The band whose content lies in the scratch band.
    displaced: Option<u32>,
    longest: u32,
}

impl Home {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let bands = self.pointer.len() as u64;
        Memory::room::<u32>(bands) + Memory::of::<bool>(bands)
    }

    /// The bands, one of the longest being the scratch band if there is to be one. None if no other is left.
    pub fn new(bands: Bands, with_scratch: bool) -> Option<Self> {
        let first = bands.longest()?;
        let scratch = with_scratch.then_some(first);
        let count = bands.count();
        (count > u32::from(with_scratch)).then(|| Self {
            longest: bands.extent(first).blocks,
            skipped: scratch.map(|band| bands.extent(band)),
            bands,
            scratch,
            pointer: vec![0; count as usize],
            writable: vec![true; count as usize],
            displaced: None,
        })
    }

    /// How many bands there are, the scratch band among them.
    pub fn count(&self) -> u32 {
        self.bands.count()
    }

    /// Blocks of the longest band.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// Logical blocks.
    pub fn capacity(&self) -> u64 {
        let skipped = self.skipped.map_or(0, |skipped| skipped.blocks);
        self.bands.end() - self.bands.start() - u64::from(skipped)
    }

    pub fn length(&self, band: u32) -> u32 {
        self.bands.extent(band).blocks
    }

    pub fn scratch(&self) -> Option<u32> {
        self.scratch
    }

    pub fn displaced(&self) -> Option<u32> {
        self.displaced
    }

    pub fn unit(&self, band: u32) -> Unit {
        self.bands.unit(band)
    }

    /// All blocks of a band at its own place.
    pub fn extent(&self, band: u32) -> Extent<Pba> {
        self.bands.extent(band)
    }

    /// The band of a logical block and the offset in it.
    #[inline]
    pub fn locate(&self, lba: Lba) -> (u32, u32) {
        let mut block = self.bands.start() + lba.0;
        if let Some(skipped) = self.skipped
            && block >= skipped.start.block()
        {
            block += u64::from(skipped.blocks);
        }
        let at = Pba::new(self.unit(0).device, block);
        self.bands.locate(at).unwrap_or_else(|| unreachable!("{lba:?} lies within the capacity"))
    }

    /// The logical blocks of a band.
    pub fn logical(&self, band: u32) -> Extent<Lba> {
        let extent = self.bands.extent(band);
        let skipped = self.scratch.filter(|scratch| *scratch < band).map_or(0, |scratch| self.length(scratch));
        Extent::new(Lba(extent.start.block() - self.bands.start() - u64::from(skipped)), extent.blocks)
    }

    /// Where the content of a band lies, and how many blocks of it there are.
    pub fn content(&self, band: u32) -> (Pba, u32) {
        let lies_in = self.scratch.filter(|_| self.displaced == Some(band)).unwrap_or(band);
        (self.bands.extent(lies_in).start, self.pointer(lies_in))
    }

    pub fn pointer(&self, band: u32) -> u32 {
        self.pointer[band as usize]
    }

    pub fn is_writable(&self, band: u32) -> bool {
        self.writable[band as usize]
    }

    /// Notes that blocks were written at a band's pointer.
    pub fn advance(&mut self, band: u32, blocks: u32) {
        self.pointer[band as usize] += blocks;
        debug_assert!(self.pointer(band) <= self.length(band));
    }

    /// The offset at which the band takes a write without losing anything, if there is one.
    pub fn appends_at(&self, band: u32) -> Option<u32> {
        let open = self.is_writable(band) && self.displaced != Some(band) && self.pointer(band) < self.length(band);
        open.then(|| self.pointer(band))
    }

    /// Whether the band can be written anew.
    pub fn can_rewrite(&self, band: u32) -> bool {
        let through_scratch = |scratch| self.is_writable(scratch) && self.displaced.is_none();
        self.is_writable(band) && self.scratch.is_none_or(through_scratch)
    }

    /// A record that the content of `band` lies in `place` from now on.
    pub fn moved(&self, band: u32, place: u32) -> Record {
        Record::Unit { unit: self.unit(place), is: band }
    }

    /// Applies such a record.
    pub fn apply(&mut self, unit: Unit, is: u32) -> Result<(), Corrupt> {
        match self.bands.index(unit) {
            Some(place) if place == is && Some(is) != self.scratch => self.displaced = None,
            Some(place) if Some(place) == self.scratch && is < self.bands.count() => self.displaced = Some(is),
            _ => return Err(Corrupt(format!("a record puts band {is} in {unit:?}, where it cannot be"))),
        }
        Ok(())
    }

    /// The band that begins with `space`, which has been emptied.
    pub fn band_of(&self, space: Extent<Pba>) -> Option<u32> {
        self.bands.locate(space.start).map(|(band, _)| band)
    }

    /// Notes that a band is empty.
    pub fn empty(&mut self, band: u32) {
        self.pointer[band as usize] = 0;
    }

    /// Mirrors what the drive reports.
    pub fn recovered(&mut self, units: &UnitReport) -> Result<(), Corrupt> {
        for band in 0..self.bands.count() {
            let unit = self.unit(band);
            let state = units.unit(unit).ok_or_else(|| Corrupt(format!("the drive does not report {unit:?}")))?;
            self.pointer[band as usize] = state.pointer;
            self.writable[band as usize] = state.condition == Condition::Sequential;
        }
        Ok(())
    }

    /// Verifies the invariants.
    pub fn check(&self) -> Result<(), Violation> {
        let last = self.logical(self.bands.count() - 1);
        if self.displaced.is_some() && self.displaced == self.scratch {
            return Err(Violation("the scratch band is displaced into itself".to_owned()));
        }
        if self.scratch != Some(self.bands.count() - 1) && last.end().0 != self.capacity() {
            return Err(Violation(format!("the last band ends with {:?}", last.end())));
        }
        Ok(())
    }
}
