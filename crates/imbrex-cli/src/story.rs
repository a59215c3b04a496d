//! What overlapped tracks cost, in one table: for each kind of disk a naive and the best layer on one workload.
//!
//! Which layers these are was measured. [`KINDS`] has everything that was tried, every layer of a family that runs on
//! the kind's drive; a test runs all of it and notices when another one would be the best, or the most naive.

use std::env;
use std::num::NonZeroU64;

use anyhow::{Error, Result};
use imbrex::drive::DrivePreset;
use imbrex::layers::{self, Family};
use imbrex::replay::ReplayOptions;
use imbrex_runs::case::{Case, Fit, named_drive};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_runs::seen::{self, Seen};
use imbrex_runs::values::size;
use imbrex_runs::workload::Known;
use imbrex_terminal::names::Names;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::table::{count, paragraphs, percent, seconds};

use crate::comparison::{self, Named};

/// The workload: a system volume at the usual rate of a server, which a conventional disk carries with ease.
pub const WORKLOAD: &str = "hm_0";
/// What it is, in words.
const WORKLOAD_IS: &str = "modelled on the published figures of a server's system volume (MSR Cambridge, hardware \
    monitoring)";
/// Half a day of it. The naive layer of a host-managed disk takes most of the time that it is replayed for.
pub const REQUESTS: NonZeroU64 = NonZeroU64::new(300_000).unwrap();

/// A kind of disk, and what was tried on it.
struct Kind {
    family: Family,
    /// The drive and, for one that is to be as full as the layers' settings say, its size.
    drive: &'static str,
    capacity: Option<&'static str>,
    /// The persistent buffer, or the flash.
    buffer: &'static str,
    tried: &'static [Variant],
}

/// A layer as it was tried.
struct Variant {
    layer: &'static str,
    /// Settings, written as for `--set`.
    settings: &'static [&'static str],
    /// What is special about it, in words.
    with: &'static str,
    role: Role,
}

/// What a layer has to say in the story.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Role {
    /// The worst of the kind.
    Naive,
    /// The best of it.
    Best,
    /// Something between the two: not shown.
    Between,
}

const fn tried(layer: &'static str, role: Role) -> Variant {
    Variant { layer, settings: &[], with: "", role }
}

const KINDS: [Kind; 4] = [
    Kind {
        family: Family::Shingled,
        drive: "exos-x18z",
        capacity: None,
        // Less than is written again and again, so that it has to be cleaned.
        buffer: "64MiB",
        tried: &[
            tried("in-place", Role::Naive),
            tried("fifo-log", Role::Between),
            tried("loop-back", Role::Between),
            tried("block-lru", Role::Between),
            tried("hashed-zones", Role::Between),
            tried("amphisbaena", Role::Between),
            tried("dm-zoned", Role::Best),
        ],
    },
    Kind {
        family: Family::Banded,
        drive: "st8000as0002",
        capacity: None,
        buffer: "1%",
        tried: &[
            Variant {
                layer: "skylight",
                settings: &["skylight.cache_blocks=256"],
                with: "cache of 1 MiB",
                role: Role::Naive,
            },
            Variant {
                layer: "skylight",
                settings: &["skylight.cache_blocks=2048"],
                with: "cache of 8 MiB",
                role: Role::Between,
            },
            Variant { layer: "skylight", settings: &[], with: "cache of 20 GiB", role: Role::Best },
        ],
    },
    Kind {
        family: Family::Ssd,
        drive: "st8000as0002",
        capacity: None,
        buffer: "256MiB",
        tried: &[
            Variant { layer: "lru-cache", settings: &[], with: "keeps what is read", role: Role::Naive },
            Variant { layer: "static-sets", settings: &[], with: "keeps what is read", role: Role::Between },
            Variant {
                layer: "static-sets",
                settings: &["static-sets.read_allocate=false"],
                with: "keeps writes",
                role: Role::Between,
            },
            Variant {
                layer: "lru-cache",
                settings: &["lru-cache.read_allocate=false"],
                with: "keeps writes",
                role: Role::Best,
            },
            // As good, since so few blocks are written that none has to leave.
            Variant {
                layer: "pore",
                settings: &["pore.read_allocate=false"],
                with: "keeps writes",
                role: Role::Between,
            },
            Variant { layer: "sac", settings: &["sac.read_allocate=false"], with: "keeps writes", role: Role::Between },
        ],
    },
    Kind {
        family: Family::Interlaced,
        drive: "imr-tracklace",
        // Of which 60 % are the range of the workload.
        capacity: Some("24GiB"),
        buffer: "1%",
        tried: &[
            Variant { layer: "seagate-two-phase", settings: &[], with: "disk full", role: Role::Naive },
            Variant { layer: "seagate", settings: &[], with: "disk full", role: Role::Between },
            Variant { layer: "track-flipping", settings: &[], with: "disk full", role: Role::Between },
            Variant { layer: "track-caching", settings: &[], with: "disk full", role: Role::Between },
            Variant { layer: "track-mapping", settings: &[], with: "disk full", role: Role::Between },
            Variant { layer: "tracklace", settings: &[], with: "disk full", role: Role::Best },
            Variant {
                layer: "seagate-two-phase",
                settings: &["seagate-two-phase.utilisation=0.6"],
                with: "60 % in use",
                role: Role::Between,
            },
            Variant {
                layer: "seagate",
                settings: &["seagate.utilisation=0.6"],
                with: "60 % in use",
                role: Role::Between,
            },
        ],
    },
];

/// The conventional layer, once for each drive.
const YARDSTICK: Variant = tried("conventional", Role::Between);

/// A run and what it stands for.
pub struct Told<'a> {
    pub row: Row,
    /// For a page, if one is wanted.
    pub seen: Seen<'a>,
    name: String,
    /// The disk in words.
    disk: String,
}

/// Replays what is shown of every kind, each drive after its baseline.
pub fn runs<'a>(workload: &'a Known, options: &ReplayOptions, jobs: usize, is_seen: bool) -> Result<Vec<Told<'a>>> {
    let mut shown: Vec<(&Kind, &Variant)> = Vec::new();
    for kind in &KINDS {
        if shown.last().is_none_or(|(last, _)| last.drive != kind.drive) {
            shown.push((kind, &YARDSTICK));
        }
        shown.extend(kind.tried.iter().filter(|variant| variant.role != Role::Between).map(|variant| (kind, variant)));
    }
    let progress = Progress::new("replaying", workload.range.requests * shown.len() as u64);
    parallel::each(jobs, &shown, |(kind, variant)| {
        let (row, seen) = kind.replay(variant, (workload, is_seen), options, &progress)?;
        let disk = format!("{}: {} of {}", kind.disk(), row.drive, row.drive_size());
        Ok(Told { row, seen, name: variant.name(), disk })
    })
}

impl Kind {
    /// The disk in words; the same for all kinds on one drive.
    fn disk(&self) -> &'static str {
        match self.family {
            Family::Shingled => "host-managed shingled disk",
            Family::Banded | Family::Ssd => "drive-managed shingled disk, and behind flash",
            Family::Interlaced => "interlaced disk",
            Family::Hybrid => "hybrid disk",
        }
    }

    fn drive(&self) -> Result<DrivePreset> {
        let drive = named_drive(self.drive)?;
        let Some(capacity) = self.capacity else { return Ok(drive) };
        Ok(drive.with_capacity(size(capacity).map_err(Error::msg)?)?)
    }

    fn replay<'a>(
        &self,
        variant: &Variant,
        (workload, is_seen): (&'a Known, bool),
        options: &ReplayOptions,
        progress: &Progress,
    ) -> Result<(Row, Seen<'a>)> {
        let case = Case { layer: layers::find(variant.layer)?, drive: self.drive()?, fit: Fit::Given };
        let chosen = Chosen::new(self.buffer.parse()?, options.clone(), variant.settings)?;
        seen::replay(is_seen, &chosen, (workload, &case), progress)
    }
}

impl Variant {
    fn name(&self) -> String {
        let role = match self.role {
            Role::Naive => "naive: ",
            Role::Best => "best: ",
            Role::Between => "",
        };
        let with = if self.with.is_empty() { String::new() } else { format!(", {}", self.with) };
        format!("{role}{}{with}", self.layer)
    }
}

/// The columns that tell the story.
const COLUMNS: [&str; 5] = [">mean", ">p99", ">vs conv.", ">WA", ">RMW"];

/// The table, what to look at, and what to do next.
pub fn shown(runs: &[Told<'_>]) -> String {
    let named = runs.iter().map(|told| Named { row: &told.row, name: told.name.clone(), under: told.disk.clone() });
    let named: Vec<_> = named.collect();
    let row = &runs[0].row;
    let head = format!(
        "{} is {WORKLOAD_IS}: {} requests in {}; {}.",
        row.called(&Names::of([row.trace.as_str()])),
        count(row.outcome.requests),
        seconds(row.outcome.arrival_seconds.unwrap_or(row.outcome.simulated_seconds)),
        row.circumstances(),
    );
    let look = format!(
        "Look at the mean latency, here and over that of the conventional layer (vs conv.): the requests keep a \
         conventional disk busy for {} of the time, and on the others the layer decides whether they can be served.",
        percent(row.outcome.disk_busy_ratio)
    );
    let program = env::args().next().unwrap_or_else(|| "imbrex".to_owned());
    let texts = [paragraphs(&head), comparison::shown(&named, &COLUMNS), paragraphs(LEGEND), paragraphs(&look)];
    format!("{}\n\nNext, every layer for host-managed disks:\n{program} {NEXT}\n", texts.join("\n\n"))
}

/// What the columns mean.
const LEGEND: &str = "Latency is from arrival to completion. WA: blocks written to the media for each the host wrote. \
    RMW: zones, bands or tracks rewritten.";

/// What to try when this has been seen.
const NEXT: &str = "compare --family shingled";

#[cfg(test)]
mod tests {
    use imbrex::layers::LayerInfo;
    use imbrex::replay;
    use imbrex::trace::Workload;

    use super::*;

    fn workload() -> Known {
        let mut workload = Workload::named(WORKLOAD).unwrap();
        workload.set_requests(REQUESTS.get());
        Known::survey(workload, Some(REQUESTS), None, &Progress::of_pieces("", 1)).unwrap()
    }

    /// The mean latency of every variant of a kind; of one that cannot keep up, how long its workload took.
    #[test]
    fn no_other_layer_is_better_than_the_best_or_worse_than_the_naive_one() {
        let (workload, options, progress) = (workload(), ReplayOptions::default(), Progress::new("", 0));
        let all: Vec<_> = KINDS.iter().flat_map(|kind| kind.tried.iter().map(move |variant| (kind, variant))).collect();
        let rows = parallel::each(parallel::cores(), &all, |(kind, variant)| {
            Ok(kind.replay(variant, (&workload, false), &options, &progress)?.0)
        });
        let rows = rows.unwrap();
        for kind in &KINDS {
            let means = all.iter().zip(&rows).filter(|((of, _), _)| of.family == kind.family);
            let means: Vec<_> = means.map(|((_, is), row)| (is, row.outcome.latency_ms.all.mean)).collect();
            let of = |role| means.iter().find(|(is, _)| is.role == role).unwrap().1;
            let (naive, best) = (of(Role::Naive), of(Role::Best));
            for (variant, mean) in &means {
                // A cache that is just large enough is as good as a larger one, and a little nearer to what it caches.
                let is_as_good = *mean >= 0.99 * best;
                assert!(is_as_good || variant.role == Role::Best, "{} is better: {mean} ms", variant.name());
                assert!(*mean <= naive, "{} is worse than the naive one: {mean} ms", variant.name());
            }
            assert!(naive > 3.0 * best, "{}: {naive} ms and {best} ms make no story", kind.disk());
        }
        let mut in_place = rows.iter().filter(|row| row.behind().is_some()).map(|row| row.layer);
        assert_eq!((in_place.next(), in_place.next()), (Some("in-place"), None), "all others keep up");
    }

    #[test]
    fn every_layer_that_runs_on_the_drive_of_its_kind_was_tried() {
        let is_tried = |kind: &Kind, info: &LayerInfo| kind.tried.iter().any(|variant| variant.layer == info.name);
        for kind in &KINDS {
            let drive = kind.drive().unwrap();
            let runs = |info: &&LayerInfo| {
                replay::fits(&drive, info, &toml::Table::new(), 1024, &ReplayOptions::default()).is_ok()
            };
            for info in layers::ALL.iter().filter(|info| info.family == Some(kind.family)).filter(runs) {
                assert!(is_tried(kind, info), "{} was not tried on {}", info.name, kind.drive);
            }
        }
    }
}
