//! `imbrex explore`: power cuts, torn writes and failing operations, until a layer loses something.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use imbrex::explore::{self, Finding, Options, Subject, Tally};
use imbrex::layers::LayerInfo;
use imbrex::perform::rules::{Rule, Rules};
use imbrex::recording::Recording;
use imbrex_live::explore::{Sums, paged};
use imbrex_runs::parallel;
use imbrex_runs::values::layer;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::{count, paragraphs, table};
use serde::Serialize;

/// The version of [`Exploration`].
const SCHEMA: &str = "imbrex.exploration/1";

/// Cut the power of a layer on tiny disks in memory, again and again, and check that nothing is lost
///
/// With --image the disks are images, formatted and opened as a user's, on a file whose cache is lost with the power.
/// A finding ends the exploration with status 1 and the command that replays it, also when a rule was switched off.
#[derive(Args)]
pub struct Explore {
    /// The layer
    #[arg(value_parser = layer)]
    layer: &'static LayerInfo,
    /// Explore images rather than drives in memory: all that lies between the runner and the sectors of a file
    #[arg(long)]
    image: bool,
    /// Keep checksums of the data, and let bytes change without a write: each that is read must be found out
    #[arg(long, requires = "image")]
    checksums: bool,
    /// Do not mark the regions of checksums that are being written: the explorer should find what that breaks
    #[arg(long, requires = "checksums")]
    without_intents: bool,
    /// Keep N pages of the layer's map in memory, at least 3, and the others on the disk: for logs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..))]
    map_pages: Option<u32>,
    /// Power cuts to survive; 0 to go on until Ctrl-C, and then say how many there were
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    cuts: u64,
    /// The seed of the first run; the next runs take the seeds after it
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Runs at a time, which do not change the result; the default is the number of cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Do not keep ordering rule R, from 1 to 13 but for 6 and 7 (5 only for interlaced disks, 11 to 13 only with
    /// --map-pages): the explorer should find what that breaks. Only programs built with the feature rule-switches can
    #[arg(long, value_name = "R", value_parser = rule)]
    without: Option<u8>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The number of a rule whose absence a layer can show.
fn rule(text: &str) -> Result<u8, String> {
    match text.parse::<u8>() {
        Ok(6..=7) => Err(
            "rules 6 and 7 bind layers, and every layer keeps them; the library's tests have one that does not, and \
                 show that it is caught"
                .to_owned(),
        ),
        Ok(number) if (1..=Rule::ALL.len()).contains(&number.into()) => Ok(number),
        _ => Err(format!("the rules are numbered from 1 to {}", Rule::ALL.len())),
    }
}

/// What an exploration came to.
#[derive(Serialize)]
struct Exploration {
    schema: &'static str,
    layer: &'static str,
    image: bool,
    checksums: bool,
    map_pages: Option<u32>,
    without_rule: Option<u8>,
    first_seed: u64,
    last_seed: u64,
    /// Of the runs before the finding, if there is one.
    survived: Tally,
    finding: Option<Finding>,
    replay_with: Option<String>,
}

/// The runs of all threads. Seeds are taken in order and counted in order, so the result is that of one thread.
struct Runs {
    next_seed: u64,
    /// Runs that are done, up to the first that is not.
    survived: Tally,
    last_seed: u64,
    finding: Option<Finding>,
    /// Runs that are done, after one that is not.
    waiting: BTreeMap<u64, Result<Tally, Finding>>,
}

impl Explore {
    pub fn run(self) -> Result<()> {
        if self.without == Some(5) && self.layer.recording != Recording::Interlaced {
            bail!(
                "rule 5 is about redo moves, which {} does not make; choose a layer for interlaced disks",
                self.layer.name
            );
        }
        if self.map_pages.is_none() && self.rule().is_some_and(Rule::is_about_pages) {
            bail!("rules 11 to 13 are about pages of a map that is not in memory as a whole; add --map-pages");
        }
        let rules = self.rules()?;
        stop::on_ctrl_c();
        let output = self.output.open()?;
        let result = self.explore(rules);
        if stop::is_asked_for() && self.cuts > 0 {
            bail!("stopped");
        }
        output.write(slice::from_ref(&result), || self.shown(&result))?;
        match (&result.finding, &result.replay_with) {
            (Some(finding), Some(command)) => bail!("{finding}; replay it with: {command}"),
            _ => Ok(()),
        }
    }

    fn explore(&self, rules: Rules) -> Exploration {
        let jobs = self.jobs.map_or_else(parallel::cores, NonZeroUsize::get);
        let progress = Progress::new("exploring", self.cuts);
        let runs = Mutex::new(Runs {
            next_seed: self.seed,
            survived: Tally::default(),
            last_seed: self.seed,
            finding: None,
            waiting: BTreeMap::new(),
        });
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| self.work(rules, &runs, &progress));
            }
        });
        let Runs { survived, last_seed, finding, .. } = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let replay_with = finding.as_ref().map(|finding| {
            let without = self.without.map(|rule| format!(" --without {rule}")).unwrap_or_default();
            let flags = [
                (self.image, " --image"),
                (self.checksums, " --checksums"),
                (self.without_intents, " --without-intents"),
            ];
            let flags: String = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
            let pages = self.map_pages.map(|pages| format!(" --map-pages {pages}")).unwrap_or_default();
            format!("imbrex explore {}{flags}{pages} --seed {} --cuts 1{without}", self.layer.name, finding.seed)
        });
        let (layer, without_rule) = (self.layer.name, self.without);
        let (first_seed, image, checksums) = (self.seed, self.image, self.checksums);
        Exploration {
            schema: SCHEMA,
            layer,
            image,
            checksums,
            map_pages: self.map_pages,
            without_rule,
            first_seed,
            last_seed,
            survived,
            finding,
            replay_with,
        }
    }

    /// Explores one seed after the other until enough is survived.
    fn work(&self, rules: Rules, runs: &Mutex<Runs>, progress: &Progress) {
        let subject = self.subject();
        let cuts = if self.cuts == 0 { u64::MAX } else { self.cuts };
        loop {
            let next = lock(runs).take(cuts);
            let Some(seed) = next else { break };
            let result = explore::explore(&subject, &Options { cuts: 1, seed, rules }, |_| false);
            progress.add(lock(runs).done(seed, result, cuts));
        }
    }

    fn subject(&self) -> Subject {
        let sums = match (self.checksums, self.without_intents) {
            (false, _) => Sums::None,
            (true, false) => Sums::Kept,
            (true, true) => Sums::WithoutIntents,
        };
        match self.map_pages {
            pages if self.image => paged(self.layer, sums, pages),
            Some(pages) => Subject::with_map_pages(self.layer, pages),
            None => Subject::layer(self.layer),
        }
    }

    /// The rules that are kept.
    fn rules(&self) -> Result<Rules> {
        let switched = self.rule().map_or(Some(Rules::all()), Rules::without);
        switched
            .ok_or_else(|| anyhow!("--without: this program keeps every rule; build one with --features rule-switches"))
    }

    fn rule(&self) -> Option<Rule> {
        self.without.map(|number| Rule::ALL[usize::from(number - 1)])
    }

    fn shown(&self, result: &Exploration) -> String {
        let Tally {
            runs,
            cuts,
            cuts_in_recovery,
            operations,
            requests,
            faults,
            rebuilds,
            commits,
            checkpoints,
            replayed,
        } = result.survived;
        let rows = [
            ("runs, each on a disk of its own", runs),
            ("power cuts", cuts),
            ("of them during recovery", cuts_in_recovery),
            ("device operations", operations),
            ("requests answered", requests),
            ("operations made to fail", faults),
            ("epochs ended by a failure", rebuilds),
            ("journal entries", commits),
            ("checkpoints", checkpoints),
            ("redo images written again", replayed),
        ];
        let without = self.rule().map(|rule| format!(", without rule {}: {}", rule.number(), rule.text()));
        let head = format!(
            "{}{}, seeds {} to {}{}",
            result.layer,
            match (result.image, result.checksums) {
                (_, true) => " on images with checksums",
                (true, _) => " on images",
                _ => "",
            },
            result.first_seed,
            result.last_seed,
            without.unwrap_or_default(),
        );
        format!(
            "{}\n\n{}",
            paragraphs(&head),
            table(["survived", ">"], rows.map(|(what, number)| [what.to_owned(), count(number)]))
        )
    }
}

fn lock(runs: &Mutex<Runs>) -> MutexGuard<'_, Runs> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runs {
    fn is_over(&self, cuts: u64) -> bool {
        self.finding.is_some() || self.survived.cuts >= cuts
    }

    /// The next seed to explore, if there is need.
    fn take(&mut self, cuts: u64) -> Option<u64> {
        if self.is_over(cuts) || stop::is_asked_for() {
            return None;
        }
        let seed = self.next_seed;
        self.next_seed = seed.wrapping_add(1);
        Some(seed)
    }

    /// A run is done. Returns how many more cuts are survived.
    fn done(&mut self, seed: u64, result: Result<Tally, Finding>, cuts: u64) -> u64 {
        let before = self.survived.cuts;
        self.waiting.insert(seed, result);
        let mut next = self.last_seed.wrapping_add(u64::from(self.survived.runs > 0));
        while !self.is_over(cuts)
            && let Some(result) = self.waiting.remove(&next)
        {
            self.last_seed = next;
            match result {
                Ok(tally) => self.survived.add(&tally),
                Err(finding) => self.finding = Some(finding),
            }
            next = next.wrapping_add(1);
        }
        self.survived.cuts - before
    }
}
