//! Fits the one parameter of each profile that nothing can be solved for: `model.distant`, so that an LRU cache of 10 %
//! of the distinct offsets misses as often as published. Prints it with what the profile then measures.
//!
//! `cargo run --release --example calibrate -- [--requests N | --check] [PROFILE...]`; with `--check` nothing is fitted
//! and whole volumes are measured.

use std::process::ExitCode;

use imbrex::trace::profiles::Profile;
use imbrex::trace::statistics::{StatisticsOptions, TraceStatistics};
use imbrex::trace::{TraceError, Workload};

/// Halvings of the interval from 0 to 1.
const STEPS: u32 = 10;

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
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
        let fitted = match Profile::named(&name) {
            Some(profile) => profile.and_then(|profile| fit(profile, requests, check)),
            None => {
                Err(TraceError::UnknownWorkload { name, built_in: Profile::names().collect::<Vec<_>>().join(", ") })
            }
        };
        if let Err(e) = fitted {
            eprintln!("error: {e}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn fit(mut profile: Profile, requests: u64, check: bool) -> Result<(), TraceError> {
    profile.shortened = profile.published.requests.map(|whole| whole.min(requests));
    if let Some(published) = profile.published.miss_10pct.filter(|_| !check) {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..STEPS {
            profile.model.distant = (low + high) / 2.0;
            let misses = lru(&measure(&profile)?);
            if misses < published.lru { low = profile.model.distant } else { high = profile.model.distant }
        }
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
    Ok(())
}

fn measure(profile: &Profile) -> Result<TraceStatistics, TraceError> {
    let mut source = Workload::Profile(Box::new(profile.clone())).open()?;
    TraceStatistics::of(&mut *source, &StatisticsOptions::default())
}

fn lru(statistics: &TraceStatistics) -> f64 {
    statistics.miss.first().map_or(0.0, |miss| miss.lru)
}
