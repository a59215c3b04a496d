//! Frames of the model: their logs, their rates of admission and their cold tracks.

use std::collections::VecDeque;

use imbrex::random::Random;

use super::disk::{Disk, Place, Track, is_bottom};

/// A block in a slot of a log, when it was last written, and how often since it came.
#[derive(Copy, Clone, Debug)]
pub struct Slot {
    pub lba: u64,
    pub written: u64,
    pub hits: u32,
}

/// A track that a log has begun: its slots, some of which are given up.
pub struct Begun {
    pub track: Option<Track>,
    pub slots: Vec<Option<Slot>>,
    pub number: u64,
}

#[derive(Default)]
pub struct Frame {
    /// The tracks to buffer on, from the outside; none of a virtual log.
    free: Vec<Track>,
    pub is_virtual: bool,
    /// Tracks that the log may have begun at a time.
    pub most: usize,
    pub begun: VecDeque<Begun>,
    next: usize,
    pub cleaned: usize,
    pub halvings: u32,
    refused: u32,
    /// Hits, and blocks that were let in, since the last cleaning.
    pub hits: u64,
    pub let_in: u64,
    /// Top tracks from the outside, and how often each was written.
    tops: Vec<Track>,
    writes: Vec<u32>,
    counted: u64,
    /// Their order: by the bit length of the count, what is used up last.
    order: Vec<usize>,
    aside: Vec<bool>,
    taken: Option<(usize, u32)>,
}

impl Frame {
    /// All frames of a disk.
    pub fn all(disk: &Disk, width: u32, most: usize, percent: Option<f64>) -> Vec<Self> {
        let groups = disk.tracks.groups;
        let of_group = disk.tracks.bottom_tracks + disk.tracks.top_tracks;
        let width = if width == 0 { groups * of_group } else { width.min(groups * of_group) };
        let mut frames: Vec<Self> = (0..(groups * of_group).div_ceil(width)).map(|_| Self::default()).collect();
        for &track in disk.tops[disk.used_tops..].iter().rev() {
            let frame = &mut frames[(disk.number(track) / width) as usize];
            if frame.free.len() < most {
                frame.free.push(track);
            }
        }
        let tops: Vec<Track> =
            (0..groups).flat_map(|g| (0..of_group).map(move |n| (g, n))).filter(|track| !is_bottom(*track)).collect();
        for track in tops {
            frames[(disk.number(track) / width) as usize].tops.push(track);
        }
        for frame in &mut frames {
            frame.free.sort_unstable();
            frame.most = frame.free.len();
            if let Some(percent) = percent.filter(|_| frame.most == 0) {
                let pairs = f64::from(width) / 2.0 * f64::from(disk.tracks.bottom_blocks + disk.tracks.top_blocks);
                frame.is_virtual = true;
                frame.most = ((pairs * percent / 100.0 / f64::from(disk.tracks.top_blocks)) as usize).max(1);
            }
            frame.order = (0..frame.tops.len()).collect();
            frame.writes = vec![0; frame.tops.len()];
            frame.aside = vec![false; frame.tops.len()];
            for top in 0..frame.tops.len() {
                if !disk.tops[..disk.used_tops].contains(&frame.tops[top]) {
                    frame.put(top, true);
                }
            }
        }
        frames
    }

    pub fn admits(&mut self) -> bool {
        self.refused += 1;
        if self.refused < 1 << self.halvings {
            return false;
        }
        self.refused = 0;
        true
    }

    /// Whether buffering is worth it by what happened since the last cleaning.
    pub fn pays(&self, opens: &str) -> bool {
        if opens == "hit" { self.hits > 0 } else { self.hits > 0 && 2 * self.hits >= self.let_in }
    }

    /// Slots that can be taken in a row, if a virtual log has a part of the tracks that were begun at most.
    pub fn room(&self, track_blocks: usize, watched: f64) -> usize {
        let part = ((self.cleaned + self.begun.len()) as f64 * watched) as usize;
        let most = if self.is_virtual { self.most.min(part.max(1)) } else { self.most };
        match self.begun.back() {
            Some(last) if last.slots.len() < track_blocks => track_blocks - last.slots.len(),
            _ if self.begun.len() < most => track_blocks,
            _ => 0,
        }
    }

    /// Takes the next slot, of which there is one.
    pub fn take(&mut self, slot: Slot, track_blocks: usize, number: &mut u64) -> Option<Place> {
        if self.begun.back().is_none_or(|last| last.slots.len() == track_blocks) {
            *number += 1;
            let track = (!self.is_virtual).then(|| self.free[self.next]);
            self.next = (self.next + 1) % self.most;
            self.begun.push_back(Begun { track, slots: Vec::new(), number: *number });
        }
        let last = self.begun.back_mut()?;
        last.slots.push(Some(slot));
        Some((last.track?, last.slots.len() as u32 - 1))
    }

    /// The slot of a block.
    pub fn find(&mut self, lba: u64) -> Option<(&mut Option<Slot>, Option<Place>)> {
        for begun in &mut self.begun {
            for (block, slot) in (0..).zip(&mut begun.slots) {
                if slot.is_some_and(|slot| slot.lba == lba) {
                    return Some((slot, begun.track.map(|track| (track, block))));
                }
            }
        }
        None
    }

    pub fn turns(&self) -> u32 {
        (self.cleaned / self.most.max(1)) as u32
    }

    fn bucket(&self, top: usize) -> u32 {
        if self.aside[top] { 99 } else { u32::BITS - self.writes[top].leading_zeros() }
    }

    /// Moves a track to the end of its bucket and over it to the next, as often as it takes, or back.
    fn move_to(&mut self, top: usize, bucket_before: u32, bucket: u32) {
        let others: Vec<u32> =
            self.order.iter().map(|&t| if t == top { bucket_before } else { self.bucket(t) }).collect();
        let mut at = self.order.iter().position(|&t| t == top).expect("it is there");
        let (low, high) = (bucket_before.min(bucket), bucket_before.max(bucket));
        let mut passed: Vec<u32> = others.iter().copied().filter(|b| (low..=high).contains(b)).collect();
        passed.push(bucket_before);
        passed.sort_unstable();
        passed.dedup();
        if bucket > bucket_before {
            for b in passed.into_iter().filter(|b| *b < bucket) {
                let end = others.iter().rposition(|o| *o == b).expect("a bucket with members");
                self.order.swap(at, end.max(at));
                at = end.max(at);
            }
        } else {
            for b in passed.into_iter().rev().filter(|b| *b > bucket) {
                let start = others.iter().position(|o| *o == b).expect("a bucket with members");
                self.order.swap(at, start.min(at));
                at = start.min(at);
            }
        }
    }

    fn put(&mut self, top: usize, aside: bool) {
        let before = self.bucket(top);
        self.aside[top] = aside;
        let bucket = self.bucket(top);
        self.move_to(top, before, bucket);
    }

    pub fn written(&mut self, track: Track, halve_after: u64) {
        let top = self.tops.iter().position(|top| *top == track).expect("a top track of the frame");
        let before = self.bucket(top);
        self.writes[top] += 1;
        let bucket = self.bucket(top);
        if bucket != before {
            self.move_to(top, before, bucket);
        }
        self.counted += 1;
        if halve_after > 0 && self.counted.is_multiple_of(halve_after) {
            self.writes.iter_mut().for_each(|writes| *writes /= 2);
        }
    }

    pub fn returned(&mut self, track: Track) {
        let top = self.tops.iter().position(|top| *top == track).expect("a top track of the frame");
        if self.aside[top] {
            self.put(top, false);
        }
    }

    /// The next cold blocks in a row, at most so many, of those that are free to be swapped.
    pub fn choose(
        &mut self,
        disk: &Disk,
        random: &mut Random,
        most: usize,
        is_free: impl Fn(u64) -> bool,
    ) -> Option<Vec<u64>> {
        loop {
            let (top, from) = match self.taken.take() {
                Some(taken) => taken,
                None => {
                    let least = self.order.iter().map(|&top| self.bucket(top)).min().filter(|bucket| *bucket < 99)?;
                    let coldest: Vec<usize> =
                        self.order.iter().copied().filter(|&top| self.bucket(top) == least).collect();
                    (coldest[random.below(coldest.len() as u64) as usize], 0)
                }
            };
            let mut found = Vec::new();
            for block in from..disk.tracks.top_blocks {
                let lba = disk.homes.iter().position(|home| *home == (self.tops[top], block));
                match lba.map(|lba| lba as u64).filter(|lba| is_free(*lba)) {
                    Some(lba) if found.len() < most => found.push(lba),
                    None if found.is_empty() => continue,
                    _ => break,
                }
                self.taken = Some((top, block + 1));
            }
            if !found.is_empty() {
                return Some(found);
            }
            self.put(top, true);
        }
    }
}
