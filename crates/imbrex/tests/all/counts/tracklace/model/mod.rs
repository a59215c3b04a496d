//! What the layer does, block by block.

mod cleaning;

use std::collections::BTreeMap;

use imbrex::random::Random;
use imbrex::tracks::Tracks;

use super::disk::{Disk, Place, is_bottom};
use super::frames::{Frame, Slot};
use super::settings::Settings;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub host: u64,
    pub updates: u64,
    pub rewritten: u64,
    pub hits: u64,
    pub hot_hits: u64,
    pub direct: u64,
    pub collected: u64,
    pub destaged: u64,
    pub evicted: u64,
    pub swap_reads: u64,
    pub swap_writes: u64,
}

#[derive(Clone, Debug)]
struct Pair {
    hot: u64,
    cold: u64,
    written: u64,
    /// Writes of the hot block, and in which turns of its log.
    weight: u32,
    turn: u32,
    cold_writes: u32,
}

impl Pair {
    fn weight(&self, turn: u32) -> u32 {
        if turn - self.turn > 31 { 0 } else { self.weight >> (turn - self.turn) }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Lies {
    Home,
    Buffered,
    Hot(usize),
    Cold(usize),
}

pub struct Model {
    set: Settings,
    disk: Disk,
    frames: Vec<Frame>,
    width: u32,
    budget: usize,
    most_pairs: usize,
    pairs: Vec<Pair>,
    /// The places of buffered blocks.
    buffered: BTreeMap<u64, Place>,
    random: Random,
    clock: u64,
    begins: u64,
    pub counts: Counts,
}

impl Model {
    pub fn new(tracks: Tracks, set: Settings) -> Self {
        let mut disk = Disk::new(tracks, set.phases, set.zig_zag, set.utilisation);
        if !set.unwritten {
            disk.nothing.extend(0..disk.homes.len() as u64);
        }
        let least = (set.least as f64 * 100.0 / disk.blocks() as f64).min(25.0);
        let percent = if set.percent > 0.0 { set.percent.max(least) } else { 0.0 };
        let part = disk.blocks() as f64 * percent / 100.0;
        let budget = part as usize;
        let may_swap = set.swap && ((disk.blocks() - disk.homes.len() as u64) as f64) < part;
        let most = budget / tracks.top_blocks as usize;
        let frames = Frame::all(&disk, set.frame_tracks, most, may_swap.then_some(percent));
        let real = frames.iter().filter(|frame| !frame.is_virtual).map(|frame| frame.most);
        let slots = real.sum::<usize>() * tracks.top_blocks as usize;
        let most_pairs = if may_swap { budget.saturating_sub(slots) / 2 } else { 0 };
        let all = tracks.groups * (tracks.bottom_tracks + tracks.top_tracks);
        let width = if set.frame_tracks == 0 { all } else { set.frame_tracks.min(all) };
        let random = Random::new(set.seed);
        let (pairs, buffered, counts) = (Vec::new(), BTreeMap::new(), Counts::default());
        Self { set, disk, frames, width, budget, most_pairs, pairs, buffered, random, clock: 0, begins: 0, counts }
    }

    fn frame(&self, lba: u64) -> usize {
        (self.disk.number(self.disk.home(lba).0) / self.width) as usize
    }

    fn lies(&self, lba: u64) -> Lies {
        if self.buffered.contains_key(&lba) {
            return Lies::Buffered;
        }
        match self.pairs.iter().position(|pair| pair.hot == lba || pair.cold == lba) {
            Some(pair) if self.pairs[pair].hot == lba => Lies::Hot(pair),
            Some(pair) => Lies::Cold(pair),
            None => Lies::Home,
        }
    }

    fn slots(&self) -> usize {
        self.disk.tracks.top_blocks as usize
    }

    fn entries(&self) -> usize {
        self.buffered.len() + 2 * self.pairs.len()
    }

    /// The blocks of a run that are updated at once.
    fn piece(&self, blocks: u64) -> u64 {
        if self.set.update_blocks == 0 { blocks } else { blocks.min(u64::from(self.set.update_blocks)) }
    }

    /// Counts what a write of blocks of a bottom track brings along.
    fn bring_along(&mut self, (track, block): Place, blocks: u64, except: &[Place]) -> u64 {
        let destroyed = self.disk.destroyed(track, block..block + blocks as u32, except);
        self.counts.rewritten += destroyed;
        self.counts.updates += u64::from(destroyed > 0);
        destroyed
    }

    pub fn write(&mut self, first: u64, blocks: u64) {
        self.clock += 1;
        self.counts.host += blocks;
        let (end, mut lba, mut past) = (first + blocks, first, 0);
        let mut is_admitted = None;
        while lba < end {
            let from = lba;
            lba += match self.lies(lba) {
                Lies::Buffered => self.write_buffered(lba),
                Lies::Hot(pair) => {
                    let turn = self.frames[self.frame(lba)].turns();
                    let of_pair = &mut self.pairs[pair];
                    of_pair.weight = of_pair.weight(turn) + 1;
                    (of_pair.turn, of_pair.written, of_pair.cold_writes) = (turn, self.clock, 0);
                    self.counts.hits += 1;
                    self.counts.hot_hits += 1;
                    1
                }
                Lies::Cold(pair) => self.write_cold(lba..end, pair),
                Lies::Home => {
                    let track = self.disk.home(lba).0;
                    let here = |at: &u64| self.disk.home(*at).0 == track && self.lies(*at) == Lies::Home;
                    let run = (lba..end).take_while(here).count() as u64;
                    if is_bottom(track) {
                        if run == u64::from(self.disk.tracks.bottom_blocks) {
                            past = lba + run;
                        }
                        self.write_bottom(lba, run, lba < past, &mut is_admitted)
                    } else {
                        if self.most_pairs > 0 {
                            let frame = self.frame(lba);
                            self.frames[frame].written(track, self.set.halve_after);
                        }
                        run
                    }
                }
            };
            self.disk.nothing.retain(|written| !(from..lba).contains(written));
        }
    }

    /// Nothing of these blocks is needed any more: those in slots give them up, swapped ones stay where they are.
    pub fn trim(&mut self, first: u64, blocks: u64) {
        if !self.set.trim {
            return;
        }
        for lba in first..first + blocks {
            self.disk.nothing.insert(lba);
            if self.buffered.contains_key(&lba) {
                self.unbuffer(lba);
                let frame = self.frame(lba);
                *self.frames[frame].find(lba).expect("it is buffered").0 = None;
            }
        }
    }

    /// Whether a block that a virtual log has noted is still at home, and something.
    fn is_there(&self, lba: u64) -> bool {
        self.lies(lba) == Lies::Home && !self.disk.nothing.contains(&lba)
    }

    fn write_buffered(&mut self, lba: u64) -> u64 {
        let (frame, slots) = (self.frame(lba), self.slots());
        let has_room = self.frames[frame].room(slots, self.set.watched) > 0;
        if self.set.hits == "append" && !has_room {
            self.clean(frame, false);
            return 0;
        }
        let log = &self.frames[frame];
        let is_half_empty = 2 * log.begun.len() <= log.most;
        let appends = self.set.hits == "append" || (self.set.hits == "room" && is_half_empty && has_room);
        self.counts.hits += 1;
        let of_frame = &mut self.frames[frame];
        of_frame.hits += 1;
        if of_frame.pays(self.set.opens) {
            of_frame.halvings = 0;
        }
        let (found, _) = of_frame.find(lba).expect("it is buffered");
        let slot = found.as_mut().expect("it is held");
        (slot.written, slot.hits) = (self.clock, slot.hits + 1);
        if appends {
            let slot = found.take().expect("it is held");
            let to = of_frame.take(slot, slots, &mut self.begins).expect("a log with places");
            self.disk.holds.remove(&self.buffered[&lba]);
            self.disk.holds.insert(to, lba);
            self.buffered.insert(lba, to);
        }
        1
    }

    /// Writes cold blocks that lie side by side on a bottom track; how many.
    fn write_cold(&mut self, rest: std::ops::Range<u64>, pair: usize) -> u64 {
        let (place, top) = (self.disk.home(self.pairs[pair].hot), self.disk.home(rest.start).0);
        let was_written = self.pairs[pair].cold_writes > 0;
        let goes_along = |i: &u64| match self.lies(rest.start + i) {
            Lies::Cold(pair) => {
                self.disk.home(self.pairs[pair].hot) == (place.0, place.1 + *i as u32)
                    && self.disk.home(rest.start + i).0 == top
                    && (self.pairs[pair].cold_writes > 0) == was_written
            }
            _ => false,
        };
        let most = self.piece(rest.end - rest.start);
        let mut run = (0..most).take_while(goes_along).count() as u64;
        let destroyed = self.disk.destroyed(place.0, place.1..place.1 + run as u32, &[]);
        if destroyed > 0 && was_written {
            run = run.min(self.most_swapped() as u64);
            self.swap_back(pair, run as usize);
            self.counts.swap_reads -= run;
            self.counts.swap_writes -= run;
            return run;
        }
        let cold = rest.start..rest.start + run;
        self.pairs.iter_mut().filter(|pair| cold.contains(&pair.cold)).for_each(|pair| pair.cold_writes += 1);
        self.bring_along(place, run, &[]);
        run
    }

    fn most_swapped(&self) -> usize {
        let longest = self.piece(u64::from(self.disk.tracks.bottom_blocks)) as usize;
        (longest / 2).max(1).min(self.slots())
    }

    fn write_bottom(&mut self, lba: u64, run: u64, is_past: bool, is_admitted: &mut Option<bool>) -> u64 {
        let (place, frame, slots) = (self.disk.home(lba), self.frame(lba), self.slots());
        if self.disk.destroyed(place.0, place.1..place.1 + run as u32, &[]) == 0 {
            return run;
        }
        let of_frame = &mut self.frames[frame];
        let can_buffer = !is_past && !of_frame.is_virtual && of_frame.most > 0;
        if can_buffer && *is_admitted.get_or_insert_with(|| of_frame.admits()) {
            let left = self.budget - self.entries();
            let taken = (run as usize).min(left).min(self.frames[frame].room(slots, self.set.watched)) as u64;
            if taken == 0 {
                self.clean(frame, left == 0);
            }
            (lba..lba + taken).for_each(|lba| self.buffer(lba, frame));
            return taken;
        }
        let mut piece = self.piece(run);
        if !is_past && self.frames[frame].is_virtual && self.most_pairs > 0 {
            piece = (lba..lba + piece).take_while(|lba| self.note(*lba, frame)).count() as u64;
            if piece == 0 {
                self.clean(frame, false);
                return 0;
            }
        }
        self.bring_along(place, piece, &[]);
        self.counts.direct += piece;
        piece
    }

    fn buffer(&mut self, lba: u64, frame: usize) {
        let (slot, slots) = (Slot { lba, written: self.clock, hits: 0 }, self.slots());
        self.frames[frame].let_in += 1;
        let place = self.frames[frame].take(slot, slots, &mut self.begins).expect("a log with places");
        self.disk.holds.insert(place, lba);
        self.buffered.insert(lba, place);
    }

    /// Notes an update in a virtual log, if there is room.
    fn note(&mut self, lba: u64, frame: usize) -> bool {
        let (clock, slots) = (self.clock, self.slots());
        if let Some((Some(slot), _)) = self.frames[frame].find(lba) {
            (slot.written, slot.hits) = (clock, slot.hits + 1);
            return true;
        }
        if self.frames[frame].room(slots, self.set.watched) == 0 {
            return false;
        }
        self.frames[frame].take(Slot { lba, written: clock, hits: 0 }, slots, &mut self.begins);
        true
    }
}
