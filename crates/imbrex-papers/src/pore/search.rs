//! The sizes that the report does not give: cache, sets and period, all of them together.

use super::variants::searched;
use crate::metric::Metric;
use crate::paper::Search;

/// The study that runs them, and what it runs.
pub const STUDY: &str = "search";
pub const NAMES: &[&str] = &searched();

/// Of each size of the cache, how many baselines there are, and then how many variants.
const BASELINES: usize = 3;
const EACH: usize = 8;

pub const SEARCH: Search = Search {
    study: STUDY,
    title: "Sizes of cache, set and period on bare bands; a period is a part of the cache (not in the report)",
    metrics: &[Metric::Latency, Metric::Longest, Metric::Migration, Metric::Rmw],
    columns: &["1/8", "1/16", "1/24", "1/48", "1/128"],
    rows: &rows(),
};

const fn rows() -> [(&'static str, &'static [&'static str]); NAMES.len() / EACH * BASELINES] {
    let mut rows = [("", &[] as &[&str]); NAMES.len() / EACH * BASELINES];
    let mut at = 0;
    while at < rows.len() {
        let (_, of_cache) = NAMES.split_at(at / BASELINES * EACH);
        let (of_cache, _) = of_cache.split_at(EACH);
        let (baselines, variants) = of_cache.split_at(BASELINES);
        rows[at] = (baselines[at % BASELINES], variants);
        at += 1;
    }
    rows
}
