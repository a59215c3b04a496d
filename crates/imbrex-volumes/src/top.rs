//! `imbrex top`: how a volume that is served stands, in the terminal, second by second.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use imbrex_live::service::control::{self, Question, Reply};
use imbrex_live::service::{Event, EventLevel, Latency, Runner, Status};
use imbrex_terminal::table::{bytes, count, milliseconds, seconds};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, LineGauge, Paragraph, Row, Sparkline, Table, Wrap};

use super::socket;

/// How often the server is asked, and how many answers are kept.
const EVERY: Duration = Duration::from_secs(1);
const KEPT: usize = 300;
/// How many of the last events are shown.
const EVENTS: u16 = 2;

/// Watch the state of a served volume, second by second; q ends it
#[derive(Args)]
pub struct Top {
    /// The server's socket, its control socket, or the volume's first store
    socket: PathBuf,
}

impl Top {
    /// Shows the status again and again.
    ///
    /// # Errors
    /// When no server answers.
    pub fn run(self) -> Result<()> {
        if !io::stdout().is_terminal() {
            bail!("this draws on a terminal; in a pipe `imbrex status` says the same once");
        }
        let control = socket::control_of(&self.socket);
        let ask = || ask(&control);
        let mut seen = Seen::new(ask().map_err(|why| anyhow!(why))?);
        let mut terminal = ratatui::try_init()?;
        let watched = watch(&mut terminal, &mut seen, ask);
        ratatui::try_restore()?;
        Ok(watched?)
    }
}

/// What a server answers: how the volume stands, and what happened last.
type Told = (Status, Vec<Event>);

fn ask(control: &Path) -> Result<Told, String> {
    let ask = |question| control::ask(control, question).map_err(|why| why.to_string());
    match (ask(Question::Status)?, ask(Question::Events)?) {
        (Reply::Status(status), Reply::Events(events)) => Ok((*status, events)),
        _ => Err("the server answers what it was not asked".to_owned()),
    }
}

/// Draws until a key ends it.
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    seen: &mut Seen,
    ask: impl Fn() -> Result<Told, String>,
) -> io::Result<()> {
    let mut asked = Instant::now();
    loop {
        terminal.draw(|frame| draw(frame, seen))?;
        if event::poll(EVERY.saturating_sub(asked.elapsed()))? && is_end(&event::read()?) {
            return Ok(());
        }
        if asked.elapsed() >= EVERY {
            asked = Instant::now();
            seen.add(ask());
        }
    }
}

fn is_end(event: &Input) -> bool {
    let Input::Key(key) = event else { return false };
    let is_ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (is_ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}

/// What the server has said so far.
struct Seen {
    last: Status,
    /// What happened, the newest first.
    events: Vec<Event>,
    /// Since when it says nothing, and why.
    silent: Option<String>,
    /// For each second: requests, bytes that clients moved, and the mean latency of writes in microseconds.
    requests: VecDeque<u64>,
    traffic: VecDeque<u64>,
    writes_us: VecDeque<u64>,
}

impl Seen {
    fn new((last, events): Told) -> Self {
        let (requests, traffic, writes_us) = Default::default();
        Self { last, events, silent: None, requests, traffic, writes_us }
    }

    fn add(&mut self, answer: Result<Told, String>) {
        match answer {
            Err(why) => self.silent = Some(why),
            Ok((status, events)) => {
                self.silent = None;
                self.events = events;
                let before = std::mem::replace(&mut self.last, status);
                self.add_difference(&before);
            }
        }
    }

    fn add_difference(&mut self, before: &Status) {
        let took = self.last.uptime_seconds - before.uptime_seconds;
        if took <= 0.0 {
            return;
        }
        let per_second = |now: u64, then: u64| (now.saturating_sub(then) as f64 / took) as u64;
        let all = |status: &Status| status.latency.values().map(|latency| latency.all.count).sum();
        let moved = |status: &Status| status.traffic.host_read + status.traffic.host_written;
        let writes = |status: &Status| {
            let all = status.latency.get("write").map(|latency| &latency.all);
            all.map_or((0, 0.0), |all| (all.count, all.mean_ms * all.count as f64))
        };
        let (was, is) = (writes(before), writes(&self.last));
        let mean_us = if is.0 > was.0 { (is.1 - was.1) * 1e3 / (is.0 - was.0) as f64 } else { 0.0 };
        for (kept, value) in [
            (&mut self.requests, per_second(all(&self.last), all(before))),
            (&mut self.traffic, per_second(moved(&self.last), moved(before))),
            (&mut self.writes_us, mean_us.max(0.0) as u64),
        ] {
            kept.truncate(KEPT - 1);
            kept.push_front(value);
        }
    }
}

fn draw(frame: &mut Frame<'_>, seen: &Seen) {
    let runners = seen.last.runners.len() as u16 * 2;
    let kinds = seen.last.latency.len() as u16 + 1;
    let [head, lines, fill, latency, events, foot] = Layout::vertical([
        Constraint::Length(5),
        Constraint::Min(6),
        Constraint::Length(runners + 2),
        Constraint::Length(kinds + 2),
        Constraint::Length(EVENTS),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(headlines(seen)).wrap(Wrap { trim: true }), head);
    draw_lines(frame, lines, seen);
    draw_fill(frame, fill, &seen.last);
    frame.render_widget(latencies(&seen.last), latency);
    frame.render_widget(Paragraph::new(happened(&seen.events)), events);
    frame.render_widget(Line::from("q ends this").dim(), foot);
}

fn headlines(seen: &Seen) -> Vec<Line<'static>> {
    let status = &seen.last;
    let served = format!("{}, {}, for {}", status.layer, bytes(status.capacity_bytes), seconds(status.uptime_seconds));
    let traffic = &status.traffic;
    let amplification = status.write_amplification.map_or(String::new(), |times| format!(", {times:.2} for each"));
    let host = format!("clients read {}, wrote {}", bytes(traffic.host_read), bytes(traffic.host_written));
    let media = format!("drives wrote {}{amplification}", bytes(traffic.media_written));
    let cleaning = &status.cleaning;
    let steps = format!("{} steps, the longest {}", count(cleaning.steps), milliseconds(cleaning.longest_ms));
    let memory = status.resident_bytes.map_or(String::new(), |resident| format!("; {} of memory", bytes(resident)));
    let mut lines = vec![
        Line::from(served).bold(),
        Line::from(format!("{host}; {media}")),
        Line::from(format!("cleaning {}, throttle {} %: {steps}{memory}", cleaning.state, cleaning.throttle)),
    ];
    let silent = seen.silent.as_ref().map(|why| format!("the server does not answer: {why}"));
    let dead = status.dead.as_ref().map(|why| format!("cannot be used: {why}"));
    let lost = (status.units_lost + status.units_read_only > 0)
        .then(|| format!("{} units lost, {} read-only", status.units_lost, status.units_read_only));
    let warnings = [silent, dead, lost].into_iter().flatten().chain(super::status::services(status));
    lines.extend(warnings.map(|text| Line::from(text).style(Style::new().fg(Color::Red).bold())));
    lines
}

/// The last events, and how long ago they were.
fn happened(events: &[Event]) -> Vec<Line<'static>> {
    let line = |event: &Event| {
        let line = Line::from(format!("{}: {}", super::status::ago(event.at_ms), event.text));
        if event.level == EventLevel::Warning { line.red().bold() } else { line }
    };
    events.iter().take(EVENTS.into()).map(line).collect()
}

/// The last minutes, now at the left.
fn draw_lines(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let last = |kept: &VecDeque<u64>| kept.front().copied().unwrap_or_default();
    let requests = format!("requests a second: {}", count(last(&seen.requests)));
    let traffic = format!("clients move a second: {}", bytes(last(&seen.traffic)));
    let writes = format!("mean of writes: {}", milliseconds(last(&seen.writes_us) as f64 / 1e3));
    let all = [(requests, &seen.requests), (traffic, &seen.traffic), (writes, &seen.writes_us)];
    let areas: [Rect; 3] = Layout::horizontal([Constraint::Ratio(1, 3); 3]).areas(area);
    for ((title, kept), area) in all.into_iter().zip(areas) {
        let line = Sparkline::default().data(kept.iter().copied()).style(Style::new().fg(Color::Cyan));
        frame.render_widget(line.block(Block::bordered().title(title)), area);
    }
}

/// How full each runner's journal and space is.
fn draw_fill(frame: &mut Frame<'_>, area: Rect, status: &Status) {
    let block = Block::bordered().title("how full");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let size = |blocks: u64| bytes(blocks * u64::from(status.block_bytes));
    let of = |Runner { journal_used, journal_blocks, used_blocks, space_blocks, blocked_writes, .. }: &Runner| {
        let waiting =
            if *blocked_writes > 0 { format!(", {} writes wait", count(*blocked_writes)) } else { String::new() };
        let (used, space) = (used_blocks.unwrap_or_default(), space_blocks.unwrap_or_default());
        [("journal", *journal_used, *journal_blocks, String::new()), ("space", used, space, waiting)]
    };
    let gauges = status.runners.iter().flat_map(of);
    for ((name, used, all, more), row) in gauges.zip(inner.rows()) {
        let label = format!("{name:8}{} of {}{more}", size(used), size(all));
        let ratio = (used as f64 / all.max(1) as f64).clamp(0.0, 1.0);
        frame.render_widget(LineGauge::default().ratio(ratio).label(label).filled_style(Style::new().cyan()), row);
    }
}

fn latencies(status: &Status) -> Table<'static> {
    let row = |(kind, Latency { all, beside_cleaning }): (&String, &Latency)| {
        let [mean, p50, p99, p999, longest] =
            [all.mean_ms, all.p50_ms, all.p99_ms, all.p999_ms, all.max_ms].map(milliseconds);
        let beside = milliseconds(beside_cleaning.p99_ms);
        Row::new([kind.clone(), count(all.count), mean, p50, p99, p999, longest, beside])
    };
    let headings = ["latency", "requests", "mean", "p50", "p99", "p99.9", "longest", "p99 beside cleaning"];
    let widths = [9, 14, 9, 9, 9, 9, 9, 19].map(Constraint::Length);
    Table::new(status.latency.iter().map(row), widths).header(Row::new(headings).bold()).block(Block::bordered())
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    use super::*;

    fn status(uptime: f64, writes: u64) -> Told {
        let times = |count: u64| json!({ "count": count, "mean_ms": 2.0, "p50_ms": 1.0, "p99_ms": 8.0, "p999_ms": 9.0, "max_ms": 9.5 });
        let latency = json!({ "all": times(writes), "beside_cleaning": times(0) });
        let text = crate::status::sample(uptime, &json!({ "write": latency }));
        let event = json!({ "at_ms": 0, "event": "scrub-began", "level": "info", "text": "Scrub began" });
        (serde_json::from_value(text).expect("a status"), vec![serde_json::from_value(event).expect("an event")])
    }

    fn drawn(seen: &Seen) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).expect("a terminal in memory");
        terminal.draw(|frame| draw(frame, seen)).expect("a picture");
        terminal.backend().to_string()
    }

    #[test]
    fn a_second_is_the_difference_of_two_answers() {
        let mut seen = Seen::new(status(10.0, 100));
        seen.add(Ok(status(12.0, 300)));
        assert_eq!(seen.requests, [100]);
        assert_eq!(seen.writes_us, [2000], "their mean");
        let picture = drawn(&seen);
        for said in ["requests a second: 100", "fifo-log", "journal", "p99 beside cleaning", "ago: Scrub began"] {
            assert!(picture.contains(said), "{said} is not in\n{picture}");
        }
    }

    #[test]
    fn a_server_that_is_gone_is_said_and_its_numbers_stay() {
        let mut seen = Seen::new(status(10.0, 100));
        seen.add(Err("nobody listens".to_owned()));
        let picture = drawn(&seen);
        assert!(picture.contains("the server does not answer: nobody listens") && picture.contains("fifo-log"));
        seen.add(Ok(status(1.0, 1)));
        assert!(!drawn(&seen).contains("does not answer"), "another server");
        assert!(seen.requests.is_empty(), "a server that began anew says nothing of the second before");
    }
}
