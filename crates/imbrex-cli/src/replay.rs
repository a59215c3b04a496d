//! `imbrex replay`: one workload on one layer, in detail.

use std::path::PathBuf;
use std::slice;

use anyhow::Result;
use clap::Args;
use imbrex::layers::LayerInfo;
use imbrex::media::Media;
use imbrex::plan::Why;
use imbrex::replay::{
    BandSums, BandsLook, Below, CleaningTime, DiskStep, GrowthOutcome, Latency, MapOutcome, Observer, SideSums,
    TrackSums, Window, WindowOutcome,
};
use imbrex_runs::command::Command;
use imbrex_runs::notes;
use imbrex_runs::page::PageArgument;
use imbrex_runs::plan::Plan;
use imbrex_runs::row::Row;
use imbrex_runs::seen::Seen;
use imbrex_runs::series::Series;
use imbrex_runs::settled::settle;
use imbrex_runs::setup::Setup;
use imbrex_runs::specification::{Growth, Specification};
use imbrex_runs::trace_files::TraceFiles;
use imbrex_runs::values::layer;
use imbrex_runs::written::Written;
use imbrex_terminal::duration;
use imbrex_terminal::names::Names;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::{bytes, count, milliseconds, nanoseconds, number, paragraphs, percent, seconds, table};

use crate::bands::{BandMap, BandsArguments};
use crate::watch_disk::{Watch, WatchArguments};

/// Replay one workload on one layer and report in detail
#[derive(Args)]
pub struct Replay {
    /// A trace file, a synthetic workload ending in .toml, or a name from `imbrex list workloads`
    #[arg(value_name = "TRACE|WORKLOAD")]
    workload: String,
    /// The layer
    #[arg(long, value_name = "NAME", value_parser = layer)]
    layer: &'static LayerInfo,
    /// Write what happens over time to FILE, as JSON if it ends in .json and as CSV if in .csv
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// A row of the series: simulated time in ms, s, min or h, or a number of requests such as 1000req
    #[arg(long, default_value = "60s", value_parser = Window::read, requires = "series")]
    window: Window,
    #[command(flatten)]
    growth: Growth,
    #[command(flatten)]
    bands: BandsArguments,
    #[command(flatten)]
    watch: WatchArguments,
    #[command(flatten)]
    traces: TraceFiles,
    #[command(flatten)]
    setup: Setup,
    #[command(flatten)]
    page: PageArgument,
    #[command(flatten)]
    output: OutputArguments,
}

impl Replay {
    pub fn run(self) -> Result<()> {
        stop::on_ctrl_c();
        self.watch.check(self.page.is_wanted())?;
        let specification = self.specification();
        let plan = Plan::of(&specification)?;
        let workloads = specification.named()?;
        let output = self.output.open()?;
        let page = self.page.open(&format!("{} on {}", self.workload, self.layer.name))?;
        let reading = Progress::of_pieces("reading", plan.pieces(workloads.len()));
        let known = &plan.read(&workloads, &reading)?[0];
        drop(reading);
        let case = &plan.cases[0];
        let series = Series::create(self.series.as_deref(), &known.info, self.layer)?;
        let bands = self.bands.create(&known.info, self.layer.name, case.drive.block_bytes)?;
        let seen = page.is_some().then(|| Seen::new(&known.info, self.layer));
        let watch = self.watch.create(&known.info, self.layer, case.drive.block_bytes)?;
        let mut files = Files { series, bands, watch, seen };
        let progress = Progress::new("replaying", plan.requests(slice::from_ref(known)));
        let settled = settle(&plan.chosen, known, case, &progress)?;
        let (chosen, workload) = (plan.chosen_for(&settled, case)?, &*settled.workload);
        let on_page = page.is_some().then_some(self.layer);
        let chosen = chosen.with(self.watch.watched(&chosen.options, &workload.range, on_page)?);
        let row = chosen.replay(workload, case, &progress, &mut files)?;
        drop(progress);
        let typed = Command::typed();
        let rows = notes::told(vec![row], &typed);
        let row = &rows[0];
        files.series.finish()?;
        files.bands.finish()?;
        if let Some((page, mut seen)) = page.zip(files.seen) {
            seen.story = files.watch.stories.as_ref().map(|[story, _]| story.clone());
            page.of_runs([(row, &seen)].into_iter())?;
        }
        files.watch.finish()?;
        output.write(&rows, || report(row, &typed))
    }

    /// The run that these options are.
    fn specification(&self) -> Specification {
        Specification {
            workloads: vec![self.workload.clone()],
            layers: Some(vec![self.layer]),
            traces: self.traces.clone(),
            setup: self.setup.clone(),
            window: self.series.is_some().then_some(self.window),
            growth: self.growth.clone(),
            contents: self.bands.moments(),
            watch: self.page.is_wanted(),
            ..Specification::default()
        }
    }
}

/// The files that are filled during a replay.
struct Files<'a> {
    series: Series<'a>,
    bands: BandMap<'a>,
    watch: Watch<'a>,
    seen: Option<Seen<'a>>,
}

impl Observer for Files<'_> {
    fn row(&mut self, row: &WindowOutcome) {
        self.series.row(row);
        self.seen.iter_mut().for_each(|seen| seen.row(row));
    }

    fn steps(&mut self, steps: &[DiskStep], media: &dyn Media) {
        self.watch.see(steps, media);
    }

    fn bands(&mut self, look: &BandsLook) {
        self.bands.add(look);
        self.seen.iter_mut().for_each(|seen| seen.bands(look));
    }
}

fn report(row: &Row, typed: &Command) -> String {
    let is_timed = !row.options.untimed;
    let mut parts = vec![facts(row)];
    parts.extend(is_timed.then(|| latencies(row)));
    parts.extend([blocks(row), events(row)]);
    parts.extend(row.outcome.bands.map(bands));
    parts.extend(row.outcome.tracks.map(tracks));
    parts.extend(is_timed.then(|| cleaning(row)));
    parts.extend(row.outcome.map.map(map));
    let growth = |growth: &GrowthOutcome| pairs(["growth", ">"], grown(growth, row.block_bytes));
    parts.extend(row.outcome.growth.as_ref().map(growth));
    parts.extend((!row.outcome.devices.is_empty()).then(|| devices(row)));
    let names = Names::of([row.trace.as_str()]);
    let head = [
        Some(format!("{} on {}", row.called(&names), row.layer)),
        row.behind().map(|behind| format!("{behind} over which they arrived; how long they take then says little")),
        Some(format!("{}; {}", row.on_drive(), row.circumstances())),
    ];
    parts.insert(0, paragraphs(&head.into_iter().flatten().collect::<Vec<_>>().join("\n")));
    parts.extend(Some(notes::shown(slice::from_ref(row), &names, typed)).filter(|notes| !notes.is_empty()));
    parts.join("\n\n") + "\n"
}

fn pairs(headings: [&str; 2], pairs: impl IntoIterator<Item = (impl Into<String>, String)>) -> String {
    table(headings, pairs.into_iter().map(|(name, value)| [name.into(), value]))
}

fn facts(row: &Row) -> String {
    let outcome = &row.outcome;
    let block_bytes = u64::from(row.block_bytes);
    let config: Vec<_> = row.config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let config = if config.is_empty() { "defaults".to_owned() } else { config.join(", ") };
    let zones = row.zone_blocks.zip(row.conventional_zones).map(|(blocks, conventional)| {
        let (zones, size) = (row.drive_blocks / u64::from(blocks), bytes(u64::from(blocks) * block_bytes));
        ("zones", format!("{} of {size}, {} conventional", count(zones), count(conventional.into())))
    });
    let facts = [
        ("workload", format!("{}, {}", row.trace_format, bytes(row.range_bytes))),
        ("configuration", config),
        ("capacity", bytes(row.capacity_blocks * block_bytes)),
        ("buffer", bytes(row.buffer_blocks * block_bytes)),
        ("requests", count(outcome.requests)),
        ("simulated time", seconds(outcome.simulated_seconds)),
        ("disk busy", percent(outcome.disk_busy_ratio)),
        ("head travelled", format!("{} cylinders", count(outcome.seek_cylinders))),
        ("replay took", seconds(outcome.replay_seconds)),
        ("blocks replayed per second", count(outcome.blocks_per_second as u64)),
    ];
    let steady = notes::when_steady(row).map(|after| ("steady", after));
    let limit = duration::shown(row.options.limit_ns);
    let over = (format!("requests that took longer than {limit}"), count(outcome.requests_over_limit));
    let over = row.shows_limit().then_some(over);
    let rest = outcome.rest_seconds.map(|rest| ("at rest after the last request", seconds(rest)));
    let more = zones.into_iter().chain(rest).chain(steady);
    let named = facts.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value));
    pairs(["run", ">"], named.chain(over))
}

fn latencies(row: &Row) -> String {
    let latency = &row.outcome.latency_ms;
    let cells = |name: &str, requests: u64, l: &Latency| {
        let [mean, p50, p95, p99, p999, max] = [l.mean, l.p50, l.p95, l.p99, l.p999, l.max].map(milliseconds);
        [name.to_owned(), count(requests), mean, p50, p95, p99, p999, max]
    };
    let (reads, writes) = (row.outcome.read_requests, row.outcome.write_requests);
    table(
        ["latency", ">requests", ">mean", ">p50", ">p95", ">p99", ">p99.9", ">longest"],
        [
            cells("reads", reads, &latency.read),
            cells("writes", writes, &latency.write),
            cells("all", reads + writes, &latency.all),
        ],
    )
}

fn blocks(row: &Row) -> String {
    let outcome = &row.outcome;
    let size = |blocks: u64| bytes(blocks * u64::from(row.block_bytes));
    let (read, written) = (&outcome.media_read_blocks, &outcome.media_write_blocks);
    let moved = Why::ALL.iter().filter(|why| read.get(**why) + written.get(**why) > 0);
    let by_reason = moved.map(|why| [format!("media, {}", why.name()), size(read.get(*why)), size(written.get(*why))]);
    let host = ["host".to_owned(), size(outcome.host_read_blocks), size(outcome.host_write_blocks)];
    let media = ["media, all".to_owned(), size(read.total()), size(written.total())];
    table(["bytes", ">read", ">written"], [host].into_iter().chain(by_reason).chain([media]))
}

fn events(row: &Row) -> String {
    let outcome = &row.outcome;
    let own = outcome.counters.iter().map(|(counter, times)| (counter.key.replace('_', " "), count(times)));
    pairs(
        ["event", ">"],
        [
            ("write amplification", number(outcome.write_amplification)),
            ("write hits, blocks", count(outcome.write_hit_blocks)),
            ("write hits, of blocks", percent(outcome.write_hit_ratio)),
            ("write hits, of whole requests", percent(outcome.write_hit_ratio_requests)),
            ("blocks read from the buffer", count(outcome.read_hit_blocks)),
            ("blocks written past the buffer", count(outcome.direct_blocks)),
            ("blocks let in by choice", count(outcome.admitted_blocks)),
            ("blocks evicted", count(outcome.evicted_blocks)),
            ("zones rewritten (RMW)", count(outcome.rmw)),
            ("zones appended to (RMW-free)", count(outcome.rmw_free)),
            ("blocks of padding", count(outcome.padding_blocks)),
            ("of these written again with their zone, times", count(outcome.padding_again_blocks)),
            ("resets", count(outcome.resets)),
        ]
        .map(|(name, number)| (name.to_owned(), number))
        .into_iter()
        .chain(own),
    )
}

/// What the bands hold at the end.
fn bands(sums: BandSums) -> String {
    let heat =
        sums.hot_blocks.map(|hot| [("blocks that are hot", hot), ("blocks that are cold", sums.live_blocks - hot)]);
    let live = heat.map_or(vec![("blocks that are live (heat is not kept)", sums.live_blocks)], |heat| heat.to_vec());
    let bands = [("bands", sums.bands), ("empty ones", sums.empty)];
    let free = [("blocks that are dead", sums.dead_blocks), ("blocks not written", sums.unwritten_blocks)];
    let mixed = sums.mixed.map(|mixed| ("mixed ones", mixed));
    let all = bands.into_iter().chain(mixed).chain(live).chain(free);
    pairs(["at the end", ">"], all.map(|(name, number)| (name, count(number))))
}

/// What the tracks of each kind hold at the end.
fn tracks(sums: TrackSums) -> String {
    let row = |name: &str, of: fn(&SideSums) -> u64| [name.to_owned(), count(of(&sums.bottom)), count(of(&sums.top))];
    table(
        ["at the end", ">on bottom tracks", ">on top tracks"],
        [
            row("tracks", |side| side.tracks),
            row("blocks at home", |side| side.home_blocks),
            row("homes needed no more", |side| side.stale_blocks),
            row("buffered blocks", |side| side.buffered_blocks),
            row("exchanged blocks", |side| side.swapped_blocks),
            row("blocks not allocated", |side| side.free_blocks),
        ],
    )
}

/// What a map in bounded memory cost.
fn map(map: MapOutcome) -> String {
    let pages = [
        ("whole map", bytes(map.map_bytes)),
        ("memory for it", bytes(map.memory_bytes)),
        ("pages looked up", count(map.lookups)),
        ("pages read", count(map.read_pages)),
        ("pages written", count(map.written_pages)),
    ];
    pairs(["map", ">"], pages)
}

/// What became of space that was asked for, as rows of a table.
fn grown(growth: &GrowthOutcome, block_bytes: u32) -> [(&'static str, String); 9] {
    [
        ("asked for first after", seconds(growth.begun_s)),
        ("space gained", bytes(growth.gained_blocks * u64::from(block_bytes))),
        ("zones converted", count(growth.converted_zones)),
        ("until it was there", seconds(growth.seconds)),
        ("steps that were not interrupted", count(growth.steps)),
        ("all of them together", seconds(growth.step_seconds)),
        ("longest step", milliseconds(growth.longest_step_ms)),
        ("requests that came during one", count(growth.delayed_requests)),
        ("longest that one waited for its end", milliseconds(growth.longest_delay_ms)),
    ]
}

/// The devices of a stack: what the layer above asks of each, and what its own layer makes of that.
fn devices(row: &Row) -> String {
    let size = |blocks: u64| bytes(blocks * u64::from(row.block_bytes));
    let cells = row.outcome.devices.iter().map(|Below { layer, outcome }| {
        let latency = &outcome.latency_ms;
        [
            layer.clone(),
            size(outcome.host_read_blocks),
            size(outcome.host_write_blocks),
            size(outcome.media_read_blocks.total()),
            size(outcome.media_write_blocks.total()),
            count(outcome.rmw),
            milliseconds(latency.read.mean),
            milliseconds(latency.write.mean),
            percent(outcome.disk_busy_ratio),
        ]
    });
    table(
        [
            "device",
            ">read from it",
            ">written to it",
            ">media read",
            ">media written",
            ">RMW",
            ">mean read",
            ">mean write",
            ">busy",
        ],
        cells,
    )
}

fn cleaning(row: &Row) -> String {
    let cells = |name: &str, time: &CleaningTime| {
        let each = time.total_ns / time.episodes.max(1);
        [name.to_owned(), count(time.episodes), count(time.steps), nanoseconds(time.total_ns), nanoseconds(each)]
    };
    table(
        ["cleaning", ">times", ">steps", ">in all", ">each"],
        [cells("a write waits", &row.outcome.blocked_cleaning), cells("in idle time", &row.outcome.idle_cleaning)],
    )
}
