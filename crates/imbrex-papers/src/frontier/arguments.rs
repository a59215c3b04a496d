//! What can be chosen about the frontier alone.

use anyhow::{Result, bail};
use clap::Args;

use super::NAME;
use super::tables::{TABLES, Table};

/// Settings of a layer that are tried on a workload, where nobody says how many.
pub const TRIALS: u32 = 12;

/// Options of `reproduce frontier` alone.
#[derive(Args, Default)]
pub struct FrontierArguments {
    /// frontier: try N settings of each layer on each workload, its defaults first; otherwise 12
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: Option<u32>,
    /// frontier: only this table: logs, zones-small, zones, response, interlaced-80, interlaced-99, caches,
    /// caches-response, caches-response-large or caches-response-sata; may be given several times
    #[arg(long = "table", value_name = "NAME", value_parser = table)]
    tables: Vec<&'static Table>,
}

fn table(name: &str) -> Result<&'static Table, String> {
    let known = || TABLES.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
    TABLES.iter().find(|table| table.name == name).ok_or_else(|| format!("known tables are: {}", known()))
}

impl FrontierArguments {
    /// Refuses them for a paper.
    pub fn refuse(&self, paper: &str) -> Result<()> {
        let chosen = [("--trials", self.trials.is_some()), ("--table", !self.tables.is_empty())];
        match chosen.iter().find(|(_, is)| *is) {
            Some((option, _)) => bail!("{option}: {paper} has none; it is an option of {NAME}"),
            None => Ok(()),
        }
    }

    /// Settings of a layer that are tried.
    pub fn trials(&self) -> u32 {
        self.trials.unwrap_or(TRIALS)
    }

    /// The tables that are asked for, in the order in which they are shown.
    pub fn tables(&self) -> Vec<&'static Table> {
        let is_asked_for =
            |table: &&Table| self.tables.is_empty() || self.tables.iter().any(|asked| asked.name == table.name);
        TABLES.iter().filter(is_asked_for).collect()
    }
}
