//! What the layers over bands that are logs have in common: everything is appended to bands, and bands are compacted.
//!
//! Source: the band compaction of Jones, Amer, Miller, Long, Pitchumani and Strong, "Classifying Data to Reduce
//! Long-Term Data Movement in Shingled Write Disks" (ACM TOS 12(1), 2016), §§3–5, whose baseline Empty is greedy;
//! cost–benefit is that of the log-structured file system, which the paper names as a comparison. A band is a
//! sequential zone. No block has a native place: the full map says where each lies. When no band takes more, the bands
//! with the best score are compacted: their live blocks are read and appended to a spare band, and the bands are reset.
//!
//! The layers differ in the score, by which the best band to compact is chosen, and in a few fields: `log_greedy`,
//! `log_fifo`, `log_cost_benefit`, `log_choices`, `log_lifetimes`, `cold_weight`, `tuned_weight` and `sepbit`, beside
//! this folder.
//!
//! # State
//! - durable: where each block lies ([`Record::Map`]), what is lost; during a compaction its victims and the bands that
//!   hold copies ([`Record::Unit`]), and which blocks these are copies of;
//! - soft: heat (overwrites since the block was last compacted), the time of each block's last write, lives of
//!   blocks and bands, the miniatures, the order of candidates, how far the draws have come, the open bands. After a crash all
//!   blocks are cold and as old as the epoch, no band is of a stream, miniatures hold blocks in the order in which
//!   blocks lie, bands count as closed in the order of their numbers, the draws begin anew with the same seed, and the
//!   bands begun with the most room are the open ones;
//! - in RAM only: the write buffer, if there is one (`buffer_bands`).
//!
//! # Invariants
//! - a band's live count is the number of blocks that the map puts there; each lies below the band's pointer;
//! - no live block of a band is younger than the band is said to be, and the times of all sum up to what is said;
//! - the host's blocks open an empty band only if `spare_bands` others stay empty;
//! - a stream has at most one band that the host writes and one that compaction writes;
//! - as many hot blocks live on each band as `cold-weight` counts there;
//! - closed bands, and only they, are candidates; a copy does not count until its band becomes data.
//!
//! # Compaction and crashes
//! A copy that is recorded block by block would cost its spare band when the power fails half-way: part of the blocks
//! lie there, the others no longer fit. So copies change no map. The target is recorded as *copying*, the victims as
//! *victims*; each `Map` into a copying band is a note that only counts when one record makes the band *data*: at that
//! moment every copied block that still lies on a victim moves. A crash before finds the victims whole and empties the
//! target; a crash after it finds the target whole. What the host has written or forgotten meanwhile lies on no victim
//! and does not move. A target may have data already, behind which the copies come: then the record says behind how
//! many blocks, and a crash leaves the copies dead. With `spare_bands = 0` the victims are read, reset and written back
//! from RAM in steps that must not be interrupted, as in the paper: the power must not fail.
//!
//! # A part of the map in memory
//! A log that is served may have some pages of its map in memory and the rest on the drive (`cached`). Live blocks are
//! counted in memory, and in records. Copies are then no `Map`s but records of their own, and begin to count a few at a
//! time (`settle`), since all of them may be in more pages than fit. What records say of a page that is not there waits
//! for it (`fold`). The time and the heat of a block are in the page that says where it lies, as long as the epoch lasts;
//! of each band there is in memory how many hot blocks live there, how old its live blocks are in all, and to which few
//! slices of time they belong (`slices`). So no band is looked through: its youngest block is one of the last slice, which
//! may have gone. `oracle` has no such cache, since an epoch does not know on which bands the blocks are that are known to
//! be hot. Nor has a log without spare bands, which is not served, or with a write buffer: which of its blocks leave next
//! depends on the heat of all, and each lands alone, so that its page would be read twice, and a flush would need pages.
//!
//! # Space
//! The host's capacity is that share of all bands that `spare_fraction` leaves, and at most all but the spare bands and
//! one block. So `spare_bands` bands are permanently reserved out of the spare fraction; the rest of it is dead blocks.
//!
//! # Decisions where the paper is silent
//! - *Spare bands* (`spare_bands`): the paper has none. With them, as many of the best `compact_bands` bands are
//!   compacted together as fit the empty ones among the spare bands with their live blocks, but at least one.
//! - *Write buffer* (`buffer_bands`, `buffered_heat`): the paper's two bands of RAM. When it is full, the more numerous
//!   of hot blocks (overwritten since they were last compacted) and cold ones is written (`buffer_tie` of as many), hot
//!   ones hottest first, cold ones in order of arrival, until the active band is full or there are no more of them. By
//!   default there is none, as in every other layer: a write is complete when it is on the disk.
//! - *The older copy of a block in the buffer* (`buffer_volatile`): it stays live until the block lands, since a power
//!   cut would need it; where the buffer outlives the power, as the paper's has to, it is dead at once and never
//!   compacted.
//! - *Moved blocks* (`sequence`): written as they lay, or hottest first as in the paper, which with the same blocks in
//!   the same bands moves no more but reads them apart later. The host goes on in the last band written.
//! - *Reading a victim*: dead stretches of less than [`READ_THROUGH`] blocks between live ones are read along; the head
//!   has to pass them anyway.
//! - *Ties*: the band that came to its number of live blocks first, for large bands to its bucket of the index, unless
//!   greedy's `equal` says otherwise; under cost–benefit the lowest number. An empty band of the lowest number is opened
//!   first.
//! - *Draws* (`choices`, `seed`): each is from all closed bands, also those drawn before for the same victim, as in Van
//!   Houdt's model, where a victim has i live blocks or more with the d-th power of the share of bands that do. It takes
//!   no memory, and where d bands are many of all there are they may still miss the best one. Of equals the first drawn
//!   is taken. When several bands are compacted together, each is drawn for by itself.
//! - *Bands without a dead block* are drawn like others, as in the model, and compacting one gains nothing. Only if the
//!   last victim was such a band and all that are drawn are, the next in the list that has a dead block is taken
//!   instead: so a write waits for a number of compactions that is limited, and not just probably so.
//! - *How many bands*: without spare ones always `compact_bands`, if so many are closed: if fewer have a dead block, others
//!   are taken too, as the paper says that so many are read.
//! - *Bands of cold live blocks alone* may count for more than others with a dead block. With spare bands they are left
//!   alone, since compacting them gains nothing; in the paper's set-up they are compacted, as its large weights ask for,
//!   but one of those compacted together gains something. Which of equals: `equal`.
//! - *Age* (`age`): a band is as old as its youngest live block, and a block keeps the time of its last write when it
//!   is moved. A block that waited in the write buffer was written when it lands. Nothing is added to an age, so until
//!   the host writes, all bands found after a crash are worth the same.
//! - *Streams* (`open_bands`): the paper writes all blocks to one band at a time, and names bands of their own for hot and
//!   cold blocks, and for those that compaction has made cold, as future work (§6). The host writes the open band of a
//!   block's stream, and so does compaction; while the host waits they share it, and else compaction, ahead in idle
//!   time, has one of its own, which the host goes on with. Compaction that finds no empty band for a stream goes on in
//!   another's, and so does the host when compaction can gain nothing.
//! - *Heat* (`hot_from`): in the paper one overwrite makes a block hot, so that one of two writes alone counts as hot.
//! - *Cooling* (`cooling`): the paper resets heat; halving it is decay, its §6 again. `oracle` is for bounds: heat is known.
//! - *Idle time* is not used by default; with `idle_bands`, bands are compacted until that many are empty beside the
//!   spare ones, as long as there are as many dead blocks as a band has. Asked for, that goes on to the end. What is in
//!   the write buffer at the end of a trace stays there unless it is flushed.
//! - *SepBIT* cleans when a share of all blocks is dead; here, as in the whole family, when no band takes more. With a
//!   write buffer, blocks of short lives count as the hot ones.
//! - *Trim* unmaps.

mod ages;
mod append;
mod bands;
mod buffer;
mod cached;
mod cached_map;
mod compact;
mod config;
mod facts;
mod fold;
mod known;
mod lifetimes;
mod lives;
mod map_pages;
mod records;
mod roles;
mod room;
mod score;
mod separation;
mod setting;
mod settle;
mod shares;
mod sharing;
mod slices;
mod temperatures;
mod times;
mod tune;
mod victims;

use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use crate::{ConfigError, LayerInfo};
use bands::{Bands, Streams};
use buffer::WriteBuffer;
use cached::Cached;
use compact::Compaction;
pub(super) use config::{Age, Equal, Fewest, HeatConfig, LogConfig, Weights, wrong};
use imbrex_core::block::{Address, Extent, Lba, Pba, Request};
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    CachedMap, Corrupt, Facts, Freed, MapPages, Pressure, Standing, Step, TranslationLayer, UnitReport, Violation,
    Write,
};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::space::{Space, Zones};
pub(super) use score::{Draw, Score};
use shares::Shares;
use tune::Tuner;

/// Dead stretches shorter than this are read along with the live blocks around them.
const READ_THROUGH: u32 = 64;

/// A log over bands, of which a layer gives the score and the fields.
pub(super) struct LogStructured {
    name: &'static str,
    config: LogConfig,
    heat: HeatConfig,
    step: StepSize,
    bands: Bands,
    /// The bands that take the host's blocks.
    open: Streams,
    /// How many of the last blocks of the host went to each stream.
    shares: Shares,
    buffer: Option<WriteBuffer>,
    compaction: Compaction,
    lost: LostBlocks,
    /// What chooses a setting, where it is not configured.
    tuner: Option<Tuner>,
    /// Where only some pages of the map are in memory.
    cached: Option<Box<Cached>>,
}

/// The paper whose band compaction all of these layers have.
pub(super) const SOURCE: &str = "Jones et al., ACM TOS 12(1), 2016, §§3–5";

impl LogStructured {
    /// The layer called `name`, which compacts the bands that are best by `score`.
    ///
    /// # Errors
    /// [`ConfigError`] names the field or the missing space.
    pub fn new(
        name: &'static str,
        score: Score,
        space: &Space,
        config: LogConfig,
        heat: HeatConfig,
    ) -> Result<Self, ConfigError> {
        let (zones, capacity) = config.fit(name, space)?;
        let mut log = Self::over(name, score, zones, capacity, config, heat);
        if let Some(cache) = space.map_cache {
            log.cache(cache)?;
        }
        // What is reset before it is written again has to be in RAM as a whole.
        if space.spares_ram && !log.without_spare() {
            log.compaction.bound_ram(log.step.most());
        }
        Ok(log)
    }

    /// The layer that `info` describes, which can be set to nothing but what all logs can.
    ///
    /// # Errors
    /// [`ConfigError`] names the field or the missing space.
    pub fn plain(
        info: &LayerInfo,
        score: Score,
        space: &Space,
        table: &toml::Table,
    ) -> Result<Box<dyn TranslationLayer>, ConfigError> {
        let config: LogConfig = info.read(table)?;
        config.check(info.name)?;
        Ok(Box::new(Self::new(info.name, score, space, config, HeatConfig::default())?))
    }

    /// The log, with what it is set to chosen by miniatures that one of `sample` neighbours is written to.
    #[must_use]
    pub fn tuned(mut self, sample: u32) -> Self {
        let tuner = Tuner::new(sample, &self);
        self.bands.set(tuner.in_use());
        self.tuner = Some(tuner);
        self
    }

    /// A log of `capacity` blocks over `zones`, which leave enough.
    fn over(
        name: &'static str,
        score: Score,
        zones: Zones,
        capacity: u64,
        config: LogConfig,
        heat: HeatConfig,
    ) -> Self {
        let band = zones.zone_blocks;
        let roles = (config.spare_bands + config.compact_bands) as usize + separation::MOST_STREAMS;
        Self {
            name,
            bands: Bands::new(zones, score, &config, &heat, roles, capacity),
            open: Streams::default(),
            shares: Shares::new(band),
            buffer: (config.buffer_bands > 0).then(|| WriteBuffer::new(capacity, config.buffer_bands * band)),
            compaction: Compaction::new(config.compact_bands * band),
            lost: LostBlocks::default(),
            step: StepSize::new(config.steps.step_blocks),
            tuner: None,
            cached: None,
            config,
            heat,
        }
    }

    /// Whether victims are reset before their blocks are written again.
    fn without_spare(&self) -> bool {
        self.config.spare_bands == 0
    }

    /// Plans a read of blocks none of which is in the write buffer; the first goes to `host`.
    fn read_bands(&self, at: Extent<Lba>, host: u32, plan: &mut Plan) {
        self.bands.map.plan_read(at, host, &self.lost, self.bands.zones(), plan);
    }
}

impl TranslationLayer for LogStructured {
    fn facts(&self) -> Facts {
        self.all_facts()
    }

    fn capacity(&self) -> u64 {
        self.bands.map.capacity()
    }

    fn standing(&self) -> Standing {
        Standing {
            holds_ram: self.compaction.is_under_way() || self.buffer.as_ref().is_some_and(|buffer| !buffer.is_empty()),
            occupancy: self.occupancy(),
            outlook: self.room_ahead(),
            ..Standing::default()
        }
    }

    fn map_pages(&mut self) -> Option<&mut dyn MapPages> {
        if self.cached.is_some() { None } else { Some(self) }
    }

    fn cached_map(&self) -> Option<&dyn CachedMap> {
        self.cached.as_ref().map(|_| self as &dyn CachedMap)
    }

    fn cached_map_mut(&mut self) -> Option<&mut dyn CachedMap> {
        if self.cached.is_some() { Some(self) } else { None }
    }

    fn prefetch(&self, ahead: &[Request], _below: &mut dyn FnMut(u8, Request)) -> u64 {
        ahead.iter().fold(0, |sum, request| sum ^ self.bands.prefetch(request.at.start))
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let mut next = at.start;
        let host = |lba: Lba| (lba.0 - at.start.0) as u32;
        if let Some(buffer) = &self.buffer {
            let mut hits = 0;
            for (lba, slot) in buffer.range(at) {
                if lba > next {
                    self.read_bands(Extent::between(next, lba), host(next), plan);
                }
                plan.copy(Place::At(Pba::ram(u64::from(slot))), Place::Host(host(lba)), 1, Why::Host);
                hits += 1;
                next = lba.plus(1);
            }
            plan.count(Event::ReadHit, hits);
        }
        if next < at.end() {
            self.read_bands(Extent::between(next, at.end()), host(next), plan);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        let taken = if self.buffer.is_some() { self.write_buffered(at, plan) } else { self.append(at, plan) };
        if let Some(tuner) = &mut self.tuner
            && taken > 0
        {
            tuner.miniatures.wrote(at.first(taken));
        }
        taken
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let at = if self.cached.is_some() { self.trimmable(at) } else { at };
        if let Some(buffer) = &mut self.buffer {
            buffer.forget(at);
        }
        if self.lost.any(at) || self.bands.map.any(at) {
            plan.record(Record::Unmap(at));
        } else if self.cached.is_some() {
            // No page changes without a record.
            return at.blocks;
        }
        // Heat of blocks that were in RAM only is forgotten as well.
        self.unmap(at);
        if let Some(tuner) = &mut self.tuner {
            tuner.miniatures.trimmed(at);
        }
        at.blocks
    }

    fn flush(&mut self, plan: &mut Plan) -> Step {
        self.flush_buffer(plan)
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match why {
            Pressure::Blocked(_) if self.buffer.is_some() => self.drain_buffer(plan),
            Pressure::Blocked(at) => self.make_room(self.waiting_stream(at.start), plan),
            Pressure::Idle { .. } => self.compact_ahead(self.config.idle_bands, plan),
            Pressure::Asked => self.compact_ahead(u32::MAX, plan),
            Pressure::Ahead { room } => self.compact_for_room(room, plan),
        }
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        self.bands.freed(space.start);
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.apply_record(record)
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.begin_life(units, plan)
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        match &self.cached {
            None => self.checkpoint_region(from, plan),
            Some(cached) => self.checkpoint_cached(cached, from, plan),
        }
    }

    fn contents(&self) -> Option<Contents> {
        Some(Contents::Bands(self.bands.contents()))
    }

    fn check(&self) -> Result<(), Violation> {
        self.check_bands()?;
        self.tuner.as_ref().map_or(Ok(()), |tuner| tuner.miniatures.check())?;
        self.buffer.as_ref().map_or(Ok(()), WriteBuffer::check)
    }
}
