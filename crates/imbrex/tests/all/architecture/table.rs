//! The table "Where things live" of docs/architecture.md, and whether the code keeps to its column "may know".
//!
//! A row names crates, and modules of those that are cut further. They may know what the last column lists: modules and
//! crates by name, `vocabulary` (the row that holds it), `each other` (the row itself), `all above`, `the library`, or
//! `nothing`.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{ModulePath, Sources};
use super::uses::Use;

/// The crates whose modules have rows of their own.
const CUT: [&str; 3] = ["imbrex_core", "imbrex_layers", "imbrex_simulation"];

/// The crates of the library; users import the last one, which shows what is in the others.
const LIBRARY: [&str; 7] =
    ["imbrex_core", "imbrex_layers", "imbrex_trace", "imbrex_engine", "imbrex_explorer", "imbrex_simulation", "imbrex"];

/// A module of a crate that is cut, with all below it, or another crate.
type Room = ModulePath;

/// A row of the table.
struct Row {
    rooms: Vec<Room>,
    is_vocabulary: bool,
    /// What the last column lists.
    terms: Vec<String>,
}

/// Everything in which `document` and the code do not agree.
pub fn disagreements(document: &str, sources: &Sources, uses: &[Use]) -> Vec<String> {
    let rooms = rooms(sources);
    let rows = rows(document, &rooms);
    let mut wrong = misnamed(&rows, &rooms);
    let mut known: BTreeMap<&Room, BTreeSet<Room>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let mut allowed = BTreeSet::new();
        for term in &row.terms {
            match meaning(term, &rows, index, &rooms) {
                Some(rooms) => allowed.extend(rooms),
                None => wrong.push(format!("{}: what is '{term}'?", shown(&row.rooms))),
            }
        }
        for room in &row.rooms {
            known.insert(room, allowed.clone());
        }
    }
    wrong.extend(forbidden(&known, uses));
    wrong.extend(rows.iter().flat_map(|row| unused(row, uses, &rooms)));
    wrong
}

fn rows(document: &str, rooms: &BTreeSet<Room>) -> Vec<Row> {
    let section = document.split("\n## Where things live\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with('|')).skip(2);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [places, holds, may_know] = cells[..] else { panic!("a row of three columns: {line}") };
            Row {
                rooms: places.split(',').map(|place| room(place.trim(), rooms)).collect(),
                is_vocabulary: holds.contains("the vocabulary"),
                terms: may_know.split(',').map(|term| term.trim().to_owned()).collect(),
            }
        })
        .collect()
}

/// The room that a name in backticks stands for: a crate as `imbrex` or `imbrex-…`, or a module of one that is cut.
fn room(place: &str, rooms: &BTreeSet<Room>) -> Room {
    let name = place.trim_matches('`').trim_end_matches('/').replace('-', "_");
    let is_module = |room: &&Room| room.len() > 1 && room.last() == Some(&name);
    rooms.iter().find(is_module).cloned().unwrap_or_else(|| vec![name])
}

/// The room that a module is in; none for the root of a crate that is cut.
fn room_of(module: &[String]) -> Option<Room> {
    match module {
        [of] if CUT.contains(&of.as_str()) => None,
        [of, name, ..] if CUT.contains(&of.as_str()) => Some(vec![of.clone(), name.clone()]),
        [other, ..] => Some(vec![other.clone()]),
        [] => None,
    }
}

fn rooms(sources: &Sources) -> BTreeSet<Room> {
    sources.modules.keys().filter_map(|module| room_of(module)).collect()
}

/// Rooms that are in no row or in several, and names of none.
fn misnamed(rows: &[Row], rooms: &BTreeSet<Room>) -> Vec<String> {
    let named: Vec<&Room> = rows.iter().flat_map(|row| &row.rooms).collect();
    let times = |room: &Room| named.iter().filter(|name| **name == room).count();
    let in_rows = rooms.iter().filter(|room| times(room) != 1);
    let in_rows = in_rows.map(|room| format!("{} is in {} rows of the table, not in one", name(room), times(room)));
    let nowhere = named.iter().filter(|name| !rooms.contains(**name));
    in_rows.chain(nowhere.map(|room| format!("there is no {}", name(room)))).collect()
}

/// The rooms that a term of row `index` stands for.
fn meaning(term: &str, rows: &[Row], index: usize, rooms: &BTreeSet<Room>) -> Option<Vec<Room>> {
    let all = |rows: &[Row]| rows.iter().flat_map(|row| row.rooms.clone()).collect();
    match term {
        "nothing" => Some(Vec::new()),
        "each other" => Some(rows[index].rooms.clone()),
        "all above" => Some(all(&rows[..index])),
        "vocabulary" => rows.iter().find(|row| row.is_vocabulary).map(|row| row.rooms.clone()),
        "the library" => Some(rooms.iter().filter(|room| LIBRARY.contains(&room[0].as_str())).cloned().collect()),
        name if name.starts_with('`') => Some(vec![room(name, rooms)]).filter(|one| rooms.contains(&one[0])),
        _ => None,
    }
}

fn forbidden(known: &BTreeMap<&Room, BTreeSet<Room>>, uses: &[Use]) -> Vec<String> {
    let mut wrong = BTreeMap::new();
    for one in uses {
        let (Some(by), Some(of)) = (room_of(&one.by), room_of(&one.of)) else { continue };
        let may = known.get(&by).is_some_and(|known| known.contains(&of));
        if by != of && !may {
            let says = format!("{} may not know {}", name(&by), name(&of));
            wrong.entry(says).or_insert_with(|| format!("{} line {}", one.by.join("::"), one.named.line));
        }
    }
    wrong.into_iter().map(|(says, place)| format!("{says}, but {place} does")).collect()
}

/// What a row allows by name and none of its rooms needs.
fn unused(row: &Row, uses: &[Use], rooms: &BTreeSet<Room>) -> Vec<String> {
    let by_name = row.terms.iter().filter(|term| term.starts_with('`'));
    let is_used = |of: &Room| {
        let used = uses.iter().filter(|one| room_of(&one.of).as_ref() == Some(of));
        used.filter_map(|one| room_of(&one.by)).any(|by| row.rooms.contains(&by))
    };
    let unused = by_name.filter(|term| !is_used(&room(term, rooms)));
    unused.map(|term| format!("{} may know {term}, but does not", shown(&row.rooms))).collect()
}

fn name(room: &Room) -> String {
    room.join("::")
}

fn shown(rooms: &[Room]) -> String {
    rooms.iter().map(name).collect::<Vec<_>>().join(", ")
}
