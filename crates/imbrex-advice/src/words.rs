//! The answer in words, and the tables behind it.

use std::num::NonZeroU64;
use std::ptr;

use imbrex_runs::notes::had_nothing_to_clean;
use imbrex_runs::row::{Row, called as workload};
use imbrex_terminal::names::Names;
use imbrex_terminal::table::{Cell, bytes, count, grid, milliseconds, number, paragraphs, percent, seconds};

use crate::bound::Bound;
use crate::choice::Choice;
use crate::kinds::Disk;
use crate::prices::Goods;
use crate::row::{AdviceRow, Is};
use crate::stages::{Baselines, Measured, best_of};
use crate::trial::{Measure, Point};

/// Everything that there is to say.
pub struct Told<'t, 'a> {
    /// What it was held against.
    pub measure: &'t Measure<'t>,
    /// What was measured.
    pub measured: &'t Measured<'a>,
    /// What is recommended.
    pub choice: &'t Choice<'t, 'a>,
    /// That, and the best of another kind, when requests arrive faster.
    pub faster: &'t [Point<'a>],
    /// What is known of what every layer rewrites that could be recommended.
    pub bound: Option<&'t Bound>,
}

/// A layer with its settings, as tables call it.
pub fn called(point: &Point<'_>) -> String {
    let map = point.trial.map_memory.map(|most| format!("{} of map in memory", bytes(most)));
    let with: Vec<_> = point.trial.fields().cloned().chain(map).collect();
    if with.is_empty() {
        point.trial.layer.name.to_owned()
    } else {
        format!("{}, {}", point.trial.layer.name, with.join(", "))
    }
}

impl Told<'_, '_> {
    /// The answer: what was asked, what to take, what comes next, and what would break it; a paragraph each.
    pub fn answer(&self, baselines: &Baselines) -> Vec<String> {
        let Choice { best, is_cheapest, runner_up, unsold } = *self.choice;
        let mut said = self.workloads(baselines.of(best.trial.disk, NonZeroU64::MIN));
        let demand = self.measure.demand.shown();
        said.push(match () {
            () if !best.is_enough() => format!("Nothing here keeps {demand}. What comes nearest is {}.", a(best)),
            () if is_conventional(best) => format!("Take a conventional disk: nothing cheaper keeps {demand}."),
            () if is_cheapest => format!("Take {}. It is the cheapest that keeps {demand}.", a(best)),
            () => format!("Take {}. What costs less by 2 % at most and keeps {demand} is slower.", a(best)),
        });
        said.extend(self.bound.map(|bound| bound.shown(best.trial.layer.name)));
        if let Some(other) = runner_up {
            let word = if other.is_enough() { "Runner-up" } else { "Not enough, but next" };
            said.push(format!("{word}: {}.", a(other)));
        }
        let overlapped = [Some(best), runner_up].into_iter().flatten().filter(|point| !is_conventional(point));
        said.extend(overlapped.filter_map(|point| self.breaks(point)));
        said.extend(unsold.map(|least| format!("Cheaper still would be {}, which nobody sells yet.", a(least))));
        said
    }

    /// What the workloads are, and what a conventional disk does with them.
    fn workloads(&self, baseline: &[Row]) -> Vec<String> {
        let names = Names::of(baseline.iter().map(|row| row.trace.as_str()));
        let each = self.measure.known.iter().zip(baseline).map(|(known, row)| {
            let outcome = &row.outcome;
            let reads = outcome.read_requests as f64 / outcome.requests.max(1) as f64;
            let served = row.behind().unwrap_or_else(|| {
                let busy = percent(outcome.disk_busy_ratio);
                format!(
                    "serves one in {} on average and is busy for {busy} of the time",
                    milliseconds(outcome.latency_ms.all.mean)
                )
            });
            format!(
                "{}: {} requests in {} over {}, {} of them reads, {} written. A conventional disk {served}.",
                workload(names.name(&row.trace), row.synthetic),
                count(known.range.requests),
                seconds(known.range.duration_ns as f64 / 1e9),
                bytes(known.range.range_bytes),
                percent(reads),
                bytes(outcome.host_write_bytes),
            )
        });
        each.collect()
    }

    /// What becomes of a point when requests arrive faster, and with less of what a buyer may vary.
    fn breaks(&self, point: &Point<'_>) -> Option<String> {
        let faster = self
            .faster
            .iter()
            .find(|own| own.is_same_disk(point))
            .map(|own| format!("requests that come twice as fast: {}", self.how(own)));
        let less = self.measured.varied.iter().filter(|own| own.is_less_than(point));
        // The nearest to what is recommended.
        let less = less.max_by(|one, other| one.cost.total_cmp(&other.cost));
        let less = less.map(|own| format!("{}: {}", changed(own, point), self.how(own)));
        let said: Vec<_> = [faster, less].into_iter().flatten().collect();
        (!said.is_empty())
            .then(|| format!("What would break the {}: {}.", point.trial.disk.kind.words, said.join("; ")))
    }

    /// How long requests take, and whether that is enough.
    fn how(&self, point: &Point<'_>) -> String {
        let enough = if point.is_enough() { "still enough" } else { "not enough" };
        match point.is_late() {
            true => "it cannot keep up".to_owned(),
            false => format!("{} × a conventional disk, {enough}", times(point)),
        }
    }

    /// The answer and the tables, for people.
    pub fn shown(&self, answer: &[String], rows: &[AdviceRow]) -> String {
        let layers = &self.measured.layers;
        let is_best = |point: &&Point<'_>| best_of(layers, point.trial.disk).is_some_and(|best| ptr::eq(best, *point));
        let mut bests: Vec<_> = layers.iter().filter(is_best).collect();
        bests.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        let answer: Vec<_> = answer.iter().map(|said| paragraphs(said)).collect();
        let [kinds, varied] = [self.kinds(&bests), self.varied(&bests)];
        let command = rows.iter().find(|row| row.is == Is::Recommended).and_then(|row| row.command.clone());
        let repeat = command.map(|command| format!("What is recommended, again:\n  {command}"));
        let foot = [Some(paragraphs(&self.legend())), repeat].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        format!("{}\n\n{kinds}\n\n{varied}\n\n{foot}\n", answer.join("\n"))
    }

    /// Every kind of disk with its best layer.
    fn kinds(&self, bests: &[&Point<'_>]) -> String {
        let size = |size: u64| if size == 0 { "-".to_owned() } else { bytes(size) };
        let lines = bests.iter().map(|point| {
            let sizes = [size(buffer(point)), size(point.memory_bytes)];
            let before = [self.name(point), called(point)].into_iter().chain(sizes);
            before.map(Cell::Text).chain(self.figures(point)).collect::<Vec<_>>()
        });
        grid(&["kind of disk", "layer", ">buffer", ">memory", ">cost", ">mean", ">p99.9", ">vs conv", "verdict"], lines)
    }

    /// The best of each kind with other sizes.
    fn varied(&self, bests: &[&Point<'_>]) -> String {
        let own = bests.iter().flat_map(|best| {
            let own = self.measured.varied.iter().filter(|point| point.is_same_disk(best));
            own.map(|point| (point, changed(point, best)))
        });
        let lines = own.map(|(point, word)| {
            [self.name(point), word].map(Cell::Text).into_iter().chain(self.figures(point)).collect::<Vec<_>>()
        });
        grid(&["the best of", "with", ">cost", ">mean", ">p99.9", ">vs conv", "verdict"], lines)
    }

    /// The kind of disk; with the drive if there are several of the kind.
    fn name(&self, point: &Point<'_>) -> String {
        let Disk { kind, named, .. } = point.trial.disk;
        let is_other = |other: &Point<'_>| other.trial.disk.kind.name == kind.name && !other.is_same_disk(point);
        let is_one = !self.measured.layers.iter().any(is_other);
        if is_one { kind.name.to_owned() } else { format!("{} {named}", kind.name) }
    }

    /// What it costs, how long requests take, and what becomes of it.
    fn figures(&self, point: &Point<'_>) -> Vec<Cell> {
        let largest = |of: fn(&Row) -> f64| milliseconds(point.rows.iter().map(of).fold(0.0, f64::max));
        let mut cells = vec![Cell::Text(number(point.cost))];
        if point.is_late() {
            cells.extend([Cell::Text("cannot keep up".to_owned()), Cell::Continued, Cell::Continued]);
        } else {
            let [mean, p999] =
                [largest(|row| row.outcome.latency_ms.all.mean), largest(|row| row.outcome.latency_ms.all.p999)];
            cells.extend([mean, p999, format!("{}×", number(point.times))].map(Cell::Text));
        }
        cells.push(Cell::Text(self.verdict(point).to_owned()));
        cells
    }

    /// What becomes of a point.
    fn verdict(&self, point: &Point<'_>) -> &'static str {
        match () {
            () if ptr::eq(point, self.choice.best) => "take",
            () if self.choice.runner_up.is_some_and(|own| ptr::eq(own, point)) => "next",
            () if point.is_enough() => "enough",
            () => "no",
        }
    }

    /// What flash is held against, if there is any.
    fn of_flash(&self) -> String {
        let flash = self.measured.layers.iter().find(|point| point.trial.disk.kind.disk == Goods::Flash);
        flash.map_or_else(String::new, |point| format!(", for flash over that on {}", point.trial.disk.yardstick()))
    }

    fn legend(&self) -> String {
        let mut lines = vec![
            format!(
                "Cost: of the disk, its buffer and the host's memory for each byte that is offered, over a conventional \
                 disk, with {} for a byte (--price). Every disk is as large as the workload and full.",
                self.measure.prices.shown()
            ),
            format!(
                "Vs conv: mean latency over that on the same disk if its tracks did not overlap{}. Enough: it keeps what \
                 is demanded.",
                self.of_flash()
            ),
        ];
        let late = self.measured.late.iter().map(|(_, layer)| *layer).collect::<Vec<_>>();
        if !late.is_empty() {
            lines.push(format!("Far from keeping up, and not looked at any further: {}.", late.join(", ")));
        }
        for (disk, _, why) in &self.measured.refused {
            lines.push(format!("Left out of {} disks: {why}.", disk.kind.name));
        }
        lines.join("\n")
    }
}

/// A disk with its layer, in words.
fn a(point: &Point<'_>) -> String {
    let kind = point.trial.disk.kind;
    let article = if kind.words.starts_with('i') { "an" } else { "a" };
    let times = if point.is_late() {
        "it cannot keep up".to_owned()
    } else {
        let p999 = point.rows.iter().map(|row| row.outcome.latency_ms.all.p999).fold(0.0, f64::max);
        format!(
            "requests take {} times as long as on a conventional disk, 99.9 % of them at most {}",
            times(point),
            milliseconds(p999)
        )
    };
    let layer = if is_conventional(point) { String::new() } else { format!(" with {}", with(point)) };
    let idle = match !is_conventional(point) && point.rows.iter().all(had_nothing_to_clean) {
        true => "; nothing had to be cleaned, which a longer workload may change",
        false => "",
    };
    let over: u64 = point.rows.iter().map(|row| row.outcome.requests_over_limit).sum();
    let over = match over {
        0 => String::new(),
        _ => format!("; {} of them take longer than the 30 s after which Linux gives a disk up", count(over)),
    };
    format!("{article} {}{layer}: {times}{over}; it costs {} of one{idle}", kind.words, number(point.cost))
}

fn is_conventional(point: &Point<'_>) -> bool {
    point.trial.disk.kind.disk == Goods::Conventional
}

/// How many times as long as on a conventional disk.
fn times(point: &Point<'_>) -> String {
    if point.times < 0.01 { "less than 0.01".to_owned() } else { number(point.times) }
}

/// A layer, its settings and what it takes.
fn with(point: &Point<'_>) -> String {
    let buffer = buffer(point);
    let of = point.trial.disk.kind.buffer.filter(|_| buffer > 0);
    let of =
        of.map(|goods| format!(" and {} of {}", bytes(buffer), if goods == Goods::Flash { "flash" } else { "buffer" }));
    format!("{}{}", called(point), of.unwrap_or_default())
}

/// What a point has of what a buyer may vary, and its layer and settings where they are not those of `best`.
fn changed(point: &Point<'_>, best: &Point<'_>) -> String {
    let (own, other) = (&point.trial, &best.trial);
    let room = match (own.map_memory, &own.size) {
        (Some(most), _) => format!("{} of map in memory", bytes(most)),
        (_, Some(size)) => size.clone(),
        _ => format!("{} of buffer", bytes(buffer(point))),
    };
    if (own.layer.name, &own.settings) == (other.layer.name, &other.settings) {
        return room;
    }
    let all: Vec<_> =
        [room.as_str(), own.layer.name].into_iter().chain(own.settings.iter().map(String::as_str)).collect();
    all.join(", ")
}

/// Bytes of the buffer of a point.
fn buffer(point: &Point<'_>) -> u64 {
    point.rows.iter().map(|row| row.buffer_blocks * u64::from(row.block_bytes)).max().unwrap_or(0)
}
