//! Results as a table, as JSON or as CSV, to standard output or into a file. All three come from the same rows.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::new_file::NewFile;

/// How results are written.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// An array with one object per row; see docs/json.md
    Json,
    /// The numbers of the JSON in columns, named as there with the levels joined by dots
    Csv,
}

impl Format {
    /// What a file of this name is to hold, if its ending says that.
    fn of_ending(path: &Path) -> Option<Self> {
        match ending(path) {
            Some("json") => Some(Self::Json),
            Some("csv") => Some(Self::Csv),
            _ => None,
        }
    }

    /// What a file of data is to hold that `option` names. Without an ending, as a pipe is, it is CSV.
    ///
    /// # Errors
    /// When its ending is of something else.
    pub fn of_data(option: &str, path: &Path) -> Result<Self> {
        match Self::of_ending(path) {
            Some(format) => Ok(format),
            None if path.extension().is_none() => Ok(Self::Csv),
            None => {
                bail!("{option} {}: data are written as .csv or .json; end its name in one of these", path.display())
            }
        }
    }

    /// Rows as data: for other programs a table is CSV.
    pub fn written<T: Serialize>(self, rows: &[T]) -> Result<Vec<u8>> {
        let Self::Json = self else { return csv(rows) };
        let mut text = serde_json::to_vec_pretty(rows)?;
        text.push(b'\n');
        Ok(text)
    }
}

/// What stands behind the last dot of a file's name.
pub fn ending(path: &Path) -> Option<&str> {
    path.extension().and_then(OsStr::to_str)
}

/// Endings of files that hold no table.
const NO_TABLES: [&str; 6] = ["parquet", "html", "pdf", "png", "svg", "toml"];

/// Where results go.
#[derive(Args)]
pub struct OutputArguments {
    /// How to write the results; otherwise as the ending of --output says, or as a table
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write them to FILE, which appears when it is complete, instead of standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Results yet to come.
pub struct Output {
    format: Format,
    file: Option<NewFile>,
}

impl OutputArguments {
    /// How results are written.
    pub fn format(&self) -> Format {
        self.format.or_else(|| Format::of_ending(self.file.as_deref()?)).unwrap_or(Format::Table)
    }

    /// Makes sure that results can be written before the work for them begins.
    pub fn open(&self) -> Result<Output> {
        let format = self.format();
        if let Some(path) =
            self.file.as_deref().filter(|path| ending(path).is_some_and(|ending| NO_TABLES.contains(&ending)))
        {
            bail!(
                "--output {}: results are written as .json, .csv or .txt; end its name in one of these",
                path.display()
            );
        }
        let file = self.file.as_deref().map(NewFile::create).transpose()?;
        Ok(Output { format, file })
    }
}

impl Output {
    /// To standard output.
    pub fn standard(format: Format) -> Self {
        Self { format, file: None }
    }

    /// Writes `rows`, or the table that shows them.
    pub fn write<T: Serialize>(self, rows: &[T], table: impl FnOnce() -> String) -> Result<()> {
        let text = match self.format {
            Format::Table => table().into_bytes(),
            Format::Json | Format::Csv => self.format.written(rows)?,
        };
        self.text(text)
    }

    /// Writes what is no rows, as JSON even where a table is the usual format.
    pub fn document(self, document: &impl Serialize) -> Result<()> {
        if self.format == Format::Csv {
            bail!("this has no rows for CSV; it is written as JSON");
        }
        let text = serde_json::to_vec_pretty(document)?;
        self.text(text)
    }

    fn text(self, mut text: Vec<u8>) -> Result<()> {
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        match self.file {
            Some(mut file) => {
                file.write_all(&text)?;
                file.finish()
            }
            None => Ok(io::stdout().lock().write_all(&text)?),
        }
    }
}

/// Writes a line, or several, to standard output.
pub fn print_line(text: impl Display) -> Result<()> {
    Ok(io::stdout().lock().write_all(format!("{text}\n").as_bytes())?)
}

/// The names of the columns come first: all that any row has, in the order in which they turn up.
pub fn csv<T: Serialize>(rows: &[T]) -> Result<Vec<u8>> {
    let rows = rows.iter().map(columns).collect::<Result<Vec<_>>>()?;
    let mut names = Map::new();
    for name in rows.iter().flat_map(Map::keys) {
        names.entry(name.clone()).or_insert(Value::Null);
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(names.keys())?;
    for row in &rows {
        writer.write_record(names.keys().map(|name| cell(row.get(name))))?;
    }
    Ok(writer.into_inner().map_err(csv::IntoInnerError::into_error)?)
}

/// A row without levels: nested names are joined with a dot.
pub fn columns<T: Serialize>(row: &T) -> Result<Map<String, Value>> {
    let mut columns = Map::new();
    flatten(String::new(), serde_json::to_value(row)?, &mut columns);
    Ok(columns)
}

fn flatten(name: String, value: Value, columns: &mut Map<String, Value>) {
    let Value::Object(fields) = value else {
        columns.insert(name, value);
        return;
    };
    for (field, value) in fields {
        let name = if name.is_empty() { field } else { format!("{name}.{field}") };
        flatten(name, value, columns);
    }
}

/// What stands in a cell: nothing for what a row does not have.
pub fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}
