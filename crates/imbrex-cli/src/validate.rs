//! `imbrex validate`: times and counts against numbers that the simulator had no part in.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use imbrex_runs::checks::Check;
use imbrex_terminal::output::{Format, Output, OutputArguments};
use imbrex_terminal::progress::Progress;
use imbrex_terminal::say::note;
use imbrex_terminal::table::{paragraphs, table};

/// Hold the simulator against published seek curves, closed forms and DiskSim
#[derive(Args)]
pub struct Validate {
    /// A folder with DiskSim's measurements, one folder per disk; without it seek curves and closed forms are checked
    #[arg(long, value_name = "DIR")]
    disksim: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

impl Validate {
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let progress = Progress::of_pieces("checking", Check::PIECES);
        let checks = Check::all(self.disksim.as_deref(), &progress)?;
        drop(progress);
        self.tell(output, &checks)
    }

    fn tell(&self, output: Output, checks: &[Check]) -> Result<()> {
        let of = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
        let mut summary = format!("{} passed, {} failed, {} skipped", of("pass"), of("fail"), of("skipped"));
        if self.disksim.is_none() {
            summary += "; name DiskSim's measurements with --disksim to check the mechanics request by request";
        }
        if self.output.format() != Format::Table {
            note(&summary);
        }
        output.write(checks, || format!("{}\n\n{}", shown(checks), paragraphs(&summary)))?;
        if of("fail") > 0 {
            bail!("{} of {} checks failed", of("fail"), checks.len());
        }
        Ok(())
    }
}

fn shown(checks: &[Check]) -> String {
    let value = |number: Option<f64>| match number {
        None => "-".to_owned(),
        Some(whole) if whole.fract() == 0.0 => format!("{whole}"),
        Some(small) if small.abs() < 0.001 => format!("{small:.1e}"),
        Some(number) => format!("{number:.3}"),
    };
    let cells = |c: &Check| {
        let numbers = [c.expected, c.measured, c.error].map(value);
        let [expected, measured, error] = numbers;
        let (disk, check, note) = (c.disk.clone(), c.check.clone(), c.note.clone());
        [disk, check, expected, measured, error, c.unit.into(), c.verdict.into(), note]
    };
    let headings = ["disk", "check", ">expected", ">measured", ">error", "unit", "verdict", "rule"];
    table(headings, checks.iter().map(cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use imbrex::validate::{Comparison, Verdict};
    use serde_json::Value;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        validate: Validate,
    }

    fn check(verdict: Verdict) -> Check {
        let (disk, check, note) = ("a disk".to_owned(), "a check".to_owned(), "a rule".to_owned());
        let [expected, measured, error] = [1.0, 1.5, 0.5].map(Some);
        Check::from(Comparison { disk, check, expected, measured, error, unit: "ms", verdict, note })
    }

    /// A test of the program has the table of all of them.
    #[test]
    fn rows_have_each_check_with_its_verdict_and_one_that_fails_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = |verdicts: Vec<Verdict>| {
            let file = folder.path().join("checks.json");
            let path = file.to_str().expect("a name in UTF-8");
            let validate = Program::parse_from(["imbrex", "--format", "json", "-o", path]).validate;
            let output = validate.output.open().expect("a file can be made");
            let ended = validate.tell(output, &verdicts.into_iter().map(check).collect::<Vec<_>>());
            let text = std::fs::read(&file).expect("the file is there");
            let rows: Value = serde_json::from_slice(&text).expect("it is JSON");
            (ended.map_err(|error| error.to_string()), rows)
        };
        let (ended, rows) = told(vec![Verdict::Pass, Verdict::Skipped("no folder".to_owned())]);
        assert_eq!((ended, rows.as_array().map(Vec::len)), (Ok(()), Some(2)));
        assert_eq!((&rows[0]["verdict"], &rows[0]["note"]), (&"pass".into(), &"a rule".into()));
        assert_eq!((&rows[1]["verdict"], &rows[1]["note"]), (&"skipped".into(), &"no folder".into()));
        let numbers = ["expected", "measured", "error"].map(|name| rows[0][name].as_f64());
        assert_eq!((numbers, &rows[0]["schema"]), ([1.0, 1.5, 0.5].map(Some), &"imbrex.check/1".into()));
        let (ended, rows) = told(vec![Verdict::Pass, Verdict::Fail]);
        assert_eq!((ended, &rows[1]["verdict"]), (Err("1 of 2 checks failed".to_owned()), &"fail".into()));
    }
}
