//! How wide the columns of a table are, and how many stand side by side.

use super::text::letters;

/// Spaces between two columns.
pub const GAP: usize = 2;

/// What stands in a row under a heading.
pub enum Cell {
    /// A text of its own.
    Text(String),
    /// The text before it goes on here.
    Continued,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Cell {
    /// That text; nothing where one goes on.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Continued => "",
        }
    }
}

/// A word longer than this may be broken.
const LONG_WORD: usize = 40;

/// A name of a row longer than this may go over several lines.
const LONG_NAME: usize = 44;

/// A column and what it needs.
pub struct Column<'a> {
    /// Its place among all.
    pub at: usize,
    pub heading: &'a str,
    pub is_number: bool,
    /// The width below which numbers or words would be broken.
    least: usize,
    /// The width with which nothing goes over several lines.
    whole: usize,
}

/// The columns of a table.
pub fn columns<'a>(headings: &[&'a str], rows: &[Vec<Cell>]) -> Vec<Column<'a>> {
    let mut columns: Vec<_> = headings.iter().enumerate().map(|(at, heading)| column(at, heading, rows)).collect();
    for row in rows {
        widen(&mut columns, row);
    }
    columns
}

fn column<'a>(at: usize, heading: &'a str, rows: &[Vec<Cell>]) -> Column<'a> {
    let is_number = heading.starts_with('>');
    let heading = heading.trim_start_matches('>');
    let is_alone = |row: &&Vec<Cell>| !matches!(row.get(at + 1), Some(Cell::Continued));
    let cells = || rows.iter().filter(is_alone).filter_map(|row| row.get(at)).map(Cell::text);
    // What a row is called stands on one line, beside all that is said of it.
    let needs = |text: &str| if at == 0 { letters(text).min(LONG_NAME) } else { least(text, is_number) };
    let least = cells().map(needs).max().unwrap_or(0).max(longest_word(heading));
    let whole = cells().map(letters).max().unwrap_or(0).max(letters(heading)).max(least);
    Column { at, heading, is_number, least, whole }
}

/// What a text needs.
fn least(text: &str, is_number: bool) -> usize {
    if is_number { letters(text) } else { longest_word(text).min(LONG_WORD) }
}

fn longest_word(text: &str) -> usize {
    text.split([' ', '\n']).map(letters).max().unwrap_or(0)
}

/// Makes the columns that a text goes on over wide enough for it.
fn widen(columns: &mut [Column<'_>], row: &[Cell]) {
    for at in 0..row.len() {
        let end = (at + 1..row.len()).find(|&end| matches!(row[end], Cell::Text(_))).unwrap_or(row.len());
        if matches!(row[at], Cell::Text(_)) && end > at + 1 {
            let needed = least(row[at].text(), columns[at].is_number);
            let there = columns[at..end].iter().map(|column| column.least).sum::<usize>() + GAP * (end - at - 1);
            let last = &mut columns[end - 1];
            last.least += needed.saturating_sub(there);
            last.whole = last.whole.max(last.least);
        }
    }
}

/// The columns, in as few tables as they fit into. Each begins with the first column.
pub fn parts<'a>(columns: &'a [Column<'a>], width: usize) -> Vec<Vec<&'a Column<'a>>> {
    let mut parts: Vec<Vec<&Column<'_>>> = Vec::new();
    for column in columns {
        match parts.last_mut() {
            Some(part) if part.len() < 2 || needed(part) + GAP + column.least <= width => part.push(column),
            Some(part) => {
                let names = part[0];
                parts.push(vec![names, column]);
            }
            None => parts.push(vec![column]),
        }
    }
    parts
}

/// The width below which something of a table would be broken.
fn needed(part: &[&Column<'_>]) -> usize {
    part.iter().map(|column| column.least).sum::<usize>() + GAP * part.len().saturating_sub(1)
}

/// What each column of a table gets: what it needs, and of the rest as much as it would like or an even share.
pub fn widths(part: &[&Column<'_>], width: usize) -> Vec<usize> {
    let mut given: Vec<_> = part.iter().map(|column| column.least).collect();
    let mut left = width.saturating_sub(needed(part));
    let mut wanting: Vec<_> = (0..part.len()).collect();
    wanting.sort_by_key(|&at| part[at].whole - part[at].least);
    for (others, &at) in (0..wanting.len()).rev().zip(&wanting) {
        let more = (part[at].whole - part[at].least).min(left / (others + 1));
        given[at] += more;
        left -= more;
    }
    given
}
