//! A bound, a layer or a schedule as it is written. `docs/json.md` describes every field; the version changes with them.

use imbrex_terminal::table;
use serde::Serialize;

use super::answer::Answer;
use super::question::{Count, Question};
use crate::row::Row;

/// The version of [`BoundRow`].
const VERSION: &str = "imbrex.bound/1";

/// What a row is about.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// What no layer can beat.
    Bound,
    /// A layer.
    Layer,
    /// What somebody reaches who knows all requests.
    Schedule,
}

/// One number that a layer is held against, or that of a layer.
#[derive(Clone, Debug, Serialize)]
pub struct BoundRow {
    schema: &'static str,
    /// The workload, and whether no disk ever saw it.
    pub trace: String,
    /// The same.
    pub synthetic: bool,
    seed: Option<u64>,
    /// The drive in the size that was taken.
    pub drive: String,
    drive_blocks: u64,
    block_bytes: u32,
    /// What is counted.
    pub counted: &'static str,
    /// Blocks of the buffer or the cache, or blocks to spare of a log.
    pub room_blocks: u64,
    /// What it is.
    pub is: Is,
    /// The name of the layer or of the schedule.
    pub name: String,
    config: toml::Table,
    /// Whether the lower bound holds for it.
    pub is_bounded: bool,
    /// How many there are.
    pub count: u64,
    /// That as a multiple of the bound, if there is one.
    pub of_bound: Option<f64>,
    /// That as a multiple of the best schedule's.
    pub of_schedule: Option<f64>,
    /// Blocks written to the media for each of the host, where moved blocks are counted.
    pub write_amplification: Option<f64>,
}

/// The rows about one question: the bound, the layers, the best first, and the schedules.
pub fn rows(question: &Question, answer: &Answer, layers: &[(&Row, &Count)]) -> Vec<BoundRow> {
    let Some((first, _)) = layers.first() else { return Vec::new() };
    let named = |is: Is, name: &str, count: u64| BoundRow::new(first, question, answer, (is, name, count));
    let mut own: Vec<_> = layers.iter().map(|(row, count)| BoundRow::of_layer(row, answer, count)).collect();
    own.sort_by_key(|row| row.count);
    let schedules = answer.schedules.iter().map(|(name, count)| named(Is::Schedule, name, *count));
    [named(Is::Bound, "no layer can beat", answer.least)].into_iter().chain(schedules).chain(own).collect()
}

impl BoundRow {
    fn new(row: &Row, question: &Question, answer: &Answer, (is, name, count): (Is, &str, u64)) -> Self {
        let times = |of: u64| (of > 0).then(|| count as f64 / of as f64);
        let written = row.outcome.host_write_blocks;
        let amplification = || (written + count) as f64 / written as f64;
        Self {
            schema: VERSION,
            trace: row.trace.clone(),
            synthetic: row.synthetic,
            seed: row.seed,
            drive: row.drive.clone(),
            drive_blocks: row.drive_blocks,
            block_bytes: row.block_bytes,
            counted: question.counted(),
            room_blocks: question.room(),
            is,
            name: name.to_owned(),
            config: toml::Table::new(),
            is_bounded: true,
            count,
            of_bound: times(answer.least),
            of_schedule: answer.reached().and_then(times),
            write_amplification: (matches!(question, Question::Moved(_)) && written > 0).then(amplification),
        }
    }

    fn of_layer(row: &Row, answer: &Answer, count: &Count) -> Self {
        let own = Self::new(row, &count.question, answer, (Is::Layer, row.layer, count.count));
        Self { config: row.config.clone(), is_bounded: count.is_bounded, ..own }
    }

    /// The size of the drive, as tables have it.
    #[must_use]
    pub fn drive_size(&self) -> String {
        table::bytes(self.drive_blocks * u64::from(self.block_bytes))
    }

    /// That of the buffer, the cache or what a log has to spare.
    #[must_use]
    pub fn room_size(&self) -> String {
        table::bytes(self.room_blocks * u64::from(self.block_bytes))
    }
}
