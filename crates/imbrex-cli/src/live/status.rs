//! `imbrex status`: how a volume that is served stands.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use imbrex_live::service::control::{self, Question, Reply};
use imbrex_live::service::{Latency, Runner, Status, Times};

use super::socket;
use crate::table::{bytes, count, table};

/// Show how a volume that is served stands
#[derive(Args)]
pub struct Show {
    /// The server's socket, its control socket, or the volume's first store
    socket: PathBuf,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Form::Table)]
    format: Form,
}

/// How the numbers are written.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Table,
    /// All of them; see docs/serving.md
    Json,
    /// Prometheus' text
    Prometheus,
}

impl Show {
    pub fn run(self) -> Result<()> {
        let question = if self.format == Form::Prometheus { Question::Metrics } else { Question::Status };
        let reply = control::ask(&socket::control_of(&self.socket), question).map_err(|why| anyhow!(why))?;
        let text = match reply {
            Reply::Metrics(text) => text,
            Reply::Status(status) if self.format == Form::Json => serde_json::to_string_pretty(&status)? + "\n",
            Reply::Status(status) => shown(&status),
        };
        io::stdout().lock().write_all(text.as_bytes())?;
        match text.is_empty() {
            true => bail!("the server said nothing"),
            false => Ok(()),
        }
    }
}

/// The numbers for people.
pub fn shown(status: &Status) -> String {
    let state = match &status.dead {
        Some(why) => format!("cannot be used: {why}"),
        None if status.read_only => "served read only".to_owned(),
        None => "served".to_owned(),
    };
    let mut lines = vec![
        format!("{}, {}, {state} for {:.0} s", status.layer, bytes(status.capacity_bytes), status.uptime_seconds),
        format!("\n{}", traffic(status)),
    ];
    lines.extend(status.runners.iter().map(|runner| space(runner, status.block_bytes)));
    lines.push(cleaning(status));
    lines.push(lives(status));
    lines.extend(status.resident_bytes.map(|resident| format!("{} of memory", bytes(resident))));
    lines.push(format!("\n{}", table(["ms", "requests", "mean", "p50", "p99", "p99.9", "max"], latencies(status))));
    lines.join("\n") + "\n"
}

fn traffic(status: &Status) -> String {
    let traffic = &status.traffic;
    let amplification = status.write_amplification.map_or(String::new(), |times| format!(", {times:.2} for each"));
    let host = format!("clients read {}, wrote {}", bytes(traffic.host_read), bytes(traffic.host_written));
    let media = format!("drives read {}, wrote {}", bytes(traffic.media_read), bytes(traffic.media_written));
    format!("{host}\n{media}{amplification}")
}

fn space(runner: &Runner, block_bytes: u32) -> String {
    let size = |blocks: u64| bytes(blocks * u64::from(block_bytes));
    let journal = format!("journal {} of {}", size(runner.journal_used), size(runner.journal_blocks));
    match (runner.used_blocks, runner.space_blocks) {
        (Some(used), Some(space)) => format!("{journal}, buffer {} of {}", size(used), size(space)),
        _ => journal,
    }
}

fn cleaning(status: &Status) -> String {
    let cleaning = &status.cleaning;
    let limit = cleaning
        .limit_ms
        .map_or(String::new(), |limit| format!(", {} of them longer than {limit:.0} ms", count(cleaning.over_limit)));
    let bound = cleaning
        .bound_blocks
        .map_or(String::new(), |blocks| format!("; the next moves at most {} blocks", count(blocks.into())));
    let steps = format!(
        "{} steps of {:.1} ms, the longest {:.1} ms",
        count(cleaning.steps),
        cleaning.mean_ms,
        cleaning.longest_ms
    );
    format!("cleaning {}, throttle {} %: {steps}{limit}{bound}", cleaning.state, cleaning.throttle)
}

fn lives(status: &Status) -> String {
    let units = format!("{} units read-only, {} lost", status.units_read_only, status.units_lost);
    format!("{} failed operations, {} lives ended, {units}", status.traffic.failures, status.lives_ended)
}

fn latencies(status: &Status) -> Vec<[String; 7]> {
    let row = |name: String, times: &Times| {
        let ms = |time: f64| format!("{time:.3}");
        let Times { mean_ms, p50_ms, p99_ms, p999_ms, max_ms, .. } = times;
        [name, count(times.count), ms(*mean_ms), ms(*p50_ms), ms(*p99_ms), ms(*p999_ms), ms(*max_ms)]
    };
    let rows = |(kind, Latency { all, beside_cleaning }): (&String, &Latency)| {
        [row(kind.clone(), all), row(format!("{kind} beside cleaning"), beside_cleaning)]
    };
    status.latency.iter().flat_map(rows).filter(|row| row[1] != "0").collect()
}
