//! Results that are there already, for a page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use imbrex_terminal::names::Names;
use serde_json::{Map, Value};

use crate::page::Page;

/// Adds what is in these files, and in the files of these folders.
///
/// # Errors
/// When one of them holds no results.
pub fn add(page: &mut Page, results: &[PathBuf]) -> Result<()> {
    let files = files(results)?;
    let shown: Vec<_> = files.iter().map(|path| path.to_string_lossy()).collect();
    let names = Names::of(shown.iter().map(|path| &**path));
    for (path, shown) in files.iter().zip(&shown) {
        let add = |rows| page.add_read(names.name(shown).to_owned(), rows);
        // In one message, which says what is wrong with the file too.
        rows(path).and_then(add).map_err(|e| anyhow!("{}: {e:#}", path.display()))?;
    }
    Ok(())
}

/// What a page of these files and folders is called: by the names of them, if they are few.
#[must_use]
pub fn title(results: &[PathBuf]) -> String {
    let shown: Vec<_> = results.iter().map(|path| path.to_string_lossy()).collect();
    let names = Names::of(shown.iter().map(|path| &**path));
    match shown.as_slice() {
        [all @ .., last] if all.len() < 3 => {
            let all: Vec<_> = all.iter().map(|path| names.name(path)).collect();
            if all.is_empty() {
                names.name(last).to_owned()
            } else {
                format!("{} and {}", all.join(", "), names.name(last))
            }
        }
        [first, others @ ..] => format!("{} and {} other files", names.name(first), others.len()),
        [] => String::new(),
    }
}

/// The files that were named, and those of the folders that were, in the order of their names.
fn files(results: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in results {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(|cause| anyhow!("cannot read {}: {cause}", path.display()))?;
        let mut inside: Vec<_> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        inside.retain(|path| matches!(extension(path), "json" | "csv"));
        if inside.is_empty() {
            bail!("{}: no results are in this folder; they end in .json or .csv", path.display());
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

fn rows(path: &Path) -> Result<Vec<Value>> {
    let rows = if extension(path) == "csv" { rows_of_csv(path) } else { rows_of_json(path) }?;
    if rows.is_empty() {
        bail!("holds no rows");
    }
    Ok(rows)
}

/// Rows whose columns are named by their levels, as [`csv`](imbrex_terminal::output::csv) writes them.
fn rows_of_csv(path: &Path) -> Result<Vec<Value>> {
    let mut reader = csv::Reader::from_path(path).map_err(|cause| anyhow!("cannot be read: {cause}"))?;
    let names = reader.headers()?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|cause| anyhow!("is no CSV: {cause}"))?;
        let mut row = Map::new();
        for (name, cell) in names.iter().zip(&record).filter(|(_, cell)| !cell.is_empty()) {
            put(&mut row, name, value_of(cell));
        }
        rows.push(Value::Object(row));
    }
    Ok(rows)
}

/// A number, a truth or a list as such; what is none of them is text.
fn value_of(cell: &str) -> Value {
    let read: Option<Value> = serde_json::from_str(cell).ok();
    read.filter(|value| !value.is_object() && !value.is_string()).unwrap_or_else(|| Value::from(cell))
}

fn put(row: &mut Map<String, Value>, name: &str, value: Value) {
    let Some((level, rest)) = name.split_once('.') else {
        row.insert(name.to_owned(), value);
        return;
    };
    if let Value::Object(inner) = row.entry(level).or_insert_with(|| Value::Object(Map::new())) {
        put(inner, rest, value);
    }
}

fn rows_of_json(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).map_err(|cause| anyhow!("cannot be read: {cause}"))?;
    let remedy = "results are arrays as --format json writes them";
    let read: Value = serde_json::from_str(&text).map_err(|cause| anyhow!("is no JSON: {cause}; {remedy}"))?;
    match read {
        Value::Array(rows) => Ok(rows),
        // `bench` says what the rows have in common first.
        Value::Object(mut all) if all.get("rows").is_some_and(Value::is_array) => {
            Ok(all["rows"].as_array_mut().map(std::mem::take).unwrap_or_default())
        }
        _ => bail!("is no array of rows; {remedy}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_of_files_is_named_by_them() {
        let of = |paths: &[&str]| title(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["results/a.json"]), "a.json");
        assert_eq!(of(&["old/a.json", "new/a.json", "b.csv"]), "old/a.json, new/a.json and b.csv");
        assert_eq!(of(&["a", "b", "c", "d", "e"]), "a and 4 other files");
    }

    #[test]
    fn rows_of_csv_are_those_of_json() {
        let rows = [json!({
            "schema": "imbrex.run/3", "seed": 7, "part": 0.1, "is": true, "of": { "a": { "b": 1 }, "c": "1%" }, "all": [1, 2],
        })];
        let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        fs::write(file.path(), imbrex_terminal::output::csv(&rows).unwrap()).unwrap();
        assert_eq!(super::rows(file.path()).unwrap(), rows);
    }
}
