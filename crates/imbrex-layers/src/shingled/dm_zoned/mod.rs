//! `dm-zoned`: the device-mapper target of the Linux kernel, versions 5.9 to 6.x.
//!
//! Source: `drivers/md/dm-zoned-{target,metadata,reclaim}.c` of the kernel and what it does under test; the words and
//! the code are our own. The disk is divided into *chunks* as long as its zones. A chunk has a *data zone*,
//! conventional or sequential, and, while that is sequential, perhaps a *buffer zone*, which is conventional. A block
//! has the same offset in its chunk and in its zones, and is valid in at most one of them.
//!
//! # Writes
//! The first write to a chunk gives it a free conventional zone for its data. A write to a conventional data zone is
//! made in place. A write to a sequential one is made there if it begins at the write pointer, else in the buffer zone,
//! which is allocated when it is first needed. What a write or a trim leaves without valid blocks is freed at once.
//!
//! # Reclaim
//! One chunk at a time. The victim is the least recently used conventional *data* zone, else the buffered chunk whose
//! data zone has the most valid blocks; once no reserved zone is left, the least recently used buffered chunk comes
//! before both.
//! - A conventional data zone is copied to a free sequential zone, holes filled with zeros.
//! - If no valid block of the buffer lies before the write pointer of the data zone, it is appended there, holes
//!   filled.
//! - Else the valid blocks of the data zone are copied into the holes of the buffer zone, which becomes the data zone.
//!
//! # State
//! - durable: the zones of each chunk, two validity bits a block, lost blocks (`records.rs`);
//! - soft: write pointers, free lists, recency, the chunk being reclaimed. After a crash zones count as used in the
//!   order of their chunks, as after the kernel has loaded its map.
//!
//! # Invariants
//! - a zone belongs to one chunk in one role, or to none; a buffer zone is conventional and its chunk's data zone is
//!   not;
//! - a block is valid in one zone at most; what is valid in a sequential zone lies before its write pointer;
//! - the map of a chunk switches once all its blocks are copied, by one record; an interrupted job changes no map.
//!
//! # Liveness
//! Zones are as many as chunks and reserved zones together. When all conventional zones are taken and no sequential one
//! is free, then as many chunks are buffered as there are reserved zones, one at least: either its buffer is appended,
//! which frees a conventional zone, or it is merged, which frees a sequential one for the next conventional data zone.
//!
//! # Decisions
//! - *When busy reclaim stops* (`until`). The kernel has an upper threshold (50 %) and compares it, but remembers
//!   nothing between two zones and runs at or below the lower one only (30 %): `low`, which is what the real one does.
//!   With `high` it goes on until the upper one is reached.
//! - *The throttle*. The kernel's is a share of time; a layer has no clock. Here reclaim under way while the host
//!   writes may write `throttle` blocks for every 100 of the host, in steps; as many as the host below half of
//!   `reclaim_low`. Without limit in the gaps between requests and while a write waits for a zone.
//! - *A chunk that is used while it is reclaimed* (`in_use`): the job is given up and what it copied is void
//!   (`give-up`, since 5.8), or the write waits for its end (`wait`, before). Zones it has begun to write are reset; a
//!   write pointer that it moved stays.
//! - *Reads* renew the recency of their chunk's zones and interrupt its reclaim, as in the kernel (`reads_count`).
//! - *Metadata* (`metadata_zones`): the kernel takes two sets of conventional zones for map and bitmaps. They are left
//!   out of the layer's space but not written. With a journal in front of the layer's space they are that journal, and
//!   nothing is left out.
//! - *Reserved zones*: 16, but fewer than there are conventional zones, as the kernel's tool formats a disk.
//! - *A read-only data zone* is never appended to; its chunk is merged into the buffer, and the zone is not used again.

mod chunks;
mod config;
mod recency;
mod reclaim;
mod records;
mod write;
mod zones;

use crate::ConfigError;
use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use imbrex_core::block::{Extent, Lba, Pba, Request};
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, Standing, Step, TranslationLayer, UnitReport, Violation, Write,
};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::space::Space;

pub(crate) use config::INFO;

use chunks::{ChunkMap, Role};
use config::{DmZonedConfig, InUse};
use recency::ZoneRecency;
use reclaim::Job;
use records::owner;
use write::Obstacle;
use zones::{NONE, ZonePool};

struct DmZoned {
    config: DmZonedConfig,
    step: StepSize,
    pool: ZonePool,
    chunks: ChunkMap,
    recency: ZoneRecency,
    lost: LostBlocks,
    job: Option<Job>,
    /// Reclaim goes on although the disk is busy.
    reclaiming: bool,
    /// Hundredths of blocks that reclaim may write before the host writes on.
    credit: u64,
}

impl DmZoned {
    fn new(space: &Space, config: &toml::Table) -> Result<Self, ConfigError> {
        let config = DmZonedConfig::read(config)?;
        let (pool, chunks) = config.divide(space)?;
        let chunks = ChunkMap::new(chunks, pool.zone_blocks());
        let recency = ZoneRecency::new(&pool);
        let (step, lost) = (StepSize::new(config.steps.step_blocks), LostBlocks::default());
        Ok(Self { config, step, pool, chunks, recency, lost, job: None, reclaiming: false, credit: 0 })
    }

    /// The host uses a chunk: its zones are the most recently used ones, and nothing is copied from under it.
    fn used(&mut self, chunk: u32) {
        for zone in Role::BOTH.into_iter().filter_map(|role| self.chunks.zone(chunk, role)) {
            self.recency.renew(&self.pool, zone);
        }
        if let Some(job) = &mut self.job
            && job.chunk == chunk
            && self.config.in_use == InUse::GiveUp
        {
            job.interrupted = true;
        }
    }

    /// Frees zones of the chunk in which nothing is valid: the buffer, and then the data zone.
    fn free_empty(&mut self, chunk: u32, plan: &mut Plan) {
        for role in [Role::Buffer, Role::Data] {
            let Some(zone) = self.chunks.zone(chunk, role) else { continue };
            if self.chunks.weight(chunk, role) > 0 {
                return;
            }
            self.change(Record::Unit { unit: self.pool.unit(zone), is: NONE }, plan);
            self.pool.release(zone, plan);
        }
    }

    /// The blocks of `at` that lie in one chunk, from the front.
    fn piece(&self, at: Extent<Lba>) -> (Extent<Lba>, u32, u32) {
        let (chunk, offset) = self.chunks.chunk_of(at.start);
        (at.first(self.pool.zone_blocks() - offset), chunk, offset)
    }

    /// Where the first blocks of `run`, which lies in a chunk, are to be read, and how many of them.
    fn source(&self, run: Extent<Lba>, chunk: u32, offset: u32) -> (Place, u32) {
        let mut gap = run.blocks;
        for role in Role::BOTH {
            let Some(zone) = self.chunks.zone(chunk, role) else { continue };
            match self.chunks.next_run(chunk, role, offset, run.blocks) {
                Some((first, blocks)) if first == offset => return (Place::At(self.pool.block(zone, offset)), blocks),
                Some((first, _)) => gap = gap.min(first - offset),
                None => {}
            }
        }
        match self.lost.any(run.first(gap)) {
            false => (Place::Zero, gap),
            true if self.lost.any(run.first(1)) => (Place::Lost, 1),
            true => (Place::Zero, 1),
        }
    }
}

impl TranslationLayer for DmZoned {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.pool.memory() + self.chunks.memory() + self.recency.memory(),
            trims_to_zeros: true,
            step_blocks: Some(self.step.most()),
            buffer_blocks: Some(self.pool.occupancy().blocks),
            journal: JournalFacts { records: self.most_records_of_all(), ..JournalFacts::default() },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.chunks.capacity()
    }

    fn standing(&self) -> Standing {
        Standing { occupancy: Some(self.pool.occupancy()), ..Standing::default() }
    }

    fn idle_after_ns(&self) -> u64 {
        if self.is_reclaiming() { 0 } else { self.config.idle_ns() }
    }

    fn prefetch(&self, ahead: &[Request], _below: &mut dyn FnMut(u8, Request)) -> u64 {
        ahead.iter().fold(0, |sum, request| sum ^ self.chunks.prefetch(request.at.start))
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (run, chunk, offset) = self.piece(rest);
            let host = at.blocks - rest.blocks;
            plan.count(Event::ReadHit, self.chunks.count_valid(run, Role::Buffer));
            let mut unread = run;
            while !unread.is_empty() {
                let passed = run.blocks - unread.blocks;
                let (from, blocks) = self.source(unread, chunk, offset + passed);
                plan.copy(from, Place::Host(host + passed), blocks, Why::Host);
                unread = unread.skip(blocks);
            }
            rest = rest.skip(run.blocks);
        }
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        self.locate(at, plan);
        let mut rest = if self.config.reads_count { at } else { at.first(0) };
        while !rest.is_empty() {
            let (run, chunk, _) = self.piece(rest);
            self.used(chunk);
            rest = rest.skip(run.blocks);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        let (run, chunk, offset) = self.piece(at);
        if self.obstacle(chunk, offset).is_some() {
            return 0;
        }
        let role = self.target(chunk, offset);
        let Some(zone) = self.zone_for(chunk, role, plan) else { return 0 };
        self.put(run, role, zone, offset, plan);
        self.used(chunk);
        self.free_empty(chunk, plan);
        self.earn(run.blocks);
        run.blocks
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (run, chunk, _) = self.piece(at);
        self.used(chunk);
        if let Some(job) = self.job.as_mut().filter(|job| job.chunk == chunk) {
            job.interrupted = true;
        }
        if self.chunks.any_valid(run) || self.lost.any(run) {
            self.change(Record::Unmap(run), plan);
            self.free_empty(chunk, plan);
        }
        run.blocks
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match why {
            Pressure::Blocked(at) => {
                let (_, chunk, offset) = self.piece(at);
                match self.obstacle(chunk, offset) {
                    None => Step::Done,
                    Some(Obstacle::Turn) => {
                        self.take_turn(plan);
                        if self.obstacle(chunk, offset).is_none() { Step::Done } else { Step::More }
                    }
                    Some(Obstacle::Reclaimed | Obstacle::NoZone) => self.make_room(plan),
                    Some(Obstacle::BadZone) => Step::Nothing,
                }
            }
            Pressure::Idle { ns } if ns < self.idle_after_ns() => Step::Nothing,
            Pressure::Ahead { .. } => Step::Nothing,
            Pressure::Idle { .. } | Pressure::Asked => self.reclaim_step(plan),
        }
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        self.pool.freed(space);
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.apply_record(record)
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.job = None;
        self.reclaiming = false;
        self.credit = 0;
        self.recency.clear();
        for chunk in 0..self.chunks.len() {
            for zone in Role::BOTH.into_iter().filter_map(|role| self.chunks.zone(chunk, role)) {
                self.recency.push(&self.pool, zone);
            }
        }
        self.pool.recovered(units, plan)
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let next = self.checkpoint_region(Lba(from), plan);
        (next.0 < self.capacity()).then_some(next.0)
    }

    fn contents(&self) -> Option<Contents> {
        Some(Contents::Zones((0..self.chunks.len()).map(|chunk| self.chunks.content(chunk)).collect()))
    }

    fn check(&self) -> Result<(), Violation> {
        self.chunks.check()?;
        self.pool.check()?;
        self.check_zones()
    }
}

impl DmZoned {
    /// Checks that zones and chunks agree on which belongs to which.
    fn check_zones(&self) -> Result<(), Violation> {
        let mut linked = 0;
        for chunk in 0..self.chunks.len() {
            let zones = Role::BOTH.map(|role| self.chunks.zone(chunk, role));
            for role in Role::BOTH {
                let Some(zone) = zones[role as usize] else { continue };
                linked += 1;
                if self.pool.owner(zone) != owner(chunk, role) {
                    return Err(Violation(format!("zone {zone} does not know that it is chunk {chunk}'s {role:?}")));
                }
            }
            let conventional = zones.map(|zone| zone.map(|zone| self.pool.is_conventional(zone)));
            if !matches!(conventional, [_, None] | [Some(false), Some(true)]) {
                return Err(Violation(format!(
                    "chunk {chunk} has the zones {zones:?}, conventional: {conventional:?}"
                )));
            }
            let behind = zones[0]
                .filter(|&data| !self.pool.is_conventional(data))
                .and_then(|data| self.chunks.next_run(chunk, Role::Data, self.pool.pointer(data), 1));
            if let Some((offset, _)) = behind {
                return Err(Violation(format!("block {offset} of chunk {chunk} is valid behind the write pointer")));
            }
        }
        let owned = (0..self.pool.len()).filter(|&zone| self.pool.owner(zone) != NONE).count() as u32;
        if owned != linked || self.recency.len() != linked {
            return Err(Violation(format!(
                "{owned} zones are owned, {linked} linked, {} by recency",
                self.recency.len()
            )));
        }
        Ok(())
    }
}
