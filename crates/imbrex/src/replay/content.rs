//! What every block holds, and what it must hold: the check that no layer can talk its way past.
//!
//! Each block of the disk and of RAM carries the tag last written to it, and each logical block the newest tag the host
//! wrote. Moves copy tags in planning order. What a layer gave back, and what the media destroyed, holds a tag that no
//! host ever wrote, so that reading it shows even where the media would allow the read.

use super::error::Fault;
use crate::block::{Extent, Lba, Pba};
use crate::media::{Tag, TagMap};
use crate::plan::Place;

/// Stands in for content that is gone; beyond any capacity in use (2^35 blocks of 4 KiB are 140 TB).
const GONE: Lba = Lba(1 << 35);

/// The host's side of a plan.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Host {
    /// The plan may not name the host.
    Nobody,
    /// Blocks come from the host.
    Writes(Extent<Lba>),
    /// Blocks go to the host.
    Reads(Extent<Lba>),
}

#[derive(Default)]
pub(super) struct Content {
    ram: TagMap,
    disk: TagMap,
    newest: TagMap,
    /// Blocks trimmed since they were last written carry a tag here: they may read as zeros.
    trimmed: TagMap,
    version: u32,
    /// The parts of a read delivered so far, as first block and length.
    delivered: Vec<(u32, u32)>,
}

impl Content {
    /// Begins a new version for the writes that follow.
    pub(super) fn next_version(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    /// The layer has taken these blocks from the host.
    pub(super) fn written(&mut self, at: Extent<Lba>) {
        self.newest.set_run(at.start.0, at.blocks, Tag::new(at.start, self.version));
        self.trimmed.set_run(at.start.0, at.blocks, Tag::ZERO);
    }

    /// The layer has forgotten these blocks.
    pub(super) fn trimmed(&mut self, at: Extent<Lba>) {
        self.trimmed.set_run(at.start.0, at.blocks, Tag::new(at.start, 1));
    }

    /// Nothing that counts is there any more.
    pub(super) fn gone(&mut self, space: Extent<Pba>) {
        self.map_mut(space.start).set_run(space.start.block(), space.blocks, Tag::new(GONE, 1));
    }

    /// A move of a plan that makes sense for this host.
    pub(super) fn moved(&mut self, from: Place, to: Place, blocks: u32, host: Host) -> Result<(), Fault> {
        match (from, to, host) {
            (Place::At(source), Place::At(target), _) => self.copy(source, target, blocks),
            (Place::Zero, Place::At(target), _) => self.map_mut(target).set_run(target.block(), blocks, Tag::ZERO),
            (Place::Host(first), Place::At(target), Host::Writes(at)) => {
                let tag = Tag::new(part(at, first, blocks)?.start, self.version);
                self.map_mut(target).set_run(target.block(), blocks, tag);
            }
            (_, Place::Host(first), Host::Reads(at)) => {
                let at = part(at, first, blocks)?;
                self.delivered.push((first, blocks));
                match from {
                    Place::At(source) => self.compare(at, Some(source))?,
                    Place::Lost => return Err(Fault::Lost { lba: at.start }),
                    Place::Zero | Place::Host(_) => self.compare(at, None)?,
                }
            }
            (_, Place::At(target), _) => self.gone(Extent::new(target, blocks)),
            _ => {}
        }
        Ok(())
    }

    /// A read's plan has been performed: each block must have been delivered once.
    pub(super) fn read_done(&mut self, at: Extent<Lba>) -> Result<(), Fault> {
        self.delivered.sort_unstable();
        let mut next = 0;
        for &(first, blocks) in &self.delivered {
            if first != next {
                return Err(Fault::Undelivered { at, block: next.min(first) });
            }
            next = first + blocks;
        }
        self.delivered.clear();
        if next == at.blocks { Ok(()) } else { Err(Fault::Undelivered { at, block: next }) }
    }

    fn copy(&mut self, source: Pba, target: Pba, blocks: u32) {
        let (s, t) = (source.block(), target.block());
        match (source.is_ram(), target.is_ram()) {
            (true, true) => self.ram.copy_within(s, t, blocks),
            (false, false) => self.disk.copy_within(s, t, blocks),
            (true, false) => self.disk.copy_from(&self.ram, s, t, blocks),
            (false, true) => self.ram.copy_from(&self.disk, s, t, blocks),
        }
    }

    /// Compares what lies at `source`, or zeros, with the newest content of `at`, run by run.
    fn compare(&self, at: Extent<Lba>, source: Option<Pba>) -> Result<(), Fault> {
        let mut done = 0;
        while done < at.blocks {
            let (lba, rest) = (Lba(at.start.0 + u64::from(done)), at.blocks - done);
            let (expected, mut run) = self.newest.run(lba.0, rest);
            let mut found = Tag::ZERO;
            if let Some(source) = source {
                let length;
                (found, length) = self.map(source).run(source.block() + u64::from(done), run);
                run = run.min(length);
            }
            if found != expected {
                if found != Tag::ZERO || self.trimmed.get(lba.0) == Tag::ZERO {
                    return Err(Fault::Mismatch { lba, expected, found });
                }
                run = 1;
            }
            done += run;
        }
        Ok(())
    }

    fn map(&self, at: Pba) -> &TagMap {
        if at.is_ram() { &self.ram } else { &self.disk }
    }

    fn map_mut(&mut self, at: Pba) -> &mut TagMap {
        if at.is_ram() { &mut self.ram } else { &mut self.disk }
    }
}

/// The blocks of `at` that a move names by their number in it.
fn part(at: Extent<Lba>, first: u32, blocks: u32) -> Result<Extent<Lba>, Fault> {
    match first.checked_add(blocks) {
        Some(end) if end <= at.blocks => Ok(at.skip(first).first(blocks)),
        _ => Err(Fault::Outside { at, first, blocks }),
    }
}
