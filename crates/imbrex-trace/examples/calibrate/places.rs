//! Where data lies: fits what a kind of volume has in common to the traces of its kind, and shows these beside volumes
//! that are generated like them, those that take no part in the fit too.

use std::path::{Path, PathBuf};

use imbrex_trace::profiles::{Figures, MissRatios, Model, Profile};
use imbrex_trace::statistics::TraceStatistics;
use imbrex_trace::statistics::windows::WindowMeans;
use imbrex_trace::{TraceError, Workload};

use super::{fit_distant, measure, statistics};

/// A trace, the kind of its volume, and whether it takes part in the fit.
struct Given {
    name: &'static str,
    file: &'static str,
    kind: Kind,
    fitted: bool,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    System,
    Data,
}

const TRACES: [Given; 5] = [
    Given { name: "hm_0", file: "msr-hm_0-excerpt.csv.gz", kind: Kind::System, fitted: true },
    Given { name: "hm_1", file: "msr-hm_1-writes.csv.zst", kind: Kind::Data, fitted: true },
    Given { name: "rsrch_1", file: "msr-rsrch_1.csv.zst", kind: Kind::Data, fitted: true },
    Given { name: "cloudphysics", file: "cloudphysics.vscsi.zst", kind: Kind::Data, fitted: false },
    Given { name: "wdev_1", file: "msr-wdev_1.csv", kind: Kind::Data, fitted: false },
];

/// What is fitted, in the order of [`Places`], and the values that are tried.
const CHOICES: [(&str, &[f64]); 5] = [
    ("zone_skew", &[0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5]),
    ("zone_persistence", &[0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98]),
    ("excursions", &[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4]),
    ("rewrite_run", &[1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 400.0]),
    ("scan", &[0.0, 0.1, 0.25, 0.5, 0.75, 1.0]),
];

type Places = [f64; CHOICES.len()];

/// A trace with what it measures and the profile of a volume like it, whose `distant` waits to be fitted.
struct Pair {
    given: &'static Given,
    measured: TraceStatistics,
    like: Profile,
}

/// Fits, if `search`, and shows. Otherwise the parameters are those of `hm_0` and `hm_1`.
pub fn run(folder: &Path, search: bool) -> Result<(), TraceError> {
    let pairs = TRACES.iter().map(|given| pair(folder, given)).collect::<Result<Vec<_>, _>>()?;
    for (kind, name) in [(Kind::System, "hm_0"), (Kind::Data, "hm_1")] {
        let of_kind: Vec<_> = pairs.iter().filter(|pair| pair.given.kind == kind).collect();
        let start = places(&named(name)?.model);
        let found = if search { best(&of_kind, start)? } else { start };
        let shown: Vec<_> = CHOICES.iter().zip(found).map(|((name, _), value)| format!("{name} = {value}")).collect();
        println!("like {name}: {}; off by {:.3}", shown.join(", "), error(&of_kind, &found)?);
        for pair in of_kind {
            show(pair, &found)?;
        }
    }
    Ok(())
}

fn pair(folder: &Path, given: &'static Given) -> Result<Pair, TraceError> {
    let path: PathBuf = folder.join(given.file);
    let measured = statistics(&Workload::named(&path.to_string_lossy())?)?;
    let like = if given.name == "hm_0" {
        let mut profile = named("hm_0")?;
        // The excerpt is too short to tell what the volume is like; the whole profile is taken, as it is.
        profile.published.miss_10pct = None;
        profile
    } else {
        like(given.name, &measured, named("hm_1")?.model)
    };
    Ok(Pair { given, measured, like })
}

fn named(name: &str) -> Result<Profile, TraceError> {
    Profile::named(name).expect("a built-in profile")
}

/// The profile of a volume with a trace's figures; `model` has the rest.
fn like(name: &str, measured: &TraceStatistics, model: Model) -> Profile {
    let read_blocks = measured.blocks_4k - measured.written_blocks_4k;
    let published = Figures {
        requests: Some(measured.requests),
        write_ratio: Some(measured.write_ratio),
        update_ratio: Some(measured.update_ratio),
        hot_lba_share: Some(measured.hot_lba_share),
        range_zones: Some(measured.range_zones),
        write_len_sectors: Some(8.0 * measured.written_blocks_4k as f64 / measured.writes as f64),
        read_len_sectors: Some(8.0 * (read_blocks as f64 / measured.reads as f64).max(1.0)),
        duration_hours: Some(measured.duration_seconds / 3600.0),
        miss_10pct: measured.miss.first().map(|miss| MissRatios { lru: miss.lru, arc: miss.arc, sieve: miss.sieve }),
        ..Figures::default()
    };
    // What was written is read as it was written; where next to nothing is read, lengths would not come out.
    let reads_of_written = if measured.write_ratio > 0.99 { 0.0 } else { model.reads_of_written };
    let model = Model {
        new_length_ratio: (0.95 / measured.hot_lba_share).clamp(1.0, model.new_length_ratio),
        new_read_share: Some(measured.footprint_read_blocks as f64 / read_blocks.max(1) as f64),
        reads_of_written,
        ..model
    };
    let description = format!("like {name}");
    Profile { name: name.into(), description, seed: 1, shortened: None, published, chosen: Figures::default(), model }
}

fn places(model: &Model) -> Places {
    [model.zone_skew, model.zone_persistence, model.excursions, model.rewrite_run, model.scan]
}

/// The volume like the trace's with these parameters, and what it measures.
fn generated(pair: &Pair, places: &Places) -> Result<(Profile, TraceStatistics), TraceError> {
    let mut profile = pair.like.clone();
    let model = &mut profile.model;
    [model.zone_skew, model.zone_persistence, model.excursions, model.rewrite_run, model.scan] = *places;
    fit_distant(&mut profile)?;
    let measured = measure(&profile)?;
    Ok((profile, measured))
}

/// Goes from one parameter to the next and takes the best of its values, until none changes.
fn best(pairs: &[&Pair], mut found: Places) -> Result<Places, TraceError> {
    let mut least = error(pairs, &found)?;
    loop {
        let before = found;
        for (at, (_, values)) in CHOICES.iter().enumerate() {
            for &value in *values {
                let mut tried = found;
                tried[at] = value;
                let off = error(pairs, &tried)?;
                if off < least {
                    (least, found) = (off, tried);
                }
            }
        }
        if found == before {
            return Ok(found);
        }
    }
}

/// The root of the mean square of how far generated figures are from measured ones, over the traces in the fit: the
/// difference of shares, the logarithm of the ratio of the others.
fn error(pairs: &[&Pair], places: &Places) -> Result<f64, TraceError> {
    let (mut sum, mut figures) = (0.0, 0);
    for pair in pairs.iter().filter(|pair| pair.given.fitted) {
        let (_, generated) = generated(pair, places)?;
        for (measured, generated) in all(&pair.measured).into_iter().zip(all(&generated)) {
            if let (Some(measured), Some(generated)) = (measured, generated) {
                let share = measured < 1.0;
                let off: f64 = if share { generated - measured } else { (generated / measured).ln() };
                (sum, figures) = (sum + off * off, figures + 1);
            }
        }
    }
    Ok((sum / f64::from(figures)).sqrt())
}

/// What says where data lies, in the order in which it is shown.
fn all(statistics: &TraceStatistics) -> Vec<Option<f64>> {
    let window = |window: &WindowMeans| {
        [window.effective_zones, window.top_zone_share, window.blocks_per_chunk, window.writes_per_block]
    };
    let jumps = &statistics.jumps;
    let jumps = [jumps.within_64kib, jumps.within_1mib, jumps.within_256mib].map(Some);
    [&window(&statistics.window_1024)[..], &window(&statistics.window_4096), &jumps].concat()
}

fn show(pair: &Pair, places: &Places) -> Result<(), TraceError> {
    let (profile, generated) = generated(pair, places)?;
    let of = if pair.given.fitted { "fitted" } else { "held out" };
    let of = format!("{} ({of}; distant {:.3})", pair.given.name, profile.model.distant);
    println!("| {of} {}\n| generated {}", shown(&pair.measured), shown(&generated));
    Ok(())
}

/// The figures as cells of a table.
pub fn shown(statistics: &TraceStatistics) -> String {
    let figures =
        all(statistics).into_iter().map(|figure| figure.map_or("–".into(), |figure| format!("{figure:.2}")));
    format!("| {} |", figures.collect::<Vec<_>>().join(" | "))
}
