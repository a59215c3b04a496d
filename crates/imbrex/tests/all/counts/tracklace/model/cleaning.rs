//! What the model does with a track of a log that is cleaned: blocks go home, or change places with cold ones.

use super::super::disk::Place;
use super::super::frames::Slot;
use super::{Model, Pair};

impl Model {
    /// Cleans a track, of the frame if it has one; without entries, for nothing else than these.
    pub(super) fn clean(&mut self, frame: usize, needs_entry: bool) {
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
            if is_virtual && !self.is_there(victim.lba) {
                at += 1;
                continue;
            }
            let (mut run, is_hot) = self.judged(&victims[at..], is_virtual);
            if is_hot {
                let swapped = self.swap(&victims[at..], &mut run, frame, is_virtual);
                at += swapped;
                if swapped > 0 {
                    continue;
                }
            }
            if is_virtual {
                at += run;
                continue;
            }
            let home = self.disk.home(victim.lba);
            victims[at..at + run].iter().for_each(|slot| self.unbuffer(slot.lba));
            self.bring_along(home, run as u64, &[]);
            self.counts.destaged += run as u64;
            self.counts.evicted += run as u64;
            at += run;
        }
        let of_frame = &mut self.frames[frame];
        of_frame.begun.pop_front();
        of_frame.cleaned += 1;
        if !of_frame.pays(self.set.opens) {
            of_frame.halvings = (of_frame.halvings + 1).min(self.set.slowest.trailing_zeros());
        }
        let counts_still = if self.set.opens == "hit" { 0 } else { 2 };
        of_frame.hits = of_frame.hits.checked_div(counts_still).unwrap_or(0);
        of_frame.let_in = of_frame.let_in.checked_div(counts_still).unwrap_or(0);
    }

    /// How many victims from the front go the same way, and whether they are swapped: for `gain` by their mean.
    fn judged(&self, victims: &[Slot], is_virtual: bool) -> (usize, bool) {
        if self.set.when_full == "gain" {
            let run = self.neighbours(victims, is_virtual, |_| true);
            return (run, self.pays(&victims[..run]));
        }
        let is_hot = self.is_recent(victims[0]);
        (self.neighbours(victims, is_virtual, |slot| self.is_recent(slot) == is_hot), is_hot)
    }

    /// How many victims from the front are neighbours on a bottom track, the others as is asked for.
    fn neighbours(&self, victims: &[Slot], is_virtual: bool, like: impl Fn(Slot) -> bool) -> usize {
        let track = self.disk.home(victims[0].lba).0;
        let follows = |&i: &usize| {
            let (lba, behind) = (victims[i].lba, i as u64);
            lba == victims[0].lba + behind
                && self.disk.home(lba).0 == track
                && self.piece(behind + 1) == behind + 1
                && (!is_virtual || self.is_there(lba))
                && like(victims[i])
        };
        1 + (1..victims.len()).take_while(follows).count()
    }

    pub(super) fn unbuffer(&mut self, lba: u64) {
        let place = self.buffered.remove(&lba).expect("it is buffered");
        self.disk.holds.remove(&place);
    }

    fn oldest(&self) -> Option<usize> {
        (0..self.pairs.len()).min_by_key(|&pair| (self.pairs[pair].written, self.pairs[pair].hot))
    }

    fn is_recent(&self, victim: Slot) -> bool {
        let is_full = self.pairs.len() == self.most_pairs;
        let oldest = self.oldest().map(|pair| &self.pairs[pair]);
        let may = !is_full || self.set.when_full == "replace";
        self.most_pairs > 0 && may && oldest.is_none_or(|pair| victim.written >= pair.written)
    }

    fn pays(&self, victims: &[Slot]) -> bool {
        let mean = victims.iter().map(|slot| f64::from(slot.hits)).sum::<f64>() / victims.len() as f64;
        let least = match self.oldest() {
            _ if self.most_pairs == 0 => return false,
            Some(pair) if self.pairs.len() == self.most_pairs => {
                let pair = &self.pairs[pair];
                pair.weight(self.frames[self.frame(pair.hot)].turns()) + 3
            }
            _ => 1,
        };
        mean >= f64::from(least)
    }

    /// Swaps victims from the front with as many cold blocks, for which a pair is exchanged back if there are as many
    /// as may be. How many.
    fn swap(&mut self, victims: &[Slot], hot: &mut usize, frame: usize, is_virtual: bool) -> usize {
        if self.pairs.len() == self.most_pairs {
            let oldest = self.oldest().expect("there are pairs");
            self.swap_back(oldest, 1);
            *hot = 1;
        }
        let run = (*hot).min(self.most_pairs - self.pairs.len()).min(self.most_swapped());
        let (pairs, nothing) = (&self.pairs, &self.disk.nothing);
        let is_free = |lba: u64| pairs.iter().all(|pair| pair.cold != lba) && !nothing.contains(&lba);
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

    /// Exchanges so many pairs back, of which this is the first.
    pub(super) fn swap_back(&mut self, pair: usize, run: usize) {
        let Pair { hot, cold, .. } = self.pairs[pair];
        let back = cold..cold + run as u64;
        self.pairs.retain(|pair| !back.contains(&pair.cold));
        let tops: Vec<Place> = back.map(|cold| self.disk.home(cold)).collect();
        for (&top, cold) in tops.iter().zip(cold..) {
            self.disk.holds.insert(top, cold);
        }
        self.counts.swap_reads += 2 * run as u64;
        self.counts.swap_writes += 2 * run as u64;
        self.bring_along(self.disk.home(hot), run as u64, &tops);
        let frame = self.frame(cold);
        self.frames[frame].returned(tops[0].0);
    }
}
