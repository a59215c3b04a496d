//! What lies where while a story is told, as far as the story says it. `stage.js` of a page follows it in the same way.

use super::{End, Kind, Row, Scene, Story};

/// Blocks that were written for a reason, or destroyed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Laid {
    pub at: u64,
    pub blocks: u64,
    pub why: &'static str,
}

/// What lies in a row.
#[derive(Clone, Default)]
pub struct RowState {
    /// How much of it is written, where only the next block can be.
    pub written: Option<u64>,
    pub laid: Vec<Laid>,
}

pub struct State {
    pub rows: Vec<RowState>,
}

impl State {
    pub fn new(rows: &[Row]) -> Self {
        Self { rows: rows.iter().map(|row| RowState { written: row.written, laid: Vec::new() }).collect() }
    }

    /// A scene begins: what was in RAM for one request is needed by no other.
    pub fn begin(&mut self, story: &Story, scene: usize) {
        let is_new = scene > 0 && story.scenes[scene].request != story.scenes[scene - 1].request;
        let rams = story.rows.iter().zip(&mut self.rows).filter(|(row, _)| is_new && row.kind == Kind::Ram);
        rams.for_each(|(_, state)| state.laid.clear());
    }

    /// A scene is over.
    pub fn play(&mut self, rows: &[Row], scene: &Scene) {
        for piece in &scene.pieces {
            for (end, blocks) in &piece.destroyed {
                self.lay(rows, *end, u64::from(*blocks), "destroyed");
            }
            let Some(to) = piece.to else { continue };
            if scene.why == "reset" {
                self.rows[to.0] = RowState { written: self.rows[to.0].written.map(|_| 0), laid: Vec::new() };
                continue;
            }
            let blocks = u64::from(piece.blocks);
            let source = piece.from.map(|from| rows[from.0].kind);
            // What is newer is seen in the image that is made of old and new, in RAM and where that is written.
            self.lay(rows, to, blocks, if source == Some(Kind::Buffer) { "host" } else { scene.why });
            let Some(from) = piece.from.filter(|_| source == Some(Kind::Ram)) else { continue };
            let is_newer =
                |laid: &&Laid| laid.why == "host" && laid.at >= from.1 && laid.at + laid.blocks <= from.1 + blocks;
            let newer: Vec<_> = self.rows[from.0].laid.iter().filter(is_newer).copied().collect();
            for laid in newer {
                self.lay(rows, End(to.0, to.1 + laid.at - from.1), laid.blocks, "host");
            }
        }
    }

    /// Writes over what lay there; of what is written over in part, the rest still shows.
    fn lay(&mut self, rows: &[Row], end: End, blocks: u64, why: &'static str) {
        if matches!(rows[end.0].kind, Kind::Host | Kind::Elsewhere) {
            return;
        }
        let RowState { written, laid } = &mut self.rows[end.0];
        laid.retain(|old| old.at < end.1 || old.at + old.blocks > end.1 + blocks);
        laid.push(Laid { at: end.1, blocks, why });
        *written = written.map(|written| written.max(end.1 + blocks));
    }
}
