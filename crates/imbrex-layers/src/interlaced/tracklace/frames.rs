//! Virtual frames, and in each of them the Top-Buffer: a circular log over unallocated top tracks.
//!
//! A frame is a run of tracks of both kinds. Its log goes over the highest-numbered top tracks that are not allocated,
//! from the outside inwards; slots are numbered track by track through all frames. A log fills a track from its
//! beginning, then the next one, and is cleaned a track at a time from the oldest.
//!
//! Where a frame has no such track, and blocks are swapped, its log is *virtual*: its slots have no place, and only say
//! which blocks would be buffered.

use super::admission::Admission;
use super::config::TracklaceConfig;
use crate::interlaced::in_place_tracks::Places;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::memory::Memory;
use imbrex_core::tracks::{Side, Track};

/// The log of a frame.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// Its first track among the tracks of all logs, and how many follow.
    pub first: u32,
    pub tracks: u32,
    pub is_virtual: bool,
    pub admission: Admission,
    /// The oldest track that holds anything, counted from the first, and how many tracks hold something.
    tail: u32,
    pub used: u32,
    /// Slots of the newest of them that were taken.
    filled: u32,
    /// How often all tracks were cleaned, and how many since.
    pub turns: u32,
    cleaned: u32,
}

/// What a log offers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// Slots that lie together: the first, and how many they are.
    Slots(u32, u32),
    /// Slots that are given up, when that is durable.
    Pending,
    /// None before a track is cleaned.
    None,
}

/// All frames.
pub(super) struct Frames {
    /// Tracks of a frame, of a group, and slots of a track.
    width: u64,
    group_tracks: u64,
    track_slots: u32,
    /// Where each track of the logs that has a place begins.
    places: Vec<u64>,
    pub logs: Vec<Log>,
    /// When each track was last begun, in tracks.
    begun: Vec<u64>,
    begins: u64,
    /// Whose block each slot holds, counted from 1; 0 for none. Zeros are memory that the system has not given yet.
    owners: Vec<u64>,
    /// Slots that hold a block.
    held: u64,
    /// The part of the tracks that a virtual log has begun that it may have at a time.
    watched: f64,
}

impl Frames {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let lists = Memory::growing::<u64>(self.places.len() as u64) + Memory::growing::<Log>(self.logs.len() as u64);
        lists + Memory::room::<u64>(self.begun.len() as u64) + Memory::room::<u64>(self.owners.len() as u64)
    }

    /// The frames that are configured. Each log has at most `most` tracks that are not allocated; where there are none,
    /// `virtually` percent of its frame.
    pub fn new(places: &Places, config: &TracklaceConfig, most: u64, virtually: Option<f64>) -> Self {
        let width = config.frame_tracks;
        let tracks = *places.order.tracks();
        let group_tracks = u64::from(tracks.bottom_tracks) + u64::from(tracks.top_tracks);
        let all = u64::from(tracks.groups) * group_tracks;
        let width = if width == 0 { all } else { width.min(all) };
        let mut frames = Self {
            width,
            group_tracks,
            track_slots: tracks.top_blocks,
            places: Vec::new(),
            logs: Vec::new(),
            begun: Vec::new(),
            begins: 0,
            owners: Vec::new(),
            held: 0,
            watched: config.watched,
        };
        let mut unallocated: Vec<Vec<(u64, u64)>> = vec![Vec::new(); all.div_ceil(width) as usize];
        for group in 0..tracks.groups {
            for index in 0..tracks.top_tracks {
                let top = Track { group, side: Side::Top, index };
                let number = places.order.first_of(top);
                if number >= places.capacity && most > 0 {
                    unallocated[frames.frame_of(top) as usize].push((number, tracks.first_block(top)));
                }
            }
        }
        for of_frame in &mut unallocated {
            of_frame.sort_unstable_by_key(|&(number, _)| std::cmp::Reverse(number));
            of_frame.truncate(usize::try_from(most).unwrap_or(usize::MAX));
            of_frame.sort_unstable_by_key(|&(_, place)| place);
            let first = frames.places.len() as u32;
            frames.places.extend(of_frame.iter().map(|&(_, place)| place));
            let admission = Admission::new(config.slowest, config.opens);
            frames.logs.push(Log::new(first, of_frame.len() as u32, admission));
        }
        if let Some(percent) = virtually {
            let of_frame = width as f64 / 2.0 * (f64::from(tracks.bottom_blocks) + f64::from(tracks.top_blocks));
            let tracks = (of_frame * percent / 100.0 / f64::from(tracks.top_blocks)) as u32;
            frames.add_virtual_logs(tracks.max(1));
        }
        let all = frames.logs.iter().map(|log| log.first + log.tracks).max().unwrap_or(0);
        frames.begun = vec![0; all as usize];
        frames.owners = vec![0; all as usize * tracks.top_blocks as usize];
        frames
    }

    fn add_virtual_logs(&mut self, tracks: u32) {
        let mut first = self.places.len() as u32;
        for log in self.logs.iter_mut().filter(|log| log.tracks == 0) {
            (log.first, log.tracks, log.is_virtual) = (first, tracks, true);
            first += tracks;
        }
    }

    /// The number of a track on the surface, from the outside inwards.
    pub fn number(&self, track: Track) -> u64 {
        u64::from(track.group) * self.group_tracks + 2 * u64::from(track.index) + u64::from(track.side == Side::Top)
    }

    /// The frame of a track.
    #[inline]
    pub fn frame_of(&self, track: Track) -> u32 {
        if self.logs.len() == 1 {
            return 0;
        }
        (self.number(track) / self.width) as u32
    }

    /// Slots with a place, and all.
    pub fn slots(&self) -> (u64, u64) {
        (self.places.len() as u64 * u64::from(self.track_slots), self.owners.len() as u64)
    }

    /// Where a slot lies that has a place.
    #[inline]
    pub fn place_of(&self, slot: u32) -> Pba {
        let (track, offset) = (slot / self.track_slots, slot % self.track_slots);
        Pba::disk(self.places[track as usize] + u64::from(offset))
    }

    /// The slot that a place is, if it is one.
    pub fn slot_of(&self, place: Pba) -> Option<u32> {
        let track = self.places.partition_point(|first| *first <= place.block()).checked_sub(1)?;
        let offset = place.block() - self.places[track];
        let is_slot = place.device() == Pba::DISK && offset < u64::from(self.track_slots);
        is_slot.then(|| track as u32 * self.track_slots + offset as u32)
    }

    /// The slots of a track of the logs.
    pub fn slots_of(&self, track: u32) -> std::ops::Range<u32> {
        track * self.track_slots..(track + 1) * self.track_slots
    }

    /// The block that a slot holds.
    #[inline]
    pub fn owner(&self, slot: u32) -> Option<Lba> {
        self.owners[slot as usize].checked_sub(1).map(Lba)
    }

    /// A slot holds a block, or none.
    #[inline]
    pub fn set_owner(&mut self, slot: u32, owner: Option<Lba>) {
        let before = std::mem::replace(&mut self.owners[slot as usize], owner.map_or(0, |lba| lba.0 + 1));
        self.held = self.held + u64::from(owner.is_some()) - u64::from(before != 0);
    }

    /// The slots that hold a block, or in a virtual log note one, and which. None is looked at behind the last: on an
    /// empty disk all of them would become memory.
    pub fn holding(&self) -> impl Iterator<Item = (u32, Lba)> {
        let all = 0..self.owners.len() as u32;
        all.filter_map(|slot| Some((slot, self.owner(slot)?))).take(self.held as usize)
    }

    /// The next slots of the log of `frame`.
    pub fn room(&self, frame: u32, places: &Places) -> Room {
        let log = &self.logs[frame as usize];
        if log.used > 0 && log.filled < self.track_slots {
            let slot = self.slots_of(log.head()).start + log.filled;
            return Room::Slots(slot, self.track_slots - log.filled);
        }
        if log.used == log.tracks || (log.is_virtual && log.used >= log.watched(self.watched)) {
            return Room::None;
        }
        let next = log.first + (log.tail + log.used) % log.tracks;
        let is_pending = !log.is_virtual && places.needed.any_pending(self.places[next as usize], self.track_slots);
        if is_pending { Room::Pending } else { Room::Slots(self.slots_of(next).start, self.track_slots) }
    }

    /// The next `slots` slots of the log of `frame` are taken, as [`Frames::room`] has offered them.
    pub fn take(&mut self, frame: u32, slots: u32) {
        let log = &mut self.logs[frame as usize];
        if log.used == 0 || log.filled == self.track_slots {
            (log.used, log.filled) = (log.used + 1, 0);
            self.begins += 1;
            self.begun[log.head() as usize] = self.begins;
        }
        log.filled += slots;
    }

    /// The track of the log of `frame` that is cleaned next, if any holds something.
    pub fn oldest(&self, frame: u32) -> Option<u32> {
        let log = &self.logs[frame as usize];
        (log.used > 0).then(|| log.first + log.tail)
    }

    /// The frame whose oldest track, one with a place, was begun first.
    pub fn oldest_frame(&self) -> Option<u32> {
        let real = (0..self.logs.len() as u32).filter(|&frame| !self.logs[frame as usize].is_virtual);
        let oldest = real.filter_map(|frame| Some((self.begun[self.oldest(frame)? as usize], frame)));
        oldest.min().map(|(_, frame)| frame)
    }

    /// Whether half of the tracks of the log of `frame` are empty.
    pub fn is_half_empty(&self, frame: u32) -> bool {
        let log = &self.logs[frame as usize];
        log.used <= log.tracks / 2
    }

    /// A frame whose log has places, and less than `part` of its tracks empty. The track that is being filled stays.
    pub fn short_of_room(&self, part: f64) -> Option<u32> {
        let is_short = |log: &Log| {
            let wanted = (f64::from(log.tracks) * part).ceil() as u32;
            !log.is_virtual && log.used > 1 && log.tracks - log.used < wanted
        };
        self.logs.iter().position(is_short).map(|frame| frame as u32)
    }

    /// The oldest track of the log of `frame` is being cleaned: nothing is added to it.
    pub fn close(&mut self, frame: u32) {
        let log = &mut self.logs[frame as usize];
        if log.used == 1 {
            log.filled = self.track_slots;
        }
    }

    /// The oldest track of the log of `frame` holds nothing any more.
    pub fn pop(&mut self, frame: u32) {
        let log = &mut self.logs[frame as usize];
        log.tail = (log.tail + 1) % log.tracks;
        log.used -= 1;
        log.cleaned += 1;
        if log.cleaned == log.tracks {
            (log.cleaned, log.turns) = (0, log.turns + 1);
        }
    }

    /// After the records were applied: each log begins behind its longest run of tracks without blocks.
    pub fn recovered(&mut self) {
        // An empty disk has nothing to look for.
        if self.held == 0 {
            return;
        }
        for frame in 0..self.logs.len() {
            let log = &self.logs[frame];
            let (first, tracks) = (log.first, log.tracks);
            let last_of = |track: u32| self.slots_of(first + track).rev().find(|&slot| self.owner(slot).is_some());
            let held: Vec<u32> = (0..tracks).filter(|&track| last_of(track).is_some()).collect();
            let gap = |i: usize| (held[i] + tracks - held[(i + held.len() - 1) % held.len()] - 1) % tracks;
            let Some(from) = (0..held.len()).max_by_key(|&i| (gap(i), std::cmp::Reverse(i))) else { continue };
            let used = if held.len() == 1 { 1 } else { tracks - gap(from) };
            let head = (held[from] + used - 1) % tracks;
            let filled = last_of(head).map_or(0, |slot| slot % self.track_slots + 1);
            let log = &mut self.logs[frame];
            (log.tail, log.used, log.filled) = (held[from], used, filled);
        }
    }

    /// The blocks of slots that no log holds.
    pub fn stray(&self) -> Option<u32> {
        let inside = |slot: u32| {
            let track = slot / self.track_slots;
            let log = self.logs.iter().find(|log| log.first <= track && track - log.first < log.tracks);
            log.is_some_and(|log| {
                let place = (track - log.first + log.tracks - log.tail) % log.tracks;
                place + 1 < log.used || (place + 1 == log.used && slot % self.track_slots < log.filled)
            })
        };
        self.holding().map(|(slot, _)| slot).find(|&slot| !inside(slot))
    }

    /// The places of the tracks of the logs.
    pub fn places(&self) -> impl Iterator<Item = Extent<Pba>> {
        self.places.iter().map(|&first| Extent::new(Pba::disk(first), self.track_slots))
    }
}

impl Log {
    fn new(first: u32, tracks: u32, admission: Admission) -> Self {
        Self { first, tracks, is_virtual: false, admission, tail: 0, used: 0, filled: 0, turns: 0, cleaned: 0 }
    }

    /// Tracks that hold something at most, if that is `part` of those begun so far.
    fn watched(&self, part: f64) -> u32 {
        let begun = u64::from(self.turns) * u64::from(self.tracks) + u64::from(self.cleaned + self.used);
        (begun as f64 * part).clamp(1.0, f64::from(u32::MAX)) as u32
    }

    /// The track that is being filled.
    fn head(&self) -> u32 {
        self.first + (self.tail + self.used - 1) % self.tracks
    }
}

/// The distance in blocks from the beginning of an extent.
pub(super) fn from_start(at: Extent<Lba>, lba: Lba) -> u32 {
    lba.since(at.start) as u32
}
