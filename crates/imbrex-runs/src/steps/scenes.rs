//! Operations joined to scenes, and the rows that these take place on.

use std::ops::Range;

use imbrex::block::{Extent, Pba};
use imbrex::plan::{Place, Why};
use imbrex::replay::{Asked, Did, DiskStep};

use super::places::{Part, Places};
use super::{End, Piece, Row, Scene};

/// The most rows that parts of the disk have. What else there is lies elsewhere.
const MOST_ROWS: usize = 16;
/// The most pieces of a scene that are drawn.
const MOST_PIECES: usize = 40;

/// Operations one after the other that do the same between the same places.
pub struct Joined<'a> {
    pub steps: &'a [DiskStep],
    /// The reason; none of a reset.
    pub why: Option<Why>,
    pub from: Part,
    pub to: Part,
    pub request: Option<Asked>,
    pub cleans: bool,
}

/// Joins operations to scenes.
pub fn joined<'a>(steps: &'a [DiskStep], places: &Places<'_>) -> Vec<Joined<'a>> {
    let ends = |step: &DiskStep| match step.did {
        Did::Copy { from, to, why, .. } => (Some(why), places.part(from), places.part(to)),
        Did::Reset(unit) => (None, Part::Nowhere, places.part_of(unit.start.block())),
    };
    let key = |step: &DiskStep| (ends(step), step.request, step.cleans);
    let scene = |steps: &'a [DiskStep]| {
        let ((why, from, to), request, cleans) = key(&steps[0]);
        Joined { steps, why, from, to, request, cleans }
    };
    steps.chunk_by(|a, b| key(a) == key(b)).map(scene).collect()
}

impl Joined<'_> {
    /// Whether it cleans or rewrites.
    pub fn cleans(&self) -> bool {
        self.why.is_none_or(Why::is_cleaning)
    }

    /// Whether the host reads from the disk, which touches nothing.
    pub fn is_host_read(&self) -> bool {
        self.to == Part::Host
    }

    /// Blocks that it moves or empties.
    pub fn blocks(&self) -> u64 {
        self.steps.iter().map(|step| u64::from(blocks(&step.did))).sum()
    }

    /// Blocks of the disk that it reads, and that it writes.
    pub fn moved(&self) -> (u64, u64) {
        let is_disk = |part| !matches!(part, Part::Host | Part::Ram | Part::Nowhere);
        let of = |is_so: bool| if is_so && self.why.is_some() { self.blocks() } else { 0 };
        (of(is_disk(self.from)), of(is_disk(self.to)))
    }

    pub fn begun_ns(&self) -> u64 {
        self.steps[0].begun_ns
    }

    pub fn end_ns(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.begun_ns + step.took_ns)
    }

    /// The blocks of the disk that it names, those that it destroys included.
    fn extents(&self) -> impl Iterator<Item = Extent<Pba>> {
        self.steps.iter().flat_map(|step| ends(&step.did).into_iter().flatten().chain(step.destroyed.iter().copied()))
    }
}

fn blocks(did: &Did) -> u32 {
    match did {
        Did::Copy { blocks, .. } => *blocks,
        Did::Reset(unit) => unit.blocks,
    }
}

/// The source and the target, where they are places.
fn ends(did: &Did) -> [Option<Extent<Pba>>; 2] {
    let at = |place: Option<Place>, blocks| match place {
        Some(Place::At(at)) => Some(Extent::new(at, blocks)),
        _ => None,
    };
    match *did {
        Did::Copy { from, to, blocks, .. } => [at(from, blocks), at(to, blocks)],
        Did::Reset(unit) => [None, Some(unit)],
    }
}

/// The rows of a story, and which part of the disk each of them is.
pub struct Rows {
    pub rows: Vec<Row>,
    parts: Vec<Part>,
}

impl Rows {
    /// Rows for what these scenes touch. What is only read by the host needs none.
    pub fn new(scenes: &[Joined<'_>], places: &Places<'_>) -> Self {
        let mut parts = vec![Part::Host];
        parts.extend(scenes.iter().flat_map(Joined::extents).any(|at| at.start.is_ram()).then_some(Part::Ram));
        let of_cleaning = scenes.iter().filter(|scene| scene.cleans());
        let others = scenes.iter().filter(|scene| !scene.cleans() && !scene.is_host_read());
        for at in of_cleaning.chain(others).flat_map(Joined::extents).filter(|at| !at.start.is_ram()) {
            let part = places.part_of(at.start.block());
            if parts.len() < MOST_ROWS && !parts.contains(&part) {
                parts.push(part);
            }
        }
        // Unless a row is all of the disk.
        if !parts.iter().any(|part| places.blocks(*part) == places.blocks(Part::Elsewhere)) {
            parts.push(Part::Elsewhere);
        }
        parts.sort_unstable();
        let rows = parts.iter().map(|part| row(*part, scenes, places)).collect();
        Self { rows, parts }
    }

    /// A scene as it is shown.
    pub fn scene(&self, joined: &Joined<'_>, says: String, places: &Places<'_>) -> Scene {
        let piece = |step: &DiskStep| self.piece(step, places);
        Scene {
            says,
            why: joined.why.map_or("reset", Why::name),
            begun_ms: joined.begun_ns() as f64 / 1e6,
            took_ms: (joined.end_ns() - joined.begun_ns()) as f64 / 1e6,
            request: joined.request.map(|asked| asked.number),
            filled: joined.steps[0].filled.map(|is| is.used as f64 / is.blocks.max(1) as f64),
            operations: joined.steps.len(),
            pieces: joined.steps.iter().take(MOST_PIECES).map(piece).collect(),
        }
    }

    fn piece(&self, step: &DiskStep, places: &Places<'_>) -> Piece {
        let [source, target] = ends(&step.did);
        let end = |at: Option<Extent<Pba>>, place: Option<Place>| match at {
            Some(at) => Some(self.end(at.start, places)),
            None => matches!(place, Some(Place::Host(_))).then_some(End(0, 0)),
        };
        let (from, to) = match step.did {
            Did::Copy { from, to, .. } => (end(source, from), end(target, to)),
            Did::Reset(_) => (None, end(target, None)),
        };
        let destroyed = step.destroyed.iter().map(|at| (self.end(at.start, places), at.blocks)).collect();
        Piece { from, to, blocks: blocks(&step.did), destroyed }
    }

    fn end(&self, at: Pba, places: &Places<'_>) -> End {
        let part = if at.is_ram() { Part::Ram } else { places.part_of(at.block()) };
        let row = self.parts.iter().position(|one| *one == part).unwrap_or(self.parts.len() - 1);
        End(row, at.block() - self.rows[row].first.unwrap_or(0))
    }
}

fn row(part: Part, scenes: &[Joined<'_>], places: &Places<'_>) -> Row {
    let of = |at: &Extent<Pba>| match part {
        Part::Ram => at.start.is_ram(),
        _ => !at.start.is_ram() && places.part_of(at.start.block()) == part,
    };
    let touched = || scenes.iter().flat_map(Joined::extents).filter(of);
    let end = touched().map(|at| at.end().block()).max().unwrap_or(1);
    let (first, blocks) = match part {
        Part::Host | Part::Ram | Part::Nowhere => (None, end),
        Part::Buffer => (Some(0), end),
        Part::At(first) => (Some(first), places.blocks(part).unwrap_or(end)),
        Part::Elsewhere => (Some(0), places.blocks(part).unwrap_or(end)),
    };
    let written =
        places.written(part).map(|now| written_before(first.unwrap_or(0)..first.unwrap_or(0) + blocks, now, scenes));
    Row { name: places.name(part), kind: places.kind(part), blocks, written, first }
}

/// How much of a unit, its blocks, was written before the scenes, which leave `now` blocks of it. Its first write says
/// it, since that is at the write pointer. Of a unit that is emptied before it is written to, what was read says it.
fn written_before(unit: Range<u64>, now: u64, scenes: &[Joined<'_>]) -> u64 {
    let within = |at: &Extent<Pba>| !at.start.is_ram() && unit.contains(&at.start.block());
    let mut read = 0;
    for step in scenes.iter().flat_map(|scene| scene.steps) {
        let [source, target] = ends(&step.did).map(|at| at.filter(within));
        match (step.did, target) {
            (Did::Copy { .. }, Some(at)) => return at.start.block() - unit.start,
            (Did::Reset(_), Some(_)) => return if read > 0 { read } else { unit.end - unit.start },
            _ => read = source.map_or(read, |at| read.max(at.end().block().min(unit.end) - unit.start)),
        }
    }
    now
}
