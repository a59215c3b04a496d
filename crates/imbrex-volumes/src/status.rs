//! `imbrex status`: how a volume that is served stands.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use imbrex_live::record::{RecordingState, RecordingStatus};
use imbrex_live::service::control::{self, Question, Reply};
use imbrex_live::service::{ChecksumStatus, GrowthStatus, Latency, PacingStatus, Runner, ScrubStatus, Status, Times};
use imbrex_terminal::table::{bytes, count, milliseconds, paragraphs, seconds, table};

use super::socket;

/// Show the state of a served volume
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
    /// Shows the status.
    ///
    /// # Errors
    /// When no server answers.
    pub fn run(self) -> Result<()> {
        let question = if self.format == Form::Prometheus { Question::Metrics } else { Question::Status };
        let reply = control::ask(&socket::control_of(&self.socket), question)?;
        let text = match reply {
            Reply::Metrics(text) => text,
            Reply::Units(_) | Reply::Events(_) => bail!("the server answers what it was not asked"),
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
        format!("{}, {}, {state} for {}", status.layer, bytes(status.capacity_bytes), seconds(status.uptime_seconds)),
        format!("\n{}", traffic(status)),
    ];
    lines.extend(status.runners.iter().map(|runner| space(runner, status.block_bytes)));
    lines.push(cleaning(status));
    lines.extend(status.growth.as_ref().map(growth));
    lines.extend(status.checksums.as_ref().map(checksums));
    lines.extend(status.scrub.as_ref().map(scrub));
    lines.extend(status.recording.as_ref().map(recording));
    lines.push(lives(status));
    lines.extend(services(status));
    let bound =
        status.memory.as_ref().map_or(String::new(), |memory| format!(", at most {}", bytes(memory.most_bytes)));
    lines.extend(status.resident_bytes.map(|resident| format!("{} of memory{bound}", bytes(resident))));
    let headings = ["latency", ">requests", ">mean", ">p50", ">p99", ">p99.9", ">longest"];
    format!("{}\n\n{}\n", paragraphs(&lines.join("\n")), table(headings, latencies(status)))
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
    let dirty = runner.dirty_blocks.map_or(String::new(), |dirty| format!(", {} newer than the disk", size(dirty)));
    match (runner.used_blocks, runner.space_blocks) {
        (Some(used), Some(space)) => format!("{journal}, {} {} of {}{dirty}", runner.space, size(used), size(space)),
        _ => journal,
    }
}

fn cleaning(status: &Status) -> String {
    let cleaning = &status.cleaning;
    let limit = cleaning.limit_ms.map_or(String::new(), |limit| {
        format!(", {} of them longer than {}", count(cleaning.over_limit), milliseconds(limit))
    });
    let bound = cleaning
        .bound_blocks
        .map_or(String::new(), |blocks| format!("; the next moves at most {} blocks", count(blocks.into())));
    let steps = format!(
        "{} steps of {}, the longest {}",
        count(cleaning.steps),
        milliseconds(cleaning.mean_ms),
        milliseconds(cleaning.longest_ms)
    );
    let pacing = cleaning.pacing.as_ref().map_or(String::new(), |pacing| paced(pacing, status.block_bytes));
    format!("cleaning {}, throttle {} %: {steps}{limit}{bound}{pacing}", cleaning.state, cleaning.throttle)
}

fn paced(pacing: &PacingStatus, block_bytes: u32) -> String {
    let size = |blocks: u64| bytes(blocks * u64::from(block_bytes));
    let room = format!("\nroom {}, wanted {}", size(pacing.room_blocks), size(pacing.wanted_blocks));
    let without =
        pacing.no_room_ms.map_or(String::new(), |ms| format!("; without room a write waits {}", milliseconds(ms)));
    let held = format!(
        "{} writes throttled for {}, the longest {} of {} at most",
        count(pacing.held_back),
        milliseconds(pacing.mean_ms),
        milliseconds(pacing.longest_ms),
        milliseconds(pacing.bound_ms)
    );
    format!("{room}; {held}{without}")
}

fn growth(growth: &GrowthStatus) -> String {
    let bound = growth.bound_ms.map_or_else(
        || "by all of a step".to_owned(),
        |bound| format!("by {} at most, on the drive that it is for", milliseconds(bound)),
    );
    let zones = if growth.zones_left == 1 { "zone" } else { "zones" };
    let left = format!("{} {zones} left to convert", count(growth.zones_left.into()));
    format!("growing to {}, {left}; a step delays a request {bound}", bytes(growth.capacity_bytes))
}

fn checksums(sums: &ChecksumStatus) -> String {
    let [verified, damaged, marked] = [sums.verified_blocks, sums.damaged_blocks, sums.regions_marked].map(count);
    format!("{verified} blocks verified, {damaged} of them damaged, {marked} regions being written")
}

fn scrub(scrub: &ScrubStatus) -> String {
    let done = 100.0 * scrub.done_blocks as f64 / scrub.of_blocks.max(1) as f64;
    let damaged = scrub.damaged.iter().flatten().map(|run| run.blocks).sum();
    match scrub.state.as_str() {
        "running" => format!("scrub running, throttle {} %: {done:.0} % done", scrub.throttle),
        state => {
            let when = scrub.ended_at_ms.map_or(String::new(), |at_ms| format!(" {}", ago(at_ms)));
            format!("scrub {state}{when}: {} damaged blocks", count(damaged))
        }
    }
}

fn recording(recording: &RecordingStatus) -> String {
    let [requests, lost, files] = [recording.requests, recording.lost, recording.files].map(count);
    let sums = format!("{requests} requests, {lost} lost, {files} files complete, {}", bytes(recording.bytes));
    match (&recording.error, recording.state) {
        (Some(why), _) => format!("recording failed: {why}: {sums}"),
        (None, RecordingState::Recording) => format!("recording: {sums}"),
        (None, _) => format!("recording ended: {sums}"),
    }
}

/// How long ago something happened, of which the server says when.
pub fn ago(at_ms: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let passed = now.saturating_sub(Duration::from_millis(at_ms)).as_secs();
    format!("{} ago", seconds(passed.max(1) as f64))
}

/// The services that failed or refused somebody.
pub fn services(status: &Status) -> impl Iterator<Item = String> {
    let failed = status.services.iter().filter(|(_, service)| service.restarts + service.refused > 0);
    failed.map(|(name, service)| {
        let [restarts, refused] = [service.restarts, service.refused].map(count);
        format!("service {name}: {restarts} restarts, {refused} connections refused")
    })
}

fn lives(status: &Status) -> String {
    let units = format!("{} units read-only, {} lost", status.units_read_only, status.units_lost);
    format!(
        "{} failed operations, {} epochs ended, {units}{}",
        status.traffic.failures,
        status.epochs_ended,
        zones(status)
    )
}

/// How many zones of hybrid drives are what.
fn zones(status: &Status) -> String {
    status.zones.as_ref().map_or_else(String::new, |zones| {
        let [conventional, sequential, inactive] = [zones.conventional, zones.sequential, zones.inactive].map(count);
        format!("\n{conventional} conventional zones, {sequential} sequential, {inactive} inactive")
    })
}

fn latencies(status: &Status) -> Vec<[String; 7]> {
    let row = |name: String, times: &Times| {
        let Times { mean_ms, p50_ms, p99_ms, p999_ms, max_ms, .. } = *times;
        let [mean, p50, p99, p999, longest] = [mean_ms, p50_ms, p99_ms, p999_ms, max_ms].map(milliseconds);
        [name, count(times.count), mean, p50, p99, p999, longest]
    };
    let rows = |(kind, Latency { all, beside_cleaning }): (&String, &Latency)| {
        [row(kind.clone(), all), row(format!("{kind} beside cleaning"), beside_cleaning)]
    };
    status.latency.iter().flat_map(rows).filter(|row| row[1] != "0").collect()
}

/// A status with large numbers, so long after the server's start.
#[cfg(test)]
pub fn sample(uptime_seconds: f64, latency: &serde_json::Value) -> serde_json::Value {
    use serde_json::json;
    let runner = json!({ "layer": "fifo-log", "space": "buffer", "journal_used": 4096, "journal_blocks": 16384, "used_blocks": 1_u64 << 30,
        "space_blocks": 1_u64 << 31, "blocked_writes": 3 });
    let traffic = json!({ "host_read": 1_u64 << 40, "host_written": 1_u64 << 40, "media_read": 1_u64 << 41,
        "media_written": 1_u64 << 41, "resets": 0, "flushes": 0, "failures": 3 });
    let cleaning = json!({ "state": "running", "throttle": 75, "steps": 123_456, "mean_ms": 12.5,
        "longest_ms": 2500.0, "limit_ms": 100.0, "over_limit": 12, "bound_blocks": 4096,
        "pacing": { "room_blocks": 1_000_000, "wanted_blocks": 1_000_000, "most_blocks": 1_000_000,
            "taken_per_second": 12_345.6, "moved_per_second": 123_456.7, "bound_ms": 500.0, "no_room_ms": 7500.0,
            "held_back": 123_456_789, "mean_ms": 123.4, "longest_ms": 500.0 } });
    json!({
        "schema": "", "layer": "fifo-log", "capacity_bytes": 18_000_000_000_000_u64, "block_bytes": 4096,
        "read_only": false, "dead": null, "uptime_seconds": uptime_seconds, "resident_bytes": 1_u64 << 30,
        "write_amplification": 12.5, "traffic": traffic, "events": {}, "moved_blocks": {}, "runners": [runner],
        "growth": { "capacity_bytes": 18_000_000_000_000_u64, "zones_left": 12_345, "bound_ms": 100.0 },
        "cleaning": cleaning, "latency": latency, "commits": 0, "checkpoints": 0,
        "entries_read": 0, "images_replayed": 0, "epochs_ended": 0, "units_read_only": 0, "units_lost": 0
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use imbrex_terminal::table::width;

    fn times(ms: f64) -> serde_json::Value {
        json!({ "count": 123_456_789, "mean_ms": 0.42, "p50_ms": 8.0, "p99_ms": ms, "p999_ms": ms, "max_ms": ms })
    }

    #[test]
    fn a_status_fits_a_pipe_and_is_in_units_that_people_read() {
        let both = json!({ "all": times(1234.0), "beside_cleaning": times(3_600_000.0) });
        let mut text = sample(86_400.0, &json!({ "read": both, "write": both }));
        text["layer"] = json!("log-cost-benefit");
        text["dead"] =
            json!("a reason that is long enough to go over the end of the line that it stands on, as some reasons do");
        let status: Result<Status, _> = serde_json::from_value(text);
        let text = shown(&status.unwrap());
        assert!(text.lines().all(|line| line.chars().count() <= width()), "{text}");
        assert!(text.contains("12,345 zones left to convert"), "{text}");
        assert!(text.contains("123,456,789 writes throttled for 123 ms"), "{text}");
        for time in ["24.0 h", "420 µs", "8.00 ms", "1.23 s", "60.0 min", "2.50 s", "7.50 s"] {
            assert!(text.contains(time), "{time} is not in\n{text}");
        }
    }
}
