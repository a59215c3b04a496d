//! All that a probe found.

use imbrex_terminal::table::{bytes, count, milliseconds, number, percent, seconds, table};
use serde::Serialize;

use crate::bands::Bands;
use crate::cache::Cache;
use crate::disk::{Facts, Zones};
use crate::reads::Reads;
use crate::writes::Writes;

/// The version of [`Found`].
pub const SCHEMA: &str = "imbrex.probe/1";

/// Writes of a disk with a cache take less than this share of its reads: they do not go where they belong. Where the
/// cache is soon full, that holds of some, which take even less.
const CACHED: f64 = 0.3;
const SOME_CACHED: f64 = 0.1;
/// One write in four of a disk that rewrites tracks takes more than so many of its longest reads.
const REWRITTEN: f64 = 1.2;

/// What a disk is.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It takes writes anywhere, and was not asked how: conventional, drive-managed or interlaced.
    Anywhere,
    /// Each write goes to its place.
    Conventional,
    /// Zones that the host has to write at their pointers.
    HostManaged,
    /// Zones that the host should write at their pointers.
    HostAware,
    /// Bands behind a persistent cache.
    DriveManaged,
    /// A write may rewrite the tracks beside its own.
    Interlaced,
    /// Zones that are conventional or sequential as the host chooses.
    Hybrid,
    /// Nothing turns.
    Flash,
}

impl Kind {
    /// What a disk is by what is known of it.
    pub(crate) fn of(facts: &Facts, reads: &Reads, writes: Option<&Writes>) -> Self {
        match (facts.zones, writes) {
            (Some(Zones { inactive: 1.., .. }), _) => Self::Hybrid,
            (Some(Zones { host_managed: true, .. }), _) => Self::HostManaged,
            (Some(_), _) => Self::HostAware,
            _ if reads.turn_ms.is_none() => Self::Flash,
            (None, None) => Self::Anywhere,
            (None, Some(writes))
                if writes.median_ms < CACHED * reads.random_ms || writes.fast_ms < SOME_CACHED * reads.random_ms =>
            {
                Self::DriveManaged
            }
            (None, Some(writes)) if writes.slow_ms > REWRITTEN * reads.longest_ms => Self::Interlaced,
            (None, Some(_)) => Self::Conventional,
        }
    }

    /// In words.
    #[must_use]
    pub const fn described(self) -> &'static str {
        match self {
            Self::Anywhere => "takes writes anywhere: conventional, drive-managed or interlaced; reads do not tell",
            Self::Conventional => "conventional: each write goes to its place",
            Self::HostManaged => "host-managed: zones that must be written in order",
            Self::HostAware => "host-aware: zones that should be written in order",
            Self::DriveManaged => "drive-managed: bands behind a persistent cache",
            Self::Interlaced => "interlaced: a write may rewrite the tracks beside its own",
            Self::Hybrid => "hybrid: zones that are conventional or sequential as the host chooses",
            Self::Flash => "flash: nothing turns",
        }
    }
}

/// All that a probe found. What it could not find is left out.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The version of this form.
    pub schema: &'static str,
    /// What the disk is.
    pub kind: Kind,
    /// What the system says of it.
    pub facts: Facts,
    /// What reads told.
    pub reads: Reads,
    /// What writes to random places told, if it was written to.
    pub writes: Option<Writes>,
    /// The cache of a drive-managed disk, if it was written to.
    pub cache: Option<Cache>,
    /// The bands of one.
    pub bands: Option<Bands>,
    /// How long the disk was probed, in its own time.
    pub seconds: f64,
}

impl Found {
    /// The table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows = vec![["kind".to_owned(), self.kind.described().to_owned()]];
        let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
        let Self { facts, reads, .. } = self;
        row("model", facts.model.clone().unwrap_or_else(|| "not known to the system".to_owned()));
        row("size", format!("{}, in blocks of {}", bytes(facts.bytes), bytes(facts.block_bytes.into())));
        if let Some(rotational) = facts.rotational {
            row("says of itself", if rotational { "that it turns" } else { "that nothing turns" }.to_owned());
        }
        if let Some(zones) = facts.zones {
            row("zones", described(&zones));
        }
        if let (Some(turn), Some(seek)) = (reads.turn_ms, reads.seek_ms) {
            row("turn", format!("{}, {} rpm", milliseconds(turn), number(60_000.0 / turn)));
            let far = reads.seeks.last().map_or(0.0, |seek| seek.ms);
            row("seek", format!("{} on average, {} over the whole disk", milliseconds(seek), milliseconds(far)));
        }
        row("random read", format!("{} on average", milliseconds(reads.random_ms)));
        if let (Some(first), Some(last)) = (reads.places.first(), reads.places.last()) {
            let rates = [first, last].map(|place| format!("{} MB/s", number(place.bytes_per_second / 1e6)));
            row("sequential read", format!("{} at the first block, {} at the last", rates[0], rates[1]));
            if let (Some(first), Some(last)) = (first.track_bytes, last.track_bytes) {
                row("track", format!("{} at the first block, {} at the last", bytes(first as u64), bytes(last as u64)));
            }
        }
        if let Some(writes) = self.writes {
            row("random write", format!("{}, the median", milliseconds(writes.median_ms)));
        }
        if let Some(cache) = &self.cache {
            cached(cache, &mut row);
        }
        if let Some(bands) = &self.bands {
            for place in &bands.places {
                let name = format!("bands from {}", bytes(place.offset));
                row(&name, format!("{}, the mean of {}", bytes(place.band_bytes as u64), place.bands));
            }
            row("rewriting a band", milliseconds(bands.rewrite_ms));
        }
        row("probed for", seconds(self.seconds));
        table(["what", "found"], rows)
    }
}

fn described(zones: &Zones) -> String {
    let Zones { zone_bytes, writable_bytes, conventional, sequential, inactive, max_open, .. } = *zones;
    let parts = [(conventional, "conventional"), (sequential, "sequential"), (inactive, "inactive")];
    let parts = parts.iter().filter(|(zones, _)| *zones > 0);
    let parts: Vec<String> = parts.map(|(zones, is)| format!("{} {is}", count((*zones).into()))).collect();
    let open = if max_open > 0 { format!(", {max_open} open at a time") } else { String::new() };
    let gap =
        if writable_bytes < zone_bytes { format!(", {} of it to write", bytes(writable_bytes)) } else { String::new() };
    format!("{} of {} each{gap}{open}", parts.join(" and "), bytes(zone_bytes))
}

fn cached(cache: &Cache, row: &mut impl FnMut(&str, String)) {
    let unknown = || "not found".to_owned();
    row("cache", cache.bytes.map_or_else(unknown, bytes));
    if let Some(extents) = cache.extents {
        row("extents in the cache", format!("{}, which run out before its blocks do", count(extents)));
    }
    row("cleans when idle for", cache.idle_ms.map_or_else(|| "no time that was tried".to_owned(), milliseconds));
    let near = |share: f64| format!("reached soonest from {} of the addresses", percent(share));
    row("the cache is", cache.near.map_or_else(unknown, near));
}
