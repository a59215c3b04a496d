//! What a reader should know of runs before their numbers are compared: that layers had nothing to clean, that one did
//! not become steady, that the workload asks more of a disk than it can do, or that a sample had few zones.

use imbrex::plan::Why;
use imbrex_terminal::names::Names;
use imbrex_terminal::table::{bytes, count, milliseconds, paragraphs, percent, seconds};

use crate::command::Command;
use crate::remedy::{Remedy, room, taken};
use crate::room::Room;
use crate::row::Row;
use crate::steady::{Measure, Steady, WINDOW};

/// A disk that lets requests wait so long, on average, has more to do than it can.
const LONG_WAIT_MS: f64 = 1000.0;
/// A sample on fewer zones is a matter of chance.
const FEWEST_ZONES: u64 = 40;
/// How many times as many rounds are proposed where a layer did not become steady.
const MORE_ROUNDS: u32 = 4;

/// A sentence or two about some rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    said: String,
    /// What changes that.
    command: Option<String>,
    /// The numbers of the rows that it is about.
    rows: Vec<usize>,
}

impl Note {
    fn new(said: String, rows: Vec<usize>) -> Self {
        Self { said, command: None, rows }
    }

    /// All of it in a line.
    #[must_use]
    pub fn line(&self) -> String {
        self.command.as_ref().map_or_else(|| self.said.clone(), |command| format!("{} {command}", self.said))
    }

    /// All of it below a table. A command stays in one line, to be copied.
    #[must_use]
    pub fn shown(&self) -> String {
        let said = paragraphs(&self.said);
        self.command.as_ref().map_or_else(|| said.clone(), |command| format!("{said}\n  {command}"))
    }
}

/// The notes below a table of rows that `typed` made.
#[must_use]
pub fn shown(rows: &[Row], names: &Names, typed: &Command) -> String {
    let notes = notes(rows, names, typed);
    let mut mended: Vec<_> = rows.iter().filter_map(|row| row.mended(names)).collect();
    mended.dedup();
    let all = notes.iter().map(Note::shown).chain(mended.iter().map(|said| paragraphs(said)));
    all.collect::<Vec<_>>().join("\n")
}

/// Writes what there is to know of each row into it.
#[must_use]
pub fn told(mut rows: Vec<Row>, typed: &Command) -> Vec<Row> {
    let names = Names::of(rows.iter().map(|row| row.trace.as_str()));
    let notes = notes(&rows, &names, typed);
    for note in &notes {
        for at in &note.rows {
            rows.get_mut(*at).into_iter().for_each(|row| row.notes.push(note.line()));
        }
    }
    rows
}

/// The notes about rows that `typed` made.
#[must_use]
pub fn notes(rows: &[Row], names: &Names, typed: &Command) -> Vec<Note> {
    let numbered = || rows.iter().enumerate();
    let mut notes: Vec<Note> = Vec::new();
    let each = numbered().filter_map(|(at, row)| overloaded(at, row, names));
    for note in each.chain(numbered().filter_map(|(at, row)| coarse(at, row, names))) {
        match notes.iter_mut().find(|other| other.said == note.said) {
            Some(other) => other.rows.extend(note.rows),
            None => notes.push(note),
        }
    }
    notes.extend(
        each_once(rows.iter().map(|row| row.trace.as_str()))
            .iter()
            .filter_map(|trace| uncleaned(rows, trace, names, typed)),
    );
    notes.extend(numbered().filter_map(|(at, row)| unsteady(at, row, typed)));
    notes
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    names.for_each(|name| {
        if !once.contains(&name) {
            once.push(name);
        }
    });
    once
}

/// Says so if a conventional disk cannot serve the requests as they come.
fn overloaded(at: usize, row: &Row, names: &Names) -> Option<Note> {
    let mean = row.outcome.latency_ms.all.mean;
    let is_too_much = row.layer == "conventional" && (row.behind().is_some() || mean > LONG_WAIT_MS);
    let said = || {
        format!(
            "{} overloads even a conventional disk, where a request waits {} on average: latencies say how long the \
             queue is. --queue-depth 1 ignores the trace's times and sends a request when the one before is done.",
            row.called(names),
            milliseconds(mean)
        )
    };
    let is_said = is_too_much && row.options.queue_depth.is_none() && !row.options.untimed;
    is_said.then(|| Note::new(said(), vec![at]))
}

/// Says so if a sample met a drive of few zones.
fn coarse(at: usize, row: &Row, names: &Names) -> Option<Note> {
    row.sample?;
    let zones = row.drive_blocks / u64::from(row.zone_blocks?);
    let said = || {
        format!(
            "{} is sampled on a drive of {} zones: with less than {FEWEST_ZONES} of them, counts may be far from those of \
             all blocks. Shorter zones and a larger part help.",
            row.called(names),
            count(zones)
        )
    };
    (zones < FEWEST_ZONES).then(|| Note::new(said(), vec![at]))
}

/// Which layers had nothing to clean on a workload, why, and what would change that. A layer that has no choice when it
/// rewrites is not asked: that it rewrote says nothing of the others.
fn uncleaned(rows: &[Row], trace: &str, names: &Names, typed: &Command) -> Option<Note> {
    let asked = |row: &&Row| row.trace == trace && room(row) != Room::None && row.outcome.host_write_blocks > 0;
    let (idle, busy): (Vec<_>, Vec<_>) =
        rows.iter().enumerate().filter(|(_, row)| asked(row)).partition(|(_, row)| had_nothing_to_clean(row));
    let (_, least) = idle.iter().min_by_key(|(_, row)| room(row).blocks())?;
    let layers = each_once(idle.iter().map(|(_, row)| row.layer));
    let on =
        if rows.iter().any(|row| row.trace != trace) { format!(" on {}", least.called(names)) } else { String::new() };
    let (what, why) = (layers.join(", "), because(least));
    let smallest = if layers.len() > 1 { "the smallest room is" } else { "the room is" };
    let is_one = layers.len() + busy.len() == 1;
    let unfair = match (busy.is_empty(), is_one) {
        (true, true) => " Its figures say nothing of how it cleans.",
        (true, false) => " So the layers do not differ in how they clean.",
        (false, _) => " It is not fair to compare the others with that.",
    };
    let remedies = idle.iter().map(|(_, row)| Remedy::of(row)).collect::<Option<Vec<_>>>();
    let remedy = remedies.and_then(|all| all.into_iter().reduce(Remedy::and));
    // A layer that is to become steady is given as many requests as it needs, so a longer workload is a round.
    let requests = least.steady.as_ref().map_or(least.outcome.requests, Steady::requests_of_pass);
    let command = remedy.map(|remedy| remedy.command(typed, requests).shown());
    let leads = if command.is_some() { " This makes a difference:" } else { "" };
    let said =
        format!("Nothing had to be cleaned by {what}{on}: {why}, and {smallest} {}.{unfair}{leads}", space(least));
    Some(Note { command, ..Note::new(said, idle.iter().map(|(at, _)| *at).collect()) })
}

/// How much was written, and how much of that had to be taken in.
fn because(row: &Row) -> String {
    let size = |blocks: u64| bytes(blocks * u64::from(row.block_bytes));
    let (written, taken) = (row.outcome.host_write_blocks, taken(row));
    let of_it = if (1..written).contains(&taken) {
        format!(", {} of it blocks that were not in that room yet", size(taken))
    } else {
        String::new()
    };
    format!("{} were written{of_it}", size(written))
}

/// What the layer has room in.
fn space(row: &Row) -> String {
    let size = |blocks: u64| bytes(blocks * u64::from(row.block_bytes));
    match room(row) {
        Room::None => "nothing".to_owned(),
        Room::Buffer(blocks) => format!("{} of buffer", size(blocks)),
        Room::Spare(blocks) => format!("{} of spare space", size(blocks)),
    }
}

/// Whether the layer moved no block, rewrote and emptied nothing though something was written. A cache did if nothing
/// has left it: what its flash moves is no matter of the cache.
#[must_use]
pub fn had_nothing_to_clean(row: &Row) -> bool {
    let outcome = &row.outcome;
    if let Some(home) = outcome.devices.last() {
        return outcome.evicted_blocks == 0 && home.outcome.host_write_blocks == 0;
    }
    let moved = |why: &Why| why.is_cleaning() && outcome.media_write_blocks.get(*why) > 0;
    let emptied = outcome.rmw + outcome.rmw_free + outcome.evicted_blocks + outcome.resets;
    emptied == 0 && !Why::ALL.iter().any(moved)
}

/// Says so if a layer did not become steady.
fn unsteady(at: usize, row: &Row, typed: &Command) -> Option<Note> {
    let steady = row.steady.as_ref().filter(|steady| !steady.is_steady)?;
    let written = bytes(steady.host_write_blocks * u64::from(row.block_bytes));
    let done = format!("{} rounds with {written} written", count(steady.rounds.into()));
    let took = if row.options.untimed { String::new() } else { format!(" in {}", seconds(steady.simulated_seconds)) };
    if had_nothing_to_clean(row) {
        let said = format!("{} did not become steady: after {done}{took} its room was not full yet.", row.layer);
        return Some(Note::new(said, vec![at]));
    }
    let what = match steady.measure {
        Measure::WriteAmplification => "write amplification",
        Measure::Rewrites => "rewrites for each block written",
    };
    let said = format!(
        "{} did not become steady ({done}{took}): of the last {WINDOW}, which the figures are of, {what} varied by {} and \
         went up or down by {}. With more rounds:",
        row.layer,
        percent(steady.range),
        percent(steady.slope)
    );
    let rounds = steady.rounds.saturating_mul(MORE_ROUNDS).to_string();
    let command = Some(typed.clone().with("--steady-rounds", &rounds).shown());
    Some(Note { command, ..Note::new(said, vec![at]) })
}

/// What a layer was measured in, in a few words.
#[must_use]
pub fn when_steady(row: &Row) -> Option<String> {
    let steady = row.steady.as_ref()?;
    let size = bytes(steady.host_write_blocks * u64::from(row.block_bytes));
    let (rounds, took) = (count(steady.rounds.into()), seconds(steady.simulated_seconds));
    let is = if steady.is_steady { "after" } else { "not after" };
    Some(format!("{is} {rounds} rounds: {} requests, {size} written, {took}", count(steady.requests)))
}
