//! What the rows of a table come to, in two sentences and a table of its layers.

use imbrex_terminal::table::{Sheet, number};

use super::line::{Line, Tried};
use super::tables::{Counted, Table};

/// The geometric mean, of numbers above 0.
fn mean(numbers: &[f64]) -> Option<f64> {
    let logarithms: f64 = numbers.iter().map(|number| number.ln()).sum();
    (!numbers.is_empty()).then(|| (logarithms / numbers.len() as f64).exp())
}

/// A ratio, to two digits at least that say something.
pub fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio > 0.0 && ratio < 0.001 => "< 0.001".to_owned(),
        _ if ratio < 0.1 => format!("{ratio:.3}"),
        _ => number(ratio),
    }
}

/// The rows of each workload, one for a seed, in the order of the first of them.
pub fn by_workload<'l>(lines: &[&'l Line]) -> Vec<Vec<&'l Line>> {
    let mut all: Vec<Vec<&Line>> = Vec::new();
    for line in lines {
        match all.iter_mut().find(|of| of[0].workload == line.workload) {
            Some(of) => of.push(line),
            None => all.push(vec![line]),
        }
    }
    all
}

/// Whether some workload was run with several seeds.
pub fn has_seeds(all: &[Vec<&Line>]) -> bool {
    all.iter().any(|of| of.len() > 1)
}

/// What a workload comes to with all seeds: the geometric mean of the ratio, its least and its most, and how often the
/// best of the others wins.
pub fn over_seeds(lines: &[&Line]) -> String {
    let mut ratios: Vec<_> = lines.iter().filter_map(|line| line.counted_ratio()).collect();
    ratios.sort_by(f64::total_cmp);
    let ends = ratios.first().zip(ratios.last());
    let shown = mean(&ratios).zip(ends).map_or("-".to_owned(), |(mean, (least, most))| {
        format!("{} ({} to {})", times(mean), times(*least), times(*most))
    });
    match lines.iter().filter(|line| line.is_lost()).count() {
        0 => shown,
        lost => format!("{shown}, loses {lost}"),
    }
}

/// The workloads in which the best of the others wins, with the number of seeds if there are several.
fn lost(lines: &[&Line]) -> String {
    let all = by_workload(lines);
    let has_seeds = has_seeds(&all);
    let shown = |of: &Vec<&Line>| match of.iter().filter(|line| line.is_lost()).count() {
        0 => None,
        lost if has_seeds => Some(format!("{} {lost}", of[0].workload)),
        _ => Some(of[0].workload.clone()),
    };
    let names: Vec<_> = all.iter().filter_map(shown).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// What is said of a table.
pub fn sentences(table: &Table, lines: &[&Line]) -> String {
    let Some(ours) = table.ours else { return without_ours(table, lines) };
    let ratio = |line: &&Line| Some((line.workload.clone(), line.counted_ratio()?));
    let ratios: Vec<_> = lines.iter().filter_map(ratio).collect();
    let of: Vec<_> = ratios.iter().map(|(_, ratio)| *ratio).collect();
    let worst = ratios.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((mean, (workload, most))) = mean(&of).zip(worst) else {
        return format!("**{}**: {ours} and the best of the others have nothing to do.", table.name);
    };
    let (verb, what) = match table.counted {
        Counted::Moved => ("moves", "as many blocks"),
        Counted::Zones => ("rewrites", "as many zones"),
        Counted::Bands => ("rewrites", "as many bands"),
        Counted::Response => ("takes", "as long for a request"),
    };
    let wins = lines.iter().filter(|line| line.is_lost()).count();
    let (number, rows) = (lines.len(), if has_seeds(&by_workload(lines)) { "runs" } else { "rows" });
    let uncounted = match number - ratios.len() {
        0 => String::new(),
        left_out if table.is_untimed() => format!(", without {left_out} where one of them has none"),
        left_out => format!(", without {left_out} where one of them cannot keep up"),
    };
    format!(
        "**{}**: `{ours}`, with nothing set, {verb} {} times {what} as the best of the others with the best of its \
         settings, in the geometric mean of {number} {rows}{uncounted}, and {} times in the worst, {workload}. The \
         best other wins in {wins} of {number} {rows}{}{}.",
        table.name,
        times(mean),
        times(*most),
        lost(lines),
        above_bound(lines),
    )
}

/// How far the best of the others and this project's layer are from what is possible.
fn above_bound(lines: &[&Line]) -> String {
    let above = |of: fn(&Line) -> Option<f64>, least: fn(&Line) -> Option<u64>| {
        let times = |line: &&Line| {
            let least = least(line).filter(|least| *least > 0)?;
            of(line).filter(|value| *value > 0.0).map(|value| value / least as f64)
        };
        mean(&lines.iter().filter_map(times).collect::<Vec<_>>())
    };
    let (ours, other) = (|line: &Line| Some(line.ours.as_ref()?.value), |line: &Line| Some(line.other.value));
    let (least, name): (fn(&Line) -> Option<u64>, _) = match lines.iter().any(|line| line.bound.is_some()) {
        true => (|line| line.bound, "the bound"),
        false => (|line| line.schedule, "the best schedule that knows all requests"),
    };
    match (above(ours, least), above(other, least)) {
        (Some(ours), Some(other)) => {
            format!("; ours is at {} times {name}, the best other at {}", number(ours), number(other))
        }
        (None, Some(other)) => format!("; it is at {} times {name}", number(other)),
        _ => String::new(),
    }
}

fn without_ours(table: &Table, lines: &[&Line]) -> String {
    let wins = |layer: &str| lines.iter().filter(|line| line.other.layer == layer).count();
    let best = table.others.iter().map(|other| (other.layer, wins(other.layer)));
    // Of layers that win as often the first one.
    let best = best.rev().max_by_key(|(_, wins)| *wins);
    best.map_or(String::new(), |(layer, wins)| {
        format!(
            "**{}**: no layer of this project is among them. `{layer}` is the best of the papers' in {wins} of {} rows{}.",
            table.name,
            lines.len(),
            above_bound(lines),
        )
    })
}

/// Every layer of a table over the best of all in each row, with its defaults and with the best of its settings.
pub fn layers(table: &Table, tried: &[Tried]) -> Sheet {
    let of_table: Vec<_> = tried.iter().filter(|tried| tried.table == table.name).collect();
    let least = |of: &Tried, value: fn(&Tried) -> f64| {
        let is_beside = |tried: &&&Tried| tried.workload == of.workload && tried.seed == of.seed;
        of_table.iter().filter(is_beside).map(|tried| value(tried)).min_by(f64::total_cmp)
    };
    let over = |layer: &str, value: fn(&Tried) -> f64| {
        let own = of_table.iter().filter(|tried| tried.of.layer == layer);
        let times = own.filter_map(|tried| Some((value(tried), least(tried, value).filter(|of| *of > 0.0)?)));
        let times: Vec<_> = times.map(|(own, least)| own / least).collect();
        mean(&times).map_or("-".to_owned(), number)
    };
    let wins = |layer: &str, value: fn(&Tried) -> f64| {
        let own = of_table.iter().filter(|tried| tried.of.layer == layer);
        own.filter(|tried| least(tried, value) == Some(value(tried))).count().to_string()
    };
    let by_default: fn(&Tried) -> f64 = |tried| tried.of.by_default;
    let best: fn(&Tried) -> f64 = |tried| tried.of.value;
    let layers = table.others.iter().map(|other| other.layer).chain(table.ours);
    let row = |layer: &str| {
        [layer.to_owned(), over(layer, by_default), wins(layer, by_default), over(layer, best), wins(layer, best)]
    };
    let headings = ["layer", ">by default, over the best", ">wins", ">with its best settings", ">wins so"];
    Sheet::new(headings, layers.map(row))
}
