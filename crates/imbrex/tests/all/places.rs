//! Profiles put data where real volumes have it: in few zones at a time, and near what came before.

use imbrex::trace::Workload;
use imbrex::trace::profiles::{Model, Profile};
use imbrex::trace::statistics::{StatisticsOptions, TraceStatistics};

/// What an excerpt of `hm_0` and the writes of `hm_1` measure, in windows of 1024 and of 4096 blocks, in the order of
/// [`figures`]; the tests of traces hold the same figures where the traces are at hand.
const HM_0: [f64; 4] = [5.18, 0.397, 3.15, 0.661];
const HM_1: [f64; 4] = [1.75, 0.758, 10.15, 0.651];

/// Effective zones, the share of the top zone, blocks per chunk, jumps of at most 256 MiB.
fn figures(measured: &TraceStatistics, long: bool) -> [f64; 4] {
    let window = if long { measured.window_4096 } else { measured.window_1024 };
    let figures = [window.effective_zones, window.top_zone_share, window.blocks_per_chunk];
    let [zones, top, fill] = figures.map(|figure| figure.expect("complete windows"));
    [zones, top, fill, measured.jumps.within_256mib]
}

fn measure(profile: Profile) -> TraceStatistics {
    let mut source = Workload::Profile(Box::new(profile)).open().expect("a valid profile");
    TraceStatistics::of(&mut *source, &StatisticsOptions::default()).expect("a generated workload")
}

fn profile(name: &str) -> Profile {
    Profile::named(name).expect("a known name").expect("a valid profile")
}

/// What is farther from the real volume than stated: the counts by more than a third, the shares by more than 0.12.
fn misfits(real: [f64; 4], generated: [f64; 4]) -> Vec<String> {
    let off = |real: f64, generated: f64| {
        let most = if real < 1.0 { 0.12 } else { real / 3.0 };
        (real - generated).abs() > most
    };
    let names = ["effective zones", "top zone", "blocks per chunk", "jumps within 256 MiB"];
    let all = names.into_iter().zip(real.into_iter().zip(generated));
    let far = all.filter(|(_, (real, generated))| off(*real, *generated));
    far.map(|(name, (real, generated))| format!("{name}: {generated:.2} generated, {real:.2} real")).collect()
}

#[test]
fn a_system_volume_stays_in_few_zones() {
    let misfits = misfits(HM_0, figures(&measure(profile("hm_0")), false));
    assert!(misfits.is_empty(), "{}", misfits.join("; "));
}

#[test]
fn a_data_volume_stays_in_fewer() {
    let misfits = misfits(HM_1, figures(&measure(profile("hm_1")), true));
    assert!(misfits.is_empty(), "{}", misfits.join("; "));
}

/// The checks above find a volume that spreads its writes evenly, touches extents one by one and stays nowhere.
#[test]
fn a_volume_that_stays_nowhere_is_told_apart() {
    for (name, real, long) in [("hm_0", HM_0, false), ("hm_1", HM_1, true)] {
        let mut profile = profile(name);
        profile.model =
            Model { zone_skew: 0.0, zone_persistence: 0.0, excursions: 0.0, rewrite_run: 1.0, ..profile.model };
        let found = misfits(real, figures(&measure(profile), long));
        for figure in ["effective zones", "top zone", "jumps"] {
            assert!(found.iter().any(|misfit| misfit.starts_with(figure)), "{name}: {figure} is not among {found:?}");
        }
    }
}
