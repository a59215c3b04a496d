//! What every block holds, and what it must hold: the check that no layer can talk its way past.
//!
//! Each block of every device, RAM included, carries the tag last written to it, and each logical block the newest tag
//! the host wrote. What a layer gave back, and what the media destroyed, holds a tag that no host ever wrote, so that
//! reading it shows even where the media would allow the read.
//!
//! The host's side is followed in planning order, which is the order in which it asked: a write gets its version, and a
//! read notes what it must deliver, when they are planned. The media's side is followed as operations complete. Without
//! a queue that is the same order; with one, a scheduler that lets conflicting operations overtake each other shows
//! here.

use super::device::Device;
use super::error::Fault;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::Unwritten;
use imbrex_core::media::{Tag, TagMap};
use imbrex_core::plan::{Place, Unit};

/// Stands in for content that is gone; beyond any capacity in use (2^35 blocks of 4 KiB are 140 TB).
const GONE: Lba = Lba(1 << 35);
const GONE_VERSION: u32 = 1;
/// The version of what was on a device before the first write; it counts the device's blocks on from [`GONE`].
const OLD_VERSION: u32 = 2;

/// Bytes of memory that verifying may take.
pub(super) const MOST_MEMORY: u64 = 4 << 30;

/// The host's side of a plan.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Host {
    /// The plan may not name the host.
    Nobody,
    /// Blocks of this version come from the host.
    Writes(Extent<Lba>, u32),
    /// Blocks go to the host.
    Reads(Extent<Lba>),
}

/// What a read must deliver, and what it has delivered.
#[derive(Default)]
pub(super) struct Delivery {
    at: Option<Extent<Lba>>,
    /// The content of its blocks, from the first to the last.
    expected: Vec<Expected>,
    /// The parts delivered so far, as first block and length.
    delivered: Vec<(u32, u32)>,
}

/// A run of blocks of a read: the first, how many, and that block `first + i` holds `tag.plus(i)`.
#[derive(Copy, Clone)]
struct Expected {
    first: u32,
    blocks: u32,
    tag: Tag,
    /// Whether zeros will do.
    trimmed: bool,
}

pub(super) struct Content {
    /// What the blocks of each device hold; device 0 is RAM.
    devices: Vec<TagMap>,
    newest: TagMap,
    /// Blocks trimmed since they were last written carry a tag here: they may read as zeros.
    trimmed: TagMap,
    version: u32,
    /// What the layer says of blocks that were never written.
    unwritten: Unwritten,
}

impl Content {
    /// The layer has written nothing on any of the devices up to `last`.
    pub(super) fn new(last: u8, unwritten: Unwritten) -> Self {
        let devices = (0..=last).map(|_| TagMap::default()).collect();
        Self { devices, newest: TagMap::default(), trimmed: TagMap::default(), version: 0, unwritten }
    }

    /// On devices on which every block that can be written in place has old content.
    pub(super) fn of(disk: &Device, unwritten: Unwritten) -> Self {
        let mut content = Self::new(disk.last(), unwritten);
        let media = disk.media();
        for (device, units) in (0..).zip(&media.unit_report().devices) {
            let units = (0..units.len() as u32).map(|index| Unit { device, index });
            units.filter(|unit| !media.has_pointer(*unit)).for_each(|unit| content.used_before(media.extent_of(unit)));
        }
        content
    }

    /// Fails when all this takes more than `most` bytes of memory.
    pub(super) fn check_memory(&self, most: u64) -> Result<(), Box<Fault>> {
        let maps = self.devices.iter().chain([&self.newest, &self.trimmed]);
        if maps.map(TagMap::bytes).sum::<u64>() > most { Err(Fault::TooMuchToVerify.into()) } else { Ok(()) }
    }

    /// The space has old content, from before the replay.
    pub(super) fn used_before(&mut self, space: Extent<Pba>) {
        let tag = Tag::new(GONE.plus(space.start.block()), OLD_VERSION);
        self.map_mut(space.start).set_run(space.start.block(), space.blocks, tag);
    }

    /// The version of the next write.
    pub(super) fn next_version(&mut self) -> u32 {
        self.version = self.version.wrapping_add(1);
        self.version
    }

    /// The layer has taken these blocks, of this version, from the host.
    pub(super) fn written(&mut self, at: Extent<Lba>, version: u32) {
        self.newest.set_run(at.start.0, at.blocks, Tag::new(at.start, version));
        self.trimmed.set_run(at.start.0, at.blocks, Tag::ZERO);
    }

    /// Whether the first block of `at` was ever written, and for how many blocks that goes on.
    pub(super) fn is_written(&self, at: Extent<Lba>) -> (bool, u32) {
        let (tag, blocks) = self.newest.run(at.start.0, at.blocks);
        (tag != Tag::ZERO && !is_old(tag), blocks)
    }

    /// The layer has forgotten these blocks.
    pub(super) fn trimmed(&mut self, at: Extent<Lba>) {
        self.trimmed.set_run(at.start.0, at.blocks, Tag::new(at.start, 1));
    }

    /// A read is planned: it must deliver what is newest now.
    pub(super) fn expect(&self, at: Extent<Lba>, read: &mut Delivery) {
        read.at = Some(at);
        read.expected.clear();
        read.delivered.clear();
        let mut first = 0;
        while first < at.blocks {
            let (lba, rest) = (at.start.0 + u64::from(first), at.blocks - first);
            let (tag, blocks) = self.newest.run(lba, rest);
            let (trimmed, blocks) = self.trimmed.run(lba, blocks);
            read.expected.push(Expected { first, blocks, tag, trimmed: trimmed != Tag::ZERO });
            first += blocks;
        }
    }

    /// Nothing that counts is there any more.
    pub(super) fn gone(&mut self, space: Extent<Pba>) {
        self.map_mut(space.start).set_run(space.start.block(), space.blocks, Tag::new(GONE, GONE_VERSION));
    }

    /// A move of a plan that makes sense for this host; `read` is the read it belongs to, if it is one.
    pub(super) fn moved(
        &mut self,
        from: Place,
        to: Place,
        blocks: u32,
        host: Host,
        read: &mut Delivery,
    ) -> Result<(), Box<Fault>> {
        match (from, to, host) {
            (Place::At(source), Place::At(target), _) => self.copy(source, target, blocks),
            (Place::Zero, Place::At(target), _) => self.map_mut(target).set_run(target.block(), blocks, Tag::ZERO),
            (Place::Host(first), Place::At(target), Host::Writes(at, version)) => {
                let tag = Tag::new(part(at, first, blocks)?.start, version);
                self.map_mut(target).set_run(target.block(), blocks, tag);
            }
            (_, Place::Host(first), Host::Reads(at)) => {
                let lba = part(at, first, blocks)?.start;
                read.delivered.push((first, blocks));
                match from {
                    Place::At(source) => self.compare(read, first, blocks, Some(source))?,
                    Place::Lost => return Err(Fault::Lost { lba }.into()),
                    Place::Zero | Place::Host(_) => self.compare(read, first, blocks, None)?,
                }
            }
            (_, Place::At(target), _) => self.gone(Extent::new(target, blocks)),
            _ => {}
        }
        Ok(())
    }

    fn copy(&mut self, source: Pba, target: Pba, blocks: u32) {
        let (s, t) = (source.block(), target.block());
        let [from, to] = [source, target].map(|at| usize::from(at.device()));
        match self.devices.get_disjoint_mut([from, to]) {
            Ok([from, to]) => to.copy_from(from, s, t, blocks),
            Err(_) => self.devices[from].copy_within(s, t, blocks),
        }
    }

    /// Compares what lies at `source`, or zeros, with what a part of a read must deliver, run by run.
    fn compare(&mut self, read: &Delivery, first: u32, blocks: u32, source: Option<Pba>) -> Result<(), Box<Fault>> {
        let Some(at) = read.at else { return Ok(()) };
        let mut done = 0;
        while done < blocks {
            let block = first + done;
            let (expected, trimmed, mut run) = read.expected(block, blocks - done);
            let mut found = Tag::ZERO;
            if let Some(source) = source {
                let length;
                (found, length) = self.map(source).run(source.block() + u64::from(done), run);
                run = run.min(length);
            }
            let lba = at.start.0 + u64::from(block);
            if expected == Tag::ZERO && self.unwritten.allows(found == Tag::ZERO, is_old(found)) {
                run = self.settle(lba, run, found);
            } else if found != expected && !(trimmed && found == Tag::ZERO) {
                return Err(Fault::Mismatch { lba: Lba(at.start.0 + u64::from(block)), expected, found }.into());
            }
            done += run;
        }
        Ok(())
    }

    /// A block that was never written reads so from now on, unless it has been written since the read was planned; and
    /// for how many of the `blocks` from there on that is so.
    fn settle(&mut self, lba: u64, blocks: u32, found: Tag) -> u32 {
        let (newest, run) = self.newest.run(lba, blocks);
        if newest == Tag::ZERO && found != Tag::ZERO {
            self.newest.set_run(lba, run, found);
        }
        run
    }

    fn map(&self, at: Pba) -> &TagMap {
        &self.devices[usize::from(at.device())]
    }

    fn map_mut(&mut self, at: Pba) -> &mut TagMap {
        &mut self.devices[usize::from(at.device())]
    }
}

impl Delivery {
    /// What `block` must be, whether zeros will do as well, and for how many of the `blocks` from there on that goes
    /// on.
    fn expected(&self, block: u32, blocks: u32) -> (Tag, bool, u32) {
        let after = self.expected.partition_point(|run| run.first <= block);
        let run = self.expected[after - 1];
        let skipped = block - run.first;
        (run.tag.plus(u64::from(skipped)), run.trimmed, blocks.min(run.blocks - skipped))
    }

    /// The read's plan has been performed: each block must have been delivered once.
    pub(super) fn done(&mut self) -> Result<(), Box<Fault>> {
        let Some(at) = self.at.take() else { return Ok(()) };
        self.delivered.sort_unstable();
        let mut next = 0;
        for &(first, blocks) in &self.delivered {
            if first != next {
                return Err(Fault::Undelivered { at, block: next.min(first) }.into());
            }
            next = first + blocks;
        }
        if next == at.blocks { Ok(()) } else { Err(Fault::Undelivered { at, block: next }.into()) }
    }
}

/// Whether this was on a device before the first write.
fn is_old(tag: Tag) -> bool {
    tag.version() == OLD_VERSION && tag.lba().is_some_and(|lba| lba >= GONE)
}

/// The blocks of `at` that a move names by their number in it.
fn part(at: Extent<Lba>, first: u32, blocks: u32) -> Result<Extent<Lba>, Box<Fault>> {
    match first.checked_add(blocks) {
        Some(end) if end <= at.blocks => Ok(at.skip(first).first(blocks)),
        _ => Err(Fault::Outside { at, first, blocks }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_limited() {
        let mut content = Content::new(1, Unwritten::OldContent);
        (0..100_000).for_each(|at| content.written(Extent::new(Lba(at * 3), 1), 1));
        assert_eq!(content.check_memory(1 << 20), Err(Fault::TooMuchToVerify.into()));
        assert_eq!(content.check_memory(MOST_MEMORY), Ok(()));
    }
}
