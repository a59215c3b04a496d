//! The parts of a disk on which operations work: which one a block is in, what it is called, and where it lies.

use imbrex::block::{Extent, Pba};
use imbrex::layers::{Family, LayerInfo};
use imbrex::media::Media;
use imbrex::plan::{Place, Unit};
use imbrex::recording::Recording;
use imbrex::space::Space;
use imbrex::tracks::{Side, Track, Tracks};

use super::Kind;

/// Where something is, as it has a row. The order is that of rows.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Who reads and writes.
    Host,
    /// Memory.
    Ram,
    /// Nowhere: zeros, or what a journal holds in its memory.
    Nowhere,
    /// The buffer before zones or bands.
    Buffer,
    /// The part of the disk that begins at this block.
    At(u64),
    /// Anywhere on the disk.
    Elsewhere,
}

/// The parts of a disk.
pub struct Places<'a> {
    pub media: &'a dyn Media,
    pub layer: &'a LayerInfo,
    tracks: Option<Tracks>,
    /// The first blocks of the disk that buffer others: none on a disk without a buffer.
    buffer_blocks: u64,
}

impl<'a> Places<'a> {
    pub fn new(media: &'a dyn Media, layer: &'a LayerInfo) -> Self {
        let space = Space::of(media, 0);
        let is_buffered = layer.buffered || layer.recording == Recording::Banded;
        let is_before = space.zones.is_some() || space.bands.is_some() || space.realms.is_some();
        let buffer_blocks = if is_buffered && is_before { space.conventional_blocks } else { 0 };
        Self { media, layer, tracks: media.tracks(), buffer_blocks }
    }

    /// Whether blocks are buffered before they come to their places.
    pub fn has_buffer(&self) -> bool {
        self.buffer_blocks > 0
    }

    /// Whether the layer appends everything, and knows no place of a block.
    pub fn is_log(&self) -> bool {
        let is_banded = self.layer.family == Some(Family::Banded) && self.layer.recording != Recording::Banded;
        is_banded || self.is_flash()
    }

    pub fn is_flash(&self) -> bool {
        self.layer.recording == Recording::Flash
    }

    /// What a unit with a write pointer is called.
    pub fn unit_word(&self) -> &'static str {
        match self.layer.family {
            _ if self.is_flash() => "erase block",
            Some(Family::Banded) => "band",
            _ => "zone",
        }
    }

    /// Where one end of a move is.
    pub fn part(&self, place: Option<Place>) -> Part {
        match place {
            Some(Place::Host(_)) => Part::Host,
            Some(Place::At(at)) if at.is_ram() => Part::Ram,
            Some(Place::At(at)) => self.part_of(at.block()),
            Some(Place::Zero | Place::Lost) | None => Part::Nowhere,
        }
    }

    /// Where a block of the disk is.
    pub fn part_of(&self, block: u64) -> Part {
        if block < self.buffer_blocks {
            return Part::Buffer;
        }
        match &self.tracks {
            Some(tracks) => Part::At(tracks.locate(block).map_or(0, |(track, _)| tracks.first_block(track))),
            None => Part::At(self.extent(block).start.block()),
        }
    }

    fn unit(&self, block: u64) -> Unit {
        self.media.unit_of(Pba::disk(block))
    }

    fn extent(&self, block: u64) -> Extent<Pba> {
        self.media.extent_of(self.unit(block))
    }

    fn track(&self, first: u64) -> Option<Track> {
        self.tracks.as_ref()?.locate(first).map(|(track, _)| track)
    }

    /// Whether only the next block can be written there.
    pub fn is_sequential(&self, part: Part) -> bool {
        matches!(part, Part::At(first) if self.tracks.is_none() && self.media.has_pointer(self.unit(first)))
    }

    pub fn kind(&self, part: Part) -> Kind {
        match part {
            Part::Host => Kind::Host,
            Part::Ram | Part::Nowhere => Kind::Ram,
            Part::Buffer => Kind::Buffer,
            Part::Elsewhere => Kind::Elsewhere,
            Part::At(first) => match self.track(first).map(|track| track.side) {
                Some(Side::Bottom) => Kind::Bottom,
                Some(Side::Top) => Kind::Top,
                None if self.is_sequential(part) => Kind::Sequential,
                None => Kind::Place,
            },
        }
    }

    /// Its blocks; nothing where that depends on what happens.
    pub fn blocks(&self, part: Part) -> Option<u64> {
        match part {
            Part::At(first) => Some(match (&self.tracks, self.track(first)) {
                (Some(tracks), Some(track)) => tracks.track_blocks(track.side).into(),
                (Some(tracks), None) => tracks.conventional_blocks(),
                (None, _) => self.extent(first).blocks.into(),
            }),
            Part::Elsewhere => Some(self.media.blocks()),
            _ => None,
        }
    }

    /// How many of its blocks are written, where only the next one can be.
    pub fn written(&self, part: Part) -> Option<u64> {
        let Part::At(first) = part else { return None };
        let unit = self.unit(first);
        self.is_sequential(part).then(|| self.media.report().get(unit.index as usize).map(|is| is.pointer.into()))?
    }

    /// What it is called.
    pub fn name(&self, part: Part) -> String {
        let first = match part {
            Part::Host => return "the host".to_owned(),
            Part::Ram | Part::Nowhere => return "RAM".to_owned(),
            Part::Buffer => return "the buffer".to_owned(),
            Part::Elsewhere => return "the whole disk".to_owned(),
            Part::At(first) => first,
        };
        if let Some(tracks) = &self.tracks {
            let Some(track) = self.track(first) else { return "the conventional tracks".to_owned() };
            let side = if track.side == Side::Bottom { "bottom" } else { "top" };
            let index = u64::from(track.group) * u64::from(tracks.tracks_of(track.side)) + u64::from(track.index);
            return format!("{side} track {index}");
        }
        let unit = self.unit(first);
        if let Some(band) = self.media.bands().and_then(|bands| bands.index(unit)) {
            return format!("band {band}");
        }
        match self.layer.recording {
            Recording::Conventional => "the disk".to_owned(),
            _ if self.is_sequential(part) => format!("{} {}", self.unit_word(), unit.index),
            _ => format!("conventional zone {}", unit.index),
        }
    }

    /// What it is called where a sentence begins.
    pub fn capitalised(&self, part: Part) -> String {
        let name = self.name(part);
        let mut letters = name.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    }
}
