//! What the disk does in a few seconds of a replay, step by step, as a page plays it and as a picture that moves.
//!
//! The replay gives operations. `places` says on which zone, band or track each of them works; `scenes` joins those
//! that belong together; `words` says each scene in a sentence; `picture` draws them as one SVG.

mod picture;
mod places;
mod scenes;
mod state;
mod words;

use std::ops::Range;

use imbrex::layers::LayerInfo;
use imbrex::media::Media;
use imbrex::replay::DiskStep;
use serde::Serialize;

use places::Places;
use scenes::{Joined, Rows};

/// The most scenes that are shown.
const MOST_SCENES: usize = 160;
/// How many there are of a disk that cleans nothing.
const WITHOUT_CLEANING: usize = 40;
/// The most in a picture.
const IN_PICTURE: usize = 11;
/// How many of them come after the first request that had something cleaned.
const AFTER: usize = 1;
/// Scenes before the first that cleans where a page or a picture begins.
const BEFORE: usize = 3;

/// What the disk does, as it is shown.
///
/// ```
/// use imbrex::block::{Access, Extent, Lba, Pba, Request};
/// use imbrex::media::Conventional;
/// use imbrex::plan::{Place, Why};
/// use imbrex::replay::{Asked, Did, DiskStep};
/// use imbrex_runs::steps::Story;
///
/// let layer = imbrex::layers::find("conventional")?;
/// let did = Did::Copy { from: Some(Place::Host(0)), to: Some(Place::At(Pba::disk(7))), blocks: 2, why: Why::Host };
/// let request = Request { access: Access::Write, at: Extent::new(Lba(7), 2) };
/// let request = Some(Asked { number: 1, request });
/// let step = DiskStep { did, begun_ns: 0, took_ns: 9_000_000, request, cleans: false, filled: None, destroyed: Vec::new() };
/// let story = Story::of(&[step], &Conventional::new(Pba::DISK, 1000), layer, 4096);
/// assert_eq!(story.scenes[0].says, "Request 1 writes 8 KiB to block 7. It overwrites in place what was there.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Serialize)]
pub struct Story {
    /// What stands below each other: the host, RAM, and the parts of the disk in the order in which they lie there.
    pub rows: Vec<Row>,
    /// What happens, in its order.
    pub scenes: Vec<Scene>,
    /// The scene to begin with: shortly before the first that cleans.
    pub start: usize,
    /// Whether something is cleaned or rewritten.
    pub cleans: bool,
    /// Blocks of the disk.
    pub disk_blocks: u64,
}

/// A place that has a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// Which kind of place it is.
    pub kind: Kind,
    /// Its blocks.
    pub blocks: u64,
    /// How many of them are written when the story begins, where only the next one can be.
    pub written: Option<u64>,
    /// Its first block on the disk; nothing beside the disk.
    pub first: Option<u64>,
}

/// Which kind of place has a row.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Who reads and writes.
    Host,
    /// The memory through which rewrites go.
    Ram,
    /// A buffer before zones or bands.
    Buffer,
    /// A zone, band or erase block with a write pointer.
    Sequential,
    /// Blocks that are overwritten in place.
    Place,
    /// A bottom track of an interlaced disk.
    Bottom,
    /// A top track of one.
    Top,
    /// All of the disk, for what is somewhere else on it.
    Elsewhere,
}

/// Operations that belong together.
#[derive(Clone, Serialize)]
pub struct Scene {
    /// What happens, in a sentence or two.
    pub says: String,
    /// The reason: that of the plan, or `reset`.
    pub why: &'static str,
    /// When it begins, in ms of simulated time.
    pub begun_ms: f64,
    /// How long it takes, in ms.
    pub took_ms: f64,
    /// The number of the request that is being served; nothing in idle time.
    pub request: Option<u64>,
    /// The part of the layer's buffer, cache or bands that is in use, if the layer says so.
    pub filled: Option<f64>,
    /// How many operations it has.
    pub operations: usize,
    /// What moves. Of very many pieces only the first are drawn.
    pub pieces: Vec<Piece>,
}

/// Blocks that move from one row to another, or are emptied.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Piece {
    /// From here; nothing if they come from nowhere that has a row.
    pub from: Option<End>,
    /// To here.
    pub to: Option<End>,
    /// How many blocks.
    pub blocks: u32,
    /// What lies over the target and is destroyed: the place, and how many blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destroyed: Vec<(End, u32)>,
}

/// A block of a row: the number of the row and that of the block in it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct End(pub usize, pub u64);

impl Row {
    /// Whether this row and the next one are neighbouring tracks of which one lies over the other.
    fn overlaps(&self, next: &Self) -> bool {
        let is_pair = matches!((self.kind, next.kind), (Kind::Bottom, Kind::Top) | (Kind::Top, Kind::Bottom));
        is_pair && self.first.map(|first| first + self.blocks) == next.first
    }
}

impl Story {
    /// The story of these operations of `layer`, on blocks of `block_bytes` bytes; `media` are as they leave them.
    #[must_use]
    pub fn of(steps: &[DiskStep], media: &dyn Media, layer: &LayerInfo, block_bytes: u32) -> Self {
        Self::told(steps, media, layer, block_bytes, |scenes| match scenes.iter().position(Joined::cleans) {
            Some(_) => 0..scenes.len().min(MOST_SCENES),
            None => scenes.len().saturating_sub(WITHOUT_CLEANING)..scenes.len(),
        })
    }

    /// What of it a picture has time for: the first cleaning, what comes before it, and what comes after it.
    #[must_use]
    pub fn short(steps: &[DiskStep], media: &dyn Media, layer: &LayerInfo, block_bytes: u32) -> Self {
        Self::told(steps, media, layer, block_bytes, |scenes| {
            let first = scenes.iter().position(Joined::cleans).unwrap_or(0);
            let is_of_it = |scene: &&Joined<'_>| scene.request == scenes[first].request;
            let end = first + scenes[first..].iter().take_while(is_of_it).count() + AFTER;
            let begin = first.saturating_sub(BEFORE);
            begin..end.min(begin + IN_PICTURE).min(scenes.len())
        })
    }

    fn told(
        steps: &[DiskStep],
        media: &dyn Media,
        layer: &LayerInfo,
        block_bytes: u32,
        choose: impl FnOnce(&[Joined<'_>]) -> Range<usize>,
    ) -> Self {
        let places = Places::new(media, layer);
        let all = scenes::joined(steps, &places);
        let said = words::said(&all, &places, block_bytes);
        let range = choose(&all);
        let (shown, said) = (&all[range.clone()], &said[range]);
        let rows = Rows::new(shown, &places);
        let scenes = shown.iter().zip(said).map(|(joined, says)| rows.scene(joined, says.clone(), &places)).collect();
        let first = shown.iter().position(Joined::cleans);
        let start = first.unwrap_or(0).saturating_sub(BEFORE);
        Self { rows: rows.rows, scenes, start, cleans: first.is_some(), disk_blocks: media.blocks() }
    }

    /// The story as one SVG that moves, over and over. Where motion is unwanted it stands still.
    #[must_use]
    pub fn picture(&self, title: &str) -> String {
        picture::picture(self, title)
    }
}

#[cfg(test)]
mod tests;
