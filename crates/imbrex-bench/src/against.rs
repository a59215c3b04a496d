//! `--against`: rows beside those of an earlier run, in ratios.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use imbrex_terminal::say::note;
use imbrex_terminal::table::paragraphs;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::one_message;

/// What identifies a row, in both runs.
pub trait Named {
    /// The `schema` of its JSON.
    const SCHEMA: &'static str;

    /// Its name, the same whenever the same is measured.
    fn name(&self) -> String;
}

/// The rows of an earlier run.
pub struct Earlier<T> {
    file: String,
    rows: Vec<T>,
    /// Names of rows that are on one side only, of this run and of the earlier one.
    alone: [Vec<String>; 2],
}

impl<T: Named + DeserializeOwned> Earlier<T> {
    /// Reads what `imbrex bench --format json` wrote.
    ///
    /// # Errors
    /// When the file cannot be read, or is not that.
    pub fn read(path: &Path, quick: bool) -> Result<Self> {
        Self::rows_of(path, quick).map_err(one_message)
    }

    fn rows_of(path: &Path, quick: bool) -> Result<Self> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("--against {file}"))?;
        let all: Value = serde_json::from_str(&text).with_context(|| format!("--against {file}: it is no JSON"))?;
        if all.get("quick").and_then(Value::as_bool).is_some_and(|other| other != quick) {
            note(format_args!("{file} is of a run with{} --quick", if quick { "out" } else { "" }));
        }
        let rows = all.get("rows").unwrap_or(&all).as_array().filter(|rows| !rows.is_empty());
        let Some(rows) = rows else {
            bail!("--against {file}: there are no rows of `imbrex bench --format json` in it")
        };
        let row = |row: &Value| match row.get("schema").and_then(Value::as_str) {
            Some(schema) if schema == T::SCHEMA => Ok(serde_json::from_value(row.clone())?),
            Some(schema) => bail!("it holds {schema}, and what is measured now is {}", T::SCHEMA),
            None => bail!("it holds an object without a schema"),
        };
        let rows = rows.iter().map(row).collect::<Result<_>>().with_context(|| format!("--against {file}"))?;
        Ok(Self { file, rows, alone: Default::default() })
    }

    /// Shows each of `rows` the earlier one of its name, where there is one.
    ///
    /// # Errors
    /// When there is none for any of them.
    pub fn pair(&mut self, rows: &mut [T], mut each: impl FnMut(&mut T, &T)) -> Result<()> {
        let mut left: Vec<&T> = self.rows.iter().collect();
        for row in rows.iter_mut() {
            let name = row.name();
            match left.iter().position(|earlier| earlier.name() == name) {
                Some(at) => each(row, left.remove(at)),
                None => self.alone[0].push(name),
            }
        }
        if self.alone[0].len() == rows.len() {
            bail!("--against {}: it has none of the rows that were measured", self.file);
        }
        self.alone[1] = left.iter().map(|row| row.name()).collect();
        Ok(())
    }

    /// What is to be said beside the rows: those that are on one side only.
    pub fn missing(&self) -> Vec<String> {
        let says = [format!("Not in {}", self.file), format!("Only in {}", self.file)];
        let lines = says.iter().zip(&self.alone).filter(|(_, names)| !names.is_empty());
        lines.map(|(what, names)| format!("{what}: {}.", names.join("; "))).collect()
    }
}

/// What a table ends with.
pub fn legend(missing: &[String]) -> String {
    missing.iter().map(|line| format!("\n{}\n", paragraphs(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Row {
        what: String,
        rate: f64,
    }

    impl Named for Row {
        const SCHEMA: &'static str = "imbrex.test/1";

        fn name(&self) -> String {
            self.what.clone()
        }
    }

    fn read(text: &str) -> Result<Earlier<Row>> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), text)?;
        Earlier::read(file.path(), false)
    }

    fn fault(text: &str) -> String {
        format!("{:#}", read(text).err().unwrap())
    }

    #[test]
    fn rows_meet_by_their_names_and_others_are_named() {
        let rows =
            r#"[{"schema":"imbrex.test/1","what":"a","rate":2.0},{"schema":"imbrex.test/1","what":"b","rate":1.0}]"#;
        for text in [rows.to_owned(), format!(r#"{{"version":"1","quick":false,"rows":{rows}}}"#)] {
            let mut earlier = read(&text).unwrap();
            let row = |what: &str| Row { what: what.to_owned(), rate: 3.0 };
            let (mut now, mut ratios) = ([row("c"), row("a")], Vec::new());
            earlier.pair(&mut now, |now, then| ratios.push(now.rate / then.rate)).unwrap();
            assert_eq!(ratios, [1.5]);
            let missing = earlier.missing();
            assert!(missing[0].starts_with("Not in") && missing[0].ends_with(": c."), "{missing:?}");
            assert!(missing[1].starts_with("Only in") && missing[1].ends_with(": b."), "{missing:?}");
            let none = read(&text).unwrap().pair(&mut [row("c")], |_, _| ()).unwrap_err().to_string();
            assert!(none.ends_with("it has none of the rows that were measured"), "{none}");
        }
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        assert!(fault("{").contains("it is no JSON"), "{}", fault("{"));
        for text in ["[]", "{}", "3", r#"{"rows":{}}"#] {
            assert!(fault(text).contains("there are no rows of"), "{text}: {}", fault(text));
        }
        assert!(fault("[{}]").contains("without a schema"));
        let other = fault(r#"[{"schema":"imbrex.run/1"}]"#);
        assert!(other.contains("it holds imbrex.run/1, and what is measured now is imbrex.test/1"), "{other}");
        let lacks = fault(r#"[{"schema":"imbrex.test/1","what":"a"}]"#);
        assert!(lacks.contains("missing field `rate`"), "{lacks}");
        let absent = Earlier::<Row>::read(Path::new("/nowhere/at.all"), false).err().unwrap();
        assert!(format!("{absent:#}").contains("/nowhere/at.all"));
    }
}
