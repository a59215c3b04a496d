//! When pages of a map in bounded memory are needed: before a plan is made, and for what it has changed.

use super::error::Fault;
use super::simulation::Simulation;
use imbrex_core::block::{Extent, Lba};

impl Simulation {
    /// Has the pages of the map in memory that a plan for these blocks needs.
    #[inline(always)]
    pub(super) fn fetch_map(&mut self, at: Extent<Lba>) -> Result<(), Box<Fault>> {
        if self.map.is_none() { Ok(()) } else { self.fetch_pages(Some(at)) }
    }

    /// Has the pages in memory that the next step of cleaning looks at.
    pub(super) fn fetch_map_for_cleaning(&mut self) -> Result<(), Box<Fault>> {
        if self.map.is_none() { Ok(()) } else { self.fetch_pages(None) }
    }

    fn fetch_pages(&mut self, at: Option<Extent<Lba>>) -> Result<(), Box<Fault>> {
        let (Some(memory), Some(map)) = (&mut self.map, self.layer.map_pages()) else { return Ok(()) };
        match at {
            Some(at) => map.of_blocks(at, &mut |page| memory.needed.push(page)),
            None => map.of_cleaning(&mut |page| memory.needed.push(page)),
        }
        memory.fetch(&mut self.machine)
    }

    /// Takes over what the last plan has done to the map.
    #[inline(always)]
    pub(super) fn settle_map(&mut self) -> Result<(), Box<Fault>> {
        if self.map.is_none() { Ok(()) } else { self.settle_pages() }
    }

    fn settle_pages(&mut self) -> Result<(), Box<Fault>> {
        let (Some(memory), Some(map)) = (&mut self.map, self.layer.map_pages()) else { return Ok(()) };
        map.touched(&mut |page, touch| memory.touched.push((page, touch)));
        if memory.touched.is_empty() { Ok(()) } else { memory.settle(&mut self.machine) }
    }
}
