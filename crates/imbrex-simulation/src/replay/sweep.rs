//! The whole disk, run by run: filled and trimmed before the first request, and read back after the last.

use super::content::Host;
use super::error::Fault;
use super::simulation::Simulation;
use imbrex_core::bands::Bands;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Step;
use imbrex_core::media::Media;
use imbrex_core::plan::{Op, Record};
use imbrex_core::random::Random;
use imbrex_core::space::Space;

/// Blocks that are written or read at a time, nearly.
const RUN_BLOCKS: u32 = 1 << 16;
/// Bytes of a piece that is trimmed or not.
const TRIMMED_BYTES: u32 = 1 << 20;

/// What became of a flush.
pub(super) struct Flushed {
    /// Plans that it took.
    pub steps: u64,
    /// Whether there was room for everything.
    is_on_media: bool,
}

impl Simulation {
    /// Fills the disk, so that nothing of that is left in a buffer: whole zones, each with a write that covers it, are
    /// what mechanisms let past their buffers, and what a layer keeps in RAM is flushed. In a stack the devices below
    /// are full already. Returns the records of what lies where then, if anything was written.
    pub(super) fn prefill(&mut self) -> Result<Option<Vec<Record>>, Box<Fault>> {
        if self.machine.disk.is_stack() || (self.options.prefill == 0.0 && self.options.trimmed == 0.0) {
            return Ok(None);
        }
        let (capacity, unit) = (self.layer.capacity(), unit_blocks(self.machine.disk.media()));
        let wanted = (capacity as f64 * self.options.prefill) as u64;
        let blocks = if wanted < capacity { wanted - wanted % u64::from(unit) } else { capacity };
        let block_bytes = u64::from(self.machine.disk.block_bytes());
        sweep(blocks, unit, |at| self.write(at, u64::from(at.blocks) * block_bytes, None))?;
        let Flushed { is_on_media, .. } = self.flush()?;
        self.trim_pieces()?;
        if self.options.verify {
            self.layer.check()?;
        }
        self.machine.commit(&mut *self.layer)?;
        Ok(is_on_media.then(|| self.records()))
    }

    /// The records that a checkpoint of everything has.
    fn records(&mut self) -> Vec<Record> {
        let (mut records, mut from) = (Vec::new(), Some(0));
        while let Some(region) = from {
            self.plan.clear();
            from = self.layer.checkpoint(region, &mut self.plan);
            let recorded = |op: &Op| if let Op::Record { record, .. } = op { Some(*record) } else { None };
            records.extend(self.plan.ops().iter().filter_map(recorded));
        }
        records
    }

    /// Lets a layer that was just made begin with these records.
    pub(super) fn begin_again(&mut self, records: &[Record]) -> Result<(), Box<Fault>> {
        records.iter().try_for_each(|record| self.layer.apply(record))?;
        self.begin()?;
        if self.options.verify { Ok(self.layer.check()?) } else { Ok(()) }
    }

    /// Trims pieces all over the disk, each with the chance that the options say.
    fn trim_pieces(&mut self) -> Result<(), Box<Fault>> {
        let piece = (TRIMMED_BYTES / self.machine.disk.block_bytes()).max(1);
        let chance = (self.options.trimmed * f64::from(u32::MAX)) as u64;
        let (mut random, capacity) = (Random::new(1), self.layer.capacity());
        for first in (0..capacity).step_by(piece as usize).filter(|_| chance > 0) {
            if random.below(u64::from(u32::MAX)) < chance {
                self.trim(Extent::new(Lba(first), (capacity - first).min(u64::from(piece)) as u32))?;
            }
        }
        Ok(())
    }

    /// Lets the layer write what lies in RAM when nothing more is asked of it.
    pub(super) fn flush_at_end(&mut self) -> Result<(), Box<Fault>> {
        self.machine.drain()?;
        self.machine.scheduled = None;
        self.flush().map(drop)
    }

    /// Lets the layer move what lies in RAM to the media, as far as there is room.
    pub(super) fn flush(&mut self) -> Result<Flushed, Box<Fault>> {
        let mut steps = 0;
        loop {
            self.plan.clear();
            let given_back = self.machine.given_back;
            let step = self.layer.flush(&mut self.plan);
            steps += u64::from(!self.plan.is_empty());
            self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)?;
            self.settle_map()?;
            match step {
                Step::More | Step::Hold => {}
                Step::Done | Step::Nothing => return Ok(Flushed { steps, is_on_media: step == Step::Done }),
                Step::Wait => {
                    if !self.machine.give_back(&mut *self.layer, given_back)? {
                        return Err(Fault::Stuck.into());
                    }
                }
            }
        }
    }

    /// Reads everything back. Of a stack, what has been written: a cache would have to carry the whole disk through its
    /// flash.
    pub(super) fn read_back(&mut self) -> Result<(), Box<Fault>> {
        self.machine.scheduled = None;
        self.machine.disk.set_free_of_charge(true);
        self.layer.check()?;
        let only_written = self.machine.disk.is_stack();
        sweep(self.layer.capacity(), 1, |at| if only_written { self.read_written(at) } else { self.read(at) })?;
        self.machine.disk.below_mut().iter_mut().try_for_each(|device| device.read_back())
    }

    fn read_written(&mut self, at: Extent<Lba>) -> Result<(), Box<Fault>> {
        let mut rest = at;
        while let Some(content) = self.machine.content.as_ref().filter(|_| !rest.is_empty()) {
            let (is_written, blocks) = content.is_written(rest);
            if is_written {
                self.read(rest.first(blocks))?;
            }
            rest = rest.skip(blocks);
        }
        Ok(())
    }
}

/// What is filled as a whole: a zone or an erase block, as much as the longest band has, or a bottom track; elsewhere a
/// block.
fn unit_blocks(media: &dyn Media) -> u32 {
    let space = Space::of(media, 0);
    let band = |bands: &Bands| bands.longest().map(|band| bands.extent(band).blocks);
    let zones = space.zones.map(|zones| zones.zone_blocks).or(space.realms.map(|realms| realms.zone_blocks));
    let tracks = space.tracks.map(|tracks| tracks.bottom_blocks);
    zones.or_else(|| space.bands.as_ref().and_then(band)).or(tracks).unwrap_or(1)
}

/// Calls `each` with the first `blocks` blocks, in runs of whole units of `unit` blocks.
fn sweep(
    blocks: u64,
    unit: u32,
    mut each: impl FnMut(Extent<Lba>) -> Result<(), Box<Fault>>,
) -> Result<(), Box<Fault>> {
    let length = unit * (RUN_BLOCKS / unit).max(1);
    let mut start = 0;
    while start < blocks {
        let run = (blocks - start).min(u64::from(length));
        each(Extent::new(Lba(start), run as u32))?;
        start += run;
    }
    Ok(())
}
