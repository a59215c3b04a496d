//! How long blocks will live, inferred from how long they and others did.
//!
//! Of each block it is kept when the host last wrote it, and in which octave the life lay that this ended: its *class*.
//! Of some blocks lives are followed, and give for each class and age a hazard, and from that what is left of a life
//! ([`hazards`]). Blocks of which as much is left, in octaves, share a stream: the host's those of their class, moved
//! ones those of class and age; moved ones that will soon be overwritten are among the host's. Bands are worth compacting
//! by what some of their blocks have left ([`sampled`]).
//!
//! The idea to place blocks by the time at which they die is that of SepBIT (Wang et al., FAST 2022, §3), to weigh what
//! is gained by it that of MDC (Lomet and Luo, "Efficiently Reclaiming Space in a Log Structured Store", ICDE 2021);
//! hazards, the number of streams and the rules for bands are Imbrex's own. The unit of time is a block written by the
//! host.

mod flow;
mod followed;
mod hazards;
mod sampled;
mod strategy;

use super::times::Written;
use crate::parts::full_map::FullMap;
use crate::parts::page_table::{ENTRY, Layout, NONE, PageTable};
use crate::parts::paged_map::PagedMap;
use flow::Flow;
pub(super) use flow::{Instead, Writer, nearest};
use followed::Followed;
use hazards::Hazards;
use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use sampled::Sampled;
pub(super) use strategy::{FIRST_STRATEGY, MOST_STREAMS, STRATEGIES, Strategy, most_streams};
use strategy::{spare, streams};

/// Bits of a time. What was written longer ago than 2^35 blocks of the host seems younger by that: rarely, and seldom.
const TIME_BITS: u32 = 35;
/// Classes of blocks: octaves of lives, and those below.
const CLASSES: u8 = 32;
/// The class of blocks that lived for longest, and of longer lives.
const LONGEST: u8 = TWICE - 1;
/// That of blocks which it has overwritten once. How long they lived before says little: whoever fills a disk writes in an
/// order of its own.
const TWICE: u8 = 29;
/// That of blocks which the host has written once.
const ONCE: u8 = 30;
/// That of blocks which it has not written since the epoch began.
const NEVER: u8 = 31;

/// Octaves of what is left of lives, seen from the capacity: where the first stream of moved blocks begins and the last
/// one ends. Those that have less left are written with the host's, with which they will die.
const OF_MOVED: (f64, f64) = (-3.0, 5.0);

/// What is known of a block: its class, and when it was written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Life(u64);

impl Life {
    const BYTES: usize = ENTRY;
    /// Nothing is known.
    const UNKNOWN: Self = Self(NONE);
    const TIMES: u64 = (1 << TIME_BITS) - 1;

    fn new(class: u8, written: u64) -> Self {
        Self(u64::from(class) << TIME_BITS | written & Self::TIMES)
    }

    #[inline]
    fn class(self) -> u8 {
        (self.0 >> TIME_BITS) as u8
    }

    /// Blocks of which nothing is known are as old as the epoch.
    #[inline]
    fn age(self, now: u64) -> u64 {
        if self == Self::UNKNOWN { now } else { now.wrapping_sub(self.0) & Self::TIMES }
    }

    /// The class that a block has when it is written again.
    #[inline]
    fn next_class(self, now: u64) -> u8 {
        match self.class() {
            NEVER => ONCE,
            ONCE => TWICE,
            _ => hazards::octave(self.age(now)).min(LONGEST),
        }
    }

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let [a, b, c, d, e, ..] = self.0.to_le_bytes();
        [a, b, c, d, e]
    }

    fn from_bytes([a, b, c, d, e]: [u8; Self::BYTES]) -> Self {
        Self(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
    }
}

/// What is known of lives, and what follows from it.
pub(super) struct Lifetimes {
    blocks: PagedMap,
    hazards: Hazards,
    followed: Followed,
    sampled: Sampled,
    flow: Flow,
    capacity: u64,
    /// Its binary logarithm.
    octaves: f64,
    band_blocks: u32,
    /// How many bands are to spare.
    spare_bands: f64,
    strategy: Strategy,
    host: u8,
    moved: u8,
    /// The stream of a block that the host writes, by its class.
    of_host: [u8; CLASSES as usize],
    /// When hazards are forgotten next, and when it is concluded from them.
    forget: u64,
    conclude: u64,
}

impl Lifetimes {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.blocks.memory() + Hazards::memory() + self.followed.memory() + self.sampled.memory()
    }

    /// Nothing is known of `bands` bands of `band_blocks` blocks, of which the host has `capacity`.
    pub fn new(bands: u32, band_blocks: u32, capacity: u64) -> Self {
        let spare = spare(bands, band_blocks, capacity);
        let spare_bands = spare as f64 / f64::from(band_blocks);
        let [strategy, ..] = STRATEGIES;
        let (host, moved) = streams(spare_bands, strategy);
        let mut lifetimes = Self {
            blocks: PagedMap::new(capacity),
            hazards: Hazards::new(),
            followed: Followed::new(capacity),
            sampled: Sampled::new(bands, band_blocks),
            flow: Flow::new(spare),
            capacity,
            octaves: libm::log2(capacity as f64),
            band_blocks,
            spare_bands,
            strategy,
            host,
            moved,
            of_host: [0; CLASSES as usize],
            forget: 0,
            conclude: 0,
        };
        lifetimes.divide_host();
        lifetimes
    }

    /// Bytes that are known of a block.
    pub const ENTRY_BYTES: u32 = ENTRY as u32;

    /// What is known of blocks is in pages, of which at most `most` are in memory.
    pub fn cache(&mut self, layout: Layout, most: u64) {
        self.blocks = PagedMap::cached(layout, most);
    }

    /// The pages, if only some of them are in memory.
    pub fn table(&self) -> Option<&PageTable> {
        self.blocks.table()
    }

    /// The same, to be changed.
    pub fn table_mut(&mut self) -> Option<&mut PageTable> {
        self.blocks.table_mut()
    }

    /// Whether a few numbers say what is known of the blocks from `first` to `end`.
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        self.blocks.is_regular(first, end)
    }

    /// Reads what a write of the block will look up, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.blocks.prefetch(lba.0)
    }

    #[inline]
    fn life(&self, lba: Lba) -> Life {
        Life(self.blocks.get(lba.0))
    }

    /// The stream of what is left of a life, as a binary logarithm, among `streams` of them.
    fn stream(&self, rest: f64, (first, last): (f64, f64), streams: u8) -> u8 {
        let share = (rest - self.octaves - first) / (last - first);
        (share * f64::from(streams)).floor().clamp(0.0, f64::from(streams) - 1.0) as u8
    }

    /// Blocks are divided into streams, and victims chosen, like this from now on.
    pub fn follow(&mut self, strategy: Strategy) {
        if strategy != self.strategy {
            self.strategy = strategy;
            (self.host, self.moved) = streams(self.spare_bands, strategy);
            self.divide_host();
        }
    }

    fn divide_host(&mut self) {
        for class in 0..CLASSES {
            self.of_host[usize::from(class)] =
                self.stream(self.hazards.rest(class, 0), self.strategy.of_host, self.host);
        }
    }

    /// The stream of a block that the host writes at a time.
    #[inline]
    pub fn stream_of_host(&self, lba: Lba, time: u64) -> u8 {
        self.of_host[usize::from(self.life(lba).next_class(time))]
    }

    /// How many blocks at the front of `at` go to the stream of the first when the host writes them one after another:
    /// they are of one class, and as old as it.
    #[inline]
    pub fn alike(&self, at: Extent<Lba>) -> u32 {
        let (life, run) = self.blocks.run(at.start.0, at.blocks);
        // Where times begin anew a run is of two classes.
        if life == NONE || Life(life).class() == Life(life + u64::from(run - 1)).class() { run } else { 1 }
    }

    /// The stream of a block that is moved.
    pub fn stream_of_moved(&self, lba: Lba, now: u64) -> u8 {
        let life = self.life(lba);
        let rest = self.hazards.rest(life.class(), life.age(now));
        if self.moved == 0 || rest - self.octaves < OF_MOVED.0 {
            return self.stream(rest, self.strategy.of_host, self.host);
        }
        self.host + self.stream(rest, OF_MOVED, self.moved)
    }

    /// Whether a stream is one of moved blocks alone.
    pub fn is_of_moved(&self, stream: usize) -> bool {
        stream >= self.host.into() && stream < usize::from(self.host + self.moved)
    }

    /// Blocks are written by a stream.
    #[inline]
    pub fn flowed(&mut self, stream: u8, blocks: u32) {
        self.flow.add(stream, blocks);
    }

    /// A band is empty and will be written.
    pub fn opened(&mut self, band: u32, now: u64) {
        self.sampled.opened(band, now);
    }

    /// A band is written as far as it will be.
    pub fn closed(&mut self, band: u32, now: u64) {
        self.sampled.closed(band, now);
    }

    /// A band is written.
    #[inline]
    pub fn wrote(&mut self, band: u32, now: u64) {
        self.sampled.wrote(band, now);
    }

    /// The blocks of `at` come from where `map` has them to `slot` and behind, on one band.
    #[inline]
    pub fn enter(&mut self, at: Extent<Lba>, map: &FullMap, slot: u64, written: Written, now: u64) {
        self.leave_slots(at, map);
        if let Written::Now = written {
            self.overwrite(at, now);
        }
        let ((band, first), blocks) = (map.locate(slot), &self.blocks);
        self.sampled.came(band, first, at.blocks, |offset| Life(blocks.get(at.start.0 + u64::from(offset - first))));
    }

    /// The blocks of `at` are about to lie nowhere.
    pub fn leave(&mut self, at: Extent<Lba>, map: &FullMap, now: u64) {
        self.leave_slots(at, map);
        map.runs(at, |at, _| {
            self.followed.among(at).for_each(|(_, number)| self.followed.ended(number, now, &mut self.hazards));
            self.blocks.set_run(at.start.0, at.blocks, NONE);
            true
        });
    }

    #[inline]
    fn leave_slots(&mut self, at: Extent<Lba>, map: &FullMap) {
        map.runs(at, |at, slot| {
            let (band, first) = map.locate(slot);
            self.sampled.left(band, first, at.blocks);
            true
        });
    }

    /// How many blocks the host can write before something else may be concluded: what follows does not depend on how
    /// many it writes at a time.
    #[inline]
    pub fn until_concluded(&self, now: u64) -> u64 {
        self.conclude.min(self.forget).min(self.flow.ends()).saturating_sub(now).max(1)
    }

    /// The host has written the blocks of `at`, the last of them now.
    fn overwrite(&mut self, at: Extent<Lba>, now: u64) {
        let first = now + 1 - u64::from(at.blocks);
        let mut done = 0;
        while done < at.blocks {
            let (rest, time) = (at.skip(done), first + u64::from(done));
            let class = self.life(rest.start).next_class(time);
            // Until times begin anew.
            let anew = u32::try_from(Life::TIMES - (time & Life::TIMES)).unwrap_or(u32::MAX).saturating_add(1);
            let run = rest.first(self.alike(rest).min(anew));
            self.live(run, class, time);
            self.blocks.set_run(run.start.0, run.blocks, Life::new(class, time).0);
            done += run.blocks;
        }
    }

    /// The blocks of `at` begin to live as ones of a class, the first of them at a time.
    fn live(&mut self, at: Extent<Lba>, class: u8, time: u64) {
        let mut done = 0;
        while done < at.blocks {
            let (rest, time) = (at.skip(done), time + u64::from(done));
            // Up to the block after which something may be concluded.
            let quiet = self.passes_quietly_before().max(time) - time + 1;
            let part = rest.first(u32::try_from(quiet).unwrap_or(u32::MAX));
            for (lba, number) in self.followed.among(part) {
                let time = time + lba.since(part.start);
                self.followed.ended(number, time, &mut self.hazards);
                self.followed.begun(number, class, time);
            }
            self.pass(time + u64::from(part.blocks) - 1);
            done += part.blocks;
        }
    }

    /// The first time at which something follows from what passed.
    fn passes_quietly_before(&self) -> u64 {
        self.followed.rests_before().min(self.flow.ends()).min(self.forget).min(self.conclude)
    }

    /// The host has written until now, and nothing followed from what it wrote before.
    #[inline]
    fn pass(&mut self, now: u64) {
        self.followed.pass(now, &mut self.hazards);
        self.flow.pass(now);
        if now >= self.forget {
            self.forget = now + (self.capacity / 8).max(1);
            self.hazards.forget();
        }
        if now >= self.conclude {
            // Seldom on a large disk, and often at first.
            self.conclude = now + (self.capacity / 64).max(2048).min((now / 4).max(64));
            self.hazards.conclude(now);
            self.divide_host();
        }
    }

    /// What a stream writes to that has no open band: one of the `open` ones, of which stream and band are given, if it
    /// should not begin another. What it says of several blocks is what it would say before each of them.
    pub fn instead(
        &self,
        stream: u8,
        writer: Writer,
        open: impl Iterator<Item = (usize, u32)> + Clone,
        now: u64,
    ) -> Option<Instead> {
        let until_taken = |band: u32| (self.flow.rest() + 1).saturating_sub(self.sampled.rested(band, now));
        let resting = open.clone().filter(|(_, band)| until_taken(*band) == 0);
        if let Some(other) = nearest(stream, resting.map(|(other, _)| other)) {
            return Some(Instead::TakeOver(other));
        }
        let slow = self.flow.slow_for(stream, now, self.band_blocks, writer);
        let with = nearest(stream, open.clone().map(|(other, _)| other)).filter(|_| slow > 0)?;
        let others = open.filter(|(other, _)| writer == Writer::Host && *other != with);
        let blocks = others.map(|(_, band)| until_taken(band)).fold(slow, u64::min);
        Some(Instead::Share { with, blocks: u32::try_from(blocks).unwrap_or(u32::MAX) })
    }

    /// Looks at closed bands, of which number and live blocks are given, before they are compared.
    pub fn look(&mut self, closed: impl Iterator<Item = (u32, u32)>, now: u64) {
        closed.for_each(|(band, live)| self.sampled.look(band, live, &self.hazards, now));
    }

    /// What compacting a closed band is worth that has just been looked at.
    pub fn worth(&self, band: u32, live: u32, now: u64) -> f64 {
        self.sampled.worth(band, live, self.strategy.foresight, now)
    }

    /// Verifies that what is noted of slots is what is known of the blocks that lie there.
    pub fn check(&self, map: &FullMap) -> Result<(), Violation> {
        if map.is_cached() {
            return Ok(());
        }
        self.sampled.check(|band, slot| map.owner(map.place(band, slot)).map(|lba| self.life(lba)))
    }
}
