//! What the layer does, block by block.

use std::collections::BTreeMap;

use imbrex::parts::random::Random;
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
        let disk = Disk::new(tracks, set.phases, set.zig_zag, set.utilisation);
        let part = disk.blocks() as f64 * set.percent / 100.0;
        let budget = part as usize;
        let may_swap = set.swap && ((disk.blocks() - disk.homes.len() as u64) as f64) < part;
        let most = budget / tracks.top_blocks as usize;
        let frames = Frame::all(&disk, set.frame_tracks, most, may_swap.then_some(set.percent));
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
                Lies::Cold(pair) => self.write_cold(pair),
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
                            self.frames[frame].written(track);
                        }
                        run
                    }
                }
            };
        }
    }

    fn write_buffered(&mut self, lba: u64) -> u64 {
        let (frame, slots) = (self.frame(lba), self.slots());
        if self.set.append && self.frames[frame].room(slots) == 0 {
            self.clean(frame, false);
            return 0;
        }
        self.counts.hits += 1;
        let of_frame = &mut self.frames[frame];
        (of_frame.halvings, of_frame.is_hit) = (0, true);
        let (found, _) = of_frame.find(lba).expect("it is buffered");
        let slot = found.as_mut().expect("it is held");
        (slot.written, slot.hits) = (self.clock, slot.hits + 1);
        if self.set.append {
            let slot = found.take().expect("it is held");
            let to = of_frame.take(slot, slots, &mut self.begins).expect("a log with places");
            self.disk.holds.remove(&self.buffered[&lba]);
            self.disk.holds.insert(to, lba);
            self.buffered.insert(lba, to);
        }
        1
    }

    fn write_cold(&mut self, pair: usize) -> u64 {
        let place = self.disk.home(self.pairs[pair].hot);
        self.pairs[pair].cold_writes += 1;
        let destroyed = self.disk.destroyed(place.0, place.1..place.1 + 1, &[]);
        if destroyed > 0 && self.pairs[pair].cold_writes >= 2 {
            self.swap_back(pair);
            self.counts.swap_reads -= 1;
            self.counts.swap_writes -= 1;
        } else {
            self.bring_along(place, 1, &[]);
        }
        1
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
            let taken = (run as usize).min(left).min(self.frames[frame].room(slots)) as u64;
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
        if self.frames[frame].room(slots) == 0 {
            return false;
        }
        self.frames[frame].take(Slot { lba, written: clock, hits: 0 }, slots, &mut self.begins);
        true
    }

    /// Cleans a track, of the frame if it has one; without entries, for nothing else than these.
    fn clean(&mut self, frame: usize, needs_entry: bool) {
        let mut frame = frame;
        loop {
            if self.frames[frame].begun.is_empty() {
                let real = (0..self.frames.len()).filter(|&f| !self.frames[f].is_virtual);
                let begun = real.filter_map(|f| Some((self.frames[f].begun.front()?.number, f)));
                frame = begun.min().expect("something is buffered").1;
            }
            self.clean_track(frame);
            if !needs_entry || self.entries() < self.budget {
                return;
            }
        }
    }

    fn clean_track(&mut self, frame: usize) {
        let is_virtual = self.frames[frame].is_virtual;
        let begun = self.frames[frame].begun.front().expect("a track to clean");
        let mut victims: Vec<Slot> = begun.slots.iter().flatten().copied().collect();
        victims.sort_unstable_by_key(|slot| slot.lba);
        if !is_virtual {
            self.counts.collected += victims.len() as u64;
        }
        let mut at = 0;
        while at < victims.len() {
            let victim = victims[at];
            if is_virtual && self.lies(victim.lba) != Lies::Home {
                at += 1;
                continue;
            }
            if self.is_hot(victim) {
                let swapped = self.swap(&victims[at..], frame, is_virtual);
                at += swapped;
                if swapped > 0 {
                    continue;
                }
            }
            if is_virtual {
                at += 1;
                continue;
            }
            let home = self.disk.home(victim.lba);
            let run = self.neighbours(&victims[at..], false, false);
            victims[at..at + run].iter().for_each(|slot| self.unbuffer(slot.lba));
            self.bring_along(home, run as u64, &[]);
            self.counts.destaged += run as u64;
            self.counts.evicted += run as u64;
            at += run;
        }
        let of_frame = &mut self.frames[frame];
        of_frame.begun.pop_front();
        of_frame.cleaned += 1;
        if !std::mem::take(&mut of_frame.is_hit) {
            of_frame.halvings = (of_frame.halvings + 1).min(self.set.slowest.trailing_zeros());
        }
    }

    /// How many victims from the front are neighbours on a bottom track, the others as hot as is asked for.
    fn neighbours(&self, victims: &[Slot], hot: bool, is_virtual: bool) -> usize {
        let track = self.disk.home(victims[0].lba).0;
        let follows = |&i: &usize| {
            let (lba, behind) = (victims[i].lba, i as u64);
            lba == victims[0].lba + behind
                && self.disk.home(lba).0 == track
                && self.piece(behind + 1) == behind + 1
                && (!is_virtual || self.lies(lba) == Lies::Home)
                && self.is_hot(victims[i]) == hot
        };
        1 + (1..victims.len()).take_while(follows).count()
    }

    fn unbuffer(&mut self, lba: u64) {
        let place = self.buffered.remove(&lba).expect("it is buffered");
        self.disk.holds.remove(&place);
    }

    fn oldest(&self) -> Option<usize> {
        (0..self.pairs.len()).min_by_key(|&pair| (self.pairs[pair].written, self.pairs[pair].hot))
    }

    fn is_hot(&self, victim: Slot) -> bool {
        if self.most_pairs == 0 {
            return false;
        }
        let is_full = self.pairs.len() == self.most_pairs;
        let oldest = self.oldest().map(|pair| &self.pairs[pair]);
        let is_recent = oldest.is_none_or(|pair| victim.written >= pair.written);
        match self.set.when_full {
            "end" => is_recent && !is_full,
            "replace" => is_recent,
            _ if !is_full => victim.hits >= 1,
            _ => oldest.is_some_and(|pair| {
                let turn = self.frames[self.frame(pair.hot)].turns();
                victim.hits >= pair.weight(turn) + 3
            }),
        }
    }

    /// Swaps victims from the front with as many cold blocks, for which a pair is exchanged back if there are as many
    /// as may be. How many.
    fn swap(&mut self, victims: &[Slot], frame: usize, is_virtual: bool) -> usize {
        let mut run = self.neighbours(victims, true, is_virtual);
        if self.pairs.len() == self.most_pairs {
            let oldest = self.oldest().expect("there are pairs");
            self.swap_back(oldest);
            run = 1;
        }
        let longest = self.piece(u64::from(self.disk.tracks.bottom_blocks)) as usize;
        run = run.min(self.most_pairs - self.pairs.len()).min((longest / 2).max(1)).min(self.slots());
        let (pairs, buffered) = (&self.pairs, &self.buffered);
        let is_free = |lba: u64| pairs.iter().all(|pair| pair.cold != lba) && !buffered.contains_key(&lba);
        let Some(cold) = self.frames[frame].choose(&self.disk, &mut self.random, run, is_free) else { return 0 };
        let run = cold.len();
        let (bottom, turn) = (self.disk.home(victims[0].lba), self.frames[frame].turns());
        let tops: Vec<Place> = cold.iter().map(|&lba| self.disk.home(lba)).collect();
        for (victim, (&cold, &top)) in victims.iter().zip(cold.iter().zip(&tops)) {
            if !is_virtual {
                self.unbuffer(victim.lba);
                self.counts.evicted += 1;
            }
            self.disk.holds.insert(top, victim.lba);
            let Slot { lba: hot, written, hits: weight } = *victim;
            self.pairs.push(Pair { hot, cold, written, weight, turn, cold_writes: 0 });
        }
        self.counts.swap_reads += run as u64 * (1 + u64::from(is_virtual));
        self.counts.swap_writes += 2 * run as u64;
        self.bring_along(bottom, run as u64, &tops);
        run
    }

    fn swap_back(&mut self, pair: usize) {
        let Pair { hot, cold, .. } = self.pairs.remove(pair);
        let (bottom, top) = (self.disk.home(hot), self.disk.home(cold));
        self.counts.swap_reads += 2;
        self.counts.swap_writes += 2;
        self.disk.holds.insert(top, cold);
        self.bring_along(bottom, 1, &[top]);
        let frame = self.frame(cold);
        self.frames[frame].returned(top.0);
    }
}
