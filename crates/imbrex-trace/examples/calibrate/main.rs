//! Fits the parameters of profiles that nothing can be solved for.
//!
//! `cargo run --release --example calibrate -- [--requests N | --check] [PROFILE...]` fits `model.distant`, so that an
//! LRU cache of 10 % of the distinct offsets misses as often as published, and prints it with what the profile then
//! measures; a PROFILE may be a file ending in `.toml`. With `--check` nothing is fitted and whole volumes are measured.
//!
//! `... -- --places FOLDER` shows where data lies in the traces of a folder and in volumes generated like theirs, and
//! `... -- --fit-places FOLDER` fits the parameters that say so first.

mod places;

use std::path::Path;
use std::process::ExitCode;

use imbrex_trace::profiles::Profile;
use imbrex_trace::statistics::{StatisticsOptions, TraceStatistics};
use imbrex_trace::{TraceError, Workload};

/// Halvings of the interval from 0 to 1.
const STEPS: u32 = 10;

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if let [option @ ("--places" | "--fit-places"), folder] = names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return code(places::run(Path::new(folder), option == "--fit-places"));
    }
    let check = names.first().is_some_and(|name| name == "--check");
    if check {
        names.remove(0);
    }
    let requests = match names.iter().position(|name| name == "--requests") {
        Some(at) => names.drain(at..at + 2).nth(1).and_then(|n| n.parse().ok()),
        None if check => Some(u64::MAX),
        None => Some(1_000_000),
    };
    let Some(requests) = requests else {
        eprintln!("error: --requests wants a number");
        return ExitCode::FAILURE;
    };
    if names.is_empty() {
        names = Profile::names().map(str::to_owned).collect();
    }
    for name in names {
        let fitted = Workload::named(&name).and_then(|workload| match workload {
            Workload::Profile(profile) => fit(*profile, requests, check),
            _ => Err(TraceError::UnknownWorkload { name, built_in: Profile::names().collect::<Vec<_>>().join(", ") }),
        });
        if fitted.is_err() {
            return code(fitted);
        }
    }
    ExitCode::SUCCESS
}

fn code(result: Result<(), TraceError>) -> ExitCode {
    let Err(e) = result else { return ExitCode::SUCCESS };
    eprintln!("error: {e}");
    ExitCode::FAILURE
}

fn fit(mut profile: Profile, requests: u64, check: bool) -> Result<(), TraceError> {
    profile.shortened = profile.published.requests.or(profile.chosen.requests).map(|whole| whole.min(requests));
    if !check {
        fit_distant(&mut profile)?;
    }
    let measured = measure(&profile)?;
    let [miss] = measured.miss.as_slice() else { unreachable!("one cache size was asked for") };
    println!("{}: distant = {:.3}", profile.name, profile.model.distant);
    println!("  published or chosen: {:?} {:?}", profile.published, profile.chosen);
    println!(
        "  measured: write_ratio {:.4}, update_ratio {:.4}, hot_lba_share {:.4}, hot_write_share {:.4}, range {:.2} GB, \
         write_len_sectors {:.2}, read_len_sectors {:.2}, offsets/requests {:.4}, misses {miss:?}, short periods {:.3}",
        measured.write_ratio,
        measured.update_ratio,
        measured.hot_lba_share,
        measured.hot_write_share,
        measured.range_gb,
        measured.write_len_sectors,
        measured.read_len_sectors,
        measured.unique_offsets as f64 / measured.requests as f64,
        measured.update_period.short.blocks as f64 / measured.update_period.updated_blocks.max(1) as f64,
    );
    println!("  {}", places::shown(&measured));
    Ok(())
}

/// By halving; the LRU miss ratio grows with it.
fn fit_distant(profile: &mut Profile) -> Result<(), TraceError> {
    let Some(published) = profile.published.miss_10pct else { return Ok(()) };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..STEPS {
        profile.model.distant = (low + high) / 2.0;
        let misses = lru(&measure(profile)?);
        if misses < published.lru { low = profile.model.distant } else { high = profile.model.distant }
    }
    Ok(())
}

fn measure(profile: &Profile) -> Result<TraceStatistics, TraceError> {
    statistics(&Workload::Profile(Box::new(profile.clone())))
}

fn statistics(workload: &Workload) -> Result<TraceStatistics, TraceError> {
    let mut source = workload.open()?;
    TraceStatistics::of(&mut *source, &StatisticsOptions::default())
}

fn lru(statistics: &TraceStatistics) -> f64 {
    statistics.miss.first().map_or(0.0, |miss| miss.lru)
}
