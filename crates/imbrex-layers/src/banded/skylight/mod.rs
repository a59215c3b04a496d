//! `skylight`: the inside of a drive-managed disk. Logical blocks have fixed places in bands, and a persistent cache
//! takes the writes.
//!
//! Source: Aghayev and Desnoyers, "Skylight: A Window on Shingled Disk Operation" (FAST 2015), which opened two such
//! drives. The map from logical blocks to bands is static. Writes are appended to a persistent cache at the outer edge,
//! a log that is full when its blocks or the entries of its map run out, whichever is first. It is cleaned from its
//! tail: *all* cached blocks of the band of the tail's block are gathered, the band is read, merged, written to a
//! scratch band and then in place. The drive cleans when it has been idle for a while, and when a write finds no room.
//! A stream that covers a band from its start to its end goes past the cache.
//!
//! # State
//! - durable: which blocks are in the cache and where ([`Record::Map`]); whether the content of a band lies in the
//!   scratch band ([`Record::Unit`]); lost blocks;
//! - in RAM: the band being written anew, and a stream that gathers; the latter is durable after a flush only;
//! - soft: head, tail and entries of the log, the job under way, the run of blocks that the last writes form.
//!
//! # Invariants
//! - a slot is live exactly when a block maps to it; a block is never both cached and lost;
//! - at most one band lies in the scratch band, and its own place is emptied only when that is durable;
//! - for each block that lies in RAM only, a slot at the head of the log is kept free, so that a flush never waits;
//! - a block written after a job copied it stays in the cache when the job ends.
//!
//! # A job
//! 1. *Gather*, in steps: a stretch of the band and its cached blocks are read into RAM and written to the scratch
//!    band. The last step's plan says that the band lies there, that the cached blocks copied are cached no longer, and
//!    resets the band.
//! 2. *Empty*: nothing until the reset has taken effect, which is after these records.
//! 3. *Restore*, in steps: RAM is written in place. The last plan says that the band lies there, and resets the scratch
//!    band.
//!
//! So a band is moved three times, as the drive does. A crash finds a whole band in one place or the other; the
//! restoring is then begun again, from the scratch band instead of RAM.
//!
//! # Decisions where the paper is silent
//! - *Entries* (`map_entries`, `entries`): one for each extent, a run of blocks that lie side by side in the cache as
//!   they do on the disk (`extents`). Writes that go on from each other share one, a hole makes two of one, and it
//!   comes back when its last block leaves. Or one for each extent of a write as it arrived, cut at the ends of bands
//!   and of the log (`writes`): neither merged nor split, and one that is dead counts until the tail has passed it.
//!   Slots always come back in the order of the log. After a crash each run of live blocks is an entry. Measurements of
//!   a drive say that entries are extents (`docs/validation.md`).
//! - *Overwriting*: a block in the cache is appended again and the old copy is dead. The tail passes dead blocks, so a
//!   band is cleaned when its oldest *live* block is reached.
//! - *A rewrite's length*: up to the band's write pointer or its last cached block, whichever is further, with zeros
//!   between.
//! - *Order of gathering* (`gather`): the band first, then cached blocks, stretch by stretch; they are read as they lie
//!   in the log, or as they will lie in the band.
//! - *Streams* (`stream_blocks`): a write belongs to one if it and those directly before it, each beginning where the
//!   last ended, are that many blocks. Its blocks at a band's write pointer are written there at once. From the start
//!   of a band that is written they gather in RAM, other writes notwithstanding; when the band is whole it is written
//!   as in a job that has nothing to read. A stream that ends early, a write into what gathers, the next stream, idle
//!   time or a flush send what has gathered to the cache. Bands longer than a quarter of the cache do not gather.
//! - *Scratch* (`scratch`): without a scratch band the last gathering step resets the band and writes it in place: two
//!   transfers instead of three, and the band is lost to a power cut.
//! - *Idle time* (`idle_ms`): measured to begin after 1 to 1.5 s; the cache is then cleaned until it is empty.
//! - *Trim* changes nothing.

mod cache;
mod clean;
mod config;
mod home;
mod stream;
mod write;

use crate::parts::bitmap::Bitmap;
use crate::parts::buffered_blocks::{BufferedBlocks, Slots};
use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use crate::{Family, LayerInfo};
use cache::Cache;
use clean::Job;
use config::SkylightConfig;
use home::Home;
use imbrex_core::block::{Address, Extent, Lba, Pba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Occupancy, Pressure, REGION_RECORDS, Standing, Step, TranslationLayer,
    UnitReport, Unsafe, Violation, Write,
};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use stream::{Detector, Stream};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "skylight",
    family: Some(Family::Banded),
    source: "Skylight (FAST 2015)",
    summary: "Fixed places in bands behind a persistent cache, which is cleaned band by band from its tail.",
    recording: Recording::Banded,
    buffered: false,
    fields: SkylightConfig::FIELDS,
    make: &|space, config| Ok(Box::new(Skylight::new(space, config)?)),
};

struct Skylight {
    config: SkylightConfig,
    step: StepSize,
    cache: Cache,
    blocks: BufferedBlocks,
    home: Home,
    detector: Detector,
    stream: Option<Stream>,
    job: Option<Job>,
    /// Offsets of the job's band whose newest content has been copied.
    copied: Bitmap,
    /// Reused for the cached blocks of one step, slot and offset.
    newer: Vec<(u32, u32)>,
}

impl Skylight {
    /// The blocks from the front of `at` that lie in its first band.
    fn in_band(&self, at: Extent<Lba>) -> Extent<Lba> {
        if at.blocks == 1 {
            return at;
        }
        let (band, offset) = self.home.locate(at.start);
        at.first(self.home.length(band) - offset)
    }

    /// Plans a read of blocks of one band of which none is in RAM alone; returns how many the cache had.
    fn read_cached(&self, at: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        self.blocks.read(at, host, plan, |_slot| {}, |run, host, plan| self.read_home(run, host, plan))
    }

    /// Plans a read of blocks of one band at their own places. What was never written reads as zeros.
    fn read_home(&self, at: Extent<Lba>, host: u32, plan: &mut Plan) {
        let (band, first) = self.home.locate(at.start);
        let (place, held) = self.home.content(band);
        self.blocks.lost.read(at, place.plus(u64::from(first)), held.saturating_sub(first), host, plan);
    }
}

/// What is said of a configuration without a scratch band.
const LOSES_BANDS: &str = "a band that is reset before it is rewritten is lost with the power; set scratch to true";

impl Skylight {
    fn memory(&self) -> Memory {
        let newer = Memory::growing::<(u32, u32)>(self.newer.capacity() as u64);
        self.cache.memory() + self.blocks.memory(u32::MAX) + self.home.memory() + self.copied.memory() + newer
    }

    /// An entry is one run of blocks, or two once another has overwritten its middle; what a flush sends to the cache
    /// may be cut by writes since.
    fn most_records(&self) -> u64 {
        let slots = u64::from(self.cache.table().slots());
        let runs = 2 * u64::from(self.config.map_entries) + u64::from(self.home.longest());
        let regions = slots / (REGION_RECORDS as u64 / 2 - 1);
        1 + slots.min(runs) + 2 * regions + LostBlocks::regions(self.capacity())
    }
}

impl TranslationLayer for Skylight {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.memory(),
            ram_blocks: 2 * self.home.longest(),
            step_blocks: self.config.scratch.then_some(self.step.most()),
            buffer_blocks: Some(self.cache.table().slots().into()),
            journal: JournalFacts { records: self.most_records(), ..JournalFacts::default() },
            loses_flushed: (!self.config.scratch).then(|| Unsafe(LOSES_BANDS.to_owned())),
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.home.capacity()
    }

    fn standing(&self) -> Standing {
        Standing {
            holds_ram: self.job.is_some() || self.stream.is_some(),
            outlook: self.config.scratch.then(|| self.room_ahead()),
            occupancy: Some(Occupancy { used: self.blocks.map.mapped(), blocks: self.cache.table().slots().into() }),
            ..Standing::default()
        }
    }

    fn idle_after_ns(&self) -> u64 {
        u64::from(self.config.idle_ms) * 1_000_000
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    fn prefetch(&self, ahead: &[Request], _below: &mut dyn FnMut(u8, Request)) -> u64 {
        ahead.iter().fold(0, |sum, request| sum ^ self.blocks.map.prefetch(request.at.start))
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let (mut rest, mut hits) = (at, 0);
        while !rest.is_empty() {
            let (ram, blocks) = self.in_ram(self.in_band(rest));
            let host = rest.start.since(at.start) as u32;
            if let Some(ram) = ram {
                plan.copy(Place::At(ram), Place::Host(host), blocks, Why::Host);
                hits += blocks;
            } else {
                hits += self.read_cached(rest.first(blocks), host, plan);
            }
            rest = rest.skip(blocks);
        }
        plan.count(Event::ReadHit, hits);
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        let (mut done, mut hits) = (0, 0);
        while done < at.blocks {
            let rest = at.skip(done);
            let is_stream = self.detector.run_with(rest) >= u64::from(self.config.stream_blocks);
            let taken = self.write_run(self.in_band(rest), is_stream, done, &mut hits, plan);
            if taken == 0 {
                break;
            }
            self.detector.took(rest.first(taken));
            done += taken;
        }
        plan.count(Event::WriteHit, hits);
        done
    }

    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }

    /// What lies in RAM goes into the cache, where slots were kept for it.
    fn flush(&mut self, plan: &mut Plan) -> Step {
        self.spill(plan);
        self.secure_job(plan);
        Step::Done
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match why {
            _ if self.job.is_some() => self.job_step(plan),
            Pressure::Blocked(_) => self.make_room(plan),
            Pressure::Idle { ns } if ns < self.idle_after_ns() => Step::Nothing,
            Pressure::Ahead { room } => self.make_room_ahead(room, plan),
            Pressure::Idle { .. } | Pressure::Asked => self.clean_ahead(plan),
        }
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        if !self.blocks.freed(space, &mut self.cache)
            && let Some(band) = self.home.band_of(space)
        {
            self.emptied(band);
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { .. } | Record::Unmap(_) | Record::Lost(_) => self.blocks.apply(record, &mut self.cache),
            Record::Unit { unit, is } => self.home.apply(unit, is),
            Record::Copy { .. } => Err(Corrupt(format!("skylight records no copies, yet there is {record:?}"))),
            Record::Note { key, .. } => Err(Corrupt(format!("skylight keeps no number under key {key}"))),
        }
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        (self.job, self.stream, self.detector) = (None, None, Detector::default());
        self.cache.recovered();
        self.home.recovered(units)?;
        self.resume(plan);
        if let Some(scratch) = self.home.scratch()
            && self.home.displaced().is_none()
            && self.home.pointer(scratch) > 0
            && self.home.is_writable(scratch)
        {
            plan.reset(self.home.unit(scratch));
        }
        Ok(())
    }

    /// Cursor 0 is the scratch band; the region of logical blocks from `n` on has the cursor `n + 1`.
    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let Some(start) = from.checked_sub(1).map(Lba) else {
            if let (Some(band), Some(scratch)) = (self.home.displaced(), self.home.scratch()) {
                plan.record(self.home.moved(band, scratch));
            }
            return Some(1);
        };
        let end = self.blocks.checkpoint(start, plan);
        (end.0 < self.capacity()).then_some(end.0 + 1)
    }

    fn contents(&self) -> Option<Contents> {
        let scratch = self.home.scratch();
        // Nothing is at home in the scratch band.
        let band = |band: u32| match scratch == Some(band) {
            true => (Extent::new(Lba(0), 0), 0),
            false => (self.home.logical(band), self.home.pointer(band)),
        };
        let bands: Vec<_> = (0..self.home.count()).map(band).collect();
        let mut contents = BufferedBlocks::contents(&self.cache, &bands, |lba| self.home.locate(lba).0);
        scratch.map(|band| contents.remove(band as usize));
        Some(Contents::Zones(contents))
    }

    fn check(&self) -> Result<(), Violation> {
        self.home.check()?;
        self.cache.check()?;
        let reserved = self.reserved();
        if self.cache.room(0, reserved) < reserved {
            return Err(Violation(format!("the cache has no room for {reserved} blocks in RAM")));
        }
        self.blocks.check(&self.cache)
    }
}
