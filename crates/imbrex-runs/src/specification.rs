//! What runs there are to be: every workload on every layer.

use std::num::NonZeroUsize;

use anyhow::{Result, anyhow};
use clap::Args;
use imbrex::layers::LayerInfo;
use imbrex::replay::Window;
use imbrex::trace::{FileOptions, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::extension::SpaceAt;
use crate::families::Families;
use crate::moment::Moment;
use crate::parallel;
use crate::setup::{SchedulerArgument, Setup, unchosen};
use crate::steady::WINDOW;
use crate::trace_files::TraceFiles;
use crate::values::layer;
use crate::workload;
use crate::written::{self, TextOrNumber, Written};
use crate::wrong::Wrong;

/// Runs as they are specified: by the options of a command, by the fields of a JSON object, or by a program.
///
/// What each field means is said once, here: the help of the options, the descriptions in the schema and the defaults of
/// both are the same.
#[derive(Clone, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Specification {
    /// Trace files, synthetic workloads ending in .toml, or names from `imbrex list workloads`
    #[arg(value_name = "TRACE|WORKLOAD")]
    pub workloads: Vec<String>,
    /// The layers, in the order in which they are shown; otherwise conventional, in-place and fifo-log
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = layer)]
    #[serde(with = "written::several")]
    #[schemars(with = "Option<Vec<String>>")]
    pub layers: Option<Vec<&'static LayerInfo>>,
    /// All layers of a family of disks instead, each on a drive of its kind that is as large as the workload needs
    #[arg(long, value_enum, conflicts_with_all = ["layers", "drive", "zone_size", "conventional_zones"])]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<Families>")]
    pub family: Option<Families>,
    /// Runs at a time; the default is the number of cores
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// How trace files are read
    #[command(flatten)]
    #[serde(flatten)]
    pub traces: TraceFiles,
    /// The disk, and how workloads are replayed on it
    #[command(flatten)]
    #[serde(flatten)]
    pub setup: Setup,
    /// A row of a series: simulated time in ms, s, min or h, or a number of requests such as 1000req; without it there
    /// is no series
    #[arg(skip)]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub window: Option<Window>,
    /// Space that is asked for meanwhile
    #[arg(skip)]
    #[serde(flatten)]
    pub growth: Growth,
    /// Look at what lies where at the end, and at these moments: after PERCENT of the requests such as 25%, after N
    /// requests, or at a TIME such as 2h
    #[arg(skip)]
    #[serde(with = "written::several")]
    #[schemars(with = "Option<Vec<TextOrNumber>>")]
    pub contents: Option<Vec<Moment>>,
    /// See as much as a page shows
    #[arg(skip)]
    pub watch: bool,
}

/// Space that a layer is asked for during a replay.
#[derive(Clone, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Growth {
    /// Ask the layer for SIZE more space after PERCENT of the requests, after N of them or at a TIME, such as 25GiB@10%;
    /// may be repeated
    #[arg(long, value_name = "SIZE@PERCENT|N|TIME", value_parser = SpaceAt::read, conflicts_with = "steady")]
    #[serde(with = "written::several")]
    #[schemars(with = "Option<Vec<String>>")]
    pub extend: Option<Vec<SpaceAt>>,
}

impl Default for Specification {
    fn default() -> Self {
        unchosen()
    }
}

impl Specification {
    /// Reads fields by their names. Those that are left out have their defaults.
    ///
    /// # Errors
    /// What is wrong, behind the name of the field.
    pub fn read(fields: Map<String, Value>) -> Result<Self> {
        // Each alone first: that tells which one is wrong.
        for (name, value) in &fields {
            let alone = Map::from_iter([(name.clone(), value.clone())]);
            Self::deserialize(Value::Object(alone)).map_err(|e| anyhow!("{name}: {e}"))?;
        }
        let read = Self::deserialize(Value::Object(fields))?;
        read.check().map_err(|wrong| anyhow!(wrong.by_field()))?;
        Ok(read)
    }

    /// Refuses fields that do not go with others, as the command line does.
    fn check(&self) -> Result<(), Wrong> {
        let setup = &self.setup;
        let has_family = self.family.is_some();
        let together: [(bool, &[&str], &str); 13] = [
            (has_family && self.layers.is_some(), &["family"], "layers"),
            (has_family && setup.drive.is_some(), &["family"], "drive"),
            (has_family && setup.zone_size.is_some(), &["family"], "zone_size"),
            (has_family && setup.conventional_zones.is_some(), &["family"], "conventional_zones"),
            (setup.stretch && setup.dense, &["stretch"], "dense"),
            (setup.sample.is_some() && setup.as_live, &["sample"], "as_live"),
            (setup.sample.is_some() && setup.map_memory.is_some(), &["sample"], "map_memory"),
            (setup.map_memory.is_some() && setup.as_live, &["map_memory"], "as_live"),
            (setup.map_memory.is_some() && setup.scheduler != SchedulerArgument::Fcfs, &["map_memory"], "scheduler"),
            (setup.steady && setup.warm_up.is_some(), &["steady"], "warm_up"),
            (setup.steady && setup.repeat.is_some(), &["steady"], "repeat"),
            (setup.steady && self.growth.extend.is_some(), &["steady"], "extend"),
            (setup.untimed && setup.scheduler != SchedulerArgument::Fcfs, &["untimed"], "scheduler"),
        ];
        if let Some((_, field, other)) = together.into_iter().find(|(is_wrong, ..)| *is_wrong) {
            return Err(Wrong::new(field, format!("it cannot be used with {other}")));
        }
        if setup.journal_blocks.is_some() && !setup.as_live {
            return Err(Wrong::new(&["journal_blocks"], "it needs as_live".to_owned()));
        }
        if setup.sample.is_some() && !setup.untimed {
            return Err(Wrong::new(&["sample"], "it needs untimed".to_owned()));
        }
        if setup.paced && setup.queue_depth.is_none() {
            return Err(Wrong::new(&["paced"], "it needs queue_depth".to_owned()));
        }
        if setup.steady_rounds.is_some() && !setup.steady {
            return Err(Wrong::new(&["steady_rounds"], "it needs steady".to_owned()));
        }
        if setup.steady_rounds.is_some_and(|rounds| rounds < WINDOW) {
            return Err(Wrong::new(&["steady_rounds"], format!("it takes {WINDOW} rounds at least to find out")));
        }
        Ok(())
    }

    /// How many runs go on at a time.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(parallel::cores, NonZeroUsize::get)
    }

    /// The workloads that are named, read or drawn as is specified.
    ///
    /// # Errors
    /// When there is none of such a name, or a choice fits none of them.
    pub fn named(&self) -> Result<Vec<Workload>> {
        let (options, seed) = (self.traces.options(), self.setup.seed);
        if self.workloads.is_empty() {
            let none = |fields, why: &str| Err(Wrong::new(fields, why.to_owned()).into());
            return match (seed, options == FileOptions::default()) {
                (Some(_), _) => none(workload::SEED, "no workload is synthetic; only those are drawn from a seed"),
                (None, false) => none(workload::OF_FILES, "no workload is a trace file"),
                (None, true) => Ok(Vec::new()),
            };
        }
        workload::named(&self.workloads, self.setup.requests, seed, &options)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Words {
        #[command(flatten)]
        specification: Specification,
    }

    fn read(fields: Value) -> Result<Value> {
        let Value::Object(fields) = fields else { panic!("{fields} is no object") };
        Ok(serde_json::to_value(Specification::read(fields)?)?)
    }

    #[test]
    fn options_and_fields_say_the_same() {
        let words = "zipf --layers fifo-log,sac --jobs 2 --event D --volume 3 --drive small-zoned --capacity 1GiB \
                     --zone-size 2MiB --conventional-zones 10% --buffer 300blocks --set fifo-log.spare_zones=2 --requests 9 --seed 7 \
                     --queue-depth 4 --paced --limit 2min --rest --scheduler c-look --scheduler-depth 8 --prefill 0.5 --warm-up 90s --no-idle \
                     --as-live --journal-blocks 64 --trace-format msr --dense --beyond wrap --repeat 3";
        let words = Words::try_parse_from(words.split_whitespace()).map_err(|e| e.to_string()).unwrap();
        let fields = json!({
            "workloads": ["zipf"], "layers": ["fifo-log", "sac"], "jobs": 2, "event": "D", "volume": "3",
            "drive": "small-zoned", "capacity": 1 << 30, "zone_size": "2MiB", "conventional_zones": "10%",
            "buffer": "300blocks", "config": { "fifo-log": { "spare_zones": 2 } }, "requests": 9, "seed": 7,
            "queue_depth": 4, "paced": true, "limit": "120s", "rest": true, "scheduler": "c-look", "scheduler_depth": 8, "prefill": 0.5, "warm_up": "90s",
            "no_idle": true, "as_live": true, "journal_blocks": 64, "trace_format": "msr", "dense": true,
            "beyond": "wrap", "repeat": 3,
        });
        assert_eq!(serde_json::to_value(&words.specification).unwrap(), read(fields).unwrap());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let fields = json!({
            "family": "banded", "capacity": "fit", "warm_up": 7, "window": 1000, "extend": ["25GiB@10%", "1MiB@7"],
            "contents": ["25%", 1000, "2h"], "watch": true, "untimed": true, "sample": "1/16", "repeat": 2,
        });
        let written = read(fields).unwrap();
        assert_eq!(read(json!({ "extend": "7GiB@3" })).unwrap()["extend"], json!(["7GiB@3"]), "one is a list of one");
        assert_eq!(written["contents"], json!(["25%", "1000", "7200000ms"]));
        assert_eq!((&written["window"], &written["extend"]), (&json!("1000req"), &json!(["25GiB@10%", "1MiB@7"])));
        assert_eq!(read(written.clone()).unwrap(), written);
        assert_eq!(read(json!({})).unwrap(), serde_json::to_value(Specification::default()).unwrap());
    }

    #[test]
    fn what_is_wrong_is_said_behind_the_name_of_its_field() {
        for (fields, said) in [
            (json!({ "queue_depth": "many" }), "queue_depth: invalid type"),
            (json!({ "buffer": "2x" }), "buffer: '2x' is no buffer size"),
            (json!({ "seed": 1, "window": "1 parsec" }), "window: write a time such as"),
            (json!({ "layers": ["fifo"] }), "layers: there is no layer 'fifo'"),
            (json!({ "family": "flat" }), "family: there is no family 'flat'; known are shingled"),
            (json!({ "config": { "fifo": {} } }), "config: there is no layer 'fifo'"),
            (json!({ "colour": "red" }), "colour: unknown field `colour`"),
            (json!({ "no-idle": true }), "no-idle: unknown field `no-idle`"),
            (json!({ "stretch": true, "dense": true }), "stretch: it cannot be used with dense"),
            (json!({ "family": "ssd", "drive": "exos-x18z" }), "family: it cannot be used with drive"),
            (json!({ "untimed": true, "scheduler": "sptf" }), "untimed: it cannot be used with scheduler"),
            (json!({ "sample": "1/16" }), "sample: it needs untimed"),
            (json!({ "sample": "1/3", "untimed": true }), "sample: write 1/2, 1/4, 1/8"),
            (json!({ "sample": "1/16", "untimed": true, "as_live": true }), "sample: it cannot be used with as_live"),
            (json!({ "sample": "1/16", "untimed": true, "map_memory": "1MiB" }), "sample: it cannot be used with map"),
            (json!({ "map_memory": "1MiB", "as_live": true }), "map_memory: it cannot be used with as_live"),
            (json!({ "journal_blocks": 7 }), "journal_blocks: it needs as_live"),
            (json!({ "paced": true }), "paced: it needs queue_depth"),
            (json!({ "limit": "30" }), "limit: write a time such as"),
            (json!({ "steady": true, "warm_up": 7 }), "steady: it cannot be used with warm_up"),
            (json!({ "steady": true, "repeat": 7 }), "steady: it cannot be used with repeat"),
            (json!({ "steady": true, "extend": "1GiB@1%" }), "steady: it cannot be used with extend"),
            (json!({ "steady_rounds": 7 }), "steady_rounds: it needs steady"),
            (json!({ "steady": true, "steady_rounds": 4 }), "steady_rounds: it takes 5 rounds at least"),
        ] {
            let error = read(fields).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        let named = Specification { workloads: vec!["none.csv".to_owned()], ..Specification::default() };
        let seeded = Specification { setup: Setup { seed: Some(1), ..Setup::default() }, ..named };
        let error = seeded.named().map(drop).unwrap_err();
        assert!(error.to_string().starts_with("--seed: none.csv is no synthetic workload"), "{error}");
        let wrong = error.downcast::<Wrong>().unwrap();
        assert!(wrong.by_field().starts_with("seed: none.csv is no synthetic workload"), "{wrong:?}");
    }
}
