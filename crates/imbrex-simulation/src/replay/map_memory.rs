//! The map of a layer in bounded memory: which of its pages have to be read and written, and what that costs.
//!
//! Pages lie in place at the front of the conventional space, in the order of their numbers. What a request needs of
//! them is read before it is planned, and what cleaning looks at before it does. A page that was changed is written
//! when it leaves memory, with others that were. At the beginning none is in memory.

use super::error::{Fault, ReplayError};
use super::machine::Machine;
use super::metrics::MapCounts;
use super::outcome::MapOutcome;
use super::page_cache::PageCache;
use super::steps::Did;
use imbrex_core::block::{Address, Extent, Pba};
use imbrex_core::layer::{MAP_PAGE_BYTES, Touch, TranslationLayer};
use imbrex_core::media::Media;
use imbrex_core::plan::{Place, Why};
use imbrex_core::space::Space;

/// The least memory that a divided map is given.
pub const LEAST_MAP_MEMORY: u64 = 16 * MAP_PAGE_BYTES as u64;

pub(super) struct MapMemory {
    cache: PageCache,
    /// Pages that there may be.
    pages: u64,
    start: Pba,
    page_blocks: u32,
    /// Reused lists: pages that are needed, those that have to be read and those that have to be written.
    pub needed: Vec<u64>,
    missing: Vec<u64>,
    written: Vec<u64>,
    pub touched: Vec<(u64, Touch)>,
}

impl MapMemory {
    /// The map of `layer` in `bytes` bytes; nothing if all of it fits.
    ///
    /// # Errors
    /// When that cannot be done, and what would do.
    pub fn of(
        layer: &mut dyn TranslationLayer,
        bytes: u64,
        media: &dyn Media,
        block_bytes: u32,
    ) -> Result<Option<Self>, ReplayError> {
        let wrong = |reason: String| Err(ReplayError::Option { option: "map_memory", reason });
        if bytes < LEAST_MAP_MEMORY {
            return wrong(format!("{bytes} bytes are too little; choose at least {LEAST_MAP_MEMORY}"));
        }
        let whole = layer.facts().memory.most;
        let Some(map) = layer.map_pages() else {
            if whole <= bytes {
                return Ok(None);
            }
            let text = "the layer's maps stay in memory and take up to";
            return wrong(format!("{text} {whole} bytes, more than {bytes}; choose more, or a smaller buffer"));
        };
        let (pages, most) = (map.count(), bytes / u64::from(MAP_PAGE_BYTES));
        if pages <= most {
            return Ok(None);
        }
        let page_blocks = (MAP_PAGE_BYTES / block_bytes).max(1);
        let space = Space::of(media, 0);
        let (needed, have) = (pages * u64::from(page_blocks), space.conventional_blocks);
        if needed > have {
            let text = "the map's pages lie in conventional zones and take";
            return wrong(format!("{text} {needed} blocks, and the drive has {have}; choose more conventional zones"));
        }
        let most = u32::try_from(most).unwrap_or(u32::MAX / 2);
        map.divide(most);
        Ok(Some(Self {
            cache: PageCache::new(most),
            pages,
            start: space.conventional,
            page_blocks,
            needed: Vec::new(),
            missing: Vec::new(),
            written: Vec::new(),
            touched: Vec::new(),
        }))
    }

    /// What it cost, by these counts.
    pub fn outcome(&self, counts: MapCounts) -> MapOutcome {
        let bytes = |pages: u64| pages * u64::from(MAP_PAGE_BYTES);
        MapOutcome {
            memory_bytes: bytes(self.cache.most() as u64),
            map_bytes: bytes(self.pages),
            lookups: counts.lookups,
            read_pages: counts.read,
            written_pages: counts.written,
        }
    }

    /// Has the pages in memory that are needed, which come in ascending order, no more of them at a time than may be
    /// there.
    pub fn fetch(&mut self, machine: &mut Machine) -> Result<(), Box<Fault>> {
        let needed = std::mem::take(&mut self.needed);
        for some in needed.chunks((self.cache.most() / 2).max(1)) {
            machine.counters.map.lookups += some.len() as u64;
            self.missing.clear();
            self.missing.extend(some.iter().copied().filter(|&page| !self.cache.uses(page)));
            self.load(machine)?;
        }
        self.needed = needed;
        self.needed.clear();
        Ok(())
    }

    /// Reads what is missing, for which other pages leave.
    fn load(&mut self, machine: &mut Machine) -> Result<(), Box<Fault>> {
        self.written.clear();
        for &page in &self.missing {
            self.cache.take(page, &mut self.written);
        }
        machine.counters.map.read += self.missing.len() as u64;
        self.write_back(machine)?;
        self.each_run(&self.missing, |at| machine.access_map(at, false))
    }

    fn write_back(&self, machine: &mut Machine) -> Result<(), Box<Fault>> {
        machine.counters.map.written += self.written.len() as u64;
        self.each_run(&self.written, |at| machine.access_map(at, true))
    }

    /// Calls `each` with pages that lie behind each other.
    fn each_run(
        &self,
        pages: &[u64],
        mut each: impl FnMut(Extent<Pba>) -> Result<(), Box<Fault>>,
    ) -> Result<(), Box<Fault>> {
        for run in pages.chunk_by(|a, b| a + 1 == *b) {
            let start = self.start.plus(run[0] * u64::from(self.page_blocks));
            each(Extent::new(start, run.len() as u32 * self.page_blocks))?;
        }
        Ok(())
    }

    /// Takes over what has been done to pages.
    pub fn settle(&mut self, machine: &mut Machine) -> Result<(), Box<Fault>> {
        // Of several touches of a page the last says what is there, and the first what was needed of it.
        self.touched.sort_by_key(|(page, _)| *page);
        let touched = std::mem::take(&mut self.touched);
        self.missing.clear();
        self.written.clear();
        for of_page in touched.chunk_by(|(a, _), (b, _)| a == b) {
            let ((page, first), (_, last)) = (of_page[0], of_page[of_page.len() - 1]);
            if last == Touch::Drop {
                self.cache.forget(page);
                continue;
            }
            machine.counters.map.lookups += 1;
            if !self.cache.uses(page) {
                if matches!(first, Touch::Read | Touch::Change) {
                    self.missing.push(page);
                }
                self.cache.take(page, &mut self.written);
            }
            if of_page.iter().any(|(_, touch)| *touch != Touch::Read) {
                self.cache.changed(page);
            }
        }
        machine.counters.map.read += self.missing.len() as u64;
        self.each_run(&self.missing, |at| machine.access_map(at, false))?;
        self.write_back(machine)?;
        self.touched = touched;
        self.touched.clear();
        Ok(())
    }
}

impl Machine {
    /// Reads or writes pages of the map.
    fn access_map(&mut self, at: Extent<Pba>, is_write: bool) -> Result<(), Box<Fault>> {
        let (begun_ns, place) = (self.now_ns, Some(Place::At(at.start)));
        if is_write {
            self.write(at, Why::Metadata)?;
        } else {
            self.read(at, Why::Metadata)?;
        }
        let (from, to) = if is_write { (None, place) } else { (place, None) };
        self.note(Did::Copy { from, to, blocks: at.blocks, why: Why::Metadata }, begun_ns);
        Ok(())
    }
}
