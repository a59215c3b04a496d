//! The persistent cache of a drive-managed disk: when the disk cleans it, how much it holds, and where it lies.
//!
//! Source: Aghayev and Desnoyers, "Skylight: A Window on Shingled Disk Operation" (FAST 2015). Writes go to the cache
//! until that is full, and then each write that finds no room waits for a band. In idle time the disk empties it, which
//! shows in the arm: after a rest it is not where the last read left it.

use imbrex::random::Random;
use serde::Serialize;

use crate::course::{Course, median};
use crate::disk::{Disk, ProbeError};
use crate::reads::Reads;

/// Rests after which it is looked whether the arm has moved, in ns.
const SHORTEST_REST: u64 = 1 << 26;
const LONGEST_REST: u64 = 1 << 36;
/// Blocks that are tried for that, and the parts of a turn after which they are read again.
const BLOCKS_WATCHED: u64 = 16;
const PARTS: u64 = 16;
/// Rests in a row without a movement, after which the cache is taken to be empty.
const QUIET: u32 = 4;
/// How long the disk may take to empty its cache, in ns: a week.
const LONGEST_EMPTYING: u64 = 7 * 86_400 * 1_000_000_000;
/// Writes whose times are those of a cache that is not full.
const FIRST: u64 = 64;
/// Blocks of a long write.
const RUN: u32 = 64;
/// The most single blocks that are written to fill a map of extents.
const MOST_SINGLE: u64 = 1 << 20;
/// Long writes that a cache has to take, or else shorter ones are tried. A part of the last one may have fitted.
const LEAST_RUNS: u64 = 24;
/// Waits that are enough if they are regular, and if they are not.
const REGULAR: usize = 6;
const RATHER_MANY: usize = 8;
/// How often the cache is filled to find its size, if it is not certain.
const FILLINGS: u32 = 5;
/// How much longer such a filling is than what the first one may have found.
const LONGER: usize = 64;
/// Positions from which a cached block is read.
const FROM: u32 = 9;
/// Reads from each of them.
const PAIRS: u32 = 96;

/// The cache of a drive-managed disk. What could not be found out is left out.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cache {
    /// Bytes that it holds.
    pub bytes: Option<u64>,
    /// Extents that its map holds, if they run out before its blocks do.
    pub extents: Option<u64>,
    /// How long the disk is idle before it cleans, in ms.
    pub idle_ms: Option<f64>,
    /// From which share of the disk's addresses a block in the cache is reached soonest.
    pub near: Option<f64>,
}

/// A disk whose writes go to a cache.
pub(crate) struct Cached<'d> {
    pub disk: &'d mut dyn Disk,
    pub random: Random,
    /// Blocks that are written to: none of them is near the last one, which is read to see where the arm is.
    pub room: u64,
    turn_ns: u64,
    /// A short way of the arm.
    step_ns: u64,
    idle_ns: Option<u64>,
    /// The block that is read to see whether the arm has moved.
    watched: u64,
}

impl<'d> Cached<'d> {
    pub(crate) fn new(disk: &'d mut dyn Disk, reads: &Reads) -> Self {
        let room = disk.facts().blocks() / 8 * 7;
        let turn_ns = (reads.turn_ms.unwrap_or(reads.longest_ms) * 1e6) as u64;
        let step_ns = reads.seeks.get(1).map_or(0, |seek| (seek.ms * 1e6) as u64);
        let watched = disk.facts().blocks() - 1;
        // Other places than those that were read.
        let random = Random::new(disk.seed().wrapping_add(4));
        Self { disk, random, room, turn_ns, step_ns, idle_ns: None, watched }
    }

    /// Chooses a block that shows whether the arm has moved: one that lies on two tracks does not, since the arm is on
    /// the second when the block has been read.
    fn choose_watched(&mut self) -> Result<(), ProbeError> {
        let last = self.disk.facts().blocks() - 1;
        for back in 0..BLOCKS_WATCHED {
            self.watched = last - back;
            let mut is_still = true;
            for part in 1..=PARTS {
                is_still &= !self.moves_in(self.turn_ns * part / PARTS)?;
            }
            if is_still {
                return Ok(());
            }
        }
        // A disk that cleans at once; it will be seen to.
        self.watched = last;
        Ok(())
    }

    /// Whether the arm has moved in a rest: reading the block again that it was left at takes no seek then.
    fn moves_in(&mut self, rest_ns: u64) -> Result<bool, ProbeError> {
        self.disk.read(self.watched, 1)?;
        self.disk.read(self.watched, 1)?;
        self.disk.rest(rest_ns)?;
        Ok(self.disk.read(self.watched, 1)? > self.turn_ns + self.turn_ns / 16)
    }

    /// How long the disk is idle before it cleans.
    pub(crate) fn find_idle(&mut self, course: &mut Course<'_>) -> Result<Option<f64>, ProbeError> {
        self.choose_watched()?;
        let (mut shorter, mut rest) = (0, SHORTEST_REST);
        while !self.cleans_in(rest)? {
            if rest >= LONGEST_REST {
                return Ok(None);
            }
            (shorter, rest) = (rest, rest * 2);
            course.reach(0.3)?;
        }
        loop {
            // A band whose cleaning was interrupted goes on at once in the next rest.
            self.idle_ns = Some(rest);
            self.empty(course)?;
            if rest - shorter <= rest / 32 {
                break;
            }
            let mut between = shorter.midpoint(rest);
            while !self.cleans_in(between)? && rest - between > rest / 32 {
                (shorter, between) = (between, between.midpoint(rest));
                course.reach(0.4)?;
            }
            rest = between;
        }
        Ok(Some(rest as f64 / 1e6))
    }

    /// Whether the disk begins to clean within a rest, with something to clean.
    fn cleans_in(&mut self, rest_ns: u64) -> Result<bool, ProbeError> {
        for _ in 0..3 {
            for _ in 0..4 {
                let at = self.random.below(self.room / 2);
                self.disk.write(at, 1)?;
            }
            if self.moves_in(rest_ns)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Has the disk empty its cache; false if it has not after a week.
    pub(crate) fn empty(&mut self, course: &mut Course<'_>) -> Result<bool, ProbeError> {
        let Some(idle_ns) = self.idle_ns else { return Ok(false) };
        let begun = self.disk.clock_ns();
        let mut quiet = 0;
        // A rest of this length begins cleaning, if there is anything to clean.
        let look = idle_ns * 2;
        while quiet < QUIET {
            quiet = if self.moves_in(look)? { 0 } else { quiet + 1 };
            let passed = self.disk.clock_ns() - begun;
            if passed > LONGEST_EMPTYING {
                return Ok(false);
            }
            if quiet == 0 {
                // Few looks: each keeps the disk from cleaning until it has been idle again.
                self.disk.rest((passed / 4).max(look * 4))?;
            }
            course.reach(0.0)?;
        }
        Ok(true)
    }

    /// How many writes of `run` blocks the empty cache takes, written at `places` in turn. What is not certain after the
    /// first filling must not be in a much longer one, and be found there again. Nothing if the places run out, or the
    /// cache does not become empty.
    fn takes(
        &mut self,
        run: u32,
        places: impl Iterator<Item = u64> + Clone,
        course: &mut Course<'_>,
    ) -> Result<Option<u64>, ProbeError> {
        let (mut before, mut most) = (Vec::new(), usize::MAX);
        for filling in 0..FILLINGS {
            if !self.empty(course)? {
                break;
            }
            let places = places.clone().take(most);
            let found = match self.fill(run, places, filling == 0, course)? {
                Filled::Certain(writes) => return Ok(Some(writes)),
                Filled::Perhaps(found) => found,
            };
            let is_known = |writes: &u64| before.iter().any(|seen: &u64| seen.abs_diff(*writes) * 50 <= *writes);
            if let Some(again) = found.iter().copied().find(is_known) {
                return Ok(Some(again));
            }
            let Some(first) = found.first() else { break };
            most = most.min(*first as usize * LONGER);
            before = found;
        }
        Ok(None)
    }

    /// Writes until it is certain that the cache is full; or, if `once`, until that may be so.
    fn fill(
        &mut self,
        blocks: u32,
        places: impl Iterator<Item = u64>,
        once: bool,
        course: &mut Course<'_>,
    ) -> Result<Filled, ProbeError> {
        let (mut usual, mut waits, mut first, mut perhaps) = (0, Vec::new(), 0, Vec::new());
        for (done, at) in (0_u64..).zip(places) {
            let ns = self.disk.write(at, blocks)?;
            if (1..FIRST).contains(&done) && ns < 4 * self.turn_ns {
                usual = usual.max(ns);
            } else if done > 0 && ns > self.stall_ns(usual) {
                waits.push(done);
                let Some(full) = Full::of(&waits, &mut first) else { continue };
                if full.certain {
                    return Ok(Filled::Certain(full.writes));
                }
                perhaps.push(full.writes);
                first += 1;
                if once {
                    break;
                }
            }
            if done.is_multiple_of(1024) {
                course.grow(done, 1 << 17)?;
            }
        }
        Ok(Filled::Perhaps(perhaps))
    }

    /// What a write takes at least that waits for a band, which the arm has to go to and come back from. At the end of
    /// the cache a write takes a short way and a turn.
    fn stall_ns(&self, usual: u64) -> u64 {
        self.turn_ns / 2 * 3 + self.step_ns + 2 * usual
    }

    /// How many blocks the cache holds, and how many extents its map does, if these run out first.
    pub(crate) fn find_size(&mut self, course: &mut Course<'_>) -> Result<(Option<u64>, Option<u64>), ProbeError> {
        let mut run = RUN;
        let runs = loop {
            let step = u64::from(run) + 1;
            match self.takes(run, (0..self.room - step).step_by(step as usize), course)? {
                // The share of a write that did not fit is too large.
                Some(few) if few < LEAST_RUNS && run > 2 => {
                    run = (u64::from(run) * few / (2 * LEAST_RUNS)).max(2) as u32;
                }
                runs => break runs,
            }
        };
        let Some(runs) = runs else { return Ok((None, None)) };
        // On average half of the write that had to wait would have fitted.
        let in_runs = (2 * runs + 1) * u64::from(run) / 2;
        let most = MOST_SINGLE.min(in_runs * (RATHER_MANY as u64 + 2)).min(self.room);
        let single = self.takes(1, (0..most).map(|number| apart(number, most)), course)?;
        Ok(match single {
            // As many writes, whatever their length: only the map is ever full.
            Some(single) if single * 10 < runs * 11 => (None, Some(single)),
            Some(single) if single * 10 < in_runs * 9 => (Some(in_runs), Some(single)),
            Some(single) => (Some(single), None),
            None => (Some(in_runs), None),
        })
    }

    /// From which share of the addresses a block that was just written is reached soonest.
    pub(crate) fn find_place(&mut self, course: &mut Course<'_>) -> Result<Option<f64>, ProbeError> {
        let block = self.random.below(self.room);
        self.disk.write(block, 1)?;
        let all = self.disk.facts().blocks();
        let span = (all / 64).max(1);
        let mut best: Option<(u64, f64)> = None;
        for from in 0..FROM {
            let share = f64::from(from) / f64::from(FROM - 1);
            let mut times = Vec::new();
            for _ in 0..PAIRS {
                let near = ((all - span) as f64 * share) as u64;
                let at = near + self.random.below(span);
                self.disk.read(at, 1)?;
                times.push(self.disk.read(block, 1)?);
            }
            let usual = median(&mut times);
            if best.is_none_or(|(ns, _)| usual < ns) {
                best = Some((usual, share));
            }
            course.reach(0.5)?;
        }
        // A disk that answers from memory says nothing.
        Ok(best.filter(|(ns, _)| *ns > self.turn_ns / 1000).map(|(_, share)| share))
    }

    /// Writes a block at each place, and says which of them waited and for how long.
    pub(crate) fn waits(
        &mut self,
        places: &mut dyn Iterator<Item = u64>,
        course: &mut Course<'_>,
    ) -> Result<Vec<(u64, u64)>, ProbeError> {
        let (mut times, mut waits) = (Vec::new(), Vec::new());
        for (number, at) in (0..).zip(places) {
            let ns = self.disk.write(at, 1)?;
            if number < FIRST {
                times.push(ns);
            } else if ns > self.stall_ns(median(&mut times)) {
                waits.push((number, ns));
            }
            if number.is_multiple_of(1024) {
                course.grow(number, 1 << 17)?;
            }
        }
        Ok(waits)
    }
}

/// The block that is written as number `number` of `all`, none of which goes on from the one before: those with even
/// numbers, and then the others.
pub(crate) fn apart(number: u64, all: u64) -> u64 {
    let even = all.div_ceil(2);
    if number < even { 2 * number } else { 2 * (number - even) + 1 }
}

/// How many writes a cache took.
enum Filled {
    Certain(u64),
    /// One of these, if any.
    Perhaps(Vec<u64>),
}

/// A cache that is full: writes in the order of their addresses wait for band after band.
pub(crate) struct Full {
    /// Writes that it took.
    pub writes: u64,
    /// Whether the waits are as regular as the disk alone makes them.
    pub certain: bool,
}

impl Full {
    /// What the waits so far say, by the numbers of the writes that waited.
    ///
    /// Where bands are short, each wait comes after as many writes as a band has cached blocks. Where a band is as long
    /// as the cache or nearly so, that many are seldom the same twice, but never more than the cache takes. Waits that
    /// the disk made for another reason are neither regular nor of such a rate. What is not certain begins at the wait of
    /// number `first` or a later one.
    pub(crate) fn of(waits: &[u64], first: &mut usize) -> Option<Self> {
        let gap = |pair: &[u64]| pair[1] - pair[0];
        let is_like = |one: u64, other: u64| one.abs_diff(other) <= one.max(other) / 5 + 2;
        if let Some(last) = waits.last_chunk::<REGULAR>() {
            let gaps: Vec<u64> = last.windows(2).map(gap).collect();
            let usual = gaps[1];
            // The first band may have fewer cached blocks.
            if gaps[1..].iter().all(|gap| is_like(*gap, usual)) && gaps[0] <= usual + usual / 5 + 2 {
                let of_others = |pair: &[u64]| gap(pair) > usual + usual / 5 + 2;
                let begin = waits.windows(2).rposition(of_others).map_or(0, |at| at + 1);
                // Where waits were about as many before, bands are long, and these are regular by chance.
                if waits[begin] - waits[0] >= 2 * usual * begin as u64 {
                    return Some(Self { writes: waits[begin], certain: true });
                }
            }
        }
        while let Some(writes) = waits.get(*first).copied()
            && let Some(at) = waits[*first..].windows(2).rposition(|pair| gap(pair) > writes + writes / 20 + 2)
        {
            *first += at + 1;
        }
        (waits.len() >= *first + RATHER_MANY).then(|| Self { writes: waits[*first], certain: false })
    }
}
