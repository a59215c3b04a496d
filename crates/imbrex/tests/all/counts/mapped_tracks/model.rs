//! Lists of tracks and of what lies on them.

use std::collections::{BTreeMap, BTreeSet};

use imbrex::tracks::Tracks;

use crate::counts::tracklace::disk::{Disk, Place, Track, is_bottom};

/// When cells move, with the fields of each layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    Flipping { flip_after: u32 },
    Caching { reserved: u32, cache_after: u32, zone_tracks: u32 },
    Mapping { zone_tracks: u32, interval: u32 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    pub host: u64,
    pub updates: u64,
    pub rewritten: u64,
    pub hits: u64,
    pub exchanged: u64,
    pub copied: u64,
    pub returned: u64,
}

pub struct Model {
    disk: Disk,
    rule: Rule,
    longest: u32,
    cell_blocks: u32,
    /// Tracks that are allocated whole.
    whole: BTreeSet<Track>,
    /// Where the cell of each track is, if it is not there.
    away: BTreeMap<Track, Track>,
    /// Updates of each bottom track, or bottom updates in each zone, as the rule wants them.
    updates: BTreeMap<u32, u32>,
    /// Writes of each cell since it was halved last.
    heat: BTreeMap<Track, u32>,
    /// Top tracks, the one written last at the end.
    recent: Vec<Track>,
    pub counts: Counts,
}

/// Top tracks without the reserved ones, in the order in which they are filled.
fn tops_before_reserved(tracks: &Tracks, reserved: u32) -> Vec<u32> {
    let (mut order, mut step) = (Vec::new(), 1);
    while step < reserved {
        let is_next = |top: &u32| top.is_multiple_of(step) && !top.is_multiple_of(2 * step);
        order.push((0..tracks.top_tracks).filter(is_next).collect::<Vec<_>>());
        step *= 2;
    }
    let groups = |tops: &Vec<u32>| {
        (0..tracks.groups).flat_map(|group| tops.iter().map(move |top| group << 16 | top)).collect::<Vec<_>>()
    };
    order.iter().flat_map(groups).collect()
}

/// A disk on which one top track of so many is reserved.
fn disk_with_reserved(tracks: Tracks, reserved: u32, utilisation: f64) -> Disk {
    let mut disk = Disk::new(tracks, 3, false, 1.0);
    let allocated = (disk.homes.len() as f64 * utilisation) as usize;
    let bottoms = disk.homes.iter().copied().filter(|(track, _)| is_bottom(*track));
    let tops = tops_before_reserved(&tracks, reserved).into_iter().flat_map(|packed| {
        let track = (packed >> 16, 2 * (packed & 0xffff) + 1);
        (0..tracks.top_blocks).map(move |block| (track, block))
    });
    disk.homes = bottoms.chain(tops).take(allocated).collect();
    let on_tops = (0..).zip(&disk.homes).filter(|(_, place)| !is_bottom(place.0));
    disk.holds = on_tops.map(|(lba, place)| (*place, lba)).collect();
    disk
}

impl Model {
    pub fn new(tracks: Tracks, rule: Rule, utilisation: f64, longest: u32) -> Self {
        let disk = match rule {
            Rule::Caching { reserved, .. } => disk_with_reserved(tracks, reserved, utilisation),
            _ => Disk::new(tracks, 3, false, utilisation),
        };
        let mut blocks: BTreeMap<Track, u32> = BTreeMap::new();
        for (track, block) in &disk.homes {
            *blocks.entry(*track).or_default() += u32::from(*block < tracks.top_blocks);
        }
        let whole = blocks.into_iter().filter(|(_, blocks)| *blocks == tracks.top_blocks).map(|(track, _)| track);
        Self {
            whole: whole.collect(),
            disk,
            rule,
            longest,
            cell_blocks: tracks.top_blocks,
            away: BTreeMap::new(),
            updates: BTreeMap::new(),
            heat: BTreeMap::new(),
            recent: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The track on which a cell is.
    fn lies(&self, cell: Track) -> Track {
        self.away.get(&cell).copied().unwrap_or(cell)
    }

    /// The cell that is on a track.
    fn on(&self, track: Track) -> Option<Track> {
        let moved_here = self.away.iter().find(|(_, at)| **at == track).map(|(cell, _)| *cell);
        moved_here.or_else(|| (self.whole.contains(&track) && !self.away.contains_key(&track)).then_some(track))
    }

    fn place(&self, lba: u64) -> Place {
        let (home, block) = self.disk.home(lba);
        if block < self.cell_blocks { (self.lies(home), block) } else { (home, block) }
    }

    pub fn write(&mut self, first: u64, blocks: u64) {
        self.counts.host += blocks;
        let (mut at, end) = (first, first + blocks);
        let (mut is_settled, mut whole_until) = (false, first);
        while at < end {
            let (track, block) = self.place(at);
            let key = |lba: u64| (self.disk.home(lba).0, self.place(lba).0);
            let mut run = (at..end).take_while(|lba| key(*lba) == key(at)).count() as u32;
            if block == 0 && run >= self.cell_blocks {
                whole_until = at + u64::from(run);
            }
            let is_part = at >= whole_until;
            if is_bottom(track) {
                run = run.min(self.longest);
                let saved = self.disk.destroyed(track, block..block + run, &[]);
                let is_counted = is_part && saved > 0 && block < self.cell_blocks && !is_settled;
                if is_counted && self.moves_first(track) {
                    is_settled = true;
                    continue;
                }
                self.counts.rewritten += saved;
                self.counts.updates += u64::from(saved > 0);
            } else {
                if is_part {
                    self.written(track);
                }
                self.counts.hits += if is_bottom(self.disk.home(at).0) { u64::from(run) } else { 0 };
            }
            is_settled = false;
            at += u64::from(run);
        }
    }

    fn written(&mut self, top: Track) {
        self.recent.retain(|other| *other != top);
        self.recent.push(top);
        match self.rule {
            Rule::Flipping { .. } => drop(self.updates.remove(&(self.disk.number(top) - 1))),
            Rule::Caching { .. } => {}
            Rule::Mapping { .. } => self.warm(top),
        }
    }

    fn warm(&mut self, track: Track) {
        if let Some(cell) = self.on(track) {
            *self.heat.entry(cell).or_default() += 1;
        }
    }

    /// Counts an update under a key, and says whether it is the one after which the count begins anew.
    fn is_due(&mut self, key: u32, after: u32) -> bool {
        let updates = self.updates.entry(key).or_default();
        *updates = (*updates + 1) % after;
        *updates == 0
    }

    /// Whether cells have been moved before an update of a bottom track.
    fn moves_first(&mut self, bottom: Track) -> bool {
        let number = self.disk.number(bottom);
        match self.rule {
            Rule::Flipping { flip_after } => {
                let top = (bottom.0, bottom.1 + 1);
                self.is_due(number, flip_after)
                    && bottom.1 / 2 < self.disk.tracks.top_tracks
                    && self.exchange(bottom, top)
            }
            Rule::Caching { reserved, cache_after, zone_tracks } => {
                self.is_due(number, cache_after) && self.cache(bottom, reserved, zone_tracks)
            }
            Rule::Mapping { zone_tracks, interval } => {
                self.warm(bottom);
                self.is_due(number / zone_tracks, interval) && self.remap(number / zone_tracks, zone_tracks)
            }
        }
    }

    /// Rewrites what lies over the cell on a bottom track, but for a track that is moved along.
    fn overwrite(&mut self, bottom: Track, moved: Track) {
        let moved: Vec<Place> = (0..self.cell_blocks).map(|block| (moved, block)).collect();
        let saved = self.disk.destroyed(bottom, 0..self.cell_blocks, &moved);
        self.counts.rewritten += saved;
        self.counts.updates += u64::from(saved > 0);
    }

    fn exchange(&mut self, bottom: Track, top: Track) -> bool {
        let (Some(below), Some(above)) = (self.on(bottom), self.on(top)) else { return false };
        self.overwrite(bottom, top);
        self.away.insert(below, top);
        self.away.insert(above, bottom);
        self.away.retain(|cell, track| cell != track);
        self.counts.exchanged += 2 * u64::from(self.cell_blocks);
        true
    }

    fn cache(&mut self, bottom: Track, reserved: u32, zone_tracks: u32) -> bool {
        let zone = self.disk.number(bottom) / zone_tracks;
        let tops = self.disk.tracks.top_tracks;
        let all = (0..self.disk.tracks.groups)
            .flat_map(|g| (0..tops).step_by(reserved as usize).map(move |j| (g, 2 * j + 1)));
        let slots: Vec<Track> = all.filter(|slot| self.disk.number(*slot) / zone_tracks == zone).collect();
        let age = |slot: &Track| self.recent.iter().position(|top| top == slot).map_or(0, |place| place + 1);
        let Some(&slot) =
            slots.iter().find(|slot| self.on(**slot).is_none()).or(slots.iter().min_by_key(|slot| age(slot)))
        else {
            return false;
        };
        let Some(cell) = self.on(bottom) else { return false };
        let blocks = u64::from(self.cell_blocks);
        if let Some(leaving) = self.on(slot) {
            self.overwrite(leaving, slot);
            self.away.remove(&leaving);
            self.disk.holds.retain(|(track, _), _| *track != slot);
            self.counts.returned += blocks;
        }
        self.away.insert(cell, slot);
        self.disk.holds.extend((0..self.cell_blocks).map(|block| ((slot, block), 0)));
        self.counts.copied += blocks;
        true
    }

    fn remap(&mut self, zone: u32, zone_tracks: u32) -> bool {
        let (groups, all) = (self.disk.tracks.groups, self.disk.tracks.bottom_tracks + self.disk.tracks.top_tracks);
        let tracks = (0..groups).flat_map(|group| (0..all).map(move |number| (group, number)));
        let of_zone: Vec<Track> = tracks.filter(|track| self.disk.number(*track) / zone_tracks == zone).collect();
        let held = of_zone.iter().filter_map(|track| self.on(*track).map(|cell| (*track, cell)));
        let heat = |cell: Track| self.heat.get(&cell).copied().unwrap_or_default();
        let (below, above): (Vec<_>, Vec<_>) = held.partition(|(track, _)| is_bottom(*track));
        let hottest = below.iter().rev().max_by_key(|(_, cell)| heat(*cell));
        let coldest = above.iter().min_by_key(|(_, cell)| heat(*cell));
        let pair = hottest.zip(coldest).filter(|(hot, cold)| heat(hot.1) > heat(cold.1));
        let pair = pair.map(|(hot, cold)| (hot.0, cold.0));
        for (_, cell) in below.iter().chain(&above) {
            self.heat.entry(*cell).and_modify(|heat| *heat /= 2);
        }
        pair.is_some_and(|(bottom, top)| self.exchange(bottom, top))
    }
}
