//! What is published of a volume, beside what its profile measures.

use imbrex::trace::profiles::Figures;
use imbrex_terminal::table::{count, number, percent};

use super::lines::{Line, line};

/// A line for each of `measured`, empty where nothing is published.
pub fn beside(measured: &[Line], figures: &Figures) -> Vec<Line> {
    let known = shown(figures);
    let value = |name: &String| known.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    measured.iter().map(|(name, _)| (name.clone(), value(name).unwrap_or_default())).collect()
}

/// The published figures under the names of the statistics.
fn shown(f: &Figures) -> Vec<Line> {
    let counts = [
        ("requests", f.requests),
        ("reads", f.reads),
        ("writes", f.writes),
        ("blocks read and written", f.blocks_4k),
        ("address range, zones of 256 MiB", f.range_zones),
        ("distinct start offsets", f.unique_offsets),
    ];
    let numbers = [
        ("written, GiB", f.written_gib),
        ("mean read, sectors of 512 B", f.read_len_sectors),
        ("mean write, sectors of 512 B", f.write_len_sectors),
        ("address range, GB", f.range_gb),
    ];
    let shares = [
        ("write ratio", f.write_ratio),
        ("of blocks written before", f.update_ratio),
        ("blocks written more than once", f.hot_lba_share),
        ("block writes to those", f.hot_write_share),
        ("LRU misses, cache of 10%", f.miss_10pct.map(|miss| miss.lru)),
        ("ARC misses, cache of 10%", f.miss_10pct.map(|miss| miss.arc)),
        ("SIEVE misses, cache of 10%", f.miss_10pct.map(|miss| miss.sieve)),
    ];
    let counts = counts.into_iter().filter_map(|(name, value)| Some(line(name, count(value?))));
    let numbers = numbers.into_iter().filter_map(|(name, value)| Some(line(name, number(value?))));
    let shares = shares.into_iter().filter_map(|(name, value)| Some(line(name, percent(value?))));
    counts.chain(numbers).chain(shares).collect()
}

#[cfg(test)]
mod tests {
    use imbrex::trace::Workload;
    use imbrex::trace::profiles::{MissRatios, Profile};
    use imbrex::trace::statistics::{StatisticsOptions, TraceStatistics};

    use super::*;
    use crate::trace::lines;

    #[test]
    fn every_figure_stands_beside_a_statistic() {
        let mut profile = Profile::named("proj_1").expect("a known name").expect("a valid profile");
        profile.shortened = Some(1_000);
        let mut figures = profile.published;
        figures.miss_10pct = Some(MissRatios { lru: 0.1, arc: 0.2, sieve: 0.3 });
        let mut source = Workload::Profile(Box::new(profile)).open().expect("a valid profile");
        let statistics = TraceStatistics::of(&mut *source, &StatisticsOptions::default()).expect("a workload");
        let measured = lines::of(&statistics);
        for (name, _) in shown(&figures) {
            assert!(measured.iter().any(|(known, _)| *known == name), "{name}");
        }
    }
}
