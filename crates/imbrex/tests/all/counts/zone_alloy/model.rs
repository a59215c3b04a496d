//! `zone-alloy` as its page describes it: native zones and where each lies, a buffer before them, and what moves.

use std::collections::BTreeSet;
use std::ops::Range;

use imbrex::plan::Why;

use super::moving::Moving;
use super::swaps::{Choice, Swaps};
use crate::counts::model::{Buffer, Buffered, Counts, Disk};

/// The realms of a disk, in numbers.
#[derive(Copy, Clone, Debug)]
pub struct Shape {
    pub realms: u64,
    pub conventional: u64,
    pub sequential: u64,
    pub zone_blocks: u64,
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    pub converted: f64,
    pub first_zones: u64,
    /// The blocks of a quantum.
    pub quantum: u64,
    pub batch: u64,
    pub for_request: bool,
    pub direct_first: bool,
    pub reads_count: bool,
    pub choice: Choice,
}

/// What happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub counts: Counts,
    /// Blocks of the media by reason, in the order of [`Why::ALL`].
    pub read: [u64; Why::ALL.len()],
    pub written: [u64; Why::ALL.len()],
    pub read_hits: u64,
    pub swaps: u64,
    pub converted: u64,
    /// Blocks that the host sees.
    pub capacity: u64,
}

/// Where a zone lies: in a zone of one of the domains, counted from the outer edge.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Place {
    Conventional(u64),
    Sequential(u64),
}

pub struct ZoneAlloy {
    shape: Shape,
    settings: Settings,
    buffered: Buffered,
    /// By native zone.
    place: Vec<Place>,
    /// Native zones that lie in the conventional zone of their number when they are added.
    in_order: usize,
    /// Whether each realm is conventional.
    conventional: Vec<bool>,
    /// Empty sequential zones, that which is taken next at the end.
    empty: Vec<u64>,
    wanted: usize,
    moving: Option<Moving>,
    swaps: Swaps,
    seen: Seen,
}

impl ZoneAlloy {
    pub fn new(shape: Shape, slots: u64, buffer: Box<dyn Buffer>, settings: Settings) -> Self {
        let Shape { realms, conventional, sequential, zone_blocks } = shape;
        let begun = ((realms as f64 * settings.converted).round() as u64).max(1);
        let (outer, most) = (realms - begun, realms * sequential);
        let in_order = outer * conventional;
        let all = in_order + (begun - 1) * sequential;
        let zones = if settings.first_zones == 0 { all } else { settings.first_zones };
        let lies = |zone: u64| match zone.checked_sub(in_order) {
            None => Place::Conventional(zone),
            Some(behind) => Place::Sequential(outer * sequential + behind),
        };
        let place: Vec<Place> = (0..zones).map(lies).collect();
        let mut empty = Vec::new();
        for realm in outer..realms {
            let span = (realm * sequential..(realm + 1) * sequential).rev();
            empty.extend(span.filter(|zone| !place.contains(&Place::Sequential(*zone))));
        }
        let pointer = place.iter().map(|place| if let Place::Conventional(_) = place { zone_blocks } else { 0 });
        let disk = Disk {
            zone_blocks,
            pointer: pointer.collect(),
            buffered: BTreeSet::new(),
            padding: BTreeSet::new(),
            direct_first: settings.direct_first,
            counts: Counts::default(),
        };
        Self {
            shape,
            buffered: Buffered { disk, buffer, for_request: settings.for_request, reads_count: settings.reads_count },
            in_order: in_order as usize,
            conventional: (0..realms).map(|realm| realm < outer).collect(),
            empty,
            wanted: place.len(),
            place,
            moving: None,
            swaps: Swaps::new(settings.choice.clone(), slots, most),
            seen: Seen::default(),
            settings,
        }
    }

    pub fn zones(&self) -> u64 {
        self.place.len() as u64
    }

    pub fn seen(&self) -> Seen {
        let mut seen = self.seen.clone();
        seen.counts = self.buffered.disk.counts.clone();
        seen.read[Why::Collect as usize] += seen.counts.requeued;
        seen.written[Why::Migrate as usize] += seen.counts.requeued;
        seen.counts.requeued = seen.written[Why::Migrate as usize];
        seen.capacity = self.zones() * self.shape.zone_blocks;
        seen
    }

    /// Counts anew.
    pub fn forget(&mut self) {
        self.seen = Seen::default();
        self.buffered.disk.counts = Counts::default();
        self.swaps.forget();
    }

    pub fn write(&mut self, first: u64, blocks: u64) {
        let (mut block, end) = (first, first + blocks);
        while block < end {
            let (piece, in_place) = self.piece(block, end);
            let zone = self.buffered.disk.zone(block);
            let taken = if in_place { self.write_in_place(piece) } else { self.write_piece(piece) };
            block += taken;
            self.seen.written[Why::Host as usize] += taken;
            if taken > 0 {
                self.swaps.written(zone, taken);
            }
            self.note_epoch();
            if taken == 0 {
                self.make_room(block, end);
            }
        }
    }

    /// The blocks from `block` on that are written alike, and whether that is in place.
    fn piece(&self, block: u64, end: u64) -> (Range<u64>, bool) {
        let zone = self.buffered.disk.zone(block);
        let blocks = self.buffered.disk.blocks_of(zone);
        let piece = block..end.min(blocks.end);
        match (self.place[zone as usize], self.moving.as_ref().filter(|moving| moving.zone == zone)) {
            (Place::Sequential(_), _) => (piece, false),
            (Place::Conventional(_), Some(moving)) if block < blocks.start + moving.read => {
                (block..piece.end.min(blocks.start + moving.read), false)
            }
            (Place::Conventional(_), _) => (piece, true),
        }
    }

    fn write_in_place(&mut self, piece: Range<u64>) -> u64 {
        let blocks = piece.end - piece.start;
        for block in piece {
            self.forget_buffered(block);
            self.buffered.disk.padding.remove(&block);
        }
        self.buffered.disk.counts.direct += blocks;
        blocks
    }

    fn write_piece(&mut self, piece: Range<u64>) -> u64 {
        if self.settings.for_request && self.buffered.buffer.room() < self.buffered.wanted(piece.clone()) {
            return 0;
        }
        piece.take_while(|block| self.buffered.write_block(*block)).count() as u64
    }

    fn forget_buffered(&mut self, block: u64) {
        if self.buffered.disk.buffered.remove(&block) {
            self.buffered.buffer.gone(block);
        }
    }

    pub fn read(&mut self, first: u64, blocks: u64) {
        for block in first..first + blocks {
            let zone = self.buffered.disk.zone(block);
            let is_buffered = self.buffered.disk.buffered.contains(&block);
            let is_written = block % self.shape.zone_blocks < self.buffered.disk.pointer[zone as usize];
            self.seen.read[Why::Host as usize] += u64::from(is_buffered || is_written);
            self.seen.read_hits += u64::from(is_buffered);
            if is_buffered && self.settings.reads_count {
                self.buffered.buffer.used(block);
            }
            self.swaps.read(zone);
        }
    }

    /// Drops what is buffered behind write pointers.
    pub fn trim(&mut self, first: u64, blocks: u64) {
        for block in first..first + blocks {
            let pointer = self.buffered.disk.pointer[self.buffered.disk.zone(block) as usize];
            if block % self.shape.zone_blocks >= pointer {
                self.forget_buffered(block);
            }
        }
    }

    fn make_room(&mut self, block: u64, end: u64) {
        loop {
            self.buffered.buffer.pass();
            if self.buffered.buffer.room() >= self.buffered.wanted(self.piece(block, end).0) {
                return self.buffered.buffer.cleaned();
            }
            let apart = self.apart();
            if let Some(zone) = self.buffered.buffer.turn(&mut self.buffered.disk, &apart) {
                self.leave(zone, apart.contains(&zone));
            }
        }
    }

    /// The zones that leave the buffer otherwise than others.
    fn apart(&self) -> BTreeSet<u64> {
        let mut apart = if self.is_growing() { BTreeSet::new() } else { self.swaps.apart() };
        apart.extend(self.moving.iter().map(|moving| moving.zone));
        apart
    }

    fn leave(&mut self, zone: u64, is_apart: bool) {
        if !is_apart {
            return self.evict(zone);
        }
        if self.moves(zone) {
            while self.moves(zone) {
                self.grow_on();
            }
            return;
        }
        if let Some(partner) = self.swaps.take_partner(zone, &self.place, &self.shape) {
            self.swap(zone, partner);
        }
    }

    fn moves(&self, zone: u64) -> bool {
        self.moving.as_ref().is_some_and(|moving| moving.zone == zone)
    }

    fn evict(&mut self, zone: u64) {
        let Place::Sequential(from) = self.place[zone as usize] else { panic!("{zone} is written in place") };
        if self.write_back(zone, 0) {
            let to = self.empty.pop().expect("some are kept");
            self.place[zone as usize] = Place::Sequential(to);
            self.empty.push(from);
        }
    }

    /// Writes back what is buffered of a zone, up to `end` at least, and says whether the zone was rewritten.
    fn write_back(&mut self, zone: u64, end: u64) -> bool {
        let disk = &mut self.buffered.disk;
        let (before, counts) = (disk.pointer[zone as usize], disk.counts.clone());
        let blocks = disk.write_back_to(zone, end);
        let (is_rewritten, padded) = (disk.counts.rmw > counts.rmw, disk.counts.padding - counts.padding);
        let old = if is_rewritten { before } else { 0 };
        let from = before - old;
        self.seen.read[Why::Collect as usize] += old + blocks.len() as u64;
        self.seen.written[Why::Destage as usize] += disk.pointer[zone as usize] - from - padded;
        self.seen.written[Why::Pad as usize] += padded;
        blocks.into_iter().for_each(|block| self.buffered.buffer.gone(block));
        is_rewritten
    }

    fn note_epoch(&mut self) {
        let disk = &self.buffered.disk;
        self.swaps.note(self.buffered.buffer.laps(), &self.place, |zone| {
            disk.buffered.range(disk.blocks_of(zone)).count() as u64
        });
    }

    /// The partner moves to an empty zone, and the candidate to where it lay, with all that is buffered of it.
    fn swap(&mut self, zone: u64, partner: u64) {
        let (left, came_from) = (self.place[partner as usize], self.place[zone as usize]);
        let Place::Sequential(came_from) = came_from else { panic!("a candidate is sequential") };
        let target = self.empty.pop().expect("some are kept");
        self.count_padding(partner);
        self.seen.read[Why::Collect as usize] += self.shape.zone_blocks;
        self.seen.written[Why::Migrate as usize] += self.shape.zone_blocks;
        self.place[partner as usize] = Place::Sequential(target);
        self.write_back(zone, self.shape.zone_blocks);
        self.place[zone as usize] = left;
        self.empty.push(came_from);
        self.seen.swaps += 1;
    }

    /// A conventional zone has moved, and its padding with it.
    fn count_padding(&mut self, zone: u64) {
        let disk = &mut self.buffered.disk;
        disk.counts.padding_again += disk.padding.range(disk.blocks_of(zone)).count() as u64;
    }

    /// Says whether there will be room for so many blocks more.
    pub fn grow(&mut self, blocks: u64) -> bool {
        let wanted = self.wanted + blocks.div_ceil(self.shape.zone_blocks) as usize;
        if wanted as u64 > (self.shape.realms - 1) * self.shape.sequential {
            return false;
        }
        self.wanted = wanted;
        self.give();
        true
    }

    pub fn is_growing(&self) -> bool {
        self.place.len() < self.wanted
    }

    /// Gives what is free; says whether anything was.
    fn give(&mut self) -> bool {
        let before = self.place.len();
        while self.is_growing() {
            if self.place.len() < self.in_order {
                self.place.push(Place::Conventional(self.place.len() as u64));
                self.buffered.disk.pointer.push(self.shape.zone_blocks);
            } else if self.empty.len() as u64 > self.shape.sequential {
                let zone = self.empty.pop().expect("some are kept");
                self.place.push(Place::Sequential(zone));
                self.buffered.disk.pointer.push(0);
            } else {
                break;
            }
        }
        self.place.len() > before
    }

    /// One step of a growth: what is free is given, or a quantum of a zone that moves is read or written, or a realm is
    /// activated.
    pub fn grow_on(&mut self) {
        if self.give() {
            return;
        }
        if self.moving.is_none() && !self.begin_to_move() {
            return;
        }
        let Some(mut moving) = self.moving.take() else { panic!("a zone moves") };
        let (read, written) = moving.step(self.shape.zone_blocks, &self.settings);
        self.seen.read[Why::Collect as usize] += read;
        self.seen.written[Why::Migrate as usize] += written;
        if moving.written < self.shape.zone_blocks {
            self.moving = Some(moving);
            return;
        }
        self.count_padding(moving.zone);
        self.place[moving.zone as usize] = Place::Sequential(moving.target);
        self.seen.converted += 1;
    }

    /// Has the next zone begin to move, if one is left in the innermost realm; if none is, the realm becomes sequential.
    fn begin_to_move(&mut self) -> bool {
        let realm = self.conventional.iter().rposition(|is| *is).expect("there is room") as u64;
        let Shape { conventional, sequential, .. } = self.shape;
        let span = (realm * conventional..(realm + 1) * conventional).rev();
        let lies = |zone: u64| self.place.iter().position(|place| *place == Place::Conventional(zone));
        let Some(zone) = span.map(lies).find_map(|zone| zone) else {
            self.conventional[realm as usize] = false;
            self.empty.extend((realm * sequential..(realm + 1) * sequential).rev());
            return false;
        };
        let target = self.empty.pop().expect("some are kept");
        self.moving = Some(Moving::new(zone as u64, target));
        true
    }
}
