//! A report: results of any kind, in one page.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::{Value, json};

use crate::rows::{self, Kind, Row, RowError};
use crate::{html, table, units};

/// What a report shows. Results are added in any order; rows of a series or of units that follow each other belong
/// together.
#[derive(Default)]
pub struct Report {
    title: String,
    command: Option<String>,
    program: String,
    said: Vec<String>,
    quantiles: Vec<f64>,
    runs: Vec<Row>,
    /// What is told of each run beside its row.
    about: Vec<About>,
    source: Option<String>,
    series: Vec<Part>,
    units: Vec<Part>,
    drawn: Vec<Value>,
    steps: Vec<Value>,
    claims: Vec<Row>,
    others: Vec<Row>,
}

/// What a page says of a run beside its row; all of it may be left out.
#[derive(Clone, Default, Serialize)]
pub struct About {
    /// The file that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it is called, where that is not its layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it stands for among the runs of its group, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The heading that it stands under, where that is not its drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// Rows about one run, which is known by its place or looked for by what the rows say of it.
struct Part {
    rows: Vec<Row>,
    run: Option<usize>,
}

impl Report {
    /// A report of this title that shows nothing yet, made by `program`; latencies are distributed over `quantiles`.
    #[must_use]
    pub fn new(title: &str, program: &str, quantiles: &[f64]) -> Self {
        Self { title: title.to_owned(), program: program.to_owned(), quantiles: quantiles.to_vec(), ..Self::default() }
    }

    /// Says which command made the results.
    pub fn made_by(&mut self, command: String) {
        self.command = Some(command);
    }

    /// Says this before everything else, a paragraph each.
    pub fn say(&mut self, paragraphs: &[String]) {
        self.said.extend_from_slice(paragraphs);
    }

    /// Says which file the runs come from that are added from now on. Runs of two files are held against each other.
    pub fn read_from(&mut self, source: String) {
        self.source = Some(source);
    }

    /// Says something of the run that was added last.
    pub fn tell(&mut self, about: About) {
        if let Some(last) = self.about.last_mut() {
            *last = about;
        }
    }

    /// How many runs there are so far.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Adds rows of one source, of any schemas.
    ///
    /// # Errors
    /// When no page can show a row; the rows before it are added.
    pub fn add(&mut self, rows: Vec<Row>) -> Result<(), RowError> {
        self.add_of(rows, None)
    }

    /// Adds rows about the run that was added as the one of this number, from 0.
    ///
    /// # Errors
    /// When no page can show a row; the rows before it are added.
    pub fn add_of(&mut self, rows: Vec<Row>, run: Option<usize>) -> Result<(), RowError> {
        let mut last = None;
        for row in rows {
            let kind = rows::kind(&row)?;
            let follows = last.replace((kind, row["trace"].clone(), row["layer"].clone()));
            let parts = match kind {
                Kind::Run => {
                    self.about.push(About { source: self.source.clone(), ..About::default() });
                    &mut self.runs
                }
                Kind::Claim => &mut self.claims,
                Kind::Other => &mut self.others,
                Kind::Window => in_part(&mut self.series, follows != last, run),
                Kind::Unit(_) => in_part(&mut self.units, follows != last, run),
            };
            parts.push(row);
        }
        Ok(())
    }

    /// Adds looks at the units of the run of this number, in the form in which a page draws them: what `trace` and `layer`
    /// they are of, and whether that is `synthetic`; the `kind` of units, how many `each` bar has, what `parts` there are,
    /// and the `looks`.
    pub fn add_units(&mut self, mut units: Value, run: Option<usize>) {
        units["run"] = json!(run);
        self.drawn.push(units);
    }

    /// Adds what the disk did in a part of the run of this number, in the form in which a page plays it: of what `trace` and
    /// `layer` it is and whether that is `synthetic`, the `rows` and the `scenes`.
    pub fn add_steps(&mut self, mut steps: Value, run: Option<usize>) {
        steps["run"] = json!(run);
        self.steps.push(steps);
    }

    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        let data = self.data().to_string();
        let packed = packed.write_all(data.as_bytes()).and_then(|()| packed.finish());
        let packed = packed.expect("memory takes what is written to it");
        let constants = format!("const QUANTILES = {};\n", json!(self.quantiles));
        html::report(&self.title, &constants, &packed, &table::of_runs(&self.runs))
    }

    fn data(&self) -> Value {
        let series = |part: &Part| self.part(part, json!({ "columns": rows::columns(&part.rows) }));
        let units = |part: &Part| {
            let unit = part.rows[0]["schema"].as_str().and_then(units::unit_of).unwrap_or("unit");
            self.part(part, units::columns(unit, &part.rows))
        };
        json!({
            "title": self.title,
            "command": self.command,
            "program": self.program,
            "said": self.said,
            "runs": self.runs,
            "about": self.about,
            "series": self.series.iter().map(series).collect::<Vec<_>>(),
            "units": self.drawn.iter().cloned().chain(self.units.iter().map(units)).collect::<Vec<_>>(),
            "steps": self.steps,
            "claims": self.claims,
            "sheets": self.sheets(),
        })
    }

    /// What a part shows, and of which run.
    fn part(&self, part: &Part, shown: Value) -> Value {
        let about = &part.rows[0];
        let is_of = |run: &&Row| run["trace"] == about["trace"] && run["layer"] == about["layer"];
        let only = || {
            let mut found = self.runs.iter().enumerate().filter(|(_, run)| is_of(run));
            found.next().filter(|_| found.next().is_none()).map(|(at, _)| at)
        };
        let mut named = json!({
            "trace": about["trace"],
            "layer": about["layer"],
            "synthetic": about["synthetic"],
            "run": part.run.or_else(only),
        });
        if let (Value::Object(named), Value::Object(shown)) = (&mut named, shown) {
            named.extend(shown);
        }
        named
    }

    /// Other results by their schemas, in the order in which these turn up.
    fn sheets(&self) -> Vec<Value> {
        let mut schemas: Vec<&Value> = Vec::new();
        for row in &self.others {
            if !schemas.contains(&&row["schema"]) {
                schemas.push(&row["schema"]);
            }
        }
        let rows = |schema: &Value| self.others.iter().filter(|row| row["schema"] == *schema).collect::<Vec<_>>();
        schemas.into_iter().map(|schema| json!({ "schema": schema, "rows": rows(schema) })).collect()
    }
}

/// The part that the next row belongs to.
fn in_part(parts: &mut Vec<Part>, is_new: bool, run: Option<usize>) -> &mut Vec<Row> {
    if is_new || parts.is_empty() {
        parts.push(Part { rows: Vec::new(), run });
    }
    let last = parts.len() - 1;
    &mut parts[last].rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(layer: &str) -> Row {
        json!({ "schema": "imbrex.run/3", "trace": "t", "layer": layer, "synthetic": true })
    }

    fn window(layer: &str, end: f64) -> Row {
        json!({ "schema": "imbrex.series/2", "trace": "t", "layer": layer, "synthetic": true, "end_s": end })
    }

    #[test]
    fn a_series_finds_its_run_if_there_is_only_one() {
        let mut report = Report::new("", "", &[]);
        report.add(vec![run("a"), run("b"), run("b")]).expect("runs");
        report.add(vec![window("a", 1.0), window("a", 2.0), window("b", 1.0)]).expect("two series");
        let data = report.data();
        assert_eq!(data["series"][0]["run"], json!(0));
        assert_eq!(data["series"][0]["columns"]["end_s"], json!([1.0, 2.0]));
        assert_eq!(data["series"][1]["run"], Value::Null, "it may be either");
        report.add_of(vec![window("b", 1.0)], Some(2)).expect("a series");
        assert_eq!(report.data()["series"][2]["run"], json!(2));
    }

    #[test]
    fn runs_say_where_they_come_from_and_what_they_are_called() {
        let mut report = Report::new("", "", &[]);
        report.add(vec![run("a")]).expect("a run");
        report.tell(About { role: Some("best".to_owned()), ..About::default() });
        report.read_from("b.json".to_owned());
        report.add(vec![run("b"), run("c")]).expect("runs");
        let told = json!([{ "role": "best" }, { "source": "b.json" }, { "source": "b.json" }]);
        assert_eq!(report.data()["about"], told);
    }

    #[test]
    fn other_rows_are_tables_by_schema() {
        let mut report = Report::new("", "", &[]);
        let row = |schema: &str, n: u64| json!({ "schema": schema, "n": n });
        report.add(vec![row("imbrex.moved/1", 1), row("imbrex.sweep/1", 2), row("imbrex.moved/1", 3)]).expect("rows");
        let sheets = &report.data()["sheets"];
        assert_eq!(sheets[0]["rows"].as_array().map(Vec::len), Some(2));
        assert_eq!(sheets[1]["schema"], json!("imbrex.sweep/1"));
    }

    #[test]
    fn numbers_stay_what_they_are() {
        let mut report = Report::new("", "", &[]);
        let text =
            r#"[{"schema":"imbrex.run/3","trace":"t","layer":"l","x":0.1000000000000000055,"y":18446744073709551615}]"#;
        report.add(serde_json::from_str(text).expect("rows")).expect("a run");
        assert_eq!(report.data()["runs"][0]["y"], json!(u64::MAX));
    }

    #[test]
    fn the_same_results_make_the_same_page() {
        let page = || {
            let mut report = Report::new("title", "imbrex", &[0.5]);
            report.add(vec![run("a")]).expect("a run");
            report.html()
        };
        assert_eq!(page(), page());
        assert!(page().contains("const QUANTILES = [0.5]"));
    }
}
